package capi

// #include "metrics.h"
import "C"

// Metrics is the text of readpast_metrics.
func Metrics() (string, *Failure) {
	if failure := Check(); failure != nil {
		return "", failure
	}
	return madeText(C.metrics())
}

// madeText is the text that a call made, which is freed.
func madeText(result C.struct_result) (string, *Failure) {
	text := C.readpast_text{id: C.uint64_t(result.made)}
	defer C.readpast_text_free(text)
	return C.GoString(C.readpast_text_get(text)), failed(result)
}
