"""Which server a connection leads to, and how its driver executes a statement."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ._statement import POSTGRESQL, SQL_SERVER

#: SQLGetInfo, in ODBC, for the name of the product.
_SQL_DBMS_NAME = 17

_DRIVERS = {
    "psycopg": POSTGRESQL,
    "psycopg2": POSTGRESQL,
    "asyncpg": POSTGRESQL,
    "pg8000": POSTGRESQL,
    "pymssql": SQL_SERVER,
}

_SERVERS = {"postgresql": POSTGRESQL, "mssql": SQL_SERVER, "microsoft": SQL_SERVER}


class Target(NamedTuple):
    """A connection of a kind that is known."""

    #: SQLAlchemy's or Django's connection, the driver's own, or a cursor's.
    connection: Any
    kind: str
    server: str
    style: str


def target(on: Any, server: str | None) -> Target:
    """The connection of what a caller gave: a session, a connection or a cursor."""
    if _module(on) in {"sqlalchemy", "sqlmodel"}:
        # An AsyncSession's and an AsyncConnection's own are synchronous; `enqueue_async` runs this within `run_sync`.
        connection = on.connection() if callable(getattr(on, "connection", None)) else on
        dialect = connection.dialect
        return Target(connection, "sqlalchemy", server or _known(_SERVERS, dialect.name, on), dialect.paramstyle)
    if hasattr(on, "vendor") and hasattr(on, "alias"):
        return Target(on, "django", server or _known(_SERVERS, on.vendor, on), "format")
    connection = on if hasattr(on, "cursor") or not hasattr(on, "connection") else on.connection
    driver = _module(connection)
    if driver == "pyodbc":
        product = "" if server else str(connection.getinfo(_SQL_DBMS_NAME))
        found = server or (POSTGRESQL if "postgres" in product.lower() else SQL_SERVER)
        return Target(connection, driver, found, "qmark")
    style = "numeric_dollar" if driver == "asyncpg" else "format"
    return Target(connection, driver, server or _known(_DRIVERS, driver, on), style)


def rows(of: Target, statement: str, values: Sequence[Any]) -> list[Sequence[Any]]:
    """The rows of a statement, each by place."""
    if of.kind == "sqlalchemy":
        return [tuple(row) for row in of.connection.exec_driver_sql(statement, tuple(values))]
    cursor = of.connection.cursor(**_by_place(of))
    try:
        cursor.execute(statement, tuple(values))
        # A trigger of the table may print: to pyodbc that is a result of its own, without rows.
        while cursor.description is None and cursor.nextset():
            pass
        return list(cursor.fetchall())
    finally:
        cursor.close()


async def rows_async(of: Target, statement: str, values: Sequence[Any]) -> list[Sequence[Any]]:
    """The same on a connection whose calls are awaited."""
    if of.kind == "asyncpg":
        return [tuple(row) for row in await of.connection.fetch(statement, *values)]
    async with of.connection.cursor(**_by_place(of)) as cursor:
        await cursor.execute(statement, tuple(values))
        return list(await cursor.fetchall())


def _by_place(of: Target) -> dict[str, Any]:
    """A connection may be set to return rows as dictionaries or objects; the answer is read by place."""
    if of.kind == "psycopg":
        from psycopg.rows import tuple_row  # noqa: PLC0415 (it is the caller's driver, and may not be there)

        return {"row_factory": tuple_row}
    if of.kind == "psycopg2":
        from psycopg2.extensions import cursor  # noqa: PLC0415

        return {"cursor_factory": cursor}
    return {}


def _module(of: Any) -> str:
    return type(of).__module__.partition(".")[0]


def _known(among: dict[str, str], name: str, on: Any) -> str:
    if name not in among:
        kind = f"{type(on).__module__}.{type(on).__qualname__}"
        raise TypeError(f"the server of a {kind} is not known: name it, server={POSTGRESQL!r} or {SQL_SERVER!r}")
    return among[name]
