"""The caller's own transaction over pyodbc, on READPAST_CALLERS_SQLSERVER, with the queues of this folder."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import pyodbc
import pytest

from pyodbc_transfer import LostError, connect, transfer

SERVER = os.environ.get("READPAST_CALLERS_SQLSERVER", "")
pytestmark = pytest.mark.skipif(not SERVER, reason="READPAST_CALLERS_SQLSERVER is not set")

WORKER = "me"
STATES = {
    "Transfer": "SELECT Status FROM [readpast].Transfer ORDER BY 1",
    "Notice": "SELECT ItemStatus FROM [readpast].Worker_Notice_V ORDER BY 1",
}
SETTLE = {
    "Transfer": "EXECUTE [readpast].Modify_Transfer_utx @EnqueuedAt = ?, @UpdatedAt = ?, ",
    "Notice": "EXECUTE [readpast].Modify_Notice_utx @Key = ?, @Token = ?, ",
}


@dataclass
class Given:
    """A queue, somebody's account beside it, and what is called in the tests. Autocommit is off."""

    name: str
    connection: pyodbc.Connection

    def all(self, statement: str, *values: Any) -> list[Any]:
        return [row[0] for row in self.connection.execute(statement, *values).fetchall()]

    def put(self, work: str) -> None:
        self.all(f"EXECUTE [readpast].Add_{self.name}_utx @amount = 10, @work = ?", work)

    def take_new(self, work: str) -> dict[str, Any]:
        """As one does before his transaction: committed by itself."""
        self.put(work)
        self.connection.commit()
        claim = f"EXECUTE [readpast].Next_{self.name}_Set_trx @Worker = ?, @Max = 1"
        self.connection.autocommit = True
        item = self.connection.execute(claim, WORKER).fetchone()
        self.connection.autocommit = False
        return {
            "key": item.Key,
            "token": item.Token,
            "attempt": item.AttemptNum,
            "status": "Completed",
        }

    def next(self) -> dict[str, Any] | None:
        """One item, claimed within the transaction."""
        item = self.connection.execute(f"EXECUTE [readpast].Next_{self.name}_utx @Worker = ?", WORKER).fetchone()
        return None if item is None else {"key": item[0], "token": item[1], "attempt": None}

    def pay(self) -> None:
        self.connection.execute("UPDATE account SET balance = balance - 10 WHERE id = 1")

    def settle(self, item: dict[str, Any], status: str = "Completed") -> Any:
        call = SETTLE[self.name] + "@Status = ?, @Worker = ?, @AttemptNum = ?"
        return self.all(call, item["key"], item["token"], status, WORKER, item["attempt"])[0]

    def settle_set(self, *items: dict[str, Any], operation: str | None = None) -> list[Any]:
        call = f"EXECUTE [readpast].Modify_{self.name}_Set_utx @Operation = ?, @Worker = ?, @Items = ?"
        return self.all(call, operation, WORKER, json.dumps(items))

    def add_set(self, *works: str, operation: str | None = None) -> list[Any]:
        items = [{"columns": {"amount": 10, "work": work}} for work in works]
        return self.all(
            f"EXECUTE [readpast].Add_{self.name}_Set_utx @Items = ?, @Operation = ?", json.dumps(items), operation
        )

    def is_done(self, operation: str) -> bool:
        (answer,) = self.all("EXECUTE [readpast].QueueIsDone @Operation = ?", operation)
        self.connection.commit()
        return bool(answer == "OK")

    def everything(self) -> tuple[int, list[str]]:
        """The balance, and the states of all items, once they are committed."""
        other = Given(self.name, connect(SERVER))
        with other.connection:
            found = other.all("SELECT balance FROM account")[0], other.all(STATES[self.name])
        other.connection.close()
        return found


@pytest.fixture(params=STATES)
def given(request: pytest.FixtureRequest) -> Iterator[Given]:
    connection = connect(SERVER)
    for statement in (
        "DROP TABLE IF EXISTS account",
        "CREATE TABLE account (id int NOT NULL PRIMARY KEY, balance int NOT NULL)",
        "INSERT INTO account (id, balance) VALUES (1, 100)",
        "DELETE FROM [readpast].Transfer",
        "DELETE FROM [readpast].notices",
    ):
        connection.execute(statement)
    connection.commit()
    yield Given(request.param, connection)
    connection.rollback()
    connection.close()


def test_all_of_it_is_done_with_the_commit(given: Given) -> None:
    item = given.take_new("a")
    with given.connection:
        given.pay()
        assert given.settle(item) == "OK"
        given.put("b")
        assert given.add_set("c", "d") == ["OK", "OK"]
    assert given.everything() == (90, ["Completed", "Pending", "Pending", "Pending"])


def test_nothing_of_it_is_done_with_a_rollback(given: Given) -> None:
    item = given.take_new("a")
    given.pay()
    assert given.settle_set(item) == ["OK"]
    given.put("b")
    given.connection.rollback()
    assert given.everything() == (100, ["Processing"])
    assert given.settle(item) == "OK", "the claim is still ours"


