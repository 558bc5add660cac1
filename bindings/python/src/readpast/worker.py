"""Works a queue off on several threads."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Sequence
from typing import Callable, TypeVar

from ._handling import Handler, Handling, extent, storable
from ._library import ffi
from ._signals import stopping_on_signals
from ._texts import Seconds
from ._waiting import AWAKE
from .answers import Answers, Outcome
from .batch import Batch
from .errors import DatabaseError, InvalidArgumentError, InvalidItemError, QueueError
from .queue import Queue
from .settlement import Settlement
from .status import Status

_log = logging.getLogger(__name__)

T = TypeVar("T")

_WAIT = 60.0
_PAUSE = 1.0
_SHORT_ERROR = 100
"""What any error column holds, where a longer text may be what was refused."""
_OF_ONE_ITEM = (InvalidArgumentError, InvalidItemError, DatabaseError)
"""Refusals that what one handler gave may be the reason for: out of range, or more than a column takes."""


class Worker:
    """Works a queue off on several threads.

    Each claims a batch, has its leases renewed, hands every item to the handler, and settles the batch and claims the
    next one in a single round trip.

    The handler may be a function or a coroutine function (`async def`): these run on an event loop that the worker has
    on a thread of its own, as many at once as there are `threads`. One is cancelled when its item is found lost, and,
    if `stop_timeout` is given, when it has not ended so long after the worker was stopped; the item is then given back,
    and the attempt does not count.

    An exception of the handler becomes the item's error, with its stack, and the item is tried again while attempts are
    left; the worker goes on. A return value that is neither None nor a `Settlement` of this very item is a mistake of
    the program: the work was done, so the item becomes Failed, with an error that says so, and is not tried again. An
    item that was lost meanwhile is left to whoever has it now. What the database cannot store, such as a response
    longer than its column, is left out, and the item's error says so. Lost connections and the like are waited for. The
    logger `readpast.worker` tells of all that.

    The worker uses a handle of its own: to stop it interrupts nobody else, while `Queue.interrupt` stops it.
    """

    def __init__(
        self,
        queue: Queue,
        handler: Handler,
        *,
        threads: int = 1,
        batch_size: int = 1,
        stop_timeout: Seconds | None = None,
    ) -> None:
        """`handler` is called on the worker's threads, several at once. `queue` must stay open while the worker runs.

        `batch_size` is how many items a thread claims at once, 1 to 1000. `stop_timeout` is how long coroutines may go
        on when the worker is stopped; None: until they end. It does not end functions, which nothing can end.
        """
        if threads < 1:
            raise ValueError("a worker needs a thread")
        self._queue = queue
        self._handling = Handling(handler, lambda: self._stopping, stop_timeout)
        self._threads = threads
        self._batch_size = batch_size
        self._own: Queue | None = None
        self._stopping = False
        self._pauses_end = threading.Event()
        self._failure: BaseException | None = None

    def claimed(self, batch: Batch) -> None:
        """For subclasses: called with every batch before its first item is handled, on the worker's threads."""

    def settled(
        self, settlements: Sequence[Settlement], outcomes: Answers[Outcome], seconds: float, following: Batch
    ) -> None:
        """For subclasses: called after a batch was settled, on the worker's threads, with what was asked for, what was
        answered, how long the call took, and the batch that it claimed."""

    def run(self, *, signals: bool = False) -> None:
        """Works until `stop`.

        Then items in hand are finished and settled, those that were not begun are given back, and this returns.

        With `signals`, SIGINT and SIGTERM stop it, each once; this must be the main thread then. The handlers that were
        there before are put back at the first signal, and at the end: a second Ctrl-C is a KeyboardInterrupt, as usual.

        An exception that interrupts the main thread here, like KeyboardInterrupt without `signals`, stops the worker
        and is raised when it has ended; a second one is raised at once, and what is in hand is left to its leases.

        A failure that no other try mends ends the run, and is raised when the other threads have ended.
        """
        if self._own is not None:
            raise RuntimeError("a worker runs once")
        with self._queue.share() as own, stopping_on_signals(self.stop, signals):
            self._own = own
            if self._stopping:
                own.interrupt()
            _log.info("worker %s started: threads: %d, items a batch: %d", own.worker, self._threads, self._batch_size)
            ends: list[threading.Event] = []
            try:
                for number in range(1, self._threads + 1):
                    ends.append(self._start(own, f"readpast worker {number}"))
                _wait_for(ends)
            except BaseException:
                # While it stops, the next one is raised at once.
                if not self._stopping:
                    self.stop()
                    _wait_for(ends)
                raise
            finally:
                self._handling.close(wait=all(end.is_set() for end in ends))
                if self._failure is None:
                    _log.info("worker %s stopped", own.worker)
                else:
                    _log.error("worker %s ended: %s", own.worker, self._failure)
        if self._failure is not None:
            raise self._failure

    def stop(self) -> None:
        """Lets `run` end in order, now or when it is called. From any thread or signal handler; returns at once."""
        # A signal handler may run within this very method, and an event's lock is not for that.
        if self._stopping:
            return
        self._stopping = True
        self._pauses_end.set()
        own = self._own
        if own is not None:
            try:
                own.interrupt()
            except QueueError as error:
                _log.debug("nothing to interrupt: %s", error)

    def _start(self, own: Queue, name: str) -> threading.Event:
        """Starts a thread. One whose `join` a signal handler interrupted may pass for ended: hence the event."""
        ended = threading.Event()

        def work() -> None:
            try:
                self._work(own)
            finally:
                ended.set()

        threading.Thread(target=work, name=name, daemon=True).start()
        return ended

    def _work(self, own: Queue) -> None:
        try:
            while not self._stopping:
                batch = self._claim(own)
                if batch.status is Status.INTERRUPTED:
                    # By `stop`, or because the queue itself was interrupted: for all threads alike.
                    self.stop()
                while batch:
                    batch = self._work_on(own, batch)
        except BaseException as failure:
            self._failure = self._failure or failure
            self.stop()

    def _claim(self, own: Queue) -> Batch:
        try:
            return self._try("claiming", lambda _: own.claim(self._batch_size, wait=_WAIT))
        except QueueError as error:
            # Who is to end anyway need not complain of a server that does not answer.
            if self._stopping and error.retryable:
                return _no_items(own)
            raise

    def _work_on(self, own: Queue, batch: Batch) -> Batch:
        """Handles the items of a batch, settles them, and returns the next batch."""
        with batch:
            with own.renewing(batch):
                self.claimed(batch)
                # Of what was lost before it was begun, the refusal is all there is to report.
                settlements = [
                    item.release() if self._stopping or item.is_lost else self._handling.handle(item) for item in batch
                ]
            try:
                return self._settle(own, settlements, self._batch_size)
            except _OF_ONE_ITEM:
                for settlement in settlements:
                    self._settle_alone(own, settlement)
                return _no_items(own)

    def _settle(self, own: Queue, settlements: Sequence[Settlement], limit: int) -> Batch:
        """Settles items and claims up to `limit` others; 0: none."""

        def call(operation: str | None) -> tuple[Answers[Outcome], Batch]:
            if limit == 0:
                return own.settle_many(settlements, operation=operation), _no_items(own)
            return own.settle_and_claim(settlements, limit, operation=operation)

        begun = time.perf_counter()
        outcomes, following = self._try("settling", call)
        seconds = time.perf_counter() - begun
        self._report(settlements, outcomes)
        self.settled(settlements, outcomes, seconds, following)
        return following

    def _settle_alone(self, own: Queue, given: Settlement) -> None:
        """Settles one item so that what is wrong with it does not hold up the others: without what the database or the
        library refuses, which its error then says. What is done stays done."""
        try:
            self._settle(own, [given], 0)
        except _OF_ONE_ITEM as error:
            told = f"{given.error}; " if given.error else ""
            told = storable(f"{told}what the handler gave was refused: {error}", _SHORT_ERROR)
            _log.warning(
                "item %s, attempt %d: what the handler gave (%s) was refused, and is left out of its %s: %s; "
                "shorten or correct it, or widen its column",
                given.key,
                given.attempt,
                extent(given),
                given.action.name,
                error,
            )
            self._settle(own, [Settlement(given.key, given.token, given.attempt, given.action, error=told)], 0)

    def _report(self, settlements: Sequence[Settlement], outcomes: Answers[Outcome]) -> None:
        if outcomes.status is Status.OK:
            return
        for settlement, outcome in zip(settlements, outcomes):
            if outcome.answer is not Status.OK:
                _log.warning(
                    "item %s, attempt %d could not be settled as %s (%s): it is %s now, and left to whoever has it",
                    settlement.key,
                    settlement.attempt,
                    settlement.action.name,
                    outcome.answer.name,
                    outcome.state.name,
                )

    def _try(self, doing: str, call: Callable[[str | None], T]) -> T:
        """Makes a call until it succeeds, with the same operation once an outcome is unknown; raises what no other try
        mends. Once the worker stops, nobody waits for the server for ever: leases run out, and others take over."""
        operation: str | None = None
        while True:
            is_last = self._stopping
            try:
                return call(operation)
            except QueueError as error:
                operation = error.operation or operation
                if is_last or not (error.retryable or operation):
                    raise
                _log.warning("%s failed and is tried again: %s", doing, error)
                if self._pauses_end.wait(_PAUSE) and not operation:
                    raise


def _wait_for(ends: Sequence[threading.Event]) -> None:
    for ended in ends:
        while not ended.wait(AWAKE):
            pass


def _no_items(own: Queue) -> Batch:
    return Batch(Status.EMPTY, ffi.new("readpast_batch *")[0], own.settle)
