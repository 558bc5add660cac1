package main

import (
	"fmt"
	"os"
	"strings"

	readpast "github.com/readpast/readpast/bindings/go"
)

// What happened is written down, so that somebody else can prove it: see bindings/c/examples/records.h.

func recordClaim(batch *readpast.Batch) {
	var lines strings.Builder
	for i := range batch.Len() {
		item := batch.Item(i)
		fmt.Fprintf(&lines, "T\t%s\t%d\n", item.Key, item.Attempt)
	}
	write(&lines)
}

func recordRound(round readpast.Round) {
	var lines strings.Builder
	for i, settlement := range round.Settlements {
		outcome := round.Outcomes[i]
		fmt.Fprintf(&lines, "S\t%s\t%d\t%d\t%d\n", settlement.Key, settlement.Attempt, outcome.Answer, outcome.State)
	}
	if round.Claimed > 0 {
		fmt.Fprintf(&lines, "L\t%d\n", round.Took.Microseconds())
	}
	write(&lines)
}

// write ends the program if it cannot: a proof with gaps is none.
func write(lines *strings.Builder) {
	if _, err := os.Stdout.WriteString(lines.String()); err != nil {
		fmt.Fprintln(os.Stderr, "cannot write records:", err)
		os.Exit(1)
	}
}
