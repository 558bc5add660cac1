#define _POSIX_C_SOURCE 200809L

#include "loop.h"

#include "../records.h"
#include "log.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* What any error column holds, in bytes, where a longer text may be what was refused. */
enum { SHORT_ERROR = 100 };

enum { WAIT_MS = 60000, PAUSE_S = 1 };

/* What one thread has of its own. */
struct hand {
    struct loop *loop;
    bool in_trouble; /* and it was said */
    struct task *tasks;
    readpast_settlement *settlements;
    readpast_outcome *outcomes;
};

bool loop_make(struct loop *loop) {
    pthread_condattr_t attributes;
    loop->stopping = false;
    if (pthread_condattr_init(&attributes) != 0)
        return false;
    bool made = pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC) == 0 &&
                pthread_cond_init(&loop->stops, &attributes) == 0;
    pthread_condattr_destroy(&attributes);
    if (made && pthread_mutex_init(&loop->lock, NULL) != 0) {
        pthread_cond_destroy(&loop->stops);
        made = false;
    }
    return made;
}

void loop_free(struct loop *loop) {
    pthread_mutex_destroy(&loop->lock);
    pthread_cond_destroy(&loop->stops);
}

void loop_stop(struct loop *loop) {
    pthread_mutex_lock(&loop->lock);
    loop->stopping = true;
    pthread_cond_broadcast(&loop->stops);
    pthread_mutex_unlock(&loop->lock);
    readpast_queue_interrupt(loop->queue, NULL); /* wakes those that wait for items */
}

bool loop_is_stopping(struct loop *loop) {
    pthread_mutex_lock(&loop->lock);
    bool stopping = loop->stopping;
    pthread_mutex_unlock(&loop->lock);
    return stopping;
}

/* Waits a little, or until the loop shall stop. */
static void pause_loop(struct loop *loop) {
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_sec += PAUSE_S;
    pthread_mutex_lock(&loop->lock);
    while (!loop->stopping && pthread_cond_timedwait(&loop->stops, &loop->lock, &until) == 0)
        ;
    pthread_mutex_unlock(&loop->lock);
}

void task_retry(struct task *task, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(task->error, sizeof task->error, format, arguments);
    va_end(arguments);
    task->settlement->action = READPAST_ACTION_RETRY;
    task->settlement->error = task->error;
}

readpast_status task_step(struct task *task, const char *step, readpast_error *error) {
    readpast_settlement settlement = READPAST_SETTLEMENT_INIT;
    readpast_outcome outcome = READPAST_OUTCOME_INIT;
    settlement.key = task->settlement->key;
    settlement.token = task->settlement->token;
    settlement.attempt = task->settlement->attempt;
    settlement.action = READPAST_ACTION_STEP;
    settlement.step = step;
    readpast_status status = readpast_queue_settle(task->loop->queue, &settlement, 1, NULL, &outcome, error);
    if (status == READPAST_OK) { /* the item has a new token, with which to go on */
        memcpy(task->token, outcome.token, sizeof task->token);
        task->settlement->token = task->token;
    }
    return status;
}

bool task_is_lost(const struct task *task) {
    for (int32_t i = 0; i < readpast_renewal_lost_count(task->renewal); i++)
        if (strcmp(readpast_renewal_lost_key(task->renewal, i), task->settlement->key) == 0)
            return true;
    return false;
}

/* Works on the items of a batch, and fills in how to settle them. Returns how many there are. */
static int32_t work_on(struct hand *hand, readpast_batch batch) {
    /* However long the work takes, the leases hold. A third of the lease leaves time for two more tries. */
    struct loop *loop = hand->loop;
    readpast_renewal renewal;
    readpast_error error;
    readpast_status status =
        readpast_renewal_start(loop->queue, batch, readpast_queue_lease_ms(loop->queue) / 3, &renewal, &error);
    if (status < 0)
        complain("leases will not be renewed", status, error); /* what takes too long will be found lost */

    int32_t count = readpast_batch_count(batch);
    for (int32_t i = 0; i < count; i++) {
        struct task *task = &hand->tasks[i];
        readpast_settlement *settlement = &hand->settlements[i];
        readpast_item item = READPAST_ITEM_INIT;
        readpast_batch_item(batch, i, &item, NULL); /* cannot fail: the index is below the count */
        *settlement = (readpast_settlement)READPAST_SETTLEMENT_INIT;
        settlement->key = item.key;
        settlement->token = item.token;
        settlement->attempt = item.attempt;
        *task = (struct task){.batch = batch, .index = i, .settlement = settlement, .loop = loop, .renewal = renewal};
        if (loop_is_stopping(loop) || task_is_lost(task)) {
            settlement->action = READPAST_ACTION_RELEASE; /* not begun, so this attempt does not count */
        } else {
            settlement->action = READPAST_ACTION_COMPLETE;
            loop->handle(task, loop->context);
            log_handled(settlement);
        }
    }
    readpast_renewal_free(renewal);
    return count;
}

/* Whether to make a failed call again, after a pause. The library has done so for a while before it gave up. */
static bool try_again(struct hand *hand, const char *doing, readpast_status status, readpast_error error) {
    if (!readpast_error_is_retryable(error) || loop_is_stopping(hand->loop))
        return false;
    if (hand->in_trouble)
        readpast_error_free(error);
    else
        complain(doing, status, error);
    hand->in_trouble = true;
    pause_loop(hand->loop);
    return true;
}

