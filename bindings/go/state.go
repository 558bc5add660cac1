package readpast

// #include <readpast.h>
import "C"

import "fmt"

// State is where an item is in its life.
type State int32

const (
	// It was not found, so it has no state.
	StateNone State = C.READPAST_STATE_NONE
	// Waits for a worker.
	StatePending State = C.READPAST_STATE_PENDING
	// A worker holds its lease.
	StateProcessing State = C.READPAST_STATE_PROCESSING
	// An attempt failed; it will be tried again when it is due.
	StateError State = C.READPAST_STATE_ERROR
	// Attempts are spent, or the worker gave up. Final.
	StateFailed State = C.READPAST_STATE_FAILED
	// Done. Final.
	StateCompleted State = C.READPAST_STATE_COMPLETED
	// Called off before it was done. Final.
	StateCancelled State = C.READPAST_STATE_CANCELLED
	// Set aside until somebody resumes it.
	StatePaused State = C.READPAST_STATE_PAUSED
	// Stopped by an operator. Final.
	StateTerminated State = C.READPAST_STATE_TERMINATED
	// Done as far as it could be. Final.
	StatePartiallyCompleted State = C.READPAST_STATE_PARTIALLY_COMPLETED
)

var stateNames = map[State]string{
	StateNone:               "None",
	StatePending:            "Pending",
	StateProcessing:         "Processing",
	StateError:              "Error",
	StateFailed:             "Failed",
	StateCompleted:          "Completed",
	StateCancelled:          "Cancelled",
	StatePaused:             "Paused",
	StateTerminated:         "Terminated",
	StatePartiallyCompleted: "PartiallyCompleted",
}

// String is the name of the constant, without what they all begin with: "Pending".
func (s State) String() string {
	if name, known := stateNames[s]; known {
		return name
	}
	return fmt.Sprintf("State(%d)", int32(s))
}
