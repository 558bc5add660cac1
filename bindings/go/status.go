package readpast

// #cgo pkg-config: readpast
// #include <readpast.h>
import "C"

import "github.com/readpast/readpast/bindings/go/internal/capi"

// Status is what a call, or one of its items, came to: StatusOK, above it what is to be expected, below it failures. It
// is an error too, for errors.Is: errors.Is(err, readpast.StatusOutcomeUnknown). Libraries to come may know more.
type Status int32

const (
	// Done.
	StatusOK Status = C.READPAST_OK
	// No item was due.
	StatusEmpty Status = C.READPAST_EMPTY
	// The worker does not hold the item any more: its lease ran out and the item was given back, or an operator took
	// it. The item is untouched.
	StatusLeaseLost Status = C.READPAST_LEASE_LOST
	// The token is not the item's any more: another call changed the item since. The item is untouched.
	StatusConflict Status = C.READPAST_CONFLICT
	// The item's state does not allow it. The item is untouched.
	StatusIllegalTransition Status = C.READPAST_ILLEGAL_TRANSITION
	// There is no such item, or column.
	StatusNotFound Status = C.READPAST_NOT_FOUND
	// [Queue.Interrupt] was called, and [Queue.Resume] was not.
	StatusInterrupted Status = C.READPAST_INTERRUPTED
	// The same work is in the queue already: nothing was enqueued for it.
	StatusDuplicate Status = C.READPAST_DUPLICATE
	// An argument is missing, out of its range or not UTF-8; the message names it. Nothing was sent to the server.
	StatusInvalidArgument Status = C.READPAST_INVALID_ARGUMENT
	// The handle is null, freed, of another type, or not one of ours.
	StatusInvalidHandle Status = C.READPAST_INVALID_HANDLE
	// A setting is unknown, out of its range, or missing.
	StatusInvalidConfig Status = C.READPAST_INVALID_CONFIG
	// A new item does not fit the queue: not an object, unknown column, wrong type, value too long.
	StatusInvalidItem Status = C.READPAST_INVALID_ITEM
	// The program was built with another version, and asks for what this library does not know.
	StatusUnsupported Status = C.READPAST_UNSUPPORTED
	// The queue, or whatever was asked, was closed.
	StatusClosed Status = C.READPAST_CLOSED
	// The handle is from before a fork. Open what the child process needs in the child.
	StatusForked Status = C.READPAST_FORKED
	// This process has run out of memory, of file descriptors or of handles; the message says of what.
	StatusExhausted Status = C.READPAST_EXHAUSTED
	// A bug in readpast. The object of the call is of no use any more; close it.
	StatusPanic Status = C.READPAST_PANIC
	// The schema holds no queue of that name.
	StatusUnknownQueue Status = C.READPAST_UNKNOWN_QUEUE
	// readpast's own objects are not installed in the schema.
	StatusSchemaMissing Status = C.READPAST_SCHEMA_MISSING
	// The objects in the schema are older than this library: install again to upgrade them.
	StatusSchemaOlder Status = C.READPAST_SCHEMA_OLDER
	// The objects in the schema are newer than this library: upgrade the library.
	StatusSchemaNewer Status = C.READPAST_SCHEMA_NEWER
	// The queue's table or procedures differ from what was installed.
	StatusSchemaMismatch Status = C.READPAST_SCHEMA_MISMATCH
	// The queue cannot do this: its procedures were written by hand and have nothing for it, or it has no index for the kinds asked for.
	StatusNotProvided Status = C.READPAST_NOT_PROVIDED
	// The ODBC driver that the connection string names is not installed.
	StatusDriverMissing Status = C.READPAST_DRIVER_MISSING
	// No server answered at the address.
	StatusUnreachable Status = C.READPAST_UNREACHABLE
	// The server refused the user name or password.
	StatusAuthentication Status = C.READPAST_AUTHENTICATION
	// The database does not exist, or the user may not open it.
	StatusDatabaseMissing Status = C.READPAST_DATABASE_MISSING
	// Client and server could not agree on encryption, or the certificate is not trusted.
	StatusEncryption Status = C.READPAST_ENCRYPTION
	// The connection broke in use.
	StatusConnectionLost Status = C.READPAST_CONNECTION_LOST
	// The login lacks a right.
	StatusPermissionDenied Status = C.READPAST_PERMISSION_DENIED
	// The server did not answer in time, or a lock was not granted in time.
	StatusTimedOut Status = C.READPAST_TIMED_OUT
	// The statement was chosen as a deadlock victim, or lost a serialization conflict.
	StatusDeadlock Status = C.READPAST_DEADLOCK
	// The server is failing over, starting, or throttling; a later attempt may succeed.
	StatusUnavailable Status = C.READPAST_UNAVAILABLE
	// The server cannot write: disk full, quota reached, database or server read-only.
	StatusStorage Status = C.READPAST_STORAGE
	// The connection was lost at a moment that leaves the outcome open, and it could not be learnt in time. Make the
	// same call on [Queue.Operation] with the identity that the error gives.
	StatusOutcomeUnknown Status = C.READPAST_OUTCOME_UNKNOWN
	// The server refused the statement for a reason that no other status names.
	StatusDatabase Status = C.READPAST_DATABASE
	// The server's answer does not have the shape that the installed procedures give.
	StatusProtocol Status = C.READPAST_PROTOCOL
	// All connections of the queue's pool were in use for as long as pool.acquire_ms says.
	StatusPoolTimeout Status = C.READPAST_POOL_TIMEOUT
)

// String is the name in readpast.h: READPAST_EMPTY. READPAST_? is one that the library does not know.
func (s Status) String() string {
	return capi.StatusName(int32(s))
}

// Error is the name, as String gives it.
func (s Status) Error() string {
	return s.String()
}
