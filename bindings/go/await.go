package readpast

import (
	"context"
	"math"
	"time"
)

// await makes a call that the library cannot call off, and does not wait for it any longer than until ctx ends: what
// comes later is handed to late. For calls that change nothing.
func await[T any](ctx context.Context, call func() (T, error), late func(T)) (T, error) {
	var none T
	if err := ctx.Err(); err != nil {
		return none, err
	}
	if ctx.Done() == nil {
		return call()
	}
	type result struct {
		value T
		err   error
	}
	results := make(chan result, 1)
	go func() {
		value, err := call()
		results <- result{value, err}
	}()
	select {
	case came := <-results:
		return came.value, came.err
	case <-ctx.Done():
		go func() {
			if came := <-results; came.err == nil {
				late(came.value)
			}
		}()
		return none, ctx.Err()
	}
}

// milliseconds are whole ones: a part of one counts as one, so that a short wait is not none.
func milliseconds(duration time.Duration) int64 {
	whole := int64(duration / time.Millisecond)
	if duration > time.Duration(whole)*time.Millisecond {
		whole++
	}
	return whole
}

// count keeps what the library is to refuse from becoming something that it takes.
func count(number int) int32 {
	return int32(max(min(number, math.MaxInt32), math.MinInt32))
}
