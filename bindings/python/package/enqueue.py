"""Puts items where the minimal worker looks for them: enqueue.py COUNT."""

from __future__ import annotations

import os
import sys

import readpast

SPEC = {
    "queue": "Notification",
    "types": ["Email", "Sms"],
    "columns": [
        {"name": "Recipient", "type": "text(254)"},
        {"name": "Subject", "type": "text(200)"},
        {"name": "Body", "type": "text"},
    ],
}
CONNECTION = os.environ["READPAST_CONNECTION"]

readpast.install(SPEC, connection=CONNECTION)
with readpast.Queue("Notification", connection=CONNECTION) as queue:
    numbers = range(1, int(sys.argv[1]) + 1)
    queue.enqueue_many({"Recipient": f"customer-{number}@example.com"} for number in numbers)
