"""The checkout with a task of the README of bindings/python/data."""

from django.db import connection, transaction
from django_tasks import task  # Django 6.0 has it itself: from django.tasks import task


@task
def send_receipt(order: int) -> str:
    """Here a mail would be sent."""
    return f"receipt of order {order}"


def check_out(customer: int, amount: int) -> int:
    """Orders, and puts the task in, in one transaction."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("INSERT INTO orders (customer, amount) VALUES (%s, %s) RETURNING id", [customer, amount])
        order: int = cursor.fetchone()[0]
        send_receipt.enqueue(order)
    return order
