package main

import (
	"context"
	"encoding/json"
	"errors"
	"sync/atomic"
	"time"

	readpast "github.com/readpast/readpast/bindings/go"
)

// play is what the handler does with an item.
type play struct {
	Do              string
	Response, Error *string
	Message, Due    string
	Step            *string
	Spoil           string
	Ms              int64
	Percent         int
	Text            string
	DelayMs         *int64 `json:"delay_ms"`
	Set             json.RawMessage
	Then            []follower
}

// work runs the binding's worker, whose handler does what the script says for each payload.
func work(ctx context.Context, r *request) (answer, error) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var handled, atOnce, mostAtOnce atomic.Int64
	var aside any
	worker := readpast.Worker{
		Queue: r.queue(), Concurrency: r.Threads, BatchSize: r.BatchSize,
		UntilEmpty:    r.Until == 0,
		SettleTimeout: time.Duration(r.SettleTimeoutMs) * time.Millisecond,
		Observe: func(event readpast.Event) {
			if event.Kind == readpast.EventSetAside {
				aside = event.Key
			}
		},
		Handler: func(ctx context.Context, item *readpast.Item) (readpast.Settlement, error) {
			now := atOnce.Add(1)
			for most := mostAtOnce.Load(); now > most && !mostAtOnce.CompareAndSwap(most, now); {
				most = mostAtOnce.Load()
			}
			defer func() {
				atOnce.Add(-1)
				if handled.Add(1) == int64(r.Until) {
					stop()
				}
			}()
			payload, _ := item.Value("Payload").Text()
			return r.Script[payload].run(ctx, item)
		},
	}
	err := worker.Run(ctx)
	return ok().with("handled", handled.Load()).with("most_at_once", mostAtOnce.Load()).with("aside", aside), err
}

func (p play) run(ctx context.Context, item *readpast.Item) (settlement readpast.Settlement, err error) {
	switch p.Do {
	case "":
		// Not in the script.
	case "step":
		_, err = item.RecordStep(ctx, *p.Step)
	case "sleep":
		time.Sleep(time.Duration(p.Ms) * time.Millisecond)
	case "progress":
		if err = errors.Join(item.Progress(p.Percent-1, "before"), item.Progress(p.Percent, p.Text)); err != nil {
			break
		}
		fallthrough
	case "wait_lost":
		<-ctx.Done()
		for !item.Lost() { // the worker stops
			time.Sleep(10 * time.Millisecond)
		}
	case "raise":
		panic(p.Message)
	default:
		settlement = item.Settle(actionNamed(p.Do))
		settlement.Step, settlement.Due, settlement.Delay = p.Step, p.Due, duration(p.DelayMs)
		settlement.Set, settlement.Then = p.Set, followers(p.Then)
		settlement.Response, settlement.Error = p.spoilt("response", p.Response), p.spoilt("error", p.Error)
	}
	return settlement, err
}

// spoilt is the text with what none may hold, if the script says so.
func (p play) spoilt(name string, text *string) *string {
	if text == nil || p.Spoil != name {
		return text
	}
	spoilt := *text + "\x00\xff"
	return &spoilt
}

// toJSON reads the answer's values before the batch that holds them is closed.
func toJSON(value any) json.RawMessage {
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return text
}
