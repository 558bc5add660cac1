/*
* The cost of a call through the C ABI, as C sees it: the calls of include/readpast.h that read a claimed batch, by the
 * shared object. Run by benches/c_abi.rs.
 *
 *   c_abi CONNECTION QUEUE
 *
 * Claims a batch and prints a line "NAME NANOSECONDS" for each call: the median of the rounds.
 */
#include <readpast.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum { ROUNDS = 201, CALLS = 20000 };

static double now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static int compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void need(readpast_status status, readpast_error error) {
    if (status == READPAST_OK) return;
    fprintf(stderr, "c_abi: %s: %s\n", readpast_status_name(status), readpast_error_message(error));
    exit(1);
}

/* Sums what the calls give, so that none of them can be left out. */
static volatile long long sum;

#define MEASURE(name, call)                                                                                            \
    do {                                                                                                               \
        static double times[ROUNDS];                                                                                   \
        for (int round = 0; round < ROUNDS; round++) {                                                                 \
            long long got = 0;                                                                                         \
            double begun = now();                                                                                      \
            for (int i = 0; i < CALLS; i++) {                                                                          \
                int index = i % count;                                                                                 \
                (void)index;                                                                                           \
                call;                                                                                                  \
            }                                                                                                          \
            times[round] = (now() - begun) / CALLS;                                                                    \
            sum += got;                                                                                                \
        }                                                                                                              \
        qsort(times, ROUNDS, sizeof *times, compare);                                                                  \
        printf("%s %.1f\n", name, times[ROUNDS / 2]);                                                                  \
    } while (0)

int main(int argc, char **argv) {
    if (argc != 3) return 2;
    readpast_error error = {0};
    readpast_config config = readpast_config_new();
    need(readpast_config_set(config, "connection", argv[1], &error), error);
    readpast_queue queue;
    need(readpast_queue_open(config, argv[2], &queue, &error), error);
    readpast_batch batch;
    need(readpast_queue_claim(queue, 100, 0, &batch, &error), error);

    int count = readpast_batch_count(batch);
    int payload = readpast_batch_column_count(batch) - 1;
    readpast_item item = READPAST_ITEM_INIT;
    readpast_value value = READPAST_VALUE_INIT;
    MEASURE("readpast_batch_count", got += readpast_batch_count(batch));
    MEASURE("readpast_batch_item", (readpast_batch_item(batch, index, &item, NULL), got += item.attempt));
    MEASURE("readpast_batch_value",
            (readpast_batch_value(batch, index, payload, &value, NULL), got += (long long)value.length));
    MEASURE("readpast_batch_value_by_name",
            (readpast_batch_value_by_name(batch, index, "Payload", &value, NULL), got += (long long)value.length));
    MEASURE("readpast_batch_json", got += readpast_batch_json(batch, index)[0]);

    readpast_batch_free(batch);
    readpast_queue_free(queue);
    readpast_config_free(config);
    return 0;
}
