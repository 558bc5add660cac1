"""Runs the binding's Worker, whose handler does what a script says for each payload."""

from __future__ import annotations

import threading
import time
from typing import Any

from arguments import Request, action, milliseconds

from readpast import Item, Queue, Settlement, Worker


def run(queue: Queue, request: Request) -> int:
    until, counting = request.get("until", 1), threading.Lock()
    handled = 0

    def handle(item: Item) -> Settlement | None:
        nonlocal handled
        try:
            return _play(item, request["script"])
        finally:
            with counting:
                handled += 1
                if handled == until:
                    worker.stop()

    worker = Worker(queue, handle, threads=request.get("threads", 1), batch_size=request.get("batch", 1))
    worker.run()
    return handled


def _play(item: Item, script: dict[str, Any]) -> Settlement | None:
    play = script.get(item["Payload"])
    if play is None:
        return None
    does = play["do"]
    if does == "step":
        item.record_step(play["step"])
        return None
    if does == "sleep":
        time.sleep(play["ms"] / 1000)
        return None
    if does == "raise":
        raise RuntimeError(play["message"])
    return item.settle(action(does))._replace(
        response=play.get("response"), error=play.get("error"), delay=milliseconds(play, "delay_ms")
    )
