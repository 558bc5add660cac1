package main

import (
	"encoding/json"
	"strings"
	"time"

	readpast "github.com/readpast/readpast/bindings/go"
)

// request is what the driver asks for; each verb has its own members.
type request struct {
	Do          string
	Async, Call string

	Queue, Batch, Renewal      *string
	As, Name, Operation, Place string
	Settings                   readpast.Options
	Spec, Filter               json.RawMessage
	What                       string
	Arguments                  json.RawMessage
	After, Key, Column         string

	Items       []item
	Settlements []settlement
	Leases      []readpast.Lease

	Max             *int
	Index           int
	Status          int32
	WaitMs          int64  `json:"wait_ms"`
	TimeoutMs       int64  `json:"timeout_ms"`
	SettleTimeoutMs int64  `json:"settle_timeout_ms"`
	IntervalMs      *int64 `json:"interval_ms"`

	Threads, Until int
	BatchSize      int `json:"-"`
	Script         map[string]play
}

// UnmarshalJSON knows that "batch" is a name everywhere but where work is asked for: a number.
func (r *request) UnmarshalJSON(text []byte) error {
	type plain request
	var work struct{ Do string }
	if err := json.Unmarshal(text, &work); err != nil {
		return err
	}
	if work.Do != "work" {
		return json.Unmarshal(text, (*plain)(r))
	}
	numbered := struct {
		*plain
		Batch int
	}{plain: (*plain)(r)}
	err := json.Unmarshal(text, &numbered)
	r.BatchSize = numbered.Batch
	return err
}

// item is one to enqueue, or one by its key.
type item struct {
	Type, Step, Due string
	DelayMs         int64 `json:"delay_ms"`
	Columns         json.RawMessage
	Key, Token      string

	Traceparent, Tracestate string
	After                   []json.RawMessage
	OnFailed                readpast.OnFailed `json:"on_failed"`
}

func (i *item) toNew() readpast.NewItem {
	made := readpast.NewItem{
		Type: i.Type, Step: i.Step, Due: i.Due, Delay: time.Duration(i.DelayMs) * time.Millisecond,
		Traceparent: i.Traceparent, Tracestate: i.Tracestate, OnFailed: i.OnFailed,
	}
	for _, each := range i.After {
		var place int
		if json.Unmarshal(each, &place) == nil {
			made.AfterItems = append(made.AfterItems, place)
			continue
		}
		var key string
		_ = json.Unmarshal(each, &key)
		made.After = append(made.After, key)
	}
	if given(i.Columns) {
		made.Columns = i.Columns
	}
	return made
}

type settlement struct {
	Key, Token, Due       string
	Attempt               int
	Action                json.RawMessage
	Step, Response, Error *string
	DelayMs               *int64 `json:"delay_ms"`
	Set                   json.RawMessage
	Then                  []follower
}

type follower struct {
	Queue string
	item
}

func followers(given []follower) []readpast.Follower {
	var made []readpast.Follower
	for i := range given {
		made = append(made, readpast.Follower{Queue: given[i].Queue, Item: given[i].toNew()})
	}
	return made
}

func (s *settlement) toSettlement() readpast.Settlement {
	return readpast.Settlement{
		Key: s.Key, Token: s.Token, Attempt: s.Attempt, Action: actionOf(s.Action),
		Step: s.Step, Response: s.Response, Error: s.Error, Delay: duration(s.DelayMs), Due: s.Due, Set: s.Set,
		Then: followers(s.Then),
	}
}

// actionOf is the action of a name; a number stands for itself, so that one which is none can be asked for.
func actionOf(text json.RawMessage) readpast.Action {
	var number int32
	if json.Unmarshal(text, &number) == nil {
		return readpast.Action(number)
	}
	var name string
	if err := json.Unmarshal(text, &name); err != nil {
		panic(err)
	}
	return actionNamed(name)
}

func actionNamed(name string) readpast.Action {
	for action := readpast.ActionComplete; action <= readpast.ActionStep; action++ {
		if upper(action.String()) == strings.ToUpper(name) {
			return action
		}
	}
	panic("there is no action " + name)
}

func duration(ms *int64) *time.Duration {
	if ms == nil {
		return nil
	}
	made := time.Duration(*ms) * time.Millisecond
	return &made
}

func (r *request) max(otherwise int) int {
	if r.Max == nil {
		return otherwise
	}
	return *r.Max
}

func (r *request) wait() time.Duration {
	return time.Duration(r.WaitMs) * time.Millisecond
}

// text is JSON as it was sent; empty when it was not.
func text(sent json.RawMessage) string {
	if !given(sent) {
		return ""
	}
	return string(sent)
}

func given(value json.RawMessage) bool {
	return len(value) > 0 && string(value) != "null"
}