/* Waits for items. At READPAST_OK without a batch, it is time to end. */
static readpast_status claim(struct hand *hand, readpast_batch *batch, readpast_error *error) {
    struct loop *loop = hand->loop;
    for (;;) {
        readpast_status status = readpast_queue_claim(loop->queue, loop->batch_size, WAIT_MS, batch, error);
        if (status == READPAST_OK || status == READPAST_INTERRUPTED)
            return READPAST_OK;
        if (status == READPAST_EMPTY)
            hand->in_trouble = false;
        else if (!try_again(hand, "cannot claim", status, *error))
            return status;
    }
}

/*
 * Settles `count` items from the one at `first` on; with `next`, claims the next batch too, which is null when nothing was
 * due. If the answer got lost, the same operation is asked for again, so nothing is done twice. An item whose lease was
 * lost stays as it is; its outcome says so, and somebody else takes care of it.
 */
static readpast_status settle(struct hand *hand, int32_t first, int32_t count, readpast_batch *next,
                              readpast_error *error) {
    struct loop *loop = hand->loop;
    readpast_settlement *settlements = &hand->settlements[first];
    char identity[64] = "";
    for (;;) {
        const char *operation = *identity ? identity : NULL;
        int64_t begun = record_clock();
        hand->outcomes[0] = (readpast_outcome)READPAST_OUTCOME_INIT;
        readpast_status status =
            next ? readpast_queue_settle_and_claim(loop->queue, settlements, count, operation, loop->batch_size,
                                                   hand->outcomes, next, error)
                 : readpast_queue_settle(loop->queue, settlements, count, operation, hand->outcomes, error);
        if (status >= 0) {
            hand->in_trouble = false;
            log_settled(settlements, hand->outcomes, count);
            record_settlements(loop->records, settlements, hand->outcomes, count,
                               next && next->id != 0 ? record_clock() - begun : -1);
            return READPAST_OK;
        }
        const char *unknown = readpast_error_operation(*error);
        if (unknown)
            snprintf(identity, sizeof identity, "%s", unknown);
        if (!try_again(hand, "cannot settle", status, *error))
            return status; /* the leases run out, and other workers take the items */
    }
}

/* Whether what one handler gave may be the reason: out of range, or more than a column takes. */
static bool is_of_one_item(readpast_status status) {
    return status == READPAST_INVALID_ARGUMENT || status == READPAST_INVALID_ITEM || status == READPAST_DATABASE;
}

/* Copies text, up to the size, without half a character at its end. */
static void copy_text(char *to, size_t size, const char *text) {
    size_t length = strlen(text);
    if (length >= size)
        for (length = size - 1; length > 0 && ((unsigned char)text[length] & 0xC0) == 0x80;)
            length--;
    memcpy(to, text, length);
    to[length] = '\0';
}

/*
 * Settles one item so that what is wrong with it does not hold up the others: without what the database or the library
 * refuses, which its error then says. What is done stays done.
 */
static readpast_status settle_alone(struct hand *hand, int32_t index, readpast_error *error) {
    readpast_status status = settle(hand, index, 1, NULL, error);
    if (!is_of_one_item(status))
        return status;
    const char *message = readpast_error_message(*error);
    char why[512], told[SHORT_ERROR + 1];
    snprintf(why, sizeof why, "what the handler gave was refused: %.400s", message ? message : "no more is known");
    copy_text(told, sizeof told, why);
    readpast_settlement *settlement = &hand->settlements[index], bare = READPAST_SETTLEMENT_INIT;
    log_refused(settlement, *error);
    readpast_error_free(*error);
    bare.key = settlement->key;
    bare.token = settlement->token;
    bare.attempt = settlement->attempt;
    bare.action = settlement->action;
    bare.error = told;
    *settlement = bare;
    status = settle(hand, index, 1, NULL, error);
    settlement->error = NULL; /* it ends here */
    return status;
}

/* Settles the items of a batch, and gives the next one, which is null when nothing was due, or has yet to be claimed. */
static readpast_status settle_batch(struct hand *hand, int32_t count, readpast_batch *next, readpast_error *error) {
    readpast_status status = settle(hand, 0, count, next, error);
    if (!is_of_one_item(status))
        return status;
    readpast_error_free(*error);
    *next = (readpast_batch){0};
    status = READPAST_OK;
    for (int32_t i = 0; i < count && status == READPAST_OK; i++)
        status = settle_alone(hand, i, error);
    return status;
}

static readpast_status work(struct hand *hand, readpast_error *error) {
    for (;;) {
        readpast_batch batch;
        readpast_status status = claim(hand, &batch, error);
        if (status < 0 || batch.id == 0)
            return status;
        while (batch.id != 0) {
            readpast_batch next;
            record_claim(hand->loop->records, batch);
            status = settle_batch(hand, work_on(hand, batch), &next, error);
            readpast_batch_free(batch); /* only now: the settlements point into it */
            if (status < 0)
                return status;
            batch = next;
        }
    }
}

readpast_status loop_run(struct loop *loop, readpast_error *error) {
    size_t items = (size_t)loop->batch_size;
    struct hand hand = {.loop = loop,
                        .tasks = calloc(items, sizeof *hand.tasks),
                        .settlements = calloc(items, sizeof *hand.settlements),
                        .outcomes = calloc(items, sizeof *hand.outcomes)};
    readpast_status status = READPAST_EXHAUSTED;
    *error = (readpast_error){0};
    if (hand.tasks && hand.settlements && hand.outcomes) {
        log_start(loop->queue, loop->batch_size);
        status = work(&hand, error);
        if (status == READPAST_OK) /* else it is the caller's to say what ended it */
            log_stop(loop->queue);
    }
    free(hand.tasks);
    free(hand.settlements);
    free(hand.outcomes);
    return status;
}
