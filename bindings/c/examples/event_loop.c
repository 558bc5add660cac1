/* A worker on a program's event loop: one thread, which waits in poll alone. A loop of libuv polls the descriptor by uv_poll_t, one of
 * Boost.Asio by posix::stream_descriptor. Works until the queue Notification is empty. */
#define _POSIX_C_SOURCE 200809L
#include <poll.h>
#include <readpast.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ROOM = 8, WORK_MS = 20 };

/* An item in work: here its work is a timer. */
struct job {
    char key[64];
    int attempt;
    long long ends_at;
};

static readpast_error error;
static int check(readpast_status status) {
    if (status >= 0)
        return status;
    fprintf(stderr, "%s\n", readpast_error_message(error));
    exit(EXIT_FAILURE);
}

static long long now_ms(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec * 1000LL + now.tv_nsec / 1000000;
}

/* Takes what there is room for, without waiting. Returns 0 once no more follows. */
static int take(readpast_worker worker, struct job *jobs, int *count) {
    readpast_batch batch;
    while (*count < ROOM) {
        readpast_status status = check(readpast_worker_take(worker, ROOM - *count, 0, &batch, &error));
        if (status != READPAST_OK)
            return status == READPAST_EMPTY;
        for (int i = 0; i < readpast_batch_count(batch); i++) {
            readpast_item item = READPAST_ITEM_INIT;
            check(readpast_batch_item(batch, i, &item, &error));
            if (check(readpast_worker_begin(worker, item.key, item.attempt, &error)) != READPAST_OK)
                continue;
            puts(readpast_batch_json(batch, i));
            struct job *job = &jobs[(*count)++];
            snprintf(job->key, sizeof job->key, "%s", item.key);
            job->attempt = item.attempt;
            job->ends_at = now_ms() + WORK_MS;
        }
        readpast_batch_free(batch);
    }
    return 1;
}

/* Ends what is done. Work on an item that is lost goes on for nothing: another worker may have it. */
static void end(readpast_worker worker, struct job *jobs, int *count) {
    for (int i = *count - 1; i >= 0; i--) {
        int is_lost = readpast_worker_is_lost(worker, jobs[i].key, jobs[i].attempt);
        if (!is_lost && jobs[i].ends_at > now_ms())
            continue;
        readpast_settlement done = READPAST_SETTLEMENT_INIT;
        done.key = jobs[i].key, done.attempt = jobs[i].attempt;
        done.action = READPAST_ACTION_COMPLETE;
        check(readpast_worker_end(worker, &done, 1, &error));
        jobs[i] = jobs[--*count];
    }
}

static int next_end(const struct job *jobs, int count) {
    long long first = -1;
    for (int i = 0; i < count; i++)
        if (first < 0 || jobs[i].ends_at < first)
            first = jobs[i].ends_at;
    long long left = first - now_ms();
    return first < 0 ? -1 : left < 0 ? 0 : (int)left;
}

int main(void) {
    readpast_queue queue;
    readpast_worker worker;
    readpast_worker_options options = READPAST_WORKER_OPTIONS_INIT;
    readpast_config config = readpast_config_new();
    struct job jobs[ROOM];
    int count = 0;
    options.until_empty = 1;
    check(readpast_config_set(config, "connection", getenv("READPAST_CONNECTION"), &error));
    check(readpast_queue_open(config, "Notification", &queue, &error));
    check(readpast_worker_start(queue, &options, &worker, &error));
    for (int goes_on = 1; goes_on || count > 0;) {
        struct pollfd of_readpast = {.events = POLLIN};
        check(readpast_worker_want(worker, goes_on ? ROOM - count : 0, &of_readpast.fd, &error));
        /* Once it has stopped the descriptor stays readable: what is left is timers. */
        poll(&of_readpast, goes_on, next_end(jobs, count));
        if (goes_on)
            goes_on = take(worker, jobs, &count);
        end(worker, jobs, &count);
    }
    check(readpast_worker_close(worker, 60000, &error));
    readpast_worker_free(worker);
    readpast_queue_free(queue);
    readpast_config_free(config);
}
