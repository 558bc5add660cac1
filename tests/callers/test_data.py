"""readpast-data over each driver it knows: an item is there with the commit of the caller's transaction, or not."""

from __future__ import annotations

import asyncio
import os
import uuid
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from enum import Enum
from typing import Any

import asyncpg
import django
import pg8000.dbapi
import psycopg
import psycopg2
import psycopg2.extras
import pyodbc
import pytest
from django.conf import settings
from psycopg.rows import dict_row
from psycopg.types.string import TextLoader
from sqlalchemy import create_engine
from sqlalchemy.ext.asyncio import AsyncSession, create_async_engine
from sqlalchemy.orm import Session

from readpast_data import NewItem, Receipt, enqueue, enqueue_async
from readpast_data._items import items_json
from readpast_data._statement import enqueuing, snake_case
from shop import check_out

SERVER = os.environ.get("READPAST_CALLERS_SQLSERVER", "")
PLACE = {name.removeprefix("PG").lower(): os.environ.get(name, "") for name in ("PGHOST", "PGPORT", "PGUSER")}
PLACE |= {"password": os.environ.get("PGPASSWORD", ""), "database": os.environ.get("PGDATABASE", "")}
URL = "{user}:{password}@/{database}?host={host}&port={port}".format(**PLACE)

Check = Callable[[Any, Callable[[], Any], Callable[[], Any]], None]


@contextmanager
def of_psycopg(**options: Any) -> Iterator[tuple[Any, Any, Any]]:
    with psycopg.connect(**options) as connection:
        yield connection, connection.commit, connection.rollback


@contextmanager
def of_psycopg_cursor() -> Iterator[tuple[Any, Any, Any]]:
    with psycopg.connect() as connection:
        yield connection.cursor(), connection.commit, connection.rollback


@contextmanager
def of_psycopg2() -> Iterator[tuple[Any, Any, Any]]:
    connection = psycopg2.connect("", cursor_factory=psycopg2.extras.DictCursor)
    yield connection, connection.commit, connection.rollback
    connection.close()


@contextmanager
def of_pg8000() -> Iterator[tuple[Any, Any, Any]]:
    connection = pg8000.dbapi.connect(
        user=PLACE["user"], password=PLACE["password"], database=PLACE["database"], **of_socket()
    )
    yield connection, connection.commit, connection.rollback
    connection.close()


def of_socket() -> dict[str, Any]:
    host, port = PLACE["host"], PLACE["port"]
    if host.startswith("/"):
        return {"unix_sock": f"{host}/.s.PGSQL.{port}"}
    return {"host": host, "port": int(port)}


@contextmanager
def of_pyodbc() -> Iterator[tuple[Any, Any, Any]]:
    connection = pyodbc.connect(SERVER or os.environ["READPAST_CONNECTION"])
    yield connection, connection.commit, connection.rollback
    connection.close()


@contextmanager
def of_sqlalchemy(driver: str) -> Iterator[tuple[Any, Any, Any]]:
    engine = create_engine(f"postgresql+{driver}://{URL}")
    with Session(engine) as session:
        yield session, session.commit, session.rollback
    engine.dispose()


@contextmanager
def of_django() -> Iterator[tuple[Any, Any, Any]]:
    if not settings.configured:
        of_place = {name.upper(): value for name, value in PLACE.items()} | {"NAME": PLACE["database"]}
        settings.configure(DATABASES={"default": {"ENGINE": "django.db.backends.postgresql", **of_place}})
        django.setup()
    from django.db import connection  # noqa: PLC0415 (it reads the settings)

    connection.set_autocommit(False)
    yield connection, connection.commit, connection.rollback
    connection.close()


BLOCKING: dict[str, Callable[[], Any]] = {
    "psycopg": of_psycopg,
    "psycopg, rows as dictionaries": lambda: of_psycopg(row_factory=dict_row),
    "psycopg, a cursor": of_psycopg_cursor,
    "psycopg2": of_psycopg2,
    "pg8000": of_pg8000,
    "pyodbc": of_pyodbc,
    "SQLAlchemy, psycopg": lambda: of_sqlalchemy("psycopg"),
    "SQLAlchemy, psycopg2": lambda: of_sqlalchemy("psycopg2"),
    "Django": of_django,
}


