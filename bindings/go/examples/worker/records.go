package main

import (
	"fmt"
	"os"
	"strings"
	"sync"

	readpast "github.com/readpast/readpast/bindings/go"
)

// The records of a worker, by which another program can prove what happened: see bindings/c/examples/records.h. The engine
// alone knows how long calls take.

// claim is an item in one of its attempts.
type claim struct {
	key     string
	attempt int
}

// taken are the claims that are on record as taken. An item that was claimed ahead and given back unworked is on no record.
var taken sync.Map

func recordTaken(batch *readpast.Batch) {
	var lines strings.Builder
	for i := range batch.Len() {
		item := batch.Item(i)
		fmt.Fprintf(&lines, "T\t%s\t%d\n", item.Key, item.Attempt)
		taken.Store(claim{item.Key, item.Attempt}, true)
	}
	write(&lines)
}

func recordEvent(event readpast.Event) {
	if event.Kind != readpast.EventSettled && event.Kind != readpast.EventLost {
		return
	}
	if _, was := taken.LoadAndDelete(claim{event.Key, event.Attempt}); was {
		var lines strings.Builder
		fmt.Fprintf(&lines, "S\t%s\t%d\t%d\t%d\n", event.Key, event.Attempt, event.Answer, event.State)
		write(&lines)
	}
}

// write ends the program if it cannot: a proof with gaps is none.
func write(lines *strings.Builder) {
	if _, err := os.Stdout.WriteString(lines.String()); err != nil {
		fmt.Fprintln(os.Stderr, "cannot write records:", err)
		os.Exit(1)
	}
}
