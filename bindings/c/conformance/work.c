/*
 * A worker of several threads, on the loop of the example worker: its handler does what the script says for the payload
 * of an item.
 */
#define _POSIX_C_SOURCE 200809L

#include "../examples/worker/loop.h"
#include "adapter.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_THREADS = 16 };

struct play {
    const cJSON *script;
    int64_t until;
    pthread_mutex_t lock;
    int64_t handled;
};

/* One thread of the worker. */
struct hand {
    struct loop *loop;
    pthread_t thread;
    readpast_status status;
    readpast_error error;
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

static void follow(const cJSON *line, struct task *task) {
    readpast_settlement *settlement = task->settlement;
    const char *verb = text_of(line, "do");
    if (!verb)
        return; /* not in the script: complete */
    settlement->step = text_of(line, "step");
    settlement->response = text_of(line, "response");
    settlement->error = text_of(line, "error");
    settlement->delay_ms = number_of(line, "delay_ms", -1);
    if (strcmp(verb, "step") == 0) {
        settlement->step = NULL;
        task_step(task, text_of(line, "step"), NULL); /* if it is refused, so will the settlement be */
    } else if (strcmp(verb, "sleep") == 0) {
        sleep_ms(number_of(line, "ms", 0));
    } else if (strcmp(verb, "raise") == 0) { /* C has no exceptions: a handler says that it failed, and why */
        task_retry(task, "%s", text_of(line, "message"));
    } else {
        settlement->action = action_of(verb);
    }
}

static void handle(struct task *task, void *context) {
    struct play *play = context;
    readpast_value payload = READPAST_VALUE_INIT;
    readpast_batch_value_by_name(task->batch, task->index, "Payload", &payload, NULL);
    follow(cJSON_GetObjectItemCaseSensitive(play->script, payload.text ? payload.text : ""), task);
    pthread_mutex_lock(&play->lock);
    bool enough = ++play->handled >= play->until;
    pthread_mutex_unlock(&play->lock);
    if (enough)
        loop_stop(task->loop);
}

static void *run(void *data) {
    struct hand *hand = data;
    hand->status = loop_run(hand->loop, &hand->error);
    if (hand->status < 0)
        loop_stop(hand->loop); /* the others shall not go on without it */
    return NULL;
}

cJSON *call_work(const cJSON *request) {
    struct play play = {
        .script = cJSON_GetObjectItemCaseSensitive(request, "script"),
        .until = number_of(request, "until", 1),
        .lock = PTHREAD_MUTEX_INITIALIZER,
    };
    struct loop loop = {.batch_size = small_number_of(request, "batch", 1), .handle = handle, .context = &play};
    struct hand hands[MOST_THREADS];
    int32_t threads = small_number_of(request, "threads", 1);
    if (threads < 1 || threads > MOST_THREADS)
        give_up("a worker of so many threads cannot be had");

    readpast_queue given = {kept_for(QUEUE, request, "queue")};
    readpast_error error;
    /* A handle of its own: to stop it is not to stop its neighbours. */
    readpast_status status = readpast_queue_share(given, &loop.queue, &error);
    if (status < 0)
        return answer_of(status, error);
    if (!loop_make(&loop))
        give_up("the system has no more locks");
    for (int32_t i = 0; i < threads; i++) {
        hands[i] = (struct hand){.loop = &loop};
        if (pthread_create(&hands[i].thread, NULL, run, &hands[i]) != 0)
            give_up("no thread can be started");
    }
    for (int32_t i = 0; i < threads; i++) {
        pthread_join(hands[i].thread, NULL);
        if (hands[i].status < 0 && status == READPAST_OK) {
            status = hands[i].status;
            error = hands[i].error;
        } else {
            readpast_error_free(hands[i].error);
        }
    }
    loop_free(&loop);
    readpast_queue_free(loop.queue);

    cJSON *answer = answer_of(status, error);
    cJSON_AddNumberToObject(answer, "handled", (double)play.handled);
    return answer;
}
