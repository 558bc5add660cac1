"""The caller's own transaction over psycopg. The server is that of PGHOST and so on, with the queues of this folder."""

from __future__ import annotations

import json
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest

from psycopg_transfer import LostError, transfer

WORKER = "me"
PUT = "SELECT * FROM readpast.add_{}_utx(amount_ => 10, work_ => %s)"
CLAIM = "SELECT answer_key::text, answer_token::text, answer_attempt FROM readpast.next_{}_set_trx(%s, 1)"
SETTLE = "SELECT answer FROM readpast.modify_{}_utx({}, %s, %s, worker_ => %s, attempt_num_ => %s)"
SETTLE_SET = "SELECT answer FROM readpast.modify_{}_set_utx(%s, %s, %s) ORDER BY answer_ordinal"
ADD_SET = "SELECT answer FROM readpast.add_{}_set_utx(%s, %s) ORDER BY answer_ordinal"
WAITS = "SELECT COUNT(*) FROM pg_locks WHERE NOT granted AND pid = %s"
STATES = {
    "transfer": "SELECT status FROM readpast.transfer",
    "notice": "SELECT item_status FROM readpast.worker_notice_v",
}


@dataclass
class Given:
    """A queue, somebody's account beside it, and what is called in the tests."""

    name: str
    connection: psycopg.Connection

    def one(self, query: str, *values: Any) -> Any:
        row = self.connection.execute(query.encode(), values).fetchone()
        return None if row is None else row[0]

    def all(self, query: str, *values: Any) -> list[Any]:
        return [row[0] for row in self.connection.execute(query.encode(), values)]

    def put(self, work: str) -> None:
        self.one(PUT.format(self.name), work)

    def next(self) -> dict[str, Any] | None:
        """One item, claimed within the transaction."""
        query = f"SELECT * FROM readpast.next_{self.name}_utx(%s)"
        item = self.connection.execute(query.encode(), (WORKER,)).fetchone()
        return None if item is None else {"key": item[0], "token": item[1], "attempt": None}

    def claim(self) -> dict[str, Any]:
        item = self.connection.execute(CLAIM.format(self.name).encode(), (WORKER,)).fetchone()
        assert item is not None
        assert item[0] is not None, "an item is due"
        return {"key": item[0], "token": item[1], "attempt": item[2], "status": "Completed"}

    def pay(self) -> None:
        self.connection.execute("UPDATE account SET balance = balance - 10 WHERE id = 1")

    def settle(self, item: dict[str, Any], status: str = "Completed") -> Any:
        """One item, and its key as what it is."""
        key = "%s::timestamptz" if self.name == "transfer" else "%s"
        values = (item["key"], item["token"], status, WORKER, item["attempt"])
        return self.one(SETTLE.format(self.name, key), *values)

    def settle_set(self, *items: dict[str, Any], operation: str | None = None) -> list[Any]:
        return self.all(SETTLE_SET.format(self.name), operation, WORKER, json.dumps(items))

    def add_set(self, *works: str, operation: str | None = None) -> list[Any]:
        items = [{"columns": {"amount": 10, "work": work}} for work in works]
        return self.all(ADD_SET.format(self.name), json.dumps(items), operation)

    def is_done(self, operation: str) -> bool:
        return bool(self.one("SELECT answer FROM readpast.queue_is_done(%s)", operation) == "OK")

    def everything(self) -> tuple[int, list[str]]:
        """The balance, and the states of all items: as another connection sees them."""
        with psycopg.connect() as other:
            balance = other.execute("SELECT balance FROM account").fetchone()
            assert balance is not None
            return balance[0], sorted(row[0] for row in other.execute(STATES[self.name].encode()))


def cleared(connection: psycopg.Connection) -> None:
    connection.execute("DROP TABLE IF EXISTS account")
    connection.execute("CREATE TABLE account (id integer PRIMARY KEY, balance integer NOT NULL)")
    connection.execute("INSERT INTO account VALUES (1, 100)")
    connection.execute("DELETE FROM readpast.transfer")
    connection.execute("DELETE FROM readpast.notices")


