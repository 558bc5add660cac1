/*
 * The demo: enqueues notifications and has four worker processes compete for them. One of them is killed in the middle,
 * and one fails now and then. From what the workers put on record, and from what the server says in the end, it proves
 * that nothing was lost and nothing taken twice; its exit status is 0 only then.
 *
 *   READPAST_CONNECTION='Driver={...};Server=...;' demo [options]
 *
 *   -n items      how many notifications (default 20000)
 *   -b batch      how many of them a worker claims at once (default 50)
 *   -l lease_ms   how long the items of the killed worker stay away (default 1000)
 *   -s schema     where to install the queue (default readpast_demo, where it meets nobody else's data)
 *   -t seconds    give up when nothing has happened for so long (default 30)
 *   -e            enqueue only, for a worker of your own
 *
 * It can be run on one server again and again: it knows its own items by the keys that enqueuing gave it, and counts no
 * others. A queue per run would be simpler, but would leave a table on the server each time. Items that an earlier run
 * left unfinished are finished on the way.
 */
#define _POSIX_C_SOURCE 200809L

#include "demo/crew.h"
#include "demo/report.h"
#include "demo/screen.h"
#include "demo/server.h"
#include "records.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { VICTIM = 1, CLUMSY = 2, FAIL_EVERY = 50 };
enum { TICK_MS = 50, ASK_MS = 500, GRACE_MS = 10000, INTERRUPTED_GRACE_MS = 3000 };

struct options {
    long items, batch, lease_ms, patience_s;
    const char *schema;
    bool enqueue_only;
};

static volatile sig_atomic_t has_workers, stopped_by;

static void on_signal(int number) {
    stopped_by = number;
    if (!has_workers) { /* then there is nothing to stop, and no need to wait for the server */
        ssize_t ignored = write(STDOUT_FILENO, "\n", 1);
        (void)ignored;
        _exit(128 + number);
    }
}

