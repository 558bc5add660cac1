package readpast

import (
	"fmt"
	"strings"

	"github.com/readpast/readpast/bindings/go/internal/capi"
)

// Error is why a call failed. errors.Is compares it with its Status; what is to be expected is a value instead.
type Error struct {
	// Status is what the call came to.
	Status Status
	// Message is one line for a person: what is wrong and, where there is one, the remedy. Holds no passwords.
	Message string
	// SQLState is the five characters of the SQLSTATE; empty when neither driver nor server gave one.
	SQLState string
	// NativeCode is the server's own number of the error, on SQL Server; 0 when there is none.
	NativeCode int
	// Retryable is whether the same call may succeed when it is made again a little later. The library has retried
	// already, for as long as the setting retry.budget_ms says.
	Retryable bool
	// Operation is the identity of a call that came to StatusOutcomeUnknown, else empty: make the same call on
	// Queue.Operation to learn what became of the first. It is not applied twice.
	Operation string

	cause error
}

// Error is the message, with the status and the SQLSTATE.
func (e *Error) Error() string {
	var text strings.Builder
	fmt.Fprintf(&text, "readpast: %s (%s", e.Message, e.Status)
	if e.SQLState != "" {
		fmt.Fprintf(&text, ", SQLSTATE %s", e.SQLState)
	}
	if e.NativeCode != 0 {
		fmt.Fprintf(&text, ", %d", e.NativeCode)
	}
	text.WriteString(")")
	return text.String()
}

// Is reports whether target is the error's Status.
func (e *Error) Is(target error) bool {
	status, is := target.(Status)
	return is && status == e.Status
}

// Unwrap is the end of the context that ended the call, or what kept it from being made; most errors have none.
func (e *Error) Unwrap() error {
	return e.cause
}

// failed is the error of a failure; nil if there is none.
func failed(failure *capi.Failure) error {
	if failure == nil {
		return nil
	}
	return &Error{
		Status:     Status(failure.Status),
		Message:    failure.Message,
		SQLState:   failure.SQLState,
		NativeCode: int(failure.NativeCode),
		Retryable:  failure.Retryable,
		Operation:  failure.Operation,
	}
}

// closed says of something that it was closed.
func closed(what string) error {
	return &Error{Status: StatusClosed, Message: "the " + what + " was closed"}
}
