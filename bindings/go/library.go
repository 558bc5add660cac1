package readpast

import "github.com/readpast/readpast/bindings/go/internal/capi"

// LibraryVersion is the version of the library at run time, like "0.1.0".
func LibraryVersion() string {
	return capi.Version()
}

// LibraryABI is the binary interface of the library at run time. [Open] and [Install] fail with [StatusUnsupported]
// when it is not the one that this package was compiled for.
func LibraryABI() int {
	return int(capi.ABI())
}
