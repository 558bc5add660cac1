/*
 * A worker's records, by which another program can prove what happened: one record per line, its fields separated by
 * tabs.
 *
 *   T key attempt                the item was taken
 *   S key attempt answer state   what the server answered to settling it, and the state it is in now: a status and a
 *                                READPAST_STATE_ of readpast.h
 *   L microseconds               how long a call took that settled one batch and claimed the next
 *
 * A claim is on record before its work begins, so a worker that is killed leaves no work without a record.
 */
#ifndef RECORDS_H
#define RECORDS_H

#include <readpast.h>
#include <stdint.h>
#include <stdio.h>

/* Both do nothing if `to` is NULL, and end the program if they cannot write: a proof with gaps is none. */
void record_claim(FILE *to, readpast_batch batch);

/* Records the end of an item that was taken. An item that was claimed ahead and given back has no record. */
void record_event(FILE *to, const readpast_event *event);

/* Microseconds on a clock that nobody sets. */
int64_t record_clock(void);

#endif
