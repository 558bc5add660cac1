/* The table at the end, and the verdict. */
#ifndef REPORT_H
#define REPORT_H

#include "crew.h"

struct run {
    double enqueue_seconds, work_seconds;
    int32_t batch_size;
    bool asked;                      /* the ledger has every item's state from the server */
    const char *notes[MOST_WORKERS]; /* a remark about each worker, or NULL */
};

/* Prints it. True if nothing was lost, nothing taken twice, and everything finished. */
bool report(const struct run *run, const struct ledger *ledger, const struct crew *crew);

#endif
