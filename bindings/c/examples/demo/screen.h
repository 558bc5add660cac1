/* Standard output: a progress line that stays in its place on a terminal, and plain lines elsewhere. */
#ifndef SCREEN_H
#define SCREEN_H

#include "ledger.h"

struct progress {
    const char *doing;
    int32_t done, total;
    double seconds;          /* since it began */
    const int32_t *in_state; /* items by state; NULL: not of interest */
};

void screen_begin(void);

/* Draws it, if it is time for that again. */
void screen_show(const struct progress *progress);

/* Draws it for the last time, and goes to the next line. */
void screen_finish(const struct progress *progress);

/* A line for itself; the progress line moves down. */
#ifdef __GNUC__
__attribute__((format(printf, 1, 2)))
#endif
void screen_say(const char *format, ...);

/* `number` with a comma before every three digits, in one of a few buffers that take turns. */
const char *grouped(int64_t number);

#endif