@pytest.fixture(params=STATES)
def given(request: pytest.FixtureRequest) -> Iterator[Given]:
    with psycopg.connect(autocommit=True) as connection:
        cleared(connection)
        yield Given(request.param, connection)


def test_all_of_it_is_done_with_the_commit(given: Given) -> None:
    given.put("a")
    item = given.claim()
    with given.connection.transaction():
        given.pay()
        assert given.settle(item) == "OK"
        given.put("b")
        assert given.add_set("c", "d") == ["OK", "OK"]
        assert given.everything() == (100, ["Processing"]), "nobody else sees it yet"
    assert given.everything() == (90, ["Completed", "Pending", "Pending", "Pending"])


def test_nothing_of_it_is_done_with_a_rollback(given: Given) -> None:
    given.put("a")
    item = given.claim()
    with given.connection.transaction():
        given.pay()
        assert given.settle_set(item) == ["OK"]
        given.put("b")
        raise psycopg.Rollback
    assert given.everything() == (100, ["Processing"])
    assert given.settle(item) == "OK", "the claim is still ours"


def test_a_claim_its_work_and_its_end_are_one(given: Given) -> None:
    given.put("a")
    for commits in (False, True):
        with given.connection.transaction():
            item = given.next()
            assert item is not None
            given.pay()
            with psycopg.connect() as other:
                assert Given(given.name, other).next() is None, "others pass over it"
            assert given.settle(item) == "OK"
            if not commits:
                raise psycopg.Rollback
        assert given.everything() == ((90, ["Completed"]) if commits else (100, ["Pending"]))


def test_a_savepoint_undoes_what_came_after_it(given: Given) -> None:
    given.put("a")
    item = given.claim()
    with given.connection.transaction():
        given.pay()
        with given.connection.transaction():
            assert given.settle(item) == "OK"
            assert given.add_set("b") == ["OK"]
            raise psycopg.Rollback
        assert given.settle_set({**item, "status": "Error", "error": "later"}) == ["OK"]
    assert given.everything() == (90, ["Error"])


def test_a_refusal_is_an_answer_and_ends_nothing(given: Given) -> None:
    given.put("a")
    item = given.claim()
    with given.connection.transaction():
        given.pay()
        assert given.settle({**item, "token": "2020-01-01T00:00:00Z"}) == "CONFLICT"
        assert given.settle_set({**item, "attempt": 7}) == ["LEASE_LOST"]
        assert given.settle_set({**item, "status": "Unheard"}) == ["ILLEGAL_TRANSITION"]
        assert given.add_set("a", "b", "b") == ["DUPLICATE", "OK", "DUPLICATE"]
        assert given.settle(item) == "OK"
    assert given.everything() == (90, ["Completed", "Pending"])


def test_an_error_in_between_undoes_up_to_the_savepoint(given: Given) -> None:
    given.put("a")
    item = given.claim()
    with given.connection.transaction():
        given.pay()
        with pytest.raises(psycopg.errors.DivisionByZero), given.connection.transaction():
            assert given.settle(item) == "OK"
            given.put("b")
            given.one("SELECT 1 / 0")
        # The next one is an error of the call itself.
        with pytest.raises(psycopg.Error) as refused, given.connection.transaction():
            given.all(f"SELECT readpast.modify_{given.name}_set_utx(NULL, 'me', '[]', 5000)")
        assert refused.value.sqlstate == "RP021"
        assert given.settle(item, "Error") == "OK"
    assert given.everything() == (90, ["Error"])


def test_an_error_in_between_undoes_all_where_there_is_no_savepoint(given: Given) -> None:
    given.put("a")
    item = given.claim()
    with pytest.raises(psycopg.errors.DivisionByZero), given.connection.transaction():
        given.pay()
        assert given.settle(item) == "OK"
        given.put("b")
        given.one("SELECT 1 / 0")
    assert given.everything() == (100, ["Processing"])
    assert given.settle(item) == "OK"


