"""The call that enqueues."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from datetime import datetime, timezone
from typing import Any, NamedTuple
from uuid import UUID

from ._connections import Target, rows, rows_async, target
from ._items import AnyItem, items_json
from ._statement import Statement, enqueuing

_TIME = re.compile(r"(?P<seconds>\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d)(?:\.(?P<part>\d+))?(?P<zone>[+-][\d:]+)?")


class Receipt(NamedTuple):
    """An enqueued item, or one that was there already."""

    #: The key that it has now. Of a duplicate, that of the item that was there, where the queue's `dedup` names it.
    key: str | None
    #: Whether the same work was there already, by the queue's `dedup`, and nothing was added.
    duplicate: bool


def enqueue(
    on: Any,
    queue: str,
    items: Iterable[AnyItem],
    *,
    operation: UUID | str | None = None,
    schema: str = "readpast",
    server: str | None = None,
) -> list[Receipt]:
    """Enqueues items in the transaction of `on`: they are there when that commits, and workers wake then.

    `on` is a SQLAlchemy session or connection, a Django connection, or a connection or cursor of psycopg, psycopg2,
    pg8000, pyodbc or pymssql. `items` are at most 1,000: mappings of columns, or `NewItem`. `operation` is an identity
    for the call: made again with it after the commit, it adds nothing and returns the same keys. `server` (`postgresql`
    or `sqlserver`) is for connections of another driver.

    What the database refuses is the driver's own exception, as for any statement: it ends the transaction on SQL
    Server, and on PostgreSQL goes back to the last savepoint. ValueError and TypeError: the items cannot be written.
    """
    to, call, values = _prepared(target(on, server), queue, items, operation, schema)
    return _receipts(call, rows(to, call.written(to.style), values))


async def enqueue_async(
    on: Any,
    queue: str,
    items: Iterable[AnyItem],
    *,
    operation: UUID | str | None = None,
    schema: str = "readpast",
    server: str | None = None,
) -> list[Receipt]:
    """As `enqueue`, awaited.

    `on` is a SQLAlchemy AsyncSession or AsyncConnection, a connection of asyncpg, or an asynchronous connection or
    cursor of psycopg.
    """
    if hasattr(on, "run_sync"):
        options: dict[str, Any] = {"operation": operation, "schema": schema, "server": server}
        receipts: list[Receipt] = await on.run_sync(lambda plain: enqueue(plain, queue, items, **options))
        return receipts
    to, call, values = _prepared(target(on, server), queue, items, operation, schema)
    return _receipts(call, await rows_async(to, call.written(to.style), values))


def _prepared(
    to: Target, queue: str, items: Iterable[AnyItem], operation: UUID | str | None, schema: str
) -> tuple[Target, Statement, list[str | None]]:
    identity = None if operation is None else str(operation)
    return to, enqueuing(to.server, schema, queue), [items_json(items), identity]


def _receipts(call: Statement, answer: list[Sequence[Any]]) -> list[Receipt]:
    in_order = sorted(answer, key=lambda row: row[call.ordinal])
    return [Receipt(_key(_read(row, call)), row[call.answer] == "DUPLICATE") for row in in_order]


def _read(row: Sequence[Any], call: Statement) -> Any:
    """The key of a row: PostgreSQL's times are read from their text, which has as many digits as there are."""
    key = row[call.key]
    is_time = key is not None and call.type is not None and row[call.type].startswith("timestamp")
    time = _TIME.fullmatch(key) if is_time else None
    if time is None:
        return key
    return datetime.fromisoformat(f"{time['seconds']}.{(time['part'] or '').ljust(6, '0')}{time['zone'] or ''}")


def _key(value: Any) -> str | None:
    """A key as the library has it: a time in UTC has seven digits of a second, the last of them 0 here."""
    if isinstance(value, datetime):
        utc = value if value.tzinfo is None else value.astimezone(timezone.utc).replace(tzinfo=None)
        return utc.isoformat(timespec="microseconds") + "0"
    return None if value is None else str(value)
