package capi

// #include "renewal.h"
import "C"

// Renewal is a readpast_renewal.
type Renewal uint64

// StartRenewal is readpast_renewal_start.
func (q Queue) StartRenewal(batch Batch, intervalMs int64) (Renewal, *Failure) {
	result := C.renewal_start(C.uint64_t(q), C.uint64_t(batch), C.int64_t(intervalMs))
	return Renewal(result.made), failed(result)
}

// Release is readpast_renewal_release; by the status it was renewed or not.
func (r Renewal) Release(key string) (int32, *Failure) {
	var texts Texts
	place := texts.Add("the key", key)
	if failure := texts.failure(); failure != nil {
		return failure.Status, failure
	}
	result := C.renewal_release(C.uint64_t(r), texts.pointer(place))
	return int32(result.status), failed(result)
}

// LostCount is readpast_renewal_lost_count.
func (r Renewal) LostCount() int {
	return int(C.readpast_renewal_lost_count(r.native()))
}

// LostKey is readpast_renewal_lost_key.
func (r Renewal) LostKey(index int) string {
	return C.GoString(C.readpast_renewal_lost_key(r.native(), C.int32_t(index)))
}

// Free is readpast_renewal_free.
func (r Renewal) Free() {
	C.readpast_renewal_free(r.native())
}

func (r Renewal) native() C.readpast_renewal {
	return C.readpast_renewal{id: C.uint64_t(r)}
}
