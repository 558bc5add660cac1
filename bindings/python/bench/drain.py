"""Claims and completes items as fast as one thread can, in batches of 100, and says how long it took.

The same as bindings/c/bench/drain.c:

  READPAST_CONNECTION='Driver={...};Server=...;' drain [-o key=value]... [-w handlers] queue count

With -w, a Worker does it: so many handlers of one item, which do nothing.
"""

from __future__ import annotations

import argparse
import gc
import itertools
import json
import os
import resource
import sys
import time
from typing import Any

import readpast

BATCH_SIZE = 100
WARM = 50_000


def main() -> int:
    parser = argparse.ArgumentParser(prog="drain")
    parser.add_argument("-o", metavar="key=value", action="append", default=[])
    parser.add_argument("-w", metavar="handlers", type=int)
    parser.add_argument("queue")
    parser.add_argument("count", type=int)
    arguments = parser.parse_args()
    settings: dict[str, Any] = dict(setting.split("=", 1) for setting in arguments.o)
    settings.setdefault("connection", os.environ.get("READPAST_CONNECTION", ""))
    with readpast.Queue(arguments.queue, **settings) as queue:
        return work(queue, arguments.w, arguments.count) if arguments.w else drain(queue, arguments.count)


def work(queue: readpast.Queue, handlers: int, wanted: int) -> int:
    done = itertools.count(1)

    def handle(_: readpast.Item) -> None:
        if next(done) == wanted:
            worker.stop()

    worker = readpast.Worker(queue, handle, threads=handlers)
    begun = time.perf_counter()
    worker.run()
    print(json.dumps({"items": wanted, "seconds": time.perf_counter() - begun}))
    return 0


def drain(queue: readpast.Queue, wanted: int) -> int:
    done = read = 0
    rss_begin = resident_kb()
    cpu, begun = cpu_seconds(), time.perf_counter()
    batch = queue.claim(BATCH_SIZE)
    while batch:
        settlements: list[readpast.Settlement] = []
        for item in batch:
            read += len(item["Payload"])
            settlements.append(item.complete())
        outcomes, following = queue.settle_and_claim(settlements, BATCH_SIZE)
        if outcomes.status is not readpast.Status.OK:
            print("drain: an item was refused", file=sys.stderr)
            return 1
        batch.close()
        if done < WARM <= done + len(batch):
            rss_begin = resident_kb()
        done += len(batch)
        batch = following
    seconds, used = time.perf_counter() - begun, cpu_seconds() - cpu
    if done != wanted or not read:
        print(f"drain: there were {done} items", file=sys.stderr)
        return 1
    figures = {"items": done, "seconds": seconds, "cpu_seconds": used}
    print(json.dumps({**figures, "rss_begin_kb": rss_begin, "rss_end_kb": resident_kb()}))
    return 0


def cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def resident_kb() -> int:
    # The garbage that happens to lie about is not what is looked for.
    gc.collect()
    with open("/proc/self/statm", encoding="ascii") as statm:
        return int(statm.read().split()[1]) * resource.getpagesize() // 1024


if __name__ == "__main__":
    sys.exit(main())
