/* The history of every item of this run, by the workers' records and, in the end, by the server's word. */
#ifndef LEDGER_H
#define LEDGER_H

#include <readpast.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    STATES = READPAST_STATE_PARTIALLY_COMPLETED + 1,
    MOST_ATTEMPTS = 16,
    KEY_SIZE = 64 /* the keys of the demo are times */
};

struct item {
    int32_t state;               /* the one it is in, a READPAST_STATE_ */
    int32_t newest;              /* the record that says so: twice its attempt, and one more when it was a settlement */
    int32_t attempt;             /* how many there were, when the server was asked last */
    int16_t worker;              /* the last that took it, by the records; -1: none yet */
    int8_t completed;            /* how many settlements were answered with Completed */
    bool closed;                 /* the server itself has called its state final: no record can be newer */
    int8_t taken[MOST_ATTEMPTS]; /* how often each attempt was claimed and not given back */
};

struct ledger {
    int32_t count;
    char (*keys)[KEY_SIZE];   /* as enqueue gave them; room for all items */
    struct item *items;       /* in the same order */
    int32_t in_state[STATES]; /* how many items are in each state */
    int32_t *slots;           /* where to find a key: hash table of indexes, -1 when free */
    uint32_t mask;
    int32_t came_back; /* claims of what the victim had held, in the same attempt */
    int16_t victim;    /* the worker that is to be killed; its leases are brief, and may run out before */
};

/* False when there is not enough memory. */
bool ledger_make(struct ledger *ledger, int32_t capacity, int16_t victim);
void ledger_free(struct ledger *ledger);

/* Takes in the receipts of the next items, which are Pending now. False when there is one that does not fit. */
bool ledger_enter(struct ledger *ledger, readpast_receipts receipts);

/* NULL when it is no item of this run. */
struct item *ledger_find(struct ledger *ledger, const char *key);

/* The workers' records; they may come in another order than the events, since each worker writes its own. */
void ledger_take(struct ledger *ledger, struct item *item, int32_t attempt, int16_t worker);
void ledger_settle(struct ledger *ledger, struct item *item, int32_t attempt, int32_t state);

/* Notes the state and the attempt that the server has. */
void ledger_note(struct ledger *ledger, struct item *item, int32_t state, int32_t attempt);

bool state_is_final(int32_t state);
int32_t ledger_finished(const struct ledger *ledger);

#endif
