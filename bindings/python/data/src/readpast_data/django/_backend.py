"""The backend, as the setting TASKS names it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.db import DataError, connections, transaction
from django.utils import timezone
from django.utils.module_loading import import_string

from .._connections import target
from .._enqueue import enqueue
from .._items import NewItem
from .._statement import finding
from ._api import BaseTaskBackend, Task, TaskResultDoesNotExist, task_enqueued
from ._results import found, made

_OPTIONS = frozenset({"connection", "database", "queues", "schema"})


class ReadpastBackend(BaseTaskBackend):
    """Puts tasks into readpast's queues, in the transaction of the Django connection; `readpast_worker` runs them.

    OPTIONS: `database` is the alias of the connection, `schema` that of readpast's objects, `queues` a dict of
    readpast's queues by Django's names (a queue that is not there has the same name, and `default` is `Task`),
    `connection` the worker's ODBC connection string.
    """

    supports_defer = True
    supports_async_task = True
    supports_get_result = True
    supports_priority = True

    def __init__(self, alias: str, params: Mapping[str, Any]) -> None:
        super().__init__(alias, params)
        unknown = sorted(set(self.options) - _OPTIONS)
        if unknown:
            known = ", ".join(sorted(_OPTIONS))
            raise ImproperlyConfigured(f"TASKS[{alias!r}]: OPTIONS has no {', '.join(unknown)}; it has {known}")
        self.database: str = self.options.get("database", "default")
        self.schema: str = self.options.get("schema", "readpast")
        self._names: dict[str, str] = {"default": "Task", **self.options.get("queues", {})}

    def readpast_queue(self, queue_name: str) -> str:
        """The readpast queue of a Django queue."""
        return self._names.get(queue_name, queue_name)

    def enqueue(self, task: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        """Puts the task into its queue: it is there when the transaction of the caller commits.

        In autocommit it is there at once.
        """
        self.validate_task(task)
        queue = self.readpast_queue(task.queue_name)
        # The result has made JSON of the arguments, or refused them.
        result = made(task, "", args, kwargs)
        columns: dict[str, Any] = {
            "Path": task.module_path,
            "Arguments": {"args": result.args, "kwargs": result.kwargs},
        }
        # A description without priorities takes a task without one.
        if task.priority:
            columns["Priority"] = task.priority
        due = task.run_after
        if due is not None and timezone.is_naive(due):
            due = timezone.make_aware(due)
        # SQL Server's procedure refuses autocommit. A savepoint would undo no more than the error does.
        with transaction.atomic(using=self.database, savepoint=False):
            [receipt] = enqueue(connections[self.database], queue, [NewItem(columns, due=due)], schema=self.schema)
        changes = {"id": f"{queue}:{receipt.key or ''}", "enqueued_at": timezone.now()}
        for name, value in changes.items():
            object.__setattr__(result, name, value)
        task_enqueued.send(type(self), task_result=result)
        return result

    def get_result(self, result_id: str) -> Any:
        """The task as its item is now. The login needs the queue's role `monitor`, where the description has roles."""
        queue, _, key = result_id.partition(":")
        names = {self.readpast_queue(name): name for name in self.queues or self._names}
        if queue not in names or not key:
            raise TaskResultDoesNotExist(result_id)
        connection = connections[self.database]
        server = target(connection, None).server
        statement = finding(server, self.schema, queue)
        try:
            # An error, of a text that is no key, undoes nothing of the caller's.
            with transaction.atomic(using=self.database), connection.cursor() as cursor:
                cursor.execute(statement, [json.dumps({"keys": [key]})])
                columns = [column[0].replace("_", "").lower() for column in cursor.description]
                row = cursor.fetchone()
        except DataError:
            row = None
        if row is None:
            raise TaskResultDoesNotExist(result_id)
        values = dict(zip(columns, row))
        return found(self.task(values["path"], names[queue], values.get("priority")), result_id, values, server)

    def task(self, path: str, queue_name: str, priority: int | None) -> Any:
        """The task of a path, as it was enqueued. ImportError and ValueError: there is none."""
        task = import_string(path)
        if not isinstance(task, Task):
            raise ValueError(f"{path} is no task: it has no decorator @task")
        return task.using(backend=self.alias, queue_name=queue_name, priority=priority or 0)
