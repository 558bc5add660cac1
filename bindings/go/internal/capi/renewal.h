/* The calls on a renewal that write a handle. */
#ifndef RENEWAL_H
#define RENEWAL_H

#include "result.h"

static inline struct result renewal_start(uint64_t queue, uint64_t batch, int64_t interval_ms) {
    struct result result = {0};
    readpast_renewal renewal;
    result.status = readpast_renewal_start((readpast_queue){queue}, (readpast_batch){batch}, interval_ms, &renewal,
                                           &result.error);
    result.made = renewal.id;
    return result;
}

static inline struct result renewal_release(uint64_t renewal, const char *key) {
    struct result result = {0};
    result.status = readpast_renewal_release((readpast_renewal){renewal}, key, &result.error);
    return result;
}

#endif
