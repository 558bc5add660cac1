package capi

// #include "result.h"
import "C"

// Failure is what the library says about a call that failed.
type Failure struct {
	Status     int32
	Message    string
	SQLState   string
	NativeCode int32
	Retryable  bool
	Operation  string
}

// failed takes the error of a call over, if it has one.
func failed(result C.struct_result) *Failure {
	if result.status >= 0 {
		return nil
	}
	failure := &Failure{
		Status:     int32(result.status),
		Message:    C.GoString(C.readpast_error_message(result.error)),
		SQLState:   C.GoString(C.readpast_error_sqlstate(result.error)),
		NativeCode: int32(C.readpast_error_native_code(result.error)),
		Retryable:  C.readpast_error_is_retryable(result.error) != 0,
		Operation:  C.GoString(C.readpast_error_operation(result.error)),
	}
	if result.error.id == 0 {
		failure.Message = "no more is known: " + StatusName(failure.Status)
	}
	C.readpast_error_free(result.error)
	return failure
}
