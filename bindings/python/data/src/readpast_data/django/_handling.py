"""The handler of a worker: runs the task that an item names."""

from __future__ import annotations

import json
import traceback
from collections.abc import Coroutine
from inspect import iscoroutinefunction
from typing import Any, Union

from asgiref.sync import sync_to_async
from django.db import close_old_connections, reset_queries
from django.utils import timezone

from ._api import TaskContext, TaskError, TaskResultStatus, task_finished, task_started
from ._backend import ReadpastBackend
from ._errors import GiveUpError, TryAgainError
from ._results import made, workers

Ended = Union[Any, None]
"""A `readpast.Settlement`, or None: done."""


class Handler:
    """Runs tasks, functions and coroutine functions.

    The return value becomes the item's response, as JSON. An exception is the worker's to record: the item is tried
    again while attempts are left. Old connections of Django's are closed before and after each task.
    """

    def __init__(self, backend: ReadpastBackend, queue_name: str, worker: str) -> None:
        self._backend = backend
        self._queue_name = queue_name
        self._worker = worker

    def __call__(self, item: Any) -> Ended | Coroutine[Any, Any, Ended]:
        """A coroutine runs on the worker's event loop, and is cancelled when its item is lost."""
        backend, queue = self._backend, self._backend.readpast_queue(self._queue_name)
        task = backend.task(item["Path"], self._queue_name, item.get("Priority"))
        now = timezone.now()
        result = made(
            task,
            f"{queue}:{item.key}",
            item["Arguments"].get("args", []),
            item["Arguments"].get("kwargs", {}),
            status=TaskResultStatus.RUNNING,
            started_at=now,
            last_attempted_at=now,
            worker_ids=workers(self._worker, item.attempt),
        )
        return self._awaited(item, result) if iscoroutinefunction(task.func) else self._called(item, result)

    def _called(self, item: Any, result: Any) -> Ended:
        try:
            self._begin(result)
            try:
                value = result.task.call(*_arguments(result), **result.kwargs)
            except Exception as error:
                if settlement := self._failed(item, result, error):
                    return settlement
                raise
            return self._done(item, result, value)
        finally:
            close_old_connections()

    async def _awaited(self, item: Any, result: Any) -> Ended:
        # Signals and connections are Django's, for which there is one thread in all.
        try:
            await sync_to_async(self._begin)(result)
            try:
                value = await result.task.acall(*_arguments(result), **result.kwargs)
            except Exception as error:
                if settlement := await sync_to_async(self._failed)(item, result, error):
                    return settlement
                raise
            return await sync_to_async(self._done)(item, result, value)
        finally:
            await sync_to_async(close_old_connections)()

    def _begin(self, result: Any) -> None:
        reset_queries()
        close_old_connections()
        task_started.send(type(self._backend), task_result=result)

    def _done(self, item: Any, result: Any, value: Any) -> Ended:
        try:
            response = None if value is None else json.dumps(value, allow_nan=False)
        except (TypeError, ValueError) as error:
            # The work was done, so it is not done again.
            what = f"the task returned a value of type {type(value).__name__} that cannot be JSON: {error}"
            self._end(result, TaskResultStatus.FAILED)
            return item.fail(what)
        object.__setattr__(result, "_return_value", value)
        self._end(result, TaskResultStatus.SUCCESSFUL)
        return item.complete(response)

    def _failed(self, item: Any, result: Any, error: Exception) -> Ended:
        """The settlement that the task has chosen by its exception; None for any other exception."""
        kind = type(error)
        path = f"{kind.__module__}.{kind.__qualname__}"
        stack = "".join(traceback.format_exception(kind, error, error.__traceback__))
        result.errors.append(TaskError(exception_class_path=path, traceback=stack))
        self._end(result, TaskResultStatus.FAILED)
        what = "".join(traceback.format_exception_only(kind, error))
        if isinstance(error, GiveUpError):
            return item.fail(what)
        if isinstance(error, TryAgainError):
            return item.retry(what, delay=error.delay)
        return None

    def _end(self, result: Any, status: Any) -> None:
        object.__setattr__(result, "status", status)
        object.__setattr__(result, "finished_at", timezone.now())
        # A receiver's error is logged by Django: it must not have the work done again.
        task_finished.send_robust(type(self._backend), task_result=result)


def _arguments(result: Any) -> list[Any]:
    context = [TaskContext(task_result=result)] if result.task.takes_context else []
    return [*context, *result.args]
