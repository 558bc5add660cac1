/* Answers, made from the library's results. */
#include "adapter.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAMED(prefix, name) {prefix##name, #name}
struct named {
    int32_t number;
    const char *name;
};

static const struct named states[] = {
    NAMED(READPAST_STATE_, NONE),       NAMED(READPAST_STATE_, PENDING),
    NAMED(READPAST_STATE_, PROCESSING), NAMED(READPAST_STATE_, ERROR),
    NAMED(READPAST_STATE_, FAILED),     NAMED(READPAST_STATE_, COMPLETED),
    NAMED(READPAST_STATE_, CANCELLED),  NAMED(READPAST_STATE_, PAUSED),
    NAMED(READPAST_STATE_, TERMINATED), NAMED(READPAST_STATE_, PARTIALLY_COMPLETED),
};
static const struct named actions[] = {
    NAMED(READPAST_ACTION_, COMPLETE),  NAMED(READPAST_ACTION_, COMPLETE_PARTIALLY),
    NAMED(READPAST_ACTION_, FAIL),      NAMED(READPAST_ACTION_, RETRY),
    NAMED(READPAST_ACTION_, RELEASE),   NAMED(READPAST_ACTION_, CANCEL),
    NAMED(READPAST_ACTION_, PAUSE),     NAMED(READPAST_ACTION_, RESUME),
    NAMED(READPAST_ACTION_, TERMINATE), NAMED(READPAST_ACTION_, STEP),
};
static const struct named types[] = {
    NAMED(READPAST_TYPE_, BOOLEAN),   NAMED(READPAST_TYPE_, INTEGER), NAMED(READPAST_TYPE_, FLOAT),
    NAMED(READPAST_TYPE_, DECIMAL),   NAMED(READPAST_TYPE_, TEXT),    NAMED(READPAST_TYPE_, BINARY),
    NAMED(READPAST_TYPE_, TIMESTAMP), NAMED(READPAST_TYPE_, DATE),    NAMED(READPAST_TYPE_, GUID),
    NAMED(READPAST_TYPE_, JSON),
};
enum { STATES = sizeof states / sizeof *states, ACTIONS = sizeof actions / sizeof *actions };
enum { TYPES = sizeof types / sizeof *types };

static const char *name_of(const struct named *all, int count, int32_t number) {
    for (int i = 0; i < count; i++)
        if (all[i].number == number)
            return all[i].name;
    return "?";
}

const char *state_name(int32_t state) {
    return name_of(states, STATES, state);
}

int32_t action_of_name(const char *name) {
    for (int i = 0; name && i < ACTIONS; i++)
        if (strcmp(actions[i].name, name) == 0)
            return actions[i].number;
    return 0;
}

static void add_text(cJSON *to, const char *member, const char *text) {
    if (text)
        cJSON_AddStringToObject(to, member, text);
    else
        cJSON_AddNullToObject(to, member);
}

cJSON *answer_of(readpast_status status, readpast_error error) {
    cJSON *answer = cJSON_CreateObject();
    cJSON_AddStringToObject(answer, "status", readpast_status_name(status));
    if (error.id != 0) {
        cJSON *told = cJSON_AddObjectToObject(answer, "error");
        add_text(told, "message", readpast_error_message(error));
        add_text(told, "sqlstate", readpast_error_sqlstate(error));
        cJSON_AddNumberToObject(told, "native_code", readpast_error_native_code(error));
        cJSON_AddBoolToObject(told, "retryable", readpast_error_is_retryable(error));
        add_text(told, "operation", readpast_error_operation(error));
        readpast_error_free(error);
    }
    return answer;
}

/* cJSON keeps numbers as doubles, which would lose the end of long ones. */
static void add_integer(cJSON *to, int64_t integer) {
    char text[24];
    snprintf(text, sizeof text, "%" PRId64, integer);
    cJSON_AddRawToObject(to, "value", text);
}

