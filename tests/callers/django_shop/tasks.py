"""Tasks that end in each way."""

from __future__ import annotations

import asyncio
from typing import Any

from django.db import connection
from django_tasks import task

from readpast_data.django import GiveUpError, TryAgainError


@task
def echo(*args: Any, **kwargs: Any) -> list[Any]:
    return [list(args), kwargs]


@task
def pid() -> int:
    """The session of the server: the worker's connection of Django's works."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        return int(cursor.fetchone()[0])


@task(queue_name="mail")
async def awaited(number: int) -> int:
    await asyncio.sleep(0)
    return number + 1


@task(takes_context=True)
def attempt(context: Any, of: str) -> list[Any]:
    """Fails once, and returns what it knows of itself the second time."""
    if context.attempt == 1:
        raise TryAgainError("not yet", delay=0)
    result = context.task_result
    return [of, context.attempt, result.id, result.status, result.task.priority, result.args]


@task(queue_name="mail", takes_context=True)
async def awaited_attempt(context: Any) -> int:
    if context.attempt == 1:
        raise TryAgainError("not yet", delay=0)
    return int(context.attempt)


@task(queue_name="mail")
async def awaited_failure() -> None:
    raise LookupError("nobody there")


@task
def divide(by: int) -> float:
    return 1 / by


@task
def give_up() -> None:
    raise GiveUpError("no such customer")


@task
def wrong() -> object:
    return object()


def plain() -> None:
    """No task: a worker must not call it, although an item may name it."""
