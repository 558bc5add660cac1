"""The items of one claim."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Callable, overload

from ._library import CData
from ._rows import Column, Report, Rows
from .item import Item
from .settlement import Settlement
from .status import Status

if TYPE_CHECKING:
    from .answers import Outcome


class Batch(Sequence[Item]):
    """The items of one claim, in the order they were due; false when there are none.

    Any number of threads may read it. As a context manager it is closed at the end, which frees the memory that columns
    are read from; keys, tokens and attempts stay readable. Closing settles nothing: unsettled items come back when
    their leases run out. It does not need its queue, which may be closed before.
    """

    #: `OK`; without items `EMPTY` or `INTERRUPTED`.
    status: Status

    def __init__(
        self,
        status: Status,
        c: CData,
        settle: Callable[[Settlement], Outcome],
        is_lost: Callable[[str, int], bool] | None = None,
        report: Report | None = None,
    ) -> None:
        self.status = status
        self._rows = Rows(c, settle, is_lost, report)
        self._items = [Item(self._rows, index, *item) for index, item in enumerate(self._rows.items())]

    def __len__(self) -> int:
        return len(self._items)

    @overload
    def __getitem__(self, index: int) -> Item: ...

    @overload
    def __getitem__(self, index: slice) -> list[Item]: ...

    def __getitem__(self, index: int | slice) -> Item | list[Item]:
        return self._items[index]

    def __enter__(self) -> Batch:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, at: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<readpast.Batch of {len(self)} items, {self.status.name}>"

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns that all its items have; of a batch without items none."""
        return self._rows.columns()

    def close(self) -> None:
        """Frees what the items' columns are read from; again: does nothing."""
        self._rows.close()
