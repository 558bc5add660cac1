/* The calls that take arrays of structs. */
#define _POSIX_C_SOURCE 200809L

#include "adapter.h"

#include <stdlib.h>

/* The elements of an array of the request; the caller deletes nothing. */
struct list {
    const cJSON *array;
    int32_t count;
};

static struct list list_of(const cJSON *request, const char *member) {
    const cJSON *array = cJSON_GetObjectItemCaseSensitive(request, member);
    return (struct list){array, (int32_t)cJSON_GetArraySize(array)};
}

/* Room for them, and for one more: the library is to refuse an empty list, not malloc. */
static void *room_for(struct list list, size_t size) {
    void *room = calloc((size_t)list.count + 1, size);
    if (!room)
        give_up("not enough memory");
    return room;
}

static readpast_queue queue_of(const cJSON *request) {
    return (readpast_queue){kept_for(QUEUE, request, "queue")};
}

/* Freed by `free_settlements`. */
static readpast_settlement *settlements_of(struct list list) {
    readpast_settlement *settlements = room_for(list, sizeof *settlements);
    int32_t i = 0;
    const cJSON *each;
    cJSON_ArrayForEach(each, list.array) {
        const char *action = text_of(each, "action");
        settlements[i++] = (readpast_settlement){
            .struct_size = sizeof *settlements,
            .key = text_of(each, "key"),
            .token = text_of(each, "token"),
            .attempt = small_number_of(each, "attempt", 0),
            /* A number stands for itself, so that one which is none can be asked for. */
            .action = action ? action_of_name(action) : small_number_of(each, "action", 0),
            .step = text_of(each, "step"),
            .response = text_of(each, "response"),
            .error = text_of(each, "error"),
            .delay_ms = number_of(each, "delay_ms", -1),
            .due = text_of(each, "due"),
            .set_json = json_of(each, "set"),
            .then_json = json_of(each, "then"),
        };
    }
    return settlements;
}

static void free_settlements(readpast_settlement *settlements, struct list list) {
    for (int32_t i = 0; i < list.count; i++) {
        cJSON_free((char *)settlements[i].set_json);
        cJSON_free((char *)settlements[i].then_json);
    }
    free(settlements);
}

static readpast_outcome *outcomes_for(struct list list) {
    readpast_outcome *outcomes = room_for(list, sizeof *outcomes);
    outcomes[0] = (readpast_outcome)READPAST_OUTCOME_INIT;
    return outcomes;
}

/* Outcomes are written when the status is 0 or above. */
static cJSON *answer_with(readpast_status status, readpast_error error, const readpast_outcome *outcomes,
                          struct list list) {
    cJSON *answer = answer_of(status, error);
    if (status >= 0)
        add_outcomes(answer, outcomes, list.count);
    return answer;
}

cJSON *call_enqueue(const cJSON *request) {
    struct list list = list_of(request, "items");
    readpast_new_item *items = room_for(list, sizeof *items);
    char **columns = (char **)room_for(list, sizeof *columns), **after = (char **)room_for(list, sizeof *after);
    int32_t i = 0;
    const cJSON *each;
    cJSON_ArrayForEach(each, list.array) {
        columns[i] = json_of(each, "columns");
        after[i] = json_of(each, "after");
        items[i] = (readpast_new_item){
            .struct_size = sizeof *items,
            .type = text_of(each, "type"),
            .step = text_of(each, "step"),
            .delay_ms = number_of(each, "delay_ms", -1),
            .due = text_of(each, "due"),
            .columns_json = columns[i],
            .traceparent = text_of(each, "traceparent"),
            .tracestate = text_of(each, "tracestate"),
            .after_json = after[i],
            .on_failed = text_of(each, "on_failed"),
        };
        i++;
    }
    readpast_error error;
    readpast_receipts receipts;
    readpast_status status =
        readpast_queue_enqueue(queue_of(request), items, list.count, text_of(request, "operation"), &receipts, &error);
    cJSON *answer = answer_of(status, error);
    if (status >= 0) {
        cJSON *all = cJSON_AddArrayToObject(answer, "receipts");
        for (i = 0; i < readpast_receipts_count(receipts); i++) {
            readpast_receipt given = READPAST_RECEIPT_INIT;
            if (readpast_receipts_get(receipts, i, &given, NULL) != READPAST_OK)
                give_up("receipts without one of them");
            cJSON *receipt = cJSON_CreateObject();
            cJSON_AddStringToObject(receipt, "key", given.key);
            cJSON_AddStringToObject(receipt, "token", given.token);
            cJSON_AddStringToObject(receipt, "answer", readpast_status_name(given.answer));
            cJSON_AddItemToArray(all, receipt);
        }
    }
    for (i = 0; i < list.count; i++) {
        cJSON_free(columns[i]);
        cJSON_free(after[i]);
    }
    free((void *)columns);
    free((void *)after);
    free(items);
    readpast_receipts_free(receipts);
    return answer;
}

cJSON *call_settle(const cJSON *request) {
    struct list list = list_of(request, "settlements");
    readpast_settlement *settlements = settlements_of(list);
    readpast_outcome *outcomes = outcomes_for(list);
    readpast_error error;
    readpast_status status = readpast_queue_settle(queue_of(request), settlements, list.count,
                                                   text_of(request, "operation"), outcomes, &error);
    cJSON *answer = answer_with(status, error, outcomes, list);
    free_settlements(settlements, list);
    free(outcomes);
    return answer;
}

cJSON *call_settle_and_claim(const cJSON *request) {
    struct list list = list_of(request, "settlements");
    readpast_settlement *settlements = settlements_of(list);
    readpast_outcome *outcomes = outcomes_for(list);
    readpast_batch batch;
    readpast_error error;
    readpast_status status =
        readpast_queue_settle_and_claim(queue_of(request), settlements, list.count, text_of(request, "operation"),
                                        small_number_of(request, "max", 0), outcomes, &batch, &error);
    cJSON *answer = answer_with(status, error, outcomes, list);
    if (status >= 0)
        add_items(answer, batch);
    const char *as = text_of(request, "as");
    if (as && batch.id != 0)
        keep(BATCH, as, batch.id);
    else
        readpast_batch_free(batch);
    free_settlements(settlements, list);
    free(outcomes);
    return answer;
}

cJSON *call_renew(const cJSON *request) {
    struct list list = list_of(request, "leases");
    readpast_lease *leases = room_for(list, sizeof *leases);
    readpast_outcome *outcomes = outcomes_for(list);
    int32_t i = 0;
    const cJSON *each;
    cJSON_ArrayForEach(each, list.array) {
        leases[i++] = (readpast_lease){sizeof *leases, text_of(each, "key"), small_number_of(each, "attempt", 0), 0};
    }
    readpast_error error;
    readpast_status status = readpast_queue_renew(queue_of(request), leases, list.count, outcomes, &error);
    cJSON *answer = answer_with(status, error, outcomes, list);
    free(leases);
    free(outcomes);
    return answer;
}
