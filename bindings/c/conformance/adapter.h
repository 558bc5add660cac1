/*
 * The adapter of the conformance suite for C: tests/conformance/README.md describes what it is asked and how it answers.
 * It reads one JSON object a line, makes the call, and writes one JSON object a line. It takes requests for well
 * formed: the driver is our own.
 */
#ifndef ADAPTER_H
#define ADAPTER_H

#include <cjson/cJSON.h>
#include <readpast.h>
#include <stdbool.h>
#include <stdint.h>

/* Ends the program: something is wrong with the suite itself. */
_Noreturn void give_up(const char *what);

/* objects.c: the handles by the names that the driver gave them. Names not known give the null handle. Any thread. */
enum kind { QUEUE, BATCH, RENEWAL };
void keep(enum kind kind, const char *name, uint64_t id);
uint64_t kept(enum kind kind, const char *name);
uint64_t kept_for(enum kind kind, const cJSON *request, const char *member);
void let_go(enum kind kind, const char *name);
void close_queues(void);
void let_all_go(void);

/* read.c: what a request holds. cJSON keeps numbers as doubles, which would lose the end of long ones: they are turned
 * into raw JSON, as they were written. */
char *read_line(void);                                         /* the caller's to free; NULL at the end of the input */
cJSON *request_of(const char *line);                           /* the caller's to delete */
char *json_of(const cJSON *request, const char *member);       /* to be freed by cJSON_free; NULL as for text_of */
const char *text_of(const cJSON *request, const char *member); /* NULL when it is not there, or null */
int64_t number_of(const cJSON *request, const char *member, int64_t otherwise);
int32_t small_number_of(const cJSON *request, const char *member, int32_t otherwise);
readpast_config config_of(const cJSON *request, readpast_status *status, readpast_error *error);

/* write.c: answers. All of them are the caller's to delete. */
cJSON *answer_of(readpast_status status, readpast_error error); /* frees the error */
void add_items(cJSON *answer, readpast_batch batch);            /* none of the null handle */
void add_outcomes(cJSON *answer, const readpast_outcome *outcomes, int32_t count);
void add_value(cJSON *to, const readpast_value *value);
const char *state_name(int32_t state);
int32_t action_of_name(const char *name); /* 0: no such action */

/* calls.c: makes the call that a request asks for. NULL: there is none of that name. */
cJSON *make_call(const cJSON *request);

/* settle.c: the calls that take arrays of structs. */
cJSON *call_enqueue(const cJSON *request);
cJSON *call_settle(const cJSON *request);
cJSON *call_settle_and_claim(const cJSON *request);
cJSON *call_renew(const cJSON *request);

/* work.c: a worker of several threads. */
cJSON *call_work(const cJSON *request);

/* child.c: where there is fork. */
cJSON *call_claim_in_child(const cJSON *request);

/* later.c: calls on threads of their own. */
void start_call(const char *name, cJSON *request); /* takes the request over */
cJSON *await_call(const char *name);
void end_calls(void); /* the calls that no request awaits; those that still wait find their queues closed */

#endif
