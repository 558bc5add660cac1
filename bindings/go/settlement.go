package readpast

import (
	"slices"
	"time"

	"github.com/readpast/readpast/bindings/go/internal/capi"
)

// Settlement is what to do with an item: made by an Item's methods for who holds its lease, or by Operate.
type Settlement struct {
	// Key is the item's.
	Key string
	// Token is that of the item when the caller last saw it. Required with an attempt; empty without one: whatever it
	// is.
	Token string
	// Attempt is that of the claim; 0 steers an item as an operator, without holding its lease.
	Attempt int
	// Action is what to do.
	Action Action
	// Step, Response and Error are to be recorded; nil keeps what there is.
	Step, Response, Error *string
	// Delay is when the item is due again, from now on the server's clock, in whole milliseconds; nil: at Due.
	Delay *time.Duration
	// Due is when the item is due again, a UTC time like "2026-11-21T08:30:00Z"; empty: as it was, or after Delay.
	Due string
	// Set are values for the item's own columns, in the form of NewItem.Columns, what a subtype has in one by its name:
	// Columns{"PaidAt": time.Now(), "Email": Columns{"Response": "250 OK"}}. A column left out keeps its value.
	Set any
	// Then are items that follow, put in with the same commit where the answer is StatusOK.
	Then []Follower
}

// Operate steers an item without holding its lease: cancels, pauses, resumes, terminates it, lets it be tried again.
func Operate(key string, action Action) Settlement {
	return Settlement{Key: key, Action: action}
}

// WithToken is the settlement for the case that the item's token is still this one.
func (s Settlement) WithToken(token string) Settlement {
	s.Token = token
	return s
}

// WithStep is the settlement that records a step.
func (s Settlement) WithStep(step string) Settlement {
	s.Step = &step
	return s
}

// WithResponse is the settlement that records a response.
func (s Settlement) WithResponse(response string) Settlement {
	s.Response = &response
	return s
}

// WithError is the settlement that records an error.
func (s Settlement) WithError(text string) Settlement {
	s.Error = &text
	return s
}

// WithDelay is the settlement after which the item is due again so long from now.
func (s Settlement) WithDelay(delay time.Duration) Settlement {
	s.Delay = &delay
	return s
}

// WithDue is the settlement after which the item is due again at this time.
func (s Settlement) WithDue(due time.Time) Settlement {
	s.Due = due.UTC().Format(time.RFC3339Nano)
	return s
}

// WithSet is the settlement that sets columns of the item.
func (s Settlement) WithSet(columns any) Settlement {
	s.Set = columns
	return s
}

// WithThen is the settlement that items follow into the queue of this name, of the same schema, in the same commit, and
// none where it is not accepted. More calls add more. An item that cannot be put in keeps this one from being done: a
// worker makes it Failed, with the reason.
func (s Settlement) WithThen(queue string, items ...NewItem) Settlement {
	then := slices.Clone(s.Then)
	for i := range items {
		then = append(then, Follower{Queue: queue, Item: items[i]})
	}
	s.Then = then
	return s
}

func (s *Settlement) native() (*capi.Settlement, error) {
	settlement := &capi.Settlement{
		Key:      s.Key,
		Token:    s.Token,
		Attempt:  count(s.Attempt),
		Action:   int32(s.Action),
		Step:     s.Step,
		Response: s.Response,
		Error:    s.Error,
		DelayMs:  -1,
	}
	if s.Due != "" {
		settlement.Due = &s.Due
	}
	if s.Delay != nil {
		settlement.DelayMs = milliseconds(*s.Delay)
	}
	if s.Delay != nil && *s.Delay < 0 {
		// For the library to refuse, of which -1 is none.
		settlement.DelayMs = min(settlement.DelayMs, -2)
	}
	set, err := columnsJSON(s.Set)
	if set != "" {
		settlement.Set = &set
	}
	if err != nil || len(s.Then) == 0 {
		return settlement, err
	}
	then, err := followersJSON(s.Then)
	settlement.Then = &then
	return settlement, err
}

// Outcome is what came of an item, and how it is now.
type Outcome struct {
	// Answer is StatusOK, StatusLeaseLost, StatusConflict, StatusIllegalTransition or StatusNotFound.
	Answer Status
	// State is the one the item is in then. It can be Failed although another was asked for and the answer is StatusOK:
	// then its attempts are spent. A settle that is repeated with its operation is answered as the first time, whatever
	// others have made of the item since.
	State State
	// Attempt is the item's number of it.
	Attempt int
	// Token is the item's then: the one to go on with after a step. Empty when the item was not found, or has another
	// holder since.
	Token string
}

// Outcomes are in the order of what was asked for.
type Outcomes []Outcome

// Status is StatusOK, or the answer of the first item that is not.
func (o Outcomes) Status() Status {
	for i := range o {
		if o[i].Answer != StatusOK {
			return o[i].Answer
		}
	}
	return StatusOK
}

func outcomesOf(told capi.Outcomes) Outcomes {
	outcomes := make(Outcomes, len(told))
	for i := range outcomes {
		answer, state, attempt, token := told.At(i)
		outcomes[i] = Outcome{Status(answer), State(state), attempt, token}
	}
	return outcomes
}

// Lease is one to renew.
type Lease struct {
	// Key is the item's.
	Key string
	// Attempt is that of the claim.
	Attempt int
}
