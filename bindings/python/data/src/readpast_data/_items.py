"""Items as the procedures take them: a JSON array."""

from __future__ import annotations

import json
from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum
from typing import Any, Literal, NamedTuple, Union
from uuid import UUID


class NewItem(NamedTuple):
    """An item to enqueue. A mapping of its columns alone will do where the rest is as usual.

    It has the members of `readpast.NewItem`, which is taken as well.
    """

    #: The values of the queue's own columns, by name in any case. None: each has its default, or NULL.
    columns: Mapping[str, Any] | None = None
    #: The kind of work, one of the queue's types; None: the first of them.
    type: str | None = None
    #: The step to begin with; None: none.
    step: str | None = None
    #: When it is due, from now on the server's clock, in seconds; None: at `due`.
    delay: float | timedelta | None = None
    #: When it is due, a datetime with a time zone or a text like `2026-11-21T08:30:00Z`; None: now, or after `delay`.
    due: str | datetime | None = None
    #: The items for which it waits: keys of items of the queue, and places of earlier items of the call, from 0 on.
    #: Only in a queue whose description has `after`.
    after: Sequence[str | int] = ()
    #: Its fate when one of them ends in another way than Completed: it fails, runs all the same, or waits on.
    on_failed: Literal["fail", "run", "wait"] = "fail"


AnyItem = Union[NewItem, Mapping[str, Any], Any]
"""A `NewItem`, a mapping of columns, or another object with a `NewItem`'s members."""


def items_json(items: Iterable[AnyItem]) -> str:
    """The array, in the items' order."""
    return json.dumps([_member(item) for item in items], default=_plain, ensure_ascii=False, allow_nan=False)


def _member(item: AnyItem) -> dict[str, Any]:
    if isinstance(item, Mapping):
        item = NewItem(item)
    columns = item.columns
    member = {
        "type": item.type,
        "step": item.step,
        "due": None if item.due is None else _moment(item.due),
        "delay_ms": None if item.delay is None else _milliseconds(item.delay),
        # Another object with a NewItem's members may be older than these.
        "after": list(getattr(item, "after", ())) or None,
        "on_failed": item.on_failed if getattr(item, "after", ()) else None,
        "columns": json.loads(columns) if isinstance(columns, str) else dict(columns or {}),
    }
    return {name: value for name, value in member.items() if value is not None}


def _moment(time: str | datetime) -> str:
    """A time in UTC: SQL Server's procedures read no offset."""
    if isinstance(time, str):
        return time
    if time.tzinfo is None:
        raise ValueError("a datetime must have a time zone: no one else knows which hour it means")
    return time.astimezone(timezone.utc).replace(tzinfo=None).isoformat() + "Z"


def _milliseconds(delay: float | timedelta) -> int:
    """A part of a millisecond counts as a whole one: a short wait is not none."""
    span = delay if isinstance(delay, timedelta) else timedelta(seconds=delay)
    if span < timedelta(0):
        raise ValueError(f"the delay is {delay}; it must not be negative")
    return -(-span // timedelta(milliseconds=1))


def _plain(value: object) -> Any:
    """A value that JSON has no form for, as the text that the procedures take."""
    if isinstance(value, datetime):
        return _moment(value)
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return f"{value:f}"
    if isinstance(value, UUID):
        return str(value)
    if isinstance(value, Enum):
        return value.value
    if isinstance(value, (bytes, bytearray, memoryview)):
        return b64encode(bytes(value)).decode()
    raise TypeError(f"a column cannot hold an object of type {type(value).__name__}")
