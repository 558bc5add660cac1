"""The context of a span travels with an item, and goes on around its handler."""

from __future__ import annotations

import asyncio
import inspect
import subprocess
import sys
import threading
from collections.abc import Coroutine, Iterator
from contextlib import nullcontext, suppress
from typing import Any, Callable

import pytest
import support
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanContext, SpanKind, StatusCode

import readpast
from readpast import Action, Settlement, otel
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
def traced(request: pytest.FixtureRequest) -> Iterator[readpast.Queue]:
    name = support.install(trace=True, **getattr(request, "param", {}))
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


def test_a_malformed_trace_is_left_out_whatever_it_holds(traced: readpast.Queue) -> None:
    parent = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
    bad = ["nonsense", parent + "\0", "\ud83d"]
    traced.enqueue_many(readpast.NewItem(traceparent=each, tracestate="rojo=1") for each in bad)
    traced.enqueue_many(readpast.NewItem(traceparent=parent, tracestate=each) for each in bad)
    with traced.claim(6) as batch:
        assert [(item.traceparent, item.tracestate) for item in batch] == [(None, None)] * 3 + [(parent, None)] * 3


def test_a_span_around_a_handler_is_linked_to_and_is_no_parent(traced: readpast.Queue) -> None:
    otel.enqueue(traced, {"Payload": "a"})
    handle = otel.traced(traced, lambda _: None)
    with traced.claim() as batch, _tracer.start_as_current_span("around") as around:
        handle(batch[0])
    (send,), (process,) = spans("send"), spans("process")
    assert parent_id(process) == span_id(send)
    assert [link.context.span_id for link in process.links] == [span_id(send), around.get_span_context().span_id]


def test_an_enqueue_that_fails_fails_the_span_which_has_none_of_its_values(traced: readpast.Queue) -> None:
    with pytest.raises(readpast.QueueError, match="s3cret"):
        otel.enqueue(traced, {"Small": "s3cret"})
    (send,) = spans("send")
    assert send.status.status_code is StatusCode.ERROR
    assert str(attributes(send)["error.type"]).startswith("readpast.")
    assert not send.events
    assert "s3cret" not in send.to_json()


def test_a_handler_whose_own_enqueue_fails_shows_none_of_its_values(traced: readpast.Queue) -> None:
    otel.enqueue(traced, {"Payload": "a"})

    def handle(_: readpast.Item) -> None:
        try:
            traced.enqueue({"Small": "s3cret"})
        except readpast.QueueError as error:
            raise RuntimeError("the next step cannot be enqueued") from error

    with traced.claim() as batch, pytest.raises(RuntimeError):
        otel.traced(traced, handle)(batch[0])
    (process,) = spans("process")
    assert attributes(process)["error.type"] == "RuntimeError"
    assert "s3cret" not in process.to_json()


class Left(BaseException):
    """An exception that ends the run."""


@support.deferring("traced")
@pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt, asyncio.CancelledError, Left])
@pytest.mark.parametrize("is_coroutine", [False, True])
def test_whatever_ends_an_attempt_fails_its_span(
    traced: readpast.Queue, error: type[BaseException], is_coroutine: bool
) -> None:
    otel.enqueue(traced, {"Payload": "a"})

    def leave(_: readpast.Item) -> None:
        worker.stop()
        raise error

    async def leave_later(item: readpast.Item) -> None:
        leave(item)

    worker = readpast.Worker(traced, otel.traced(traced, leave_later if is_coroutine else leave))
    # A coroutine that other code than the worker cancels is tried again, and the worker goes on.
    with nullcontext() if is_coroutine and error is asyncio.CancelledError else pytest.raises(error):
        worker.run()
    assert traced.stats().error == 1
    (process,) = spans("process")
    assert process.status.status_code is StatusCode.ERROR
    assert str(attributes(process)["error.type"]).endswith(error.__name__)


