package readpast

import (
	"context"
	"sync"
)

// leaseWatch ends the contexts of handlers whose items are found lost.
type leaseWatch struct {
	mutex sync.Mutex
	begun map[Lease]context.CancelCauseFunc
}

// begin gives a handler its context, which is ended by done at the latest.
func (w *leaseWatch) begin(given context.Context, lease Lease) (ctx context.Context, done func()) {
	ctx, cancel := context.WithCancelCause(given)
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.begun[lease] = cancel
	return ctx, func() {
		w.mutex.Lock()
		delete(w.begun, lease)
		w.mutex.Unlock()
		cancel(nil)
	}
}

// lost ends the context of the item's handler, if one is at work.
func (w *leaseWatch) lost(lease Lease, line string) {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if cancel, isBegun := w.begun[lease]; isBegun {
		cancel(&Error{Status: StatusLeaseLost, Message: line})
	}
}
