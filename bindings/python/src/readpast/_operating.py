"""The operators' part of a queue."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, Union

from ._handle import Handle
from ._library import CData, ffi, lib
from ._made_text import taken
from ._texts import encoded
from .batch import Batch
from .stats import Stats
from .status import Status

Filter = Union[Mapping[str, Any], str, None]
"""Which items are meant, as a dict or as JSON text: every member narrows the choice.

`keys`, `status` and `types` are lists of text, `before` and `after` UTC times of the last change, `error` is a part of
its text. None: all items.
"""


class Operating(ABC):
    """The part of a queue that operators use."""

    @abstractmethod
    def _open(self) -> Handle: ...

    @abstractmethod
    def _batch(self, status: Status, c: CData) -> Batch: ...

    def ask(self, what: str, /, **arguments: Any) -> Any:
        """The answer to a question, as `json.loads` reads it: a dict, or None where there is no such item.

        `queue.ask("errors")`, `queue.ask("redrive", items=[{"key": key}])`, `queue.ask("purge", filter={}, max=1000)`:
        docs/ask.md has the questions, their arguments and answers. `InvalidArgumentError` names those that there are.
        """
        answer, given = ffi.new("readpast_text *"), json.dumps(arguments)
        self._open().call(lib.readpast_queue_ask, encoded(what, "what"), encoded(given, "arguments"), answer)
        return json.loads(taken(answer[0]))

    def stats(self) -> Stats:
        """Counts the items and measures how long they take. Reads much of the table."""
        return Stats.of(self.ask("stats"))

    def find(self, filter: Filter = None, *, after: str | None = None, max_items: int = 1000) -> Batch:
        """Finds up to `max_items` (1 to 1000) items, in the order of their keys. Nothing is claimed or changed.

        `after` is the last key of the page before; None: from the start. A batch without items is the end.
        """
        batch = ffi.new("readpast_batch *")
        status = self._open().call(lib.readpast_queue_find, _filter(filter), encoded(after, "after"), max_items, batch)
        return self._batch(status, batch[0])


def _filter(filter: Filter) -> Any:
    return encoded(filter if filter is None or isinstance(filter, str) else json.dumps(dict(filter)), "filter")
