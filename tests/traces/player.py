"""Enqueues an item within a request (`send QUEUE`), or works one off (`work QUEUE`); prints the spans."""

from __future__ import annotations

import json
import os
import sys

import readpast
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import format_span_id, format_trace_id
from readpast import otel

exporter = InMemorySpanExporter()
provider = TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(exporter))
trace.set_tracer_provider(provider)
tracer = trace.get_tracer("player")

does, name = sys.argv[1:]
with readpast.Queue(name, connection=os.environ["READPAST_CONNECTION"]) as queue:
    if does == "send":
        with tracer.start_as_current_span("request"):
            otel.enqueue(queue, {"Payload": "from Python"})
    else:

        def handle(item: readpast.Item) -> None:
            with tracer.start_as_current_span(f"handle {item['Payload']}"):
                worker.stop()

        worker = readpast.Worker(queue, otel.traced(queue, handle))
        worker.run()

spans = [
    {
        "name": span.name,
        "trace": format_trace_id(span.context.trace_id),
        "id": format_span_id(span.context.span_id),
        "parent": format_span_id(span.parent.span_id) if span.parent else "",
    }
    for span in exporter.get_finished_spans()
]
print(json.dumps(spans))
