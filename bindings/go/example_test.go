package readpast_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"time"

	readpast "github.com/readpast/readpast/bindings/go"
)

// From an empty database to an item that is done.
func Example() {
	ctx := context.Background()
	options := readpast.Options{"connection": os.Getenv("READPAST_CONNECTION"), "schema": "example"}
	err := readpast.Install(ctx, options, `{"queue": "Letter", "columns": [
		{"name": "Recipient", "type": "text(254)"}, {"name": "Pages", "type": "integer"}]}`)
	if err != nil {
		log.Fatal(err)
	}
	queue, err := readpast.Open(ctx, options, "Letter")
	if err != nil {
		log.Fatal(err)
	}
	defer queue.Close()

	letter := readpast.NewItem{Columns: readpast.Columns{"Recipient": "customer@example.com", "Pages": 2}}
	if _, err = queue.Enqueue(ctx, letter); err != nil {
		log.Fatal(err)
	}
	batch, err := queue.Claim(ctx, 1, time.Second)
	if err != nil {
		log.Fatal(err)
	}
	defer batch.Close()
	item := batch.Item(0)
	pages, err := item.Value("Pages").Int64()
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(item.Value("Recipient"), pages)
	outcomes, err := queue.Settle(ctx, item.Complete().WithResponse("sent"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(outcomes[0].Answer, outcomes[0].State)
	// Output:
	// customer@example.com 2
	// READPAST_OK Completed
}

// A service: several goroutines, leases that are renewed while the work takes its time, retries, and an orderly stop.
func ExampleWorker() {
	queue := exampleQueue("ExampleWorker", "one", "two", "three")
	defer queue.Close()
	ctx, stop := context.WithCancel(context.Background()) // or signal.NotifyContext
	done := 0
	worker := readpast.Worker{
		Queue:     queue,
		BatchSize: 50,
		Handler: func(ctx context.Context, item *readpast.Item) (readpast.Settlement, error) {
			payload, err := item.Value("Payload").Text()
			if err != nil {
				return readpast.Settlement{}, err // recorded, and tried again
			}
			fmt.Println("working on", payload)
			return item.Complete().WithResponse("done with " + payload), nil
		},
		Observe: func(event readpast.Event) {
			fmt.Println(event.Kind, "attempt", event.Attempt, event.State)
			if done++; done == 3 {
				stop()
			}
		},
	}
	if err := worker.Run(ctx); err != nil {
		log.Fatal(err)
	}
	// Unordered output:
	// working on one
	// working on two
	// working on three
	// Settled attempt 1 Completed
	// Settled attempt 1 Completed
	// Settled attempt 1 Completed
}

// The end of a context ends a wait, and no other.
func ExampleQueue_Claim() {
	queue := exampleQueue("ExampleClaim")
	defer queue.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	_, err := queue.Claim(ctx, 100, time.Hour)
	fmt.Println(err)
	batch, err := queue.Claim(context.Background(), 100, 0)
	fmt.Println(batch.Status(), err)
	// Output:
	// context deadline exceeded
	// READPAST_EMPTY <nil>
}

// An error has a status, which errors.Is compares, and says what to do.
func ExampleError() {
	options := readpast.Options{"connection": os.Getenv("READPAST_CONNECTION"), "schema": "example"}
	_, err := readpast.Open(context.Background(), options, "NoSuchQueue")
	fmt.Println(errors.Is(err, readpast.StatusUnknownQueue))
	var failure *readpast.Error
	if errors.As(err, &failure) {
		fmt.Println(failure.Status, failure.Retryable)
	}
	// Output:
	// true
	// READPAST_UNKNOWN_QUEUE false
}

// A call whose outcome is unknown is made again under its identity.
func ExampleQueue_Operation() {
	ctx := context.Background()
	queue := exampleQueue("ExampleOperation", "one")
	defer queue.Close()
	batch, err := queue.Claim(ctx, 1, 0)
	if err != nil {
		log.Fatal(err)
	}
	defer batch.Close()

	settlement := batch.Item(0).Complete()
	outcomes, err := queue.Settle(ctx, settlement)
	for failure := (*readpast.Error)(nil); errors.As(err, &failure) && failure.Operation != ""; {
		time.Sleep(time.Second)
		outcomes, err = queue.Operation(failure.Operation).Settle(ctx, settlement)
	}
	fmt.Println(outcomes.Status(), err)
	// Output: READPAST_OK <nil>
}

// A long piece of work records how far it has come, so that a later attempt need not begin anew.
func ExampleItem_RecordStep() {
	ctx := context.Background()
	queue := exampleQueue("ExampleStep", "a long story")
	defer queue.Close()
	batch, err := queue.Claim(ctx, 1, 0)
	if err != nil {
		log.Fatal(err)
	}
	defer batch.Close()
	item := batch.Item(0)
	outcome, err := item.RecordStep(ctx, "rendered")
	fmt.Println(outcome.Answer, outcome.State, err)
	outcomes, err := queue.Settle(ctx, item.Complete())
	fmt.Println(outcomes.Status(), err)
	// Output:
	// READPAST_OK Processing <nil>
	// READPAST_OK <nil>
}

// exampleQueue is a queue of its own, with some items.
func exampleQueue(name string, payloads ...string) *readpast.Queue {
	ctx := context.Background()
	options := readpast.Options{"connection": os.Getenv("READPAST_CONNECTION"), "schema": "example"}
	spec := fmt.Sprintf(`{"queue": %q, "columns": [{"name": "Payload", "type": "text"}]}`, name)
	if err := readpast.Install(ctx, options, spec); err != nil {
		log.Fatal(err)
	}
	options["worker.hold_ms"] = "3600000" // on a busy machine, too, no item is given back before its handler begins
	queue, err := readpast.Open(ctx, options, name)
	if err != nil {
		log.Fatal(err)
	}
	// Items of another run may be left.
	ended := map[string]any{"filter": map[string]any{"status": []string{"Completed", "Failed"}}, "max": readpast.MostItems}
	if _, err = queue.Ask(ctx, "purge", ended); err != nil {
		log.Fatal(err)
	}
	items := make([]readpast.NewItem, len(payloads))
	for i, payload := range payloads {
		items[i].Columns = readpast.Columns{"Payload": payload}
	}
	if len(items) > 0 {
		if _, err = queue.Enqueue(ctx, items...); err != nil {
			log.Fatal(err)
		}
	}
	return queue
}
