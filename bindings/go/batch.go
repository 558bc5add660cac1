package readpast

import (
	"sync/atomic"

	"github.com/readpast/readpast/bindings/go/internal/capi"
)

// Batch is the items of one claim, in the order they were due. Any number of goroutines may read it. It does not need
// its queue, which may be closed before it. Closing it leaves the items claimed.
type Batch struct {
	queue   *Queue
	engine  capi.Worker // 0 unless a worker has taken it
	status  Status
	items   []Item
	lent    *lent
	renewal atomic.Pointer[Renewal]
}

// Column is one of those that all items of a batch have.
type Column struct {
	// Name is as the worker view declares it.
	Name string
	// Type is what it holds.
	Type ColumnType
}

func newBatch(queue *Queue, status Status, claimed capi.Claimed) *Batch {
	batch := &Batch{queue: queue, status: status, lent: newLent(claimed), items: make([]Item, claimed.Count)}
	batch.lent.items(func(i int, key, token string, attempt int) {
		batch.items[i] = Item{Key: key, Token: token, Attempt: attempt, batch: batch, index: i}
	})
	return batch
}

// BatchFromJSON makes items that no queue handed out, for the test of a handler: items is an array like
//
//	[{"columns": {"Recipient": "a@example.org"}}]
//
// where an item may have besides key, token, attempt (1 when left out) and state. If spec, the description of a queue, is
// not empty, they have its columns and types, else the values decide the types. Nothing is sent to a server; a step
// recorded with such an item is answered with StatusOK and kept nowhere.
func BatchFromJSON(items, spec string) (*Batch, error) {
	made, failure := capi.BatchFromJSON(items, spec)
	if failure != nil {
		return nil, failed(failure)
	}
	return newBatch(nil, Status(made.Status), made), nil
}

// Status is StatusOK when there are items, else StatusEmpty or StatusInterrupted.
func (b *Batch) Status() Status {
	return b.status
}

// Len is how many items there are.
func (b *Batch) Len() int {
	return len(b.items)
}

// Item is the item at index, counted from 0. Like that of a slice, an index out of range is a panic.
func (b *Batch) Item(index int) *Item {
	return &b.items[index]
}

// All is for a loop over the items.
//
//	for _, item := range batch.All() {
func (b *Batch) All() func(yield func(int, *Item) bool) {
	return func(yield func(int, *Item) bool) {
		for i := range b.items {
			if !yield(i, &b.items[i]) {
				return
			}
		}
	}
}

// Columns are those that all items have; none if the batch is empty, or was closed.
func (b *Batch) Columns() []Column {
	return b.lent.columns()
}

// Close frees the batch. The values that were read of its items stay, and so do their leases. Close again does nothing; it
// never fails.
func (b *Batch) Close() error {
	b.lent.free()
	return nil
}
