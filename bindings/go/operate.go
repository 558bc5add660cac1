package readpast

import (
	"context"
	"encoding/json"
	"runtime"

	"github.com/readpast/readpast/bindings/go/internal/capi"
)

// MostItems is how many items a call takes or gives at most.
const MostItems = 1000

// Find finds up to limit items (1 to 1000), in the order of their keys. Nothing is claimed or changed. The filter is a
// JSON object, of which every member narrows the choice; empty: all items.
//
//	{"keys": [..], "status": ["Failed"], "types": [..], "before": "2026-11-21", "after": "..", "error": "a part of it",
//	 "longer_ms": 300000, "columns": {"Customer": 42, "Payload.id": "7"}}
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
		packed.Add(lease.Key, count(lease.Attempt))
	}
	defer runtime.KeepAlive(q)
	told, failure := q.handle.Renew(&packed)
	if failure != nil {
		return nil, q.failed(failure)
	}
	return outcomesOf(told), nil
}

// Ask answers the question called what, as JSON: "errors", "show", "redrive", "purge", "settings" and others; docs/ask.md has
// them with their arguments and answers. Arguments are what json.Marshal makes an object of; nil is none.
//
//	answer, err := queue.Ask(ctx, "redrive", map[string]any{"items": []any{map[string]any{"key": key}}})
//
// A question or an argument that there is not fails with [StatusInvalidArgument]; the message names those that there are.
func (q *Queue) Ask(ctx context.Context, what string, arguments any) (json.RawMessage, error) {
	if err := q.ready(ctx); err != nil {
		return nil, err
	}
	given, err := json.Marshal(arguments)
	if err != nil {
		return nil, err
	}
	defer runtime.KeepAlive(q)
	answer, failure := q.handle.Ask(what, string(given))
	return json.RawMessage(answer), q.failed(failure)
}
