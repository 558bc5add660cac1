/* One function a verb: the arguments, the call, the answer. */
#include "adapter.h"

#include <stdlib.h>
#include <string.h>

static readpast_queue queue_of(const cJSON *request) {
    return (readpast_queue){kept_for(QUEUE, request, "queue")};
}

static readpast_batch batch_of(const cJSON *request) {
    return (readpast_batch){kept_for(BATCH, request, "batch")};
}

static cJSON *hello(const cJSON *request) {
    (void)request;
    cJSON *answer = answer_of(READPAST_OK, (readpast_error){0});
    cJSON_AddStringToObject(answer, "language", "c");
    cJSON_AddStringToObject(answer, "version", readpast_version());
    cJSON_AddNumberToObject(answer, "abi", readpast_abi());
    return answer;
}

static cJSON *describe(const cJSON *request) {
    cJSON *answer = answer_of(READPAST_OK, (readpast_error){0});
    cJSON_AddStringToObject(answer, "name", readpast_status_name(small_number_of(request, "status", 0)));
    return answer;
}

static cJSON *install(const cJSON *request) {
    readpast_status status;
    readpast_error error;
    readpast_config config = config_of(request, &status, &error);
    if (status >= 0) {
        char *text = json_of(request, "spec");
        status = readpast_install(config, text, &error);
        cJSON_free(text);
    }
    readpast_config_free(config);
    return answer_of(status, error);
}

static cJSON *open_queue(const cJSON *request) {
    readpast_status status;
    readpast_error error;
    readpast_queue queue = {0};
    readpast_config config = config_of(request, &status, &error);
    if (status >= 0)
        status = readpast_queue_open(config, text_of(request, "name"), &queue, &error);
    readpast_config_free(config);
    cJSON *answer = answer_of(status, error);
    if (status >= 0) {
        keep(QUEUE, text_of(request, "queue"), queue.id);
        cJSON_AddStringToObject(answer, "worker", readpast_queue_worker(queue));
        cJSON_AddNumberToObject(answer, "lease_ms", (double)readpast_queue_lease_ms(queue));
    }
    return answer;
}

static cJSON *share(const cJSON *request) {
    readpast_queue shared;
    readpast_error error;
    const char *place = text_of(request, "place");
    readpast_status status = place ? readpast_queue_at(queue_of(request), place, &shared, &error)
                                   : readpast_queue_share(queue_of(request), &shared, &error);
    if (status >= 0)
        keep(QUEUE, text_of(request, "as"), shared.id);
    return answer_of(status, error);
}

/* The answer of a call with the items that it claimed or found. Keeps the batch if the driver wants that. */
static cJSON *answer_with_batch(const cJSON *request, readpast_status status, readpast_error error,
                                readpast_batch batch) {
    cJSON *answer = answer_of(status, error);
    if (status == READPAST_OK)
        add_items(answer, batch);
    const char *as = text_of(request, "as");
    if (as && batch.id != 0)
        keep(BATCH, as, batch.id);
    else
        readpast_batch_free(batch);
    return answer;
}

static cJSON *claim(const cJSON *request) {
    readpast_batch batch;
    readpast_error error;
    readpast_status status = readpast_queue_claim(queue_of(request), small_number_of(request, "max", 1),
                                                  number_of(request, "wait_ms", 0), &batch, &error);
    return answer_with_batch(request, status, error, batch);
}

static cJSON *wait_for(const cJSON *request) {
    readpast_batch batch;
    readpast_error error;
    readpast_status status = readpast_queue_wait_for(queue_of(request), text_of(request, "key"),
                                                     number_of(request, "wait_ms", 0), &batch, &error);
    return answer_with_batch(request, status, error, batch);
}

static cJSON *find(const cJSON *request) {
    char *text = json_of(request, "filter");
    readpast_batch batch;
    readpast_error error;
    readpast_status status = readpast_queue_find(queue_of(request), text, text_of(request, "after"),
                                                 small_number_of(request, "max", 1000), &batch, &error);
    cJSON_free(text);
    return answer_with_batch(request, status, error, batch);
}

static cJSON *ask(const cJSON *request) {
    char *arguments = json_of(request, "arguments");
    readpast_text text;
    readpast_error error;
    readpast_status status = readpast_queue_ask(queue_of(request), text_of(request, "what"), arguments, &text, &error);
    cJSON_free(arguments);
    cJSON *answer = answer_of(status, error);
    if (status >= 0)
        cJSON_AddRawToObject(answer, "answer", readpast_text_get(text));
    readpast_text_free(text);
    return answer;
}

