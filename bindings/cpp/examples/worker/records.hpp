// A worker's records, by which another program can prove what happened: see bindings/c/examples/records.h.
#ifndef RECORDS_HPP
#define RECORDS_HPP

#include <readpast.hpp>

/// Has a worker write to standard output. Ends the program if it cannot: a proof with gaps is none.
void record(readpast::worker &worker);

#endif
