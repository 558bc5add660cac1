package readpast

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/readpast/readpast/bindings/go/internal/capi"
)

// These tests see the handles, to tell whether they were freed.

var ctx = context.Background()

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func openForLife(t *testing.T) *Queue {
	t.Helper()
	options := Options{
		"connection": os.Getenv("READPAST_CONNECTION"), "schema": "readpast_go_lifetime",
		"login.timeout_ms": "600000", "query.timeout_ms": "600000", "retry.budget_ms": "600000",
	}
	name := "Life" + strings.Map(func(r rune) rune {
		if r == '/' || r == '_' {
			return -1
		}
		return r
	}, t.Name())[len("Test"):]
	name = name[:min(len(name), 40)]
	spec := fmt.Sprintf(`{"queue": %q, "columns": [{"name": "Payload", "type": "text"}]}`, name)
	check(t, Install(ctx, options, spec))
	queue, err := Open(ctx, options, name)
	check(t, err)
	t.Cleanup(func() { queue.Close() })
	return queue
}

func claimForLife(t *testing.T, queue *Queue, count int) *Batch {
	t.Helper()
	items := make([]NewItem, count)
	for i := range items {
		items[i].Columns = Columns{"Payload": "some text"}
	}
	_, err := queue.Enqueue(ctx, items...)
	check(t, err)
	batch, err := queue.Claim(ctx, count, 0)
	check(t, err)
	if batch.Len() != count {
		t.Fatalf("there are %d items of %d", batch.Len(), count)
	}
	return batch
}

func isClosed(err error) bool {
	return errors.Is(err, StatusClosed)
}

