/*
 * A worker, to copy and make your own, with the folder worker beside it: put your work into handle(). What goes around
 * the work (claims in batches, leases, lost connections, settling) is in worker/loop.c.
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

#include "worker/log.h"
#include "worker/loop.h"
#include "worker/signals.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_ITEMS = 1000, CLOSE_MS = 5000 };

struct work {
    long fail_every, handled;
};

/* The work itself, of which this program only pretends. */
static void handle(struct task *task, void *context) {
    struct work *work = context;
    readpast_value recipient = READPAST_VALUE_INIT;
    if (readpast_batch_value_by_name(task->batch, task->index, "Recipient", &recipient, NULL) != READPAST_OK ||
        recipient.is_null) {
        task_retry(task, "there is no recipient");
        return;
    }
    /* Here a message would be sent to recipient.text. */
    work->handled++;
    if (work->fail_every > 0 && work->handled % work->fail_every == 0)
        task_retry(task, "the mail server said: %d %s", 451, "try again later");
}

static void set(readpast_config config, const char *key, const char *value) {
    readpast_error error;
    readpast_status status = readpast_config_set(config, key, value ? value : "", &error);
    if (status < 0) {
        complain("settings", status, error);
        exit(EXIT_FAILURE);
    }
}

static bool read_options(int argc, char **argv, struct loop *loop, struct work *work, readpast_config config) {
    for (int option; (option = getopt(argc, argv, "b:l:o:f:r")) != -1;) {
        char *value = option == 'o' ? strchr(optarg, '=') : NULL;
        switch (option) {
        case 'b': loop->batch_size = (int32_t)strtol(optarg, NULL, 10); break;
        case 'l': set(config, "lease.ms", optarg); break;
        case 'f': work->fail_every = strtol(optarg, NULL, 10); break;
        case 'r': loop->records = stdout; break;
        case 'o':
            if (value)
                *value++ = '\0';
            set(config, optarg, value);
            break;
        default: return false;
        }
    }
    set(config, "connection", getenv("READPAST_CONNECTION"));
    return loop->batch_size >= 1 && loop->batch_size <= MOST_ITEMS && optind == argc - 1;
}

int main(int argc, char **argv) {
    struct work work = {0};
    struct loop loop = {.batch_size = 50, .handle = handle, .context = &work};
    if (readpast_abi() != READPAST_ABI) {
        fprintf(stderr, "readpast %s is not the one this program was built with\n", readpast_version());
        return EXIT_FAILURE;
    }
    readpast_config config = readpast_config_new();
    if (!read_options(argc, argv, &loop, &work, config)) {
        fprintf(stderr, "usage: %s [-b items] [-l lease_ms] [-o key=value]... [-f n] [-r] queue\n", argv[0]);
        return 2;
    }
    if (!loop_make(&loop) || !signals_watch()) {
        fputs("cannot start the thread that waits for signals\n", stderr);
        return EXIT_FAILURE;
    }
    readpast_error error;
    readpast_status status = readpast_queue_open(config, argv[optind], &loop.queue, &error);
    readpast_config_free(config);
    if (status < 0) {
        complain(argv[optind], status, error);
        return EXIT_FAILURE;
    }
    signals_stop(&loop);
    readpast_status worked = loop_run(&loop, &error);
    if (worked < 0)
        complain("cannot go on", worked, error);
    status = readpast_queue_close(loop.queue, CLOSE_MS, &error);
    if (status < 0)
        complain("closing", status, error);
    signals_unwatch();
    readpast_queue_free(loop.queue);
    loop_free(&loop);
    return worked == READPAST_OK && status == READPAST_OK ? EXIT_SUCCESS : EXIT_FAILURE;
}
