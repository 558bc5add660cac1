"""Results of tasks, made of items."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from datetime import datetime, timezone
from typing import Any

from django.conf import settings
from django.utils.timezone import make_naive

from .._statement import SQL_SERVER
from ._api import TaskError, TaskResult, TaskResultStatus

_STATUSES = {
    "Processing": "RUNNING",
    "Completed": "SUCCESSFUL",
    "PartiallyCompleted": "SUCCESSFUL",
    "Failed": "FAILED",
    "Cancelled": "FAILED",
    "Terminated": "FAILED",
}
"""Those of the other states are READY."""

_EXCEPTION = re.compile(r"([A-Za-z_][\w.]*)(?::|$)")
"""The beginning of an error that a worker has made of an exception."""


def made(task: Any, id: str, args: Sequence[Any], kwargs: Mapping[str, Any], **more: Any) -> Any:
    """A result, by default of a task that waits. TypeError and ValueError: an argument cannot be JSON."""
    rest: dict[str, Any] = {
        "status": TaskResultStatus.READY,
        "enqueued_at": None,
        "started_at": None,
        "finished_at": None,
        "last_attempted_at": None,
        "errors": [],
        "worker_ids": [],
        **more,
    }
    return TaskResult(task=task, id=id, args=list(args), kwargs=dict(kwargs), backend=task.backend, **rest)


def found(task: Any, id: str, values: Mapping[str, Any], server: str) -> Any:
    """The result of an item, from the row that the server has of it."""
    status = TaskResultStatus[_STATUSES.get(values["status"], "READY")]
    given = _json(values["arguments"]) or {}
    started = moment(values["startedat"], server)
    is_finished = status in {TaskResultStatus.SUCCESSFUL, TaskResultStatus.FAILED}
    result = made(
        task,
        id,
        given.get("args", []),
        given.get("kwargs", {}),
        status=status,
        enqueued_at=moment(values["enqueuedat"], server),
        started_at=started,
        last_attempted_at=started,
        finished_at=moment(values["updatedat"], server) if is_finished else None,
        errors=[error(values["error"])] if values["error"] else [],
        worker_ids=workers(values["leaseowner"], values["attemptnum"]),
    )
    if values["response"]:
        object.__setattr__(result, "_return_value", _json(values["response"]))
    return result


def workers(newest: str | None, attempts: int) -> list[str]:
    """As many as there were attempts, since Django counts them by it. An item has the name of the newest one alone."""
    return [newest or ""] * attempts


def error(text: str) -> Any:
    """The error of an item. One that is of no exception, such as an operator's, counts as a RuntimeError."""
    exception = _EXCEPTION.match(text.partition("\n")[0])
    path = exception[1] if exception else "RuntimeError"
    return TaskError(exception_class_path=path if "." in path else f"builtins.{path}", traceback=text)


def moment(time: datetime | None, server: str) -> datetime | None:
    """A time of an item as Django has times. SQL Server's are in UTC, without a zone."""
    if time is None or server != SQL_SERVER:
        return time
    aware = time.replace(tzinfo=timezone.utc)
    return aware if settings.USE_TZ else make_naive(aware)


def _json(value: Any) -> Any:
    """A JSON column is text on SQL Server, and read already by drivers for PostgreSQL."""
    if not isinstance(value, str):
        return value
    try:
        return json.loads(value)
    except ValueError:
        # Other code may have settled the item with a response of its own.
        return value
