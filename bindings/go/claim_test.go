package readpast_test

import (
	"context"
	"errors"
	"math/rand"
	"strconv"
	"sync"
	"testing"
	"time"

	readpast "github.com/readpast/readpast/bindings/go"
)

const long = time.Hour

// wait claims one item on another goroutine.
func wait(ctx context.Context, queue *readpast.Queue) <-chan func(*testing.T) *readpast.Batch {
	return start(func() func(*testing.T) *readpast.Batch { return must(queue.Claim(ctx, 1, long)) })
}

// waitError is the error that a claim ends with.
func waitError(ctx context.Context, queue *readpast.Queue) <-chan error {
	return start(func() error {
		_, err := queue.Claim(ctx, 1, long)
		return err
	})
}

func TestTheEndOfAContextEndsOneWaitAndNoOther(t *testing.T) {
	queue := open(t)
	ending, cancel := context.WithCancel(ctx)
	cancelled, other := waitError(ending, queue), wait(ctx, queue)
	time.Sleep(50 * time.Millisecond)
	cancel()
	if err := ends(t, cancelled); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	enqueue(t, queue, "for the other")
	equal(t, ends(t, other)(t).Len(), 1)
}

func TestAProducerWaitsForTheEndOfItsItem(t *testing.T) {
	queue := open(t)
	item := claimed(t, queue, "a").Item(0)
	ending, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	if _, err := queue.WaitFor(ending, item.Key, long); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
	equal(t, must(queue.WaitFor(ctx, item.Key, 0))(t).Status(), readpast.StatusEmpty)
	waiting := start(func() func(*testing.T) *readpast.Batch { return must(queue.WaitFor(ctx, item.Key, long)) })
	must(queue.Settle(ctx, item.Complete().WithResponse("42")))(t)
	ended := ends(t, waiting)(t)
	equal(t, ended.Item(0).Value("response").String(), "42")
	equal(t, ended.Item(0).Key, item.Key)
}

func TestADeadlineEndsAWait(t *testing.T) {
	queue := open(t, "poll.interval_ms", "3600000")
	ending, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	if err := ends(t, waitError(ending, queue)); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
}

func TestACallThatIsCancelledBeforeDoesNotBegin(t *testing.T) {
	queue := open(t)
	batch := claimed(t, queue, "a")
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	for name, call := range map[string]func() error{
		"Install": func() error { return readpast.Install(cancelled, settings(), "") },
		"Open":    func() error { _, err := readpast.Open(cancelled, settings(), "Work1"); return err },
		"Claim":   func() error { _, err := queue.Claim(cancelled, 1, 0); return err },
		"Wait":    func() error { _, err := queue.Claim(cancelled, 1, long); return err },
		"Enqueue": func() error { _, err := queue.Enqueue(cancelled, readpast.NewItem{}); return err },
		"Settle":  func() error { _, err := queue.Settle(cancelled, batch.Item(0).Complete()); return err },
		"SettleAndClaim": func() error {
			_, _, err := queue.SettleAndClaim(cancelled, 1, batch.Item(0).Complete())
			return err
		},
		"Renew": func() error { _, err := queue.Renew(cancelled, batch.Item(0).Lease()); return err },
		"Find":  func() error { _, err := queue.Find(cancelled, "", "", 1); return err },
		"Ask":   func() error { _, err := queue.Ask(cancelled, "redrive", nil); return err },
		"Stats": func() error { _, err := queue.Stats(cancelled); return err },
	} {
		if err := call(); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
	}
	equal(t, stats(t, queue).Processing, 1)
}

func TestAnInterruptOfAQueueInterruptsItsClaims(t *testing.T) {
	queue := open(t, "poll.interval_ms", "3600000")
	shared := must(queue.Share())(t)
	defer shared.Close()
	ending, cancel := context.WithCancel(ctx)
	defer cancel()
	for _, waiting := range []<-chan func(*testing.T) *readpast.Batch{
		wait(ending, queue), wait(ctx, queue), wait(ctx, shared),
	} {
		check(t, queue.Interrupt())
		equal(t, ends(t, waiting)(t).Status(), readpast.StatusInterrupted)
	}
	equal(t, must(queue.Claim(ending, 1, long))(t).Status(), readpast.StatusInterrupted)
	check(t, queue.Resume())
	equal(t, must(queue.Claim(ending, 1, 0))(t).Status(), readpast.StatusEmpty)

	// An interrupt of the shared queue alone disturbs no other.
	check(t, shared.Interrupt())
	equal(t, must(shared.Claim(ctx, 1, long))(t).Status(), readpast.StatusInterrupted)
	equal(t, must(queue.Claim(ctx, 1, 0))(t).Status(), readpast.StatusEmpty)
}

