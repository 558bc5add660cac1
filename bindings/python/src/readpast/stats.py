"""Figures about a queue."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple


class Stats(NamedTuple):
    """Figures about a queue at one moment; times are in milliseconds.

    Percentiles and means are of the newest items that were started and finished; None where there is no such item.
    """

    #: How many items are Pending.
    pending: int
    #: How many items are Processing.
    processing: int
    #: How many items are in Error.
    error: int
    #: How many items are Failed.
    failed: int
    #: How many items are Completed.
    completed: int
    #: How many items are Cancelled.
    cancelled: int
    #: How many items are Paused.
    paused: int
    #: How many items are Terminated.
    terminated: int
    #: How many items are PartiallyCompleted.
    partially_completed: int
    #: How many items are due now and wait for a worker.
    due: int
    #: How long the longest-waiting of them has been due, in milliseconds; None when none is due.
    oldest_due_ms: int | None
    #: How many items in flight have outlived their lease.
    expired: int
    #: How many items the percentiles and means are of (at most 10000).
    sample: int
    #: Milliseconds from due to started, 50th percentile.
    wait_p50_ms: int | None
    #: Milliseconds from due to started, 90th percentile.
    wait_p90_ms: int | None
    #: Milliseconds from due to started, 99th percentile.
    wait_p99_ms: int | None
    #: Milliseconds from the claim to the end, 50th percentile.
    claimed_p50_ms: int | None
    #: Milliseconds from the claim to the end, 90th percentile.
    claimed_p90_ms: int | None
    #: Milliseconds from the claim to the end, 99th percentile.
    claimed_p99_ms: int | None
    #: Milliseconds from due to started, on average.
    wait_mean_ms: int | None
    #: Milliseconds from the claim to the end, on average.
    claimed_mean_ms: int | None
    #: How many items were enqueued within the last hour; None when the queue deletes what is completed.
    arrivals_last_hour: int | None
    #: How many items are claimed now: in flight, with a lease that has not run out.
    claimed: int
    #: How many must be worked on at once to keep up (Little's law): the arrivals of the last hour per millisecond,
    #: times the mean time claimed, divided by 0.8, so that workers are idle for a fifth of their time and waits stay
    #: short. At least 1 while there is work; None when the arrivals are not known.
    workers_needed: int | None

    @classmethod
    def of(cls, answer: Mapping[str, Any]) -> Stats:
        """The figures of an answer to "stats"."""
        counts = {name: answer["counts"][name.title().replace("_", "")] for name in cls._fields[:9]}
        spans = {f"{of}_{part}_ms": ms for of in ("wait", "claimed") for part, ms in answer[f"{of}_ms"].items()}
        figures = {**answer, **spans, **counts}
        return cls(*(figures[name] for name in cls._fields))
