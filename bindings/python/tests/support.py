"""Queues of their own for the tests, on the server that READPAST_CONNECTION names, and what the tests do with them."""

from __future__ import annotations

import itertools
import os
import re
import subprocess
import time
from types import TracebackType
from typing import Any, Callable

import pytest

import readpast

COLUMNS = {
    "Payload": "text",
    "Small": "integer",
    "Big": "bigint",
    "Flag": "boolean",
    "Ratio": "float",
    "Amount": "decimal(38, 10)",
    "At": "timestamp",
    "Day": "date",
    "Id": "guid",
    "Document": "json",
    "Raw": "binary",
}

PATIENCE = 600.0
"""Seconds after which something never happens; nothing is measured by it."""

_numbers = itertools.count(1)

names: dict[str, str] = {}
"""The names of the queues, by those of their workers."""


def settings(**more: object) -> dict[str, Any]:
    return {
        "connection": os.environ["READPAST_CONNECTION"],
        "schema": "readpast_python",
        "poll_interval_ms": 20,
        "worker_hold_ms": 3600000,
        # However busy the machine is, a call is given up only where a test says so.
        "pool_acquire_ms": 600000,
        "login_timeout_ms": 600000,
        "query_timeout_ms": 600000,
        "lock_timeout_ms": 600000,
        "retry_budget_ms": 600000,
        **more,
    }


def spec(name: str, **more: object) -> dict[str, object]:
    columns = [{"name": column, "type": kind} for column, kind in COLUMNS.items()]
    return {"queue": name, "types": ["First", "Second"], "backoff": "none", "columns": columns, **more}


def install(**more: object) -> str:
    name = f"Work{os.getpid()}x{next(_numbers)}"
    readpast.install(spec(name, **more), **settings())
    return name


def deferring(fixture: str) -> pytest.MarkDecorator:
    """Has failed items of the fixture's queue due in an hour: a claim that is on its way when a worker stops would take
    them, and give them back as Pending."""
    options = {"backoff": {"first_ms": 3600000, "cap_ms": 3600000}}
    return pytest.mark.parametrize(fixture, [options], indirect=True, ids=["deferring"])


def enqueue(queue: readpast.Queue, *payloads: str) -> None:
    queue.enqueue_many({"Payload": payload} for payload in payloads)


def claimed(queue: readpast.Queue, *payloads: str) -> readpast.Batch:
    """Enqueues items that differ in their payload, and claims them all."""
    enqueue(queue, *payloads)
    return queue.claim(len(payloads))


def column(queue: readpast.Queue, name: str) -> list[object]:
    """One column of all items, in the order of their keys."""
    with queue.find() as batch:
        return [item[name] for item in batch]


def until(condition: Callable[[], object], what: str = "it") -> None:
    end = time.monotonic() + PATIENCE
    while not condition():
        assert time.monotonic() < end, f"{what} never happened"
        time.sleep(0.005)


class Psql:
    """A session on the test's PostgreSQL that is not the library's."""

    def __init__(self) -> None:
        programs = os.environ.get("READPAST_PG_BIN")
        if programs is None:
            pytest.skip("needs the throw-away PostgreSQL")
        given = dict(re.findall(r"(\w+)=([^;]*)", os.environ["READPAST_CONNECTION"]))
        names = {"PGHOST": "Server", "PGPORT": "Port", "PGDATABASE": "Database", "PGUSER": "Uid", "PGPASSWORD": "Pwd"}
        self._process = subprocess.Popen(
            [f"{programs}/psql", "-X", "-q", "-t", "-A", "-v", "ON_ERROR_STOP=1"],
            env={**os.environ, **{name: given[key] for name, key in names.items()}},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, sql: str) -> str:
        """Runs statements of which one gives a value."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        print(sql + ";", file=self._process.stdin, flush=True)
        return self._process.stdout.readline().strip()

    def lock(self, queue: str) -> None:
        """Locks a queue's table, so that calls on it wait."""
        table = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", queue).lower()
        assert self.ask(f"BEGIN; LOCK TABLE readpast_python.{table}; SELECT 1") == "1"

    def unlock(self) -> None:
        assert self.ask("ROLLBACK; SELECT 1") == "1"

    def wait_for_blocked(self) -> None:
        until(lambda: self.ask("SELECT count(*) FROM pg_locks WHERE NOT granted") != "0", "a call that waits")

    def __enter__(self) -> Psql:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, at: TracebackType | None
    ) -> None:
        self._process.communicate()
