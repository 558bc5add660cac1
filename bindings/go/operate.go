package readpast

import (
	"context"
	"runtime"

	"github.com/readpast/readpast/bindings/go/internal/capi"
)

// MostItems is how many items a call takes or gives at most.
const MostItems = 1000

// Find finds up to limit items (1 to 1000), in the order of their keys. Nothing is claimed or changed. The filter is a
// JSON object, of which every member narrows the choice; empty: all items.
//
//	{"keys": [..], "status": ["Failed"], "types": [..], "before": "2026-11-21", "after": "..", "error": "a part of it",
//	 "longer_ms": 300000}
//
// After is the last key of the page before; empty: from the start. The batch is empty at the end; it is to be closed.
func (q *Queue) Find(ctx context.Context, filter, after string, limit int) (*Batch, error) {
	if err := q.ready(ctx); err != nil {
		return nil, err
	}
	look := func() (*Batch, error) {
		defer runtime.KeepAlive(q)
		found, failure := q.handle.Find(filter, after, count(limit))
		if failure != nil {
			return nil, q.failed(failure)
		}
		return newBatch(q, Status(found.Status), found), nil
	}
	return await(ctx, look, func(late *Batch) { _ = late.Close() })
}

// Figures are those of which a queue has one for each step, type or attempt, as a batch of rows that is read like one of
// items; the key of each row names it, and the header of the library has the columns. The parameter of is "steps", "types",
// "trend" or "attempts"; the key of an item is for the last alone, and else empty. "trend 5000" looks twice, 5000 ms apart,
// at a queue that deletes completed items: one look cannot see them. The caller closes the batch.
func (q *Queue) Figures(ctx context.Context, of, key string) (*Batch, error) {
	if err := q.ready(ctx); err != nil {
		return nil, err
	}
	look := func() (*Batch, error) {
		defer runtime.KeepAlive(q)
		found, failure := q.handle.Figures(of, key)
		if failure != nil {
			return nil, q.failed(failure)
		}
		return newBatch(q, Status(found.Status), found), nil
	}
	return await(ctx, look, func(late *Batch) { _ = late.Close() })
}

// FindAll finds all items that fit the filter of Find, page after page. A failure ends the loop, and is what it is
// given last. Read an item's columns before the loop goes on to the next.
//
//	for item, err := range queue.FindAll(ctx, `{"status": ["Failed"]}`) {
func (q *Queue) FindAll(ctx context.Context, filter string) func(yield func(*Item, error) bool) {
	return func(yield func(*Item, error) bool) {
		for after, more := "", true; more; {
			batch, err := q.Find(ctx, filter, after, MostItems)
			if err != nil {
				yield(nil, err)
				return
			}
			more = batch.lend(func(page *Batch, _ error) bool {
				for i := range page.items {
					after = page.items[i].Key
					if !yield(&page.items[i], nil) {
						return false
					}
				}
				return page.Len() == MostItems
			})
		}
	}
}

// Renew lets the leases of items start anew, on the server's clock. StartRenewal does this by itself.
func (q *Queue) Renew(ctx context.Context, leases ...Lease) (Outcomes, error) {
	if err := q.ready(ctx); err != nil {
		return nil, err
	}
	var packed capi.Refs
	for _, lease := range leases {
		packed.Add(lease.Key, "", count(lease.Attempt))
	}
	defer runtime.KeepAlive(q)
	told, failure := q.handle.Renew(&packed)
	if failure != nil {
		return nil, q.failed(failure)
	}
	return outcomesOf(told), nil
}

// Recover gives back up to limit items (1 to 1000) whose workers died, and returns how many there were. Claims do this
// too, every now and then.
func (q *Queue) Recover(ctx context.Context, limit int) (int, error) {
	if err := q.ready(ctx); err != nil {
		return 0, err
	}
	defer runtime.KeepAlive(q)
	recovered, failure := q.handle.Recover(count(limit))
	return recovered, q.failed(failure)
}

// Purge deletes up to limit finished items (1 to 1000) that fit the filter, which is that of Find, and returns how many
// there were. Without a status it means Completed, PartiallyCompleted, Cancelled and Terminated; Failed items go only
// when they are named. Call it until it deletes none.
func (q *Queue) Purge(ctx context.Context, filter string, limit int) (int, error) {
	if err := q.ready(ctx); err != nil {
		return 0, err
	}
	defer runtime.KeepAlive(q)
	purged, failure := q.handle.Purge(filter, count(limit))
	return purged, q.failed(failure)
}
