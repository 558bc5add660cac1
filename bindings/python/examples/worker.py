"""A worker, to copy and make your own: put your work into `handle`.

  READPAST_CONNECTION='Driver={...};Server=...;' worker [-b items] [-l lease_ms] [-o key=value]... [-f n] [-r] queue

  -b items       how many items to claim at once (default 50)
  -l lease_ms    how long a claim holds, should this process die
  -o key=value   any setting of the library, like -o schema=sales
  -f n           every nth item fails, to see what becomes of it
  -r             write to standard output what was claimed and what the server answered, as
                 bindings/c/examples/records.h describes

SIGTERM or SIGINT (Ctrl-C) ends it in order: what was begun is settled, what was not is given back. A second Ctrl-C ends
it at once; the leases then run out, and other workers take over.
"""

from __future__ import annotations

import argparse
import logging
import os
import sys
import threading
from collections.abc import Iterable, Sequence
from typing import Any, ClassVar

import readpast


class Work:
    """The work itself, of which this program only pretends."""

    def __init__(self, fail_every: int) -> None:
        self.fail_every = fail_every
        self.handled = 0

    def handle(self, item: readpast.Item) -> readpast.Settlement | None:
        if item["Recipient"] is None:
            return item.fail("there is no recipient")
        # Here a message would be sent to item["Recipient"].
        self.handled += 1
        if self.fail_every > 0 and self.handled % self.fail_every == 0:
            return item.retry("the mail server said: 451 try again later", delay=0.2)
        return None


class RecordingWorker(readpast.Worker):
    """Records its work, by which another program can prove what happened: see bindings/c/examples/records.h.

    It has no records of calls: the library makes the calls.
    """

    taken: ClassVar[set[tuple[str, int]]] = set()

    def claimed(self, batch: readpast.Batch) -> None:
        self.taken.update((item.key, item.attempt) for item in batch)
        write(f"T\t{item.key}\t{item.attempt}\n" for item in batch)

    def settled(self, settled: Sequence[readpast.Settled]) -> None:
        # Others were given back or lost before they were taken.
        ours = [each for each in settled if (each.key, each.attempt) in self.taken]
        self.taken.difference_update((each.key, each.attempt) for each in ours)
        write(f"S\t{each.key}\t{each.attempt}\t{each.answer:d}\t{each.state:d}\n" for each in ours)


_writing = threading.Lock()


def write(lines: Iterable[str]) -> None:
    with _writing:
        sys.stdout.writelines(lines)
        sys.stdout.flush()


def batch_size(text: str) -> int:
    number = int(text)
    if not 1 <= number <= 1000:
        raise argparse.ArgumentTypeError("must be from 1 to 1000")
    return number


def main() -> int:
    parser = argparse.ArgumentParser(prog="worker", description="Works the queue off.")
    parser.add_argument("-b", dest="batch_size", metavar="items", type=batch_size, default=50)
    parser.add_argument("-l", dest="lease_ms", metavar="lease_ms", type=int)
    parser.add_argument("-o", dest="settings", metavar="key=value", action="append", default=[])
    parser.add_argument("-f", dest="fail_every", metavar="n", type=int, default=0)
    parser.add_argument("-r", dest="records", action="store_true")
    parser.add_argument("queue")
    arguments = parser.parse_args()
    settings: dict[str, Any] = {
        "connection": os.environ.get("READPAST_CONNECTION", ""),
        "lease.ms": arguments.lease_ms,
    }
    for setting in arguments.settings:
        key, equals, value = setting.partition("=")
        if not equals:
            parser.error(f"-o {setting}: there is no value")
        settings[key] = value

    logging.basicConfig(format="%(message)s")
    kind = RecordingWorker if arguments.records else readpast.Worker
    try:
        with readpast.Queue(arguments.queue, **settings) as queue:
            kind(queue, Work(arguments.fail_every).handle, batch_size=arguments.batch_size).run(signals=True)
            queue.shutdown(timeout=5)
    except readpast.QueueError as error:
        print(f"{arguments.queue}: {error} ({error.status.c_name})", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        # The second one: somebody has lost patience.
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
