"""Runs the binding's Worker, whose handler does what a script says for each payload."""

from __future__ import annotations

import logging
import threading
import time
from typing import Any

from arguments import Request, action, followers, milliseconds

from readpast import Item, Queue, Settlement, Worker


class _Aside(logging.Filter):
    """Keeps the key of an item that a worker has reported as left aside."""

    key: str | None = None

    def filter(self, record: logging.LogRecord) -> bool:
        if " is set aside " in record.getMessage():
            self.key = getattr(record, "key", None)
        return True


def run(queue: Queue, request: Request) -> dict[str, int | str | None]:
    until, counting = request.get("until", 1), threading.Lock()
    handled = at_once = most_at_once = 0

    def handle(item: Item) -> Settlement | None:
        nonlocal handled, at_once, most_at_once
        with counting:
            at_once += 1
            most_at_once = max(at_once, most_at_once)
        try:
            return _play(item, request["script"])
        finally:
            with counting:
                at_once -= 1
                handled += 1
                if handled == until:
                    worker.stop()

    worker = Worker(
        queue,
        handle,
        threads=request.get("threads", 1),
        batch_size=request.get("batch", 1),
        settle_timeout=milliseconds(request, "settle_timeout_ms"),
        until_empty=until == 0,
    )
    aside, logger = _Aside(), logging.getLogger("readpast.worker")
    logger.addFilter(aside)
    try:
        worker.run()
    finally:
        logger.removeFilter(aside)
    return {"handled": handled, "most_at_once": most_at_once, "aside": aside.key}


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
    if does == "progress":
        item.progress(play["percent"] - 1, "before")
        item.progress(play["percent"], play["text"])
    if does in {"wait_lost", "progress"}:
        while not item.is_lost:
            time.sleep(0.01)
        return None
    if does == "raise":
        raise RuntimeError(play["message"])
    spoil = play.get("spoil")
    texts = {name: play.get(name) for name in ("step", "response", "error", "due")}
    if spoil:
        texts[spoil] += "\0\ud83d"
    values = {"set": play.get("set"), "then": followers(play)}
    return item.settle(action(does))._replace(**texts, delay=milliseconds(play, "delay_ms"), **values)
