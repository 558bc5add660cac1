#include "verdict.h"

#include <sys/wait.h>

/* So many items a worker may have settled when it is killed, and not have written so: a call settles up to 1000, and the
 * thread that writes may be a call behind. */
enum { MOST_UNRECORDED = 2000 };

static bool was_killed(const struct crew *crew, int16_t worker) {
    return worker >= 0 && WIFSIGNALED(crew->members[worker].status);
}

static void judge_item(struct verdict *verdict, const struct item *item, const struct crew *crew) {
    bool twice = item->completed > 1;
    for (int attempt = 0; attempt < MOST_ATTEMPTS; attempt++)
        twice |= item->taken[attempt] > 1;
    verdict->twice += twice;

    if (item->state == READPAST_STATE_NONE || (item->completed > 0 && item->state != READPAST_STATE_COMPLETED))
        verdict->lost++;
    else if (!state_is_final(item->state))
        verdict->unfinished++;
    if (!verdict->asked)
        return;

    for (int attempt = 1; attempt <= item->attempt && attempt < MOST_ATTEMPTS; attempt++)
        verdict->unrecorded_claims += item->taken[attempt - 1] < 1;
    if (item->state == READPAST_STATE_COMPLETED && item->completed == 0) {
        bool last_claim_is_known = item->newest / 2 == item->attempt;
        if (last_claim_is_known && !was_killed(crew, item->worker))
            verdict->unexplained++;
        else
            verdict->unrecorded_settlements++;
    }
}

struct verdict judge(const struct ledger *ledger, const struct crew *crew, bool asked) {
    struct verdict verdict = {.asked = asked};
    for (int32_t i = 0; i < ledger->count; i++)
        judge_item(&verdict, &ledger->items[i], crew);

    /* The killed worker gave up the items that it lost while it lived, and those that it held when it was killed. */
    const struct tally *victim = &crew->members[ledger->victim].tally;
    const int32_t given_up = victim->lost + tally_held(victim);
    if (ledger->came_back > given_up)
        verdict.twice += ledger->came_back - given_up;

    int32_t possible = 0;
    for (int16_t i = 0; i < crew->count; i++)
        possible += was_killed(crew, i) ? MOST_UNRECORDED : 0;
    if (verdict.unrecorded_settlements > possible)
        verdict.unexplained += verdict.unrecorded_settlements - possible;
    return verdict;
}

bool is_good(const struct verdict *verdict) {
    return verdict->asked && verdict->twice == 0 && verdict->lost == 0 && verdict->unfinished == 0 &&
           verdict->unexplained == 0;
}
