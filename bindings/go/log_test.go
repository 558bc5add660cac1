package readpast_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log"
	"log/slog"
	"strings"
	"testing"
	"time"

	readpast "github.com/readpast/readpast/bindings/go"
)

// fail does with an item what the first word of its payload says; the rest of the payload is nobody's business.
func fail(_ context.Context, item *readpast.Item) (readpast.Settlement, error) {
	switch strings.Fields(item.Value("Payload").String())[0] {
	case "errs":
		return readpast.Settlement{}, errors.New("451 greylisted")
	case "panics":
		panic("550 no such user")
	case "retries":
		return item.Retry("452 full" + strings.Repeat("!", 15000)).WithDelay(time.Hour), nil
	case "fails":
		return item.Fail("553 no such address"), nil
	case "long":
		return item.Complete().WithResponse("s3crets3crets3cret").WithStep(strings.Repeat("s3cret", 100)), nil
	case "another's":
		return readpast.Operate("another", readpast.ActionComplete), nil
	}
	return item.Complete(), nil
}

func TestTheLogHasEveryFailedAttemptAndNoPayload(t *testing.T) {
	queue := open(t)
	kinds := []string{"errs", "panics", "retries", "fails", "long", "another's", "completes"}
	items, keys := make([]readpast.NewItem, len(kinds)), map[string]string{}
	for i, kind := range kinds {
		items[i].Columns = readpast.Columns{"Payload": kind + " s3cret"}
	}
	for i, receipt := range must(queue.Enqueue(ctx, items...))(t) {
		keys[receipt.Key] = kinds[i]
	}
	var said bytes.Buffer
	worker := readpast.Worker{Queue: queue, BatchSize: 2, Handler: fail, Logger: slog.New(slog.NewJSONHandler(&said, nil))}
	check(t, run(t, &worker, func() bool {
		figures := stats(t, queue)
		return figures.Failed == 4 && figures.Completed == 2 && figures.Error == 1
	}))

	var told []map[string]any
	of := map[string][]map[string]any{}
	for _, line := range strings.Split(strings.TrimSpace(said.String()), "\n") {
		var entry map[string]any
		check(t, json.Unmarshal([]byte(line), &entry))
		told = append(told, entry)
		if key, has := entry["key"].(string); has {
			of[keys[key]] = append(of[keys[key]], entry)
		}
	}
	for _, entry := range told {
		equal(t, entry["queue"], any(queue.Name()))
		equal(t, entry["worker"], any(queue.WorkerName()))
	}
	equal(t, told[0]["msg"], any("the worker started"))
	equal(t, told[0]["batch_size"], any(2.0))
	equal(t, told[len(told)-1]["msg"], any("the worker stopped"))
	equal(t, told[len(told)-1]["settled"], any(11.0))
	equal(t, told[len(told)-1]["refused"], any(1.0))
	for kind, text := range map[string]string{"errs": "451 greylisted", "panics": "panic: 550 no such user"} {
		equal(t, len(of[kind]), 3)
		for i, entry := range of[kind] {
			equal(t, entry["level"], any("WARN"))
			equal(t, entry["msg"], any("an attempt failed"))
			equal(t, entry["attempt"], any(float64(i+1)))
			if !strings.HasPrefix(entry["error"].(string), text) {
				t.Error(entry)
			}
		}
	}
	brief := "452 full" + strings.Repeat("!", 242) + " … (14508 characters left out) … " + strings.Repeat("!", 250)
	for kind, text := range map[string]string{"retries": brief, "fails": "553 no such address"} {
		equal(t, len(of[kind]), 1)
		equal(t, of[kind][0]["error"], any(text))
		equal(t, of[kind][0]["attempt"], any(1.0))
	}
	equal(t, len(of["long"]), 1)
	equal(t, of["long"][0]["level"], any("WARN"))
	equal(t, of["long"][0]["status"], any("READPAST_INVALID_ARGUMENT"))
	equal(t, of["long"][0]["action"], any("Complete"))
	if line := of["long"][0]["msg"].(string); !strings.Contains(line, "a part of the result (step of ") {
		t.Error(line)
	}
	equal(t, len(of["another's"]), 1) // what was done is not done again
	equal(t, of["another's"][0]["level"], any("ERROR"))
	equal(t, of["another's"][0]["attempt"], any(1.0))
	equal(t, len(of["completes"]), 0)
	if strings.Contains(said.String(), "s3cret") {
		t.Error("it tells of a payload: " + said.String())
	}
}

func TestALoggerNeedNotBeGiven(t *testing.T) {
	var said bytes.Buffer
	before := log.Writer()
	log.SetOutput(&said) // to which slog.Default goes
	defer log.SetOutput(before)
	queue := open(t)
	enqueue(t, queue, "errs")
	check(t, run(t, &readpast.Worker{Queue: queue, Handler: fail}, func() bool { return stats(t, queue).Failed == 1 }))
	if !strings.Contains(said.String(), "WARN an attempt failed queue="+queue.Name()+" worker="+queue.WorkerName()+" key=") {
		t.Error(said.String())
	}
}

func TestTheFailureThatEndsAWorkerIsLogged(t *testing.T) {
	var said bytes.Buffer
	logger := slog.New(slog.NewTextHandler(&said, nil))
	worker := readpast.Worker{Queue: open(t), Handler: complete, BatchSize: 5000, Logger: logger}
	if err := worker.Run(ctx); !errors.Is(err, readpast.StatusInvalidArgument) {
		t.Error(err)
	}
	if !strings.Contains(said.String(), "status=READPAST_INVALID_ARGUMENT") {
		t.Error(said.String())
	}
	if !strings.Contains(said.String(), "level=ERROR msg=\"the worker ended\"") {
		t.Error(said.String())
	}
}
