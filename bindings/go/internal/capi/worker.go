package capi

// #include "worker.h"
import "C"

// Worker is a readpast_worker.
type Worker uint64

// StartWorker is readpast_worker_start; so many events are kept until they are read.
func (q Queue) StartWorker(untilEmpty bool, events int32) (Worker, *Failure) {
	result := C.worker_start(C.uint64_t(q), C.bool(untilEmpty), C.int32_t(events))
	return Worker(result.made), failed(result)
}

// Take is readpast_worker_take.
func (w Worker) Take(maxItems int32, waitMs int64) (Claimed, *Failure) {
	return claimed(C.worker_take(C.uint64_t(w), C.int32_t(maxItems), C.int64_t(waitMs)))
}

// Begin is readpast_worker_begin: whether the item begins.
func (w Worker) Begin(key string, attempt int32) (bool, *Failure) {
	var texts Texts
	place := texts.Add("the key", key)
	if failure := texts.failure(); failure != nil {
		return false, failure
	}
	result := C.worker_begin(C.uint64_t(w), texts.pointer(place), C.int32_t(attempt))
	return result.status == C.READPAST_OK, failed(result)
}

// GiveBack is readpast_worker_give_back.
func (w Worker) GiveBack(batch Batch) *Failure {
	return failed(C.worker_give_back(C.uint64_t(w), C.uint64_t(batch)))
}

// End is readpast_worker_end of one item.
func (w Worker) End(settlement *Settlement) *Failure {
	packed := MakeSettlements(1)
	packed.Add(settlement)
	if failure := packed.texts.failure(); failure != nil {
		return failure
	}
	return failed(C.worker_end(C.uint64_t(w), start(&packed.texts), &packed.packed[0]))
}

// Step is readpast_worker_step; by the status the item is still the worker's or not.
func (w Worker) Step(key string, attempt int32, step string) (int32, *Failure) {
	var texts Texts
	keyAt, stepAt := texts.Add("the key", key), texts.Add("the step", step)
	if failure := texts.failure(); failure != nil {
		return failure.Status, failure
	}
	result := C.worker_step(C.uint64_t(w), texts.pointer(keyAt), C.int32_t(attempt), texts.pointer(stepAt))
	return int32(result.status), failed(result)
}

// Progress is readpast_worker_progress; an empty text is none.
func (w Worker) Progress(key string, attempt, percent int32, text string) *Failure {
	var texts Texts
	keyAt, textAt := texts.Add("the key", key), texts.Add("the text", text)
	if failure := texts.failure(); failure != nil {
		return failure
	}
	return failed(C.worker_progress(C.uint64_t(w), texts.pointer(keyAt), C.int32_t(attempt), C.int32_t(percent), texts.pointer(textAt)))
}

// IsLost is readpast_worker_is_lost.
func (w Worker) IsLost(key string, attempt int32) bool {
	var texts Texts
	place := texts.Add("the key", key)
	return C.readpast_worker_is_lost(w.native(), texts.pointer(place), C.int32_t(attempt)) != 0
}

// Changes is readpast_worker_changes: how many there are, seen itself if there were no more in time, and -1 if there will be none.
func (w Worker) Changes(seen, waitMs int64) (int64, *Failure) {
	changes := C.int64_t(seen)
	result := C.worker_changes(C.uint64_t(w), C.int64_t(seen), C.int64_t(waitMs), &changes)
	if result.status == C.READPAST_INTERRUPTED {
		return -1, nil
	}
	return int64(changes), failed(result)
}

// Stop is readpast_worker_stop.
func (w Worker) Stop() *Failure {
	return failed(C.worker_stop(C.uint64_t(w)))
}

// Abandon is readpast_worker_abandon.
func (w Worker) Abandon() *Failure {
	return failed(C.worker_abandon(C.uint64_t(w)))
}

// IsStopping is readpast_worker_is_stopping.
func (w Worker) IsStopping() bool {
	return C.readpast_worker_is_stopping(w.native()) != 0
}

// Close is readpast_worker_close.
func (w Worker) Close(waitMs int64) *Failure {
	return failed(C.worker_close(C.uint64_t(w), C.int64_t(waitMs)))
}

// Figures are what a worker has done, as far as it is of interest when it is over.
type Figures struct {
	Claimed, Settled, Released, Lost, Refused, Calls int64
}

// Figures is readpast_worker_get_figures.
func (w Worker) Figures() (Figures, *Failure) {
	var told C.readpast_worker_figures
	failure := failed(C.worker_figures(C.uint64_t(w), &told))
	return Figures{
		Claimed:  int64(told.claimed),
		Settled:  int64(told.settled),
		Released: int64(told.released),
		Lost:     int64(told.lost),
		Refused:  int64(told.refused),
		Calls:    int64(told.calls),
	}, failure
}

// Event is a copy of a readpast_event.
type Event struct {
	Kind, Answer int32
	Key          string
	Attempt      int
	State        int32
	Action       int32
	Message      string
	LeftOut      string
	Line         string
}

// Events is readpast_worker_events, copied; nil if there will be no more, and none if there was none in time.
func (w Worker) Events(maxEvents int32, waitMs int64) ([]Event, *Failure) {
	result := C.worker_events(C.uint64_t(w), C.int32_t(maxEvents), C.int64_t(waitMs))
	defer C.readpast_events_free(C.readpast_events{id: result.made})
	lent := make([]C.readpast_event, result.count)
	if result.status == C.READPAST_INTERRUPTED || result.status < 0 {
		return nil, failed(result)
	}
	events := make([]Event, len(lent))
	if len(lent) > 0 {
		C.events_all(result.made, result.count, &lent[0])
	}
	for i := range lent {
		events[i] = Event{
			Kind:    int32(lent[i].kind),
			Answer:  int32(lent[i].answer),
			Key:     C.GoString(lent[i].key),
			Attempt: int(lent[i].attempt),
			State:   int32(lent[i].state),
			Action:  int32(lent[i].action),
			Message: C.GoString(lent[i].message),
			LeftOut: C.GoString(lent[i].left_out),
			Line:    C.GoString(lent[i].line),
		}
	}
	return events, nil
}

// Free is readpast_worker_free.
func (w Worker) Free() {
	C.readpast_worker_free(w.native())
}

func (w Worker) native() C.readpast_worker {
	return C.readpast_worker{id: C.uint64_t(w)}
}