def test_a_handler_that_the_worker_cancels_has_not_failed(traced: readpast.Queue) -> None:
    otel.enqueue_many(traced, [{"Payload": "patient"}])

    async def handle(_: readpast.Item) -> None:
        worker.stop()
        await asyncio.sleep(3600)

    worker = readpast.Worker(traced, otel.traced(traced, handle), stop_timeout=0.05)
    worker.run()
    assert traced.stats().pending == 1
    (process,) = spans("process")
    assert (process.status.status_code, list(process.events)) == (StatusCode.UNSET, [])


def test_a_handler_beside_one_that_leaves_the_program_has_not_failed(traced: readpast.Queue) -> None:
    otel.enqueue_many(traced, [{"Payload": "leaves"}, *[{"Payload": "is beside it"}] * 7])
    beside = threading.Semaphore(0)

    def wait() -> None:
        for _ in range(7):
            assert beside.acquire(timeout=support.PATIENCE)

    async def handle(item: readpast.Item) -> None:
        if item["Payload"] == "leaves":
            await asyncio.to_thread(wait)
            sys.exit(3)
        beside.release()
        await asyncio.sleep(3600)

    with pytest.raises(SystemExit):
        readpast.Worker(traced, otel.traced(traced, handle), threads=8).run()
    failed = [span for span in spans("process") if span.status.status_code is StatusCode.ERROR]
    assert [attributes(span)["error.type"] for span in failed] == ["SystemExit"]
    assert len(spans("process")) == 8


mistakes: dict[str, Callable[[readpast.Item], Any]] = {
    "another type": lambda _: "done",
    "another item": lambda _: Settlement("another", "t", 1, Action.COMPLETE),
    "another type of action": lambda item: item.complete()._replace(action=4),  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    "no action": lambda item: item.complete()._replace(action=None),  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    "no JSON": lambda item: item.complete()._replace(set={"Payload": object()}),
}


@pytest.mark.parametrize("mistake", mistakes)
def test_a_mistake_fails_the_span_and_is_what_it_is_without_one(traced: readpast.Queue, mistake: str) -> None:
    otel.enqueue(traced, {"Payload": "a"})
    work(traced, mistakes[mistake])
    assert traced.stats().failed == 1
    (process,) = spans("process")
    assert process.status.status_code is StatusCode.ERROR
    assert attributes(process)["error.type"] == "mistake"
    assert "messaging.readpast.settlement" not in attributes(process)


@pytest.mark.parametrize("is_cancelled", [False, True])
def test_a_coroutine_that_never_began_is_ended_with_its_span(traced: readpast.Queue, is_cancelled: bool) -> None:
    otel.enqueue(traced, {"Payload": "a"})
    handlers: list[Coroutine[Any, Any, None]] = []

    async def work(_: readpast.Item) -> None:
        raise AssertionError("it never begins")

    def handle(item: readpast.Item) -> Coroutine[Any, Any, None]:
        handlers.append(work(item))
        return handlers[0]

    async def cancel(given: Any) -> None:
        task = asyncio.ensure_future(given)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task

    with traced.claim() as batch:
        given: Any = otel.traced(traced, handle)(batch[0])
        assert inspect.iscoroutine(given)
        if is_cancelled:
            asyncio.run(cancel(given))
        else:
            given.close()
        # Some versions of Python let go of what it was given only now.
        del given
    assert inspect.getcoroutinestate(handlers[0]) == inspect.CORO_CLOSED
    (process,) = spans("process")
    assert process.status.status_code is StatusCode.UNSET


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


def test_an_object_that_can_be_no_handler_is_refused(traced: readpast.Queue) -> None:
    def generator(item: readpast.Item) -> Iterator[str]:
        yield item.key

    with pytest.raises(TypeError, match="generator"):
        otel.traced(traced, generator)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def test_nobody_else_needs_opentelemetry() -> None:
    program = "import readpast, sys; sys.exit('opentelemetry' in sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True)
