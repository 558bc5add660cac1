"""Answers, made from the library's results."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime
from typing import Any

import readpast
from readpast import Column, ColumnType, Item, Outcome, QueueError, Status

Answer = dict[str, Any]

_PLAIN = (ColumnType.BOOLEAN, ColumnType.INTEGER, ColumnType.FLOAT)


def answered(status: Status, **members: Any) -> Answer:
    return {"status": status.c_name, **members}


def failed(error: QueueError) -> Answer:
    told = {
        "message": str(error),
        "sqlstate": error.sqlstate,
        "native_code": error.native_code,
        "retryable": error.retryable,
        "operation": error.operation,
    }
    return answered(error.status, error=told)


def refused(error: Exception) -> Answer:
    """The answer to a request that is refused before the library is asked."""
    return failed(QueueError(str(error), Status.INVALID_ARGUMENT))


def items(batch: readpast.Batch) -> list[Answer]:
    return [
        {
            "key": item.key,
            "token": item.token,
            "attempt": item.attempt,
            "state": item.state.name,
            "type": item.type,
            "step": item.step,
            "due": _text(item.due),
            "enqueued": _text(item.enqueued),
            "lease_until": _text(item.lease_until),
            "columns": {column.name: value(item, column) for column in batch.columns},
            "json": json.loads(item.json()),
            "traceparent": item.traceparent,
            "tracestate": item.tracestate,
        }
        for item in batch
    ]


def value(item: Item, column: Column) -> Answer:
    return {"type": column.type.name, "value": _plain(item, column)}


def outcomes(outcomes: Iterable[Outcome]) -> list[Answer]:
    return [
        {
            "answer": outcome.answer.c_name,
            "state": outcome.state.name,
            "attempt": outcome.attempt,
            "token": outcome.token,
        }
        for outcome in outcomes
    ]


def _text(time: datetime | None) -> str | None:
    return None if time is None else time.isoformat()


def _plain(item: Item, column: Column) -> Any:
    if column.type in _PLAIN:
        return item[column.name]
    if column.type is ColumnType.BINARY:
        held = item[column.name]
        return None if held is None else held.hex()
    return item.text(column.name)
