package readpast_test

import (
	"context"
	"errors"
	"fmt"
	"math/big"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	readpast "github.com/readpast/readpast/bindings/go"
)

// First is work in a JSON column, named like the type of its items.
type First struct {
	To     string
	Copies int
	At     *time.Time
}

// Second is work whose fields are columns.
type Second struct {
	Text   string `json:"payload"`
	Big    *int64
	Amount float64
	Exact  string `json:"amount"`
	At     time.Time
	Day    time.Time
	Date   string `json:"day"`
	Noted
	Numbered `json:"document"`
	Unknown  *int
}

// Numbered is a column.
type Numbered struct {
	N int
}

// Noted has columns, too.
type Noted struct {
	Ratio float64
}

// seen is what handlers have seen, in their order.
type seen struct {
	sync.Mutex
	all []string
}

func (s *seen) note(line string) {
	s.Lock()
	defer s.Unlock()
	s.all = append(s.all, line)
}

func (s *seen) mail(_ context.Context, mail First, item *readpast.Item) (readpast.Settlement, error) {
	s.note(fmt.Sprint("mail ", mail.To, " ", mail.Copies))
	return item.Complete().WithResponse("sent"), nil
}

// handleAll has the handlers work on the items until there are so many in the state.
func handleAll(
	t *testing.T, queue *readpast.Queue, handlers *readpast.Handlers, state readpast.State, count int64, items ...readpast.NewItem,
) {
	t.Helper()
	must(queue.Enqueue(ctx, items...))(t)
	worker := readpast.Worker{Queue: queue, Handler: handlers.Handler(), Logger: quiet}
	check(t, run(t, &worker, func() bool {
		figures := stats(t, queue)
		return map[readpast.State]int64{
			readpast.StateCompleted: figures.Completed, readpast.StateFailed: figures.Failed, readpast.StateError: figures.Error,
		}[state] == count
	}))
}

func ofDocument(document any) readpast.NewItem {
	return readpast.NewItem{Columns: readpast.Columns{"Document": document}}
}

func TestWorkGoesToTheHandlerOfItsType(t *testing.T) {
	queue, seen := open(t), seen{}
	var handlers readpast.Handlers
	readpast.Handle(&handlers, seen.mail, readpast.InColumn("Document"))
	readpast.Handle(&handlers, func(_ context.Context, work Second, _ *readpast.Item) (readpast.Settlement, error) {
		seen.note(fmt.Sprintf("%s %d %v %s %v %v %v", work.Text, *work.Big, work.Amount, work.Exact, work.Ratio, work.Numbered, work.Unknown))
		seen.note(work.At.Format(time.RFC3339) + " " + work.Day.Format(time.RFC3339) + " " + work.Date)
		return readpast.Settlement{}, nil
	})
	at := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	handleAll(t, queue, &handlers, readpast.StateCompleted, 2,
		ofDocument(map[string]any{"to": "a@example.org", "copies": 3, "more": 1}),
		readpast.NewItem{Type: "Second", Columns: readpast.Columns{"Payload": "x", "Big": 7, "Amount": "12.50", "At": at,
			"Day": "2026-07-02", "Ratio": 0.5, "Document": readpast.Columns{"n": 1}}})
	equalAll(t, seen.all, "mail a@example.org 3", "x 7 12.5 12.5000000000 0.5 {1} <nil>",
		"2026-07-01T12:00:00Z 2026-07-02T00:00:00Z 2026-07-02")
	equal(t, column(t, queue, "response")[0], "sent")
}

func TestWorkThatCannotBeReadIsFailedAtOnceWithThePlace(t *testing.T) {
	queue, seen := open(t), seen{}
	var handlers readpast.Handlers
	readpast.HandleAll(&handlers, seen.mail, readpast.InColumn("Document"))
	handleAll(t, queue, &handlers, readpast.StateFailed, 4, ofDocument(map[string]any{"copies": 1234.5}), ofDocument(nil),
		ofDocument([]int{}), ofDocument(map[string]any{"at": "secret"}))
	equalAll(t, column(t, queue, "error"),
		"the item carries no First: Copies is a JSON number, not int",
		"the item carries no First: it is null",
		"the item carries no First: it is a JSON array, not readpast_test.First",
		"the item carries no First: a text in it is no time like 2026-11-21T08:30:00Z")
	equalAll(t, column(t, queue, "attempt_num"), "1", "1", "1", "1")
	equal(t, len(seen.all), 0)
}

