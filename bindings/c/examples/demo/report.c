#define _POSIX_C_SOURCE 200809L

#include "report.h"

#include "screen.h"
#include "verdict.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

static int by_size(const void *left, const void *right) {
    int64_t a = *(const int64_t *)left, b = *(const int64_t *)right;
    return (a > b) - (a < b);
}

static void print_latency(const struct run *run, const struct crew *crew) {
    int32_t count = 0;
    for (int i = 0; i < crew->count; i++)
        count += crew->members[i].tally.calls;
    int64_t *all = count > 0 ? malloc((size_t)count * sizeof *all) : NULL;
    if (!all)
        return;
    int32_t at = 0;
    for (int i = 0; i < crew->count; i++) {
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

static void print_workers(const struct run *run, const struct crew *crew, const struct verdict *verdict) {
    struct tally sum = {0};
    int32_t unanswered = verdict->unrecorded_claims;
    screen_say("\n            Claimed   Settled   of these failed   Lost leases");
    for (int i = 0; i < crew->count; i++) {
        const struct member *member = &crew->members[i];
        struct tally tally = member->tally;
        if (member->killed) {
            int32_t last_call = unanswered < run->batch_size ? unanswered : run->batch_size;
            unanswered -= last_call;
            tally.claimed += last_call;
            tally.settled += verdict->unrecorded_settlements;
        }
        tally.lost += tally_held(&tally);
        const char *note = member->killed ? "killed with SIGKILL" : run->notes[i] ? run->notes[i] : "";
        screen_say("%-*s %8s  %8s          %8s      %8s%s%s", MOST_LABEL, member->label, grouped(tally.claimed),
                   grouped(tally.settled), grouped(tally.failed_attempts), grouped(tally.lost), *note ? "  " : "",
                   note);
        sum.claimed += tally.claimed;
        sum.settled += tally.settled;
        sum.failed_attempts += tally.failed_attempts;
        sum.lost += tally.lost;
        sum.strangers += tally.strangers;
    }
    if (unanswered > 0)
        screen_say("No answer  %8s                                  %8s  the connection was lost", grouped(unanswered),
                   grouped(unanswered));
    screen_say("Together   %8s  %8s          %8s      %8s\n", grouped(sum.claimed + unanswered), grouped(sum.settled),
               grouped(sum.failed_attempts), grouped(sum.lost + unanswered));
    if (sum.strangers > 0)
        screen_say("%s of the claims were of items that an earlier run had left.\n", grouped(sum.strangers));
}

static void print_states(const struct run *run, const struct ledger *ledger) {
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
    screen_say("Items by state    %s%s", line, run->asked ? "" : " (as the workers last knew)");
}

/* Whether all workers ended as they should. A signal ends who had not come so far as to heed it; that one took nothing. */
static bool check_workers(const struct crew *crew) {
    bool good = true;
    for (int i = 0; i < crew->count; i++) {
        const struct member *member = &crew->members[i];
        bool stopped_early =
            WIFSIGNALED(member->status) && WTERMSIG(member->status) == SIGTERM && member->tally.claimed == 0;
        if (member->killed || stopped_early || (WIFEXITED(member->status) && WEXITSTATUS(member->status) == 0))
            continue;
        good = false;
        if (WIFSIGNALED(member->status))
            screen_say("%s was ended by signal %d.", member->label, WTERMSIG(member->status));
        else
            screen_say("%s ended with exit status %d.", member->label, WEXITSTATUS(member->status));
    }
    return good;
}

static void print_speed(const char *what, int32_t count, double seconds) {
    screen_say("%s          %s in %.1f s: %s items/s", what, grouped(count), seconds,
               grouped(seconds > 0 ? (int64_t)(count / seconds) : 0));
}

bool report(const struct run *run, const struct ledger *ledger, const struct crew *crew) {
    struct verdict verdict = judge(ledger, crew, run->asked);
    print_workers(run, crew, &verdict);
    print_states(run, ledger);
    screen_say("Taken twice       %s", grouped(verdict.twice));
    screen_say("Lost              %s", run->asked ? grouped(verdict.lost) : "unknown: the server could not be asked");
    print_speed("Enqueued", ledger->count, run->enqueue_seconds);
    print_speed("Finished", ledger_finished(ledger), run->work_seconds);
    print_latency(run, crew);

    if (verdict.unfinished > 0)
        screen_say("%s items are not finished.", grouped(verdict.unfinished));
    if (verdict.unexplained > 0)
        screen_say("%s items were taken by somebody else: does another demo run on this server?",
                   grouped(verdict.unexplained));
    bool good = check_workers(crew);
    return is_good(&verdict) && good;
}
