/* The sum of one worker's records. */
#ifndef TALLY_H
#define TALLY_H

#include "ledger.h"

#include <sys/types.h>

struct tally {
    int32_t claimed, settled, failed_attempts, lost;
    int32_t strangers;     /* items that this run has not enqueued: an earlier one left them */
    int64_t *latencies_us; /* each call settled one batch and claimed the next */
    int32_t calls, room;
    off_t read; /* so far, in bytes */
};

/* Takes the new records in `file` into the tally and the ledger. How many there were, or -1 if one makes no sense. */
int32_t tally_read(struct tally *tally, int file, int16_t worker, struct ledger *ledger);

/* How many items the worker has claimed and not settled. */
int32_t tally_held(const struct tally *tally);

void tally_free(struct tally *tally);

#endif
