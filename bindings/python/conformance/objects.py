"""The objects by the names that the driver gave them. Any thread."""

from __future__ import annotations

from typing import Any

import readpast

_kept: dict[tuple[str, str], Any] = {}


def keep(kind: str, name: str, made: Any) -> None:
    """A name given again is the new object's."""
    before = _kept.get((kind, name))
    _kept[kind, name] = made
    if before is not None:
        before.close()


def queue_of(request: dict[str, Any]) -> readpast.Queue:
    queue: readpast.Queue = _of("queue", request)
    return queue


def batch_of(request: dict[str, Any]) -> readpast.Batch:
    batch: readpast.Batch = _of("batch", request)
    return batch


def renewal_of(request: dict[str, Any]) -> readpast.Renewal:
    renewal: readpast.Renewal = _of("renewal", request)
    return renewal


def free(request: dict[str, Any]) -> None:
    for kind in ("queue", "batch", "renewal"):
        if kind in request:
            _of(kind, request).close()


def free_all() -> None:
    for each in _kept.values():
        each.close()


def _of(kind: str, request: dict[str, Any]) -> Any:
    return _kept[kind, request[kind]]
