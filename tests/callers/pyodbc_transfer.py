import struct

import pyodbc

CLAIM = "EXECUTE [readpast].Next_Transfer_Set_trx @Worker = ?, @Max = 1"
SETTLE = """EXECUTE [readpast].Modify_Transfer_utx @EnqueuedAt = ?, @UpdatedAt = ?, @Status = 'Completed',
    @Worker = ?, @AttemptNum = ?"""


def connect(connection_string: str) -> pyodbc.Connection:
    """A connection that gives times as text: Python's have six digits, tokens have seven."""

    def told(raw: bytes) -> str:
        *parts, nanoseconds = struct.unpack("<h5HI", raw)
        return "{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:07}".format(*parts, nanoseconds // 100)

    connection = pyodbc.connect(connection_string)
    connection.add_output_converter(pyodbc.SQL_TYPE_TIMESTAMP, told)
    return connection


class LostError(Exception):
    """Somebody else has the item now: our work is undone."""


def transfer(connection: pyodbc.Connection, worker: str) -> bool:
    """Whether an item was due and is done."""
    connection.autocommit = True  # a claim commits its own work, and refuses a transaction
    item = connection.execute(CLAIM, worker).fetchone()
    connection.autocommit = False
    if item is None or item.Key is None:
        return False
    with connection:  # commits at its end; an error rolls back
        connection.execute("UPDATE account SET balance = balance - ? WHERE id = 1", item.amount)
        connection.execute("EXECUTE [readpast].Add_Notice_utx @amount = ?", item.amount)
        claimed = item.Key, item.Token, worker, item.AttemptNum
        answer = connection.execute(SETTLE, *claimed).fetchone()
        if answer.Answer != "OK":
            raise LostError(answer.Answer)
    return True
