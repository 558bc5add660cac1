/* Whether what must not happen did. */
#ifndef VERDICT_H
#define VERDICT_H

#include "crew.h"

struct verdict {
    bool asked;          /* the server was asked about every item; else only `twice` and `unfinished` can be told */
    int32_t twice;       /* items of which an attempt was claimed by two, or which were completed by two */
    int32_t lost;        /* gone from the table, or not Completed although a worker was told so */
    int32_t unfinished;  /* in a state that is not final */
    int32_t unexplained; /* completed by somebody who is not of the crew */
    /* What the server did and no worker put on record, as attempt numbers and states on the server tell. */
    int32_t unrecorded_settlements; /* the killed worker's last: it did not live to write them down */
    int32_t unrecorded_claims;      /* the same, and claims whose answer got lost on the way */
};

struct verdict judge(const struct ledger *ledger, const struct crew *crew, bool asked);

bool is_good(const struct verdict *verdict);

#endif
