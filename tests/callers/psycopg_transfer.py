import psycopg

CLAIM = """SELECT answer_key, answer_token, answer_attempt, amount
    FROM readpast.next_transfer_set_trx(%s, 1) WHERE answer_key IS NOT NULL"""
SETTLE = """SELECT answer = 'OK', answer
    FROM readpast.modify_transfer_utx(%s, %s, 'Completed', worker_ => %s, attempt_num_ => %s)"""


class LostError(Exception):
    """Somebody else has the item now: our work is undone."""


def transfer(connection: psycopg.Connection, worker: str) -> bool:
    """Whether an item was due and is done. The connection is in autocommit: the claim is a transaction of its own."""
    item = connection.execute(CLAIM, (worker,)).fetchone()
    if item is None:
        return False
    key, token, attempt, amount = item
    with connection.transaction():
        connection.execute("UPDATE account SET balance = balance - %s WHERE id = 1", (amount,))
        connection.execute("SELECT * FROM readpast.add_notice_utx(amount_ => %s)", (amount,))
        settled = connection.execute(SETTLE, (key, token, worker, attempt)).fetchone()
        if not settled or not settled[0]:
            raise LostError(settled)  # which rolls back
    return True
