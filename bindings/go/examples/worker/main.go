// A worker, to copy and make your own: put your work into handle.
//
//	READPAST_CONNECTION='Driver={...};Server=...;' worker [-b items] [-l lease_ms] [-o key=value]... [-f n] [-r] queue
//
//	-b items       how many items to take at once (default 50)
//	-l lease_ms    how long a claim holds, should this process die
//	-o key=value   any setting of the library, like -o schema=sales
//	-f n           every nth item fails, to see what becomes of it
//	-r             write to standard output what was claimed and what the server answered, as
//	               bindings/c/examples/records.h describes
//
// SIGTERM or SIGINT (Ctrl-C) ends it in order: what was begun is settled, what was not is given back. A second Ctrl-C
// ends it at once; the leases then run out, and other workers take over.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	readpast "github.com/readpast/readpast/bindings/go"
)

// arguments are what the command line says.
type arguments struct {
	options   readpast.Options
	queue     string
	batchSize int
	failEvery int64
	records   bool
}

func main() {
	given, ok := read(os.Args[1:])
	if !ok {
		fmt.Fprintln(os.Stderr, "usage: worker [-b items] [-l lease_ms] [-o key=value]... [-f n] [-r] queue")
		os.Exit(2)
	}
	ctx := untilSignal()
	if err := work(ctx, given); err != nil {
		fmt.Fprintf(os.Stderr, "%s: %v\n", given.queue, err)
		os.Exit(1)
	}
}

func work(ctx context.Context, given arguments) error {
	queue, err := readpast.Open(ctx, given.options, given.queue)
	if err != nil {
		return err
	}
	defer queue.Close()
	worker := readpast.Worker{Queue: queue, Handler: handler(given.failEvery), BatchSize: given.batchSize}
	if given.records {
		worker.Claimed, worker.Observe = recordTaken, recordEvent
	}
	if err := worker.Run(ctx); err != nil {
		return err
	}
	ending, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	return queue.Shutdown(ending)
}

// handler is the work itself, of which this program only pretends.
func handler(failEvery int64) readpast.Handler {
	var handled atomic.Int64
	return func(_ context.Context, item *readpast.Item) (readpast.Settlement, error) {
		recipient, err := item.Value("Recipient").Text()
		if errors.Is(err, readpast.ErrNull) {
			return item.Fail("there is no recipient"), nil
		}
		if err != nil {
			return readpast.Settlement{}, err
		}
		// Here a message would be sent to the recipient.
		if number := handled.Add(1); failEvery > 0 && number%failEvery == 0 {
			return item.Retry("the mail server said to " + recipient + ": 451 try again later"), nil
		}
		return item.Complete(), nil
	}
}

// untilSignal ends with the first signal, and the process with the second Ctrl-C.
func untilSignal() context.Context {
	ctx, cancel := context.WithCancel(context.Background())
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	go func() {
		<-signals
		cancel()
		for number := range signals {
			if number == syscall.SIGINT {
				os.Exit(130) // a person has lost patience
			}
		}
	}()
	return ctx
}

func read(from []string) (arguments, bool) {
	given := arguments{options: readpast.Options{"connection": os.Getenv("READPAST_CONNECTION")}}
	flags := flag.NewFlagSet("worker", flag.ContinueOnError)
	flags.SetOutput(io.Discard) // the usage says it all
	flags.IntVar(&given.batchSize, "b", 50, "")
	flags.Int64Var(&given.failEvery, "f", 0, "")
	flags.BoolVar(&given.records, "r", false, "")
	flags.Func("l", "", func(value string) error {
		given.options["lease.ms"] = value
		return nil
	})
	flags.Func("o", "", func(setting string) error {
		key, value, is := strings.Cut(setting, "=")
		if !is {
			return errors.New("a setting is a key, an equals sign and a value")
		}
		given.options[key] = value
		return nil
	})
	err := flags.Parse(from)
	given.queue = flags.Arg(0)
	return given, err == nil && flags.NArg() == 1 && given.batchSize >= 1 && given.batchSize <= readpast.MostItems
}
