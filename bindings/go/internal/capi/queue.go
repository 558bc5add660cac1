package capi

// #include "queue.h"
import "C"

// Queue is a readpast_queue.
type Queue uint64

// config is a readpast_config with settings; to be freed.
func config(settings [][2]string) (C.uint64_t, *Failure) {
	if failure := Check(); failure != nil {
		return 0, failure
	}
	made := C.uint64_t(C.readpast_config_new().id)
	for _, setting := range settings {
		var texts Texts
		key, value := texts.Add("the name of a setting", setting[0]), texts.Add("the setting "+setting[0], setting[1])
		failure := texts.failure()
		if failure == nil {
			failure = failed(C.config_set(made, texts.pointer(key), texts.pointer(value)))
		}
		if failure != nil {
			freeConfig(made)
			return 0, failure
		}
	}
	return made, nil
}

func freeConfig(config C.uint64_t) {
	C.readpast_config_free(C.readpast_config{id: config})
}

// Install is readpast_install, with settings; without a queue if spec is empty.
func Install(settings [][2]string, spec string) *Failure {
	with, failure := config(settings)
	if failure != nil {
		return failure
	}
	defer freeConfig(with)
	var texts Texts
	place := texts.Given("the description of the queue", spec)
	if failure := texts.failure(); failure != nil {
		return failure
	}
	return failed(C.install(with, texts.pointer(place)))
}

// Open is readpast_queue_open, with settings.
func Open(settings [][2]string, name string) (Queue, *Failure) {
	with, failure := config(settings)
	if failure != nil {
		return 0, failure
	}
	defer freeConfig(with)
	var texts Texts
	place := texts.Add("the name of the queue", name)
	if failure := texts.failure(); failure != nil {
		return 0, failure
	}
	result := C.queue_open(with, texts.pointer(place))
	return Queue(result.made), failed(result)
}

// Share is readpast_queue_share.
func (q Queue) Share() (Queue, *Failure) {
	result := C.queue_share(C.uint64_t(q))
	return Queue(result.made), failed(result)
}

// At is readpast_queue_at.
func (q Queue) At(place string) (Queue, *Failure) {
	var texts Texts
	name := texts.Add("the name of the place", place)
	if failure := texts.failure(); failure != nil {
		return 0, failure
	}
	result := C.queue_at(C.uint64_t(q), texts.pointer(name))
	return Queue(result.made), failed(result)
}

// Name is readpast_queue_name.
func (q Queue) Name() string {
	return C.GoString(C.readpast_queue_name(q.native()))
}

// IsTraced is readpast_queue_is_traced.
func (q Queue) IsTraced() bool {
	return C.readpast_queue_is_traced(q.native()) != 0
}

// Worker is readpast_queue_worker.
func (q Queue) Worker() string {
	return C.GoString(C.readpast_queue_worker(q.native()))
}

// LeaseMs is readpast_queue_lease_ms.
func (q Queue) LeaseMs() int64 {
	return int64(C.readpast_queue_lease_ms(q.native()))
}

// GivenUp is readpast_queue_given_up.
func (q Queue) GivenUp() int64 {
	return int64(C.readpast_queue_given_up(q.native()))
}

// Interrupt is readpast_queue_interrupt.
func (q Queue) Interrupt() *Failure {
	return failed(C.queue_interrupt(C.uint64_t(q)))
}

// Resume is readpast_queue_resume.
func (q Queue) Resume() *Failure {
	return failed(C.queue_resume(C.uint64_t(q)))
}

// Wake is readpast_queue_wake.
func (q Queue) Wake() *Failure {
	return failed(C.queue_wake(C.uint64_t(q)))
}

// Attach is readpast_queue_attach.
func (q Queue) Attach(connection uintptr) (Queue, *Failure) {
	result := C.queue_attach(C.uint64_t(q), C.uintptr_t(connection))
	return Queue(result.made), failed(result)
}

// IsDone is readpast_queue_is_done: the status is the answer.
func (q Queue) IsDone(operation string) (int32, *Failure) {
	var texts Texts
	place := texts.Add("operation", operation)
	if failure := texts.failure(); failure != nil {
		return 0, failure
	}
	result := C.queue_is_done(C.uint64_t(q), texts.pointer(place))
	return int32(result.status), failed(result)
}

// Close is readpast_queue_close.
func (q Queue) Close(timeoutMs int64) *Failure {
	return failed(C.queue_close(C.uint64_t(q), C.int64_t(timeoutMs)))
}

// Free is readpast_queue_free.
func (q Queue) Free() {
	C.readpast_queue_free(q.native())
}

// Claim is readpast_queue_claim.
func (q Queue) Claim(maxItems int32, waitMs int64) (Claimed, *Failure) {
	return claimed(C.queue_claim(C.uint64_t(q), C.int32_t(maxItems), C.int64_t(waitMs)))
}

// WaitFor is readpast_queue_wait_for.
func (q Queue) WaitFor(key string, waitMs int64) (Claimed, *Failure) {
	var texts Texts
	place := texts.Add("the key", key)
	if failure := texts.failure(); failure != nil {
		return Claimed{}, failure
	}
	return claimed(C.queue_wait_for(C.uint64_t(q), texts.pointer(place), C.int64_t(waitMs)))
}

// Find is readpast_queue_find; an empty filter or key is none.
func (q Queue) Find(filter, after string, maxItems int32) (Claimed, *Failure) {
	var texts Texts
	narrowed, from := texts.Given("the filter", filter), texts.Given("the key", after)
	if failure := texts.failure(); failure != nil {
		return Claimed{}, failure
	}
	return claimed(C.queue_find(C.uint64_t(q), texts.pointer(narrowed), texts.pointer(from), C.int32_t(maxItems)))
}

// Ask is readpast_queue_ask.
func (q Queue) Ask(what, arguments string) (string, *Failure) {
	var texts Texts
	name, given := texts.Add("the question", what), texts.Add("the arguments", arguments)
	if failure := texts.failure(); failure != nil {
		return "", failure
	}
	return madeText(C.queue_ask(C.uint64_t(q), texts.pointer(name), texts.pointer(given)))
}

func (q Queue) native() C.readpast_queue {
	return C.readpast_queue{id: C.uint64_t(q)}
}