/* And it may write a double that is next to the one it was given. */
static void add_float(cJSON *to, double number) {
    char text[32];
    snprintf(text, sizeof text, "%.17g", number);
    if (isfinite(number))
        cJSON_AddRawToObject(to, "value", text);
    else
        cJSON_AddNullToObject(to, "value"); /* JSON has neither infinity nor NaN */
}

static void add_bytes(cJSON *to, const readpast_value *value) {
    char *text = malloc(2 * value->length + 1);
    if (!text)
        give_up("not enough memory");
    for (size_t i = 0; i < value->length; i++)
        snprintf(text + 2 * i, 3, "%02x", value->bytes[i]);
    text[2 * value->length] = '\0';
    cJSON_AddStringToObject(to, "value", text);
    free(text);
}

void add_value(cJSON *to, const readpast_value *value) {
    cJSON_AddStringToObject(to, "type", name_of(types, TYPES, value->type));
    if (value->is_null) {
        cJSON_AddNullToObject(to, "value");
        return;
    }
    switch (value->type) {
    case READPAST_TYPE_BOOLEAN: cJSON_AddBoolToObject(to, "value", value->integer != 0); break;
    case READPAST_TYPE_INTEGER: add_integer(to, value->integer); break;
    case READPAST_TYPE_FLOAT: add_float(to, value->number); break;
    case READPAST_TYPE_BINARY: add_bytes(to, value); break;
    default: cJSON_AddStringToObject(to, "value", value->text); break;
    }
}

static cJSON *item_of(readpast_batch batch, int32_t index) {
    readpast_item item = READPAST_ITEM_INIT;
    if (readpast_batch_item(batch, index, &item, NULL) != READPAST_OK)
        give_up("a batch without one of its items");
    cJSON *told = cJSON_CreateObject();
    cJSON_AddStringToObject(told, "key", item.key);
    cJSON_AddStringToObject(told, "token", item.token);
    cJSON_AddNumberToObject(told, "attempt", item.attempt);
    cJSON_AddStringToObject(told, "state", state_name(item.state));
    add_text(told, "type", item.type);
    add_text(told, "step", item.step);
    add_text(told, "due", item.due);
    add_text(told, "enqueued", item.enqueued);
    add_text(told, "lease_until", item.lease_until);
    cJSON *columns = cJSON_AddObjectToObject(told, "columns");
    for (int32_t i = 0; i < item.column_count; i++) {
        readpast_column column = READPAST_COLUMN_INIT;
        readpast_value value = READPAST_VALUE_INIT;
        if (readpast_batch_column(batch, i, &column, NULL) != READPAST_OK ||
            readpast_batch_value(batch, index, i, &value, NULL) != READPAST_OK)
            give_up("an item without one of its columns");
        add_value(cJSON_AddObjectToObject(columns, column.name), &value);
    }
    cJSON_AddRawToObject(told, "json", readpast_batch_json(batch, index));
    add_text(told, "traceparent", readpast_batch_traceparent(batch, index));
    add_text(told, "tracestate", readpast_batch_tracestate(batch, index));
    return told;
}

void add_items(cJSON *answer, readpast_batch batch) {
    cJSON *items = cJSON_AddArrayToObject(answer, "items");
    for (int32_t i = 0; i < readpast_batch_count(batch); i++)
        cJSON_AddItemToArray(items, item_of(batch, i));
}

void add_outcomes(cJSON *answer, const readpast_outcome *outcomes, int32_t count) {
    cJSON *all = cJSON_AddArrayToObject(answer, "outcomes");
    for (int32_t i = 0; i < count; i++) {
        cJSON *outcome = cJSON_CreateObject();
        cJSON_AddStringToObject(outcome, "answer", readpast_status_name(outcomes[i].answer));
        cJSON_AddStringToObject(outcome, "state", state_name(outcomes[i].state));
        cJSON_AddNumberToObject(outcome, "attempt", outcomes[i].attempt);
        cJSON_AddStringToObject(outcome, "token", outcomes[i].token);
        cJSON_AddItemToArray(all, outcome);
    }
}
