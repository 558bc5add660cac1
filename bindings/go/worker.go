package readpast

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"
)

// Handler works on an item and says what came of it: a settlement made by the item's methods, of which the zero value
// is item.Complete(). An error is recorded as the item's, and the item is tried again while attempts are left; so is a
// panic, with its stack, and the worker goes on. A settlement of another item is a mistake of the program: the work was
// done, so the item becomes Failed with an error that says so, and is not tried again.
//
// The context ends when the item was found lost: work on it is in vain, and context.Cause is StatusLeaseLost. It does
// not end with that of Run, so that work in hand can be finished.
type Handler func(ctx context.Context, item *Item) (Settlement, error)

// Worker works a queue off in several goroutines: each claims a batch, has its leases renewed, hands every item to the
// handler, and settles the batch and claims the next one in a single round trip. Lost connections and the like are
// waited for. The fields are not to be changed once it runs; it may run again when it has ended.
type Worker struct {
	// Queue is required, and must stay open while the worker runs. The worker uses a handle shared of it, so that it
	// disturbs nobody else. Queue.Interrupt stops it.
	Queue *Queue
	// Handler is required. It is called in the worker's goroutines, several at once.
	Handler Handler
	// Concurrency is how many goroutines work; 0 is 1. Each holds a thread and, while it is in a call, a connection:
	// pool.size should be no smaller.
	Concurrency int
	// BatchSize is how many items one of them claims at once, 1 to 1000; 0 is 1.
	BatchSize int
	// Logger is told of what a person may want to know: start and end (Info), each attempt that failed with its key and
	// attempt, what was lost or refused, calls that are tried again (Warn), mistakes of the handler and what ended the
	// worker (Error). Nil is slog.Default().
	Logger *slog.Logger
	// Claimed, if any, is called with each batch before the first of its items is handled.
	Claimed func(*Batch)
	// Settled, if any, is called when a batch was settled.
	Settled func(Round)
}

// Round is what a batch came to.
type Round struct {
	// Settlements are what was asked for, and Outcomes what was answered, item by item.
	Settlements []Settlement
	Outcomes    Outcomes
	// Took is how long the call took that settled them, and Claimed how many items it claimed.
	Took    time.Duration
	Claimed int
}

// run is one run of a worker.
type run struct {
	*Worker
	queue *Queue
	// given is the context of Run, without its end.
	given context.Context
	// stopping ends when the worker is to end, for whatever reason.
	stopping context.Context
	stop     context.CancelFunc
	hands    sync.WaitGroup
	once     sync.Once
	err      error
}

// Run works until ctx ends, or the queue is interrupted. Then items in hand are finished and settled, those of a batch
// that were not begun are given back, and it returns nil. An error is a failure that no other try mends; the other
// goroutines have been drained before it is returned.
func (w *Worker) Run(ctx context.Context) error {
	switch {
	case w.Queue == nil || w.Handler == nil:
		return &Error{Status: StatusInvalidArgument, Message: "a worker needs a queue and a handler"}
	case w.Concurrency < 0:
		return &Error{Status: StatusInvalidArgument, Message: "a worker needs a goroutine"}
	}
	own, err := w.Queue.Share()
	if err != nil {
		return err
	}
	defer own.Close()
	r := &run{Worker: w, queue: own, given: context.WithoutCancel(ctx)}
	r.stopping, r.stop = context.WithCancel(ctx)
	defer r.stop()
	defer context.AfterFunc(r.stopping, func() { _ = own.Interrupt() })()
	r.logStart()
	for range max(w.Concurrency, 1) {
		r.hands.Add(1)
		go r.work()
	}
	r.hands.Wait()
	r.logEnd()
	return r.err
}

// work is one of the goroutines.
func (r *run) work() {
	err := errors.New("readpast: a handler ended its goroutine by runtime.Goexit; its batch is left to run out")
	defer func() {
		if err != nil {
			r.once.Do(func() { r.err = err })
			r.stop()
		}
		r.hands.Done()
	}()
	err = r.claimAndWork()
}

func (r *run) claimAndWork() error {
	for r.stopping.Err() == nil {
		var batch *Batch
		err := r.try("claiming", func(Operation) (err error) {
			batch, err = r.queue.Claim(context.Background(), r.batchSize(), time.Minute)
			return err
		})
		if _, transient := again(err); transient && r.stopping.Err() != nil {
			return nil // nothing is in hand
		}
		if err != nil {
			return err
		}
		if batch.Status() == StatusInterrupted {
			// By the end of the context, or because the queue itself was interrupted: for all goroutines alike.
			r.stop()
		}
		for batch.Len() > 0 {
			if batch, err = r.workOn(batch); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *run) batchSize() int {
	if r.BatchSize == 0 {
		return 1
	}
	return r.BatchSize
}
