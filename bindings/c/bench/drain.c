/*
 * Claims and completes items as fast as one thread can, in batches of 100, and says how long it took: what the other
 * languages are compared with.
 *
 *   READPAST_CONNECTION='Driver={...};Server=...;' drain [-o key=value]... queue count
 *
 * It reads of each item what a worker needs: key, token, attempt and the column Payload.
 */
#define _POSIX_C_SOURCE 200809L

#include <readpast.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { BATCH_SIZE = 100, WARM = 50000 };

static readpast_error error;

static readpast_status check(readpast_status status) {
    if (status >= 0)
        return status;
    fprintf(stderr, "drain: %s\n", readpast_error_message(error));
    exit(EXIT_FAILURE);
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static double cpu_seconds(void) {
    struct rusage used;
    getrusage(RUSAGE_SELF, &used);
    return (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
           (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
}

static long resident_kb(void) {
    long pages = 0;
    FILE *statm = fopen("/proc/self/statm", "r");
    if (!statm || fscanf(statm, "%*d %ld", &pages) != 1) {
        fputs("drain: /proc/self/statm cannot be read\n", stderr);
        exit(EXIT_FAILURE);
    }
    fclose(statm);
    return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

/* Looks at every item, and fills in how to settle it. */
static int32_t complete(readpast_batch batch, readpast_settlement *settlements, size_t *read) {
    int32_t count = readpast_batch_count(batch);
    for (int32_t i = 0; i < count; i++) {
        readpast_item item = READPAST_ITEM_INIT;
        readpast_value payload = READPAST_VALUE_INIT;
        check(readpast_batch_item(batch, i, &item, &error));
        check(readpast_batch_value_by_name(batch, i, "Payload", &payload, &error));
        *read += payload.length;
        settlements[i] = (readpast_settlement)READPAST_SETTLEMENT_INIT;
        settlements[i].key = item.key;
        settlements[i].token = item.token;
        settlements[i].attempt = item.attempt;
        settlements[i].action = READPAST_ACTION_COMPLETE;
    }
    return count;
}

int main(int argc, char **argv) {
    readpast_config config = readpast_config_new();
    const char *connection = getenv("READPAST_CONNECTION");
    check(readpast_config_set(config, "connection", connection ? connection : "", &error));
    for (int option; (option = getopt(argc, argv, "o:")) != -1;) {
        char *value = option == 'o' ? strchr(optarg, '=') : NULL;
        if (!value)
            return 2;
        *value++ = '\0';
        check(readpast_config_set(config, optarg, value, &error));
    }
    if (argc - optind != 2) {
        fprintf(stderr, "usage: %s [-o key=value]... queue count\n", argv[0]);
        return 2;
    }
    const int64_t wanted = strtoll(argv[optind + 1], NULL, 10);

    static readpast_settlement settlements[BATCH_SIZE];
    readpast_queue queue;
    readpast_batch batch, next;
    int64_t done = 0;
    size_t read = 0;
    check(readpast_queue_open(config, argv[optind], &queue, &error));
    readpast_config_free(config);
    long rss_begin = resident_kb();
    double cpu = cpu_seconds(), begun = seconds();
    check(readpast_queue_claim(queue, BATCH_SIZE, 0, &batch, &error));
    while (batch.id != 0) {
        int32_t count = complete(batch, settlements, &read);
        if (check(readpast_queue_settle_and_claim(queue, settlements, count, NULL, BATCH_SIZE, NULL, &next, &error)) !=
            READPAST_OK) {
            fputs("drain: an item was refused\n", stderr);
            return EXIT_FAILURE;
        }
        readpast_batch_free(batch);
        batch = next;
        if (done < WARM && done + count >= WARM)
            rss_begin = resident_kb();
        done += count;
    }
    double took = seconds() - begun;
    cpu = cpu_seconds() - cpu;
    if (done != wanted || read == 0) {
        fprintf(stderr, "drain: there were %" PRId64 " items\n", done);
        return EXIT_FAILURE;
    }
    printf("{\"items\":%" PRId64 ",\"seconds\":%.6f,\"cpu_seconds\":%.6f,\"rss_begin_kb\":%ld,\"rss_end_kb\":%ld}\n",
           done, took, cpu, rss_begin, resident_kb());
    readpast_queue_free(queue);
    return EXIT_SUCCESS;
}
