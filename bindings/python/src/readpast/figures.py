"""Figures about a worker."""

from __future__ import annotations

from typing import NamedTuple


class Figures(NamedTuple):
    """A worker's figures so far."""

    #: Items in flight that no thread has taken.
    ready: int
    #: Items that are being handled, or lie behind one in its thread's batch.
    begun: int
    #: Items that were handled and are not settled yet.
    ended: int
    #: Items claimed.
    claimed: int
    #: Items settled as was asked for.
    settled: int
    #: Items given back unworked, which cost no attempt.
    released: int
    #: Items found not to be this worker's any more.
    lost: int
    #: Items for which the library or the database refused a part of the result.
    refused: int
    #: Calls answered that settled or claimed.
    calls: int
    #: Calls that failed in a way that may pass.
    troubles: int
    #: The median of how long the answered calls took, in microseconds, to within a factor of 1.5.
    call_us_p50: int
    #: The same of the 99th percentile.
    call_us_p99: int