def works(kind: str = "Notice") -> list[str]:
    """The work of all items, as another connection sees them."""
    if SERVER:
        table = {"Notice": "[readpast].notices", "Transfer": "[readpast].Transfer"}[kind]
        with pyodbc.connect(SERVER) as other:
            return [row[0] for row in other.execute(f"SELECT work FROM {table} ORDER BY work").fetchall()]
    table = {"Notice": "readpast.notices", "Transfer": "readpast.transfer"}[kind]
    with psycopg.connect() as other:
        return [row[0] for row in other.execute(f"SELECT work FROM {table} ORDER BY work".encode())]


@pytest.fixture(autouse=True)
def _cleared() -> None:
    if SERVER:
        with pyodbc.connect(SERVER) as connection:
            connection.execute("DELETE FROM [readpast].notices; DELETE FROM [readpast].Transfer")
        return
    with psycopg.connect() as connection:
        connection.execute("DELETE FROM readpast.notices")
        connection.execute("DELETE FROM readpast.transfer")
        connection.execute("CREATE TABLE IF NOT EXISTS orders (id serial PRIMARY KEY, customer int, amount int)")
        connection.execute("DELETE FROM orders")


@pytest.mark.parametrize("queue", ["Notice", "Transfer"])
@pytest.mark.parametrize("kind", ["pyodbc"] if SERVER else BLOCKING)
def test_items_are_there_with_the_commit(kind: str, queue: str) -> None:
    with BLOCKING[kind]() as (on, commit, rollback):
        enqueue(on, queue, [{"amount": 1, "work": "undone"}])
        rollback()
        assert works(queue) == []
        items = [NewItem({"amount": 1, "work": "100 % \u00e9"}, delay=60), {"Work": "b", "Amount": None}]
        operation = uuid.uuid4()
        receipts = enqueue(on, queue, items, operation=operation)
        assert works(queue) == []
        commit()
        assert works(queue) == ["100 % \u00e9", "b"]
        assert enqueue(on, queue, items, operation=operation) == receipts
        commit()
        [again] = enqueue(on, queue, [{"amount": 2, "work": "b"}])
        assert again == Receipt(receipts[1].key, duplicate=True)
        commit()
        assert [receipt.duplicate for receipt in receipts] == [False, False]
        assert works(queue) == ["100 % \u00e9", "b"]


@pytest.mark.skipif(bool(SERVER), reason="it is of PostgreSQL")
def test_a_key_is_the_same_however_the_driver_reads_times() -> None:
    written = """SELECT to_char(enqueued_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.US') || '0'
        FROM readpast.transfer ORDER BY work"""
    with of_psycopg(options="-c TimeZone=Asia/Kathmandu") as (connection, commit, _):
        connection.adapters.register_loader("timestamptz", TextLoader)
        receipts = enqueue(connection, "Transfer", [{"work": str(number)} for number in range(10)])
        commit()
        assert [receipt.key for receipt in receipts] == [row[0] for row in connection.execute(written)]


async def of_asyncpg(check: Callable[[Any, Any], Awaitable[None]]) -> None:
    connection = await asyncpg.connect()
    transaction = connection.transaction()
    await transaction.start()
    await check(connection, transaction.commit)
    await connection.close()


async def of_psycopg_async(check: Callable[[Any, Any], Awaitable[None]]) -> None:
    async with await psycopg.AsyncConnection.connect(row_factory=dict_row) as connection:
        await check(connection, connection.commit)


async def of_sqlalchemy_async(driver: str, check: Callable[[Any, Any], Awaitable[None]]) -> None:
    engine = create_async_engine(f"postgresql+{driver}://{URL}")
    async with AsyncSession(engine) as session:
        await check(session, session.commit)
    async with engine.connect() as connection:
        await enqueue_async(connection, "Notice", [{"work": "rolled back at the end"}])
    await engine.dispose()


AWAITED: dict[str, Callable[[Callable[[Any, Any], Awaitable[None]]], Any]] = {
    "asyncpg": of_asyncpg,
    "psycopg": of_psycopg_async,
    "SQLAlchemy, asyncpg": lambda check: of_sqlalchemy_async("asyncpg", check),
    "SQLAlchemy, psycopg": lambda check: of_sqlalchemy_async("psycopg", check),
}


