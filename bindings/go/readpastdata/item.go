package readpastdata

import (
	"encoding/json"
	"fmt"
	"time"
	"unicode/utf8"
)

// Item is an item to enqueue.
type Item struct {
	// Columns are the values of the queue's own columns, by name in any case: [Columns], or whatever else encoding/json makes an
	// object of. Nil: each has its default, or NULL.
	Columns any
	// Type is the kind of work, one of the queue's types; empty: the first of them.
	Type string
	// Step is the one to begin with; empty: none.
	Step string
	// Delay is when it is due, from now on the server's clock; a part of a millisecond counts as a whole one. 0: at Due.
	Delay time.Duration
	// Due is when it is due; zero: now, or after Delay.
	Due time.Time
	// After are the keys of items of the queue for which it waits, AfterItems the places of earlier items of the call, from 0 on.
	// Only in a queue whose description has after.
	After      []string
	AfterItems []int
	// OnFailed is its fate when one of them ends in another way than completed: fail, run or wait; empty: fail.
	OnFailed string
}

// Columns are values by column. Times are made UTC and cut to 100 ns; bytes become the base64 that binary columns take. A decimal of many digits is to
// be a string, which keeps them all.
type Columns map[string]any

// MarshalJSON is the object that the procedures take.
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
			plain[name] = whole(value)
		default:
			plain[name] = value
		}
	}
	return json.Marshal(plain)
}

// whole is a time as SQL Server's procedures read it: without an offset, and with seven digits of a second.
func whole(at time.Time) time.Time {
	return at.UTC().Truncate(100 * time.Nanosecond)
}

// written is an item as the procedures read it.
type written struct {
	Type    string     `json:"type,omitempty"`
	Step    string     `json:"step,omitempty"`
	Due     *time.Time `json:"due,omitempty"`
	DelayMs int64      `json:"delay_ms,omitempty"`
	Columns any        `json:"columns"`

	After    []any  `json:"after,omitempty"`
	OnFailed string `json:"on_failed,omitempty"`
}

func itemsJSON(items []Item) (string, error) {
	all := make([]written, len(items))
	for i, item := range items {
		if item.Delay < 0 {
			return "", fmt.Errorf("readpastdata: item %d: the delay is %v; it must not be negative", i, item.Delay)
		}
		delay := (item.Delay + time.Millisecond - 1) / time.Millisecond
		all[i] = written{Type: item.Type, Step: item.Step, DelayMs: int64(delay), Columns: item.Columns}
		for _, key := range item.After {
			all[i].After = append(all[i].After, key)
		}
		for _, place := range item.AfterItems {
			all[i].After = append(all[i].After, place)
		}
		if all[i].After != nil {
			all[i].OnFailed = item.OnFailed
		}
		if item.Columns == nil {
			all[i].Columns = Columns{}
		}
		if !item.Due.IsZero() {
			due := whole(item.Due)
			all[i].Due = &due
		}
	}
	text, err := json.Marshal(all)
	if err != nil {
		return "", fmt.Errorf("readpastdata: %w", err)
	}
	return string(text), nil
}
