/*
 * A worker, to copy and make your own: put your work into handle(). It claims items in batches, works on them while the
 * library keeps their leases, and settles each batch and claims the next one in a single round trip.
 *
 *   READPAST_CONNECTION='Driver={...};Server=...;' worker [-b items] [-l lease_ms] [-o key=value]... [-f n] [-r] queue
 *
 *   -b items       how many items to claim at once (default 50)
 *   -l lease_ms    how long a claim holds, should this process die (default 60000, as the library has it)
 *   -o key=value   any setting of the library, like -o schema=sales
 *   -f n           every nth item fails, to see what becomes of it
 *   -r             write to standard output what was claimed and what the server answered: see records.h
 *
 * SIGTERM or SIGINT (Ctrl-C) ends it in order: what was begun is settled, what was not is given back. A second Ctrl-C
 * ends it at once; the leases then run out, and other workers take over.
 */
#define _POSIX_C_SOURCE 200809L

#include "records.h"

#include <readpast.h>

#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_ITEMS = 1000, WAIT_MS = 60000, PAUSE_S = 1, FIRST_RETRY_MS = 200, CLOSE_MS = 5000 };

struct worker {
    readpast_queue queue;
    int32_t batch_size;
    int64_t lease_ms;
    long fail_every, handled;
    bool in_trouble; /* and it was said */
    FILE *records;   /* NULL: none are wanted */
    readpast_settlement settlements[MOST_ITEMS];
    readpast_outcome outcomes[MOST_ITEMS];
};

/* Says what went wrong, and frees the error. */
static void complain(const char *doing, readpast_status status, readpast_error error) {
    const char *message = readpast_error_message(error), *sqlstate = readpast_error_sqlstate(error);
    fprintf(stderr, "%s: %s (%s%s%s)\n", doing, message ? message : "no more is known", readpast_status_name(status),
            sqlstate ? ", SQLSTATE " : "", sqlstate ? sqlstate : "");
    readpast_error_free(error);
}

/*
 * Stopping. readpast_queue_interrupt takes locks, so a signal handler must not call it. Instead, all threads block the
 * signals, and one of them does nothing but wait for them.
 */
enum stage { STARTING, WORKING, STOPPING, FINISHED };

static struct {
    pthread_mutex_t lock;
    enum stage stage;
    readpast_queue queue;
    sigset_t signals;
    pthread_t thread;
} life = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Goes to the stage `to` if `from` is the present one. Returns the stage there was. */
static enum stage advance(enum stage from, enum stage to) {
    pthread_mutex_lock(&life.lock);
    enum stage before = life.stage;
    if (before == from)
        life.stage = to;
    pthread_mutex_unlock(&life.lock);
    return before;
}

static bool stopping(void) {
    return advance(STOPPING, STOPPING) == STOPPING;
}

static void *watch_signals(void *unused) {
    (void)unused;
    for (;;) {
        int number = 0;
        sigwait(&life.signals, &number);
        enum stage stage = advance(WORKING, STOPPING);
        if (stage == FINISHED)
            return NULL;
        if (stage == WORKING)
            readpast_queue_interrupt(life.queue, NULL);
        else if (stage == STARTING || number == SIGINT)
            _exit(128 + number); /* nothing is in hand yet, or somebody has lost patience */
    }
}

/* Before any other thread is started, so that all of them inherit the blocked signals. */
static bool start_watching(void) {
    sigemptyset(&life.signals);
    sigaddset(&life.signals, SIGINT);
    sigaddset(&life.signals, SIGTERM);
    return pthread_sigmask(SIG_BLOCK, &life.signals, NULL) == 0 &&
           pthread_create(&life.thread, NULL, watch_signals, NULL) == 0;
}

static void stop_watching(void) {
    advance(WORKING, STOPPING);
    advance(STOPPING, FINISHED);
    pthread_kill(life.thread, SIGTERM); /* wakes it */
    pthread_join(life.thread, NULL);
}

