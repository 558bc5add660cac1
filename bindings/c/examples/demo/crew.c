#define _POSIX_C_SOURCE 200809L

#include "crew.h"

#include "../records.h"
#include "screen.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/select.h>
#include <sys/wait.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif

enum { TICK_MS = 20 };

/* In the child: becomes the worker. Only calls that are allowed between fork and exec. */
static void become(const struct member *member, int messages, pid_t parent, char *const arguments[]) {
    static const char failure[] = "the program of the worker cannot be executed\n";
    int nothing = open("/dev/null", O_RDONLY);
    setpgid(0, 0);
    if (nothing >= 0 && dup2(nothing, STDIN_FILENO) >= 0 && dup2(member->records, STDOUT_FILENO) >= 0 &&
        dup2(messages, STDERR_FILENO) >= 0) {
#ifdef __linux__
        /* A kill of this process would leave the workers running. Their leases take care of the rest. */
        prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
        if (getppid() == parent) /* else it happened already */
            execv(arguments[0], arguments);
    }
    ssize_t ignored = write(STDERR_FILENO, failure, sizeof failure - 1);
    (void)ignored;
    _exit(127);
}

/* A file that has no name, and that no program executed later inherits by accident. */
static int nameless_file(void) {
    FILE *file = tmpfile();
    if (!file)
        return -1;
    int copy = fcntl(fileno(file), F_DUPFD_CLOEXEC, 0);
    fclose(file);
    return copy;
}

bool crew_start(struct crew *crew, const char *label, char *const arguments[]) {
    struct member *member = &crew->members[crew->count];
    int ends[2] = {-1, -1};
    *member = (struct member){.label = label, .number = crew->count++, .messages = -1, .records = nameless_file()};
    if (member->records < 0 || pipe(ends) != 0) {
        perror("cannot start a worker");
        return false;
    }
    member->messages = ends[0];
    fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    fcntl(ends[0], F_SETFL, O_NONBLOCK);

    pid_t parent = getpid(), child = fork();
    if (child == 0)
        become(member, ends[1], parent, arguments);
    close(ends[1]);
    if (child < 0) {
        perror("cannot start a worker");
        return false;
    }
    setpgid(child, child); /* here as well: it shall be so when this returns */
    member->pid = child;
    return true;
}

/* Whether a line is for the audience. Workers tell when they start, stop, and of each attempt that failed: of those that
 * fail on purpose, one says enough. */
static bool is_news(struct member *member, const char *line, size_t length) {
    char text[sizeof member->line];
    memcpy(text, line, length);
    text[length] = '\0';
    bool is_failure = strstr(text, "attempt") && strstr(text, "failed");
    bool is_info = strncmp(text, "info: ", 6) == 0 || strstr(text, " INFO ");
    member->failures += is_failure;
    return !is_info && (!is_failure || member->failures == 1);
}

/* Shows the lines that a worker has complained in since. */
static void relay(struct member *member) {
    ssize_t got;
    while ((got = read(member->messages, member->line + member->line_length,
                       sizeof member->line - 1 - member->line_length)) > 0) {
        member->line_length += (size_t)got;
        member->line[member->line_length] = '\0';
        char *rest = member->line, *end;
        while ((end = strchr(rest, '\n')) != NULL || strlen(rest) == sizeof member->line - 1) {
            size_t length = end ? (size_t)(end - rest) : strlen(rest);
            if (is_news(member, rest, length))
                screen_say("%s: %.*s", member->label, (int)length, rest);
            rest += length + (end ? 1 : 0);
        }
        member->line_length = strlen(rest);
        memmove(member->line, rest, member->line_length + 1);
    }
    if (got == 0) { /* the worker has ended */
        close(member->messages);
        member->messages = -1;
    }
}

static void reap(struct crew *crew) {
    for (int i = 0; i < crew->count; i++) {
        struct member *member = &crew->members[i];
        if (member->pid > 0 && waitpid(member->pid, &member->status, WNOHANG) == member->pid)
            member->pid = 0;
    }
}

void crew_wait(struct crew *crew, int milliseconds) {
    int highest = -1;
    fd_set readable;
    FD_ZERO(&readable);
    for (int i = 0; i < crew->count; i++) {
        int fd = crew->members[i].messages;
        if (fd >= 0)
            FD_SET(fd, &readable);
        highest = fd > highest ? fd : highest;
    }
    struct timeval time = {milliseconds / 1000, milliseconds % 1000 * 1000L};
    if (select(highest + 1, &readable, NULL, NULL, &time) > 0)
        for (int i = 0; i < crew->count; i++)
            if (crew->members[i].messages >= 0 && FD_ISSET(crew->members[i].messages, &readable))
                relay(&crew->members[i]);
    reap(crew);
}

int crew_alive(const struct crew *crew) {
    int alive = 0;
    for (int i = 0; i < crew->count; i++)
        alive += crew->members[i].pid > 0;
    return alive;
}

static void signal_all(const struct crew *crew, int number) {
    for (int i = 0; i < crew->count; i++)
        if (crew->members[i].pid > 0)
            kill(-crew->members[i].pid, number);
}

int32_t crew_read(struct crew *crew, struct ledger *ledger) {
    int32_t all = 0;
    for (int i = 0; i < crew->count && all >= 0; i++) {
        struct member *member = &crew->members[i];
        int32_t count = tally_read(&member->tally, member->records, member->number, ledger);
        all = count < 0 ? -1 : all + count;
    }
    return all;
}

void crew_kill(struct member *member) {
    kill(-member->pid, SIGKILL);
    while (waitpid(member->pid, &member->status, 0) < 0 && errno == EINTR) {
    }
    member->pid = 0;
    member->killed = true;
}

void crew_stop(struct crew *crew, int grace_ms) {
    int64_t deadline = record_clock() + grace_ms * 1000LL;
    signal_all(crew, SIGTERM);
    while (crew_alive(crew) > 0 && record_clock() < deadline)
        crew_wait(crew, TICK_MS);
    signal_all(crew, SIGKILL);
    while (crew_alive(crew) > 0)
        crew_wait(crew, TICK_MS);
}

void crew_free(struct crew *crew) {
    for (int i = 0; i < crew->count; i++) {
        struct member *member = &crew->members[i];
        if (member->records >= 0)
            close(member->records);
        if (member->messages >= 0)
            close(member->messages);
        tally_free(&member->tally);
    }
}
