"""The adapter of the conformance suite: tests/conformance/README.md describes what it is asked and how it answers.

It reads one JSON object a line, makes the call, and writes one JSON object a line.
"""

from __future__ import annotations

import json
import logging
import sys
import threading
from typing import Any

import objects
import verbs


class Later(threading.Thread):
    """A call on a thread of its own, so that another call can meet it while it waits."""

    def __init__(self, request: dict[str, Any]) -> None:
        super().__init__(daemon=True)
        self.request = request
        self.answer: dict[str, Any] = {}
        self.start()

    def run(self) -> None:
        self.answer = verbs.call(self.request)


def main() -> None:
    logging.basicConfig(format="%(name)s: %(message)s")
    calls: dict[str, Later] = {}
    for line in sys.stdin.buffer:
        request = json.loads(line)
        if "async" in request:
            calls[request["async"]] = Later(request)
            answer = {"status": "READPAST_OK", "started": request["async"]}
        elif request["do"] == "await":
            calls[request["call"]].join()
            answer = calls[request["call"]].answer
        else:
            answer = verbs.call(request)
        print(json.dumps(answer), flush=True)
    objects.free_all()


if __name__ == "__main__":
    main()
