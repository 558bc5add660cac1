/* A call in the child of a fork. */
#define _POSIX_C_SOURCE 200809L

#include "adapter.h"

#ifndef _WIN32

#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

/* The answer that a child process gets when it goes on with its parent's queue. */
cJSON *call_claim_in_child(const cJSON *request) {
    readpast_queue queue = {kept_for(QUEUE, request, "queue")};
    readpast_status status;
    int ends[2];
    pid_t child = pipe(ends) == 0 ? fork() : -1;
    if (child == 0) {
        readpast_batch batch;
        status = readpast_queue_claim(queue, 1, 0, &batch, NULL);
        _exit(write(ends[1], &status, sizeof status) == sizeof status ? EXIT_SUCCESS : EXIT_FAILURE);
    }
    close(ends[1]);
    if (child < 0 || read(ends[0], &status, sizeof status) != sizeof status || waitpid(child, NULL, 0) != child)
        give_up("the child did not end as it should");
    close(ends[0]);
    return answer_of(status, (readpast_error){0});
}

#endif
