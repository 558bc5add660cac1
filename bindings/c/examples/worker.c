/*
 * A worker, to copy and make your own: put your work into handle(). The library claims ahead of it, settles what has ended,
 * and keeps leases and connections: docs/worker.md.
 *
 *   READPAST_CONNECTION='Driver={...};Server=...;' worker [-t threads] [-b items] [-l lease_ms] [-o key=value]...
 *          [-f n] [-r] queue
 *
 *   -t threads     on how many threads items are worked on (default 1)
 *   -b items       how many items one of them takes at a time (default 50)
 *   -l lease_ms    how long a claim holds, should this process die
 *   -o key=value   any setting of the library, like -o schema=sales
 *   -f n           every nth item fails, to see what becomes of it
 *   -r             write to standard output what was taken and what the server answered: see records.h
 *
 * SIGTERM or SIGINT (Ctrl-C) ends it in order: what was begun is settled, what was not is given back. A second Ctrl-C
 * ends it at once; the leases then run out, and other workers take over.
 */
#define _POSIX_C_SOURCE 200809L

#include "records.h"

#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_THREADS = 64, EVENTS_AT_ONCE = 1000, EVENTS_KEPT = 100000, PATIENCE_MS = 600000, DAY_MS = 86400000 };

static readpast_worker worker;
static FILE *records; /* NULL: they are not asked for */
static int32_t items_at_once = 50;
static long fail_every;

static bool is_nth(void) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static long handled;
    pthread_mutex_lock(&lock);
    bool is = ++handled % fail_every == 0;
    pthread_mutex_unlock(&lock);
    return is;
}

/* The work itself, of which this program only pretends. The item is complete unless it says otherwise; the text of an
 * error, which the library copies when it returns, must stay until then. */
static void handle(readpast_batch batch, int32_t index, readpast_settlement *settlement) {
    readpast_value recipient = READPAST_VALUE_INIT;
    readpast_batch_value_by_name(batch, index, "Recipient", &recipient, NULL);
    settlement->action = READPAST_ACTION_RETRY;
    if (!recipient.text)
        settlement->error = "there is no recipient";
    else if (fail_every > 0 && is_nth())
        settlement->error = "the mail server said: 451 try again later";
    else /* Here a message would be sent to recipient.text. */
        settlement->action = READPAST_ACTION_COMPLETE;
}

/* By its address: the call that sets the error may stand beside it. */
static bool is_ok(readpast_status status, const char *doing, const readpast_error *error) {
    if (status < 0)
        fprintf(stderr, "error: %s: %s (%s)\n", doing, readpast_error_message(*error), readpast_status_name(status));
    readpast_error_free(*error);
    return status >= 0;
}

/* One of the threads that work. When one ends, for whatever reason, all of them do. */
static void *work(void *unused) {
    readpast_batch batch;
    readpast_error error;
    readpast_status status;
    while ((status = readpast_worker_take(worker, items_at_once, DAY_MS, &batch, &error)) >= 0 &&
           status != READPAST_INTERRUPTED) {
        record_claim(records, batch);
        for (int32_t i = 0; i < readpast_batch_count(batch); i++) {
            readpast_item item = READPAST_ITEM_INIT;
            readpast_settlement end = READPAST_SETTLEMENT_INIT;
            readpast_batch_item(batch, i, &item, NULL);
            if (readpast_worker_begin(worker, item.key, item.attempt, NULL) != READPAST_OK)
                continue; /* it was lost meanwhile, or the worker stops and has given it back */
            end.key = item.key;
            end.attempt = item.attempt;
            handle(batch, i, &end);
            if (end.action == READPAST_ACTION_RETRY)
                fprintf(stderr, "warning: item %s, attempt %" PRId32 " failed (RETRY): %s\n", end.key, end.attempt,
                        end.error);
            readpast_worker_end(worker, &end, 1, NULL);
        }
        readpast_batch_free(batch);
    }
    is_ok(status, "cannot go on", &error);
    kill(getpid(), SIGTERM); /* wakes main() */
    return unused;
}

