// Package capi is where Go calls C. It has the functions of readpast.h, with text, slices and numbers for pointers, and
// no opinion of its own: it passes the library's status on. Handles are numbers, never addresses.
//
// A function copies the values that a handle lends before it returns. The owner of a batch that other goroutines may
// free meanwhile sees to it that they do not.
package capi

/*
#cgo pkg-config: readpast
#include <readpast.h>

#if READPAST_ABI != 1
#error "this version of the Go module needs a readpast.h with READPAST_ABI 1"
#endif
*/
import "C"

import (
	"fmt"
	"sync"
	"unsafe"
)

// Version is that of the library at run time.
func Version() string {
	return C.GoString(C.readpast_version())
}

// ABI is the binary interface of the library at run time.
func ABI() int32 {
	return int32(C.readpast_abi())
}

// StatusName is READPAST_EMPTY for 1, READPAST_? for a number that the library does not know.
func StatusName(status int32) string {
	return C.GoString(C.readpast_status_name(C.readpast_status(status)))
}

// LogText is an error as a line of a log has it: of a long one the beginning and the end.
func LogText(text string) string {
	given, brief := append([]byte(text), 0), make([]byte, C.READPAST_LOG_TEXT_ROOM)
	length := C.readpast_log_text((*C.char)(unsafe.Pointer(&given[0])), C.size_t(len(text)),
		(*C.char)(unsafe.Pointer(&brief[0])), C.size_t(len(brief)))
	return string(brief[:length])
}

// Check reports whether the library has the binary interface that this package was compiled for. Without a handle there
// is nothing to call, so only the calls that make the first of them need to check.
var Check = sync.OnceValue(func() *Failure {
	if abi := ABI(); abi != C.READPAST_ABI {
		return &Failure{
			Status: C.READPAST_UNSUPPORTED,
			Message: fmt.Sprintf("libreadpast %s has the binary interface %d, and this program was compiled for %d: "+
				"install the library of the version that the program was built with, or build the program again",
				Version(), abi, C.READPAST_ABI),
		}
	}
	return nil
})
