package readpast_test

import (
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"time"

	readpast "github.com/readpast/readpast/bindings/go"
)

func TestColumnsAreTheJSONThatTheLibraryTakes(t *testing.T) {
	for text, value := range map[string]any{
		`null`:                          nil,
		`18446744073709551615`:          uint64(math.MaxUint64),
		`"AKs="`:                        []byte{0, 171},
		`"2026-11-21T08:30:00.000001Z"`: time.Date(2026, 11, 21, 9, 30, 0, 1000, time.FixedZone("", 3600)),
		`"\u0001\"\\"`:                  "\x01\"\\",
		`[1,null,"x"]`:                  []any{1, nil, "x"},
	} {
		equal(t, string(must(json.Marshal(readpast.Columns{"x": value}))(t)), `{"x":`+text+`}`)
	}
}

func TestAValueThatNoColumnTakesIsRefused(t *testing.T) {
	queue := open(t)
	for name, columns := range map[string]any{
		"no number":    readpast.Columns{"Ratio": math.NaN()},
		"no text":      readpast.Columns{"Payload": "a\xff"},
		"a NUL":        readpast.Columns{"Payload": "a\x00b"},
		"no value":     readpast.Columns{"Payload": func() {}},
		"no object":    []int{1},
		"a wrong type": json.RawMessage(`{"Big": "x"}`),
	} {
		_, err := queue.Enqueue(ctx, readpast.NewItem{Columns: columns})
		if !errors.Is(err, readpast.StatusInvalidItem) {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err := queue.Enqueue(ctx, readpast.NewItem{Type: "a\x00b"})
	if !errors.Is(err, readpast.StatusInvalidArgument) || !strings.Contains(err.Error(), "a type") {
		t.Error(err)
	}
	equal(t, stats(t, queue).Pending, 0)
}

func TestAMalformedTraceIsLeftOutWhateverItHolds(t *testing.T) {
	queue := openNamed(t, install(t, `"trace": true`))
	parent := "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	bad := []string{"nonsense", parent + "\x00", "\xff"}
	var items []readpast.NewItem
	for _, each := range bad {
		items = append(items, readpast.NewItem{Traceparent: each, Tracestate: "rojo=1"},
			readpast.NewItem{Traceparent: parent, Tracestate: each})
	}
	must(queue.Enqueue(ctx, items...))(t)
	batch := must(queue.Claim(ctx, len(items), 0))(t)
	defer batch.Close()
	equal(t, batch.Len(), len(items))
	for i := range items {
		item := batch.Item(i)
		equal(t, item.Traceparent(), []string{"", parent}[i%2])
		equal(t, item.Tracestate(), "")
	}
}

func TestAnItemIsDueWhenItSaysSo(t *testing.T) {
	queue := open(t)
	type payload struct{ Payload string }
	must(queue.Enqueue(ctx,
		readpast.NewItem{Columns: payload{"now"}, Type: "Second", Step: "begun"},
		readpast.NewItem{Columns: payload{"in an hour"}, Delay: time.Hour},
		readpast.NewItem{Columns: payload{"far off"}, Due: "2099-12-31"},
		readpast.NewItem{}))(t)
	batch := must(queue.Claim(ctx, 10, 0))(t)
	defer batch.Close()
	equal(t, batch.Len(), 2)
	equal(t, batch.Item(0).Value("Payload").String(), "now")
	equal(t, batch.Item(0).Value("type").String(), "Second")
	equal(t, batch.Item(0).Value("step").String(), "begun")
	equal(t, batch.Item(1).Value("Payload").IsNull(), true)
	// A part of a millisecond is a delay too.
	must(queue.Settle(ctx, batch.Item(1).Release().WithDelay(time.Hour+time.Nanosecond),
		batch.Item(0).Release().WithDue(time.Date(2099, 1, 1, 0, 0, 0, 0, time.Local))))(t)
	equal(t, stats(t, queue).Due, 0)
}
