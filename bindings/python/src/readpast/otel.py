"""Traces: the context of a span travels with an item, and goes on around its handler.

Needs `opentelemetry-api` (`pip install readpast[otel]`), and is needed by nobody else. The queue's description has
`trace`; other queues enqueue and work as ever, without spans.

    from readpast import otel

    otel.enqueue(queue, {"Recipient": "a@example.org"})
    Worker(queue, otel.traced(queue, handle)).run()

Spans are as OpenTelemetry's conventions for messaging have them: `send <queue>` (PRODUCER), and `process <queue>`
(CONSUMER), whose parent is the context that the item brings, and which links to it. The spans of several attempts at an
item are siblings.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Awaitable, Generator, Iterable, Mapping
from contextlib import contextmanager
from typing import Any, Callable, cast

from opentelemetry import context as contexts
from opentelemetry import trace
from opentelemetry.trace import Link, Span, SpanKind, Status, StatusCode, Tracer
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from ._handling import Handler, check
from ._library import VERSION
from .answers import Answers, Receipt
from .item import Item
from .new_item import NewItem
from .queue import Queue
from .settlement import Settlement
from .status import Action

_w3c = TraceContextTextMapPropagator()


def enqueue(queue: Queue, item: NewItem | Mapping[str, Any], *, operation: str | None = None) -> Receipt:
    """`Queue.enqueue`, inside a span whose context goes with the item."""
    return enqueue_many(queue, [item], operation=operation)[0]


def enqueue_many(
    queue: Queue, items: Iterable[NewItem | Mapping[str, Any]], *, operation: str | None = None
) -> Answers[Receipt]:
    """`Queue.enqueue_many`, inside one span for all of them, whose context goes with each."""
    with sending(queue, items) as (sent, told):
        receipts = queue.enqueue_many(sent, operation=operation)
        told(receipts)
    return receipts


@contextmanager
def sending(
    queue: Queue, items: Iterable[NewItem | Mapping[str, Any]]
) -> Generator[tuple[list[NewItem], Callable[[Iterable[Receipt]], None]]]:
    """A span around whatever enqueues: gives the items as they are to be sent, and what to tell the receipts to.

    For who enqueues in another way than `enqueue_many` does, as with an `AsyncQueue`:

        with otel.sending(aio.queue, items) as (sent, told):
            told(await aio.enqueue_many(sent))

    An item that has a `traceparent` of its own keeps it, and the span links to it.
    """
    plain = [item if isinstance(item, NewItem) else NewItem(item) for item in items]
    if not queue.is_traced:
        yield plain, lambda _: None
        return
    links = [link for item in plain for link in _links(_brought(item.traceparent, item.tracestate))]
    attributes = _attributes(queue, "send")
    if len(plain) != 1:
        attributes["messaging.batch.message_count"] = len(plain)
    with _tracer().start_as_current_span(
        f"send {queue.name}", kind=SpanKind.PRODUCER, attributes=attributes, links=links, set_status_on_exception=False
    ) as span:
        carrier: dict[str, str] = {}
        _w3c.inject(carrier)

        def told(receipts: Iterable[Receipt]) -> None:
            keys = [receipt.key for receipt in receipts]
            if len(keys) == 1:
                span.set_attribute("messaging.message.id", keys[0])

        try:
            yield [item if item.traceparent else _within(item, carrier) for item in plain], told
        except Exception as error:
            _failed(span, error)
            raise


def _within(item: NewItem, carrier: Mapping[str, str]) -> NewItem:
    return item._replace(traceparent=carrier.get("traceparent"), tracestate=carrier.get("tracestate"))


def traced(queue: Queue, handler: Handler) -> Handler:
    """The handler, each of its calls inside a span that goes on with the trace that its item brings.

    The span fails when the handler raises, or says retry or fail. Within it logs, spans and calls to other services
    belong to the trace. For functions and for coroutine functions.
    """
    check(handler)
    if not queue.is_traced:
        return handler

    @functools.wraps(handler, updated=())
    def handle(item: Item) -> Any:
        span = _begun(queue, item)
        with _inside(span):
            given: object = handler(item)
            if not inspect.iscoroutine(given):
                return _ended(span, given)
        return _awaited(span, cast("Awaitable[Settlement | None]", given))

    return cast("Handler", handle)


async def _awaited(span: Span, given: Awaitable[Settlement | None]) -> object:
    with _inside(span):
        return _ended(span, await given)


def _begun(queue: Queue, item: Item) -> Span:
    brought = _brought(item.traceparent, item.tracestate)
    attributes = _attributes(queue, "process")
    attributes["messaging.message.id"] = item.key
    attributes["messaging.readpast.message.delivery_attempt"] = item.attempt
    around = trace.get_current_span().get_span_context()
    links = [*_links(brought), *([Link(around)] if around.is_valid else [])]
    return _tracer().start_span(
        f"process {queue.name}", context=brought, kind=SpanKind.CONSUMER, attributes=attributes, links=links
    )


@contextmanager
def _inside(span: Span) -> Generator[None]:
    """What is done here is done in the span. It ends here only when something is raised."""
    token = contexts.attach(trace.set_span_in_context(span))
    try:
        yield
    except BaseException as error:
        # What ends a coroutine from outside is no failure of the handler's.
        if isinstance(error, Exception):
            span.record_exception(error)
            _failed(span, error)
        span.end()
        raise
    finally:
        contexts.detach(token)


def _ended(span: Span, given: object) -> object:
    if isinstance(given, Settlement):
        action = given.action.name.lower()
        span.set_attribute("messaging.readpast.settlement", action)
        if given.action in {Action.RETRY, Action.FAIL}:
            span.set_attribute("error.type", action)
            span.set_status(Status(StatusCode.ERROR))
    span.end()
    return given


def _failed(span: Span, error: Exception) -> None:
    kind = type(error)
    is_builtin = kind.__module__ == "builtins"
    span.set_attribute("error.type", kind.__qualname__ if is_builtin else f"{kind.__module__}.{kind.__qualname__}")
    span.set_status(Status(StatusCode.ERROR))


def _brought(traceparent: str | None, tracestate: str | None) -> contexts.Context:
    """The context that an item brings, or an empty one: what is around its handler is no parent of its span."""
    carrier = {"traceparent": traceparent or "", "tracestate": tracestate or ""}
    return _w3c.extract(carrier, contexts.Context())


def _links(brought: contexts.Context) -> list[Link]:
    span = trace.get_current_span(brought).get_span_context()
    return [Link(span)] if span.is_valid else []


def _attributes(queue: Queue, operation: str) -> dict[str, str | int]:
    return {
        "messaging.system": "readpast",
        "messaging.destination.name": queue.name,
        "messaging.operation.name": operation,
        "messaging.operation.type": operation,
        "messaging.client.id": queue.worker,
    }


def _tracer() -> Tracer:
    return trace.get_tracer("readpast", VERSION)
