package readpast

// #include <readpast.h>
import "C"

import "fmt"

// Action is what to do with an item.
type Action int32

const (
	// Done.
	ActionComplete Action = C.READPAST_ACTION_COMPLETE
	// Done as far as it could be.
	ActionCompletePartially Action = C.READPAST_ACTION_COMPLETE_PARTIALLY
	// Give up for good.
	ActionFail Action = C.READPAST_ACTION_FAIL
	// This attempt failed: try again when due. The item becomes Failed when its attempts are spent.
	ActionRetry Action = C.READPAST_ACTION_RETRY
	// Give the item back unworked: it is Pending again, and this attempt does not count.
	// From a handler it is due after poll.interval_ms at the earliest.
	ActionRelease Action = C.READPAST_ACTION_RELEASE
	// Call it off.
	ActionCancel Action = C.READPAST_ACTION_CANCEL
	// Set it aside.
	ActionPause Action = C.READPAST_ACTION_PAUSE
	// Let a paused item, or one that waits for its next attempt, be picked up again.
	ActionResume Action = C.READPAST_ACTION_RESUME
	// Stop it for good; a worker that holds it finds its lease lost.
	ActionTerminate Action = C.READPAST_ACTION_TERMINATE
	// Record progress and keep the claim; the lease starts anew.
	ActionStep Action = C.READPAST_ACTION_STEP
)

var actionNames = map[Action]string{
	ActionComplete:          "Complete",
	ActionCompletePartially: "CompletePartially",
	ActionFail:              "Fail",
	ActionRetry:             "Retry",
	ActionRelease:           "Release",
	ActionCancel:            "Cancel",
	ActionPause:             "Pause",
	ActionResume:            "Resume",
	ActionTerminate:         "Terminate",
	ActionStep:              "Step",
}

// String is the name of the constant, without what they all begin with: "CompletePartially".
func (a Action) String() string {
	if name, known := actionNames[a]; known {
		return name
	}
	return fmt.Sprintf("Action(%d)", int32(a))
}
