package readpast

import (
	"context"
	"sync"
	"time"
)

// leaseWatch ends the context of a handler whose item is found lost. The library tells when it is asked, so it is asked
// every now and then, which costs nothing worth speaking of.
type leaseWatch struct {
	renewal *Renewal
	stop    chan struct{}
	stopped chan struct{}

	mutex  sync.Mutex
	key    string
	cancel context.CancelCauseFunc
}

func watchLeases(renewal *Renewal, lease time.Duration) *leaseWatch {
	watch := &leaseWatch{renewal: renewal, stop: make(chan struct{}), stopped: make(chan struct{})}
	go watch.look(min(max(lease/20, 10*time.Millisecond), time.Second))
	return watch
}

// begin gives a handler its context, which is ended by done at the latest.
func (w *leaseWatch) begin(given context.Context, key string) (ctx context.Context, done func()) {
	ctx, cancel := context.WithCancelCause(given)
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.key, w.cancel = key, cancel
	return ctx, func() { cancel(nil) }
}

func (w *leaseWatch) end() {
	close(w.stop)
	<-w.stopped
}

func (w *leaseWatch) look(interval time.Duration) {
	defer close(w.stopped)
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-w.stop:
			return
		case <-ticker.C:
			w.check()
		}
	}
}

func (w *leaseWatch) check() {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	if w.cancel != nil && w.renewal.lost(w.key) {
		lost := "the item was lost: its lease ran out, or an operator took it"
		w.cancel(&Error{Status: StatusLeaseLost, Message: lost})
		w.cancel = nil
	}
}
