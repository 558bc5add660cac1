#define _POSIX_C_SOURCE 200809L

#include "log.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *name_of_action(int32_t action) {
    switch (action) {
    case READPAST_ACTION_COMPLETE: return "COMPLETE";
    case READPAST_ACTION_COMPLETE_PARTIALLY: return "COMPLETE_PARTIALLY";
    case READPAST_ACTION_FAIL: return "FAIL";
    case READPAST_ACTION_RETRY: return "RETRY";
    case READPAST_ACTION_RELEASE: return "RELEASE";
    case READPAST_ACTION_CANCEL: return "CANCEL";
    case READPAST_ACTION_PAUSE: return "PAUSE";
    default: return "another action";
    }
}

static const char *name_of_state(int32_t state) {
    static const char *const names[] = {"not there", "Pending",   "Processing", "Error",      "Failed",
                                        "Completed", "Cancelled", "Paused",     "Terminated", "PartiallyCompleted"};
    return state >= 0 && state < (int32_t)(sizeof names / sizeof *names) ? names[state] : "in an unknown state";
}

void complain(const char *doing, readpast_status status, readpast_error error) {
    const char *message = readpast_error_message(error), *sqlstate = readpast_error_sqlstate(error);
    fprintf(stderr, "%s: %s (%s%s%s)\n", doing, message ? message : "no more is known", readpast_status_name(status),
            sqlstate ? ", SQLSTATE " : "", sqlstate ? sqlstate : "");
    readpast_error_free(error);
}

void log_start(readpast_queue queue, int32_t batch_size) {
    fprintf(stderr, "info: worker %s started: items a batch: %" PRId32 "\n", readpast_queue_worker(queue), batch_size);
}

void log_stop(readpast_queue queue) {
    fprintf(stderr, "info: worker %s stopped\n", readpast_queue_worker(queue));
}

void log_handled(const readpast_settlement *settlement) {
    if (settlement->action == READPAST_ACTION_RETRY || settlement->action == READPAST_ACTION_FAIL)
        fprintf(stderr, "warning: item %s, attempt %" PRId32 " failed (%s): %s\n", settlement->key, settlement->attempt,
                name_of_action(settlement->action), settlement->error ? settlement->error : "no error is given");
}

void log_settled(const readpast_settlement *settlements, const readpast_outcome *outcomes, int32_t count) {
    for (int32_t i = 0; i < count; i++)
        if (outcomes[i].answer != READPAST_OK)
            fprintf(stderr,
                    "warning: item %s, attempt %" PRId32
                    " could not be settled as %s (%s): it is %s now, and left to whoever has it\n",
                    settlements[i].key, settlements[i].attempt, name_of_action(settlements[i].action),
                    readpast_status_name(outcomes[i].answer), name_of_state(outcomes[i].state));
}

static size_t length_of(const char *text) {
    return text ? strlen(text) : 0;
}

void log_refused(const readpast_settlement *settlement, readpast_error error) {
    const char *message = readpast_error_message(error);
    fprintf(stderr,
            "warning: item %s, attempt %" PRId32
            ": what the handler gave (step of %zu bytes, response of %zu, error of "
            "%zu) was refused, and is left out of its %s: %s; shorten or correct it, or widen its column\n",
            settlement->key, settlement->attempt, length_of(settlement->step), length_of(settlement->response),
            length_of(settlement->error), name_of_action(settlement->action), message ? message : "no more is known");
}
