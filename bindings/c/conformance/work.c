/*
 * A worker of several threads, as examples/worker.c is one of a single thread: each claims a batch, has its leases
 * renewed, does what the script says for each payload, and settles the batch and claims the next in one round trip. When
 * enough items were handled, the others of the batch are given back.
 */
#define _POSIX_C_SOURCE 200809L

#include "adapter.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MOST_THREADS = 16, MOST_ITEMS = 100, WAIT_MS = 60000, RENEWALS_A_LEASE = 3 };

struct crew {
    readpast_queue queue; /* a handle of its own: to stop it is not to stop its neighbours */
    const cJSON *script;
    int32_t batch_size;
    int64_t until, handled;
    pthread_mutex_t lock;
    readpast_status failed; /* below 0: why a thread gave up */
    readpast_error error;
};

struct hand {
    struct crew *crew;
    readpast_settlement settlements[MOST_ITEMS];
    char tokens[MOST_ITEMS][40]; /* newer than the batch's, after a step */
};

static bool enough(struct crew *crew) {
    pthread_mutex_lock(&crew->lock);
    bool is = crew->handled >= crew->until || crew->failed < 0;
    pthread_mutex_unlock(&crew->lock);
    return is;
}

static void note_handled(struct crew *crew) {
    pthread_mutex_lock(&crew->lock);
    bool last = ++crew->handled == crew->until;
    pthread_mutex_unlock(&crew->lock);
    if (last)
        readpast_queue_interrupt(crew->queue, NULL);
}

static void note_failure(struct crew *crew, readpast_status status, readpast_error error) {
    pthread_mutex_lock(&crew->lock);
    if (crew->failed == 0) {
        crew->failed = status;
        crew->error = error;
        error = (readpast_error){0};
    }
    pthread_mutex_unlock(&crew->lock);
    readpast_error_free(error);
    readpast_queue_interrupt(crew->queue, NULL);
}

/* Records a step, with the claim kept. */
static void step(struct hand *hand, int32_t index, const char *name) {
    readpast_settlement *settlement = &hand->settlements[index];
    readpast_settlement taken = *settlement;
    readpast_outcome outcome = READPAST_OUTCOME_INIT;
    taken.action = READPAST_ACTION_STEP;
    taken.step = name;
    if (readpast_queue_settle(hand->crew->queue, &taken, 1, NULL, &outcome, NULL) == READPAST_OK) {
        strcpy(hand->tokens[index], outcome.token);
        settlement->token = hand->tokens[index];
    }
}

static void handle(struct hand *hand, readpast_batch batch, int32_t index) {
    readpast_settlement *settlement = &hand->settlements[index];
    readpast_value payload = READPAST_VALUE_INIT;
    readpast_batch_value_by_name(batch, index, "Payload", &payload, NULL);
    const cJSON *play = cJSON_GetObjectItemCaseSensitive(hand->crew->script, payload.text ? payload.text : "");
    const char *verb = text_of(play, "do");
    settlement->action = READPAST_ACTION_COMPLETE;
    if (!verb)
        return;
    settlement->response = text_of(play, "response");
    settlement->error = text_of(play, "error");
    settlement->delay_ms = number_of(play, "delay_ms", -1);
    if (strcmp(verb, "step") == 0) {
        step(hand, index, text_of(play, "step"));
    } else if (strcmp(verb, "sleep") == 0) {
        int64_t ms = number_of(play, "ms", 0);
        nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
    } else if (strcmp(verb, "raise") == 0) {
        /* C has no exceptions: a handler says that it failed, and why. */
        settlement->action = READPAST_ACTION_RETRY;
        settlement->error = text_of(play, "message");
    } else {
        char name[32] = "";
        for (size_t i = 0; verb[i] && i + 1 < sizeof name; i++)
            name[i] = (char)(verb[i] >= 'a' && verb[i] <= 'z' ? verb[i] - 'a' + 'A' : verb[i]);
        settlement->action = action_of_name(name);
    }
}

/* Works on a batch; returns how many settlements that makes. */
static int32_t work_on(struct hand *hand, readpast_batch batch) {
    struct crew *crew = hand->crew;
    int32_t count = readpast_batch_count(batch);
    readpast_renewal renewal;
    if (readpast_renewal_start(crew->queue, batch, readpast_queue_lease_ms(crew->queue) / RENEWALS_A_LEASE, &renewal,
                               NULL) < 0)
        give_up("leases cannot be renewed");
    for (int32_t i = 0; i < count; i++) {
        readpast_item item = READPAST_ITEM_INIT;
        readpast_batch_item(batch, i, &item, NULL);
        hand->settlements[i] = (readpast_settlement)READPAST_SETTLEMENT_INIT;
        hand->settlements[i].key = item.key;
        hand->settlements[i].token = item.token;
        hand->settlements[i].attempt = item.attempt;
        hand->settlements[i].action = READPAST_ACTION_RELEASE;
        if (enough(crew))
            continue;
        handle(hand, batch, i);
        note_handled(crew);
    }
    readpast_renewal_free(renewal);
    return count;
}

static void *work(void *data) {
    struct hand *hand = data;
    struct crew *crew = hand->crew;
    while (!enough(crew)) {
        readpast_batch batch;
        readpast_error error;
        readpast_status status = readpast_queue_claim(crew->queue, crew->batch_size, WAIT_MS, &batch, &error);
        while (status >= 0 && batch.id != 0) {
            readpast_batch next;
            int32_t count = work_on(hand, batch);
            status = readpast_queue_settle_and_claim(crew->queue, hand->settlements, count, NULL, crew->batch_size,
                                                     NULL, &next, &error);
            readpast_batch_free(batch); /* only now: the settlements point into it */
            batch = next;
        }
        if (status < 0)
            note_failure(crew, status, error);
    }
    return NULL;
}

cJSON *call_work(const cJSON *request) {
    struct crew crew = {
        .script = cJSON_GetObjectItemCaseSensitive(request, "script"),
        .batch_size = small_number_of(request, "batch", 1),
        .until = number_of(request, "until", 1),
    };
    int32_t count = small_number_of(request, "threads", 1);
    pthread_t threads[MOST_THREADS];
    struct hand *hands = calloc(MOST_THREADS, sizeof *hands);
    if (!hands || count < 1 || count > MOST_THREADS || crew.batch_size > MOST_ITEMS)
        give_up("a crew of that size cannot be had");
    pthread_mutex_init(&crew.lock, NULL);

    readpast_queue given = {kept_for(QUEUE, request, "queue")};
    readpast_error error;
    readpast_status status = readpast_queue_share(given, &crew.queue, &error);
    if (status < 0) {
        free(hands);
        return answer_of(status, error);
    }
    for (int32_t i = 0; i < count; i++) {
        hands[i].crew = &crew;
        if (pthread_create(&threads[i], NULL, work, &hands[i]) != 0)
            give_up("no thread can be started");
    }
    for (int32_t i = 0; i < count; i++)
        pthread_join(threads[i], NULL);
    readpast_queue_free(crew.queue);
    pthread_mutex_destroy(&crew.lock);
    free(hands);

    cJSON *answer = answer_of(crew.failed, crew.error);
    cJSON_AddNumberToObject(answer, "handled", (double)crew.handled);
    return answer;
}
