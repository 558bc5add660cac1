package readpast

import (
	"context"
	"runtime"
	"time"

	"github.com/readpast/readpast/bindings/go/internal/capi"
)

// Claim claims up to limit items (1 to 1000) that are due, in the order they were due. Each is this worker's until its
// lease runs out, on the server's clock; settle or renew it before. When none is due, it waits (up to a day) for the
// first.
//
// The batch is empty when nothing became due (StatusEmpty), or the queue was interrupted (StatusInterrupted). It is to
// be closed, which an empty one need not be.
//
// When ctx ends, the wait ends at once, with the error of ctx. If items were claimed at that very moment, they are the
// caller's: there is a batch, and no error. Other claims are not disturbed.
func (q *Queue) Claim(ctx context.Context, limit int, wait time.Duration) (*Batch, error) {
	if err := q.ready(ctx); err != nil {
		return nil, err
	}
	return q.waiting(ctx, wait, func(handle capi.Queue) (capi.Claimed, *capi.Failure) {
		return handle.Claim(count(limit), milliseconds(wait))
	})
}

// WaitFor waits up to wait (at most a day) until the item of this key has ended, and returns a batch of it as it is then: its state,
// its response and its error. For a producer that needs the result of its work. Those who wait for items of one queue share
// one question to the server.
//
// The batch is empty when the item has not ended in time (StatusEmpty), when it is not there (StatusNotFound: a queue with completion
// deletes an item, or moves it to the history, as it ends), or the queue was interrupted (StatusInterrupted). When ctx ends, the
// wait ends at once, with the error of ctx.
func (q *Queue) WaitFor(ctx context.Context, key string, wait time.Duration) (*Batch, error) {
	if err := q.ready(ctx); err != nil {
		return nil, err
	}
	return q.waiting(ctx, wait, func(handle capi.Queue) (capi.Claimed, *capi.Failure) {
		return handle.WaitFor(key, milliseconds(wait))
	})
}

// waiting makes a call that may wait, and ends it with ctx.
func (q *Queue) waiting(
	ctx context.Context, wait time.Duration, call func(capi.Queue) (capi.Claimed, *capi.Failure),
) (*Batch, error) {
	if wait <= 0 || ctx.Done() == nil {
		return q.batchOf(call(q.claims))
	}
	// A handle of its own, to interrupt it alone. It costs less than a microsecond.
	own, failure := q.claims.Share()
	if failure != nil {
		return nil, q.failed(failure)
	}
	defer own.Free()
	defer context.AfterFunc(ctx, func() { _ = own.Interrupt() })()
	batch, err := q.batchOf(call(own))
	if err == nil && batch.Status() == StatusInterrupted && ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return batch, err
}

// Claims claims batch after batch, until nothing becomes due within wait, the queue is interrupted or ctx ends.
// A failure ends the loop, too, and is what it is given last. Each batch is closed when the loop's body is done with it.
//
//	for batch, err := range queue.Claims(ctx, 100, time.Minute) {
func (q *Queue) Claims(ctx context.Context, limit int, wait time.Duration) func(yield func(*Batch, error) bool) {
	return func(yield func(*Batch, error) bool) {
		for ctx.Err() == nil {
			batch, err := q.Claim(ctx, limit, wait)
			if err != nil {
				if ctx.Err() == nil {
					yield(nil, err)
				}
				return
			}
			if batch.Len() == 0 || !batch.lend(yield) {
				return
			}
		}
	}
}

// lend hands the batch out, and closes it afterwards, however the loop's body ends.
func (b *Batch) lend(yield func(*Batch, error) bool) bool {
	defer b.Close()
	return yield(b, nil)
}

func (q *Queue) batchOf(claimed capi.Claimed, failure *capi.Failure) (*Batch, error) {
	defer runtime.KeepAlive(q)
	if failure != nil {
		return nil, q.failed(failure)
	}
	return newBatch(q, Status(claimed.Status), claimed), nil
}
