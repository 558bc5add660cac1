"""Works a queue off on several threads."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from typing import Callable, NamedTuple

from ._coroutines import Changes
from ._engine import Engine, Event, EventKind
from ._handling import Handler, Handling
from ._logging import Teller, log
from ._on_loop import OnLoop, check_async
from ._on_threads import OnThreads
from ._signals import Flag, stopping_on_signals
from ._texts import Seconds, milliseconds, milliseconds_or_none
from .batch import Batch
from .errors import ClosedError, QueueError
from .figures import Figures
from .queue import Queue
from .status import State, Status

_log = logging.getLogger(__name__)


class Settled(NamedTuple):
    """The end of an item that a worker had in flight."""

    #: The item's key.
    key: str
    #: The attempt of the claim.
    attempt: int
    #: `OK`, or why the item was not the worker's any more, such as `LEASE_LOST`.
    answer: Status
    #: The state it is in now; `NONE` where it is not known.
    state: State


class Worker:
    """Works a queue off on several threads.

    The library claims items ahead, renews their leases, and settles in groups what has ended; the threads hand items to
    the handler. docs/worker.md says what becomes of an item in each case; the settings `worker.fetchers`,
    `worker.ahead` and `worker.hold_ms` of the queue say how far ahead it works.

    The handler may be a function or a coroutine function (`async def`): these run on an event loop that the worker has
    on a thread of its own, as many at once as there are `threads`. One is cancelled when its item is found lost, and,
    if `stop_timeout` is given, when it has not ended so long after the worker was stopped; the item is then given back,
    and the attempt does not count.

    An exception of the handler becomes the item's error, with its stack, and the item is tried again while attempts are
    left; the worker goes on. An error that is no `Exception`, as from `sys.exit`, ends the run besides. A return value
    that is neither None nor a `Settlement` of this very item is a mistake of the program: the work was done, so the
    item becomes Failed, with an error that says so, and is not tried again. An item that was lost meanwhile is left to
    the worker that has it now. A value that the database cannot store, such as a response longer than its column, is
    left out, and the item's error names it. Lost connections and the like are waited for. The logger `readpast.worker`
    logs all of that.

    The worker uses a handle of its own: to stop it interrupts no other caller, while `Queue.interrupt` stops it.
    """

    def __init__(
        self,
        queue: Queue,
        handler: Handler,
        *,
        threads: int = 1,
        batch_size: int = 1,
        stop_timeout: Seconds | None = None,
        settle_timeout: Seconds | None = None,
        until_empty: bool = False,
    ) -> None:
        """`run` calls `handler` on the worker's threads, several at once. `queue` must stay open while the worker runs.

        `batch_size` is how many items a thread takes at once, 1 to 1000, to handle them one after the other; how many
        are claimed with a call is for the library to choose. `stop_timeout` is how long coroutines may go on when the
        worker is stopped; None: until they end. It does not end functions, which nothing can end. `settle_timeout` is
        how long `run` waits, once the last handler has ended, until the database has their settlements; None: as long
        as a lease. With `until_empty` it stops by itself when nothing is due and nothing in flight.
        """
        if threads < 1:
            raise ValueError("a worker needs a thread")
        self._queue = queue
        self._teller = Teller(queue)
        self._handler = handler
        changes = Changes(self._wait, self._is_stopping, self.stop)
        self._patience = None if stop_timeout is None else milliseconds(stop_timeout) / 1000
        self._handling = Handling(handler, changes, self._patience, self._teller)
        self._parts = (self._handling, changes, self._fail, threads, batch_size)
        self._threads = threads
        self._batch_size = batch_size
        self._settle_timeout_ms = milliseconds_or_none("settle_timeout", settle_timeout)
        self._until_empty = until_empty
        self._engine: Engine | None = None
        self._has_run = False
        self._stopping = False
        self._failure: BaseException | None = None
        self._lock = threading.Lock()
        self._is_abandoned = False
        self._crew: OnThreads | OnLoop | None = None

    def claimed(self, batch: Batch) -> None:
        """For subclasses: called with every batch before its first item is handled, on the thread that has taken it."""

    def settled(self, settled: Sequence[Settled]) -> None:
        """For subclasses: called on a thread of its own with items that ended a little before.

        They were handled, or given back or lost before they were begun."""

    def figures(self) -> Figures:
        """Its figures so far. Raises `ClosedError` before and after `run`."""
        return self._running().figures()

    def run(self, *, signals: bool = False) -> None:
        """Works until `stop`.

        Then items in flight are finished and settled, those that were not begun are given back, and this returns.

        With `signals`, SIGINT and SIGTERM stop it, each once; this must be the main thread then. The handlers that were
        there before are put back at the first signal, and at the end: a second Ctrl-C is a KeyboardInterrupt, as usual.

        An exception that interrupts the main thread here, like KeyboardInterrupt without `signals`, stops the worker
        and is raised when it has ended; a second one is raised at once, and what is in flight is left to its leases.

        A failure that no other try mends ends the run, and is raised when the other threads have ended.
        `TimedOutError`: the database did not take the handlers' settlements within `settle_timeout`; they are left to
        their leases.
        """
        self._begin_run()
        with stopping_on_signals(self.stop, signals):
            if self._stopping:
                return
            ended = Flag()
            thread = self._thread(OnThreads(*self._parts), ended.set)
            with self._logging():
                try:
                    thread.start()
                    ended.wait()
                    # It has no more to do, and is not to be seen any more.
                    thread.join()
                except BaseException:
                    # While it stops, the next one is raised at once.
                    if not self._stopping:
                        self.stop()
                        if thread.ident is not None:
                            ended.wait()
                    raise
                finally:
                    if not ended.is_set():
                        self._handling.close(wait=False)
        if self._failure is not None:
            raise self._failure

    async def run_async(self) -> None:
        """Works until `stop` on the event loop that runs this: what was made on it, as a pool, is there for handlers.

        The handler must be a coroutine function, likewise all functions of `Handlers`: TypeError for others. Of these
        coroutines as many run at once as there are `threads`; none of them has a thread, and each has a copy of the
        context in which this was called. `claimed` is called on a thread beside the loop, with up to
        `batch_size` items for each coroutine that may begin.

        A cancellation is a stop: it lets coroutines go on for `stop_timeout`, settles them, and is raised when that is
        done. A second one abandons the worker, and waits for the database alone; a third one waits for nothing. For
        signals use `loop.add_signal_handler(signal.SIGTERM, worker.stop)`.

        Failures are those of `run`; after a cancellation one is its cause.
        """
        check_async(self._handler)
        self._begin_run()
        if self._stopping:
            return
        loop, ended = asyncio.get_running_loop(), asyncio.Event()

        def tell() -> None:
            # A closed loop refuses it: nobody waits then.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(ended.set)

        crew = OnLoop(*self._parts, self._patience)
        thread = self._thread(crew, tell)
        reactions, cancelled = [self.abandon, self.stop], None
        with self._logging():
            try:
                thread.start()
                while not ended.is_set():
                    try:
                        await ended.wait()
                    except asyncio.CancelledError as error:
                        if not reactions:
                            raise
                        # It is not kept itself: it knows this frame.
                        cancelled = error.args
                        crew.is_cancelled = True
                        reactions.pop()()
                thread.join()
            finally:
                if not ended.is_set():
                    self.abandon()
                crew.close()
        if cancelled is not None:
            raise asyncio.CancelledError(*cancelled) from self._failure
        if self._failure is not None:
            raise self._failure

    def stop(self) -> None:
        """Lets `run` end in order, now or when it is called. From any thread or signal handler; returns at once."""
        if self._stopping:
            return
        self._stopping = True
        engine = self._engine
        if engine is not None:
            try:
                engine.stop()
            except QueueError as error:
                _log.debug("nothing to stop: %s", error)

    def abandon(self) -> None:
        """Stops, and gives back at once what handlers have not ended, without spending an attempt.

        It is for a program that ends and waits for its handlers no longer. `run` returns although they go on; what they
        return is refused. From any thread; returns at once.
        """
        with self._lock:
            self._is_abandoned = self._stopping = True
            engine, crew = self._engine, self._crew
        if engine is not None:
            try:
                engine.abandon()
            except QueueError as error:
                _log.debug("nothing to abandon: %s", error)
        if crew is not None:
            crew.leave()

    def _begin_run(self) -> None:
        if self._has_run:
            raise RuntimeError("a worker runs once")
        self._has_run = True

    def _thread(self, crew: OnThreads | OnLoop, tell: Callable[[], None]) -> threading.Thread:
        """The thread of the run, which calls `tell` when it has ended."""
        with self._lock:
            self._crew = crew
            if self._is_abandoned:
                crew.leave()
        return threading.Thread(target=self._live, args=(crew, tell), name="readpast worker", daemon=True)

    @contextmanager
    def _logging(self) -> Generator[None, None, None]:
        """Logs the begin of a run and its end."""
        name = self._queue.worker
        line, extra = "worker %s started: threads: %d, items a batch: %d", self._teller()
        log(logging.INFO, line, name, self._threads, self._batch_size, extra=extra)
        try:
            yield
        finally:
            if self._failure is None:
                log(logging.INFO, "worker %s stopped", name, extra=extra)
            else:
                status = self._failure.status if isinstance(self._failure, QueueError) else None
                log(logging.ERROR, "worker %s ended: %s", name, self._failure, extra=self._teller(status=status))

    def _is_stopping(self) -> bool:
        engine = self._engine
        return self._stopping or (engine is not None and engine.is_stopping)

    def _wait(self, seen: int) -> int | None:
        try:
            return self._running().changes(seen)
        except BaseException as failure:
            self._fail(failure)
            return None

    def _live(self, crew: OnThreads | OnLoop, tell: Callable[[], None]) -> None:
        """Has the library's worker and our threads live and end. Signal handlers do not run here to interrupt it."""
        try:
            engine = self._engine = Engine(self._queue, until_empty=self._until_empty)
            try:
                if self._stopping:
                    engine.stop()
                self._work(engine, crew)
            finally:
                engine.free()
        except BaseException as failure:
            self._fail(failure)
        finally:
            tell()

    def _work(self, engine: Engine, crew: OnThreads | OnLoop) -> None:
        reader = threading.Thread(target=self._read_events, args=(engine,), name="readpast events", daemon=True)
        reader.start()
        try:
            crew.work(engine, self.claimed)
        except BaseException as failure:
            self._fail(failure)
        try:
            # Without it the other threads would wait for ever.
            engine.close(self._settle_timeout_ms)
        finally:
            reader.join()
            crew.join()

    def _read_events(self, engine: Engine) -> None:
        """Logs events and passes them to subclasses, until the worker has closed and nothing is left to read."""
        try:
            while (events := engine.events()) is not None:
                for event in events:
                    if event.line:
                        extra = self._teller(event.key, event.attempt, event.action, event.answer)
                        log(logging.WARNING, "%s", event.line, extra=extra)
                self._tell_subclass(events)
        except BaseException as failure:
            self._fail(failure)

    def _tell_subclass(self, events: Sequence[Event]) -> None:
        if type(self).settled is Worker.settled:
            return
        settled = [
            Settled(event.key, event.attempt, Status(event.answer), State(event.state))
            for event in events
            if event.kind in {EventKind.SETTLED, EventKind.LOST}
        ]
        if settled:
            self.settled(settled)

    def _fail(self, failure: BaseException) -> None:
        self._failure = self._failure or failure
        self.stop()

    def _running(self) -> Engine:
        if self._engine is None:
            raise ClosedError("the worker does not run", Status.CLOSED)
        return self._engine
