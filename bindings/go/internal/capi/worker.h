/* The calls on a worker, and all of its events in one crossing. */
#ifndef WORKER_H
#define WORKER_H

#include "arrays.h"

static inline struct result worker_start(uint64_t queue, bool until_empty, int32_t events) {
    struct result result = {0};
    readpast_worker worker;
    readpast_worker_options options = READPAST_WORKER_OPTIONS_INIT;
    options.until_empty = until_empty;
    options.events = events;
    result.status = readpast_worker_start((readpast_queue){queue}, &options, &worker, &result.error);
    result.made = worker.id;
    return result;
}

static inline struct result worker_take(uint64_t worker, int32_t max_items, int64_t wait_ms) {
    readpast_batch batch;
    readpast_error error;
    readpast_status status = readpast_worker_take((readpast_worker){worker}, max_items, wait_ms, &batch, &error);
    return result_of_batch(status, batch, error);
}

static inline struct result worker_begin(uint64_t worker, const char *key, int32_t attempt) {
    struct result result = {0};
    result.status = readpast_worker_begin((readpast_worker){worker}, key, attempt, &result.error);
    return result;
}

static inline struct result worker_give_back(uint64_t worker, uint64_t batch) {
    struct result result = {0};
    result.status = readpast_worker_give_back((readpast_worker){worker}, (readpast_batch){batch}, &result.error);
    return result;
}

static inline struct result worker_end(uint64_t worker, const char *texts, const struct packed_settlement *packed) {
    struct result result = {0};
    readpast_settlement settlement = settlement_of(texts, packed);
    result.status = readpast_worker_end((readpast_worker){worker}, &settlement, 1, &result.error);
    return result;
}

static inline struct result worker_step(uint64_t worker, const char *key, int32_t attempt, const char *step) {
    struct result result = {0};
    result.status = readpast_worker_step((readpast_worker){worker}, key, attempt, step, &result.error);
    return result;
}

static inline struct result worker_progress(uint64_t worker, const char *key, int32_t attempt, int32_t percent,
                                            const char *text) {
    struct result result = {0};
    result.status = readpast_worker_progress((readpast_worker){worker}, key, attempt, percent, text, &result.error);
    return result;
}

static inline struct result worker_changes(uint64_t worker, int64_t seen, int64_t wait_ms, int64_t *changes) {
    struct result result = {0};
    result.status = readpast_worker_changes((readpast_worker){worker}, seen, wait_ms, changes, &result.error);
    return result;
}

static inline struct result worker_stop(uint64_t worker) {
    struct result result = {0};
    result.status = readpast_worker_stop((readpast_worker){worker}, &result.error);
    return result;
}

static inline struct result worker_abandon(uint64_t worker) {
    struct result result = {0};
    result.status = readpast_worker_abandon((readpast_worker){worker}, &result.error);
    return result;
}

static inline struct result worker_close(uint64_t worker, int64_t wait_ms) {
    struct result result = {0};
    result.status = readpast_worker_close((readpast_worker){worker}, wait_ms, &result.error);
    return result;
}

static inline struct result worker_figures(uint64_t worker, readpast_worker_figures *figures) {
    struct result result = {0};
    *figures = (readpast_worker_figures)READPAST_WORKER_FIGURES_INIT;
    result.status = readpast_worker_get_figures((readpast_worker){worker}, figures, &result.error);
    return result;
}

static inline struct result worker_events(uint64_t worker, int32_t max_events, int64_t wait_ms) {
    struct result result = {0};
    readpast_events events;
    result.status = readpast_worker_events((readpast_worker){worker}, max_events, wait_ms, &events, &result.error);
    result.made = events.id;
    result.count = readpast_events_count(events);
    return result;
}

static inline readpast_status events_all(uint64_t events, int32_t count, readpast_event *all) {
    readpast_status status = READPAST_OK;
    for (int32_t i = 0; i < count && status == READPAST_OK; i++) {
        all[i].struct_size = sizeof *all;
        status = readpast_events_get((readpast_events){events}, i, &all[i], NULL);
    }
    return status;
}

#endif