def crash(name: str, item: str) -> None:
    """The part of the next test that is another process: it never commits."""
    with psycopg.connect(autocommit=True) as connection, connection.transaction():
        given = Given(name, connection)
        given.pay()
        given.put("b")
        print(given.settle(json.loads(item)), flush=True)
        sys.stdin.read()


def test_a_crash_before_the_commit_leaves_nothing(given: Given) -> None:
    given.put("a")
    item = given.claim()
    command = [sys.executable, __file__, given.name, json.dumps(item)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "OK\n"
        process.kill()
    # Waits for the row until the server has noticed.
    assert given.settle(item) == "OK"
    assert given.everything() == (100, ["Completed"])


def test_an_operation_shows_whether_the_commit_has_happened(given: Given) -> None:
    given.put("a")
    item, settles, adds = given.claim(), str(uuid.uuid4()), str(uuid.uuid4())

    def work(connection: psycopg.Connection, *, is_cut: bool) -> None:
        own = Given(given.name, connection)
        with connection.transaction():
            assert own.settle_set(item, operation=settles) == ["OK"]
            assert own.add_set("b", operation=adds) == ["OK"]
            if is_cut:
                given.one("SELECT pg_terminate_backend(%s)", connection.info.backend_pid)

    with pytest.raises(psycopg.OperationalError), psycopg.connect(autocommit=True) as connection:
        work(connection, is_cut=True)
    assert not given.is_done(settles)
    assert not given.is_done(adds)
    # The second time nothing is changed, and the answers are the same.
    for _ in range(2):
        with psycopg.connect(autocommit=True) as connection:
            work(connection, is_cut=False)
        assert given.is_done(settles)
        assert given.is_done(adds)
    assert given.everything() == (100, ["Completed", "Pending"])


def test_the_lines_on_the_page_work(given: Given) -> None:
    given = Given("transfer", given.connection)
    assert not transfer(given.connection, WORKER)
    given.put("a")
    assert transfer(given.connection, WORKER)
    assert given.everything() == (90, ["Completed"])
    assert given.one("SELECT COUNT(*) FROM readpast.notices") == 1


def test_the_lines_on_the_page_work_where_text_comes_as_bytes(given: Given) -> None:
    given = Given("transfer", given.connection)
    given.put("a")
    # As in a database whose encoding is SQL_ASCII.
    with psycopg.connect(autocommit=True, client_encoding="SQL_ASCII") as connection:
        assert connection.execute("SELECT 'OK'").fetchone() == (b"OK",)
        assert transfer(connection, WORKER)
    assert given.everything() == (90, ["Completed"])


def test_the_lines_on_the_page_undo_the_work_on_an_item_that_was_lost(given: Given) -> None:
    given = Given("transfer", given.connection)
    given.put("a")
    with (
        psycopg.connect(autocommit=True) as connection,
        psycopg.connect() as holder,
        ThreadPoolExecutor() as threads,
    ):
        holder.execute("SELECT 1 FROM account FOR UPDATE")
        working = threads.submit(transfer, connection, WORKER)
        # It is at its work: an operator cancels the item under its hands.
        deadline = time.monotonic() + 600
        while given.one(WAITS, connection.info.backend_pid) == 0:
            assert time.monotonic() < deadline
        cancel = "SELECT readpast.modify_transfer_trx(enqueued_at, updated_at, 'Cancelled') FROM readpast.transfer"
        given.one(cancel)
        holder.rollback()
        with pytest.raises(LostError):
            working.result()
    assert given.everything() == (100, ["Cancelled"])
    assert given.one("SELECT COUNT(*) FROM readpast.notices") == 0


if __name__ == "__main__":
    crash(*sys.argv[1:])
