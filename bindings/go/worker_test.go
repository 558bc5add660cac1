package readpast_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unicode/utf8"

	readpast "github.com/readpast/readpast/bindings/go"
)

// quiet is for workers of which the test knows what they would say.
var quiet = slog.New(slog.NewTextHandler(new(bytes.Buffer), &slog.HandlerOptions{Level: slog.LevelError + 1}))

// run runs a worker until there is enough, and gives what it gave.
func run(t *testing.T, worker *readpast.Worker, enough func() bool) error {
	t.Helper()
	if worker.SettleTimeout == 0 {
		worker.SettleTimeout = long
	}
	ending, cancel := context.WithCancel(ctx)
	defer cancel()
	running := start(func() error { return worker.Run(ending) })
	until(t, enough)
	cancel()
	return ends(t, running)
}

func TestEachItemIsHandledOnce(t *testing.T) {
	const items = 500
	queue := open(t)
	payloads := make([]string, items)
	for i := range payloads {
		payloads[i] = fmt.Sprint(i)
	}
	enqueue(t, queue, payloads...)
	var handled atomic.Int64
	var seen sync.Map
	worker := readpast.Worker{Queue: queue, Concurrency: 4, BatchSize: 7}
	worker.Handler = func(_ context.Context, item *readpast.Item) (readpast.Settlement, error) {
		seen.Store(item.Value("Payload").String(), true)
		handled.Add(1)
		return item.Complete(), nil
	}
	check(t, run(t, &worker, func() bool { return handled.Load() == items }))
	for _, payload := range payloads {
		if _, has := seen.Load(payload); !has {
			t.Fatal(payload)
		}
	}
	equal(t, handled.Load(), items)
	equal(t, stats(t, queue).Completed, items)
	// It may run again.
	enqueue(t, queue, "again")
	check(t, run(t, &worker, func() bool { return handled.Load() == items+1 }))
}

func TestAHandlersReturnValueSettlesTheItem(t *testing.T) {
	queue := openNamed(t, install(t, `"backoff": {"first_ms": 3600000, "cap_ms": 3600000}`))
	enqueue(t, queue,
		"nothing", "response", "partially", "fail", "retry", "release", "cancel", "pause", "step", "error")
	var handled atomic.Int64
	worker := readpast.Worker{Queue: queue, Logger: quiet}
	worker.Handler = func(ctx context.Context, item *readpast.Item) (readpast.Settlement, error) {
		defer handled.Add(1)
		switch item.Value("Payload").String() {
		case "response":
			return item.Complete().WithResponse("sent"), nil
		case "partially":
			return item.CompletePartially().WithResponse("half"), nil
		case "fail":
			return item.Fail("never"), nil
		case "retry":
			return item.Retry("later").WithDelay(time.Hour), nil
		case "release":
			return item.Release().WithDelay(time.Hour), nil
		case "cancel":
			return item.Settle(readpast.ActionCancel), nil
		case "pause":
			return item.Settle(readpast.ActionPause), nil
		case "step":
			_, err := item.RecordStep(ctx, "rendered")
			return item.Complete(), err
		case "error":
			return item.Complete(), errors.New("the mail server said: 451")
		}
		return readpast.Settlement{}, nil
	}
	check(t, run(t, &worker, func() bool { return handled.Load() == 10 }))
	equalAll(t, column(t, queue, "status"), "Completed", "Completed", "PartiallyCompleted", "Failed", "Error",
		"Pending", "Cancelled", "Paused", "Completed", "Error")
	responses, texts, steps := column(t, queue, "response"), column(t, queue, "error"), column(t, queue, "step")
	equalAll(t, responses[1:3], "sent", "half")
	equalAll(t, texts[3:5], "never", "later")
	equal(t, texts[9], "the mail server said: 451")
	equal(t, steps[8], "rendered")
}

