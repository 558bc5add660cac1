package readpast

import (
	"fmt"
	"log/slog"
	"runtime/debug"
)

// goexit is what becomes of a goroutine that its handler ends.
const goexit = "the handler ended its goroutine by runtime.Goexit"

// handleAll handles the items of a batch, one after the other. If the goroutine ends meanwhile, the rest is given back.
func (r *run) handleAll(batch *Batch) {
	defer batch.Close()
	isDone := false
	defer func() {
		if !isDone {
			r.stop() // first, so that others have the rest at once
			r.fail(failed(batch.lent.giveBack(r.engine)))
		}
	}()
	if r.Claimed != nil {
		r.Claimed(batch)
	}
	for i := range batch.Len() {
		if item := batch.Item(i); r.begin(item) {
			r.handle(item)
		}
	}
	isDone = true
}

// begin reports whether an item begins; one that does not is not the worker's any more.
func (r *run) begin(item *Item) bool {
	if r.ctx.Err() != nil {
		r.stop() // the engine does not know yet
	}
	begins, failure := r.engine.Begin(item.Key, count(item.Attempt))
	r.fail(failed(failure))
	return begins
}

// handle calls the handler for an item, and ends it as that says.
func (r *run) handle(item *Item) {
	ctx, done := r.watch.begin(r.given, item.Lease())
	settlement, isMistake := item.Retry(goexit), false
	defer func() {
		if reason := recover(); reason != nil {
			settlement = item.Retry(fmt.Sprintf("panic: %v\n\n%s", reason, debug.Stack()))
		}
		done()
		r.logHandled(&settlement, isMistake)
		r.end(settlement)
	}()
	given, err := r.Handler(ctx, item)
	if isStopped(ctx, err) {
		settlement = item.Release()
		r.log(slog.LevelWarn, "the handler was stopped; the item is given back", of(&settlement)...)
		return
	}
	settlement, isMistake = judge(item, given, err)
}

// judge says how to end an item whose handler has returned.
func judge(item *Item, given Settlement, err error) (settlement Settlement, isMistake bool) {
	switch {
	case err != nil:
		return item.Retry(err.Error()), false
	case given.Action == 0 && given.Key == "":
		return item.Complete(), false
	case given.Key != item.Key:
		return item.Fail("the handler of item " + item.Key + " settled item " + given.Key +
			"; it may only settle its own"), true
	}
	if _, err := columnsJSON(given.Set); err != nil {
		return item.Fail("the handler of item " + item.Key + " sets what cannot be set: " + err.Error()), true
	}
	// Whatever else it says of the claim, it is this one.
	given.Token, given.Attempt = item.Token, item.Attempt
	return given, false
}

// end ends an item. The library judges what its texts and times hold.
func (r *run) end(settlement Settlement) {
	native, err := settlement.native()
	if err != nil {
		r.fail(err)
		return
	}
	if failure := r.engine.End(native); failure != nil {
		r.fail(failed(failure))
	}
}
