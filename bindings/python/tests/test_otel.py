"""The context of a span travels with an item, and goes on around its handler."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any, Callable

import pytest
import support
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanContext, SpanKind, StatusCode

import readpast
from readpast import otel
from readpast.aio import AsyncQueue

_exporter = InMemorySpanExporter()
_provider = TracerProvider()
_provider.add_span_processor(SimpleSpanProcessor(_exporter))
trace.set_tracer_provider(_provider)
_tracer = trace.get_tracer("test")


@pytest.fixture(autouse=True)
def _fresh() -> None:
    _exporter.clear()


@pytest.fixture
def traced() -> Iterator[readpast.Queue]:
    name = support.install(trace=True)
    with readpast.Queue(name, **support.settings()) as queue:
        yield queue


def spans(word: str) -> list[ReadableSpan]:
    return [span for span in _exporter.get_finished_spans() if span.name.split()[0] == word]


def attributes(span: ReadableSpan) -> dict[str, object]:
    return dict(span.attributes or {})


def context(span: ReadableSpan) -> SpanContext:
    found = span.get_span_context()
    assert found is not None
    return found


def span_id(span: ReadableSpan) -> int:
    return context(span).span_id


def parent_id(span: ReadableSpan) -> int | None:
    return span.parent.span_id if span.parent else None


def work(queue: readpast.Queue, handler: Callable[[readpast.Item], Any]) -> None:
    """Until all is completed."""
    worker = readpast.Worker(queue, otel.traced(queue, handler))

    def is_done() -> bool:
        stats = queue.stats()
        return stats.pending + stats.processing + stats.error == 0

    def stop() -> None:
        support.until(is_done, "what the worker shall do")
        worker.stop()

    watching = threading.Thread(target=stop)
    watching.start()
    worker.run()
    watching.join()


def test_a_handler_goes_on_with_the_trace_of_its_item(traced: readpast.Queue) -> None:
    with _tracer.start_as_current_span("request") as request:
        receipt = otel.enqueue(traced, {"Payload": "a"})

    def handle(item: readpast.Item) -> readpast.Settlement | None:
        with _tracer.start_as_current_span("inner"):
            return item.retry("451 greylisted") if item.attempt == 1 else None

    work(traced, handle)
    (send,), attempts, inner = spans("send"), spans("process"), spans("inner")
    ids = {context(span).trace_id for span in _exporter.get_finished_spans()}
    assert ids == {request.get_span_context().trace_id}
    assert (send.kind, send.name, parent_id(send)) == (
        SpanKind.PRODUCER,
        f"send {traced.name}",
        request.get_span_context().span_id,
    )
    common = {
        "messaging.system": "readpast",
        "messaging.destination.name": traced.name,
        "messaging.message.id": receipt.key,
        "messaging.client.id": traced.worker,
    }
    sent = {"messaging.operation.name": "send", "messaging.operation.type": "send"}
    assert attributes(send) == {**common, **sent}
    assert [(span.kind, span.name, parent_id(span)) for span in attempts] == [
        (SpanKind.CONSUMER, f"process {traced.name}", span_id(send))
    ] * 2
    assert [parent_id(span) for span in inner] == [span_id(span) for span in attempts]
    assert [[link.context.span_id for link in span.links] for span in attempts] == [[span_id(send)]] * 2
    processed = {"messaging.operation.name": "process", "messaging.operation.type": "process"}
    first, second = attempts
    retried = {"messaging.readpast.settlement": "retry", "error.type": "retry"}
    delivered = "messaging.readpast.message.delivery_attempt"
    assert attributes(first) == {**common, **processed, **retried, delivered: 1}
    assert attributes(second) == {**common, **processed, delivered: 2}
    assert (first.status.status_code, second.status.status_code) == (StatusCode.ERROR, StatusCode.UNSET)


def test_a_coroutine_is_inside_the_span_to_its_end(traced: readpast.Queue) -> None:
    otel.enqueue_many(traced, [{"Payload": "a"}, {"Payload": "b"}])

    async def handle(item: readpast.Item) -> None:
        for _ in range(3):
            await asyncio.sleep(0.001)
        with _tracer.start_as_current_span("inner"):
            if item["Payload"] == "b" and item.attempt == 1:
                raise ValueError("451 greylisted")

    work(traced, handle)
    (send,), attempts, inner = spans("send"), spans("process"), spans("inner")
    assert attributes(send)["messaging.batch.message_count"] == 2
    assert sorted(map(str, map(parent_id, inner))) == sorted(str(span_id(span)) for span in attempts)
    assert {parent_id(span) for span in attempts} == {span_id(send)}
    failed = [span for span in attempts if span.status.status_code is StatusCode.ERROR]
    assert [attributes(span)["error.type"] for span in failed] == ["ValueError"]
    assert [event.name for event in failed[0].events] == ["exception"]


def test_an_item_keeps_a_trace_of_its_own(traced: readpast.Queue) -> None:
    parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    otel.enqueue(traced, readpast.NewItem({"Payload": "a"}, traceparent=parent, tracestate="rojo=1"))
    seen: list[tuple[str | None, str | None]] = []
    work(traced, lambda item: seen.append((item.traceparent, item.tracestate)))
    assert seen == [(parent, "rojo=1")]
    (send,), (process,) = spans("send"), spans("process")
    assert [link.context.span_id for link in send.links] == [0x00F067AA0BA902B7]
    assert process.parent is not None
    assert (process.parent.span_id, process.parent.is_remote) == (0x00F067AA0BA902B7, True)
    assert process.parent.trace_state["rojo"] == "1"


def test_what_is_around_a_handler_is_linked_to_and_is_no_parent(traced: readpast.Queue) -> None:
    otel.enqueue(traced, {"Payload": "a"})
    handle = otel.traced(traced, lambda _: None)
    with traced.claim() as batch, _tracer.start_as_current_span("around") as around:
        handle(batch[0])
    (send,), (process,) = spans("send"), spans("process")
    assert parent_id(process) == span_id(send)
    assert [link.context.span_id for link in process.links] == [span_id(send), around.get_span_context().span_id]


def test_an_enqueue_that_fails_fails_the_span(traced: readpast.Queue) -> None:
    with pytest.raises(readpast.QueueError):
        otel.enqueue(traced, {"Nonsense": 1})
    (send,) = spans("send")
    assert send.status.status_code is StatusCode.ERROR
    assert str(attributes(send)["error.type"]).startswith("readpast.")


def test_an_async_queue_sends_it_as_well(traced: readpast.Queue) -> None:
    async def main() -> None:
        queue = AsyncQueue(traced)
        with otel.sending(traced, [{"Payload": "a"}]) as (sent, told):
            told(await queue.enqueue_many(sent))

    asyncio.run(main())
    (send,) = spans("send")
    with traced.claim() as batch:
        assert f"{span_id(send):016x}" in str(batch[0].traceparent)
        assert attributes(send)["messaging.message.id"] == batch[0].key


def test_a_queue_without_a_place_for_it_has_no_spans(queue: readpast.Queue) -> None:
    def handle(_: readpast.Item) -> None:
        assert not trace.get_current_span().get_span_context().is_valid

    assert otel.traced(queue, handle) is handle
    otel.enqueue(queue, {"Payload": "a"})
    work(queue, handle)
    assert not _exporter.get_finished_spans()


def test_what_can_be_no_handler_is_refused(traced: readpast.Queue) -> None:
    def generator(item: readpast.Item) -> Iterator[str]:
        yield item.key

    with pytest.raises(TypeError, match="generator"):
        otel.traced(traced, generator)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def test_nobody_else_needs_opentelemetry() -> None:
    program = "import readpast, sys; sys.exit('opentelemetry' in sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True)
