import os

import readpast

with readpast.Queue("Notification", connection=os.environ.get("READPAST_CONNECTION", "")) as queue:
    for item in queue.items(wait=5):
        print(item.json())  # the work
        queue.settle(item.complete())
