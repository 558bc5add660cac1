// Jobs that do nothing through River, with the settings of its own benchmark but for the number of workers.
//
//	DATABASE_URL=postgres://... river WORKERS COUNT
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"os"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

type nothing struct {
	N int `json:"n"`
}

func (nothing) Kind() string { return "nothing" }

func main() {
	workers, count := number(1), number(2)
	ctx := context.Background()
	pool := must(pgxpool.New(ctx, os.Getenv("DATABASE_URL")))
	driver := riverpgxv5.New(pool)
	must(must(rivermigrate.New(driver, nil)).Migrate(ctx, rivermigrate.DirectionUp, nil))

	var handled atomic.Int64
	all := make(chan struct{})
	handlers := river.NewWorkers()
	river.AddWorker(handlers, river.WorkFunc(func(context.Context, *river.Job[nothing]) error {
		if handled.Add(1) == int64(count) {
			close(all)
		}
		return nil
	}))
	client := must(river.NewClient(driver, &river.Config{
		// As `river bench` has them.
		FetchCooldown:     2 * time.Millisecond,
		FetchPollInterval: 20 * time.Millisecond,
		Logger:            slog.New(slog.NewTextHandler(io.Discard, nil)),
		Queues:            map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: workers}},
		Workers:           handlers,
	}))
	for first := 0; first < count; first += 1000 {
		jobs := make([]river.InsertManyParams, min(1000, count-first))
		for i := range jobs {
			jobs[i].Args = nothing{N: first + i}
		}
		must(client.InsertManyFast(ctx, jobs))
	}

	begun := time.Now()
	check(client.Start(ctx))
	<-all
	check(client.Stop(ctx)) // which completes what is left
	seconds := time.Since(begun).Seconds()
	var left int
	check(pool.QueryRow(ctx, "SELECT count(*) FROM river_job WHERE state <> 'completed'").Scan(&left))
	must(fmt.Println(string(must(json.Marshal(map[string]any{"seconds": seconds, "left": left})))))
}

func number(at int) int { return must(strconv.Atoi(os.Args[at])) }

func must[T any](value T, err error) T {
	check(err)
	return value
}

func check(err error) {
	if err != nil {
		panic(err)
	}
}
