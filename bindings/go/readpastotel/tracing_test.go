package readpastotel_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	readpast "github.com/readpast/readpast/bindings/go"
	"github.com/readpast/readpast/bindings/go/readpastotel"
)

var made atomic.Int64

// open makes a queue of its own, and what its spans end up in.
func open(t *testing.T, isTraced bool) (readpastotel.Tracing, *tracetest.InMemoryExporter) {
	t.Helper()
	ctx, name := context.Background(), fmt.Sprintf("Traced%dx%d", time.Now().UnixMilli(), made.Add(1))
	options := readpast.Options{
		"connection": os.Getenv("READPAST_CONNECTION"), "schema": "readpast_go",
		"login.timeout_ms": "600000", "query.timeout_ms": "600000", "retry.budget_ms": "600000",
	}
	spec := fmt.Sprintf(
		`{"queue": %q, "trace": %t, "backoff": "none", "columns": [{"name": "Payload", "type": "text"}]}`, name, isTraced,
	)
	if err := readpast.Install(ctx, options, spec); err != nil {
		t.Fatal(err)
	}
	queue, err := readpast.Open(ctx, options, name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { queue.Close() })
	exporter := tracetest.NewInMemoryExporter()
	provider := sdk.NewTracerProvider(sdk.WithSyncer(exporter))
	return readpastotel.Tracing{Queue: queue, Provider: provider}, exporter
}

func payload(text string) readpast.NewItem {
	return readpast.NewItem{Columns: readpast.Columns{"Payload": text}}
}

func work(t *testing.T, tracing readpastotel.Tracing, handler readpast.Handler) {
	t.Helper()
	worker := readpast.Worker{Queue: tracing.Queue, Handler: tracing.Handler(handler), UntilEmpty: true}
	if err := worker.Run(context.Background()); err != nil {
		t.Fatal(err)
	}
}

func has(t *testing.T, span tracetest.SpanStub, wanted ...attribute.KeyValue) {
	t.Helper()
	for _, attribute := range wanted {
		if !slices.Contains(span.Attributes, attribute) {
			t.Errorf("%s has no %v: %v", span.Name, attribute, span.Attributes)
		}
	}
}

func TestAHandlerGoesOnWithTheTraceOfItsItem(t *testing.T) {
	tracing, exporter := open(t, true)
	ctx, request := tracing.Provider.Tracer("test").Start(context.Background(), "request")
	receipts, err := tracing.Enqueue(ctx, payload("a"))
	if err != nil {
		t.Fatal(err)
	}
	request.End()
	attempts := 0
	work(t, tracing, func(ctx context.Context, item *readpast.Item) (readpast.Settlement, error) {
		_, inner := tracing.Provider.Tracer("test").Start(ctx, "inner")
		defer inner.End()
		if attempts++; attempts == 1 {
			return item.Retry("451 greylisted"), nil
		}
		return item.Complete(), nil
	})
	spans := exporter.GetSpans()
	var names []string
	for i := range spans {
		names = append(names, strings.Fields(spans[i].Name)[0])
		if spans[i].SpanContext.TraceID() != request.SpanContext().TraceID() {
			t.Errorf("%s is of another trace", spans[i].Name)
		}
	}
	if !slices.Equal(names, []string{"send", "request", "inner", "process", "inner", "process"}) {
		t.Fatalf("there are %v", names)
	}
	send, first, second := spans[0], spans[3], spans[5]
	if send.SpanKind != trace.SpanKindProducer || send.Name != "send "+tracing.Queue.Name() {
		t.Errorf("%s is a %v", send.Name, send.SpanKind)
	}
	queue := attribute.String("messaging.destination.name", tracing.Queue.Name())
	system := attribute.String("messaging.system", "readpast")
	id := attribute.String("messaging.message.id", receipts[0].Key)
	has(t, send, queue, system, id, attribute.String("messaging.operation.type", "send"))
	for i, span := range []tracetest.SpanStub{first, second} {
		if span.SpanKind != trace.SpanKindConsumer || span.Parent.SpanID() != send.SpanContext.SpanID() || !span.Parent.IsRemote() {
			t.Errorf("%s is a %v, child of %v", span.Name, span.SpanKind, span.Parent)
		}
		if len(span.Links) != 1 || span.Links[0].SpanContext.SpanID() != send.SpanContext.SpanID() {
			t.Errorf("it links to %v", span.Links)
		}
		has(t, span, queue, system, id, attribute.String("messaging.operation.type", "process"),
			attribute.Int("messaging.readpast.message.delivery_attempt", i+1))
	}
	if first.Status.Code != codes.Error || second.Status.Code != codes.Unset {
		t.Errorf("they ended with %v and %v", first.Status, second.Status)
	}
	has(t, first, attribute.String("error.type", "retry"))
}

func TestAnItemKeepsATraceOfItsOwn(t *testing.T) {
	tracing, exporter := open(t, true)
	own := payload("own")
	own.Traceparent, own.Tracestate = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01", "rojo=1"
	if _, err := tracing.Enqueue(context.Background(), own, payload("sent")); err != nil {
		t.Fatal(err)
	}
	work(t, tracing, func(_ context.Context, item *readpast.Item) (readpast.Settlement, error) {
		return item.Complete(), nil
	})
	spans := exporter.GetSpans()
	if len(spans) != 3 {
		t.Fatalf("there are %v", spans)
	}
	send := spans[0]
	has(t, send, attribute.Int("messaging.batch.message_count", 2))
	if len(send.Links) != 1 || send.Links[0].SpanContext.SpanID().String() != "00f067aa0ba902b7" {
		t.Errorf("it links to %v", send.Links)
	}
	if parent := spans[1].Parent; parent.SpanID().String() != "00f067aa0ba902b7" || parent.TraceState().String() != "rojo=1" {
		t.Errorf("the parent is %v", parent)
	}
	if spans[2].Parent.SpanID() != send.SpanContext.SpanID() {
		t.Errorf("the parent is %v", spans[2].Parent)
	}
}

