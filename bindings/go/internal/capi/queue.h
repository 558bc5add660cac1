/* The calls on a configuration, and those on a queue that take no array. */
#ifndef QUEUE_H
#define QUEUE_H

#include "batch.h"

static inline struct result config_set(uint64_t config, const char *key, const char *value) {
    struct result result = {0};
    result.status = readpast_config_set((readpast_config){config}, key, value, &result.error);
    return result;
}

static inline struct result install(uint64_t config, const char *spec) {
    struct result result = {0};
    result.status = readpast_install((readpast_config){config}, spec, &result.error);
    return result;
}

static inline struct result list(uint64_t config) {
    struct result result = {0};
    readpast_text queues;
    result.status = readpast_list((readpast_config){config}, &queues, &result.error);
    result.made = queues.id;
    return result;
}

static inline struct result drop(uint64_t config, const char *queue) {
    struct result result = {0};
    result.status = readpast_drop((readpast_config){config}, queue, &result.error);
    return result;
}

static inline struct result queue_open(uint64_t config, const char *name) {
    struct result result = {0};
    readpast_queue queue;
    result.status = readpast_queue_open((readpast_config){config}, name, &queue, &result.error);
    result.made = queue.id;
    return result;
}

static inline struct result queue_share(uint64_t queue) {
    struct result result = {0};
    readpast_queue shared;
    result.status = readpast_queue_share((readpast_queue){queue}, &shared, &result.error);
    result.made = shared.id;
    return result;
}

static inline struct result queue_at(uint64_t queue, const char *place) {
    struct result result = {0};
    readpast_queue at;
    result.status = readpast_queue_at((readpast_queue){queue}, place, &at, &result.error);
    result.made = at.id;
    return result;
}

static inline struct result queue_interrupt(uint64_t queue) {
    struct result result = {0};
    result.status = readpast_queue_interrupt((readpast_queue){queue}, &result.error);
    return result;
}

static inline struct result queue_resume(uint64_t queue) {
    struct result result = {0};
    result.status = readpast_queue_resume((readpast_queue){queue}, &result.error);
    return result;
}

static inline struct result queue_wake(uint64_t queue) {
    struct result result = {0};
    result.status = readpast_queue_wake((readpast_queue){queue}, &result.error);
    return result;
}

static inline struct result queue_attach(uint64_t queue, uintptr_t connection) {
    struct result result = {0};
    readpast_queue attached;
    result.status = readpast_queue_attach((readpast_queue){queue}, (void *)connection, &attached, &result.error);
    result.made = attached.id;
    return result;
}

static inline struct result queue_is_done(uint64_t queue, const char *operation) {
    struct result result = {0};
    result.status = readpast_queue_is_done((readpast_queue){queue}, operation, &result.error);
    return result;
}

static inline struct result queue_close(uint64_t queue, int64_t timeout_ms) {
    struct result result = {0};
    result.status = readpast_queue_close((readpast_queue){queue}, timeout_ms, &result.error);
    return result;
}

static inline struct result queue_claim(uint64_t queue, int32_t max_items, int64_t wait_ms) {
    readpast_batch batch;
    readpast_error error;
    readpast_status status = readpast_queue_claim((readpast_queue){queue}, max_items, wait_ms, &batch, &error);
    return result_of_batch(status, batch, error);
}

static inline struct result queue_wait_for(uint64_t queue, const char *key, int64_t wait_ms) {
    readpast_batch batch;
    readpast_error error;
    readpast_status status = readpast_queue_wait_for((readpast_queue){queue}, key, wait_ms, &batch, &error);
    return result_of_batch(status, batch, error);
}

static inline struct result queue_find(uint64_t queue, const char *filter, const char *after, int32_t max_items) {
    readpast_batch batch;
    readpast_error error;
    readpast_status status = readpast_queue_find((readpast_queue){queue}, filter, after, max_items, &batch, &error);
    return result_of_batch(status, batch, error);
}

static inline struct result queue_ask(uint64_t queue, const char *what, const char *arguments) {
    struct result result = {0};
    readpast_text answer;
    result.status = readpast_queue_ask((readpast_queue){queue}, what, arguments, &answer, &result.error);
    result.made = answer.id;
    return result;
}

#endif