func TestNoErrorQuotesAValue(t *testing.T) {
	type work struct {
		From  netip.Addr
		Count int `json:",string"`
		Sum   *big.Int
	}
	never := func(context.Context, work, *readpast.Item) (readpast.Settlement, error) {
		t.Error("it was read")
		return readpast.Settlement{}, nil
	}
	var handlers readpast.Handlers
	readpast.HandleAll(&handlers, never, readpast.InColumn("Document"))
	for document, why := range map[string]string{
		`{"from": "secret"}`:  "a value in it is refused by its type",
		`{"count": "secret"}`: "a value in it is refused by its type",
		`{"sum": "secret"}`:   "a value in it is refused by its type",
		`"{ secret"`:          "it is no JSON after 3 bytes",
	} {
		batch := must(readpast.BatchFromJSON(`[{"columns": {"Document": `+document+`}}]`, ""))(t)
		equal(t, *must(handlers.Handler()(ctx, batch.Item(0)))(t).Error, "the item carries no work: "+why)
		batch.Close()
	}
}

func TestATypeThatThisVersionDoesNotKnowIsLeftToTheNextAttempt(t *testing.T) {
	queue, seen := openNamed(t, install(t, `"backoff": {"first_ms": 3600000, "cap_ms": 3600000}`)), seen{}
	var handlers readpast.Handlers
	readpast.Handle(&handlers, seen.mail)
	readpast.Handle(&handlers, seen.mail, readpast.OfType("Zeroth"))
	handleAll(t, queue, &handlers, readpast.StateError, 1, readpast.NewItem{Type: "Second"})
	equal(t, column(t, queue, "error")[0], "this worker has no handler for the type Second; it has some for First, Zeroth")
	handlers.Others = func(_ context.Context, item *readpast.Item) (readpast.Settlement, error) {
		return item.Complete(), nil
	}
	handleAll(t, queue, &handlers, readpast.StateCompleted, 1, readpast.NewItem{Type: "Second"})
}

func TestTheFirstMiddlewareIsTheOutermostAndMayDecideAlone(t *testing.T) {
	queue, seen := open(t), seen{}
	var handlers readpast.Handlers
	readpast.Handle(&handlers, seen.mail, readpast.InColumn("Document"))
	for _, name := range []string{"outer", "inner"} {
		handlers.Around(func(next readpast.Handler) readpast.Handler {
			return func(ctx context.Context, item *readpast.Item) (readpast.Settlement, error) {
				seen.note(name + " in")
				defer seen.note(name + " out")
				return next(ctx, item)
			}
		})
	}
	handleAll(t, queue, &handlers, readpast.StateCompleted, 1, ofDocument(First{"a", 1, nil}))
	equalAll(t, seen.all, "outer in", "inner in", "mail a 1", "inner out", "outer out")
	handlers.Around(func(readpast.Handler) readpast.Handler {
		return func(_ context.Context, item *readpast.Item) (readpast.Settlement, error) {
			return item.Fail("not today"), nil
		}
	})
	handleAll(t, queue, &handlers, readpast.StateFailed, 1, ofDocument(First{"b", 1, nil}))
	equal(t, strings.Contains(fmt.Sprint(seen.all), "mail b"), false)
}

func TestATableWithoutTypesHasItemsOfItsOnlyOne(t *testing.T) {
	item := must(readpast.BatchFromJSON(`[{"columns": {"To": "a", "copies": 2}}]`, ""))(t).Item(0)
	untyped := must(readpast.BatchFromJSON(`[{"columns": {"Type": null}}]`, ""))(t).Item(0)
	typed := must(readpast.BatchFromJSON(`[{"type": "Second"}]`, ""))(t).Item(0)
	var handlers readpast.Handlers
	seen := seen{}
	readpast.Handle(&handlers, seen.mail)
	must(handlers.Handler()(ctx, item))(t)
	equal(t, must(handlers.Handler()(ctx, typed))(t).Action, readpast.ActionRetry)
	equal(t, must(handlers.Handler()(ctx, untyped))(t).Action, readpast.ActionRetry)
	equalAll(t, seen.all, "mail a 2")
	readpast.Handle(&handlers, seen.mail, readpast.OfType("Other"))
	equal(t, *must(handlers.Handler()(ctx, item))(t).Error,
		"this worker has no handler for the type (none); it has some for First, Other")
	// A column that is not there is a mistake of the program, not of the item.
	var elsewhere readpast.Handlers
	readpast.HandleAll(&elsewhere, seen.mail, readpast.InColumn("Nowhere"))
	_, err := elsewhere.Handler()(ctx, item)
	equal(t, errors.Is(err, readpast.StatusNotFound), true)
}

func TestATypeHasOneHandlerAndAName(t *testing.T) {
	var handlers readpast.Handlers
	readpast.Handle(&handlers, new(seen).mail)
	unnamed := func(context.Context, map[string]any, *readpast.Item) (readpast.Settlement, error) {
		return readpast.Settlement{}, nil
	}
	for why, add := range map[string]func(){
		"already":           func() { readpast.Handle(&handlers, new(seen).mail) },
		"needs":             func() { readpast.Handle(&handlers, unnamed) },
		"items of any type": func() { readpast.HandleAll(&handlers, unnamed, readpast.OfType("First")) },
	} {
		func() {
			defer func() {
				if reason := fmt.Sprint(recover()); !strings.Contains(reason, why) {
					t.Error(reason)
				}
			}()
			add()
		}()
	}
}