static cJSON *metrics(const cJSON *request) {
    (void)request;
    readpast_text text;
    readpast_error error;
    readpast_status status = readpast_metrics(&text, &error);
    cJSON *answer = answer_of(status, error);
    if (status >= 0)
        cJSON_AddStringToObject(answer, "text", readpast_text_get(text));
    readpast_text_free(text);
    return answer;
}

static cJSON *interrupt(const cJSON *request) {
    readpast_error error;
    readpast_status status = readpast_queue_interrupt(queue_of(request), &error);
    return answer_of(status, error);
}

static cJSON *resume(const cJSON *request) {
    readpast_error error;
    readpast_status status = readpast_queue_resume(queue_of(request), &error);
    return answer_of(status, error);
}

static cJSON *close_queue(const cJSON *request) {
    readpast_error error;
    readpast_status status = readpast_queue_close(queue_of(request), number_of(request, "timeout_ms", 0), &error);
    return answer_of(status, error);
}

static cJSON *free_object(const cJSON *request) {
    static const struct {
        enum kind kind;
        const char *member;
    } kinds[] = {{QUEUE, "queue"}, {BATCH, "batch"}, {RENEWAL, "renewal"}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        const char *name = text_of(request, kinds[i].member);
        if (name)
            let_go(kinds[i].kind, name);
    }
    return answer_of(READPAST_OK, (readpast_error){0});
}

static cJSON *renewal_start(const cJSON *request) {
    readpast_renewal renewal;
    readpast_error error;
    readpast_status status = readpast_renewal_start(queue_of(request), batch_of(request),
                                                    number_of(request, "interval_ms", 0), &renewal, &error);
    if (status >= 0)
        keep(RENEWAL, text_of(request, "as"), renewal.id);
    return answer_of(status, error);
}

static cJSON *renewal_release(const cJSON *request) {
    readpast_error error;
    readpast_renewal renewal = {kept_for(RENEWAL, request, "renewal")};
    readpast_status status = readpast_renewal_release(renewal, text_of(request, "key"), &error);
    return answer_of(status, error);
}

static cJSON *renewal_lost(const cJSON *request) {
    readpast_renewal renewal = {kept_for(RENEWAL, request, "renewal")};
    cJSON *answer = answer_of(READPAST_OK, (readpast_error){0});
    cJSON *keys = cJSON_AddArrayToObject(answer, "keys");
    for (int32_t i = 0; i < readpast_renewal_lost_count(renewal); i++)
        cJSON_AddItemToArray(keys, cJSON_CreateString(readpast_renewal_lost_key(renewal, i)));
    return answer;
}

static cJSON *value(const cJSON *request) {
    readpast_value found = READPAST_VALUE_INIT;
    readpast_error error;
    readpast_status status = readpast_batch_value_by_name(batch_of(request), small_number_of(request, "index", 0),
                                                          text_of(request, "column"), &found, &error);
    cJSON *answer = answer_of(status, error);
    if (status == READPAST_OK)
        add_value(answer, &found);
    return answer;
}

cJSON *make_call(const cJSON *request) {
    static const struct {
        const char *name;
        cJSON *(*call)(const cJSON *request);
    } verbs[] = {
        {"hello", hello},
        {"describe", describe},
        {"install", install},
        {"open", open_queue},
        {"share", share},
        {"enqueue", call_enqueue},
        {"claim", claim},
        {"settle", call_settle},
        {"settle_and_claim", call_settle_and_claim},
        {"renew", call_renew},
        {"wait_for", wait_for},
        {"find", find},
        {"ask", ask},
        {"metrics", metrics},
        {"interrupt", interrupt},
        {"resume", resume},
        {"close", close_queue},
        {"free", free_object},
        {"renewal_start", renewal_start},
        {"renewal_release", renewal_release},
        {"renewal_lost", renewal_lost},
        {"value", value},
#ifndef _WIN32 /* which has no fork */
        {"claim_in_child", call_claim_in_child},
#endif
        {"work", call_work},
    };
    const char *verb = text_of(request, "do");
    for (size_t i = 0; verb && i < sizeof verbs / sizeof *verbs; i++)
        if (strcmp(verbs[i].name, verb) == 0)
            return verbs[i].call(request);
    return NULL;
}
