#define _POSIX_C_SOURCE 200809L

#include "act.h"

#include "../records.h"
#include "report.h"
#include "screen.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TICK_MS = 50, ASK_MS = 500, INTERRUPTED_GRACE_MS = 3000 };

volatile sig_atomic_t has_workers, stopped_by;

/* An act while it is played. */
struct stage {
    const struct act *act;
    struct server server;
    struct ledger ledger;
    struct crew crew;
    struct run run;
    int64_t begun, last_news; /* times of the work */
};

static bool start_crew(struct stage *stage) {
    const struct act *act = stage->act;
    char program[4096], batch[24], lease[24], fail[24], schema[160];
    snprintf(batch, sizeof batch, "%d", (int)act->batch_size);
    snprintf(lease, sizeof lease, "%ld", act->lease_ms);
    snprintf(schema, sizeof schema, "schema=%s", act->schema);
    for (int16_t i = 0; i < act->cast_count; i++) {
        snprintf(program, sizeof program, "%s", act->cast[i].program);
        snprintf(fail, sizeof fail, "%d", i == CLUMSY ? FAIL_EVERY : 0);
        enum { COUNT = 14 };
        char *arguments[COUNT + 2 + 2 * MOST_SETTINGS + 2] = {
            program, "-r", "-b", batch, "-f", fail, "-o", schema,
            /* Brisk, for an audience: look soon for what dead workers left, say soon what is wrong. */
            "-o", "recover.interval_ms=200", "-o", "poll.interval_ms=100", "-o", "retry.budget_ms=5000"};
        size_t count = COUNT;
        arguments[count++] = "-l"; /* with brief leases, the others would lose theirs whenever the machine pauses */
        arguments[count++] = i == VICTIM ? lease : "600000";
        for (size_t k = 0; act->settings[k]; k++) {
            arguments[count++] = "-o";
            arguments[count++] = (char *)act->settings[k];
        }
        arguments[count] = DEMO_QUEUE;
        if (!crew_start(&stage->crew, act->cast[i].label, arguments))
            return false;
    }
    return true;
}

/* Waits a moment and takes in what the workers have put on record since. False if that makes no sense. */
static bool listen(struct stage *stage, int milliseconds) {
    crew_wait(&stage->crew, milliseconds);
    int32_t news = crew_read(&stage->crew, &stage->ledger);
    if (news < 0)
        screen_say("The records of a worker cannot be read.");
    if (news > 0)
        stage->last_news = record_clock();
    return news >= 0;
}

/* Says so when nothing has happened for too long. */
static bool out_of_patience(const struct stage *stage, int64_t now) {
    if (now - stage->last_news <= stage->act->patience_s * 1000000LL)
        return false;
    screen_say("Nothing has happened for %ld s.", stage->act->patience_s);
    return true;
}

/* Notes who has taken an item by now, and when. How many have, or -1, and says so, if one has ended. */
static int16_t count_present(struct stage *stage, double seconds, double *first_taken) {
    int16_t present = 0;
    for (int16_t i = 0; i < stage->crew.count; i++) {
        const struct member *member = &stage->crew.members[i];
        if (member->pid == 0) {
            screen_say("%s has ended before the work began.", member->label);
            return -1;
        }
        if (member->tally.claimed == 0)
            continue;
        present++;
        if (first_taken[i] < 0)
            first_taken[i] = seconds;
    }
    return present;
}

static void say_who_is_missing(const struct stage *stage) {
    for (int16_t i = 0; i < stage->crew.count; i++)
        if (stage->crew.members[i].tally.claimed == 0)
            screen_say("%s has taken nothing for %ld s.", stage->crew.members[i].label, stage->act->patience_s);
}

/*
 * Until every worker has taken an item. They are put in one by one, and workers that have just had one are the last to
 * look again, so that each gets its turn.
 */
