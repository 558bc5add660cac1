package capi

// #include "queue.h"
import "C"

// Installed is a copy of a readpast_installed.
type Installed struct {
	Queue, Table, Description string
	Own                       bool
}

// List is readpast_list, with settings.
func List(settings [][2]string) ([]Installed, *Failure) {
	with, failure := config(settings)
	if failure != nil {
		return nil, failure
	}
	defer freeConfig(with)
	result := C.list(with)
	if failure := failed(result); failure != nil {
		return nil, failure
	}
	defer C.readpast_queues_free(C.readpast_queues{id: result.made})
	count := int(result.count)
	lent, copied := make([]C.readpast_installed, count+1), make([]Installed, count)
	// It cannot fail: the indexes are below the count.
	C.queues_all(result.made, result.count, &lent[0])
	for i := range copied {
		copied[i] = Installed{
			Queue: C.GoString(lent[i].queue), Table: C.GoString(lent[i].table),
			Description: C.GoString(lent[i].description), Own: lent[i].own != 0,
		}
	}
	return copied, nil
}

// Drop is readpast_drop, with settings.
func Drop(settings [][2]string, queue string) *Failure {
	with, failure := config(settings)
	if failure != nil {
		return failure
	}
	defer freeConfig(with)
	var texts Texts
	place := texts.Add("the name of the queue", queue)
	if failure := texts.failure(); failure != nil {
		return failure
	}
	return failed(C.drop(with, texts.pointer(place)))
}
