#include "ledger.h"

#include <stdlib.h>
#include <string.h>

bool ledger_make(struct ledger *ledger, int32_t capacity, int16_t victim) {
    uint32_t slots = 16;
    while (slots < 2 * (uint32_t)capacity)
        slots *= 2;
    *ledger = (struct ledger){.mask = slots - 1, .victim = victim};
    ledger->keys = calloc((size_t)capacity, sizeof *ledger->keys);
    ledger->items = calloc((size_t)capacity, sizeof *ledger->items);
    ledger->slots = malloc(slots * sizeof *ledger->slots);
    if (!ledger->keys || !ledger->items || !ledger->slots) {
        ledger_free(ledger);
        return false;
    }
    memset(ledger->slots, -1, slots * sizeof *ledger->slots);
    return true;
}

void ledger_free(struct ledger *ledger) {
    free(ledger->keys);
    free(ledger->items);
    free(ledger->slots);
    *ledger = (struct ledger){0};
}

/* The slot that holds the key, or the free one where it belongs. */
static int32_t *slot_of(const struct ledger *ledger, const char *key) {
    uint32_t hash = 2166136261u; /* FNV-1a */
    for (const char *c = key; *c; c++)
        hash = (hash ^ (unsigned char)*c) * 16777619u;
    uint32_t at = hash & ledger->mask;
    while (ledger->slots[at] >= 0 && strcmp(ledger->keys[ledger->slots[at]], key) != 0)
        at = (at + 1) & ledger->mask;
    return &ledger->slots[at];
}

bool ledger_enter(struct ledger *ledger, readpast_receipts receipts) {
    int32_t count = readpast_receipts_count(receipts);
    for (int32_t i = 0; i < count; i++, ledger->count++) {
        readpast_receipt receipt = READPAST_RECEIPT_INIT;
        char *key = ledger->keys[ledger->count];
        if (readpast_receipts_get(receipts, i, &receipt, NULL) != READPAST_OK)
            return false;
        const size_t size = strlen(receipt.key) + 1;
        if (size > KEY_SIZE)
            return false;
        memcpy(key, receipt.key, size);
        ledger->items[ledger->count] = (struct item){.state = READPAST_STATE_PENDING, .worker = -1};
        ledger->in_state[READPAST_STATE_PENDING]++;
        *slot_of(ledger, key) = ledger->count;
    }
    return true;
}

struct item *ledger_find(struct ledger *ledger, const char *key) {
    int32_t index = *slot_of(ledger, key);
    return index < 0 ? NULL : &ledger->items[index];
}

static void move(struct ledger *ledger, struct item *item, int32_t state) {
    if (state < 0 || state >= STATES)
        state = READPAST_STATE_NONE; /* one that this program does not know yet */
    ledger->in_state[item->state]--;
    ledger->in_state[state]++;
    item->state = state;
}

static void apply(struct ledger *ledger, struct item *item, int32_t record, int32_t state) {
    if (record >= item->newest && !item->closed) {
        item->newest = record;
        move(ledger, item, state);
    }
}

static int8_t *claims_of(struct item *item, int32_t attempt) {
    return &item->taken[attempt < 1 ? 0 : attempt > MOST_ATTEMPTS ? MOST_ATTEMPTS - 1 : attempt - 1];
}

void ledger_take(struct ledger *ledger, struct item *item, int32_t attempt, int16_t worker) {
    /* An attempt may come back when its lease runs out: another worker claims the item in the same attempt. */
    const bool may_come_back = worker == ledger->victim || item->worker == ledger->victim;
    if (may_come_back && *claims_of(item, attempt) > 0)
        ledger->came_back++;
    else
        ++*claims_of(item, attempt);
    if (2 * attempt >= item->newest)
        item->worker = worker;
    apply(ledger, item, 2 * attempt, READPAST_STATE_PROCESSING);
}

void ledger_settle(struct ledger *ledger, struct item *item, int32_t attempt, int32_t state) {
    if (state == READPAST_STATE_PENDING) /* given back: the same attempt may be claimed again */
        --*claims_of(item, attempt);
    if (state == READPAST_STATE_COMPLETED)
        item->completed++;
    apply(ledger, item, 2 * attempt + 1, state);
}

void ledger_note(struct ledger *ledger, struct item *item, int32_t state, int32_t attempt) {
    item->attempt = attempt;
    item->closed = state_is_final(state);
    move(ledger, item, state);
}

bool state_is_final(int32_t state) {
    switch (state) {
    case READPAST_STATE_FAILED:
    case READPAST_STATE_COMPLETED:
    case READPAST_STATE_CANCELLED:
    case READPAST_STATE_TERMINATED:
    case READPAST_STATE_PARTIALLY_COMPLETED: return true;
    default: return false;
    }
}

int32_t ledger_finished(const struct ledger *ledger) {
    int32_t finished = 0;
    for (int32_t state = 0; state < STATES; state++)
        finished += state_is_final(state) ? ledger->in_state[state] : 0;
    return finished;
}
