package readpast_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	readpast "github.com/readpast/readpast/bindings/go"
)

const letters = `queue = "Letters"
columns = [{ name = "To", type = "text" }, { name = "Sum", type = "decimal(9, 2)" }, { name = "Body", type = "json" }]`

func handle(ctx context.Context, item *readpast.Item) (readpast.Settlement, error) {
	var letter struct {
		To   string `json:"to"`
		Body struct{ N json.Number }
	}
	if err := item.Decode(&letter); err != nil {
		return readpast.Settlement{}, err
	}
	if item.Attempt > 2 {
		return item.Fail(letter.To + " does not answer"), nil
	}
	if _, err := item.RecordStep(ctx, "sent"); err != nil {
		return readpast.Settlement{}, err
	}
	if err := item.Progress(100, "sent"); err != nil {
		return readpast.Settlement{}, err
	}
	return item.Complete().WithResponse(letter.Body.N.String()), nil
}

func TestAHandlerIsTestedWithoutAServer(t *testing.T) {
	batch := must(readpast.BatchFromJSON(
		`[{"columns": {"To": "a", "Body": {"N": 1.10}}}, {"key": "7", "attempt": 3, "columns": {"to": "b"}}]`, letters))(t)
	defer batch.Close()
	equal(t, *must(handle(ctx, batch.Item(0)))(t).Response, "1.10")
	last := must(handle(ctx, batch.Item(1)))(t)
	equal(t, last.Key, "7")
	equal(t, *last.Error, "b does not answer")
}

func TestADocumentIsAValue(t *testing.T) {
	batch := must(readpast.BatchFromJSON(
		`[{"columns": {"Body": {"n": 123456789012345678901234567890}}}, {"columns": {"Body": "no JSON"}}]`, letters))(t)
	defer batch.Close()
	value := batch.Item(0).Value("body")
	equal(t, value.Type(), readpast.TypeJSON)
	equal(t, string(must(value.JSON())(t)), `{"n": 123456789012345678901234567890}`)
	var decoded struct{ Body any }
	if err := batch.Item(0).Decode(&decoded); err != nil {
		t.Fatal(err)
	}
	if _, is := decoded.Body.(map[string]any); !is {
		t.Errorf("%T", decoded.Body)
	}
	_, err := batch.Item(1).Value("Body").JSON()
	if err == nil || !strings.Contains(err.Error(), "no JSON") {
		t.Error(err)
	}
	equal(t, batch.Item(1).Value("Body").Any(), any("no JSON"))
}

func TestAnItemHasItsLifeCycleByPropertyAndByAnyName(t *testing.T) {
	batch := must(readpast.BatchFromJSON(`[{"type": "Mail", "step": "sent", "due": "2026-11-21T08:30:00Z", "enqueued": "2026-11-20",
		"lease_until": "2026-11-22", "state": "Error"}, {}]`, ""))(t)
	item, bare := batch.Item(0), batch.Item(1)
	equal(t, item.Type()+" "+item.Step(), "Mail sent")
	equal(t, item.State(), readpast.StateError)
	due := time.Date(2026, 11, 21, 8, 30, 0, 0, time.UTC)
	equal(t, item.Due(), due)
	equal(t, item.Enqueued(), time.Date(2026, 11, 20, 0, 0, 0, 0, time.UTC))
	equal(t, item.LeaseUntil(), time.Date(2026, 11, 22, 0, 0, 0, 0, time.UTC))
	for _, name := range []string{"ScheduledFor", "scheduled_for", "ItemDueAt", "ITEM_DUE_AT"} {
		equal(t, must(item.Value(name).Text())(t), "2026-11-21T08:30:00.0000000")
	}
	equal(t, item.Value("due").Err() != nil, true)
	equal(t, bare.Type()+bare.Step(), "")
	equal(t, bare.Due().IsZero(), true)
	equal(t, bare.State(), readpast.StateProcessing)
	batch.Close()
	equal(t, item.Type(), "")
	equal(t, item.LeaseUntil().IsZero(), true)
}

func TestAnItemThatCannotBeMadeIsNamed(t *testing.T) {
	_, err := readpast.BatchFromJSON(`[{"attempt": -1}]`, "")
	if !errors.Is(err, readpast.StatusInvalidItem) || !strings.Contains(err.Error(), "item 0") {
		t.Error(err)
	}
	none := must(readpast.BatchFromJSON(`[]`, ""))(t)
	equal(t, none.Len(), 0)
}

func TestADelayIsNamedAsItWasGiven(t *testing.T) {
	queue := open(t)
	for _, delay := range []time.Duration{-5 * time.Second, -time.Millisecond, -1} {
		_, err := queue.Enqueue(ctx, readpast.NewItem{Delay: delay})
		if !errors.Is(err, readpast.StatusInvalidArgument) || !strings.Contains(err.Error(), delay.String()) {
			t.Error(delay, err)
		}
		_, err = queue.Settle(ctx, readpast.Settlement{Key: "k", Action: readpast.ActionRelease}.WithDelay(delay))
		if !errors.Is(err, readpast.StatusInvalidArgument) || !strings.Contains(err.Error(), "delay") {
			t.Error(delay, err)
		}
	}
}