/* Records and prints the library's events until the worker is closed. */
static void *tell(void *unused) {
    readpast_events events;
    while (readpast_worker_events(worker, EVENTS_AT_ONCE, DAY_MS, &events, NULL) != READPAST_INTERRUPTED) {
        for (int32_t i = 0; i < readpast_events_count(events); i++) {
            readpast_event event = READPAST_EVENT_INIT;
            readpast_events_get(events, i, &event, NULL);
            record_event(records, &event);
            if (event.line)
                fprintf(stderr, "warning: %s\n", event.line);
        }
        readpast_events_free(events);
    }
    return unused;
}

static int32_t read_options(int argc, char **argv, readpast_config config) {
    int32_t threads = 1;
    readpast_error error;
    const char *connection = getenv("READPAST_CONNECTION");
    bool is_set = is_ok(readpast_config_set(config, "connection", connection, &error), "READPAST_CONNECTION", &error);
    for (int option; (option = getopt(argc, argv, "t:b:l:o:f:r")) != -1;) {
        char *value = option == 'o' ? strchr(optarg, '=') : NULL;
        switch (option) {
        case 't': threads = (int32_t)strtol(optarg, NULL, 10); break;
        case 'b': items_at_once = (int32_t)strtol(optarg, NULL, 10); break;
        case 'l': is_set &= is_ok(readpast_config_set(config, "lease.ms", optarg, &error), "-l", &error); break;
        case 'f': fail_every = strtol(optarg, NULL, 10); break;
        case 'r': records = stdout; break;
        case 'o':
            if (value)
                *value++ = '\0';
            is_set &= is_ok(readpast_config_set(config, optarg, value, &error), "settings", &error);
            break;
        default: return 0;
        }
    }
    return is_set && optind == argc - 1 && threads <= MOST_THREADS ? threads : 0;
}

int main(int argc, char **argv) {
    readpast_config config = readpast_config_new();
    int32_t threads = read_options(argc, argv, config);
    if (threads < 1) {
        fprintf(stderr, "usage: %s [-t threads] [-b items] [-l lease_ms] [-o key=value]... [-f n] [-r] queue\n",
                argv[0]);
        return 2;
    }
    readpast_error error;
    readpast_queue queue;
    readpast_worker_options options = READPAST_WORKER_OPTIONS_INIT;
    options.events = EVENTS_KEPT;
    if (!is_ok(readpast_queue_open(config, argv[optind], &queue, &error), argv[optind], &error) ||
        !is_ok(readpast_worker_start(queue, &options, &worker, &error), "cannot start", &error))
        return EXIT_FAILURE;
    readpast_config_free(config);
    fprintf(stderr, "info: worker %s started: threads: %" PRId32 ", items a batch: %" PRId32 "\n",
            readpast_queue_worker(queue), threads, items_at_once);

    /* All threads block the signals, and this one waits for them: little can be called from a signal handler. */
    sigset_t signals;
    sigemptyset(&signals);
    sigaddset(&signals, SIGINT);
    sigaddset(&signals, SIGTERM);
    pthread_sigmask(SIG_BLOCK, &signals, NULL);
    pthread_t teller, workers[MOST_THREADS];
    bool has_threads = pthread_create(&teller, NULL, tell, NULL) == 0;
    for (int32_t i = 0; i < threads; i++)
        has_threads = has_threads && pthread_create(&workers[i], NULL, work, NULL) == 0;
    if (!has_threads) {
        perror("cannot start a thread");
        return EXIT_FAILURE;
    }
    int number;
    sigwait(&signals, &number);
    sigdelset(&signals, SIGTERM);
    pthread_sigmask(SIG_UNBLOCK, &signals, NULL); /* a second Ctrl-C ends the process */

    readpast_worker_stop(worker, NULL);
    for (int32_t i = 0; i < threads; i++)
        pthread_join(workers[i], NULL);
    /* Generous, for the database: who has no patience says so with a second Ctrl-C, or SIGKILL. */
    bool is_closed = is_ok(readpast_worker_close(worker, PATIENCE_MS, &error), "closing", &error);
    pthread_join(teller, NULL);
    fprintf(stderr, "info: worker %s stopped\n", readpast_queue_worker(queue));
    readpast_worker_free(worker);
    readpast_queue_free(queue);
    return is_closed ? EXIT_SUCCESS : EXIT_FAILURE;
}
