#define _POSIX_C_SOURCE 200809L
#define _DEFAULT_SOURCE /* for TIOCGWINSZ */

#include "screen.h"

#include "../records.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum { USUAL_COLUMNS = 80, USUAL_LINES = 24, LEAST_BAR = 10, MOST_BAR = 40, LEAST_FIGURES = 20, LEAST_ROOM = 33 };
enum { ROW_ROOM = 30 /* all of a row but its bar: label, figure, note */ };
enum { TERMINAL_US = 100000, PLAIN_US = 1000000 };

static struct {
    bool terminal, colours;
    bool drawn;        /* the cursor is behind a progress line */
    int rows;          /* how many lines above that line belong to it */
    int32_t last_done; /* as the last plain line had it */
    int64_t next_draw; /* not before */
} screen;

void screen_begin(void) {
    const char *kind = getenv("TERM"), *no_colour = getenv("NO_COLOR");
    screen.terminal = isatty(STDOUT_FILENO) && kind && strcmp(kind, "dumb") != 0;
    screen.colours = screen.terminal && !(no_colour && *no_colour);
    screen.next_draw = screen.terminal ? 0 : record_clock() + PLAIN_US;
    setvbuf(stdout, NULL, _IOFBF, 4096); /* a line is written at once, or it would flicker */
}

const char *grouped(int64_t number) {
    static char buffers[8][32];
    static int turn;
    char *buffer = buffers[turn++ % 8], digits[24];
    int length = snprintf(digits, sizeof digits, "%" PRId64, number), at = 0;
    for (int i = 0; i < length; i++) {
        if (i > 0 && (length - i) % 3 == 0 && digits[i - 1] != '-')
            buffer[at++] = ',';
        buffer[at++] = digits[i];
    }
    buffer[at] = '\0';
    return buffer;
}

static struct winsize size_of_screen(void) {
    struct winsize size;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0)
        size = (struct winsize){.ws_col = USUAL_COLUMNS, .ws_row = USUAL_LINES};
    return size;
}

/* Goes back to where the progress began, and clears what is below. */
static void erase(void) {
    if (screen.rows > 0)
        printf("\r\033[%dA\033[J", screen.rows);
    else
        fputs("\r\033[K", stdout);
    screen.drawn = false;
    screen.rows = 0;
}

/* The figures, the most important first, as many as there is room for. */
static void figures(char *text, size_t room, const struct progress *progress) {
    char parts[6][48];
    int count = 0;
    double rate = progress->seconds > 0 ? progress->done / progress->seconds : 0;
    snprintf(parts[count++], sizeof parts[0], "%s of %s", grouped(progress->done), grouped(progress->total));
    snprintf(parts[count++], sizeof parts[0], "%s/s", grouped((int64_t)rate));
    if (progress->in_state) {
        const int32_t *in_state = progress->in_state;
        snprintf(parts[count++], sizeof parts[0], "%s pending", grouped(in_state[READPAST_STATE_PENDING]));
        snprintf(parts[count++], sizeof parts[0], "%s processing", grouped(in_state[READPAST_STATE_PROCESSING]));
        snprintf(parts[count++], sizeof parts[0], "%s to retry", grouped(in_state[READPAST_STATE_ERROR]));
        snprintf(parts[count++], sizeof parts[0], "%s failed", grouped(in_state[READPAST_STATE_FAILED]));
    }
    size_t length = 0;
    text[0] = '\0';
    for (int i = 0; i < count && length + strlen(parts[i]) + 2 < room; i++)
        length += (size_t)snprintf(text + length, room - length, "%s%s", i > 0 ? ", " : "", parts[i]);
}

static void draw_bar(int32_t done, int32_t total, int width) {
    int full = total > 0 ? (int)((int64_t)width * done / total) : 0;
    fputs(screen.colours ? "[\033[32m" : "[", stdout);
    for (int i = 0; i < full; i++)
        putchar('#');
    fputs(screen.colours ? "\033[0m" : "", stdout);
    for (int i = full; i < width; i++)
        putchar('.');
    fputs("] ", stdout);
}

