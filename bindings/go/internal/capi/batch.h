/* All items, columns or values of a batch in one crossing. */
#ifndef BATCH_H
#define BATCH_H

#include "result.h"

static inline struct result result_of_batch(readpast_status status, readpast_batch batch, readpast_error error) {
    return (struct result){status, readpast_batch_count(batch), batch.id, error};
}

static inline struct result batch_from_json(const char *items, const char *spec) {
    readpast_batch batch;
    readpast_error error;
    readpast_status status = readpast_batch_from_json(items, spec, &batch, &error);
    return result_of_batch(status, batch, error);
}

static inline readpast_status batch_items(uint64_t batch, int32_t count, readpast_item *items) {
    readpast_status status = READPAST_OK;
    for (int32_t i = 0; i < count && status == READPAST_OK; i++) {
        items[i].struct_size = sizeof *items;
        status = readpast_batch_item((readpast_batch){batch}, i, &items[i], NULL);
    }
    return status;
}

static inline readpast_status batch_columns(uint64_t batch, int32_t count, readpast_column *columns) {
    readpast_status status = READPAST_OK;
    for (int32_t i = 0; i < count && status == READPAST_OK; i++) {
        columns[i].struct_size = sizeof *columns;
        status = readpast_batch_column((readpast_batch){batch}, i, &columns[i], NULL);
    }
    return status;
}

static inline readpast_status batch_values(uint64_t batch, int32_t column, int32_t count, readpast_value *values) {
    readpast_status status = READPAST_OK;
    for (int32_t i = 0; i < count && status == READPAST_OK; i++) {
        values[i].struct_size = sizeof *values;
        status = readpast_batch_value((readpast_batch){batch}, i, column, &values[i], NULL);
    }
    return status;
}

#endif
