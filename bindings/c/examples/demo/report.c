#define _POSIX_C_SOURCE 200809L

#include "report.h"

#include "screen.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

/* How often what must not happen did. */
struct verdict {
    int32_t twice;       /* an attempt claimed by two, or an item completed by two */
    int32_t lost;        /* gone from the table, or not Completed although a worker was told so */
    int32_t unfinished;  /* in a state that is not final */
    int32_t unexplained; /* finished, but by nobody on record, and not by the worker that was killed */
};

static struct verdict judge(const struct ledger *ledger, const struct crew *crew) {
    struct verdict verdict = {0};
    for (int32_t i = 0; i < ledger->count; i++) {
        const struct item *item = &ledger->items[i];
        bool twice = item->completed > 1;
        for (int attempt = 0; attempt < MOST_ATTEMPTS; attempt++)
            twice |= item->taken[attempt] > 1;
        verdict.twice += twice;

        if (item->state == READPAST_STATE_NONE || (item->completed > 0 && item->state != READPAST_STATE_COMPLETED))
            verdict.lost++;
        else if (!state_is_final(item->state))
            verdict.unfinished++;
        else if (item->state == READPAST_STATE_COMPLETED && item->completed == 0 &&
                 !(item->worker >= 0 && crew->members[item->worker].killed))
            verdict.unexplained++; /* a killed worker may not have come to write down its last answer */
    }
    return verdict;
}

static int by_size(const void *left, const void *right) {
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

static void print_latency(const struct run *run, const struct crew *crew) {
    int32_t count = 0;
    for (int i = 0; i < WORKERS; i++)
        count += crew->members[i].tally.calls;
    int64_t *all = count > 0 ? malloc((size_t)count * sizeof *all) : NULL;
    if (!all)
        return;
    int32_t at = 0;
    for (int i = 0; i < WORKERS; i++) {
        const struct tally *tally = &crew->members[i].tally;
        if (tally->calls > 0)
            memcpy(all + at, tally->latencies_us, (size_t)tally->calls * sizeof *all);
        at += tally->calls;
    }
    qsort(all, (size_t)count, sizeof *all, by_size);
    screen_say("Claim latency     p50 %.1f ms, p99 %.1f ms (each call settles a batch and claims up to %d items)",
               (double)all[count / 2] / 1e3, (double)all[(int64_t)count * 99 / 100] / 1e3, (int)run->batch_size);
    free(all);
}

static void print_workers(const struct run *run, const struct crew *crew) {
    struct tally sum = {0};
    screen_say("\n            Claimed   Settled   of these failed   Lost leases");
    for (int i = 0; i < WORKERS; i++) {
        const struct member *member = &crew->members[i];
        const struct tally *tally = &member->tally;
        char note[96] = "";
        if (member->killed)
            snprintf(note, sizeof note, "  killed while it held %s items", grouped(member->held));
        else if (run->notes[i])
            snprintf(note, sizeof note, "  %s", run->notes[i]);
        int32_t lost = tally->lost + member->held;
        screen_say("Worker %d   %8s  %8s          %8s      %8s%s", i + 1, grouped(tally->claimed), grouped(tally->settled),
                   grouped(tally->failed_attempts), grouped(lost), note);
        sum.claimed += tally->claimed;
        sum.settled += tally->settled;
        sum.failed_attempts += tally->failed_attempts;
        sum.lost += lost;
        sum.strangers += tally->strangers;
    }
    screen_say("Together   %8s  %8s          %8s      %8s\n", grouped(sum.claimed), grouped(sum.settled),
               grouped(sum.failed_attempts), grouped(sum.lost));
    if (sum.strangers > 0)
        screen_say("%s of the claims were of items that an earlier run had left.\n", grouped(sum.strangers));
}

static void print_states(const struct ledger *ledger) {
    static const struct {
        int32_t state;
        bool always;
        const char *name;
    } states[] = {
        {READPAST_STATE_PENDING, true, "Pending"},
        {READPAST_STATE_PROCESSING, true, "Processing"},
        {READPAST_STATE_ERROR, true, "Error"},
        {READPAST_STATE_FAILED, true, "Failed"},
        {READPAST_STATE_COMPLETED, true, "Completed"},
        {READPAST_STATE_CANCELLED, false, "Cancelled"},
        {READPAST_STATE_PAUSED, false, "Paused"},
        {READPAST_STATE_TERMINATED, false, "Terminated"},
        {READPAST_STATE_PARTIALLY_COMPLETED, false, "PartiallyCompleted"},
        {READPAST_STATE_NONE, false, "not found"},
    };
    char line[400] = "";
    for (size_t i = 0; i < sizeof states / sizeof states[0]; i++) {
        size_t length = strlen(line);
        int32_t count = ledger->in_state[states[i].state];
        if (states[i].always || count > 0)
            snprintf(line + length, sizeof line - length, "%s%s %s", length > 0 ? ", " : "", states[i].name,
                     grouped(count));
    }
    screen_say("Items by state    %s", line);
}

/* Whether all workers ended as they should. */
static bool check_workers(const struct crew *crew) {
    bool good = true;
    for (int i = 0; i < WORKERS; i++) {
        const struct member *member = &crew->members[i];
        if (member->killed || (WIFEXITED(member->status) && WEXITSTATUS(member->status) == 0))
            continue;
        good = false;
        if (WIFSIGNALED(member->status))
            screen_say("Worker %d was ended by signal %d.", i + 1, WTERMSIG(member->status));
        else
            screen_say("Worker %d ended with exit status %d.", i + 1, WEXITSTATUS(member->status));
    }
    return good;
}

bool report(const struct run *run, const struct ledger *ledger, const struct crew *crew) {
    struct verdict verdict = judge(ledger, crew);
    int32_t finished = ledger_finished(ledger);
    print_workers(run, crew);
    print_states(ledger);
    screen_say("Taken twice       %s", grouped(verdict.twice));
    screen_say("Lost              %s", run->checked ? grouped(verdict.lost) : "not known: the server could not be asked");
    screen_say("Enqueued          %s in %.1f s: %s items/s", grouped(ledger->count), run->enqueue_seconds,
               grouped((int64_t)(ledger->count / run->enqueue_seconds)));
    screen_say("Finished          %s in %.1f s: %s items/s", grouped(finished), run->work_seconds,
               grouped((int64_t)(finished / run->work_seconds)));
    print_latency(run, crew);

    bool good = check_workers(crew) && run->checked;
    if (verdict.unfinished > 0)
        screen_say("%s items are not finished.", grouped(verdict.unfinished));
    if (verdict.unexplained > 0)
        screen_say("%s items were completed by somebody else: does another demo run on this server?",
                   grouped(verdict.unexplained));
    return good && verdict.twice == 0 && verdict.lost == 0 && verdict.unfinished == 0 && verdict.unexplained == 0;
}
