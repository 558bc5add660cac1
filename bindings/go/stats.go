package readpast

import (
	"context"
	"reflect"
	"runtime"
)

// Stats are figures about a queue at one moment. Percentiles and means are of the newest items that were started and
// finished; -1 where there is no such item. The fields are those of the library's struct, in its order.
type Stats struct {
	// How many items are Pending.
	Pending int64
	// How many items are Processing.
	Processing int64
	// How many items are in Error.
	Error int64
	// How many items are Failed.
	Failed int64
	// How many items are Completed.
	Completed int64
	// How many items are Cancelled.
	Cancelled int64
	// How many items are Paused.
	Paused int64
	// How many items are Terminated.
	Terminated int64
	// How many items are PartiallyCompleted.
	PartiallyCompleted int64
	// How many items are due now and wait for a worker.
	Due int64
	// How long the longest-waiting of them has been due, in milliseconds; -1 when none is due.
	OldestDueMs int64
	// How many items in flight have outlived their lease.
	Expired int64
	// How many items the percentiles and means are of (at most 10000).
	Sample int64
	// Milliseconds from due to started, 50th percentile.
	WaitP50Ms int64
	// Milliseconds from due to started, 90th percentile.
	WaitP90Ms int64
	// Milliseconds from due to started, 99th percentile.
	WaitP99Ms int64
	// Milliseconds from the claim to the end, 50th percentile.
	ClaimedP50Ms int64
	// Milliseconds from the claim to the end, 90th percentile.
	ClaimedP90Ms int64
	// Milliseconds from the claim to the end, 99th percentile.
	ClaimedP99Ms int64
	// Milliseconds from due to started, on average.
	WaitMeanMs int64
	// Milliseconds from the claim to the end, on average.
	ClaimedMeanMs int64
	// How many items were enqueued within the last hour; -1 when the queue deletes what is completed.
	ArrivalsLastHour int64
	// How many items are claimed now: in flight, with a lease that has not run out.
	Claimed int64
	// How many must be worked on at once to keep up (Little's law): the arrivals of the last hour per millisecond,
	// times the mean time claimed, divided by 0.8, so that workers are idle for a fifth of their time and waits stay short. At
	// least 1 while there is work; -1 when the arrivals are not known.
	WorkersNeeded int64
}

// Stats counts the items and measures how long they take. It reads much of the table: for a page that somebody looks
// at, not for every round of a worker.
func (q *Queue) Stats(ctx context.Context) (Stats, error) {
	if err := q.ready(ctx); err != nil {
		return Stats{}, err
	}
	look := func() (Stats, error) {
		defer runtime.KeepAlive(q)
		figures, failure := q.handle.Stats()
		if failure != nil {
			return Stats{}, q.failed(failure)
		}
		var stats Stats
		fields := reflect.ValueOf(&stats).Elem()
		for i := range min(fields.NumField(), len(figures)) {
			fields.Field(i).SetInt(figures[i])
		}
		return stats, nil
	}
	return await(ctx, look, func(Stats) {})
}