func TestAPanicIsTheItemsErrorAndTheWorkerGoesOn(t *testing.T) {
	queue := open(t)
	enqueue(t, queue, "bad", "good", "long", "unsendable", "another's", "steps", "delays", "unset", "set")
	other := claimed(t, open(t), "x").Item(0)
	worker := readpast.Worker{Queue: queue, BatchSize: 2, Logger: quiet}
	worker.Handler = func(_ context.Context, item *readpast.Item) (readpast.Settlement, error) {
		switch item.Value("Payload").String() {
		case "bad":
			panic(fmt.Errorf("it is bad: ä😀 \x00\xff! %w", os.ErrNotExist))
		case "long":
			panic(strings.Repeat("😀", 20000))
		case "unsendable":
			return item.Complete().WithResponse("a\x00b\xff"), nil
		case "another's":
			return other.Complete(), nil
		case "steps":
			return item.Settle(readpast.ActionStep), nil
		case "delays":
			return item.Complete().WithDelay(-time.Hour), nil
		case "unset":
			return item.Complete().WithSet(readpast.Columns{"Payload": make(chan int)}), nil
		case "set":
			return item.Complete().WithSet(readpast.Columns{"Payload": "has been", "Big": 1}), nil
		}
		return item.Complete(), nil
	}
	check(t, run(t, &worker, func() bool {
		figures := stats(t, queue)
		return figures.Failed == 5 && figures.Completed == 4
	}))
	texts, responses := column(t, queue, "error"), column(t, queue, "response")
	for i, wanted := range []string{
		"panic: it is bad: ä😀 \uFFFD\uFFFD! file does not exist\n", "", "panic: 😀", "the response is not UTF-8",
		"settled item " + other.Key, "the action Step does not end an item",
		"a part of the result was refused: the delay of -3600000 ms is not from 0",
		"the columns cannot be JSON: ", "",
	} {
		if !strings.Contains(texts[i], wanted) {
			t.Errorf("%q does not contain %q", texts[i], wanted)
		}
	}
	equal(t, responses[3], "")
	equal(t, column(t, queue, "Payload")[8], "has been")
	if !strings.Contains(texts[0], "worker_test.go:") {
		t.Error("it does not say where: " + texts[0])
	}
	equal(t, utf8.RuneCountInString(texts[2]), 16000)
}

type contextKey struct{}

func TestAHandlersContextEndsWhenItsWorkerStops(t *testing.T) {
	queue := open(t)
	enqueue(t, queue, "a")
	ending, cancel := context.WithCancel(context.WithValue(ctx, contextKey{}, "value"))
	worker := readpast.Worker{Queue: queue}
	worker.Handler = func(ctx context.Context, item *readpast.Item) (readpast.Settlement, error) {
		cancel()
		<-ctx.Done()
		if !errors.Is(context.Cause(ctx), readpast.StatusInterrupted) || ctx.Value(contextKey{}) != "value" {
			t.Error(context.Cause(ctx), ctx.Value(contextKey{}))
		}
		return item.Complete(), nil // It was done nevertheless.
	}
	check(t, worker.Run(ending))
	equal(t, stats(t, queue).Completed, 1)
}

// An item is given back if its handler breaks off because of the stop.
func TestAHandlerWhoseContextEndsWithTheWorkerLosesNoAttempt(t *testing.T) {
	queue := open(t)
	enqueue(t, queue, "a")
	ending, cancel := context.WithCancel(ctx)
	worker := readpast.Worker{Queue: queue, Logger: quiet}
	worker.Handler = func(ctx context.Context, _ *readpast.Item) (readpast.Settlement, error) {
		cancel()
		<-ctx.Done()
		return readpast.Settlement{}, fmt.Errorf("cannot send: %w", ctx.Err())
	}
	check(t, ends(t, start(func() error { return worker.Run(ending) })))
	equal(t, stats(t, queue).Pending, 1)
	batch := must(queue.Claim(ctx, 1, 0))(t)
	equal(t, batch.Item(0).Attempt, 1)
}

func TestHandlersMayGoOnForTheStopTimeoutOfTheirWorker(t *testing.T) {
	queue := open(t)
	enqueue(t, queue, "a")
	ending, cancel := context.WithCancel(ctx)
	worker := readpast.Worker{Queue: queue, StopTimeout: time.Hour, Logger: quiet}
	worker.Handler = func(ctx context.Context, item *readpast.Item) (readpast.Settlement, error) {
		cancel()
		_, err := item.RecordStep(ctx, "half") // The worker was stopped before this.
		return item.Complete(), err
	}
	check(t, ends(t, start(func() error { return worker.Run(ending) })))
	equal(t, stats(t, queue).Completed, 1)
}

func TestAnAbandonedWorkerSpendsNoAttemptOfWhatItsHandlersHave(t *testing.T) {
	queue := open(t)
	enqueue(t, queue, "a")
	ending, cancel := context.WithCancel(ctx)
	mayEnd, isLost, cause := make(chan struct{}), make(chan bool, 1), make(chan error, 1)
	worker := readpast.Worker{Queue: queue, StopTimeout: time.Hour, AbandonTimeout: time.Millisecond, Logger: quiet}
	worker.Handler = func(of context.Context, item *readpast.Item) (readpast.Settlement, error) {
		cancel()
		<-of.Done()
		cause <- context.Cause(of)
		<-mayEnd
		isLost <- item.Lost()
		return item.Complete(), nil
	}
	check(t, ends(t, start(func() error { return worker.Run(ending) })))
	close(mayEnd)
	equal(t, <-isLost, true)
	equal(t, strings.Contains((<-cause).Error(), "was given back: the worker was abandoned"), true)
	batch := must(queue.Claim(ctx, 1, 0))(t)
	equal(t, batch.Item(0).Attempt, 1)
}

