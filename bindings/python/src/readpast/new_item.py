"""Items to enqueue."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from typing import Any, Literal, NamedTuple, Union
from uuid import UUID

from ._library import CData, ffi
from ._texts import Moment, Seconds, Texts, milliseconds_or_none, moment
from .errors import refused


class NewItem(NamedTuple):
    """An item to enqueue. A mapping of its columns alone will do where the rest is as usual."""

    #: The values of the queue's own columns, by name in any case; of a dict, what `ColumnType` says, or as JSON text.
    #: None: each has its default, or NULL.
    columns: Mapping[str, Any] | str | None = None
    #: The kind of work, one of the queue's types; None: the first of them.
    type: str | None = None
    #: The step to begin with; None: none.
    step: str | None = None
    #: When it is due, from now on the server's clock; None: at `due`.
    delay: Seconds | None = None
    #: When it is due; None: now, or after `delay`.
    due: Moment | None = None
    #: The W3C `traceparent` in which it is enqueued, for a queue whose description has `trace`; others take no notice.
    #: A malformed one is left out, and is no error. `readpast.otel` sets it.
    traceparent: str | None = None
    #: The `tracestate` that belongs to it.
    tracestate: str | None = None
    #: The items for which it waits: keys of items of the queue, and places of earlier items of the call, from 0 on. It
    #: is due when all of them are over, and not before `due`. Only in a queue whose description has `after`.
    after: Sequence[str | int] = ()
    #: Its fate when one of them ends in another way than COMPLETED: "fail", it becomes FAILED, and so do those that
    #: wait for it; "run", the other counts as done; "wait", it waits until the other is started again and completed.
    on_failed: Literal["fail", "run", "wait"] = "fail"


#: Items that follow a settlement, by their queues.
Followers = Mapping[str, Sequence[Union[NewItem, Mapping[str, Any]]]]

_NEW_ITEM = ffi.sizeof("readpast_new_item")


def new_items_for(items: Sequence[NewItem | Mapping[str, Any]], texts: Texts) -> CData:
    """The array that the library takes."""
    array = ffi.new("readpast_new_item[]", len(items))
    for native, each in zip(array, items):
        item = each if isinstance(each, NewItem) else NewItem(each)
        native.struct_size = _NEW_ITEM
        native.type = texts(item.type, "type")
        native.step = texts(item.step, "step")
        native.delay_ms = milliseconds_or_none("delay", item.delay)
        native.due = texts(moment(item.due), "due")
        native.columns_json = texts(json_of(item.columns, "columns"), "columns")
        native.traceparent = texts.of_trace(item.traceparent, "traceparent")
        native.tracestate = texts.of_trace(item.tracestate, "tracestate")
        if item.after:
            native.after_json = texts(json.dumps(list(item.after)), "after")
            native.on_failed = texts(item.on_failed, "on_failed")
    return array


def followers_json(then: Followers) -> str:
    """The array that the library takes of items that follow a settlement."""
    members: list[str] = []
    for queue, items in then.items():
        for each in items:
            item = each if isinstance(each, NewItem) else NewItem(each)
            delay = milliseconds_or_none("delay", item.delay)
            head = {
                "queue": queue,
                "type": item.type,
                "step": item.step,
                "due": moment(item.due),
                "delay_ms": None if item.delay is None else delay,
                "traceparent": item.traceparent,
                "tracestate": item.tracestate,
                "after": list(item.after) or None,
                "on_failed": item.on_failed if item.after else None,
            }
            given = {name: value for name, value in head.items() if value is not None}
            columns = json_of(item.columns, "columns") or "{}"
            _check_json(columns)
            members.append(f'{json.dumps(given)[:-1]}, "columns": {columns}}}')
    return f"[{', '.join(members)}]"


def _check_json(columns: str) -> None:
    try:
        json.loads(columns)
    except ValueError as error:
        raise refused(f"columns: {error}") from error


def json_of(columns: Mapping[str, Any] | str | None, name: str) -> str | None:
    """An object for the library, of what columns may hold in Python."""
    if columns is None or isinstance(columns, str):
        return columns
    try:
        return json.dumps(dict(columns), default=_plain, ensure_ascii=False, allow_nan=False)
    except ValueError as error:
        raise refused(f"{name}: {error}") from error


def _plain(value: object) -> str:
    """A value that JSON has no form for, as the text that the library takes."""
    if isinstance(value, datetime):
        return moment(value) or ""
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, (bytes, bytearray, memoryview)):
        return b64encode(value.tobytes() if isinstance(value, memoryview) else value).decode()
    raise TypeError(f"a column cannot hold an object of type {type(value).__name__}")
