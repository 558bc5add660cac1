/* Whether what must not happen did. */
#ifndef VERDICT_H
#define VERDICT_H

#include "crew.h"

struct verdict {
    bool asked;          /* the server was asked about every item; else only `twice` and `unfinished` are known */
    int32_t twice;       /* items of which an attempt was claimed by two, or which were completed by two */
    int32_t lost;        /* gone from the table, or not Completed although a worker got that answer */
    int32_t unfinished;  /* in a state that is not final */
    int32_t unexplained; /* completed by no worker of the crew */
    /* Changes on the server that no worker put on record, by attempt numbers and states. */
    int32_t unrecorded_settlements; /* the killed worker's last: it did not live to write them down */
    int32_t unrecorded_claims;      /* the same, and claims whose answer got lost on the way */
};

struct verdict judge(const struct ledger *ledger, const struct crew *crew, bool asked);

bool is_good(const struct verdict *verdict);

#endif