// However the race of items and cancellations ends, each item is claimed, or in the queue.
func TestNoItemIsLostToACancellation(t *testing.T) {
	const rounds = 200
	queue := open(t)
	taken, random := 0, rand.New(rand.NewSource(1))
	for range rounds {
		ending, cancel := context.WithCancel(ctx)
		type result struct {
			batch *readpast.Batch
			err   error
		}
		claim := start(func() result {
			batch, err := queue.Claim(ending, 1, long)
			return result{batch, err}
		})
		enqueue(t, queue, "a")
		time.Sleep(time.Duration(random.Intn(4000)) * time.Microsecond)
		cancel()
		if came := ends(t, claim); came.err == nil {
			taken++
			equal(t, came.batch.Len(), 1)
			equal(t, must(queue.Settle(ctx, came.batch.Item(0).Complete()))(t).Status(), readpast.StatusOK)
			check(t, came.batch.Close())
		} else if !errors.Is(came.err, context.Canceled) {
			t.Fatal(came.err)
		}
	}
	figures := stats(t, queue)
	equal(t, figures.Completed, int64(taken))
	equal(t, figures.Pending, int64(rounds-taken))
	equal(t, figures.Processing, 0)
}

func TestManyGoroutinesUseOneQueue(t *testing.T) {
	const goroutines, each = 8, 25
	queue := open(t)
	var keys sync.Map
	var all sync.WaitGroup
	failures := make(chan error, goroutines)
	for range goroutines {
		all.Add(1)
		go func() {
			defer all.Done()
			for range each {
				if _, err := queue.Enqueue(ctx, readpast.NewItem{}); err != nil {
					failures <- err
					return
				}
				batch, err := queue.Claim(ctx, 1, long)
				if err != nil {
					failures <- err
					return
				}
				if _, twice := keys.LoadOrStore(batch.Item(0).Key, true); twice {
					failures <- errors.New("an item was taken twice")
					return
				}
				if _, err = queue.Settle(ctx, batch.Item(0).Complete()); err != nil {
					failures <- err
					return
				}
				batch.Close()
			}
		}()
	}
	all.Wait()
	close(failures)
	check(t, <-failures)
	equal(t, stats(t, queue).Completed, goroutines*each)
}

// Calls that change nothing need not be waited for: here until a lock is granted.
func TestTheEndOfAContextEndsALookAtTheQueue(t *testing.T) {
	name := install(t)
	queue := openNamed(t, name)
	server := startPsql(t)
	server.ask("BEGIN; LOCK TABLE readpast_go." + name + "; SELECT 1")
	for before, look := range []func(context.Context) error{
		func(ctx context.Context) error { _, err := queue.Stats(ctx); return err },
		func(ctx context.Context) error { _, err := queue.Find(ctx, "", "", 1); return err },
	} {
		ending, cancel := context.WithCancel(ctx)
		looking := start(func() error { return look(ending) })
		// The server goes on with a statement whose caller has left.
		until(t, func() bool { return server.ask(waiting) == strconv.Itoa(before+1) })
		cancel()
		if err := ends(t, looking); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
	// Nor need those who close.
	ending, cancel := context.WithTimeout(ctx, 10*time.Millisecond)
	defer cancel()
	err := queue.Shutdown(ending)
	if !errors.Is(err, readpast.StatusTimedOut) || !errors.Is(err, context.DeadlineExceeded) {
		t.Fatal(err)
	}
	server.ask("COMMIT; SELECT 1")
	check(t, queue.Shutdown(ctx))
}

// No server answers at this address: the attempt to connect is left behind.
func TestTheEndOfAContextEndsAnAttemptToConnect(t *testing.T) {
	silent := listen(t)
	ending, cancel := context.WithCancel(ctx)
	opening := start(func() error {
		_, err := readpast.Open(ending, settings("connection", silent.connection, "login.timeout_ms", "1000"), "Work1")
		return err
	})
	ends(t, silent.accepted)
	cancel()
	if err := ends(t, opening); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
}
