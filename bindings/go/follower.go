package readpast

import (
	"encoding/json"
	"fmt"
)

// Follower is an item that follows a settlement.
type Follower struct {
	// Queue is the one that it is put into; empty: that of the settled item.
	Queue string
	// Item is the item.
	Item NewItem
}

// followersJSON is the array that the library takes.
func followersJSON(followers []Follower) (string, error) {
	type member struct {
		Queue       string          `json:"queue,omitempty"`
		Type        string          `json:"type,omitempty"`
		Step        string          `json:"step,omitempty"`
		Due         string          `json:"due,omitempty"`
		DelayMs     *int64          `json:"delay_ms,omitempty"`
		Columns     json.RawMessage `json:"columns,omitempty"`
		Traceparent string          `json:"traceparent,omitempty"`
		Tracestate  string          `json:"tracestate,omitempty"`
		After       []any           `json:"after,omitempty"`
		OnFailed    OnFailed        `json:"on_failed,omitempty"`
	}
	members := make([]member, len(followers))
	for i := range followers {
		item := &followers[i].Item
		columns, err := columnsJSON(item.Columns)
		if err != nil {
			return "", err
		}
		members[i] = member{
			Queue: followers[i].Queue, Type: item.Type, Step: item.Step, Due: item.Due, Columns: json.RawMessage(columns),
			Traceparent: item.Traceparent, Tracestate: item.Tracestate, After: item.afterList(), OnFailed: item.OnFailed,
		}
		if item.Delay != 0 {
			delay := milliseconds(item.Delay)
			members[i].DelayMs = &delay
		}
	}
	text, err := json.Marshal(members)
	if err != nil {
		message := fmt.Sprintf("the items that follow cannot be JSON: %v", err)
		return "", &Error{Status: StatusInvalidItem, Message: message, cause: err}
	}
	return string(text), nil
}
