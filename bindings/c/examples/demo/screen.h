/* Standard output: progress that stays in its place on a terminal, and plain lines elsewhere. */
#ifndef SCREEN_H
#define SCREEN_H

#include "ledger.h"

/* One worker's share of the work; `note` may be NULL. */
struct row {
    const char *label;
    int32_t done;
    const char *note;
};

struct progress {
    const char *doing;
    int32_t done, total;
    double seconds;          /* since it began */
    const int32_t *in_state; /* items by state; NULL: not of interest */
    const struct row *rows;  /* NULL: not of interest */
    int row_count;
};

void screen_begin(void);

/* Draws it, if it is time for that again. */
void screen_show(const struct progress *progress);

/* Draws it for the last time, and goes to the line below. */
void screen_finish(const struct progress *progress);

/* A line for itself; the progress moves down. */
#ifdef __GNUC__
__attribute__((format(printf, 1, 2)))
#endif
void screen_say(const char *format, ...);

/* The heading of what follows. */
void screen_title(const char *text);

/* The last line of all, green or red where there are colours. */
void screen_verdict(bool good, const char *text);

/* `number` with a comma before every three digits, in one of a few buffers that take turns. */
const char *grouped(int64_t number);

#endif
