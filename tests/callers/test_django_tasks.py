"""The backend of Django's tasks: a task is there with the commit of Django's transaction, or not."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta, timezone
from importlib.util import find_spec
from typing import Any

import django
import psycopg
import pytest
from django.core.exceptions import ImproperlyConfigured
from django.core.management import CommandError, call_command
from django.db import ProgrammingError, connection, transaction
from django.test import override_settings
from django_tasks import TaskResultStatus, default_task_backend, task_backends
from django_tasks.exceptions import InvalidTaskError, TaskResultDoesNotExist
from django_tasks.signals import task_enqueued

from django_shop import checkout, tasks
from readpast_data.django import ReadpastBackend

django.setup()


@pytest.fixture(autouse=True)
def _cleared() -> Iterator[None]:
    with psycopg.connect() as other:
        other.execute("DELETE FROM readpast.task")
        other.execute("DELETE FROM readpast.shop_mail")
        other.execute("CREATE TABLE IF NOT EXISTS orders (id serial PRIMARY KEY, customer int, amount int)")
        other.execute("DELETE FROM orders")
    yield
    connection.close()


def rows(query: str = 'SELECT "Path", "Arguments" FROM readpast.task ORDER BY enqueued_at') -> list[Any]:
    """Rows as another connection sees them."""
    with psycopg.connect() as other:
        return list(other.execute(query.encode()))


def change(query: str) -> None:
    with psycopg.connect() as other:
        other.execute(query.encode())


def test_a_task_is_there_with_the_commit() -> None:
    with transaction.atomic():
        order = checkout.check_out(1, 10)
        assert rows() == []
    assert rows() == [("django_shop.checkout.send_receipt", {"args": [order], "kwargs": {}})]
    assert rows("SELECT id FROM orders") == [(order,)]


def test_a_rollback_leaves_neither_order_nor_task() -> None:
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        checkout.check_out(1, 10)
        raise ZeroDivisionError
    assert rows() == rows("SELECT id FROM orders") == []
    with transaction.atomic():
        with pytest.raises(ZeroDivisionError), transaction.atomic():
            checkout.check_out(1, 10)
            raise ZeroDivisionError
        tasks.echo.enqueue("kept")
    assert rows() == [("django_shop.tasks.echo", {"args": ["kept"], "kwargs": {}})]


def test_in_autocommit_a_task_is_there_at_once() -> None:
    tasks.echo.enqueue()
    assert len(rows()) == 1
    asyncio.run(tasks.echo.aenqueue())
    assert len(rows()) == 2


def test_arguments_make_a_round_trip() -> None:
    args: list[Any] = [1, 1.5, True, None, "100 % \u00e9", [{"a": {"b": []}}]]
    result = tasks.echo.enqueue(*args, b"bytes", copy=True, names=("x", "y"))
    expected = {"args": [*args, "bytes"], "kwargs": {"copy": True, "names": ["x", "y"]}}
    assert rows() == [("django_shop.tasks.echo", expected)]
    same = tasks.echo.get_result(result.id)
    assert (same.args, same.kwargs) == (result.args, result.kwargs) == (expected["args"], expected["kwargs"])
    with pytest.raises(TypeError, match="Unsupported type"):
        tasks.echo.enqueue(object())
    assert len(rows()) == 1


def test_run_after_is_the_due_time_and_priority_a_column() -> None:
    due = datetime(2126, 11, 21, 9, 30, tzinfo=timezone(timedelta(hours=1)))
    result = tasks.echo.using(run_after=due, priority=7).enqueue()
    assert rows('SELECT scheduled_for, "Priority" FROM readpast.task') == [(due, 7)]
    assert tasks.echo.get_result(result.id).task.priority == 7
    for wrong in ({"priority": 101}, {"run_after": datetime(2126, 1, 1)}, {"queue_name": "else"}):  # noqa: DTZ001
        with pytest.raises(InvalidTaskError):
            tasks.echo.using(**wrong)


def test_a_naive_run_after_is_in_the_zone_of_the_settings() -> None:
    with override_settings(USE_TZ=False, TIME_ZONE="Etc/GMT-1"):
        result = tasks.echo.using(run_after=datetime(2126, 11, 21, 9, 30)).enqueue()  # noqa: DTZ001
        enqueued = tasks.echo.get_result(result.id).enqueued_at
    assert rows("SELECT enqueued_at AT TIME ZONE 'Etc/GMT-1' FROM readpast.task") == [(enqueued,)]
    assert rows("SELECT scheduled_for FROM readpast.task")[0][0] == datetime(2126, 11, 21, 8, 30, tzinfo=UTC)


def test_each_queue_of_django_is_one_of_readpast() -> None:
    result = tasks.awaited.enqueue(1)
    assert rows() == []
    assert rows('SELECT "Path" FROM readpast.shop_mail') == [("django_shop.tasks.awaited",)]
    assert tasks.awaited.get_result(result.id).task.queue_name == "mail"


def test_a_result_follows_the_item() -> None:
    sent: list[str] = []

    def note(task_result: Any, **_: Any) -> None:
        sent.append(task_result.id)

    task_enqueued.connect(note)
    result = tasks.divide.enqueue(by=2)
    task_enqueued.disconnect(note)
    assert sent == [result.id]
    assert result.enqueued_at is not None
    assert (result.status, result.attempts) == (TaskResultStatus.READY, 0)
    item = "UPDATE readpast.task SET attempt_num = 2, lease_owner = 'me', started_at = '2026-01-01', status = "
    change(item + "'Processing'")
    result.refresh()
    assert (result.status, result.worker_ids) == (TaskResultStatus.RUNNING, ["me", "me"])
    assert result.started_at == result.last_attempted_at
    change(item + "'Failed', error = E'ZeroDivisionError: division by zero\\n\\nTraceback'")
    result.refresh()
    assert (result.status, result.is_finished) == (TaskResultStatus.FAILED, True)
    assert result.errors[0].exception_class_path == "builtins.ZeroDivisionError"
    assert "Traceback" in result.errors[0].traceback
    change(item + "'Cancelled', error = 'no longer wanted'")
    result.refresh()
    assert result.errors[0].exception_class is RuntimeError
    change(item + "'Completed', error = '', response = '0.5'")
    result = asyncio.run(tasks.divide.aget_result(result.id))
    assert (result.return_value, result.errors) == (0.5, [])
    assert result.finished_at is not None


def test_an_id_of_nothing_is_no_result_and_ends_no_transaction() -> None:
    known = tasks.echo.enqueue().id
    change("DELETE FROM readpast.task")
    with transaction.atomic():
        for unknown in (known, "Task:x", "Task:", "Notice:1", "", "x" * 100):
            with pytest.raises(TaskResultDoesNotExist):
                default_task_backend.get_result(unknown)
        tasks.echo.enqueue()
    assert len(rows()) == 1


def test_an_error_of_the_database_ends_the_transaction() -> None:
    broken = ReadpastBackend("default", {"OPTIONS": {"schema": "nowhere"}})
    with transaction.atomic():
        with pytest.raises(ProgrammingError, match="nowhere"):
            broken.enqueue(tasks.echo, [], {})
        with pytest.raises(transaction.TransactionManagementError):
            tasks.echo.enqueue()
        transaction.set_rollback(True)
    assert rows() == []


def test_an_option_that_is_misspelled_is_named() -> None:
    with pytest.raises(ImproperlyConfigured, match="OPTIONS has no quues; it has connection, database, queues, schema"):
        ReadpastBackend("default", {"OPTIONS": {"quues": {}}})


def test_a_path_that_is_no_task_is_called_by_nobody() -> None:
    backend = task_backends["default"]
    assert isinstance(backend, ReadpastBackend)
    with pytest.raises(ValueError, match=r"tasks\.plain is no task"):
        backend.task("django_shop.tasks.plain", "default", 0)
    with pytest.raises(ImportError):
        backend.task("django_shop.nowhere.task", "default", 0)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"backend": "other"}, r"TASKS\['other'\]: .* doesn't exist"),
        ({"backend": "immediate"}, "is a ImmediateBackend, not a ReadpastBackend"),
        ({"queue_name": "post"}, r"no queue 'post'; its QUEUES: \['default', 'mail'\]"),
        ({}, r"a worker needs the package readpast, .*pip install readpast"),
    ],
)
def test_a_worker_that_cannot_run_gives_the_reason(options: dict[str, str], sentence: str) -> None:
    # bindings/python/tests runs workers, with the native library.
    assert find_spec("readpast") is None
    with pytest.raises(CommandError, match=sentence):
        call_command("readpast_worker", **options)
