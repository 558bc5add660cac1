package readpast

import (
	"context"
	"errors"
	"runtime"
	"time"
)

// Between two looks at whether a context has ended.
const shutdownStep = 50 * time.Millisecond

// Shutdown closes the connections of this queue and of all that share them, and waits for calls under way. From here
// on, calls that need the server fail with StatusClosed, and so do claims that wait; batches stay readable, and leases
// that are not settled run out. The queue is still to be closed.
//
// When ctx ends first, also if it had ended before, the error is StatusTimedOut and wraps that of ctx: calls are still
// under way. New ones are refused nevertheless, and their connections close when they end.
func (q *Queue) Shutdown(ctx context.Context) error {
	if q.closed.Load() {
		return closed("queue")
	}
	defer runtime.KeepAlive(q)
	for step := time.Duration(0); ; step = shutdownStep {
		if end, has := ctx.Deadline(); has {
			step = max(min(step, time.Until(end)), 0)
		}
		err := q.failed(q.handle.Close(milliseconds(step)))
		var failure *Error
		if !errors.As(err, &failure) || failure.Status != StatusTimedOut {
			return err
		}
		if ctx.Err() != nil {
			failure.cause = ctx.Err()
			return failure
		}
	}
}
