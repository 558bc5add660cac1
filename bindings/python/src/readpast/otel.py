"""Traces: the context of a span travels with an item, and goes on around its handler.

Needs `opentelemetry-api` (`pip install readpast[otel]`); other modules do not. The queue's description has
`trace`; other queues enqueue and work as ever, without spans.

    from readpast import otel

    otel.enqueue(queue, {"Recipient": "a@example.org"})
    Worker(queue, otel.traced(queue, handle)).run()

Spans are as OpenTelemetry's conventions for messaging have them: `send <queue>` (PRODUCER), and `process <queue>`
(CONSUMER), whose parent is the context that the item brings, and which links to it. The spans of several attempts at an
item are siblings.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
from collections.abc import Coroutine, Generator, Iterable, Mapping
from contextlib import contextmanager
from typing import Any, Callable, cast

from opentelemetry import context as contexts
from opentelemetry import trace
from opentelemetry.trace import Link, Span, SpanKind, Status, StatusCode, Tracer
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from ._coroutines import by_worker
from ._handling import Handler, Mistake, check, proper
from ._library import VERSION
from .answers import Answers, Receipt
from .errors import QueueError
from .item import Item
from .new_item import NewItem
from .queue import Queue
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
    """A span around any call that enqueues: gives the items as they are to be sent, and a function for the receipts.

    For programs that enqueue in another way than `enqueue_many` does, as with an `AsyncQueue`:

        with otel.sending(aio.queue, items) as (sent, note):
            note(await aio.enqueue_many(sent))

    An item that has a `traceparent` of its own keeps it, and the span links to it. The span has an exception's type
    alone: its text may quote what the items hold.
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
        f"send {queue.name}",
        kind=SpanKind.PRODUCER,
        attributes=attributes,
        links=links,
        record_exception=False,
        set_status_on_exception=False,
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
            _failed(span, _type(error))
            raise


def _within(item: NewItem, carrier: Mapping[str, str]) -> NewItem:
    return item._replace(traceparent=carrier.get("traceparent"), tracestate=carrier.get("tracestate"))


def traced(queue: Queue, handler: Handler) -> Handler:
    """The handler, each of its calls inside a span that goes on with the trace that its item brings.

    The span fails when the handler raises, says retry or fail, or gives what no handler may; not when the worker
    cancels it. It has the exception as an event, but for one that comes of a call of this library, whose text may quote
    what items hold. Within it logs, spans and calls to other services belong to the trace. For functions and for
    coroutine functions.
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
                return _ended(span, item, given)
        return _awaited(_Begun(span, given), item)

    return cast("Handler", handle)


class _Begun:
    """A begun coroutine and its span. A coroutine that is closed, or cancelled, before its first line runs none of its
    lines; but it lets go of this object, which ends both."""

    def __init__(self, span: Span, coroutine: Coroutine[Any, Any, object]) -> None:
        self.span = span
        self.coroutine = coroutine

    def __del__(self) -> None:
        self.coroutine.close()
        if self.span.is_recording():
            self.span.end()


async def _awaited(begun: _Begun, item: Item) -> object:
    with _inside(begun.span):
        return _ended(begun.span, item, await begun.coroutine)


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
    """Runs its body in the span. The span ends here only when something is raised."""
    token = contexts.attach(trace.set_span_in_context(span))
    try:
        yield
    except BaseException as error:
        if not _is_from_outside(error):
            if not _quotes(error):
                span.record_exception(error)
            _failed(span, _type(error))
        span.end()
        raise
    finally:
        contexts.detach(token)


def _is_from_outside(error: BaseException) -> bool:
    """Whether this ends a coroutine from outside, which is no failure of the handler's: the item is given back."""
    return isinstance(error, GeneratorExit) or (isinstance(error, asyncio.CancelledError) and by_worker())


def _quotes(error: BaseException | None) -> bool:
    """Whether the text of an exception, or of those that led to it, may quote what items hold, also in secret columns:
    the library's and the database's errors about a call may."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        if isinstance(error, QueueError):
            return True
        seen.add(id(error))
        error = error.__cause__ or (None if error.__suppress_context__ else error.__context__)
    return False


def _ended(span: Span, item: Item, given: object) -> object:
    try:
        action = None if given is None else proper(given, item).action
    except Mistake:
        _failed(span, "mistake")
    else:
        if action is not None:
            span.set_attribute("messaging.readpast.settlement", action.name.lower())
            if action in {Action.RETRY, Action.FAIL}:
                _failed(span, action.name.lower())
    span.end()
    return given


def _type(error: BaseException) -> str:
    kind = type(error)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def _failed(span: Span, kind: str) -> None:
    span.set_attribute("error.type", kind)
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
