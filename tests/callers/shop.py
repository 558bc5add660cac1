"""The checkout of the README of bindings/python/data."""

from sqlalchemy import text
from sqlalchemy.orm import Session

from readpast_data import enqueue


def check_out(session: Session, customer: int, amount: int) -> int:
    """Orders, and puts the notice about it in, in the one transaction that the caller commits."""
    insert = text("INSERT INTO orders (customer, amount) VALUES (:customer, :amount) RETURNING id")
    order: int = session.execute(insert, {"customer": customer, "amount": amount}).scalar_one()
    enqueue(session, "Notice", [{"amount": amount, "work": f"order {order}"}])
    return order
