// The adapter of the conformance suite for Go: tests/conformance/README.md describes what it is asked and how it
// answers. It reads one JSON object a line, makes the call, and writes one JSON object a line.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

func main() {
	if err := serve(os.Stdin, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "conformance:", err)
		os.Exit(1)
	}
	freeAll()
}

func serve(input io.Reader, output io.Writer) error {
	lines := bufio.NewReader(input)
	for {
		line, err := lines.ReadBytes('\n')
		if len(bytes.TrimSpace(line)) > 0 {
			var asked request
			if err := json.Unmarshal(line, &asked); err != nil {
				return err
			}
			told, err := json.Marshal(reply(&asked))
			if err != nil {
				return err
			}
			if _, err := output.Write(append(told, '\n')); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// Calls on goroutines of their own, so that another call can meet them while they wait.
var started = map[string]chan answer{}

func reply(asked *request) answer {
	switch {
	case asked.Async != "":
		call := make(chan answer, 1)
		started[asked.Async] = call
		go func() { call <- perform(asked) }()
		return answer{"status": "READPAST_OK", "started": asked.Async}
	case asked.Do == "await":
		return <-started[asked.Call]
	}
	return perform(asked)
}