/* The work itself, of which this program only pretends. Returns NULL when it is done, or why it failed. */
static const char *handle(struct worker *worker, readpast_batch batch, int32_t index) {
    readpast_value recipient = READPAST_VALUE_INIT;
    if (readpast_batch_value_by_name(batch, index, "Recipient", &recipient, NULL) != READPAST_OK || recipient.is_null)
        return "there is no recipient";
    /* Here a message would be sent to recipient.text. */
    worker->handled++;
    if (worker->fail_every > 0 && worker->handled % worker->fail_every == 0)
        return "the mail server said: 451 try again later";
    return NULL;
}

static bool is_lost(readpast_renewal renewal, const char *key) {
    for (int32_t i = 0; i < readpast_renewal_lost_count(renewal); i++)
        if (strcmp(readpast_renewal_lost_key(renewal, i), key) == 0)
            return true;
    return false;
}

/* Works on the items of a batch, and fills in how to settle them. Returns how many there are. */
static int32_t work_on(struct worker *worker, readpast_batch batch) {
    /* However long the work takes, the leases hold. A third of the lease leaves time for two more tries. */
    readpast_renewal renewal;
    readpast_error error;
    readpast_status status = readpast_renewal_start(worker->queue, batch, worker->lease_ms / 3, &renewal, &error);
    if (status < 0)
        complain("leases will not be renewed", status, error); /* what takes too long will be found lost */

    int32_t count = readpast_batch_count(batch);
    for (int32_t i = 0; i < count; i++) {
        readpast_item item = READPAST_ITEM_INIT;
        readpast_settlement settlement = READPAST_SETTLEMENT_INIT;
        readpast_batch_item(batch, i, &item, NULL); /* cannot fail: the index is below the count */
        settlement.key = item.key;
        settlement.token = item.token;
        settlement.attempt = item.attempt;
        if (stopping() || is_lost(renewal, item.key)) {
            settlement.action = READPAST_ACTION_RELEASE; /* not begun, so this attempt does not count */
        } else {
            settlement.error = handle(worker, batch, i);
            settlement.action = settlement.error ? READPAST_ACTION_RETRY : READPAST_ACTION_COMPLETE;
            if (settlement.error) /* each pause twice as long as the one before */
                settlement.delay_ms = (int64_t)FIRST_RETRY_MS << (item.attempt < 16 ? item.attempt - 1 : 15);
        }
        worker->settlements[i] = settlement;
    }
    readpast_renewal_free(renewal);
    return count;
}

/* Whether to make a failed call again. The library has done so for a while before it gave up. */
static bool try_again(struct worker *worker, const char *doing, readpast_status status, readpast_error error) {
    bool again = readpast_error_is_retryable(error) && !stopping();
    if (again && worker->in_trouble)
        readpast_error_free(error);
    else
        complain(doing, status, error);
    worker->in_trouble = true;
    if (again)
        sleep(PAUSE_S);
    return again;
}

/* Waits for items. When there is no batch, it is time to end. False when it cannot go on. */
static bool claim(struct worker *worker, readpast_batch *batch) {
    for (;;) {
        readpast_error error;
        readpast_status status = readpast_queue_claim(worker->queue, worker->batch_size, WAIT_MS, batch, &error);
        if (status == READPAST_OK || status == READPAST_INTERRUPTED)
            return true;
        if (status == READPAST_EMPTY)
            worker->in_trouble = false;
        else if (!try_again(worker, "cannot claim", status, error))
            return false;
    }
}

/*
 * Settles `count` items and claims the next batch, which is null when nothing was due. If the answer got lost, the same
 * operation is asked for again, so nothing is done twice. An item whose lease was lost stays as it is; its outcome says
 * so, and somebody else takes care of it.
 */
