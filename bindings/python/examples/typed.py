from __future__ import annotations

import os
from dataclasses import dataclass

import readpast

handlers = readpast.Handlers()


@dataclass
class SendMail:
    to: str
    copies: int = 1


@dataclass
class Resize:
    file: str


@handlers.handle(column="Document")  # items of the type SendMail, whose work is JSON in one column
def send(mail: SendMail, item: readpast.Item) -> readpast.Settlement | None:
    print("mail to", mail.to)
    return item.complete("250 OK")


@handlers.handle  # items of the type Resize, whose fields are columns; a coroutine function is one, too
async def resize(work: Resize, _: readpast.Item) -> None:
    print("resize", work.file)


connection = os.environ.get("READPAST_CONNECTION", "")
columns = [{"name": "Document", "type": "json"}, {"name": "File", "type": "text"}]
spec = {"queue": "Jobs", "types": ["SendMail", "Resize"], "columns": columns}
readpast.install(spec, connection=connection)
with readpast.Queue("Jobs", connection=connection) as queue:
    queue.enqueue({"Document": {"to": "a@example.org"}})
    queue.enqueue(readpast.NewItem({"File": "x.png"}, type="Resize"))
    readpast.Worker(queue, handlers, until_empty=True).run()
