/* An act of the demo: a crew that competes for the items of one queue, one of them killed in the middle. */
#ifndef ACT_H
#define ACT_H

#include "crew.h"
#include "server.h"

#include <signal.h>

enum { VICTIM = 1, CLUMSY = 2, FAIL_EVERY = 50, MOST_SETTINGS = 8 };

struct role {
    const char *label, *program;
};

struct act {
    const struct role *cast;
    int16_t cast_count;
    /*
     * True: all items are there before the first worker is. False: they come when every worker has shown that it is
     * ready, by taking an item. Else those whose language takes a while to start would find the work done.
     */
    bool items_first;
    const char *schema;
    const char *const *settings; /* the library's, for all workers: key=value, NULL at the end */
    int32_t items, batch_size;
    long lease_ms, patience_s;
};

/* Which signal asked to stop; 0: none. To be set by a handler. */
extern volatile sig_atomic_t stopped_by;

/* True from when there are workers: to stop them takes more than to end. */
extern volatile sig_atomic_t has_workers;

/* Enqueues, starts the crew, watches it, stops it, prints the table. Returns an exit status; 0: all went well. */
int act_play(const struct act *act);

/* Enqueues the items of an act for other workers. */
int act_enqueue_only(const struct act *act);

#endif
