/* Calls on threads of their own, so that another call can meet them while they wait. */
#define _POSIX_C_SOURCE 200809L

#include "adapter.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct call {
    char name[64];
    pthread_t thread;
    cJSON *request, *answer;
    struct call *next;
} *calls; /* used by the thread that reads requests alone */

static void *run(void *data) {
    struct call *call = data;
    call->answer = make_call(call->request);
    return NULL;
}

void start_call(const char *name, cJSON *request) {
    struct call *call = calloc(1, sizeof *call);
    if (!call || strlen(name) >= sizeof call->name)
        give_up("a call cannot be started");
    snprintf(call->name, sizeof call->name, "%s", name);
    call->request = request;
    call->next = calls;
    calls = call;
    if (pthread_create(&call->thread, NULL, run, call) != 0)
        give_up("no thread can be started");
}

/* The answer, and an end to the call. */
static cJSON *join(struct call **place) {
    struct call *call = *place;
    pthread_join(call->thread, NULL);
    cJSON *answer = call->answer;
    *place = call->next;
    cJSON_Delete(call->request);
    free(call);
    return answer;
}

cJSON *await_call(const char *name) {
    for (struct call **place = &calls; name && *place; place = &(*place)->next)
        if (strcmp((*place)->name, name) == 0)
            return join(place);
    return NULL;
}

void end_calls(void) {
    if (calls)
        close_queues();
    while (calls)
        cJSON_Delete(join(&calls));
}
