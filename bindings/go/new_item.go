package readpast

import (
	"encoding/json"
	"fmt"
	"time"
	"unicode/utf8"
)

// NewItem is an item to enqueue.
type NewItem struct {
	// Type is the kind of work, one of the queue's types; empty: the first of them.
	Type string
	// Step is the one to begin with; empty: none.
	Step string
	// Delay is when it is due, from now on the server's clock, in whole milliseconds; 0: at Due.
	Delay time.Duration
	// Due is when it is due, a UTC time like "2026-11-21T08:30:00Z"; empty: now, or after Delay.
	Due string
	// Columns are the values of the queue's own columns, by name in any case: a Columns, or whatever else encoding/json
	// makes an object of.
	// json.RawMessage is taken as it is. Nil: each has its default, or NULL.
	Columns any
	// Traceparent is the W3C header in which it is enqueued, for a queue whose description has trace; others take no notice.
	// A malformed one is left out, and is no error. Package readpastotel sets it.
	Traceparent string
	// Tracestate is the header that belongs to it.
	Tracestate string
	// After are the keys of items of the queue for which it waits: it is due when all of them are over, and not before Due.
	// Only in a queue whose description has after.
	After []string
	// AfterItems are the places of earlier items of the call for which it waits, from 0 on.
	AfterItems []int
	// OnFailed is its fate when one of them ends in another way than completed.
	OnFailed OnFailed
}

// OnFailed is the fate of an item when one that it waits for ends in another way than completed.
type OnFailed string

const (
	// OnFailedFail lets it fail, and those that wait for it: the default.
	OnFailedFail OnFailed = "fail"
	// OnFailedRun counts the other as done.
	OnFailedRun OnFailed = "run"
	// OnFailedWait lets it wait until the other is started again and completed.
	OnFailedWait OnFailed = "wait"
)

// afterList are keys and places, or nil.
func (n *NewItem) afterList() []any {
	var all []any
	for _, key := range n.After {
		all = append(all, key)
	}
	for _, place := range n.AfterItems {
		all = append(all, place)
	}
	return all
}

// afterJSON is the list as the library takes it; empty for none.
func (n *NewItem) afterJSON() (string, error) {
	all := n.afterList()
	if all == nil {
		return "", nil
	}
	text, err := json.Marshal(all)
	return string(text), err
}

// Columns are values by column. Times are made UTC; bytes become the base64 that binary columns take. A
// decimal of many digits is to be a string, which keeps them all.
type Columns map[string]any

// MarshalJSON is the object that the library takes.
func (c Columns) MarshalJSON() ([]byte, error) {
	plain := make(map[string]any, len(c))
	for name, value := range c {
		switch value := value.(type) {
		case string:
			// encoding/json would put something else in the place of what is no text.
			if !utf8.ValidString(value) {
				return nil, fmt.Errorf("column %q: the text is not UTF-8", name)
			}
			plain[name] = value
		case time.Time:
			plain[name] = value.UTC()
		default:
			plain[name] = value
		}
	}
	return json.Marshal(plain)
}

// columnsJSON is empty for no columns.
func columnsJSON(columns any) (string, error) {
	if columns == nil {
		return "", nil
	}
	if raw, is := columns.(json.RawMessage); is {
		return string(raw), nil
	}
	text, err := json.Marshal(columns)
	if err != nil {
		return "", &Error{Status: StatusInvalidItem, Message: "the columns cannot be JSON: " + err.Error(), cause: err}
	}
	return string(text), nil
}

func negativeDelay(delay time.Duration) error {
	return &Error{
		Status: StatusInvalidArgument, Message: "the delay is " + delay.String() + "; it must not be negative",
	}
}

func (n *NewItem) delayMs() int64 {
	if n.Delay == 0 {
		return -1
	}
	return milliseconds(n.Delay)
}

// Receipt is what came of an item to enqueue.
type Receipt struct {
	// Key is the item's. For a duplicate, the key of the item which is there, where the queue has it; else empty.
	Key string
	// Token is the item's, by which a caller can cancel or pause exactly this version of it. Empty for a duplicate,
	// unless the item that waits got the values of this one (on_duplicate in the description).
	Token string
	// Answer is StatusOK, or StatusDuplicate when nothing was enqueued.
	Answer Status
}

// Receipts are in the order of the items.
type Receipts []Receipt

// Status is StatusOK, or StatusDuplicate if an item was there already.
func (r Receipts) Status() Status {
	for i := range r {
		if r[i].Answer != StatusOK {
			return r[i].Answer
		}
	}
	return StatusOK
}
