package main

import (
	"context"
	"io"
	"runtime"
	"time"

	readpast "github.com/readpast/readpast/bindings/go"
)

// One function a verb: the arguments, the call, the answer.
var verbs map[string]func(context.Context, *request) (answer, error)

func init() {
	verbs = map[string]func(context.Context, *request) (answer, error){
		"hello":            hello,
		"describe":         describe,
		"install":          install,
		"open":             open,
		"share":            share,
		"enqueue":          enqueue,
		"claim":            claim,
		"settle":           settle,
		"settle_and_claim": settleAndClaim,
		"renew":            renew,
		"find":             find,
		"wait_for":         waitFor,
		"ask":              ask,
		"metrics":          metrics,
		"interrupt":        func(_ context.Context, r *request) (answer, error) { return ok(), r.queue().Interrupt() },
		"resume":           func(_ context.Context, r *request) (answer, error) { return ok(), r.queue().Resume() },
		"close":            closeQueue,
		"free":             free,
		"renewal_start":    startRenewal,
		"renewal_release":  releaseRenewal,
		"renewal_lost":     lostKeys,
		"value":            value,
		"claim_in_child":   claimInChild,
		"work":             work,
	}
}

func perform(asked *request) answer {
	verb, known := verbs[asked.Do]
	if !known {
		return answer{"status": "UNSUPPORTED"}
	}
	// As the calls of most programs are made: each can be called off.
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	told, err := verb(ctx, asked)
	if err != nil {
		return failed(err)
	}
	return told
}

func ok() answer {
	return of(readpast.StatusOK)
}

func metrics(context.Context, *request) (answer, error) {
	text, err := readpast.Metrics()
	return ok().with("text", text), err
}

func hello(context.Context, *request) (answer, error) {
	told := ok().with("language", "go")
	return told.with("version", readpast.LibraryVersion()).with("abi", readpast.LibraryABI()), nil
}

func describe(_ context.Context, r *request) (answer, error) {
	return ok().with("name", readpast.Status(r.Status).String()), nil
}

func install(ctx context.Context, r *request) (answer, error) {
	return ok(), readpast.Install(ctx, r.Settings, text(r.Spec))
}

func open(ctx context.Context, r *request) (answer, error) {
	queue, err := readpast.Open(ctx, r.Settings, r.Name)
	if err != nil {
		return nil, err
	}
	keep("queue", *r.Queue, queue)
	return ok().with("worker", queue.WorkerName()).with("lease_ms", queue.Lease().Milliseconds()), nil
}

func share(_ context.Context, r *request) (answer, error) {
	make := r.queue().Share
	if r.Place != "" {
		make = func() (*readpast.Queue, error) { return r.queue().At(r.Place) }
	}
	shared, err := make()
	if err != nil {
		return nil, err
	}
	keep("queue", r.As, shared)
	return ok(), nil
}

func enqueue(ctx context.Context, r *request) (answer, error) {
	items := make([]readpast.NewItem, len(r.Items))
	for i := range items {
		items[i] = r.Items[i].toNew()
	}
	receipts, err := r.queue().Operation(r.Operation).Enqueue(ctx, items...)
	if err != nil {
		return nil, err
	}
	told := []answer{}
	for _, receipt := range receipts {
		told = append(told, answer{"key": receipt.Key, "token": receipt.Token, "answer": receipt.Answer.String()})
	}
	return of(receipts.Status()).with("receipts", told), nil
}

func claim(ctx context.Context, r *request) (answer, error) {
	return claimed(r)(r.queue().Claim(ctx, r.max(1), r.wait()))
}

func waitFor(ctx context.Context, r *request) (answer, error) {
	return claimed(r)(r.queue().WaitFor(ctx, r.Key, r.wait()))
}

func find(ctx context.Context, r *request) (answer, error) {
	return claimed(r)(r.queue().Find(ctx, text(r.Filter), r.After, r.max(readpast.MostItems)))
}