func TestAnInterruptOfTheQueueStopsItsWorkers(t *testing.T) {
	queue := open(t)
	worker := readpast.Worker{Queue: queue, Handler: complete, Concurrency: 3}
	running := start(func() error { return worker.Run(ctx) })
	check(t, queue.Interrupt())
	check(t, ends(t, running))
}

func complete(_ context.Context, item *readpast.Item) (readpast.Settlement, error) {
	return item.Complete(), nil
}

func TestAWorkerThatIsStoppedBeforeItRunsDoesNothing(t *testing.T) {
	queue := open(t)
	enqueue(t, queue, "a")
	ending, cancel := context.WithCancel(ctx)
	cancel()
	check(t, (&readpast.Worker{Queue: queue, Handler: complete}).Run(ending))
	equal(t, stats(t, queue).Pending, 1)
}

func TestLeasesOutlastTheWork(t *testing.T) {
	name := install(t)
	brief := openNamed(t, name, "lease.ms", "15000", "recover.interval_ms", "50")
	rival := openNamed(t, name, "lease.ms", "15000", "recover.interval_ms", "50")
	enqueue(t, brief, "slow")
	var done atomic.Bool
	worker := readpast.Worker{Queue: brief, Logger: quiet}
	worker.Handler = func(ctx context.Context, item *readpast.Item) (readpast.Settlement, error) {
		defer done.Store(true)
		for range 340 {
			batch, err := rival.Claim(ctx, 1, 50*time.Millisecond)
			if err != nil {
				return readpast.Settlement{}, err
			}
			if batch.Len() > 0 || item.Lost() {
				t.Error("it was lost")
			}
		}
		return item.Complete(), nil
	}
	check(t, run(t, &worker, done.Load))
	equal(t, stats(t, brief).Completed, 1)
}

func TestAHandlersContextEndsWhenItsItemIsLost(t *testing.T) {
	queue := open(t, "lease.ms", "1500", "recover.interval_ms", "3600000")
	enqueue(t, queue, "doomed")
	var said bytes.Buffer
	var lost atomic.Bool
	worker := readpast.Worker{Queue: queue, Logger: slog.New(slog.NewTextHandler(&said, nil))}
	worker.Handler = func(ctx context.Context, item *readpast.Item) (readpast.Settlement, error) {
		if _, err := queue.Settle(ctx, readpast.Operate(item.Key, readpast.ActionTerminate)); err != nil {
			return readpast.Settlement{}, err
		}
		<-ctx.Done()
		if !errors.Is(context.Cause(ctx), readpast.StatusLeaseLost) || !item.Lost() {
			t.Error(context.Cause(ctx))
		}
		lost.Store(true)
		return item.Complete(), nil
	}
	check(t, run(t, &worker, lost.Load))
	if !strings.Contains(said.String(), "READPAST_LEASE_LOST") {
		t.Error(said.String())
	}
	equal(t, stats(t, queue).Terminated, 1)
}

// An observer that takes its time does not keep a loss from the handlers.
func TestASlowObserverHoldsUpNoNews(t *testing.T) {
	queue := open(t, "lease.ms", "1500", "recover.interval_ms", "3600000")
	enqueue(t, queue, "done", "doomed")
	lost := make(chan struct{})
	worker := readpast.Worker{Queue: queue, UntilEmpty: true, SettleTimeout: long, Logger: quiet, Observe: func(readpast.Event) { <-lost }}
	worker.Handler = func(ctx context.Context, item *readpast.Item) (readpast.Settlement, error) {
		if item.Value("Payload").String() == "done" {
			return item.Complete(), nil
		}
		until(t, func() bool { return stats(t, queue).Completed == 1 })
		if _, err := queue.Settle(ctx, readpast.Operate(item.Key, readpast.ActionTerminate)); err != nil {
			return readpast.Settlement{}, err
		}
		<-ctx.Done()
		close(lost)
		return item.Complete(), nil
	}
	check(t, ends(t, start(func() error { return worker.Run(ctx) })))
	equal(t, stats(t, queue).Terminated, 1)
}