func TestAClosedHandleReportsThatItIsClosed(t *testing.T) {
	queue := openForLife(t)
	batch := claimForLife(t, queue, 1)
	item := batch.Item(0)
	payload := item.Value("Payload")
	renewal, err := queue.StartRenewal(batch)
	check(t, err)
	for range 2 {
		check(t, renewal.Close())
		check(t, queue.Close())
		check(t, batch.Close())
	}
	for name, call := range map[string]func() error{
		"Claim":        func() error { _, err := queue.Claim(ctx, 1, 0); return err },
		"Enqueue":      func() error { _, err := queue.Enqueue(ctx, NewItem{}); return err },
		"Settle":       func() error { _, err := queue.Settle(ctx, item.Complete()); return err },
		"RecordStep":   func() error { _, err := item.RecordStep(ctx, "x"); return err },
		"Find":         func() error { _, err := queue.Find(ctx, "", "", 1); return err },
		"Ask":          func() error { _, err := queue.Ask(ctx, "trend", nil); return err },
		"Stats":        func() error { _, err := queue.Stats(ctx); return err },
		"Interrupt":    queue.Interrupt,
		"Resume":       queue.Resume,
		"Shutdown":     func() error { return queue.Shutdown(ctx) },
		"Share":        func() error { _, err := queue.Share(); return err },
		"StartRenewal": func() error { _, err := queue.StartRenewal(batch); return err },
		"Release":      func() error { _, err := renewal.Release(item.Key); return err },
		"Value":        func() error { return item.Value("Payload").Err() },
		"JSON":         func() error { _, err := item.JSON(); return err },
	} {
		if err := call(); !isClosed(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	// The values that were read stay.
	if item.Key == "" || item.Attempt != 1 || item.String() != item.Key || payload.String() != "some text" {
		t.Error(item, payload)
	}
	if len(renewal.LostKeys()) != 0 || item.Lost() || queue.WorkerName() == "" {
		t.Error("something is left")
	}
}

func TestAClosedQueueLeavesItsBatchesAndWhatIsShared(t *testing.T) {
	queue := openForLife(t)
	shared, err := queue.Share()
	check(t, err)
	batch := claimForLife(t, queue, 1)
	check(t, queue.Close())
	if text, err := batch.Item(0).Value("Payload").Text(); err != nil || text != "some text" {
		t.Fatal(text, err)
	}
	outcomes, err := shared.Settle(ctx, batch.Item(0).Complete())
	check(t, err)
	if outcomes.Status() != StatusOK {
		t.Fatal(outcomes)
	}
	check(t, shared.Shutdown(ctx))
	check(t, shared.Shutdown(ctx))
	if _, err = shared.Claim(ctx, 1, 0); !isClosed(err) {
		t.Fatal(err)
	}
	check(t, shared.Close())
}

func TestClosingEndsAClaimThatWaits(t *testing.T) {
	queue := openForLife(t)
	ended := make(chan error, 1)
	go func() {
		batch, err := queue.Claim(ctx, 1, time.Hour)
		if err == nil && batch.Status() != StatusInterrupted {
			err = batch.Status()
		}
		ended <- err
	}()
	time.Sleep(100 * time.Millisecond)
	check(t, queue.Close())
	select {
	case err := <-ended:
		// Whether the claim had begun makes the difference.
		if err != nil && !isClosed(err) {
			t.Fatal(err)
		}
	case <-time.After(10 * time.Minute):
		t.Fatal("it waits on")
	}
}

// collected runs the collector until the handles are known no more.
func collected(t *testing.T, gone func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Minute); !gone(); {
		runtime.GC()
		time.Sleep(time.Millisecond)
		if time.Now().After(end) {
			t.Fatal("it was never freed")
		}
	}
}

func TestAProgramThatForgetsToCloseLosesNoHandle(t *testing.T) {
	queue := openForLife(t)
	key, own, claims, batch, renewal := forget(t, queue)
	collected(t, func() bool {
		_, failure := renewal.Release(key)
		return own.LeaseMs() == 0 && claims.LeaseMs() == 0 && batch.JSON(0) == nil &&
			failure != nil && Status(failure.Status) == StatusInvalidHandle
	})
	if _, err := queue.Stats(ctx); err != nil {
		t.Fatal(err)
	}
}

//go:noinline
func forget(t *testing.T, queue *Queue) (string, capi.Queue, capi.Queue, capi.Batch, capi.Renewal) {
	shared, err := queue.Share()
	check(t, err)
	batch := claimForLife(t, shared, 2)
	renewal, err := shared.StartRenewal(batch)
	check(t, err)
	if batch.lent.handle.JSON(0) == nil || shared.handle.LeaseMs() == 0 {
		t.Fatal("the handles are not what they are taken for")
	}
	return batch.Item(0).Key, shared.handle, shared.claims, batch.lent.handle, renewal.handle
}

func TestCollectionsDoNotDisturbWorkInHand(t *testing.T) {
	queue := openForLife(t)
	done := make(chan struct{})
	var collector sync.WaitGroup
	collector.Add(1)
	go func() {
		defer collector.Done()
		for {
			select {
			case <-done:
				return
			default:
				runtime.GC()
			}
		}
	}()
	defer collector.Wait()
	defer close(done)
	for range 20 {
		// The batch, which nothing else holds, must outlive the reading of its items.
		batch := claimForLife(t, queue, 50)
		items := make([]*Item, batch.Len())
		for i := range items {
			items[i] = batch.Item(i)
		}
		for _, item := range items {
			if text, err := item.Value("Payload").Text(); err != nil || text != "some text" {
				t.Fatal(text, err)
			}
			outcomes, err := queue.Settle(ctx, item.Complete())
			check(t, err)
			if outcomes.Status() != StatusOK {
				t.Fatal(outcomes)
			}
		}
	}
}

func TestReadingWhileAnotherGoroutineCloses(t *testing.T) {
	queue := openForLife(t)
	for range 50 {
		batch := claimForLife(t, queue, 1)
		renewal, err := queue.StartRenewal(batch)
		check(t, err)
		var begun, readers sync.WaitGroup
		begun.Add(3)
		readers.Add(3)
		for range 3 {
			go func() {
				defer readers.Done()
				begun.Done()
				for {
					text, err := batch.Item(0).Value("Payload").Text()
					if isClosed(err) {
						return
					}
					if text != "some text" || err != nil {
						t.Error(text, err)
						return
					}
					batch.Item(0).Lost()
					batch.Columns()
				}
			}()
		}
		begun.Wait()
		check(t, renewal.Close())
		check(t, batch.Close())
		readers.Wait()
	}
}
