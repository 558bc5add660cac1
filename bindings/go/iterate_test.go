//go:build go1.23

package readpast_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	readpast "github.com/readpast/readpast/bindings/go"
)

func TestABatchCanBeLoopedOver(t *testing.T) {
	batch := claimed(t, open(t), "a", "b", "c")
	var payloads []string
	for i, item := range batch.All() {
		equal(t, item, batch.Item(i))
		if payloads = append(payloads, item.Value("Payload").String()); i == 1 {
			break
		}
	}
	equalAll(t, payloads, "a", "b")
}

func TestClaimsGoOnUntilNothingComes(t *testing.T) {
	queue := open(t)
	enqueue(t, queue, "a", "b", "c")
	var batches []*readpast.Batch
	for batch, err := range queue.Claims(ctx, 2, 0) {
		check(t, err)
		for _, item := range batch.All() {
			must(queue.Settle(ctx, item.Complete()))(t)
		}
		batches = append(batches, batch)
	}
	equal(t, len(batches), 2)
	equal(t, stats(t, queue).Completed, 3)
	for _, batch := range batches {
		if err := batch.Item(0).Value("Payload").Err(); !errors.Is(err, readpast.StatusClosed) {
			t.Error("the loop has left a batch open")
		}
	}
}

func TestClaimsEndWithTheLoop(t *testing.T) {
	queue := open(t)
	enqueue(t, queue, "a", "b")
	var left *readpast.Batch
	for batch, err := range queue.Claims(ctx, 1, 0) {
		check(t, err)
		left = batch
		break
	}
	equal(t, stats(t, queue).Processing, 1)
	if err := left.Item(0).Value("Payload").Err(); !errors.Is(err, readpast.StatusClosed) {
		t.Error("the loop has left a batch open")
	}

	ending, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	for batch, err := range queue.Claims(ending, 1, long) {
		check(t, err)
		equal(t, batch.Len(), 1)
	}
	var errs []error
	for _, err := range queue.Claims(ctx, 0, 0) {
		errs = append(errs, err)
	}
	equal(t, len(errs), 1)
	equal(t, errors.Is(errs[0], readpast.StatusInvalidArgument), true)
}

func TestAllItemsAreFoundPageByPage(t *testing.T) {
	queue := open(t)
	enqueue(t, queue, slices.Repeat([]string{"x"}, readpast.MostItems)...)
	enqueue(t, queue, slices.Repeat([]string{"y"}, 500)...)
	var keys []string
	for item, err := range queue.FindAll(ctx, `{"status": ["Pending"]}`) {
		check(t, err)
		wanted := "x"
		if len(keys) >= readpast.MostItems {
			wanted = "y"
		}
		equal(t, item.Value("Payload").String(), wanted)
		keys = append(keys, item.Key)
	}
	equal(t, len(slices.Compact(keys)), 1500)
	seen := 0
	for range queue.FindAll(ctx, "") {
		if seen++; seen == 3 {
			break
		}
	}
	equal(t, seen, 3)
	for item, err := range queue.FindAll(ctx, "{") {
		equal(t, item, nil)
		equal(t, errors.Is(err, readpast.StatusInvalidArgument), true)
	}
}
