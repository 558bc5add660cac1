"""The event loop on which a worker runs handlers that are coroutines."""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Coroutine
from contextlib import suppress
from contextvars import Context, ContextVar, copy_context
from typing import Any, Callable, NamedTuple

from ._signals import Flag
from .item import Item

_log = logging.getLogger("readpast.worker")

_ENDED = "the event loop has ended"


class Changes(NamedTuple):
    """The worker's calls: to wait for news that handlers must have, and to stop it when they can run no more."""

    #: As `Engine.changes`.
    wait: Callable[[int], int | None]
    is_stopping: Callable[[], bool]
    stop: Callable[[], None]


is_cancelled: ContextVar[Callable[[], bool]] = ContextVar("readpast_is_cancelled")
"""Within a handler's coroutine."""


def by_worker() -> bool:
    """Whether a CancelledError that is raised here, in a handler's coroutine, is the worker's doing."""
    ask = is_cancelled.get(None)
    return ask is not None and ask()


class Cancelled(Exception):  # noqa: N818
    """A coroutine ended because the worker cancelled it."""


def begin_task(
    loop: asyncio.AbstractEventLoop, context: Context, coroutine: Coroutine[Any, Any, object], ask: Callable[[], bool]
) -> asyncio.Task[object]:
    """A task for a handler's coroutine, in a copy of the context; `ask` is whether the worker has cancelled it."""
    context.run(is_cancelled.set, ask)
    return context.run(loop.create_task, coroutine)


def result_of(task: asyncio.Task[object], why: str | None) -> object:
    """The outcome of a handler's task, returned or raised. `why` is why the worker has cancelled it, if it has."""
    try:
        return task.result()
    except asyncio.CancelledError as error:
        if why is not None:
            raise Cancelled(why) from None
        raise RuntimeError("the handler was cancelled, and not by the worker") from error
    finally:
        # An exception that knows the frame which knows the task would wait for a collector.
        del task


def log_cancelled(item: Item, why: str) -> None:
    _log.warning("item %s, attempt %d: the handler is cancelled: %s", item.key, item.attempt, why)