@pytest.mark.skipif(bool(SERVER), reason="they are drivers for PostgreSQL")
@pytest.mark.parametrize("kind", AWAITED)
def test_items_are_awaited(kind: str) -> None:
    async def check(on: Any, commit: Callable[[], Awaitable[None]]) -> None:
        receipts = await enqueue_async(on, "Notice", [{"work": "b"}, {"work": "a"}], operation=str(uuid.uuid4()))
        assert [receipt.duplicate for receipt in receipts] == [False, False]
        assert works() == []
        await commit()

    asyncio.run(AWAITED[kind](check))
    assert works() == ["a", "b"]


@pytest.mark.skipif(bool(SERVER), reason="it is of PostgreSQL")
def test_the_shop_of_the_readme_orders_and_notifies_in_one() -> None:
    with of_sqlalchemy("psycopg") as (session, commit, rollback):
        check_out(session, 1, 10)
        rollback()
        order = check_out(session, 1, 10)
        commit()
        assert works() == [f"order {order}"]


@pytest.mark.skipif(bool(SERVER), reason="it is of PostgreSQL")
def test_a_refused_item_is_the_drivers_error_and_goes_back_to_the_savepoint() -> None:
    with of_psycopg() as (connection, commit, _):
        enqueue(connection, "Notice", [{"work": "kept"}])
        with pytest.raises(psycopg.Error, match="amounts"), connection.transaction():
            enqueue(connection, "Notice", [{"amounts": 1}])
        commit()
    assert works() == ["kept"]


def test_values_are_written_as_the_procedures_take_them() -> None:
    class Size(Enum):
        LARGE = "large"

    zone = timezone(timedelta(hours=1))
    at = datetime(2026, 11, 21, 9, 30, 0, 5, zone)
    columns = {
        "at": at,
        "day": date(2026, 11, 21),
        "cost": Decimal("1E+2"),
        "of": uuid.UUID(int=1),
        "size": Size.LARGE,
        "raw": b"\xff",
    }
    item = NewItem(columns, type="A", step="s", delay=timedelta(microseconds=1))
    assert items_json([item, NewItem(due=at), {}]) == (
        '[{"type": "A", "step": "s", "delay_ms": 1, "columns": {"at": "2026-11-21T08:30:00.000005Z", '
        '"day": "2026-11-21", "cost": "100", '
        '"of": "00000000-0000-0000-0000-000000000001", "size": "large", "raw": "/w=="}}, '
        '{"due": "2026-11-21T08:30:00.000005Z", "columns": {}}, {"columns": {}}]'
    )
    for wrong in ({"f": float("nan")}, NewItem(delay=-1), NewItem(due=datetime(2026, 1, 1))):  # noqa: DTZ001
        with pytest.raises(ValueError, match=r"JSON|negative|time zone"):
            items_json([wrong])
    with pytest.raises(TypeError, match="object of type object"):
        items_json([{"o": object()}])


def test_names_are_those_of_the_library() -> None:
    pairs = [("Mail", "mail"), ("PasswordReset", "password_reset"), ("SMSOut", "sms_out"), ("Q2Out", "q2_out")]
    assert [snake_case(name) for name, _ in pairs] == [snake for _, snake in pairs]
    call = enqueuing("sqlserver", "a]b", "Mail")
    assert call.written("qmark") == "EXECUTE [a]]b].[Add_Mail_Set_utx] @Items = ?, @Operation = ?"
    call = enqueuing("postgresql", 'a"b', "Mail")
    assert call.written("numeric_dollar").endswith('"a""b"."add_mail_set_utx"(CAST($1 AS json), CAST($2 AS uuid))')
    for schema, server in [("a%", "postgresql"), ("", "sqlserver"), ("a", "oracle")]:
        with pytest.raises(ValueError, match=r"name of a queue|the server is"):
            enqueuing(server, schema, "Mail")


def test_an_unknown_connection_asks_for_its_server() -> None:
    with pytest.raises(TypeError, match="server='postgresql'"):
        enqueue(object(), "Notice", [{}])