// claimed answers with the items that a call claimed or found, and keeps the batch if the driver wants that.
func claimed(r *request) func(*readpast.Batch, error) (answer, error) {
	return func(batch *readpast.Batch, err error) (answer, error) {
		if err != nil {
			return nil, err
		}
		told := of(batch.Status())
		if batch.Status() == readpast.StatusOK {
			told["items"] = toJSON(itemsOf(batch))
		}
		keepBatch(r, batch)
		return told, nil
	}
}

func keepBatch(r *request, batch *readpast.Batch) {
	if r.As != "" && batch.Len() > 0 {
		keep("batch", r.As, batch)
	} else {
		_ = batch.Close()
	}
}

func settled(outcomes readpast.Outcomes, err error) (answer, error) {
	return of(outcomes.Status()).with("outcomes", outcomesOf(outcomes)), err
}

func settlements(r *request) []readpast.Settlement {
	made := make([]readpast.Settlement, len(r.Settlements))
	for i := range made {
		made[i] = r.Settlements[i].toSettlement()
	}
	return made
}

func settle(ctx context.Context, r *request) (answer, error) {
	return settled(r.queue().Operation(r.Operation).Settle(ctx, settlements(r)...))
}

func settleAndClaim(ctx context.Context, r *request) (answer, error) {
	outcomes, batch, err := r.queue().Operation(r.Operation).SettleAndClaim(ctx, r.max(1), settlements(r)...)
	if err != nil {
		return nil, err
	}
	told, _ := settled(outcomes, nil)
	told["items"] = toJSON(itemsOf(batch))
	keepBatch(r, batch)
	return told, nil
}

func renew(ctx context.Context, r *request) (answer, error) {
	return settled(r.queue().Renew(ctx, r.Leases...))
}

func ask(ctx context.Context, r *request) (answer, error) {
	told, err := r.queue().Ask(ctx, r.What, r.Arguments)
	return ok().with("answer", told), err
}

func closeQueue(_ context.Context, r *request) (answer, error) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Duration(r.TimeoutMs)*time.Millisecond)
	defer cancel()
	return ok(), r.queue().Shutdown(ctx)
}

func free(_ context.Context, r *request) (answer, error) {
	for kind, name := range map[string]*string{"queue": r.Queue, "batch": r.Batch, "renewal": r.Renewal} {
		if name == nil {
			continue
		}
		if object := get[io.Closer](kind, name); object != nil {
			if err := object.Close(); err != nil {
				return nil, err
			}
		}
	}
	return ok(), nil
}

func startRenewal(_ context.Context, r *request) (answer, error) {
	start := r.queue().StartRenewal
	if r.IntervalMs != nil {
		start = func(batch *readpast.Batch) (*readpast.Renewal, error) {
			return r.queue().StartRenewalEvery(batch, time.Duration(*r.IntervalMs)*time.Millisecond)
		}
	}
	renewal, err := start(r.batch())
	if err != nil {
		return nil, err
	}
	keep("renewal", r.As, renewal)
	return ok(), nil
}

func releaseRenewal(_ context.Context, r *request) (answer, error) {
	was, err := r.renewal().Release(r.Key)
	if !was {
		return of(readpast.StatusNotFound), err
	}
	return ok(), err
}

func lostKeys(_ context.Context, r *request) (answer, error) {
	return ok().with("keys", r.renewal().LostKeys()), nil
}

func value(_ context.Context, r *request) (told answer, err error) {
	defer func() {
		// Go panics with this at an index out of range.
		if _, is := recover().(runtime.Error); is {
			told = of(readpast.StatusNotFound)
		}
	}()
	found := r.batch().Item(r.Index).Value(r.Column)
	if found.Err() != nil {
		return nil, found.Err()
	}
	return valueOf(found).with("status", readpast.StatusOK.String()), nil
}