static void draw_plain(const struct progress *progress) {
    char text[256];
    figures(text, sizeof text, progress);
    printf("%6.1f s  %s: %s\n", progress->seconds, progress->doing, text);
    for (int i = 0; i < progress->row_count; i++)
        printf("%s%s %s%s", i > 0 ? ", " : "          ", progress->rows[i].label, grouped(progress->rows[i].done),
               i == progress->row_count - 1 ? "\n" : "");
    fflush(stdout);
    screen.last_done = progress->done;
}

/* A line each, if there is room for them. A bar is full when a worker has done twice an equal share. */
static void draw_rows(const struct progress *progress, struct winsize size) {
    int bar = size.ws_col - 1 - ROW_ROOM;
    bar = bar > MOST_BAR ? MOST_BAR : bar;
    if (bar < LEAST_BAR || progress->row_count + 2 > size.ws_row)
        return;
    int32_t full = 0;
    for (int i = 0; i < progress->row_count; i++)
        full = progress->rows[i].done > full ? progress->rows[i].done : full;
    int32_t usual = progress->row_count > 0 ? progress->total / progress->row_count * 2 : 0;
    full = usual > full ? usual : full;
    for (int i = 0; i < progress->row_count; i++) {
        const struct row *row = &progress->rows[i];
        printf("%-8.8s ", row->label);
        draw_bar(row->done, full, bar);
        printf("%9s%s%.6s\n", grouped(row->done), row->note ? "  " : "", row->note ? row->note : "");
    }
    screen.rows = progress->row_count;
}

static void draw(const struct progress *progress) {
    if (!screen.terminal) {
        draw_plain(progress);
        return;
    }
    char text[256];
    struct winsize size = size_of_screen();
    erase();
    draw_rows(progress, size);
    /* The last column stays free: a cursor behind it would be in the next line on some terminals. */
    int room = size.ws_col - 1 - (int)strlen(progress->doing) - 1;
    int bar = room / 4 < LEAST_BAR ? LEAST_BAR : room / 4 > MOST_BAR ? MOST_BAR : room / 4;
    bool has_bar = room >= LEAST_ROOM;
    if (room >= LEAST_FIGURES)
        printf("%s ", progress->doing);
    if (has_bar)
        draw_bar(progress->done, progress->total, bar);
    room -= has_bar ? bar + 3 : 0;
    figures(text, room >= LEAST_FIGURES ? (size_t)room + 1 : 1, progress);
    fputs(text, stdout);
    fflush(stdout);
    screen.drawn = true;
}

void screen_show(const struct progress *progress) {
    int64_t now = record_clock();
    if (now >= screen.next_draw) {
        screen.next_draw = now + (screen.terminal ? TERMINAL_US : PLAIN_US);
        draw(progress);
    }
}

void screen_finish(const struct progress *progress) {
    if (screen.terminal || screen.last_done != progress->done)
        draw(progress);
    if (screen.drawn)
        putchar('\n');
    fflush(stdout);
    screen.drawn = false;
    screen.rows = 0;
    screen.last_done = -1;
    screen.next_draw = screen.terminal ? 0 : record_clock() + PLAIN_US;
}

void screen_say(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    if (screen.drawn)
        erase();
    vprintf(format, arguments);
    putchar('\n');
    fflush(stdout);
    va_end(arguments);
}

void screen_title(const char *text) {
    screen_say("%s%s%s", screen.colours ? "\033[1m" : "", text, screen.colours ? "\033[0m" : "");
}

void screen_verdict(bool good, const char *text) {
    const char *colour = !screen.colours ? "" : good ? "\033[1;32m" : "\033[1;31m";
    screen_say("\n%s%s%s", colour, text, screen.colours ? "\033[0m" : "");
}
