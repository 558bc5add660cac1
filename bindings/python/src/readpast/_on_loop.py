"""A worker's coroutines on the event loop that the program has."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Iterator
from contextlib import suppress
from contextvars import copy_context
from functools import partial
from typing import TYPE_CHECKING, Any, Callable

from ._coroutines import Changes, begin_task, log_cancelled, result_of
from ._handling import Handler, Handling, is_async, plain
from .handlers import Handlers
from .item import Item

if TYPE_CHECKING:
    from ._engine import Engine
    from .batch import Batch

_log = logging.getLogger("readpast.worker")

_MOST_TAKEN = 1000


def check_async(handler: Handler) -> None:
    """Raises TypeError for a function: it would hold up the program's event loop, and no cancellation would end it."""
    chosen = plain(handler)
    functions: list[Any] = [handler]
    if isinstance(chosen, Handlers):
        functions = list(chosen._functions.values())
    for function in functions:
        if not is_async(function):
            raise TypeError(
                f"{function!r} is a function, which would hold up the event loop: make it `async def`, "
                "and put `await asyncio.to_thread(...)` around what blocks"
            )


class OnLoop:
    """Hands items to the loop on which it is made. Two threads wait for the library, however many coroutines run."""

    def __init__(
        self,
        handling: Handling,
        changes: Changes,
        fail: Callable[[BaseException], None],
        lanes: int,
        batch_size: int,
        patience: float | None,
    ) -> None:
        """A lane handles one item after the other. `patience` is the seconds that coroutines may go on after a stop."""
        self._loop = asyncio.get_running_loop()
        self._context = copy_context()
        self._handling = handling
        self._changes = changes
        self._fail = fail
        self._lanes = lanes
        self._batch_size = batch_size
        self._patience = patience
        self._running: set[_Running] = set()
        self._overdue: asyncio.TimerHandle | None = None
        self._free = lanes
        self._is_left = False
        self._may_go_on = threading.Condition()
        self._watch = threading.Thread(target=self._listen, name="readpast changes", daemon=True)
        #: The task that waits for the worker was cancelled: so may the coroutines be, with all that is on the loop.
        self.is_cancelled = False

    def work(self, engine: Engine, claimed: Callable[[Batch], None]) -> None:
        """Takes items until the worker stops, then waits for their coroutines. Not on the loop's thread."""
        batch: Batch | None = None
        try:
            self._watch.start()
            while batch := engine.take(self._wait_for_lanes(1)):
                claimed(batch)
                lanes = -(-len(batch) // self._batch_size)
                with self._may_go_on:
                    self._free -= lanes
                self._loop.call_soon_threadsafe(self._begin, engine, batch)
                # It is the loop's now.
                batch = None
        except BaseException as failure:
            if not self._is_left:
                self._fail(failure)
                if batch:
                    _give_back(engine, batch)
                if self._loop.is_closed():
                    # It was closed without a cancellation of its tasks: none of them ever ends.
                    self.leave()
                    engine.abandon()
        else:
            # By `stop`, or because the queue itself was interrupted.
            self._changes.stop()
        self._wait_for_lanes(self._lanes)

    def leave(self) -> None:
        """Has `work` wait for coroutines no longer. From any thread."""
        with self._may_go_on:
            self._is_left = True
            self._may_go_on.notify_all()

    def join(self) -> None:
        """Waits for the thread that waits for changes, once the library's worker has closed."""
        # It may be what could not be started.
        if self._watch.ident is not None:
            self._watch.join()

    def close(self) -> None:
        """Leaves no timer on the loop. On the loop."""
        self._patience = None
        if self._overdue is not None:
            self._overdue.cancel()

    def _wait_for_lanes(self, count: int) -> int:
        """Waits until so many lanes are free. Returns how many items they take."""
        with self._may_go_on:
            self._may_go_on.wait_for(lambda: self._is_left or self._free >= count)
            return max(self._batch_size, min(self._free * self._batch_size, _MOST_TAKEN))

    def _free_lanes(self, count: int) -> None:
        with self._may_go_on:
            self._free += count
            self._may_go_on.notify_all()

    def _begin(self, engine: Engine, batch: Batch) -> None:
        starts = range(0, len(batch), self._batch_size)
        taken = _Taken(engine, batch, len(starts))
        for start in starts:
            self._next(taken, iter(batch[start : start + self._batch_size]))

    def _next(self, taken: _Taken, items: Iterator[Item]) -> None:
        """Begins the next item of a lane, or frees the lane."""
        try:
            for item in items:
                if taken.engine.begin(item):
                    self._run(taken, items, item)
                    return
        except BaseException as failure:
            self._failed(taken, failure)
        taken.lanes -= 1
        if taken.lanes == 0:
            taken.batch.close()
        self._free_lanes(1)

    def _run(self, taken: _Taken, items: Iterator[Item], item: Item) -> None:
        running = _Running(item)
        # The task copies the context: no item sees what the handler of another has set.
        coroutine, ask = self._handling.awaited(item), lambda: self._why(running) is not None
        running.task = begin_task(self._loop, self._context, coroutine, ask)
        self._running.add(running)
        running.task.add_done_callback(partial(self._ended, taken, items, running))

    def _ended(self, taken: _Taken, items: Iterator[Item], running: _Running, task: asyncio.Task[object]) -> None:
        self._running.discard(running)
        # An exception that knows the frame which knows the task would wait for a collector.
        running.task = None
        item = running.item
        try:
            taken.engine.end(self._handling.judged(item, lambda: result_of(task, self._why(running))))
        except BaseException as failure:
            self._failed(taken, failure, item)
        self._next(taken, items)

    def _why(self, running: _Running) -> str | None:
        """Why the worker has cancelled a coroutine, if it has."""
        return running.why or ("the run was cancelled" if self.is_cancelled else None)

    def _failed(self, taken: _Taken, failure: BaseException, begun: Item | None = None) -> None:
        """Ends the run by what a handler raised, or by a failure of the library."""
        if self._is_left:
            return
        self._fail(failure)
        if begun is not None:
            try:
                taken.engine.end(self._handling.raised(begun, failure))
            except Exception as error:
                _log.debug("nothing to end: %s", error)
        _give_back(taken.engine, taken.batch)

    def _listen(self) -> None:
        seen = 0
        while (changes := self._changes.wait(seen)) is not None:
            seen = changes
            # A closed loop refuses it: no coroutine is left there.
            with suppress(RuntimeError):
                self._loop.call_soon_threadsafe(self._look)

    def _look(self) -> None:
        for running in list(self._running):
            if running.item.is_lost:
                running.cancel("the item is lost")
        if self._patience is not None and self._overdue is None and self._changes.is_stopping():
            self._overdue = self._loop.call_later(self._patience, self._end_overdue)

    def _end_overdue(self) -> None:
        for running in list(self._running):
            running.cancel("the worker stops")


def _give_back(engine: Engine, batch: Batch) -> None:
    try:
        engine.give_back(batch)
    except Exception as error:
        _log.debug("nothing to give back: %s", error)


class _Taken:
    """Items that were taken together, and how many lanes still have some of them."""

    def __init__(self, engine: Engine, batch: Batch, lanes: int) -> None:
        self.engine = engine
        self.batch = batch
        self.lanes = lanes


class _Running:
    """An item whose coroutine runs."""

    def __init__(self, item: Item) -> None:
        self.item = item
        self.task: asyncio.Task[object] | None = None
        #: Why the worker cancelled it, if it did.
        self.why: str | None = None

    def cancel(self, why: str) -> None:
        if self.why is None and self.task is not None and not self.task.done():
            self.why = why
            log_cancelled(self.item, why)
            self.task.cancel()
