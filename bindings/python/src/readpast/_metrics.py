"""`readpast_metrics`: what this process has done."""

from __future__ import annotations

from ._library import ffi, lib
from ._made_text import taken
from .errors import checked, place_for_error


def metrics() -> str:
    """The figures of this process's work with its queues since it began, in Prometheus' text format.

    For a page that Prometheus scrapes (`text/plain; version=0.0.4; charset=utf-8`): claims, settlements by their
    answers, retries, errors, durations of calls, connections and workers. docs/operate.md lists the names. Asks no
    server; any thread may call it at any time. For `prometheus_client`, `readpast.prometheus` has a collector.
    """
    made, error = ffi.new("readpast_text *"), place_for_error()
    checked(lib.readpast_metrics(made, error), error)
    return taken(made[0])
