"""`readpast_worker`: items taken, begun and ended, with the library's own threads between us and the database."""

from __future__ import annotations

from collections.abc import Iterator
from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

from ._handle import Handle
from ._library import CData, ffi, lib, sized, string
from ._texts import Texts, encoded
from .answers import Outcome
from .batch import Batch
from .errors import ClosedError
from .figures import Figures
from .item import Item
from .settlement import Settlement, settlements_for
from .status import State, Status

if TYPE_CHECKING:
    from .queue import Queue

_DAY_MS = 24 * 60 * 60 * 1000
_EVENTS_AT_ONCE = 1000
_EVENTS_KEPT = 100_000
"""The thread that reads them shares the interpreter with handlers, and may come late."""

_OPTIONS, _OPTIONS_SIZE = sized("readpast_worker_options")
_FIGURES, _FIGURES_SIZE = sized("readpast_worker_figures")
_EVENT, _EVENT_SIZE = sized("readpast_event")


class EventKind(IntEnum):
    """The kinds of events."""

    SETTLED = lib.READPAST_EVENT_SETTLED
    LOST = lib.READPAST_EVENT_LOST
    REFUSED = lib.READPAST_EVENT_REFUSED
    TROUBLE = lib.READPAST_EVENT_TROUBLE
    SET_ASIDE = lib.READPAST_EVENT_SET_ASIDE
    ABANDONED = lib.READPAST_EVENT_ABANDONED


class Event(NamedTuple):
    """Something that happened in a worker, as the header has it."""

    kind: int
    answer: int
    key: str
    attempt: int
    state: int
    action: int
    message: str
    left_out: str
    line: str


class Engine:
    """A worker of the library. Any number of threads may use it; when it was freed, calls raise `ClosedError`."""

    def __init__(self, queue: Queue, *, until_empty: bool = False) -> None:
        options, worker = ffi.new(_OPTIONS), ffi.new("readpast_worker *")
        options.struct_size = _OPTIONS_SIZE
        options.events = _EVENTS_KEPT
        options.until_empty = until_empty
        queue._open().call(lib.readpast_worker_start, options, worker)
        self._handle: Handle | None = Handle(worker[0], lib.readpast_worker_free)

    def take(self, max_items: int) -> Batch:
        """Waits for items that are due. Without any the worker is stopping."""
        batch = ffi.new("readpast_batch *")
        while True:
            status = self._open().call(lib.readpast_worker_take, max_items, _DAY_MS, batch)
            if status is not Status.EMPTY:
                return Batch(status, batch[0], self._settle, self.is_lost, self._report)

    def begin(self, item: Item) -> bool:
        """Whether an item that was taken begins. One that does not is not the worker's any more."""
        key = encoded(item.key, "key")
        return self._open().call(lib.readpast_worker_begin, key, item.attempt) is Status.OK

    def give_back(self, batch: Batch) -> None:
        """Gives back the items of a batch that have not begun."""
        items = batch._rows.handle()
        self._open().call(lib.readpast_worker_give_back, items.c)

    def end(self, settlement: Settlement) -> None:
        """Ends an item that was taken; the library knows its token. One that is not in flight any more is let pass."""
        texts = Texts()
        self._open().call(lib.readpast_worker_end, settlements_for([settlement._replace(token=None)], texts), 1)

    def is_lost(self, key: str, attempt: int) -> bool:
        handle = self._handle
        return handle is None or bool(lib.readpast_worker_is_lost(handle.c, encoded(key, "key"), attempt))

    def changes(self, seen: int) -> int | None:
        """Waits for more changes than `seen`, 0 at first, and says how many there are.

        They tell that an item was lost, or that the worker is stopping. None: it has closed, there will be no more.
        """
        changes = ffi.new("int64_t *")
        while True:
            status = self._open().call(lib.readpast_worker_changes, seen, _DAY_MS, changes)
            if status is not Status.EMPTY:
                return None if status is Status.INTERRUPTED else int(changes[0])

    def stop(self) -> None:
        self._open().call(lib.readpast_worker_stop)

    def abandon(self) -> None:
        """Stops, and gives back what handlers have not ended."""
        self._open().call(lib.readpast_worker_abandon)

    @property
    def is_stopping(self) -> bool:
        handle = self._handle
        return handle is None or bool(lib.readpast_worker_is_stopping(handle.c))

    def close(self, timeout_ms: int) -> None:
        """Stops, and waits until all is settled; raises what made the worker stop, if it was a failure."""
        self._open().call(lib.readpast_worker_close, timeout_ms)

    def free(self) -> None:
        self._handle = None

    def figures(self) -> Figures:
        figures = ffi.new(_FIGURES)
        figures.struct_size = _FIGURES_SIZE
        self._open().call(lib.readpast_worker_get_figures, figures)
        return Figures(*(getattr(figures, figure) for figure in Figures._fields))

    def events(self) -> list[Event] | None:
        """The events since the last time; waits for the first. None: the worker has closed, and all is read."""
        events = ffi.new("readpast_events *")
        if self._open().call(lib.readpast_worker_events, _EVENTS_AT_ONCE, _DAY_MS, events) is Status.INTERRUPTED:
            return None
        return list(_copied(Handle(events[0], lib.readpast_events_free)))

    def _settle(self, settlement: Settlement) -> Outcome:
        """Records a step while the item's handler works. The library keeps the token to itself."""
        key, attempt, step = settlement.key, settlement.attempt, encoded(settlement.step, "step")
        answer = self._open().call(lib.readpast_worker_step, encoded(key, "key"), attempt, step)
        return Outcome(answer, State.PROCESSING if answer is Status.OK else State.NONE, attempt, "")

    def _report(self, key: str, attempt: int, percent: int | None, text: str | None) -> None:
        c_text = ffi.NULL if text is None else encoded(text, "text")
        number = -1 if percent is None else max(-1, min(percent, 100))
        self._open().call(lib.readpast_worker_progress, encoded(key, "key"), attempt, number, c_text)

    def _open(self) -> Handle:
        handle = self._handle
        if handle is None:
            raise ClosedError("the worker has ended", Status.CLOSED)
        return handle


def _copied(events: Handle) -> Iterator[Event]:
    event: CData = ffi.new(_EVENT)
    event.struct_size = _EVENT_SIZE
    for index in range(lib.readpast_events_count(events.c)):
        # It cannot fail: the index is below the count.
        lib.readpast_events_get(events.c, index, event, ffi.NULL)
        key, message = string(event.key) or "", string(event.message) or ""
        left_out, line = string(event.left_out) or "", string(event.line) or ""
        yield Event(event.kind, event.answer, key, event.attempt, event.state, event.action, message, left_out, line)
