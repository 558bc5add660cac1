/* The results of a call, by value: a variable of Go that is handed out for them would have to move to the heap. */
#ifndef RESULT_H
#define RESULT_H

#include <readpast.h>

/* The result of a call. `made` is the number of the handle that it made, if any; `count` how many items it is about. */
struct result {
    readpast_status status;
    int32_t count;
    uint64_t made;
    readpast_error error;
};

#endif