class Coroutines:
    """An event loop on a thread of its own, which begins with the first coroutine.

    Another thread waits until the library reports a lost item or the worker's stop, and wakes the threads that wait for
    coroutines.
    """

    def __init__(self, changes: Changes, patience: float | None) -> None:
        """Once the worker stops, coroutines may go on for `patience` seconds; None: until they end."""
        self._changes = changes
        self._patience = patience
        self._lock = threading.Lock()
        self._running: set[_Running] = set()
        self._is_overdue = False
        self._watch: threading.Thread | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ending: asyncio.Future[None] | None = None
        self._is_open = True
        self._ended = Flag()

    def run(self, coroutine: Coroutine[Any, Any, object], item: Item) -> object:
        """Runs a handler's coroutine, and returns what it returns or raises what it raises.

        It is cancelled when its item is found lost, or when the worker has been stopping for too long. When it has
        ended by that, this raises `Cancelled`; it may as well end otherwise.
        """
        running = _Running(coroutine, item, self._is_ending)
        try:
            loop = self._begun()
            loop.call_soon_threadsafe(running.begin, loop)
        except RuntimeError:
            # SystemExit in another handler has ended the loop: the worker ends.
            coroutine.close()
            raise Cancelled(_ENDED) from None
        with self._lock:
            self._running.add(running)
        try:
            # A loss, or the stop, may have come just before the coroutine was among those that are looked at.
            self._look_at(running)
            running.told.wait()
            if running.why is not None and not running.ended.is_set():
                log_cancelled(item, running.why)
                with suppress(RuntimeError):
                    loop.call_soon_threadsafe(running.cancel)
            running.ended.wait()
        finally:
            with self._lock:
                self._running.discard(running)
        return running.result()

    def close(self, *, wait: bool) -> None:
        """Ends the loop, and with `wait` waits until it has: what handlers left there is cancelled first."""
        with self._lock:
            self._is_open = False
            loop, ending = self._loop, self._ending
        if loop is None:
            return
        if ending is not None:
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(ending.cancel)
        if wait:
            self._ended.wait()

    def join(self) -> None:
        """Waits for the thread that waits for changes, once the library's worker has closed."""
        if self._watch is not None:
            self._watch.join()

    def _listen(self, loop: asyncio.AbstractEventLoop) -> None:
        seen = 0
        patience = self._patience
        while (changes := self._changes.wait(seen)) is not None:
            seen = changes
            for running in self._all():
                self._look_at(running)
            if patience is not None and self._changes.is_stopping():
                with suppress(RuntimeError):
                    loop.call_soon_threadsafe(loop.call_later, patience, self._end_overdue)
                patience = None

    def _end_overdue(self) -> None:
        self._is_overdue = True
        for running in self._all():
            self._look_at(running)

    def _look_at(self, running: _Running) -> None:
        if running.item.is_lost:
            running.tell("the item is lost")
        elif self._is_overdue:
            running.tell("the worker stops")
        if self._ended.is_set():
            running.end()

    def _all(self) -> list[_Running]:
        with self._lock:
            return list(self._running)

    def _is_ending(self) -> bool:
        """Known before anything left on the loop is cancelled, also when that ends by SystemExit in a handler: the
        loop's own coroutine is then cancelled with the rest, and what it waits for at once."""
        return self._ending is not None and self._ending.done()

    def _begun(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if not self._is_open:
                raise RuntimeError("the worker has ended")
            if self._loop is None:
                begun = threading.Event()
                threading.Thread(target=self._live, args=(begun,), name="readpast event loop", daemon=True).start()
                begun.wait()
            if self._loop is None or self._ended.is_set():
                raise RuntimeError(_ENDED)
            if self._watch is None:
                watch = threading.Thread(target=self._listen, args=(self._loop,), name="readpast changes", daemon=True)
                watch.start()
                self._watch = watch
            return self._loop

    def _live(self, begun: threading.Event) -> None:
        async def live() -> None:
            self._loop = asyncio.get_running_loop()
            self._ending = self._loop.create_future()
            begun.set()
            with suppress(asyncio.CancelledError):
                await self._ending
            # SystemExit in a handler ended it, if not the worker itself. The coroutines beside it were cancelled with
            # this and end in the next round of the loop: their items are not claimed again.
            self._changes.stop()

        try:
            # The loop's other tasks, which handlers left there, are cancelled, and its threads are waited for.
            asyncio.run(live())
        except (SystemExit, KeyboardInterrupt):
            # It comes from a handler, whose result reports it to the worker.
            pass
        finally:
            begun.set()
            self._ended.set()
            for running in self._all():
                running.end()


class _Running:
    """A coroutine that runs on the loop, for a thread that waits."""

    def __init__(self, coroutine: Coroutine[Any, Any, object], item: Item, is_ending: Callable[[], bool]) -> None:
        self._coroutine = coroutine
        self.item = item
        self._is_ending = is_ending
        self._task: asyncio.Task[object] | None = None
        self.ended = threading.Event()
        #: It has ended, or is to be cancelled.
        self.told = threading.Event()
        #: Why it was cancelled, if it was.
        self.why: str | None = None

    def begin(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._is_ending():
            # A task that begins once all are cancelled would never end.
            self.end()
            return
        self._task = begin_task(loop, copy_context(), self._coroutine, self.is_cancelled)
        self._task.add_done_callback(lambda _: self.end())

    def end(self) -> None:
        self.ended.set()
        self.told.set()

    def tell(self, why: str) -> None:
        """Has it cancelled, by the thread that waits for it."""
        if self.why is None and not self.ended.is_set():
            self.why = why
            self.told.set()

    def cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()

    def is_cancelled(self) -> bool:
        return self.why is not None or self._is_ending()

    def result(self) -> object:
        task, self._task = self._task, None
        if task is None or not task.done():
            # The loop ended before it got that far.
            del task
            self._coroutine.close()
            raise Cancelled(self.why or _ENDED)
        try:
            return result_of(task, (self.why or _ENDED) if self.is_cancelled() else None)
        finally:
            del task
