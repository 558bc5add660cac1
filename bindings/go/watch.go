package readpast

import (
	"context"
	"sync"
	"time"
)

// leaseWatch ends the contexts of handlers whose items are found lost. The library tells when it is asked, so it is asked
// every now and then, which costs nothing worth speaking of.
type leaseWatch struct {
	stop    chan struct{}
	stopped chan struct{}

	mutex sync.Mutex
	begun map[*Item]context.CancelCauseFunc
}

func watchLeases(lease time.Duration) *leaseWatch {
	watch := &leaseWatch{
		stop: make(chan struct{}), stopped: make(chan struct{}), begun: map[*Item]context.CancelCauseFunc{},
	}
	go watch.look(min(max(lease/20, 10*time.Millisecond), time.Second))
	return watch
}

// begin gives a handler its context, which is ended by done at the latest.
func (w *leaseWatch) begin(given context.Context, item *Item) (ctx context.Context, done func()) {
	ctx, cancel := context.WithCancelCause(given)
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.begun[item] = cancel
	return ctx, func() {
		w.mutex.Lock()
		delete(w.begun, item)
		w.mutex.Unlock()
		cancel(nil)
	}
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
	for item, cancel := range w.begun {
		if item.Lost() {
			lost := "the item was lost: its lease ran out, or an operator took it"
			cancel(&Error{Status: StatusLeaseLost, Message: lost})
			delete(w.begun, item)
		}
	}
}