func TestAFailureThatDoesNotPassEndsTheRun(t *testing.T) {
	queue := open(t)
	err := (&readpast.Worker{Queue: queue, Handler: complete, Concurrency: 2, BatchSize: 5000}).Run(ctx)
	if !errors.Is(err, readpast.StatusInvalidArgument) {
		t.Error(err)
	}
	for _, worker := range []readpast.Worker{
		{Queue: queue}, {Handler: complete}, {Queue: queue, Handler: complete, Concurrency: -1},
		{Queue: queue, Handler: complete, StopTimeout: -1},
		{Queue: queue, Handler: complete, AbandonTimeout: -1},
		{Queue: queue, Handler: complete, SettleTimeout: -1}, {Queue: queue, Handler: complete, SettleTimeout: 25 * time.Hour},
	} {
		if err = worker.Run(ctx); !errors.Is(err, readpast.StatusInvalidArgument) {
			t.Error(err)
		}
	}
	worker := readpast.Worker{Queue: queue, Handler: complete, Concurrency: 2}
	running := start(func() error { return worker.Run(ctx) })
	time.Sleep(50 * time.Millisecond)
	check(t, queue.Shutdown(ctx))
	if err = ends(t, running); !errors.Is(err, readpast.StatusClosed) {
		t.Error(err)
	}
}

func TestAHandlerThatEndsItsGoroutineEndsTheRun(t *testing.T) {
	queue := openNamed(t, install(t, `"backoff": {"first_ms": 3600000, "cap_ms": 3600000}`))
	enqueue(t, queue, "a", "b")
	worker := readpast.Worker{Queue: queue, BatchSize: 2, Logger: quiet}
	worker.Handler = func(context.Context, *readpast.Item) (readpast.Settlement, error) {
		runtime.Goexit()
		panic("unreachable")
	}
	err := ends(t, start(func() error { return worker.Run(ctx) }))
	if err == nil || !strings.Contains(err.Error(), "Goexit") {
		t.Fatal(err)
	}
	// Nothing has to wait for its lease to run out.
	equal(t, stats(t, queue).Processing, 0)
	if why := column(t, queue, "error")[0]; !strings.Contains(why, "Goexit") {
		t.Error(why)
	}
}

func TestAWorkerReportsItsWork(t *testing.T) {
	queue := open(t)
	enqueue(t, queue, "a", "b", "c")
	var taken []string
	events := map[string]readpast.Event{}
	worker := readpast.Worker{
		Queue: queue, BatchSize: 2, Handler: complete, UntilEmpty: true,
		Claimed: func(batch *readpast.Batch) {
			for i := range batch.Len() {
				taken = append(taken, batch.Item(i).Key)
			}
		},
		Observe: func(event readpast.Event) { events[event.Key] = event },
	}
	check(t, ends(t, start(func() error { return worker.Run(ctx) })))
	equal(t, len(taken), 3)
	equal(t, len(events), 3)
	for _, key := range taken {
		equal(t, events[key], readpast.Event{
			Kind: readpast.EventSettled, Key: key, Attempt: 1, State: readpast.StateCompleted,
			Action: readpast.ActionComplete,
		})
	}
}

// A stop waits no longer than SettleTimeout for what a handler has returned.
func TestAWorkerGivesUpWhenItsSettleTimeoutIsOver(t *testing.T) {
	name := install(t)
	queue := openNamed(t, name)
	enqueue(t, queue, "a")
	server := startPsql(t)
	worker := readpast.Worker{Queue: queue, SettleTimeout: time.Millisecond, Logger: quiet}
	ending, cancel := context.WithCancel(ctx)
	worker.Handler = func(_ context.Context, item *readpast.Item) (readpast.Settlement, error) {
		server.ask("BEGIN; LOCK TABLE readpast_go." + name + "; SELECT 1")
		cancel()
		return item.Complete(), nil
	}
	if err := ends(t, start(func() error { return worker.Run(ending) })); !errors.Is(err, readpast.StatusTimedOut) {
		t.Error(err)
	}
	server.ask("COMMIT; SELECT 1")
}

func TestAStepOfAWorkersItemIsRecordedAndOneOfALostItemIsRefused(t *testing.T) {
	queue := open(t)
	enqueue(t, queue, "a")
	var kept, lost readpast.Outcome
	worker := readpast.Worker{Queue: queue, UntilEmpty: true, Logger: quiet}
	worker.Handler = func(ctx context.Context, item *readpast.Item) (settlement readpast.Settlement, err error) {
		if kept, err = item.RecordStep(ctx, "half"); err != nil {
			return settlement, err
		}
		operated, err := queue.Settle(ctx, readpast.Operate(item.Key, readpast.ActionTerminate))
		if err != nil || operated.Status() != readpast.StatusOK {
			return settlement, fmt.Errorf("%v %w", operated, err)
		}
		lost, err = item.RecordStep(ctx, "whole")
		if !item.Lost() {
			t.Error("it is not lost")
		}
		return settlement, err
	}
	check(t, ends(t, start(func() error { return worker.Run(ctx) })))
	equal(t, kept, readpast.Outcome{Answer: readpast.StatusOK, State: readpast.StateProcessing, Attempt: 1})
	if lost.Answer <= readpast.StatusOK {
		t.Error(lost)
	}
	equalAll(t, column(t, queue, "step"), "half")
	equal(t, stats(t, queue).Terminated, 1)
}
