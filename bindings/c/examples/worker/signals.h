/*
 * SIGTERM and SIGINT stop a loop. readpast_queue_interrupt takes locks, so a signal handler must not call it. Instead,
 * all threads block the signals, and one of them does nothing but wait for them.
 */
#ifndef SIGNALS_H
#define SIGNALS_H

#include "loop.h"

/* Before any other thread is started, so that all of them inherit the blocked signals. Until there is a loop to stop, a
 * signal ends the process. False when the thread could not be started. */
bool signals_watch(void);

/* From now on, the first signal stops the loop; a second Ctrl-C ends the process. */
void signals_stop(struct loop *loop);

/* Ends the thread. The loop may be freed then. */
void signals_unwatch(void);

#endif