func TestATraceWithFlagsOfALaterStandardIsGoneOnWith(t *testing.T) {
	for flags, isSampled := range map[string]bool{"03": true, "02": false} {
		tracing, exporter := open(t, true)
		item := payload("a")
		item.Traceparent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-" + flags
		if _, err := tracing.Queue.Enqueue(context.Background(), item); err != nil {
			t.Fatal(err)
		}
		var parent trace.SpanContext
		work(t, tracing, func(ctx context.Context, item *readpast.Item) (readpast.Settlement, error) {
			parent = trace.SpanContextFromContext(ctx)
			return item.Complete(), nil
		})
		if parent.TraceID().String() != "4bf92f3577b34da6a3ce929d0e0e4736" || parent.IsSampled() != isSampled {
			t.Errorf("of %s it is %v", flags, parent)
		}
		if spans := exporter.GetSpans(); len(spans) != map[bool]int{true: 1, false: 0}[isSampled] {
			t.Errorf("of %s there are %v", flags, spans)
		}
	}
}

func TestErrorsAndPanicsFailTheSpan(t *testing.T) {
	tracing, exporter := open(t, true)
	if _, err := tracing.Enqueue(context.Background(), payload("error"), payload("panic")); err != nil {
		t.Fatal(err)
	}
	tried := map[string]bool{}
	work(t, tracing, func(_ context.Context, item *readpast.Item) (readpast.Settlement, error) {
		what, _ := item.Value("Payload").Text()
		if tried[what] {
			return item.Complete(), nil
		}
		tried[what] = true
		if what == "panic" {
			panic("spilt")
		}
		return readpast.Settlement{}, errors.New("451 greylisted")
	})
	ended := map[string]int{}
	for _, span := range exporter.GetSpans()[1:] {
		for _, attribute := range span.Attributes {
			if attribute.Key == "error.type" {
				ended[attribute.Value.AsString()]++
			}
		}
	}
	if len(ended) != 2 || ended["panic"] != 1 || ended["*errors.errorString"] != 1 {
		t.Errorf("they failed with %v", ended)
	}
}

func TestASettlementOfAnotherItemFailsTheSpan(t *testing.T) {
	tracing, exporter := open(t, true)
	if _, err := tracing.Enqueue(context.Background(), payload("another's"), payload("nobody's")); err != nil {
		t.Fatal(err)
	}
	work(t, tracing, func(_ context.Context, item *readpast.Item) (readpast.Settlement, error) {
		if what, _ := item.Value("Payload").Text(); what == "nobody's" {
			return readpast.Settlement{Action: readpast.ActionComplete}, nil
		}
		return readpast.Operate("another", readpast.ActionComplete), nil
	})
	stats, err := tracing.Queue.Stats(context.Background())
	if err != nil || stats.Failed != 2 {
		t.Fatalf("%v failed, %v", stats.Failed, err)
	}
	for _, span := range exporter.GetSpans()[1:] {
		has(t, span, attribute.String("error.type", "mistake"))
		for _, attribute := range span.Attributes {
			if attribute.Key == "messaging.readpast.settlement" {
				t.Errorf("it says %v", attribute.Value)
			}
		}
		if span.Status.Code != codes.Error {
			t.Errorf("it ended with %v", span.Status)
		}
	}
}

func TestAnErrorOfTheLibraryIsNoEvent(t *testing.T) {
	tracing, exporter := open(t, true)
	wrong := readpast.NewItem{Columns: readpast.Columns{"s3cret": 1}}
	if _, err := tracing.Enqueue(context.Background(), wrong); err == nil || !strings.Contains(err.Error(), "s3cret") {
		t.Fatal(err)
	}
	if _, err := tracing.Enqueue(context.Background(), payload("ours"), payload("the library's")); err != nil {
		t.Fatal(err)
	}
	work(t, tracing, func(ctx context.Context, item *readpast.Item) (readpast.Settlement, error) {
		if item.Attempt > 1 {
			return item.Complete(), nil
		}
		if what, _ := item.Value("Payload").Text(); what == "ours" {
			return readpast.Settlement{}, errors.New("451 greylisted")
		}
		_, err := tracing.Queue.Enqueue(ctx, wrong)
		return readpast.Settlement{}, fmt.Errorf("the next step: %w", err)
	})
	events := map[string]int{}
	for _, span := range exporter.GetSpans() {
		for _, event := range span.Events {
			for _, attribute := range event.Attributes {
				if attribute.Key == "exception.message" {
					events[attribute.Value.AsString()]++
				}
			}
		}
	}
	if len(events) != 1 || events["451 greylisted"] != 1 {
		t.Errorf("the events are %v", events)
	}
}

func TestAQueueWithoutAPlaceForItHasNoSpans(t *testing.T) {
	tracing, exporter := open(t, false)
	if _, err := tracing.Enqueue(context.Background(), payload("a")); err != nil {
		t.Fatal(err)
	}
	work(t, tracing, func(ctx context.Context, item *readpast.Item) (readpast.Settlement, error) {
		if trace.SpanContextFromContext(ctx).IsValid() {
			t.Error("there is a span")
		}
		return item.Complete(), nil
	})
	if spans := exporter.GetSpans(); len(spans) != 0 {
		t.Errorf("there are %v", spans)
	}
}
