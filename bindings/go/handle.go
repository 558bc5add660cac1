package readpast

import (
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
)

const (
	// longestError is what an error column gets at most of what the worker itself says, in bytes; stacks can be long.
	longestError = 16 * 1024
	// goexit is what becomes of a goroutine that its handler ends.
	goexit = "the handler ended its goroutine by runtime.Goexit"
)

// handleAll handles the items of a batch, one after the other, and gives back what it does not come to: because the
// worker is to stop, or because a handler ended the goroutine.
func (r *run) handleAll(batch *Batch) {
	defer batch.Close()
	next := 0
	defer func() {
		for ; next < batch.Len(); next++ {
			r.end(batch.Item(next).Release())
		}
	}()
	if r.Claimed != nil {
		r.Claimed(batch)
	}
	for next < batch.Len() && !r.isStopping() {
		item := batch.Item(next)
		next++
		r.handle(item)
	}
}

// handle calls the handler for an item, and ends it as that says.
func (r *run) handle(item *Item) {
	ctx, done := r.watch.begin(r.given, item)
	if item.Lost() {
		done()
		r.end(item.Release()) // the engine forgets it, and sends nothing
		return
	}
	settlement, isMistake := item.Retry(goexit), false
	defer func() {
		if reason := recover(); reason != nil {
			settlement = item.Retry(shortened(fmt.Sprintf("panic: %v\n\n%s", reason, debug.Stack())))
		}
		done()
		settlement = sendable(settlement)
		r.logHandled(&settlement, isMistake)
		r.end(settlement)
	}()
	given, err := r.Handler(ctx, item)
	settlement, isMistake = judge(item, given, err)
}

// judge says how to end an item whose handler has returned.
func judge(item *Item, given Settlement, err error) (settlement Settlement, isMistake bool) {
	switch {
	case err != nil:
		return item.Retry(shortened(err.Error())), false
	case given.Action == 0 && given.Key == "":
		return item.Complete(), false
	case given.Key != item.Key:
		return item.Fail(shortened("the handler of item " + item.Key + " settled item " + given.Key +
			"; it may only settle its own")), true
	case !given.Action.ends():
		return item.Fail("the handler of item " + item.Key + " gave the action " + given.Action.String() +
			", which does not end it; a step is recorded with Item.RecordStep"), true
	}
	// Whatever else it says of the claim, it is this one.
	given.Token, given.Attempt = item.Token, item.Attempt
	return given, false
}

// end ends an item. A delay that cannot be is left out, as the library leaves out what cannot be sent.
func (r *run) end(settlement Settlement) {
	err := r.tryToEnd(&settlement)
	if errors.Is(err, StatusInvalidArgument) && settlement.Delay != nil {
		r.logRefused(settlement.Key, settlement.Attempt, err)
		told := "what the handler gave was refused: " + err.Error()
		if settlement.Error != nil {
			told = *settlement.Error + "; " + told
		}
		settlement.Delay = nil
		settlement.Error = &told
		err = r.tryToEnd(&settlement)
	}
	if err != nil {
		r.fail(err)
	}
}

func (r *run) tryToEnd(settlement *Settlement) error {
	if delay := settlement.Delay; delay != nil && *delay < 0 {
		return negativeDelay(*delay)
	}
	return failed(r.engine.End(settlement.native()))
}

// sendable is the settlement with texts as C takes them.
func sendable(settlement Settlement) Settlement {
	for _, text := range []**string{&settlement.Step, &settlement.Response, &settlement.Error} {
		if *text != nil {
			clean := cleaned(**text)
			*text = &clean
		}
	}
	settlement.Due = cleaned(settlement.Due)
	return settlement
}

// cleaned is text with U+FFFD for what is not UTF-8, and for NUL.
func cleaned(text string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(text, "\uFFFD"), "\x00", "\uFFFD")
}

// shortened is cleaned, of longestError bytes at most.
func shortened(text string) string {
	text = cleaned(text)
	if len(text) > longestError {
		text = strings.ToValidUTF8(text[:longestError], "")
	}
	return text
}
