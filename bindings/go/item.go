package readpast

import (
	"context"
	"encoding/json"
	"time"
)

// Item is a claimed item. Any number of goroutines may read it, but not while one records a step. Its columns are read
// from the batch, until that is closed.
type Item struct {
	// Key is the primary key, as text.
	Key string
	// Token is what the claim, or the newest step, left on the item. A settle must carry it.
	Token string
	// Attempt is which one this is, counted from 1. A settle must carry it.
	Attempt int

	batch *Batch
	index int
}

// Value is what is in a column, whose name may be in any case. A column of the life cycle has its name on the other server and in
// other tables too: ScheduledFor, scheduled_for and ItemDueAt are one. If there is no such column, or the batch was closed,
// each method of the value reports that.
func (i *Item) Value(column string) Value {
	return i.batch.lent.value(i.index, column)
}

// Type is its type. It is empty where a described table has none and, like all of the life cycle, when the batch was closed.
func (i *Item) Type() string {
	return i.batch.lent.life(i.index).Type
}

// Step is the one that was recorded last, when the item was read; empty where none was.
func (i *Item) Step() string {
	return i.batch.lent.life(i.index).Step
}

// State is the one it was in when it was read.
func (i *Item) State() State {
	return State(i.batch.lent.life(i.index).State)
}

// Due is the time, in UTC, before which it is not claimed. The zero time is none, or one of PostgreSQL's that Time has no place
// for: Value has its text.
func (i *Item) Due() time.Time {
	return moment(i.batch.lent.life(i.index).Due)
}

// Enqueued is the time, in UTC, at which it was enqueued; the zero time where a described table has no such column.
func (i *Item) Enqueued() time.Time {
	return moment(i.batch.lent.life(i.index).Enqueued)
}

// LeaseUntil is the end, in UTC, that its lease had when it was read, which renewals move on; the zero time where nobody
// held it.
func (i *Item) LeaseUntil() time.Time {
	return moment(i.batch.lent.life(i.index).LeaseUntil)
}

func moment(text string) time.Time {
	read, _ := time.Parse(timestamp, text)
	return read
}

// Traceparent is the W3C header in which the item was enqueued: what the span around its handler has as its parent. Empty where
// the queue's description has no trace, where the item has none, and when the batch was closed.
func (i *Item) Traceparent() string {
	return i.batch.lent.trace(i.index).Parent
}

// Tracestate is the header that belongs to it.
func (i *Item) Tracestate() string {
	return i.batch.lent.trace(i.index).State
}

// JSON is the whole item as one object, a member per column. JSON in a column stands there as it is stored; times are
// text in UTC, decimals text with all their digits, bytes base64.
func (i *Item) JSON() (json.RawMessage, error) {
	if text := i.batch.lent.json(i.index); text != nil {
		return text, nil
	}
	return nil, closed("batch")
}

// MarshalJSON is JSON, for encoding/json.
func (i *Item) MarshalJSON() ([]byte, error) {
	return i.JSON()
}

// Decode is json.Unmarshal of JSON: into a struct whose fields are named like the columns, for example.
func (i *Item) Decode(into any) error {
	text, err := i.JSON()
	if err != nil {
		return err
	}
	return json.Unmarshal(text, into)
}

// String is JSON, or the key alone when the batch was closed.
func (i *Item) String() string {
	text, err := i.JSON()
	if err != nil {
		return i.Key
	}
	return string(text)
}

// Lost reports whether the item was found lost while a Worker, or a Renewal of the batch, renewed its lease: work on it
// is in vain. Always false without a renewal. An item that a Worker has handled is lost to its handler.
func (i *Item) Lost() bool {
	if i.batch.engine != 0 {
		return i.batch.engine.IsLost(i.Key, count(i.Attempt))
	}
	renewal := i.batch.renewal.Load()
	return renewal != nil && renewal.lost(i.Key)
}

// Lease is that of the claim, for Queue.Renew.
func (i *Item) Lease() Lease {
	return Lease{i.Key, i.Attempt}
}

// Complete ends the claim: done.
func (i *Item) Complete() Settlement {
	return i.Settle(ActionComplete)
}

// CompletePartially ends the claim: done as far as it could be.
func (i *Item) CompletePartially() Settlement {
	return i.Settle(ActionCompletePartially)
}

// Fail ends the claim: given up for good, and why.
func (i *Item) Fail(reason string) Settlement {
	return i.Settle(ActionFail).WithError(reason)
}

// Retry ends the claim: this attempt failed, and why; try again when due, which is as the queue's backoff says, or
// WithDelay. The item becomes Failed when its attempts are spent.
func (i *Item) Retry(reason string) Settlement {
	return i.Settle(ActionRetry).WithError(reason)
}

// Release gives the item back unworked: it is Pending again, and this attempt does not count.
func (i *Item) Release() Settlement {
	return i.Settle(ActionRelease)
}

// Settle ends the claim in any way there is.
func (i *Item) Settle(action Action) Settlement {
	return Settlement{Key: i.Key, Token: i.Token, Attempt: i.Attempt, Action: action}
}

// RecordStep records at once how far the work has come, and keeps the claim; the lease starts anew. A later attempt
// finds the step in the item's column. With StatusOK as the answer, the item has its new token. In a Worker, which keeps
// the tokens of its items, the outcome has no token, and a state only with StatusOK.
func (i *Item) RecordStep(ctx context.Context, step string) (Outcome, error) {
	if i.batch.queue == nil {
		// BatchFromJSON made it: there is no queue to ask.
		return Outcome{Answer: StatusOK, State: StateProcessing, Attempt: i.Attempt, Token: i.Token}, ctx.Err()
	}
	if i.batch.engine != 0 {
		return i.recordStepOfWorker(ctx, step)
	}
	outcomes, err := i.batch.queue.Settle(ctx, i.Settle(ActionStep).WithStep(step))
	if err != nil {
		return Outcome{}, err
	}
	if outcomes[0].Answer == StatusOK {
		i.Token = outcomes[0].Token
	}
	return outcomes[0], nil
}

// Progress reports how far the work is: a percentage from 0 to 100, a line of text, or both, each in place of the one before; one
// below 0 and an empty text are none. It is for the handlers of a Worker: operators see it while they run. It returns at once and is
// written a moment later, at most one in a second; a report may be lost. A percentage above 100 counts as 100, and a text is cut after
// 200 characters. The error has StatusUnsupported if the queue's description has no progress.
func (i *Item) Progress(percent int, text string) error {
	if i.batch.engine == 0 {
		if i.batch.queue == nil {
			// BatchFromJSON made it.
			return nil
		}
		return &Error{Status: StatusUnsupported, Message: "progress is reported by the handlers of a worker"}
	}
	if failure := i.batch.engine.Progress(i.Key, count(i.Attempt), int32(max(-1, min(percent, 100))), text); failure != nil {
		return failed(failure)
	}
	return nil
}

func (i *Item) recordStepOfWorker(ctx context.Context, step string) (Outcome, error) {
	if err := ctx.Err(); err != nil {
		return Outcome{}, err
	}
	answer, failure := i.batch.engine.Step(i.Key, count(i.Attempt), step)
	if failure != nil {
		return Outcome{}, failed(failure)
	}
	outcome := Outcome{Answer: Status(answer), Attempt: i.Attempt}
	if outcome.Answer == StatusOK {
		outcome.State = StateProcessing
	}
	return outcome, nil
}
