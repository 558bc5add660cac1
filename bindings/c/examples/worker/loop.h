/*
 * The part of a worker that is the same whatever the work is: it claims items in batches, has them worked on while the
 * library keeps their leases, and settles each batch and claims the next one in a single round trip.
 */
#ifndef LOOP_H
#define LOOP_H

#include <pthread.h>
#include <readpast.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

/* One item, for the time it is worked on and until it is settled. */
struct task {
    readpast_batch batch;
    int32_t index;                   /* of the item in it */
    readpast_settlement *settlement; /* what shall become of it; COMPLETE, if the handler changes nothing */
    struct loop *loop;
    readpast_renewal renewal;
    char token[40];   /* the one that a step left */
    char error[1024]; /* room for a text that task_retry writes */
};

/* Texts that a handler lets the settlement point to must live until the loop has ended; those of the batch may be
 * pointed to as well. */
typedef void loop_handler(struct task *task, void *context);

struct loop {
    readpast_queue queue; /* loop_stop interrupts it: share one if others claim from it, too */
    int32_t batch_size;   /* 1 to 1000 */
    loop_handler *handle;
    void *context; /* passed to it */
    FILE *records; /* where to write what was claimed and answered, see records.h; NULL: nowhere */

    pthread_mutex_t lock; /* of what follows */
    pthread_cond_t stops;
    bool stopping;
};

/* To be called once the fields that are the caller's are set. False when the system has no more locks. */
bool loop_make(struct loop *loop);
void loop_free(struct loop *loop);

/*
 * Works until it is stopped. Any number of threads may run the same loop. A call that failed is made again for as long
 * as that may help. Standard error says so, and which attempts failed: see log.h.
 *
 * READPAST_OK when it was stopped, else the failure that it could not go on with; the error is the caller's to free, and
 * null when there is not enough memory.
 */
readpast_status loop_run(struct loop *loop, readpast_error *error);

/* Ends loop_run in order: what was begun is settled, what was not is given back. From any thread, handlers included. */
void loop_stop(struct loop *loop);
bool loop_is_stopping(struct loop *loop);

/* This attempt failed: the item is tried again when the queue's backoff says. The text is copied, up to its room. */
#ifdef __GNUC__
__attribute__((format(printf, 2, 3)))
#endif
void task_retry(struct task *task, const char *format, ...);

/* Records progress, and keeps the claim. READPAST_OK, or why the item is not ours any more, or a failure. */
readpast_status task_step(struct task *task, const char *step, readpast_error *error);

/* Whether the item's lease was found lost, so that going on is in vain. A long-running handler asks now and then. */
bool task_is_lost(const struct task *task);

#endif