def test_a_claim_its_work_and_its_end_are_one(given: Given) -> None:
    given.put("a")
    given.connection.commit()
    for commits in (False, True):
        item = given.next()
        assert item is not None
        given.pay()
        assert given.settle(item) == "OK"
        if commits:
            given.connection.commit()
        else:
            given.connection.rollback()
        assert given.everything() == ((90, ["Completed"]) if commits else (100, ["Pending"]))
    assert given.next() is None, "nothing is due any more"


def test_a_call_may_be_the_first_statement(given: Given) -> None:
    item = given.take_new("a")
    assert given.settle(item) == "OK"
    given.connection.rollback()
    assert given.everything() == (100, ["Processing"])


def test_a_savepoint_undoes_what_came_after_it(given: Given) -> None:
    item = given.take_new("a")
    given.pay()
    given.connection.execute("SAVE TRANSACTION here")
    assert given.settle(item) == "OK"
    assert given.add_set("b") == ["OK"]
    given.connection.execute("ROLLBACK TRANSACTION here")
    assert given.settle_set({**item, "status": "Error", "error": "later"}) == ["OK"]
    given.connection.commit()
    assert given.everything() == (90, ["Error"])


def test_a_refusal_is_an_answer_and_ends_nothing(given: Given) -> None:
    item = given.take_new("a")
    given.pay()
    assert given.settle({**item, "token": "2020-01-01T00:00:00"}) == "CONFLICT"
    assert given.settle_set({**item, "attempt": 7}) == ["LEASE_LOST"]
    assert given.settle_set({**item, "status": "Unheard"}) == ["ILLEGAL_TRANSITION"]
    assert given.add_set("a", "b", "b") == ["DUPLICATE", "OK", "DUPLICATE"]
    assert given.settle(item) == "OK"
    given.connection.commit()
    assert given.everything() == (90, ["Completed", "Pending"])


def test_an_error_in_between_undoes_all(given: Given) -> None:
    item = given.take_new("a")
    for wrong in (
        "INSERT INTO account (id, balance) VALUES (1, 0)",
        f"EXECUTE [readpast].Modify_{given.name}_Set_utx NULL, 'me', '[]', 5000",
    ):
        with pytest.raises(pyodbc.Error), given.connection:
            given.pay()
            assert given.settle(item) == "OK"
            given.put("b")
            given.all(wrong)
        assert given.everything() == (100, ["Processing"])
    assert given.settle(item) == "OK"


def crash(name: str, item: str, settles: str) -> None:
    """The part of the next test that is another process: it never commits."""
    given = Given(name, connect(SERVER))
    given.pay()
    given.put("b")
    print(*given.settle_set(json.loads(item), operation=settles), flush=True)
    sys.stdin.read()


def test_a_crash_before_the_commit_leaves_nothing(given: Given) -> None:
    item, settles, adds = given.take_new("a"), str(uuid.uuid4()), str(uuid.uuid4())
    command = [sys.executable, __file__, given.name, json.dumps(item), settles]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "OK\n"
        process.kill()
    assert not given.is_done(settles)
    # The second time nothing is changed, and the answers are the same. The first waits until the server has noticed.
    for _ in range(2):
        with given.connection:
            assert given.settle_set(item, operation=settles) == ["OK"]
            assert given.add_set("c", operation=adds) == ["OK"]
        assert given.is_done(settles)
        assert given.is_done(adds)
    assert given.everything() == (100, ["Completed", "Pending"])


def test_the_lines_on_the_page_work(given: Given) -> None:
    given = Given("Transfer", given.connection)
    assert not transfer(given.connection, WORKER)
    given.put("a")
    given.connection.commit()
    assert transfer(given.connection, WORKER)
    assert given.everything() == (90, ["Completed"])
    assert given.all("SELECT amount FROM [readpast].notices") == [10]


def test_the_lines_on_the_page_undo_the_work_on_an_item_that_was_lost(given: Given) -> None:
    given = Given("Transfer", given.connection)
    given.put("a")
    given.connection.commit()
    one, holder = connect(SERVER), connect(SERVER)
    holder.execute("UPDATE account SET balance = balance WHERE id = 1")
    threads = ThreadPoolExecutor()
    working = threads.submit(transfer, one, WORKER)
    # It cannot do its work yet: an operator cancels the item under its hands.
    deadline = time.monotonic() + 600
    item = None
    while item is None:
        assert time.monotonic() < deadline
        taken = "SELECT EnqueuedAt, UpdatedAt FROM [readpast].Transfer WHERE Status = 'Processing'"
        item = given.connection.execute(taken).fetchone()
        given.connection.commit()
    cancel = "EXECUTE [readpast].Modify_Transfer_utx @EnqueuedAt = ?, @UpdatedAt = ?, @Status = 'Cancelled'"
    assert given.all(cancel, *item) == ["OK"]
    given.connection.commit()
    holder.rollback()
    with pytest.raises(LostError):
        working.result()
    threads.shutdown()
    assert given.everything() == (100, ["Cancelled"])
    assert given.all("SELECT id FROM [readpast].notices") == []
    one.close()
    holder.close()


if __name__ == "__main__":
    crash(*sys.argv[1:])
