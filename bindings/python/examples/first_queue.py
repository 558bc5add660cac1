import os

import readpast

connection = os.environ.get("READPAST_CONNECTION", "")
readpast.install({"queue": "Mail", "columns": [{"name": "Recipient", "type": "text(254)"}]}, connection=connection)
with readpast.Queue("Mail", connection=connection) as queue:
    queue.enqueue({"Recipient": "a@example.org"})
    for item in queue.items(wait=0):
        print("work on", item["Recipient"])
        queue.settle(item.complete())
