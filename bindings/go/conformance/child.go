//go:build !windows

package main

/*
#cgo pkg-config: readpast
#include <readpast.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

// The answer that a forked child process gets when it goes on with its parent's queue. Go cannot run in such a child, whose
// other threads are gone; so it makes one call in C and ends, with all signals blocked, since their handlers are Go's.
static int claim_in_child(uint64_t queue, readpast_status *status) {
	sigset_t all, before;
	int ends[2], ended = 0, answered = 0;
	sigfillset(&all);
	if (pipe(ends) != 0)
		return 0;
	pthread_sigmask(SIG_SETMASK, &all, &before);
	pid_t child = fork();
	if (child == 0) {
		readpast_batch batch;
		*status = readpast_queue_claim((readpast_queue){queue}, 1, 0, &batch, NULL);
		_exit(write(ends[1], status, sizeof *status) == sizeof *status ? 0 : 1);
	}
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	close(ends[1]);
	if (child > 0) {
		answered = read(ends[0], status, sizeof *status) == sizeof *status;
		answered = waitpid(child, &ended, 0) == child && ended == 0 && answered;
	}
	close(ends[0]);
	return answered;
}
*/
import "C"

import (
	"context"
	"reflect"

	readpast "github.com/readpast/readpast/bindings/go"
)

func claimInChild(_ context.Context, r *request) (answer, error) {
	// The binding does not give its handle away, and only this scenario has a use for it.
	handle := reflect.ValueOf(r.queue()).Elem().FieldByName("handle").Uint()
	var status C.readpast_status
	if C.claim_in_child(C.uint64_t(handle), &status) == 0 {
		panic("the child did not end as it should")
	}
	return of(readpast.Status(status)), nil
}
