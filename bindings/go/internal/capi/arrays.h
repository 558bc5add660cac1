/*
 * The calls that take an array. Its structs point to texts; they are made here, of one buffer of texts, so that no
 * memory of Go's that C sees ever holds a pointer to memory of Go's.
 */
#ifndef ARRAYS_H
#define ARRAYS_H

#include "batch.h"

#include <stdbool.h>
#include <stdlib.h>

/* Where texts begin, counted from the first byte of the buffer they lie in; below 0: NULL. */
typedef int64_t text_place;

struct packed_item {
    text_place type, step, due, columns, traceparent, tracestate, after, on_failed;
    int64_t delay_ms;
};

/* A text that may hold anything. */
struct any_text {
    text_place at;
    size_t length;
};

struct packed_settlement {
    text_place key, token;
    struct any_text step, response, error, due, set, then;
    int64_t delay_ms;
    int32_t attempt, action;
};

/* An item by its key, with the attempt of its lease. */
struct packed_ref {
    text_place key;
    int64_t attempt;
};

static inline const char *text_at(const char *texts, text_place place) {
    return place < 0 ? NULL : texts + place;
}

/* Each array has one element more than `count`, so that there is a first one in any case. */
static inline struct result queue_enqueue(uint64_t queue, const char *texts, const struct packed_item *packed,
                                          int32_t count, text_place operation) {
    struct result result = {.status = READPAST_EXHAUSTED};
    readpast_receipts receipts = {0};
    readpast_new_item *items = malloc(((size_t)count + 1) * sizeof *items);
    if (!items)
        return result;
    items[0] = (readpast_new_item)READPAST_NEW_ITEM_INIT;
    for (int32_t i = 0; i < count; i++) {
        items[i] = (readpast_new_item)READPAST_NEW_ITEM_INIT;
        items[i].type = text_at(texts, packed[i].type);
        items[i].step = text_at(texts, packed[i].step);
        items[i].delay_ms = packed[i].delay_ms;
        items[i].due = text_at(texts, packed[i].due);
        items[i].columns_json = text_at(texts, packed[i].columns);
        items[i].traceparent = text_at(texts, packed[i].traceparent);
        items[i].tracestate = text_at(texts, packed[i].tracestate);
        items[i].after_json = text_at(texts, packed[i].after);
        items[i].on_failed = text_at(texts, packed[i].on_failed);
    }
    result.status = readpast_queue_enqueue((readpast_queue){queue}, items, count, text_at(texts, operation), &receipts,
                                           &result.error);
    result.made = receipts.id;
    result.count = readpast_receipts_count(receipts);
    free(items);
    return result;
}

/* All receipts in one crossing. */
static inline readpast_status receipts_all(uint64_t receipts, int32_t count, readpast_receipt *all) {
    readpast_status status = READPAST_OK;
    for (int32_t i = 0; i < count && status == READPAST_OK; i++) {
        all[i].struct_size = sizeof *all;
        status = readpast_receipts_get((readpast_receipts){receipts}, i, &all[i], NULL);
    }
    return status;
}

static inline readpast_settlement settlement_of(const char *texts, const struct packed_settlement *packed) {
    readpast_settlement settlement = READPAST_SETTLEMENT_INIT;
    settlement.key = text_at(texts, packed->key);
    settlement.token = text_at(texts, packed->token);
    settlement.attempt = packed->attempt;
    settlement.action = packed->action;
    settlement.step = text_at(texts, packed->step.at);
    settlement.step_length = packed->step.length;
    settlement.response = text_at(texts, packed->response.at);
    settlement.response_length = packed->response.length;
    settlement.error = text_at(texts, packed->error.at);
    settlement.error_length = packed->error.length;
    settlement.delay_ms = packed->delay_ms;
    settlement.due = text_at(texts, packed->due.at);
    settlement.due_length = packed->due.length;
    settlement.set_json = text_at(texts, packed->set.at);
    settlement.set_json_length = packed->set.length;
    settlement.then_json = text_at(texts, packed->then.at);
    settlement.then_json_length = packed->then.length;
    return settlement;
}

/* Settles, and `claims` up to `max_items` too. */
static inline struct result queue_settle(uint64_t queue, const char *texts, const struct packed_settlement *packed,
                                         int32_t count, text_place operation, bool claims, int32_t max_items,
                                         readpast_outcome *outcomes) {
    struct result result = {.status = READPAST_EXHAUSTED};
    readpast_settlement *settlements = malloc(((size_t)count + 1) * sizeof *settlements);
    readpast_batch batch = {0};
    if (!settlements)
        return result;
    settlements[0] = (readpast_settlement)READPAST_SETTLEMENT_INIT;
    for (int32_t i = 0; i < count; i++)
        settlements[i] = settlement_of(texts, &packed[i]);
    outcomes[0] = (readpast_outcome)READPAST_OUTCOME_INIT;
    const char *identity = text_at(texts, operation);
    if (!claims)
        result.status =
            readpast_queue_settle((readpast_queue){queue}, settlements, count, identity, outcomes, &result.error);
    else
        result.status = readpast_queue_settle_and_claim((readpast_queue){queue}, settlements, count, identity,
                                                        max_items, outcomes, &batch, &result.error);
    free(settlements);
    return result_of_batch(result.status, batch, result.error);
}

static inline struct result queue_renew(uint64_t queue, const char *texts, const struct packed_ref *packed,
                                        int32_t count, readpast_outcome *outcomes) {
    struct result result = {.status = READPAST_EXHAUSTED};
    readpast_lease *leases = malloc(((size_t)count + 1) * sizeof *leases);
    if (!leases)
        return result;
    leases[0] = (readpast_lease)READPAST_LEASE_INIT;
    for (int32_t i = 0; i < count; i++) {
        leases[i] = (readpast_lease)READPAST_LEASE_INIT;
        leases[i].key = text_at(texts, packed[i].key);
        leases[i].attempt = (int32_t)packed[i].attempt;
    }
    outcomes[0] = (readpast_outcome)READPAST_OUTCOME_INIT;
    result.status = readpast_queue_renew((readpast_queue){queue}, leases, count, outcomes, &result.error);
    free(leases);
    return result;
}

#endif
