// What a worker writes down so that somebody else can prove what happened: see bindings/c/examples/records.h.
#ifndef RECORDS_HPP
#define RECORDS_HPP

#include <readpast.hpp>

/// Has a worker write to standard output. Ends the program if it cannot: a proof with gaps is none.
void record(readpast::worker &worker);

#endif
