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
	if wait <= 0 || ctx.Done() == nil {
		return q.claimOn(q.claims, limit, wait)
	}
	// A handle of its own, to interrupt it alone. It costs less than a microsecond.
	own, failure := q.claims.Share()
	if failure != nil {
		return nil, q.failed(failure)
	}
	defer own.Free()
	defer context.AfterFunc(ctx, func() { _ = own.Interrupt() })()
	batch, err := q.claimOn(own, limit, wait)
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

func (q *Queue) claimOn(handle capi.Queue, limit int, wait time.Duration) (*Batch, error) {
	defer runtime.KeepAlive(q)
	claimed, failure := handle.Claim(count(limit), milliseconds(wait))
	if failure != nil {
		return nil, q.failed(failure)
	}
	return newBatch(q, Status(claimed.Status), claimed), nil
}
