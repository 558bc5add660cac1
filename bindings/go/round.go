package readpast

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"
	"unicode/utf8"
)

const (
	// tryPause is between two tries of the same call. The library has tried for a while before it gave up.
	tryPause = time.Second
	// longestError is what an error column gets at most, in bytes; stacks can be long.
	longestError = 16 * 1024
	// shortError is what any error column takes, where a longer text may be what was refused.
	shortError = 100
)

// workOn handles the items of a batch, settles them, and gives the next batch, if there is one.
func (r *run) workOn(batch *Batch) (*Batch, error) {
	defer batch.Close()
	settlements, err := r.handleAll(batch)
	if err != nil {
		return nil, err
	}
	if r.stopping.Err() != nil {
		// Nothing more is to be claimed. This has been done by another goroutine, or is just about to be.
		_ = r.queue.Interrupt()
	}
	next, err := r.settle(settlements, r.batchSize())
	if !isOfOneItem(err) {
		return next, err
	}
	for _, settlement := range settlements {
		if err := r.settleAlone(settlement); err != nil {
			return nil, err
		}
	}
	return noItems(), nil
}

// noItems is a batch of none.
func noItems() *Batch {
	return &Batch{status: StatusEmpty, lent: &lent{}}
}

// settle settles items and claims up to limit others; none if it is 0.
func (r *run) settle(settlements []Settlement, limit int) (*Batch, error) {
	next := noItems()
	round := Round{Settlements: settlements}
	begun := time.Now()
	err := r.try("settling", func(call Operation) (err error) {
		if limit == 0 {
			round.Outcomes, err = call.Settle(context.Background(), settlements...)
			return err
		}
		round.Outcomes, next, err = call.SettleAndClaim(context.Background(), limit, settlements...)
		return err
	})
	if err != nil {
		return nil, err
	}
	round.Took, round.Claimed = time.Since(begun), next.Len()
	for i, outcome := range round.Outcomes {
		if outcome.Answer != StatusOK {
			r.logUnsettled(&settlements[i], outcome)
		}
	}
	if r.Settled != nil {
		r.Settled(round)
	}
	return next, nil
}

// settleAlone settles one item so that what is wrong with it does not hold up the others: without what the database or the
// library refuses, which its error then says. What is done stays done.
func (r *run) settleAlone(given Settlement) error {
	_, err := r.settle([]Settlement{given}, 0)
	if !isOfOneItem(err) {
		return err
	}
	told := "what the handler gave was refused: " + err.Error()
	if given.Error != nil {
		told = *given.Error + "; " + told
	}
	r.logRefused(&given, err)
	bare := Settlement{Key: given.Key, Token: given.Token, Attempt: given.Attempt, Action: given.Action}
	_, err = r.settle([]Settlement{bare.WithError(sendable(told, shortError))}, 0)
	return err
}

// isOfOneItem tells whether what one handler gave may be the reason: out of range, or more than a column takes.
func isOfOneItem(err error) bool {
	return errors.Is(err, StatusInvalidArgument) || errors.Is(err, StatusInvalidItem) || errors.Is(err, StatusDatabase)
}

// handleAll says how to settle each item, while their leases are renewed.
func (r *run) handleAll(batch *Batch) ([]Settlement, error) {
	renewal, err := r.queue.StartRenewal(batch)
	if err != nil {
		return nil, err
	}
	defer renewal.Close()
	watch := watchLeases(renewal, r.queue.Lease())
	defer watch.end()
	if r.Claimed != nil {
		r.Claimed(batch)
	}
	settlements := make([]Settlement, batch.Len())
	for i := range settlements {
		item := batch.Item(i)
		if r.stopping.Err() != nil || item.Lost() {
			// Of what was lost before it was begun, the refusal is all there is to report.
			settlements[i] = item.Release()
			continue
		}
		ctx, done := watch.begin(r.given, item.Key)
		settlements[i] = r.handle(ctx, item)
		done()
	}
	return settlements, nil
}

// handle calls the handler for one item.
func (r *run) handle(ctx context.Context, item *Item) (settlement Settlement) {
	isMistake, hasReturned := false, false
	defer func() {
		if reason := recover(); reason != nil {
			settlement = item.Retry(sendable(fmt.Sprintf("panic: %v\n\n%s", reason, debug.Stack()), longestError))
		} else if !hasReturned {
			return // by runtime.Goexit
		}
		r.logHandled(&settlement, isMistake)
	}()
	settlement, err := r.Handler(ctx, item)
	hasReturned = true
	if err == nil && settlement.Action == 0 && settlement.Key == "" {
		settlement = item.Complete()
	}
	if isMistake = err == nil && settlement.Key != item.Key; isMistake {
		what := "the handler of item " + item.Key + " settled item " + settlement.Key + "; it may only settle its own"
		return item.Fail(sendable(what, longestError))
	}
	if err == nil {
		err = fits(&settlement)
	}
	if err != nil {
		return item.Retry(sendable(err.Error(), longestError))
	}
	return settlement
}

// fits tells what would fail the settling of the whole batch, and is the mistake of the handler of one item.
func fits(settlement *Settlement) error {
	for _, text := range []*string{settlement.Step, settlement.Response, settlement.Error, &settlement.Due} {
		if text != nil && (strings.IndexByte(*text, 0) >= 0 || !utf8.ValidString(*text)) {
			return fmt.Errorf("the handler's settlement holds a text that is not UTF-8, or holds a NUL: %q", *text)
		}
	}
	return nil
}

// sendable is text as any column takes it, of so many bytes at most.
func sendable(text string, longest int) string {
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
	if len(text) > longest {
		text = strings.ToValidUTF8(text[:longest], "")
	}
	return text
}

// try makes a call until it succeeds, under the same identity once its outcome is unknown. It gives up on what no other
// try mends, and soon when the worker is to end: leases run out then, and others take over.
func (r *run) try(doing string, call func(Operation) error) error {
	operation := ""
	var end time.Time
	for {
		err := call(r.queue.Operation(operation))
		if err == nil {
			return nil
		}
		unknown, sensible := again(err)
		if unknown != "" {
			operation = unknown
		}
		if r.stopping.Err() != nil && end.IsZero() {
			end = time.Now().Add(r.queue.Lease())
		}
		if !sensible || !end.IsZero() && (operation == "" || time.Now().After(end)) {
			return err
		}
		r.logTrouble(doing, err)
		r.pause(operation != "")
	}
}

// pause waits a little. The end of the worker cuts it short, unless something is left to be learnt.
func (r *run) pause(whole bool) {
	timer := time.NewTimer(tryPause)
	defer timer.Stop()
	if whole {
		<-timer.C
		return
	}
	select {
	case <-timer.C:
	case <-r.stopping.Done():
	}
}
