"""The event loop on which a worker runs handlers that are coroutines."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Coroutine
from contextlib import suppress
from contextvars import ContextVar, copy_context
from typing import Any, Callable

from ._signals import Flag
from ._texts import Seconds, milliseconds
from .item import Item

_log = logging.getLogger("readpast.worker")

_LOOK = 0.1
"""Seconds between two looks at whether a coroutine is to be cancelled. The library tells when it is asked."""

_ENDED = "the event loop has ended"

_is_cancelled: ContextVar[Callable[[], bool]] = ContextVar("readpast_is_cancelled")
"""Within a handler's coroutine."""


def by_worker() -> bool:
    """Whether a CancelledError that is raised here, in a handler's coroutine, is the worker's doing."""
    is_cancelled = _is_cancelled.get(None)
    return is_cancelled is not None and is_cancelled()


class Cancelled(Exception):  # noqa: N818
    """A coroutine ended because the worker cancelled it."""


class Coroutines:
    """An event loop on a thread of its own, which begins with the first coroutine."""

    def __init__(self, is_stopping: Callable[[], bool], stop_timeout: Seconds | None) -> None:
        """Once the worker stops, coroutines may go on for as long as `stop_timeout` says; None: until they end."""
        self._is_stopping = is_stopping
        self._patience = None if stop_timeout is None else milliseconds(stop_timeout) / 1000
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ending: asyncio.Future[None] | None = None
        self._is_open = True
        self._ended = Flag()

    def run(self, coroutine: Coroutine[Any, Any, object], item: Item) -> object:
        """Runs a handler's coroutine, and returns what it returns or raises what it raises.

        It is cancelled when its item is found lost, or when the worker has been stopping for too long. When it has
        ended by that, this raises `Cancelled`; it may as well end otherwise.
        """
        running = _Running(coroutine, self._is_ending)
        try:
            loop = self._begun()
            loop.call_soon_threadsafe(running.begin, loop)
        except RuntimeError:
            # Somebody has ended the loop, by SystemExit in another handler: the worker ends.
            coroutine.close()
            raise Cancelled(_ENDED) from None
        latest: float | None = None
        while not running.ended.wait(_LOOK):
            if self._ended.is_set():
                break
            if running.why is not None:
                continue
            if latest is None and self._patience is not None and self._is_stopping():
                latest = time.monotonic() + self._patience
            if item.is_lost:
                running.why = "the item is lost"
            elif latest is not None and time.monotonic() >= latest:
                running.why = "the worker stops"
            if running.why is not None:
                _log.warning("item %s, attempt %d: the handler is cancelled: %s", item.key, item.attempt, running.why)
                with suppress(RuntimeError):
                    loop.call_soon_threadsafe(running.cancel)
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
            return self._loop

    def _live(self, begun: threading.Event) -> None:
        async def live() -> None:
            self._loop = asyncio.get_running_loop()
            self._ending = self._loop.create_future()
            begun.set()
            with suppress(asyncio.CancelledError):
                await self._ending

        try:
            # What handlers leave on the loop is cancelled, and its threads are waited for.
            asyncio.run(live())
        except (SystemExit, KeyboardInterrupt):
            # Of a handler, which the worker is told of by its result.
            pass
        finally:
            begun.set()
            self._ended.set()


class _Running:
    """A coroutine that runs on the loop, for a thread that waits."""

    def __init__(self, coroutine: Coroutine[Any, Any, object], is_ending: Callable[[], bool]) -> None:
        self._coroutine = coroutine
        self._is_ending = is_ending
        self._task: asyncio.Task[object] | None = None
        self.ended = threading.Event()
        #: Why it was cancelled, if it was.
        self.why: str | None = None

    def begin(self, loop: asyncio.AbstractEventLoop) -> None:
        context = copy_context()
        context.run(_is_cancelled.set, self.is_cancelled)
        self._task = context.run(loop.create_task, self._coroutine)
        self._task.add_done_callback(lambda _: self.ended.set())

    def cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()

    def is_cancelled(self) -> bool:
        return self.why is not None or self._is_ending()

    def result(self) -> object:
        # An exception that knows the frame which knows the task would wait for a collector.
        task, self._task = self._task, None
        if task is None or not task.done():
            # The loop ended before it got that far.
            del task
            self._coroutine.close()
            raise Cancelled(self.why or _ENDED)
        try:
            return task.result()
        except asyncio.CancelledError as error:
            if self.is_cancelled():
                raise Cancelled(self.why or _ENDED) from None
            raise RuntimeError("the handler was cancelled, and not by the worker") from error
        finally:
            del task
