package readpast_test

import (
	"context"
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	readpast "github.com/readpast/readpast/bindings/go"
)

const columns = `{"name": "Payload", "type": "text"}, {"name": "Big", "type": "bigint"},
	{"name": "Flag", "type": "boolean"}, {"name": "Ratio", "type": "float"},
	{"name": "Amount", "type": "decimal(38, 10)"}, {"name": "At", "type": "timestamp"},
	{"name": "Day", "type": "date"}, {"name": "Id", "type": "guid"}, {"name": "Document", "type": "json"}`

var ctx = context.Background()

func TestMain(m *testing.M) {
	if os.Getenv("READPAST_CONNECTION") == "" {
		fmt.Fprintln(os.Stderr, "set READPAST_CONNECTION to the ODBC connection string of a database for tests")
		os.Exit(2)
	}
	os.Exit(m.Run())
}

// settings are those of the test's server, changed by pairs of key and value.
func settings(changes ...string) readpast.Options {
	options := readpast.Options{
		"connection":       os.Getenv("READPAST_CONNECTION"),
		"schema":           "readpast_go",
		"poll.interval_ms": "20",
		"worker.hold_ms":   "3600000",
		// However busy the machine is, a call is given up only where a test says so.
		"pool.acquire_ms":  "600000",
		"login.timeout_ms": "600000",
		"query.timeout_ms": "600000",
		"lock.timeout_ms":  "600000",
		"retry.budget_ms":  "600000",
	}
	for i := 0; i < len(changes); i += 2 {
		options[changes[i]] = changes[i+1]
	}
	return options
}

var (
	made atomic.Int64
	// A server that stays may have the queues of another run.
	runName = strconv.FormatInt(time.Now().UnixMilli(), 36)
)

// install makes a queue that no other test uses, with more members of its description.
func install(t *testing.T, more ...string) (name string) {
	t.Helper()
	name = fmt.Sprintf("Work%s%d", runName, made.Add(1))
	members := []string{fmt.Sprintf(`"queue": %q, "types": ["First", "Second"], "columns": [%s]`, name, columns)}
	spec := strings.Join(append(members, more...), ", ")
	if !strings.Contains(spec, `"backoff"`) {
		spec += `, "backoff": "none"`
	}
	spec = "{" + spec + "}"
	check(t, readpast.Install(ctx, settings(), spec))
	return name
}

func open(t *testing.T, changes ...string) *readpast.Queue {
	t.Helper()
	return openNamed(t, install(t), changes...)
}

func openNamed(t *testing.T, name string, changes ...string) *readpast.Queue {
	t.Helper()
	queue := must(readpast.Open(ctx, settings(changes...), name))(t)
	t.Cleanup(func() { queue.Close() })
	return queue
}

func enqueue(t *testing.T, queue *readpast.Queue, payloads ...string) {
	t.Helper()
	items := make([]readpast.NewItem, len(payloads))
	for i, payload := range payloads {
		items[i].Columns = readpast.Columns{"Payload": payload}
	}
	must(queue.Enqueue(ctx, items...))(t)
}

// claimed enqueues items that differ in their payload, and claims them all.
func claimed(t *testing.T, queue *readpast.Queue, payloads ...string) *readpast.Batch {
	t.Helper()
	enqueue(t, queue, payloads...)
	batch := must(queue.Claim(ctx, len(payloads), 0))(t)
	equal(t, batch.Len(), len(payloads))
	t.Cleanup(func() { batch.Close() })
	return batch
}

// column is what one column of all items holds, in the order of their keys.
func column(t *testing.T, queue *readpast.Queue, name string) []string {
	t.Helper()
	batch := must(queue.Find(ctx, "", "", readpast.MostItems))(t)
	defer batch.Close()
	texts := make([]string, batch.Len())
	for i := range texts {
		texts[i] = batch.Item(i).Value(name).String()
	}
	return texts
}

func stats(t *testing.T, queue *readpast.Queue) readpast.Stats {
	t.Helper()
	return must(queue.Stats(ctx))(t)
}

func check(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// must takes what a call returns, and then the test that ends if that is an error.
func must[T any](value T, err error) func(*testing.T) T {
	return func(t *testing.T) T {
		t.Helper()
		check(t, err)
		return value
	}
}

func equal[T comparable](t *testing.T, got, wanted T) {
	t.Helper()
	if got != wanted {
		t.Fatalf("got %#v, not %#v", got, wanted)
	}
}

func equalAll[T comparable](t *testing.T, got []T, wanted ...T) {
	t.Helper()
	if len(got) != len(wanted) {
		t.Fatalf("got %v, not %v", got, wanted)
	}
	for i := range got {
		if got[i] != wanted[i] {
			t.Fatalf("got %v, not %v", got, wanted)
		}
	}
}

// never is the time after which something never happens; nothing is measured by it.
const never = 10 * time.Minute

// until waits for what must become true.
func until(t *testing.T, condition func() bool) {
	t.Helper()
	for end := time.Now().Add(never); !condition(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			stacks := make([]byte, 1<<20)
			t.Fatalf("it never came true\n%s", stacks[:runtime.Stack(stacks, true)])
		}
	}
}

// ends waits for a call on another goroutine.
func ends[T any](t *testing.T, call <-chan T) (result T) {
	t.Helper()
	select {
	case result = <-call:
	case <-time.After(never):
		t.Fatal("the call never ended")
	}
	return result
}

// start makes a call on another goroutine.
func start[T any](call func() T) <-chan T {
	result := make(chan T, 1)
	go func() { result <- call() }()
	return result
}
