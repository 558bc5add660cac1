package readpast_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	readpast "github.com/readpast/readpast/bindings/go"
)

func TestASettlementSetsTheItemsOwnColumns(t *testing.T) {
	queue := open(t)
	batch := claimed(t, queue, "a", "b", "c")
	at := time.Date(2026, 11, 21, 8, 30, 0, 0, time.UTC)
	paid := batch.Item(0).Complete().WithSet(readpast.Columns{"payload": "changed", "At": at})
	raw := batch.Item(1).Complete().WithSet(json.RawMessage(`{"Payload": "also"}`))
	outcomes := must(queue.Settle(ctx, paid, raw))(t)
	equal(t, outcomes.Status(), readpast.StatusOK)
	for _, wrong := range []any{readpast.Columns{"Nope": 1}, readpast.Columns{"Payload": make(chan int)}} {
		_, err := queue.Settle(ctx, batch.Item(2).Complete().WithSet(wrong))
		var refused *readpast.Error
		if !errors.As(err, &refused) || refused.Status != readpast.StatusInvalidItem {
			t.Fatal(err)
		}
	}
	equalAll(t, column(t, queue, "Payload"), "changed", "also", "c")
	equal(t, column(t, queue, "status")[2], "Processing")
}

func TestABatchIsInTheOrderThatItemsWereDue(t *testing.T) {
	batch := claimed(t, open(t), "a", "b", "c")
	equal(t, batch.Status(), readpast.StatusOK)
	for i, wanted := range []string{"a", "b", "c"} {
		equal(t, batch.Item(i).Value("Payload").String(), wanted)
	}
	var amount readpast.ColumnType
	for _, column := range batch.Columns() {
		if column.Name == "Amount" {
			amount = column.Type
		}
	}
	equal(t, amount, readpast.TypeDecimal)
	defer func() {
		if recover() == nil {
			t.Error("there is a fourth item of three")
		}
	}()
	batch.Item(3)
}

func TestNothingDueIsAnEmptyBatch(t *testing.T) {
	batch := must(open(t).Claim(ctx, 10, 0))(t)
	equal(t, batch.Status(), readpast.StatusEmpty)
	equal(t, batch.Len(), 0)
	equal(t, len(batch.Columns()), 0)
	check(t, batch.Close())
}

func TestSettlingJudgesEachItemByItself(t *testing.T) {
	queue := open(t)
	batch := claimed(t, queue, "a", "b", "c", "d")
	must(queue.Settle(ctx, readpast.Operate(batch.Item(1).Key, readpast.ActionTerminate)))(t)
	late := batch.Item(2).Complete()
	must(batch.Item(2).RecordStep(ctx, "half"))(t)
	var failure *readpast.Error
	if err := batch.Item(2).Progress(42, ""); !errors.As(err, &failure) || failure.Status != readpast.StatusUnsupported {
		t.Error(err)
	}
	outcomes := must(queue.Settle(ctx,
		batch.Item(0).Complete().WithResponse("ok"), batch.Item(1).Complete(), late,
		batch.Item(3).Retry("no").WithDelay(time.Hour)))(t)
	equal(t, outcomes.Status(), readpast.StatusLeaseLost)
	var answers []readpast.Status
	var states []readpast.State
	for _, outcome := range outcomes {
		answers, states = append(answers, outcome.Answer), append(states, outcome.State)
	}
	equalAll(t, answers,
		readpast.StatusOK, readpast.StatusLeaseLost, readpast.StatusConflict, readpast.StatusOK)
	equalAll(t, states,
		readpast.StateCompleted, readpast.StateTerminated, readpast.StateProcessing, readpast.StateError)
	// The item knows the token that its step left.
	equal(t, must(queue.Settle(ctx, batch.Item(2).Complete()))(t)[0].Answer, readpast.StatusOK)
	equal(t, column(t, queue, "response")[0], "ok")
	equal(t, column(t, queue, "error")[3], "no")
}

func TestSettlingAndClaimingIsOneCall(t *testing.T) {
	queue := open(t)
	enqueue(t, queue, "a", "b", "c")
	batch := must(queue.Claim(ctx, 2, 0))(t)
	outcomes, next, err := queue.SettleAndClaim(ctx, 2, batch.Item(0).Complete(), batch.Item(1).Complete())
	check(t, err)
	equal(t, outcomes.Status(), readpast.StatusOK)
	equal(t, next.Status(), readpast.StatusOK)
	equal(t, next.Item(0).Value("Payload").String(), "c")
	_, none, err := queue.SettleAndClaim(ctx, 2, next.Item(0).Complete())
	check(t, err)
	equal(t, none.Status(), readpast.StatusEmpty)
	// A limit that is none is not taken for the wish to claim nothing.
	_, _, err = queue.SettleAndClaim(ctx, -1, next.Item(0).Complete())
	if !errors.Is(err, readpast.StatusInvalidArgument) {
		t.Fatal(err)
	}
}