/* The first signal stops the workers. A second one ends this process at once, and the workers with it. */
static void catch_signals(void) {
    const int numbers[] = {SIGINT, SIGTERM, SIGHUP};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        struct sigaction before, action = {.sa_handler = on_signal, .sa_flags = (int)(SA_RESETHAND | SA_RESTART)};
        sigemptyset(&action.sa_mask);
        /* nohup, say, has them ignored. */
        if (sigaction(numbers[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            sigaction(numbers[i], &action, NULL);
    }
}

static bool start_workers(struct crew *crew, const struct options *options, const char *program) {
    char path[4096], batch[24], lease[24], fail[24], schema[160];
    const char *slash = strrchr(program, '/');
    snprintf(path, sizeof path, "%.*sworker", slash ? (int)(slash - program) + 1 : 0, program);
    snprintf(batch, sizeof batch, "%ld", options->batch);
    snprintf(lease, sizeof lease, "%ld", options->lease_ms);
    snprintf(schema, sizeof schema, "schema=%s", options->schema);
    for (int16_t i = 0; i < WORKERS; i++) {
        snprintf(fail, sizeof fail, "%d", i == CLUMSY ? FAIL_EVERY : 0);
        char *arguments[] = {path, "-r", "-b", batch, "-l", lease, "-f", fail, "-o", schema,
                             /* Brisk, for an audience: look soon for what dead workers left, say soon what is wrong. */
                             "-o", "recover.interval_ms=200", "-o", "poll.interval_ms=100", "-o",
                             "retry.budget_ms=5000", DEMO_QUEUE, NULL};
        if (!crew_start(crew, i, arguments))
            return false;
    }
    return true;
}

/* Kills one worker, once: when 30 % are done and it has items in hand. */
static void kill_one(struct crew *crew, const struct ledger *ledger) {
    struct member *victim = &crew->members[VICTIM];
    if (victim->killed || victim->pid == 0 || ledger_finished(ledger) < ledger->count / 10 * 3 ||
        victim->tally.settled == 0 || tally_held(&victim->tally) == 0)
        return;
    crew_kill(victim);
    screen_say("Worker %d was killed with SIGKILL. What it holds comes back when the leases run out.", VICTIM + 1);
}

/* Until all is finished, or nothing goes on any more. True in the first case. */
static bool watch(struct server *server, struct crew *crew, struct ledger *ledger, long patience_s, double *seconds) {
    struct progress progress = {.doing = "Working", .total = ledger->count, .in_state = ledger->in_state};
    int64_t begun = record_clock(), last_news = begun, next_ask = begun;
    for (;;) {
        crew_wait(crew, TICK_MS);
        int32_t news = crew_read(crew, ledger);
        if (news < 0) {
            screen_say("The records of a worker cannot be read.");
            break;
        }
        kill_one(crew, ledger);
        if (stopped_by != 0)
            break;
        int64_t now = record_clock();
        last_news = news > 0 ? now : last_news;
        /* What the killed worker settled last may be on no record. When the others are silent, the server is asked. */
        if (news == 0 && now >= next_ask && crew->members[VICTIM].killed) {
            if ((server->queue.id == 0 && !server_open(server)) || !server_ask(server, ledger, false))
                break;
            next_ask = record_clock() + ASK_MS * 1000LL;
        }
        progress.done = ledger_finished(ledger);
        progress.seconds = (double)(now - begun) / 1e6;
        *seconds = (double)(last_news - begun) / 1e6;
        if (progress.done == ledger->count) {
            screen_finish(&progress);
            return true;
        }
        if (crew_alive(crew) == 0) {
            screen_say("No worker is left.");
            break;
        }
        if (now - last_news > patience_s * 1000000LL) {
            screen_say("Nothing has happened for %ld s.", patience_s);
            break;
        }
        screen_show(&progress);
    }
    return false;
}

static int run(struct server *server, struct ledger *ledger, struct crew *crew, const struct options *options,
               const char *program) {
    struct run run = {.batch_size = (int32_t)options->batch};
    char note[64];
    snprintf(note, sizeof note, "every %dth item fails here", FAIL_EVERY);
    run.notes[CLUMSY] = note;

    screen_say("Installing queue " DEMO_QUEUE " in schema %s.", options->schema);
    if (!server_begin(server, options->schema) ||
        !server_enqueue(server, ledger, (int32_t)options->items, &run.enqueue_seconds))
        return EXIT_FAILURE;
    if (options->enqueue_only)
        return EXIT_SUCCESS;
    server_close(server); /* the workers shall inherit no connection */

    has_workers = 1;
    bool finished =
        start_workers(crew, options, program) && watch(server, crew, ledger, options->patience_s, &run.work_seconds);
    if (stopped_by != 0)
        screen_say("Stopping the workers.");
    crew_stop(crew, stopped_by != 0 ? INTERRUPTED_GRACE_MS : GRACE_MS);
    if (stopped_by != 0) {
        crew_read(crew, ledger);
        screen_say("Stopped, with %s of %s items finished. A later run on this server finishes the rest.",
                   grouped(ledger_finished(ledger)), grouped(ledger->count));
        return 128 + stopped_by;
    }

    run.asked = crew_read(crew, ledger) >= 0 && (server->queue.id != 0 || server_open(server)) &&
                server_ask(server, ledger, true);
    bool good = report(&run, ledger, crew) && finished;
    if (good && !crew->members[VICTIM].killed)
        screen_say("(No worker was killed: there was too little to do.)");
    screen_say(good ? "\nEverything is as it should be." : "\nNOT everything is as it should be.");
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}

static bool read_options(int argc, char **argv, struct options *options) {
    for (int option; (option = getopt(argc, argv, "n:b:l:s:t:e")) != -1;) {
        switch (option) {
        case 'n': options->items = strtol(optarg, NULL, 10); break;
        case 'b': options->batch = strtol(optarg, NULL, 10); break;
        case 'l': options->lease_ms = strtol(optarg, NULL, 10); break;
        case 's': options->schema = optarg; break;
        case 't': options->patience_s = strtol(optarg, NULL, 10); break;
        case 'e': options->enqueue_only = true; break;
        default: return false;
        }
    }
    return optind == argc && options->items >= 1 && options->items <= 1000000 && options->batch >= 1 &&
           options->batch <= 1000 && options->lease_ms >= 10 && options->patience_s >= 1;
}

int main(int argc, char **argv) {
    struct options options = {
        .items = 20000, .batch = 50, .lease_ms = 1000, .patience_s = 30, .schema = "readpast_demo"};
    if (!read_options(argc, argv, &options)) {
        fprintf(stderr, "usage: %s [-n items] [-b batch] [-l lease_ms] [-s schema] [-t seconds] [-e]\n", argv[0]);
        return 2;
    }
    static struct ledger ledger;
    static struct crew crew;
    struct server server = {{0}, {0}};
    for (int i = 0; i < WORKERS; i++)
        crew.members[i].records = crew.members[i].messages = -1;
    if (!ledger_make(&ledger, (int32_t)options.items)) {
        fputs("not enough memory\n", stderr);
        return EXIT_FAILURE;
    }
    catch_signals();
    screen_begin();
    int status = run(&server, &ledger, &crew, &options, argv[0]);
    server_end(&server);
    crew_free(&crew);
    ledger_free(&ledger);
    return status;
}