static bool call_the_roll(struct stage *stage) {
    int64_t begun = record_clock(), last_came = begun;
    double first_taken[MOST_WORKERS];
    for (int16_t i = 0; i < MOST_WORKERS; i++)
        first_taken[i] = -1;
    int16_t present = 0;
    screen_say("Waiting until every worker has taken a first item.");
    while (present < stage->crew.count && stage->ledger.count < stage->act->items) {
        if (!server_enqueue(&stage->server, &stage->ledger, 1, &stage->run.enqueue_seconds) ||
            !listen(stage, TICK_MS) || stopped_by != 0)
            return false;
        int64_t now = record_clock();
        int16_t present_before = present;
        present = count_present(stage, (double)(now - begun) / 1e6, first_taken);
        if (present < 0)
            return false;
        if (present > present_before)
            last_came = now;
        if (now - last_came > stage->act->patience_s * 1000000LL) {
            say_who_is_missing(stage);
            return false;
        }
    }
    char line[MOST_WORKERS * 32] = "";
    for (int16_t i = 0; i < stage->crew.count; i++)
        if (first_taken[i] >= 0)
            snprintf(line + strlen(line), sizeof line - strlen(line), "%s%s %.1f s", *line ? ", " : "",
                     stage->crew.members[i].label, first_taken[i]);
    screen_say("They have: %s.", line);
    return true;
}

/* Kills one worker, once: when 30 % are done and it has items in flight. */
static void kill_one(struct stage *stage) {
    struct member *victim = &stage->crew.members[VICTIM];
    if (victim->killed || victim->pid == 0 || ledger_finished(&stage->ledger) < stage->act->items / 10 * 3 ||
        victim->tally.settled == 0 || tally_held(&victim->tally) == 0)
        return;
    crew_kill(victim);
    screen_say("%s was killed with SIGKILL. What it holds comes back when the leases run out.", victim->label);
}

static void show(struct stage *stage, int64_t now, bool last) {
    struct progress progress = {.doing = "Working",
                                .done = ledger_finished(&stage->ledger),
                                .total = stage->act->items,
                                .seconds = (double)(now - stage->begun) / 1e6,
                                .in_state = stage->ledger.in_state};
    struct row rows[MOST_WORKERS];
    for (int16_t i = 0; i < stage->crew.count; i++) {
        const struct member *member = &stage->crew.members[i];
        rows[i] = (struct row){member->label, member->tally.settled, member->killed ? "killed" : NULL};
    }
    if (!stage->act->items_first) { /* a race, with somebody to cheer for */
        progress.rows = rows;
        progress.row_count = stage->crew.count;
    }
    if (last)
        screen_finish(&progress);
    else
        screen_show(&progress);
}

/* Until all is finished, or nothing goes on any more. True in the first case. */
static bool watch(struct stage *stage) {
    const struct act *act = stage->act;
    struct ledger *ledger = &stage->ledger;
    int64_t next_ask = stage->begun = stage->last_news = record_clock();
    for (;;) {
        int64_t news_before = stage->last_news;
        bool more = ledger->count < act->items;
        if (more && !server_enqueue(&stage->server, ledger, act->items - ledger->count, &stage->run.enqueue_seconds))
            return false;
        if (!listen(stage, more ? 0 : TICK_MS))
            return false;
        kill_one(stage);
        if (stopped_by != 0)
            return false;
        int64_t now = record_clock();
        /* The killed worker may have settled items last without a record. Once the others are silent, ask the server. */
        if (stage->last_news == news_before && now >= next_ask && stage->crew.members[VICTIM].killed) {
            if ((stage->server.queue.id == 0 && !server_open(&stage->server)) ||
                !server_ask(&stage->server, ledger, false))
                return false;
            next_ask = record_clock() + ASK_MS * 1000LL;
        }
        stage->run.work_seconds = (double)(stage->last_news - stage->begun) / 1e6;
        if (ledger_finished(ledger) == act->items) {
            show(stage, now, true);
            return true;
        }
        if (crew_alive(&stage->crew) == 0) {
            screen_say("No worker is left.");
            return false;
        }
        if (out_of_patience(stage, now))
            return false;
        show(stage, now, false);
    }
}

