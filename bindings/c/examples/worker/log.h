/* What a worker says on standard error: bindings/README.md has the list. No column of an item is in it. */
#ifndef LOG_H
#define LOG_H

#include <readpast.h>

/* Says what went wrong, and frees the error. */
void complain(const char *doing, readpast_status status, readpast_error error);

/* Says that a loop has begun, and with how many items a batch. */
void log_start(readpast_queue queue, int32_t batch_size);
void log_stop(readpast_queue queue);

/* Says which attempt failed, if the handler wants the item tried again or given up. */
void log_handled(const readpast_settlement *settlement);

/* Says which items are left to whoever has them, since they are not ours any more. */
void log_settled(const readpast_settlement *settlements, const readpast_outcome *outcomes, int32_t count);

/* Says what was refused of what a handler gave, by kind and length alone; the error stays the caller's. */
void log_refused(const readpast_settlement *settlement, readpast_error error);

#endif
