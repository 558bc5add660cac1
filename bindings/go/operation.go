package readpast

import (
	"context"
	"runtime"

	"github.com/readpast/readpast/bindings/go/internal/capi"
)

// Operation makes calls under an identity, a GUID: made again with the same identity and the same items, a call changes
// nothing more and answers the same. So a call that came to StatusOutcomeUnknown is repeated, with the identity that
// its error gives; a caller that gives one of its own keeps it until a call with it succeeds.
type Operation struct {
	queue    *Queue
	identity string
}

// Operation is for calls under an identity. If it is empty, the library chooses one for its own retries.
func (q *Queue) Operation(identity string) Operation {
	return Operation{q, identity}
}

// Enqueue enqueues items, 1000 in a commit: up to so many go in all or none. When a call of more fails, the thousands
// before are in, and the same call with the operation of the error goes on; all items are checked before the first is
// sent. A call without items sends nothing. A queue whose description defines duplicates leaves only them out.
func (q *Queue) Enqueue(ctx context.Context, items ...NewItem) (Receipts, error) {
	return q.Operation("").Enqueue(ctx, items...)
}

// Settle ends the claims of items, or records progress, 1000 in a commit. Each item is judged by itself: one
// that was lost does not keep the others.
func (q *Queue) Settle(ctx context.Context, settlements ...Settlement) (Outcomes, error) {
	return q.Operation("").Settle(ctx, settlements...)
}

// SettleAndClaim settles and, in the same round trip and commit, claims up to limit items (1 to 1000), without waiting.
// The batch is empty when nothing was due; it is to be closed.
func (q *Queue) SettleAndClaim(ctx context.Context, limit int, settlements ...Settlement) (Outcomes, *Batch, error) {
	return q.Operation("").SettleAndClaim(ctx, limit, settlements...)
}

// Enqueue is Queue.Enqueue under the identity.
func (o Operation) Enqueue(ctx context.Context, items ...NewItem) (Receipts, error) {
	var packed capi.NewItems
	for i := range items {
		columns, err := columnsJSON(items[i].Columns)
		if err != nil {
			return nil, err
		}
		item := &items[i]
		if item.Delay < 0 {
			return nil, negativeDelay(item.Delay)
		}
		after, err := item.afterJSON()
		if err != nil {
			return nil, err
		}
		packed.Add(capi.NewItem{
			Type: item.Type, Step: item.Step, DelayMs: item.delayMs(), Due: item.Due, Columns: columns,
			Traceparent: item.Traceparent, Tracestate: item.Tracestate, After: after, OnFailed: string(item.OnFailed),
		})
	}
	if err := o.queue.ready(ctx); err != nil {
		return nil, err
	}
	defer runtime.KeepAlive(o.queue)
	told, failure := o.queue.handle.Enqueue(&packed, o.identity)
	if failure != nil {
		return nil, o.queue.failed(failure)
	}
	receipts := make(Receipts, len(told))
	for i := range told {
		receipts[i] = Receipt{Key: told[i].Key, Token: told[i].Token, Answer: Status(told[i].Answer)}
	}
	return receipts, nil
}

// Settle is Queue.Settle under the identity.
func (o Operation) Settle(ctx context.Context, settlements ...Settlement) (Outcomes, error) {
	outcomes, _, err := o.settle(ctx, false, 0, settlements)
	return outcomes, err
}

// SettleAndClaim is Queue.SettleAndClaim under the identity.
func (o Operation) SettleAndClaim(
	ctx context.Context, limit int, settlements ...Settlement,
) (Outcomes, *Batch, error) {
	outcomes, claimed, err := o.settle(ctx, true, limit, settlements)
	if err != nil {
		return nil, nil, err
	}
	status := StatusEmpty
	if claimed.Count > 0 {
		status = StatusOK
	}
	return outcomes, newBatch(o.queue, status, claimed), nil
}

func (o Operation) settle(
	ctx context.Context, claims bool, limit int, settlements []Settlement,
) (Outcomes, capi.Claimed, error) {
	if err := o.queue.ready(ctx); err != nil {
		return nil, capi.Claimed{}, err
	}
	packed := capi.MakeSettlements(len(settlements))
	for i := range settlements {
		native, err := settlements[i].native()
		if err != nil {
			return nil, capi.Claimed{}, err
		}
		packed.Add(native)
	}
	defer runtime.KeepAlive(o.queue)
	told, claimed, failure := o.queue.handle.Settle(packed, o.identity, claims, count(limit))
	if failure != nil {
		return nil, capi.Claimed{}, o.queue.failed(failure)
	}
	return outcomesOf(told), claimed, nil
}