static bool install(struct stage *stage) {
    screen_say("Installing queue " DEMO_QUEUE " in schema %s.", stage->act->schema);
    return server_begin(&stage->server, stage->act->schema, stage->act->settings);
}

static bool enqueue_all(struct stage *stage) {
    struct ledger *ledger = &stage->ledger;
    struct progress progress = {.doing = "Enqueuing", .total = stage->act->items};
    while (ledger->count < stage->act->items) {
        if (!server_enqueue(&stage->server, ledger, stage->act->items - ledger->count, &stage->run.enqueue_seconds))
            return false;
        progress.done = ledger->count;
        progress.seconds = stage->run.enqueue_seconds;
        screen_show(&progress);
    }
    screen_finish(&progress);
    return true;
}

/* The steps before the work. While the crew starts, there is no connection that it could inherit. */
static bool prepare(struct stage *stage) {
    if (stage->act->items_first && !enqueue_all(stage))
        return false;
    server_close(&stage->server);
    has_workers = 1;
    return start_crew(stage) && (stage->act->items_first || (server_open(&stage->server) && call_the_roll(stage)));
}

static int play(struct stage *stage) {
    struct ledger *ledger = &stage->ledger;
    char note[64];
    snprintf(note, sizeof note, "every %dth item fails here", FAIL_EVERY);
    stage->run.notes[CLUMSY] = note;

    if (!install(stage))
        return EXIT_FAILURE;
    bool prepared = prepare(stage), finished = prepared && watch(stage);
    if (stopped_by != 0)
        screen_say("Stopping the workers.");
    crew_stop(&stage->crew, stopped_by != 0 ? INTERRUPTED_GRACE_MS : (int)stage->act->patience_s * 1000);
    has_workers = 0;
    if (stopped_by != 0) {
        crew_read(&stage->crew, ledger);
        screen_say("Stopped, with %s of %s items finished. A later run on this server finishes the rest.",
                   grouped(ledger_finished(ledger)), grouped(ledger->count));
        return 128 + stopped_by;
    }

    if (!prepared) {
        screen_verdict(false, "The work did not begin.");
        return EXIT_FAILURE;
    }
    stage->run.asked = crew_read(&stage->crew, ledger) >= 0 &&
                       (stage->server.queue.id != 0 || server_open(&stage->server)) &&
                       server_ask(&stage->server, ledger, true);
    bool good = report(&stage->run, ledger, &stage->crew) && finished;
    if (good && !stage->crew.members[VICTIM].killed)
        screen_say("(No worker was killed: there was too little to do.)");
    screen_verdict(good, good ? "Everything is as it should be." : "NOT everything is as it should be.");
    return good ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int only_enqueue(struct stage *stage) {
    return install(stage) && enqueue_all(stage) ? EXIT_SUCCESS : EXIT_FAILURE;
}

static bool set_up(struct stage *stage, const struct act *act) {
    stage->act = act;
    stage->run.batch_size = act->batch_size;
    if (ledger_make(&stage->ledger, act->items, VICTIM))
        return true;
    fputs("not enough memory\n", stderr);
    return false;
}

static void clear_away(struct stage *stage) {
    server_end(&stage->server);
    crew_free(&stage->crew);
    ledger_free(&stage->ledger);
    free(stage);
}

static int with_stage(const struct act *act, int (*what)(struct stage *)) {
    struct stage *stage = calloc(1, sizeof *stage);
    if (!stage)
        return EXIT_FAILURE;
    int status = set_up(stage, act) ? what(stage) : EXIT_FAILURE;
    clear_away(stage);
    return status;
}

int act_play(const struct act *act) {
    return with_stage(act, play);
}

int act_enqueue_only(const struct act *act) {
    return with_stage(act, only_enqueue);
}
