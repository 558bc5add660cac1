"""The operators' part of a queue."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import Any, Union

from ._handle import Handle
from ._library import CData, ffi, lib, sized
from ._texts import Texts, encoded
from .answers import Answers, Outcome, outcomes_in, room_for_outcomes
from .batch import Batch
from .settlement import ItemRef, item_refs_for
from .stats import Stats
from .status import Status

Filter = Union[Mapping[str, Any], str, None]
"""Which items are meant, as a dict or as JSON text: every member narrows the choice.

`keys`, `status` and `types` are lists of text, `before` and `after` UTC times of the last change, `error` is a part of
its text. None: all items.
"""

_STATS, _STATS_SIZE = sized("readpast_stats")


class Operating(ABC):
    """The part of a queue that operators use."""

    @abstractmethod
    def _open(self) -> Handle: ...

    @abstractmethod
    def _batch(self, status: Status, c: CData) -> Batch: ...

    def recover(self, max_items: int = 1000) -> int:
        """Gives back up to `max_items` (1 to 1000) items whose workers died, and returns how many there were.

        Claims do this too, every now and then.
        """
        recovered = ffi.new("int32_t *")
        self._open().call(lib.readpast_queue_recover, max_items, recovered)
        return int(recovered[0])

    def find(self, filter: Filter = None, *, after: str | None = None, max_items: int = 1000) -> Batch:
        """Finds up to `max_items` (1 to 1000) items, in the order of their keys. Nothing is claimed or changed.

        `after` is the last key of the page before; None: from the start. A batch without items is the end.
        """
        batch = ffi.new("readpast_batch *")
        status = self._open().call(lib.readpast_queue_find, _filter(filter), encoded(after, "after"), max_items, batch)
        return self._batch(status, batch[0])

    def figures(self, of: str, key: str | None = None) -> Batch:
        """Figures of which a queue has one for each step, type or attempt, as rows that are read like items.

        `of` is "steps", "types", "trend" or "attempts"; `key` is an item's, for the last alone. The key of each
        row names it; the header of the library has the columns. "trend 5000" looks twice, 5000 ms apart, at a queue
        that deletes completed items: one look cannot see them.
        """
        batch = ffi.new("readpast_batch *")
        status = self._open().call(lib.readpast_queue_figures, encoded(of, "of"), encoded(key, "key"), batch)
        return self._batch(status, batch[0])

    def redrive(self, items: Iterable[ItemRef], *, operation: str | None = None) -> Answers[Outcome]:
        """Lets items that ended, or that wait, be worked on as if they were new, 1000 in a commit.

        Response, error and step stay. Each item is judged by itself. `operation` is as for `enqueue_many`.
        """
        every, texts = list(items), Texts()
        array, outcomes = item_refs_for(every, texts), room_for_outcomes(len(every))
        status = self._open().call(
            lib.readpast_queue_redrive, array, len(every), encoded(operation, "operation"), outcomes
        )
        return outcomes_in(status, outcomes, len(every))

    def purge(self, filter: Filter = None, *, max_items: int = 1000) -> int:
        """Deletes up to `max_items` (1 to 1000) finished items, and returns how many. Call it until there are none.

        Without a status the filter means Completed, PartiallyCompleted, Cancelled and Terminated; Failed items go only
        when they are named.
        """
        purged = ffi.new("int64_t *")
        self._open().call(lib.readpast_queue_purge, _filter(filter), max_items, purged)
        return int(purged[0])

    def stats(self) -> Stats:
        """Counts the items and measures how long they take. Reads much of the table."""
        stats = ffi.new(_STATS)
        stats.struct_size = _STATS_SIZE
        self._open().call(lib.readpast_queue_stats, stats)
        return Stats(*(getattr(stats, figure) for figure in Stats._fields))


def _filter(filter: Filter) -> Any:
    return encoded(filter if filter is None or isinstance(filter, str) else json.dumps(dict(filter)), "filter")
