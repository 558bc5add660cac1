#define _POSIX_C_SOURCE 200809L

#include "signals.h"

#include <signal.h>
#include <unistd.h>

enum stage { STARTING, WORKING, STOPPING, FINISHED };

static struct {
    pthread_mutex_t lock;
    enum stage stage;
    struct loop *loop;
    sigset_t signals;
    pthread_t thread;
} life = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Goes to the stage `to` if `from` is the present one. Returns the stage there was. */
static enum stage advance(enum stage from, enum stage to) {
    pthread_mutex_lock(&life.lock);
    enum stage before = life.stage;
    if (before == from)
        life.stage = to;
    pthread_mutex_unlock(&life.lock);
    return before;
}

static void *wait_for_signals(void *unused) {
    (void)unused;
    for (;;) {
        int number = 0;
        sigwait(&life.signals, &number);
        enum stage stage = advance(WORKING, STOPPING);
        if (stage == FINISHED)
            return NULL;
        if (stage == WORKING)
            loop_stop(life.loop);
        else if (stage == STARTING || number == SIGINT)
            _exit(128 + number); /* nothing is in hand yet, or somebody has lost patience */
    }
}

bool signals_watch(void) {
    sigemptyset(&life.signals);
    sigaddset(&life.signals, SIGINT);
    sigaddset(&life.signals, SIGTERM);
    return pthread_sigmask(SIG_BLOCK, &life.signals, NULL) == 0 &&
           pthread_create(&life.thread, NULL, wait_for_signals, NULL) == 0;
}

void signals_stop(struct loop *loop) {
    life.loop = loop;
    advance(STARTING, WORKING);
}

void signals_unwatch(void) {
    advance(WORKING, STOPPING);
    advance(STOPPING, FINISHED);
    pthread_kill(life.thread, SIGINT); /* wakes it: nothing else is done with the signal */
    pthread_join(life.thread, NULL);
}
