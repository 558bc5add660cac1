package main

import (
	"io"
	"sync"

	readpast "github.com/readpast/readpast/bindings/go"
)

// The objects by the names that the driver gave them. Any goroutine.
var kept = struct {
	sync.Mutex
	objects map[string]io.Closer
}{objects: map[string]io.Closer{}}

// keep gives an object a name. One that is given again is the new object's.
func keep(kind, name string, made io.Closer) {
	kept.Lock()
	before := kept.objects[kind+" "+name]
	kept.objects[kind+" "+name] = made
	kept.Unlock()
	if before != nil {
		_ = before.Close()
	}
}

func get[T io.Closer](kind string, name *string) T {
	kept.Lock()
	defer kept.Unlock()
	object, _ := kept.objects[kind+" "+*name].(T)
	return object
}

func freeAll() {
	kept.Lock()
	defer kept.Unlock()
	for _, object := range kept.objects {
		_ = object.Close()
	}
}

func (r *request) queue() *readpast.Queue {
	return get[*readpast.Queue]("queue", r.Queue)
}

func (r *request) batch() *readpast.Batch {
	return get[*readpast.Batch]("batch", r.Batch)
}

func (r *request) renewal() *readpast.Renewal {
	return get[*readpast.Renewal]("renewal", r.Renewal)
}
