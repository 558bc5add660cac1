package readpast

// #include <readpast.h>
import "C"

import (
	"fmt"

	"github.com/readpast/readpast/bindings/go/internal/capi"
)

// EventKind is what happened in a [Worker].
type EventKind int32

const (
	// An item was settled: handled, or given back.
	EventSettled EventKind = C.READPAST_EVENT_SETTLED
	// An item was found not to be the worker's any more, before or while it was worked on, or when it was settled.
	EventLost EventKind = C.READPAST_EVENT_LOST
	// A part of what a handler gave was refused, by the library or the database. It is left out, and the item's error
	// says so.
	EventRefused EventKind = C.READPAST_EVENT_REFUSED
	// A call failed in a way that may pass, and is made again in a while.
	EventTrouble EventKind = C.READPAST_EVENT_TROUBLE
	// An item's table refused to have it claimed, or given back by a recovery: a constraint or a trigger. It is left aside
	// for a while, and tried again.
	EventSetAside EventKind = C.READPAST_EVENT_SET_ASIDE
	// An item was given back, without spending its attempt, although its handler had not ended: the worker was abandoned.
	EventAbandoned EventKind = C.READPAST_EVENT_ABANDONED
)

var eventNames = map[EventKind]string{
	EventSettled:   "Settled",
	EventLost:      "Lost",
	EventRefused:   "Refused",
	EventTrouble:   "Trouble",
	EventSetAside:  "SetAside",
	EventAbandoned: "Abandoned",
}

// String is the name of the constant, without what they all begin with: "Settled".
func (k EventKind) String() string {
	if name, known := eventNames[k]; known {
		return name
	}
	return fmt.Sprintf("EventKind(%d)", int32(k))
}

// Event is something that happened in a [Worker].
type Event struct {
	// Kind is what happened.
	Kind EventKind
	// Answer is the database's of EventSettled and EventLost: StatusOK, if all is well. For EventSetAside it is
	// StatusInvalidItem, for the others the status of the call that failed.
	Answer Status
	// Key is the item's; empty for EventTrouble, and for EventSetAside of an item of a type that this login may not see.
	Key string
	// Attempt is that of the claim; 0 for EventTrouble and EventSetAside.
	Attempt int
	// State is the one that a settled item is in now; StateNone where it is not known.
	State State
	// Action is what the item was to be settled as; 0 for EventTrouble and EventSetAside, and for EventLost before it
	// was to be.
	Action Action
	// Message is the reason, for EventRefused, EventTrouble and EventSetAside.
	Message string
	// LeftOut is what was left out of what was given with the item, by name and length: of EventRefused, and of
	// EventLost, which leaves out everything.
	LeftOut string
	// Line is one for a log, with all of this; empty for EventSettled, which is in order.
	Line string
}

// So many events are kept until they are read: enough for a logger, and for an observer.
const keptEvents, mostEvents = 1000, 1000000

// tell passes the events on until the worker has closed, and the last one is read.
func (r *run) tell() {
	for {
		events, failure := r.engine.Events(keptEvents, milliseconds(longestWait))
		if failure != nil {
			r.fail(failed(failure))
			return
		}
		if events == nil {
			return
		}
		for i := range events {
			r.tellOf(&events[i])
		}
	}
}

func (r *run) tellOf(told *capi.Event) {
	event := Event{
		Kind:    EventKind(told.Kind),
		Answer:  Status(told.Answer),
		Key:     told.Key,
		Attempt: told.Attempt,
		State:   State(told.State),
		Action:  Action(told.Action),
		Message: told.Message,
		LeftOut: told.LeftOut,
		Line:    told.Line,
	}
	r.logEvent(&event)
	if r.Observe != nil {
		r.Observe(event)
	}
}
