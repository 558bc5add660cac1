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

enum { USUAL_COLUMNS = 80, LEAST_BAR = 10, MOST_BAR = 40, LEAST_FIGURES = 20, LEAST_ROOM = 33 };
enum { TERMINAL_US = 100000, PLAIN_US = 1000000 };

static struct {
    bool terminal, colours;
    bool drawn;        /* the cursor is behind a progress line */
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

static int columns(void) {
    struct winsize size;
    return ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : USUAL_COLUMNS;
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

static void draw_bar(const struct progress *progress, int width) {
    int full = progress->total > 0 ? (int)((int64_t)width * progress->done / progress->total) : 0;
    fputs(screen.colours ? "[\033[32m" : "[", stdout);
    for (int i = 0; i < full; i++)
        putchar('#');
    fputs(screen.colours ? "\033[0m" : "", stdout);
    for (int i = full; i < width; i++)
        putchar('.');
    fputs("] ", stdout);
}

static void draw(const struct progress *progress) {
    char text[256];
    if (!screen.terminal) {
        figures(text, sizeof text, progress);
        printf("%6.1f s  %s: %s\n", progress->seconds, progress->doing, text);
        fflush(stdout);
        screen.last_done = progress->done;
        return;
    }
    /* The last column stays free: a cursor behind it would be in the next line on some terminals. */
    int room = columns() - 1 - (int)strlen(progress->doing) - 1;
    int bar = room / 4 < LEAST_BAR ? LEAST_BAR : room / 4 > MOST_BAR ? MOST_BAR : room / 4;
    bool has_bar = room >= LEAST_ROOM;
    fputs("\r\033[K", stdout);
    if (room >= LEAST_FIGURES)
        printf("%s ", progress->doing);
    if (has_bar)
        draw_bar(progress, bar);
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
    screen.last_done = -1;
    screen.next_draw = screen.terminal ? 0 : record_clock() + PLAIN_US;
}

void screen_say(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    if (screen.drawn)
        fputs("\r\033[K", stdout);
    vprintf(format, arguments);
    putchar('\n');
    fflush(stdout);
    va_end(arguments);
    screen.drawn = false;
}
