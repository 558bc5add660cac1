/* Whether what must not happen did. */
#ifndef VERDICT_H
#define VERDICT_H

#include "crew.h"

struct verdict {
    bool asked;          /* the server was asked about every item; else only `twice` and `unfinished` can be told */
    int32_t twice;       /* items of which an attempt was claimed by two, or which were completed by two */
    int32_t lost;        /* gone from the table, or not Completed although a worker was told so */
    int32_t unfinished;  /* in a state that is not final */
    int32_t unexplained; /* taken or completed by somebody who is not of the crew */
    /* What the killed worker did in its last call and did not come to write down: the server's attempt numbers and states
     * tell, since nobody's records account for them. */
    int32_t unrecorded_claims, unrecorded_settlements;
};

struct verdict judge(const struct ledger *ledger, const struct crew *crew, int32_t batch_size, bool asked);

bool is_good(const struct verdict *verdict);

#endif
