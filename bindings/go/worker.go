package readpast

import (
	"context"
	"errors"
	"log/slog"
	"runtime"
	"sync"
	"time"

	"github.com/readpast/readpast/bindings/go/internal/capi"
)

// longestWait is the longest wait that the library takes.
const longestWait = 24 * time.Hour

// Handler works on an item and says what came of it: a settlement made by the item's methods, of which the zero value
// is item.Complete(). An error is recorded as the item's, and the item is tried again while attempts are left; so is a
// panic, with its stack, and the worker goes on. A settlement of another item, or one that does not end the claim, is a
// mistake of the program: the work was done, so the item becomes Failed with an error that says so, and is not tried
// again.
//
// The context has the values of Run's. It ends when the item was found lost: work on it is in vain, and context.Cause is
// StatusLeaseLost. And it ends when the worker stops, after Worker.StopTimeout; context.Cause is StatusInterrupted then. A
// handler that returns context.Canceled because of that, or an error that wraps it, has its item given back, and the
// attempt does not count; whatever else it says is settled as ever.
type Handler func(ctx context.Context, item *Item) (Settlement, error)

// Worker works a queue off in several goroutines, which take items and have the handler work on them. Threads of the
// library claim ahead of them, settle what has ended, many items in one round trip, and renew leases; docs/worker.md
// says how, and what becomes of what when something goes wrong. The fields are not to be changed once it runs; it may
// run again when it has ended.
type Worker struct {
	// Queue is required, and must stay open while the worker runs. Queue.Interrupt stops it. The settings worker.fetchers,
	// worker.ahead and worker.hold_ms of its Options are the worker's.
	Queue *Queue
	// Handler is required. It is called in the worker's goroutines, several at once.
	Handler Handler
	// Concurrency is how many goroutines work; 0 is 1. Each holds a thread while it waits for items.
	Concurrency int
	// BatchSize is how many items one of them takes at once, 1 to 1000; 0 is 1. They are handled one after the other. For
	// handlers that gain from having several at hand; round trips are saved without it.
	BatchSize int
	// UntilEmpty lets Run return when nothing is due, and nothing in flight.
	UntilEmpty bool
	// StopTimeout is how long handlers may go on when the worker stops before their contexts end; up to a day, and 0: they
	// end at once. Handlers that do not look at their context are waited for in any case.
	StopTimeout time.Duration
	// AbandonTimeout is how long handlers are waited for at most when the worker stops; up to a day, and 0: as long as they
	// take. Then the worker is abandoned: what they have not ended is given back without spending an attempt, and Run
	// returns although they go on; until they have ended, Run may not be called again. For a program that ends soon whatever
	// they do.
	AbandonTimeout time.Duration
	// SettleTimeout is how long Run, when the last handler has returned, waits at most for the database to take their
	// settlements; up to a day, and 0 is Queue.Lease. Then it gives up, and the leases run out.
	SettleTimeout time.Duration
	// Logger gets the lines that a person may want to read: start and end (Info), each attempt that failed with its key and
	// attempt, items that were lost or refused, calls that are tried again (Warn), mistakes of the handler and the failure
	// that ended the worker (Error). Nil is slog.Default().
	Logger *slog.Logger
	// Claimed, if any, is called with each batch that a goroutine has taken, before the first of its items is handled.
	Claimed func(*Batch)
	// Observe, if any, is called for each event, one after the other, in a goroutine of its own: also for items that were
	// claimed ahead and given back unworked. Should it fall behind by a million events, it does not see the oldest of
	// items that were settled.
	Observe func(Event)
}

// run is one run of a worker.
type run struct {
	*Worker
	engine capi.Worker
	watch  watch
	// ctx is the context of Run, and given the same without its end.
	ctx, given context.Context
	hands      sync.WaitGroup
	abandoned  chan struct{}
	once       sync.Once
	err        error
}

