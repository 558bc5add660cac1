package main

import (
	"context"
	"fmt"
	"log"
	"os"

	readpast "github.com/readpast/readpast/bindings/go"
)

const description = `{"queue": "Mail", "columns": [{"name": "Recipient", "type": "text(254)"}]}`

func send(_ context.Context, item *readpast.Item) (readpast.Settlement, error) {
	recipient, err := item.Value("Recipient").Text()
	fmt.Println("work on", recipient)
	return item.Complete(), err
}

func run(ctx context.Context, options readpast.Options) error {
	if err := readpast.Install(ctx, options, description); err != nil { // the second time it changes nothing
		return err
	}
	queue, err := readpast.Open(ctx, options, "Mail")
	if err != nil {
		return err
	}
	defer queue.Close()
	if _, err := queue.Enqueue(ctx, readpast.NewItem{Columns: readpast.Columns{"Recipient": "a@example.org"}}); err != nil {
		return err
	}
	worker := readpast.Worker{Queue: queue, Handler: send, UntilEmpty: true} // a service leaves UntilEmpty out
	return worker.Run(ctx)
}

func main() {
	options := readpast.Options{"connection": os.Getenv("READPAST_CONNECTION")}
	if err := run(context.Background(), options); err != nil {
		log.Fatal(err)
	}
}
