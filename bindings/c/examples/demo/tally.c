#define _POSIX_C_SOURCE 200809L

#include "tally.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool add_latency(struct tally *tally, int64_t latency_us) {
    if (tally->calls == tally->room) {
        int32_t room = tally->room > 0 ? 2 * tally->room : 256;
        int64_t *more = realloc(tally->latencies_us, (size_t)room * sizeof *more);
        if (!more)
            return false;
        tally->latencies_us = more;
        tally->room = room;
    }
    tally->latencies_us[tally->calls++] = latency_us;
    return true;
}

/* One line, as records.h describes it. */
static bool take_in(struct tally *tally, const char *line, int16_t worker, struct ledger *ledger) {
    char key[256];
    int32_t attempt, answer, state;
    int64_t latency_us;
    if (sscanf(line, "L\t%" SCNd64, &latency_us) == 1)
        return add_latency(tally, latency_us);

    if (sscanf(line, "T\t%255[^\t]\t%" SCNd32, key, &attempt) == 2) {
        struct item *item = ledger_find(ledger, key);
        tally->claimed++;
        if (item)
            ledger_take(ledger, item, attempt, worker);
        else
            tally->strangers++;
        return true;
    }
    if (sscanf(line, "S\t%255[^\t]\t%" SCNd32 "\t%" SCNd32 "\t%" SCNd32, key, &attempt, &answer, &state) == 4) {
        struct item *item = ledger_find(ledger, key);
        if (answer != READPAST_OK) {
            tally->lost++;
        } else {
            tally->settled++;
            /* Failed is what becomes of the last attempt that fails. */
            tally->failed_attempts += state == READPAST_STATE_ERROR || state == READPAST_STATE_FAILED;
            if (item)
                ledger_settle(ledger, item, attempt, state);
        }
        return true;
    }
    return false;
}

int32_t tally_read(struct tally *tally, int file, int16_t worker, struct ledger *ledger) {
    char buffer[65536];
    int32_t count = 0;
    for (;;) {
        ssize_t got = pread(file, buffer, sizeof buffer - 1, tally->read);
        if (got < 0)
            return -1;
        buffer[got] = '\0';
        char *line = buffer, *end;
        for (; (end = strchr(line, '\n')) != NULL; line = end + 1, count++) {
            *end = '\0';
            if (!take_in(tally, line, worker, ledger))
                return -1;
        }
        if (line == buffer) /* nothing new, or the beginning of a line that is still being written */
            return count;
        tally->read += line - buffer;
    }
}

int32_t tally_held(const struct tally *tally) {
    return tally->claimed - tally->settled - tally->lost;
}

void tally_free(struct tally *tally) {
    free(tally->latencies_us);
    *tally = (struct tally){0};
}
