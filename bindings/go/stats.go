package readpast

import (
	"context"
	"encoding/json"
)

// Stats are figures about a queue at one moment, as [Queue.Ask] answers "stats". Spans are in milliseconds. Percentiles and
// means are of the newest items that were started and finished; nil where there is no such item.
type Stats struct {
	// Counts are how many items are in each state.
	Counts `json:"counts"`
	// Due is how many items are due now and wait for a worker.
	Due int64 `json:"due"`
	// OldestDueMs is how long the longest-waiting of them has been due; nil when none is due.
	OldestDueMs *int64 `json:"oldest_due_ms"`
	// Expired is how many items in flight have outlived their lease.
	Expired int64 `json:"expired"`
	// Sample is how many items the percentiles and means are of (at most 10000).
	Sample int64 `json:"sample"`
	// WaitMs is from due to started.
	WaitMs Percentiles `json:"wait_ms"`
	// ClaimedMs is from the claim to the end.
	ClaimedMs Percentiles `json:"claimed_ms"`
	// WaitMeanMs is from due to started, on average.
	WaitMeanMs *int64 `json:"wait_mean_ms"`
	// ClaimedMeanMs is from the claim to the end, on average.
	ClaimedMeanMs *int64 `json:"claimed_mean_ms"`
	// ArrivalsLastHour is how many items were enqueued within the last hour; nil when the queue deletes completed items.
	ArrivalsLastHour *int64 `json:"arrivals_last_hour"`
	// Claimed is how many items are claimed now: in flight, with a lease that has not run out.
	Claimed int64 `json:"claimed"`
	// WorkersNeeded is how many must be worked on at once to keep up; docs/ask.md says how it is reckoned. Nil when the
	// arrivals are not known.
	WorkersNeeded *int64 `json:"workers_needed"`
	// Steps are the items at each step of the description, and at none of them.
	Steps []StepCounts `json:"steps"`
}

// Counts are how many items are in each state.
type Counts struct {
	Pending, Processing, Error, Failed, Completed, Cancelled, Paused, Terminated, PartiallyCompleted int64
}

// Percentiles of a span; nil where they are of no item.
type Percentiles struct{ P50, P90, P99 *int64 }

// StepCounts are the items at a step.
type StepCounts struct {
	// Step is its name; empty: none of the description's.
	Step string `json:"step"`
	// Counts are how many of them are in each state.
	Counts `json:"counts"`
}

// Stats counts the items and measures how long they take. It reads much of the table: for a page that somebody looks
// at, not for every round of a worker.
func (q *Queue) Stats(ctx context.Context) (Stats, error) {
	look := func() (Stats, error) {
		var stats Stats
		answer, err := q.Ask(context.WithoutCancel(ctx), "stats", nil)
		if err == nil {
			err = json.Unmarshal(answer, &stats)
		}
		return stats, err
	}
	return await(ctx, look, func(Stats) {})
}