func TestTheSameOperationIsAppliedOnce(t *testing.T) {
	queue := open(t)
	operation := queue.Operation("0d6b6a52-8f9d-4c44-b044-08b98257037c")
	item := readpast.NewItem{Columns: readpast.Columns{"Payload": "once"}}
	first, again := must(operation.Enqueue(ctx, item))(t), must(operation.Enqueue(ctx, item))(t)
	equal(t, first[0].Key, again[0].Key)
	equal(t, stats(t, queue).Pending, 1)
}

func TestDuplicatesAreAnswers(t *testing.T) {
	check(t, readpast.Install(ctx, settings(), `{"queue": "Once", "columns": [{"name": "Address", "type": "text(50)"}],
		"dedup": {"columns": ["Address"]}}`))
	queue := openNamed(t, "Once")
	item := readpast.NewItem{Columns: readpast.Columns{"Address": time.Now().UTC().Format(time.RFC3339Nano)}}
	equal(t, must(queue.Enqueue(ctx, item))(t).Status(), readpast.StatusOK)
	receipts := must(queue.Enqueue(ctx, item))(t)
	equal(t, receipts.Status(), readpast.StatusDuplicate)
	equal(t, receipts[0].Answer, readpast.StatusDuplicate)
}

// asked is the answer to a question, read.
func asked(t *testing.T, queue *readpast.Queue, what string, arguments map[string]any) map[string]any {
	t.Helper()
	var answer map[string]any
	check(t, json.Unmarshal(must(queue.Ask(ctx, what, arguments))(t), &answer))
	return answer
}

func TestQuestionsOfTypesAndOfTheTrend(t *testing.T) {
	queue := open(t)
	claimed(t, queue, "a")
	enqueue(t, queue, "b", "c")
	first := asked(t, queue, "types", nil)["types"].([]any)[0].(map[string]any)
	equal(t, first["type"], any("First"))
	equal(t, first["waiting"], any(2.0))
	equal(t, first["in_flight"], any(1.0))
	equal(t, first["claimed_mean_ms"], nil)
	trend := asked(t, queue, "trend", map[string]any{"apart_ms": 1})["trend"].(map[string]any)
	equal(t, trend["depth"], any(2.0))
	equal(t, trend["counted"], any(true))
	for what, wrong := range map[string]any{"moons": nil, "types": map[string]any{"key": 1}, "show": nil, "trend": func() {}} {
		if _, err := queue.Ask(ctx, what, wrong); err == nil {
			t.Error(what)
		}
	}
	_, err := queue.Ask(ctx, "moons", nil)
	equal(t, errors.Is(err, readpast.StatusInvalidArgument), true)
	figures := stats(t, queue)
	equal(t, *figures.ArrivalsLastHour, 3)
	equal(t, figures.WaitMs.P50 == nil, true)
	equal(t, figures.Processing, 1)
}

func TestOperatorsFindRedriveAndPurge(t *testing.T) {
	queue := open(t)
	batch := claimed(t, queue, "a", "b")
	must(queue.Settle(ctx, batch.Item(0).Fail("never"), batch.Item(1).Complete()))(t)
	found := must(queue.Find(ctx, `{"status": ["Failed"]}`, "", 10))(t)
	equal(t, found.Len(), 1)
	equal(t, found.Item(0).Key, batch.Item(0).Key)
	item := map[string]any{"key": found.Item(0).Key, "token": found.Item(0).Token}
	redriven := asked(t, queue, "redrive", map[string]any{"items": []any{item}})
	equal(t, redriven["redriven"], any(1.0))
	equal(t, redriven["outcomes"].([]any)[0].(map[string]any)["state"], any("Pending"))
	equal(t, must(queue.Find(ctx, "", batch.Item(1).Key, 10))(t).Status(), readpast.StatusEmpty)
	equal(t, asked(t, queue, "purge", map[string]any{"max": 10})["purged"], any(1.0))
	equal(t, stats(t, queue).Pending, 1)
	equal(t, asked(t, queue, "recover", nil)["recovered"], any(0.0))
}

