package readpast

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/readpast/readpast/bindings/go/internal/capi"
)

// watch ends the contexts of handlers whose items are found lost, and of all when the worker has been stopping for as
// long as they may go on.
type watch struct {
	engine      capi.Worker
	stopTimeout time.Duration
	// abandon is called when handlers have not ended so long after the stop, unless that is 0.
	abandon        func()
	abandonTimeout time.Duration

	mutex sync.Mutex
	begun map[Lease]context.CancelCauseFunc
	// isOver is whether the worker has stopped, and its StopTimeout is over; isAbandoned whether its AbandonTimeout is.
	isOver, isAbandoned bool
}

// begin gives a handler its context, which is ended by done at the latest.
func (w *watch) begin(given context.Context, lease Lease) (ctx context.Context, done func()) {
	ctx, cancel := context.WithCancelCause(given)
	w.mutex.Lock()
	defer w.mutex.Unlock()
	w.begun[lease] = cancel
	// A loss, or the stop, may have come just before the context was among those that it ends.
	w.look(lease, cancel)
	return ctx, func() {
		w.mutex.Lock()
		delete(w.begun, lease)
		w.mutex.Unlock()
		cancel(nil)
	}
}

// listen waits for changes, until the worker has closed and there will be none.
func (w *watch) listen() error {
	isStopping := false
	for seen := int64(0); ; {
		changes, failure := w.engine.Changes(seen, milliseconds(longestWait))
		if failure != nil {
			return failed(failure)
		}
		if changes < 0 {
			return nil
		}
		seen = max(seen, changes)
		if !isStopping && w.engine.IsStopping() {
			isStopping = true
			if w.abandonTimeout > 0 {
				defer time.AfterFunc(w.abandonTimeout, w.giveUp).Stop()
			}
			if w.stopTimeout > 0 {
				defer time.AfterFunc(w.stopTimeout, w.over).Stop()
			} else {
				w.over()
			}
		}
		w.lookAtAll()
	}
}

// over ends them all.
func (w *watch) over() {
	w.mutex.Lock()
	w.isOver = true
	w.mutex.Unlock()
	w.lookAtAll()
}

// giveUp abandons the worker.
func (w *watch) giveUp() {
	w.mutex.Lock()
	w.isAbandoned = true
	w.mutex.Unlock()
	w.abandon()
}

func (w *watch) lookAtAll() {
	w.mutex.Lock()
	defer w.mutex.Unlock()
	for lease, cancel := range w.begun {
		w.look(lease, cancel)
	}
}

// look ends a context if it is time; the first reason stays. With the mutex held.
func (w *watch) look(lease Lease, cancel context.CancelCauseFunc) {
	switch {
	case w.engine.IsLost(lease.Key, count(lease.Attempt)):
		why := "was lost: its lease ran out, or an operator took it"
		if w.isAbandoned {
			why = "was given back: the worker was abandoned"
		}
		cancel(&Error{Status: StatusLeaseLost, Message: "item " + lease.Key + " " + why})
	case w.isOver:
		cancel(errStopping)
	}
}

// errStopping is the cause of the end of a handler's context when its worker stops.
var errStopping = &Error{Status: StatusInterrupted, Message: "the worker stops"}

// isStopped reports whether a handler has failed because the worker's stop ended its context.
func isStopped(ctx context.Context, err error) bool {
	if context.Cause(ctx) != error(errStopping) {
		return false
	}
	return errors.Is(err, context.Canceled) || errors.Is(err, StatusInterrupted)
}