static bool settle_and_claim(struct worker *worker, int32_t count, readpast_batch *next) {
    char operation[64] = "";
    for (;;) {
        readpast_error error;
        worker->outcomes[0] = (readpast_outcome)READPAST_OUTCOME_INIT;
        readpast_status status =
            readpast_queue_settle_and_claim(worker->queue, worker->settlements, count, *operation ? operation : NULL,
                                            worker->batch_size, worker->outcomes, next, &error);
        if (status >= 0) {
            worker->in_trouble = false;
            return true;
        }
        const char *unknown = readpast_error_operation(error);
        if (unknown)
            snprintf(operation, sizeof operation, "%s", unknown);
        if (!try_again(worker, "cannot settle", status, error))
            return false; /* the leases run out, and other workers take the items */
    }
}

/* Works until it is stopped. False when it cannot go on. */
static bool work(struct worker *worker) {
    for (;;) {
        readpast_batch batch;
        if (!claim(worker, &batch))
            return false;
        if (batch.id == 0)
            return true;
        while (batch.id != 0) {
            readpast_batch next;
            record_claim(worker->records, batch);
            int32_t count = work_on(worker, batch);
            int64_t begun = record_clock();
            bool settled = settle_and_claim(worker, count, &next);
            if (settled)
                record_settlements(worker->records, worker->settlements, worker->outcomes, count,
                                   next.id != 0 ? record_clock() - begun : -1);
            readpast_batch_free(batch); /* only now: the settlements point into it */
            if (!settled)
                return false;
            batch = next;
        }
    }
}

static void set(readpast_config config, const char *key, const char *value) {
    readpast_error error;
    readpast_status status = readpast_config_set(config, key, value ? value : "", &error);
    if (status < 0) {
        complain("settings", status, error);
        exit(EXIT_FAILURE);
    }
}

static bool read_options(int argc, char **argv, struct worker *worker, readpast_config config) {
    for (int option; (option = getopt(argc, argv, "b:l:o:f:r")) != -1;) {
        char *value = option == 'o' ? strchr(optarg, '=') : NULL;
        switch (option) {
        case 'b': worker->batch_size = (int32_t)strtol(optarg, NULL, 10); break;
        case 'l':
            set(config, "lease.ms", optarg);
            worker->lease_ms = strtol(optarg, NULL, 10);
            break;
        case 'f': worker->fail_every = strtol(optarg, NULL, 10); break;
        case 'r': worker->records = stdout; break;
        case 'o':
            if (value) *value++ = '\0';
            set(config, optarg, value);
            break;
        default: return false;
        }
    }
    set(config, "connection", getenv("READPAST_CONNECTION"));
    return worker->batch_size >= 1 && worker->batch_size <= MOST_ITEMS && optind == argc - 1;
}

int main(int argc, char **argv) {
    static struct worker worker = {.batch_size = 50, .lease_ms = 60000};
    if (readpast_abi() != READPAST_ABI) {
        fprintf(stderr, "readpast %s is not the one this program was built with\n", readpast_version());
        return EXIT_FAILURE;
    }
    readpast_config config = readpast_config_new();
    if (!read_options(argc, argv, &worker, config)) {
        fprintf(stderr, "usage: %s [-b items] [-l lease_ms] [-o key=value]... [-f n] [-r] queue\n", argv[0]);
        return 2;
    }
    if (!start_watching()) {
        fputs("cannot start the thread that waits for signals\n", stderr);
        return EXIT_FAILURE;
    }
    readpast_error error;
    readpast_status status = readpast_queue_open(config, argv[optind], &worker.queue, &error);
    readpast_config_free(config);
    if (status < 0) {
        complain(argv[optind], status, error);
        return EXIT_FAILURE;
    }
    life.queue = worker.queue;
    advance(STARTING, WORKING);
    bool good = work(&worker);
    status = readpast_queue_close(worker.queue, CLOSE_MS, &error);
    if (status < 0)
        complain("closing", status, error);
    readpast_queue_free(worker.queue);
    stop_watching();
    return good && status == READPAST_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
