#define _POSIX_C_SOURCE 200809L

#include "records.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <time.h>

static void write_out(FILE *to) {
    if (fflush(to) != 0) {
        perror("cannot write records");
        exit(EXIT_FAILURE);
    }
}

void record_claim(FILE *to, readpast_batch batch) {
    if (!to)
        return;
    for (int32_t i = 0; i < readpast_batch_count(batch); i++) {
        readpast_item item = READPAST_ITEM_INIT;
        readpast_batch_item(batch, i, &item, NULL);
        fprintf(to, "T\t%s\t%" PRId32 "\n", item.key, item.attempt);
    }
    write_out(to);
}

void record_event(FILE *to, const readpast_event *event) {
    const bool is_end = event->kind == READPAST_EVENT_SETTLED || event->kind == READPAST_EVENT_LOST;
    if (!to || !is_end || event->action == READPAST_ACTION_RELEASE)
        return;
    fprintf(to, "S\t%s\t%" PRId32 "\t%" PRId32 "\t%" PRId32 "\n", event->key, event->attempt, event->answer,
            event->state);
    write_out(to);
}

int64_t record_clock(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}
