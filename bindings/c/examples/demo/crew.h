/* The worker processes: started, listened to, killed, stopped. None of them outlives this process. */
#ifndef CREW_H
#define CREW_H

#include "tally.h"

#include <sys/types.h>

enum { MOST_WORKERS = 12, MOST_LABEL = 10 /* characters: what the table has room for */ };

struct member {
    const char *label;
    int16_t number; /* from 0 */
    pid_t pid;      /* 0 when it has ended */
    int status;     /* then, as waitpid gave it */
    bool killed;    /* by us, for show */
    int records;    /* where it writes them: a file without a name, which vanishes by itself */
    struct tally tally;
    int messages;    /* its standard error, as we read it; -1: it has closed it */
    char line[1024]; /* the line of a message that is not complete yet */
    size_t line_length;
    int failures; /* failed attempts that it reported */
};

struct crew {
    int16_t count;
    struct member members[MOST_WORKERS];
};

/*
 * Starts the next worker. `arguments` begins with the path of its program and ends with NULL. If not, says why. It gets a
 * process group of its own: Ctrl-C reaches this process only, which then stops all of them in the same way.
 */
bool crew_start(struct crew *crew, const char *label, char *const arguments[]);

/* Waits so many milliseconds or less; passes on what workers complain about; notices who has ended. */
void crew_wait(struct crew *crew, int milliseconds);

/* Reads the new records of all. How many there were, or -1 if one makes no sense. */
int32_t crew_read(struct crew *crew, struct ledger *ledger);

int crew_alive(const struct crew *crew);

/* SIGKILL, as sudden as a power cut. */
void crew_kill(struct member *member);

/* SIGTERM to all, and after `grace_ms` SIGKILL. They are gone when this returns. */
void crew_stop(struct crew *crew, int grace_ms);

void crew_free(struct crew *crew);

#endif
