/*
 * The demo, in one act or two. Each enqueues notifications and has worker processes compete for them. One of them is
 * killed in the middle, and one fails now and then. From what the workers put on record, and from what the server says
 * in the end, it proves that nothing was lost and nothing taken twice; its exit status is 0 only then.
 *
 *   READPAST_CONNECTION='Driver={...};Server=...;' demo [options]
 *
 * The first act has four workers, all of them the program `worker` beside this one. The second has those that -w names,
 * in whatever languages they are written, and three times as many notifications.
 *
 *   -w label=program   a worker of the second act, to be named once for each of them; the program takes the options of
 *                      worker.c and writes the records of records.h. The second one is killed, the third one fails.
 *   -a act             only this act, 1 or 2
 *   -n items           how many notifications in the first act (default 20000)
 *   -b batch           how many of them a worker claims at once (default 50)
 *   -l lease_ms        how long the items of the killed worker stay away (default 1000)
 *   -s schema          where to install the queue (default readpast_demo, where it meets no other data)
 *   -o key=value       a setting of the library for demo and workers, like -o login.timeout_ms=60000; up to 8 of them
 *   -t seconds         give up when nothing has happened for so long (default 30)
 *   -e                 enqueue only, for a worker of your own
 *
 * It can be run on one server again and again: it knows its own items by the keys that enqueuing gave it, and counts no
 * others. A queue per run would be simpler, but would leave a table on the server each time. Items that an earlier run
 * left unfinished are finished on the way.
 */
#define _POSIX_C_SOURCE 200809L

#include "demo/act.h"
#include "demo/screen.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MOST_ITEMS = 1000000, SECOND_ACT_ITEMS = 3, LEAST_CAST = 3, FIRST_CAST = 4 };

struct options {
    long items, batch, lease_ms, patience_s, act;
    const char *schema;
    const char *settings[MOST_SETTINGS + 1];
    int16_t setting_count;
    bool enqueue_only;
    struct role cast[MOST_WORKERS]; /* the workers of the second act */
    int16_t cast_count;
};

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

/* `text` is label=program, and is taken apart. Says what is wrong with it, if something is. */
static bool add_role(struct options *options, char *text) {
    char *equals = strchr(text, '=');
    if (!equals || equals == text || equals - text > MOST_LABEL || options->cast_count == MOST_WORKERS) {
        fprintf(stderr, "demo: -w %s: it takes label=program, a label of up to %d characters, and up to %d of them\n",
                text, MOST_LABEL, MOST_WORKERS);
        return false;
    }
    *equals = '\0';
    options->cast[options->cast_count++] = (struct role){text, equals + 1};
    return true;
}

/* Before anything starts. Names all that are missing, not only the first. */
static bool cast_is_there(const struct role *cast, int16_t count) {
    bool complete = true;
    for (int16_t i = 0; i < count; i++) {
        if (access(cast[i].program, X_OK) != 0) {
            fprintf(stderr, "demo: the worker for %s is not there: %s\n", cast[i].label, cast[i].program);
            complete = false;
        }
    }
    return complete;
}

static bool read_options(int argc, char **argv, struct options *options) {
    for (int option; (option = getopt(argc, argv, "w:a:n:b:l:s:o:t:e")) != -1;) {
        switch (option) {
        case 'w':
            if (!add_role(options, optarg))
                return false;
            break;
        case 'a': options->act = strtol(optarg, NULL, 10); break;
        case 'n': options->items = strtol(optarg, NULL, 10); break;
        case 'b': options->batch = strtol(optarg, NULL, 10); break;
        case 'l': options->lease_ms = strtol(optarg, NULL, 10); break;
        case 's': options->schema = optarg; break;
        case 'o':
            if (options->setting_count == MOST_SETTINGS)
                return false;
            options->settings[options->setting_count++] = optarg;
            break;
        case 't': options->patience_s = strtol(optarg, NULL, 10); break;
        case 'e': options->enqueue_only = true; break;
        default: return false;
        }
    }
    bool second = options->act == 2 || options->cast_count > 0;
    return optind == argc && options->items >= 1 && options->items <= MOST_ITEMS && options->batch >= 1 &&
           options->batch <= 1000 && options->lease_ms >= 10 && options->patience_s >= 1 &&
           options->patience_s <= 86400 && options->act >= 0 && options->act <= 2 &&
           (!second || options->cast_count >= LEAST_CAST);
}

static int play(const struct options *options, const char *program) {
    char worker[4096];
    const char *slash = strrchr(program, '/');
    snprintf(worker, sizeof worker, "%.*sworker", slash ? (int)(slash - program) + 1 : 0, program);
    const struct role first_cast[FIRST_CAST] = {
        {"Worker 1", worker}, {"Worker 2", worker}, {"Worker 3", worker}, {"Worker 4", worker}};
    const struct act first = {.cast = first_cast,
                              .cast_count = FIRST_CAST,
                              .items_first = true,
                              .schema = options->schema,
                              .settings = options->settings,
                              .items = (int32_t)options->items,
                              .batch_size = (int32_t)options->batch,
                              .lease_ms = options->lease_ms,
                              .patience_s = options->patience_s};
    if (options->enqueue_only)
        return act_enqueue_only(&first);

    bool has_first = options->act != 2, has_second = options->act != 1 && options->cast_count > 0;
    if ((has_first && !cast_is_there(first_cast, 1)) ||
        (has_second && !cast_is_there(options->cast, options->cast_count)))
        return 2;
    int status = EXIT_SUCCESS;
    if (has_first && has_second)
        screen_title("First act: four workers");
    if (has_first)
        status = act_play(&first);
    if (status != EXIT_SUCCESS || stopped_by != 0 || !has_second)
        return status;

    struct act second = first;
    second.cast = options->cast;
    second.cast_count = options->cast_count;
    second.items_first = false;
    second.items *= SECOND_ACT_ITEMS;
    screen_title(has_first ? "\nSecond act: one queue, many languages" : "One queue, many languages");
    return act_play(&second);
}

int main(int argc, char **argv) {
    struct options options = {
        .items = 20000, .batch = 50, .lease_ms = 1000, .patience_s = 30, .schema = "readpast_demo"};
    if (!read_options(argc, argv, &options)) {
        fprintf(stderr,
                "usage: %s [-w label=program]... [-a act] [-n items] [-b batch] [-l lease_ms] [-s schema] "
                "[-o key=value]... [-t seconds] [-e]\n       -w at least three times, if at all\n",
                argv[0]);
        return 2;
    }
    catch_signals();
    screen_begin();
    return play(&options, argv[0]);
}
