// Package readpastotel has the context of a span travel with an item, and go on around its handler. It is a module of its own, so
// that other programs do not need OpenTelemetry. The queue's description has trace; other queues enqueue and work as ever,
// without spans.
//
//	tracing := readpastotel.Tracing{Queue: queue}
//	tracing.Enqueue(ctx, readpast.NewItem{Columns: columns})
//	worker := readpast.Worker{Queue: queue, Handler: tracing.Handler(handle)}
//
// Spans are as OpenTelemetry's conventions for messaging have them: "send <queue>" (producer), and "process <queue>" (consumer),
// whose parent is the context that the item brings, and which links to it. The spans of several attempts at an item are
// siblings.
package readpastotel

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	readpast "github.com/readpast/readpast/bindings/go"
)

var w3c propagation.TraceContext

// Tracing makes the spans of a queue.
type Tracing struct {
	// Queue is required.
	Queue *readpast.Queue
	// Provider makes the tracer; nil is otel.GetTracerProvider().
	Provider trace.TracerProvider
}

// Enqueue is [readpast.Queue.Enqueue] inside a span, whose context goes with the items. One that has a Traceparent of its own
// keeps it, and the span links to it.
func (t Tracing) Enqueue(ctx context.Context, items ...readpast.NewItem) (readpast.Receipts, error) {
	return t.Sending(ctx, items, t.Queue.Enqueue)
}

// Sending is Enqueue for who enqueues in another way: with the Enqueue of a [readpast.Operation], for one.
func (t Tracing) Sending(
	ctx context.Context, items []readpast.NewItem,
	enqueue func(context.Context, ...readpast.NewItem) (readpast.Receipts, error),
) (readpast.Receipts, error) {
	if !t.Queue.IsTraced() {
		return enqueue(ctx, items...)
	}
	attributes := t.attributes("send")
	if len(items) != 1 {
		attributes = append(attributes, attribute.Int("messaging.batch.message_count", len(items)))
	}
	var links []trace.Link
	for i := range items {
		links = append(links, linksTo(brought(items[i].Traceparent, items[i].Tracestate))...)
	}
	ctx, span := t.tracer().Start(ctx, "send "+t.Queue.Name(), trace.WithSpanKind(trace.SpanKindProducer),
		trace.WithAttributes(attributes...), trace.WithLinks(links...))
	defer span.End()
	carrier := propagation.MapCarrier{}
	w3c.Inject(ctx, carrier)
	sent := make([]readpast.NewItem, len(items))
	for i := range items {
		sent[i] = items[i]
		if sent[i].Traceparent == "" {
			sent[i].Traceparent, sent[i].Tracestate = carrier["traceparent"], carrier["tracestate"]
		}
	}
	receipts, err := enqueue(ctx, sent...)
	if err != nil {
		failed(span, err)
	} else if len(receipts) == 1 {
		span.SetAttributes(attribute.String("messaging.message.id", receipts[0].Key))
	}
	return receipts, err
}

// Handler is the handler, each of its calls inside a span that goes on with the trace that its item brings, and that its context
// has. The span fails when the handler returns an error, panics, says retry or fail, or settles another item. It has the error as an
// event, but for one that comes of a call of the library: its text may quote what items hold.
func (t Tracing) Handler(handler readpast.Handler) readpast.Handler {
	if !t.Queue.IsTraced() {
		return handler
	}
	return func(ctx context.Context, item *readpast.Item) (readpast.Settlement, error) {
		parent := brought(item.Traceparent(), item.Tracestate())
		links := linksTo(parent)
		if around := trace.SpanContextFromContext(ctx); around.IsValid() {
			links = append(links, trace.Link{SpanContext: around})
		}
		attributes := append(t.attributes("process"), attribute.String("messaging.message.id", item.Key),
			attribute.Int("messaging.readpast.message.delivery_attempt", item.Attempt))
		ctx, span := t.tracer().Start(trace.ContextWithRemoteSpanContext(ctx, parent), "process "+t.Queue.Name(),
			trace.WithSpanKind(trace.SpanKindConsumer), trace.WithAttributes(attributes...), trace.WithLinks(links...))
		isDone := false
		defer func() {
			if !isDone {
				// The handler panics: the worker logs the reason.
				span.SetAttributes(attribute.String("error.type", "panic"))
				span.SetStatus(codes.Error, "")
			}
			span.End()
		}()
		settlement, err := handler(ctx, item)
		isDone = true
		tell(span, item, settlement, err)
		return settlement, err
	}
}

// tell says what came of a handler.
func tell(span trace.Span, item *readpast.Item, settlement readpast.Settlement, err error) {
	if err != nil {
		if ours := (*readpast.Error)(nil); !errors.As(err, &ours) {
			span.RecordError(err)
		}
		failed(span, err)
		return
	}
	if settlement.Key == "" && settlement.Action == 0 {
		// The zero value is Complete.
		return
	}
	if settlement.Key != item.Key {
		// A mistake, of which the item becomes Failed.
		span.SetAttributes(attribute.String("error.type", "mistake"))
		span.SetStatus(codes.Error, "")
		return
	}
	action := strings.ToLower(settlement.Action.String())
	span.SetAttributes(attribute.String("messaging.readpast.settlement", action))
	if settlement.Action == readpast.ActionRetry || settlement.Action == readpast.ActionFail {
		span.SetAttributes(attribute.String("error.type", action))
		span.SetStatus(codes.Error, "")
	}
}

func failed(span trace.Span, err error) {
	kind := fmt.Sprintf("%T", err)
	var ours *readpast.Error
	if errors.As(err, &ours) {
		kind = ours.Status.String()
	}
	span.SetAttributes(attribute.String("error.type", kind))
	span.SetStatus(codes.Error, "")
}

// brought is the context that an item brings; not valid, if it brings none.
func brought(traceparent, tracestate string) trace.SpanContext {
	carrier := propagation.MapCarrier{"traceparent": known(traceparent), "tracestate": tracestate}
	return trace.SpanContextFromContext(w3c.Extract(context.Background(), carrier))
}

// known is the traceparent with the one flag that every version of OpenTelemetry for Go reads, sampled. Those before the second
// level of the standard refuse one that has another, as that of a trace whose number is random.
func known(traceparent string) string {
	const flags = len("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-")
	if len(traceparent) < flags+2 {
		return traceparent
	}
	given, err := strconv.ParseUint(traceparent[flags:flags+2], 16, 8)
	if err != nil {
		return traceparent
	}
	return fmt.Sprintf("%s%02x", traceparent[:flags], given&uint64(trace.FlagsSampled))
}

func linksTo(brought trace.SpanContext) []trace.Link {
	if !brought.IsValid() {
		return nil
	}
	return []trace.Link{{SpanContext: brought}}
}

func (t Tracing) attributes(operation string) []attribute.KeyValue {
	return []attribute.KeyValue{
		attribute.String("messaging.system", "readpast"),
		attribute.String("messaging.destination.name", t.Queue.Name()),
		attribute.String("messaging.operation.name", operation),
		attribute.String("messaging.operation.type", operation),
		attribute.String("messaging.client.id", t.Queue.WorkerName()),
	}
}

func (t Tracing) tracer() trace.Tracer {
	provider := t.Provider
	if provider == nil {
		provider = otel.GetTracerProvider()
	}
	return provider.Tracer("github.com/readpast/readpast/bindings/go/readpastotel")
}
