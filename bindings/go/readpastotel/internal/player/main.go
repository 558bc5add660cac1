// Player enqueues an item within a request (send QUEUE), or works until one is completed (work QUEUE), and prints the spans: for
// the test of one trace through two languages.
package main

import (
	"context"
	"encoding/json"
	"log"
	"os"

	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	readpast "github.com/readpast/readpast/bindings/go"
	"github.com/readpast/readpast/bindings/go/readpastotel"
)

type span struct {
	Name   string `json:"name"`
	Trace  string `json:"trace"`
	ID     string `json:"id"`
	Parent string `json:"parent"`
}

func main() {
	exporter := tracetest.NewInMemoryExporter()
	provider := sdk.NewTracerProvider(sdk.WithSyncer(exporter))
	if err := play(provider, os.Args[1], os.Args[2]); err != nil {
		log.Fatal(err)
	}
	var spans []span
	for _, made := range exporter.GetSpans() {
		told := span{made.Name, made.SpanContext.TraceID().String(), made.SpanContext.SpanID().String(), ""}
		if made.Parent.IsValid() {
			told.Parent = made.Parent.SpanID().String()
		}
		spans = append(spans, told)
	}
	if err := json.NewEncoder(os.Stdout).Encode(spans); err != nil {
		log.Fatal(err)
	}
}

func play(provider *sdk.TracerProvider, does, name string) error {
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	queue, err := readpast.Open(ctx, readpast.Options{"connection": os.Getenv("READPAST_CONNECTION")}, name)
	if err != nil {
		return err
	}
	defer queue.Close()
	tracing, tracer := readpastotel.Tracing{Queue: queue, Provider: provider}, provider.Tracer("player")
	if does == "send" {
		ctx, request := tracer.Start(ctx, "request")
		defer request.End()
		_, err := tracing.Enqueue(ctx, readpast.NewItem{Columns: readpast.Columns{"Payload": "from Go"}})
		return err
	}
	handle := func(ctx context.Context, item *readpast.Item) (readpast.Settlement, error) {
		payload, err := item.Value("Payload").Text()
		_, handled := tracer.Start(ctx, "handle "+payload)
		defer handled.End()
		stop()
		return item.Complete(), err
	}
	worker := readpast.Worker{Queue: queue, Handler: tracing.Handler(handle)}
	return worker.Run(ctx)
}
