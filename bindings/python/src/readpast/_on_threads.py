"""A worker's threads, on which functions are handled."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Callable

from ._coroutines import Changes
from ._handling import Handling

if TYPE_CHECKING:
    from ._engine import Engine
    from .batch import Batch
    from .item import Item


class OnThreads:
    """Each thread takes items, has them handled one after the other, and ends them."""

    def __init__(
        self,
        handling: Handling,
        changes: Changes,
        fail: Callable[[BaseException], None],
        threads: int,
        batch_size: int,
    ) -> None:
        self._handling = handling
        self._changes = changes
        self._fail = fail
        self._threads = threads
        self._batch_size = batch_size
        self._lock = threading.Lock()
        self._at_work = 0
        self._is_left = False
        self._over = threading.Event()
        """No thread is at work any more, or nobody waits for those that are."""

    def work(self, engine: Engine, claimed: Callable[[Batch], None]) -> None:
        """Works until the worker stops and no handler is at work any more."""
        threads: list[threading.Thread] = []
        try:
            for number in range(1, self._threads + 1):
                name = f"readpast worker {number}"
                thread = threading.Thread(target=self._work, args=(engine, claimed), name=name, daemon=True)
                with self._lock:
                    thread.start()
                    self._at_work += 1
                threads.append(thread)
        except BaseException as failure:
            self._fail(failure)
        if threads:
            self._over.wait()
        if not self._is_left:
            for thread in threads:
                thread.join()
        self._handling.close(wait=not self._is_left)

    def leave(self) -> None:
        """Has `work` wait for handlers no longer. From any thread."""
        self._is_left = True
        self._over.set()

    def join(self) -> None:
        """Waits for what waits for the library's worker, which has closed."""
        self._handling.join()

    def _work(self, engine: Engine, claimed: Callable[[Batch], None]) -> None:
        try:
            while batch := engine.take(self._batch_size):
                with batch:
                    self._work_on(engine, batch, claimed)
            # By `stop`, or because the queue itself was interrupted: for all threads alike.
            self._changes.stop()
        except BaseException as failure:
            if not self._is_left:
                self._fail(failure)
        finally:
            with self._lock:
                self._at_work -= 1
                if self._at_work == 0:
                    self._over.set()

    def _work_on(self, engine: Engine, batch: Batch, claimed: Callable[[Batch], None]) -> None:
        begun: Item | None = None
        try:
            claimed(batch)
            for item in batch:
                if engine.begin(item):
                    begun = item
                    engine.end(self._handling.handle(item))
        except BaseException as failure:
            if self._is_left:
                return
            # First, so that others have the rest at once.
            self._fail(failure)
            if begun is not None:
                engine.end(self._handling.raised(begun, failure))
            engine.give_back(batch)
            raise
