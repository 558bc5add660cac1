/* A worker of several threads, whose handler does what the script says for the payload of an item. */
#define _POSIX_C_SOURCE 200809L

#include "adapter.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_THREADS = 16, DAY_MS = 86400000, MOST_EVENTS = 1000 };

struct play {
    readpast_worker worker;
    const cJSON *script;
    int32_t batch_size;
    int64_t until;
    pthread_mutex_t lock; /* guards the members below */
    int64_t handled, at_once, most_at_once;
};

static void sleep_ms(int64_t ms) {
    nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

/* "complete_partially" is READPAST_ACTION_COMPLETE_PARTIALLY. */
static int32_t action_of(const char *verb) {
    char name[32] = "";
    for (size_t i = 0; verb[i] && i + 1 < sizeof name; i++)
        name[i] = (char)(verb[i] >= 'a' && verb[i] <= 'z' ? verb[i] - 'a' + 'A' : verb[i]);
    int32_t action = action_of_name(name);
    if (action == 0)
        give_up("a script asks for what no handler can do");
    return action;
}

/* A text of the script; one that is to be spoilt ends in a NUL and a byte that is no UTF-8. */
static char *given(const cJSON *line, const char *name, size_t *length) {
    const char *text = text_of(line, name), *spoil = text_of(line, "spoil");
    if (!text)
        return NULL;
    *length = strlen(text);
    char *copy = malloc(*length + sizeof "\0\xFF");
    if (!copy)
        give_up("not enough memory");
    memcpy(copy, text, *length + 1);
    if (spoil && strcmp(spoil, name) == 0) {
        memcpy(copy + *length, "\0\xFF", sizeof "\0\xFF");
        *length += sizeof "\0\xFF" - 1;
    }
    return copy;
}

/* Reports twice at once, so that the second is written later. */
static bool report(const cJSON *line, struct play *play, readpast_settlement *end) {
    int32_t percent = (int32_t)number_of(line, "percent", -1);
    const char *text = text_of(line, "text");
    readpast_error error;
    readpast_worker_progress(play->worker, end->key, end->attempt, percent - 1, "before", NULL);
    if (readpast_worker_progress(play->worker, end->key, end->attempt, percent, text, &error) == READPAST_OK)
        return true;
    const char *message = readpast_error_message(error);
    end->action = READPAST_ACTION_RETRY;
    end->error = strdup(message);
    end->error_length = strlen(message);
    readpast_error_free(error);
    return false;
}

static void follow(const cJSON *line, struct play *play, readpast_settlement *end) {
    const char *verb = text_of(line, "do");
    if (!verb)
        return;                      /* not in the script: complete */
    if (strcmp(verb, "step") == 0) { /* if it is refused, so will the settlement be */
        readpast_worker_step(play->worker, end->key, end->attempt, text_of(line, "step"), NULL);
    } else if (strcmp(verb, "sleep") == 0) {
        sleep_ms(number_of(line, "ms", 0));
    } else if (strcmp(verb, "wait_lost") == 0 || strcmp(verb, "progress") == 0) {
        int64_t seen = 0;
        if (strcmp(verb, "progress") == 0 && !report(line, play, end))
            return;
        while (!readpast_worker_is_lost(play->worker, end->key, end->attempt))
            if (readpast_worker_changes(play->worker, seen, DAY_MS, &seen, NULL) != READPAST_OK)
                give_up("a handler waits for a loss that nobody tells");
    } else if (strcmp(verb, "raise") == 0) { /* C has no exceptions: a handler says that it failed, and why */
        end->action = READPAST_ACTION_RETRY;
        end->error = given(line, "message", &end->error_length);
    } else {
        end->action = action_of(verb);
        end->step = given(line, "step", &end->step_length);
        end->response = given(line, "response", &end->response_length);
        end->error = given(line, "error", &end->error_length);
        end->due = given(line, "due", &end->due_length);
        end->delay_ms = number_of(line, "delay_ms", -1);
        end->set_json = json_of(line, "set");
        end->then_json = json_of(line, "then");
    }
}

static void count(struct play *play, int64_t begun) {
    pthread_mutex_lock(&play->lock);
    play->at_once += begun;
    if (play->at_once > play->most_at_once)
        play->most_at_once = play->at_once;
    bool enough = begun < 0 && ++play->handled == play->until;
    pthread_mutex_unlock(&play->lock);
    if (enough)
        readpast_worker_stop(play->worker, NULL);
}

static void work_on(struct play *play, readpast_batch batch, int32_t index) {
    readpast_item item = READPAST_ITEM_INIT;
    readpast_value payload = READPAST_VALUE_INIT;
    readpast_settlement end = READPAST_SETTLEMENT_INIT;
    readpast_batch_item(batch, index, &item, NULL);
    if (readpast_worker_begin(play->worker, item.key, item.attempt, NULL) != READPAST_OK)
        return;
    end.key = item.key;
    end.attempt = item.attempt;
    readpast_batch_value_by_name(batch, index, "Payload", &payload, NULL);
    end.action = READPAST_ACTION_COMPLETE;
    count(play, 1);
    follow(cJSON_GetObjectItemCaseSensitive(play->script, payload.text ? payload.text : ""), play, &end);
    count(play, -1);
    readpast_worker_end(play->worker, &end, 1, NULL);
    free((char *)end.step);
    free((char *)end.response);
    free((char *)end.error);
    free((char *)end.due);
    cJSON_free((char *)end.set_json);
    cJSON_free((char *)end.then_json);
}

static void *run(void *data) {
    struct play *play = data;
    readpast_batch batch;
    for (;;) {
        /* The worker's close returns why the worker stopped. */
        readpast_status status = readpast_worker_take(play->worker, play->batch_size, DAY_MS, &batch, NULL);
        if (status < 0 || status == READPAST_INTERRUPTED)
            return NULL;
        for (int32_t i = 0; i < readpast_batch_count(batch); i++)
            work_on(play, batch, i);
        readpast_batch_free(batch);
    }
}

/* The key of an item that the worker has reported as set aside, or NULL. The worker has closed, so nothing waits. */
static cJSON *aside_of(readpast_worker worker) {
    cJSON *key = NULL;
    readpast_events events = {0};
    readpast_event event = READPAST_EVENT_INIT;
    readpast_worker_events(worker, MOST_EVENTS, 0, &events, NULL);
    for (int32_t i = 0; !key && readpast_events_get(events, i, &event, NULL) == READPAST_OK; i++)
        if (event.kind == READPAST_EVENT_SET_ASIDE && event.key)
            key = cJSON_CreateString(event.key);
    readpast_events_free(events);
    return key ? key : cJSON_CreateNull();
}

cJSON *call_work(const cJSON *request) {
    struct play play = {
        .script = cJSON_GetObjectItemCaseSensitive(request, "script"),
        .batch_size = small_number_of(request, "batch", 1),
        .until = number_of(request, "until", 1),
        .lock = PTHREAD_MUTEX_INITIALIZER,
    };
    pthread_t hands[MOST_THREADS];
    int32_t threads = small_number_of(request, "threads", 1);
    if (threads < 1 || threads > MOST_THREADS)
        give_up("a worker of so many threads cannot be had");

    readpast_queue queue = {kept_for(QUEUE, request, "queue")};
    readpast_error error;
    readpast_worker_options options = READPAST_WORKER_OPTIONS_INIT;
    options.until_empty = play.until == 0;
    options.events = MOST_EVENTS;
    readpast_status status = readpast_worker_start(queue, &options, &play.worker, &error);
    if (status < 0)
        return answer_of(status, error);
    for (int32_t i = 0; i < threads; i++)
        if (pthread_create(&hands[i], NULL, run, &play) != 0)
            give_up("no thread can be started");
    for (int32_t i = 0; i < threads; i++)
        pthread_join(hands[i], NULL);
    status = readpast_worker_close(play.worker, number_of(request, "settle_timeout_ms", -1), &error);
    cJSON *aside = aside_of(play.worker);
    readpast_worker_free(play.worker);

    cJSON *answer = answer_of(status, error);
    cJSON_AddNumberToObject(answer, "handled", (double)play.handled);
    cJSON_AddNumberToObject(answer, "most_at_once", (double)play.most_at_once);
    cJSON_AddItemToObject(answer, "aside", aside);
    return answer;
}
