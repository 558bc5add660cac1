package readpast

import (
	"runtime"
	"sync"
	"time"

	"github.com/readpast/readpast/bindings/go/internal/capi"
)

// Renewal renews the leases of a batch while its items are worked on, on a thread of the library. Any number of
// goroutines may use it. It needs neither the queue nor the batch to stay.
type Renewal struct {
	mutex  sync.Mutex // held while what the handle lends is read
	handle capi.Renewal
}

// StartRenewal starts to renew the leases of all items of a batch, every third of [Queue.Lease], which leaves time for
// two more tries. It is to be closed; release each item when it is settled.
func (q *Queue) StartRenewal(batch *Batch) (*Renewal, error) {
	return q.StartRenewalEvery(batch, max(q.lease/3, time.Millisecond))
}

// StartRenewalEvery is StartRenewal with an interval of a millisecond to a day.
func (q *Queue) StartRenewalEvery(batch *Batch, interval time.Duration) (*Renewal, error) {
	if q.closed.Load() {
		return nil, closed("queue")
	}
	defer runtime.KeepAlive(q)
	handle, failure := batch.lent.startRenewal(q.handle, milliseconds(interval))
	if failure != nil {
		return nil, q.failed(failure)
	}
	renewal := &Renewal{handle: handle}
	// To free it means to wait for a round under way, for which the collector's goroutine must not wait.
	runtime.SetFinalizer(renewal, func(r *Renewal) { go r.Close() })
	batch.renewal.Store(renewal)
	return renewal, nil
}

// LostKeys are the keys of the items that were found lost so far: their leases had run out, or an operator took them.
// Work on them is in vain. None when the renewal was closed.
func (r *Renewal) LostKeys() []string {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	keys := make([]string, r.handle.LostCount())
	for i := range keys {
		keys[i] = r.handle.LostKey(i)
	}
	return keys
}

// Release stops to renew an item. Call it when the item is settled, else its lease would be renewed in vain, and then
// found lost. It returns whether the item was renewed until now.
func (r *Renewal) Release(key string) (bool, error) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.handle == 0 {
		return false, closed("renewal")
	}
	status, failure := r.handle.Release(key)
	return Status(status) == StatusOK, failed(failure)
}

// Close stops it, and waits for a round under way. Leases stay as they are. Close again does nothing; it never fails.
func (r *Renewal) Close() error {
	r.mutex.Lock()
	handle := r.handle
	r.handle = 0
	r.mutex.Unlock()
	if handle != 0 {
		runtime.SetFinalizer(r, nil)
		handle.Free()
	}
	return nil
}

func (r *Renewal) lost(key string) bool {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	for i := r.handle.LostCount() - 1; i >= 0; i-- {
		if r.handle.LostKey(i) == key {
			return true
		}
	}
	return false
}