// Run works until ctx ends, the queue is interrupted or, with UntilEmpty, nothing is left to do. Then items in flight are
// finished and settled, those that were not begun are given back, and it returns nil. An error is a failure that does
// not pass by itself, or StatusTimedOut when SettleTimeout was not enough. All goroutines have ended when it returns, except
// those of handlers after AbandonTimeout.
func (w *Worker) Run(ctx context.Context) error {
	if err := w.check(); err != nil || ctx.Err() != nil {
		return err
	}
	defer runtime.KeepAlive(w.Queue)
	kept := int32(keptEvents)
	if w.Observe != nil {
		kept = mostEvents
	}
	engine, failure := w.Queue.handle.StartWorker(w.UntilEmpty, kept)
	if failure != nil {
		return w.Queue.failed(failure)
	}
	defer engine.Free()
	r := &run{
		Worker: w, engine: engine, ctx: ctx, given: context.WithoutCancel(ctx),
		watch:     watch{engine: engine, stopTimeout: w.StopTimeout, begun: map[Lease]context.CancelCauseFunc{}},
		abandoned: make(chan struct{}),
	}
	r.watch.abandon, r.watch.abandonTimeout = r.abandon, w.AbandonTimeout
	defer context.AfterFunc(ctx, r.stop)()
	r.logStart()
	told := make(chan struct{})
	go func() {
		defer close(told)
		r.tell()
	}()
	listened := make(chan struct{})
	go func() {
		defer close(listened)
		r.fail(r.watch.listen())
	}()
	for range max(w.Concurrency, 1) {
		r.hands.Add(1)
		go r.work()
	}
	r.waitForHands()
	r.fail(failed(engine.Close(w.settleTimeout())))
	<-told
	<-listened
	r.once.Do(func() {}) // a failure of an abandoned worker's handler is reported to no one
	r.logEnd()
	return r.err
}

// waitForHands waits until all handlers have ended, or the worker is abandoned.
func (r *run) waitForHands() {
	ended := make(chan struct{})
	go func() {
		r.hands.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-r.abandoned:
	}
}

// abandon gives back what handlers have not ended; once.
func (r *run) abandon() {
	r.fail(failed(r.engine.Abandon()))
	close(r.abandoned)
}

// check returns why it cannot run, or nil.
func (w *Worker) check() error {
	wrong := ""
	switch {
	case w.Queue == nil || w.Handler == nil:
		wrong = "a worker needs a queue and a handler"
	case w.Concurrency < 0:
		wrong = "a worker needs a goroutine"
	case w.StopTimeout < 0 || w.StopTimeout > longestWait:
		wrong = "the stop timeout of a worker is " + w.StopTimeout.String() + "; it must be from 0 to a day"
	case w.AbandonTimeout < 0 || w.AbandonTimeout > longestWait:
		wrong = "the abandon timeout of a worker is " + w.AbandonTimeout.String() + "; it must be from 0 to a day"
	case w.SettleTimeout < 0 || w.SettleTimeout > longestWait:
		wrong = "the settle timeout of a worker is " + w.SettleTimeout.String() + "; it must be from 0 to a day"
	case w.Queue.closed.Load():
		return closed("queue")
	}
	if wrong != "" {
		return &Error{Status: StatusInvalidArgument, Message: wrong}
	}
	return nil
}

// work is one of the goroutines.
func (r *run) work() {
	err := errors.New("readpast: " + goexit)
	defer func() {
		r.fail(err)
		r.hands.Done()
	}()
	err = r.takeAndHandle()
}

func (r *run) takeAndHandle() error {
	for !r.isStopping() {
		taken, failure := r.engine.Take(count(r.batchSize()), milliseconds(longestWait))
		if failure != nil {
			return failed(failure)
		}
		if taken.Count > 0 {
			batch := newBatch(r.Queue, Status(taken.Status), taken)
			batch.engine = r.engine
			r.handleAll(batch)
		}
	}
	return nil
}

// isStopping reports whether nothing more is to be begun. The context ends before the engine knows of the stop.
func (r *run) isStopping() bool {
	return r.ctx.Err() != nil || r.engine.IsStopping()
}

// stop lets no goroutine begin anything more; it cannot fail but in the child of a fork.
func (r *run) stop() {
	_ = r.engine.Stop()
}

// fail stops the worker for a failure, and keeps the first one for Run to return; nil is none.
func (r *run) fail(err error) {
	if err != nil {
		r.once.Do(func() { r.err = err })
		r.stop()
	}
}

func (r *run) batchSize() int {
	if r.BatchSize == 0 {
		return 1
	}
	return r.BatchSize
}

func (w *Worker) settleTimeout() int64 {
	if w.SettleTimeout == 0 {
		return -1
	}
	return milliseconds(w.SettleTimeout)
}