func TestLeasesAreRenewed(t *testing.T) {
	queue := open(t)
	batch := claimed(t, queue, "a", "b")
	renewal := must(queue.StartRenewalEvery(batch, 20*time.Millisecond))(t)
	defer renewal.Close()
	outcomes := must(queue.Renew(ctx, batch.Item(0).Lease(), batch.Item(1).Lease()))(t)
	equal(t, outcomes.Status(), readpast.StatusOK)
	equal(t, must(renewal.Release(batch.Item(0).Key))(t), true)
	equal(t, must(renewal.Release(batch.Item(0).Key))(t), false)
	equal(t, batch.Item(1).Lost(), false)
	must(queue.Settle(ctx, readpast.Operate(batch.Item(1).Key, readpast.ActionTerminate)))(t)
	until(t, func() bool { return len(renewal.LostKeys()) == 1 })
	equal(t, renewal.LostKeys()[0], batch.Item(1).Key)
	equal(t, batch.Item(1).Lost(), true)
	equal(t, batch.Item(0).Lost(), false)
	equal(t, must(queue.Renew(ctx, batch.Item(1).Lease()))(t).Status(), readpast.StatusLeaseLost)
}

func TestNoneAndMoreThanGoOutAtOnce(t *testing.T) {
	queue := open(t)
	equal(t, len(must(queue.Enqueue(ctx))(t)), 0)
	equal(t, must(queue.Settle(ctx))(t).Status(), readpast.StatusOK)
	receipts := must(queue.Enqueue(ctx, make([]readpast.NewItem, 1001)...))(t)
	equal(t, len(receipts), 1001)
	equal(t, receipts[0].Key == receipts[1000].Key, false)
	// As encoding/json has it.
	type letter struct {
		Payload string `json:"payload"`
	}
	must(queue.Enqueue(ctx, readpast.NewItem{Columns: letter{"a"}}))(t)
	equal(t, stats(t, queue).Pending, 1002)
}

func TestADescriptionInAFile(t *testing.T) {
	name := filepath.Join(t.TempDir(), "letters.toml")
	if err := os.WriteFile(name, []byte(`queue = "FromFile"`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := readpast.InstallFile(ctx, settings(), name); err != nil {
		t.Fatal(err)
	}
	queue := must(readpast.Open(ctx, settings(), "FromFile"))(t)
	_ = queue.Close()
	if err := readpast.InstallFile(ctx, settings(), name+"x"); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

func TestFailuresSayWhatIsWrong(t *testing.T) {
	queue := open(t)
	_, unknown := readpast.Open(ctx, settings(), "NoSuchQueue")
	_, setting := readpast.Open(ctx, settings("lease.ms", "soon"), "Work")
	_, driver := readpast.Open(ctx, settings("connection", "Driver={No Such Driver}"), "Work")
	_, none := queue.Claim(ctx, 0, 0)
	_, tooMany := queue.Claim(ctx, 1<<32+1, 0)
	_, tooLong := queue.Claim(ctx, 1, 48*time.Hour)
	_, past := queue.Claim(ctx, 1, -time.Second)
	_, nul := queue.Settle(ctx, readpast.Operate("a\x00b", readpast.ActionCancel))
	_, noText := queue.Settle(ctx, readpast.Operate("a\xff", readpast.ActionCancel))
	_, column := queue.Enqueue(ctx, readpast.NewItem{}, readpast.NewItem{Columns: readpast.Columns{"Nowhere": 1}})
	for _, each := range []struct {
		err    error
		status readpast.Status
		says   string
	}{
		{unknown, readpast.StatusUnknownQueue, "NoSuchQueue"},
		{setting, readpast.StatusInvalidConfig, "lease.ms"},
		{driver, readpast.StatusDriverMissing, "SQLSTATE"},
		{none, readpast.StatusInvalidArgument, "1 to 1000"},
		{tooMany, readpast.StatusInvalidArgument, "1 to 1000"},
		{tooLong, readpast.StatusInvalidArgument, "86400"},
		{past, readpast.StatusInvalidArgument, "-1000"},
		{nul, readpast.StatusInvalidArgument, "NUL"},
		{noText, readpast.StatusInvalidArgument, "UTF-8"},
		{column, readpast.StatusInvalidItem, "Nowhere"},
	} {
		var failure *readpast.Error
		if !errors.As(each.err, &failure) || !errors.Is(each.err, each.status) {
			t.Fatalf("%v is not %v", each.err, each.status)
		}
		if errors.Is(each.err, readpast.StatusDeadlock) || failure.Retryable || failure.Operation != "" {
			t.Errorf("%#v", failure)
		}
		if !strings.Contains(each.err.Error(), each.says) || !strings.Contains(each.err.Error(), each.status.String()) {
			t.Errorf("%v does not say %q", each.err, each.says)
		}
	}
	equal(t, stats(t, queue).Pending, 0)
}

func TestAQueueKnowsItsWorkerAndLease(t *testing.T) {
	queue := open(t, "worker", "Jörg", "lease.ms", "1500")
	equal(t, queue.WorkerName(), "Jörg")
	equal(t, queue.Lease(), 1500*time.Millisecond)
	shared := must(queue.Share())(t)
	defer shared.Close()
	equal(t, shared.WorkerName(), "Jörg")
}
