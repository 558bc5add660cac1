"""`readpast_batch`: reads what the items of a claim hold."""

from __future__ import annotations

from typing import TYPE_CHECKING, Callable, NamedTuple, Optional

from . import _values
from ._handle import Handle
from ._library import CData, ffi, lib, sized, string
from ._texts import encoded
from .errors import ClosedError, InvalidArgumentError, UnsupportedError
from .settlement import Settlement
from .status import ColumnType, Status

if TYPE_CHECKING:
    from .answers import Outcome
    from .renewal import Renewal

_ITEM, _ITEM_SIZE = sized("readpast_item")
_COLUMN, _COLUMN_SIZE = sized("readpast_column")
_VALUE, _VALUE_SIZE = sized("readpast_value")


class Column(NamedTuple):
    """A column of the items."""

    #: Its name, as the worker view declares it.
    name: str
    #: The type of its values.
    type: ColumnType


#: Reports how far an item is: key, attempt, percentage, text.
Report = Callable[[str, int, Optional[int], Optional[str]], None]


def _no_worker(_key: str, _attempt: int, _percent: int | None, _text: str | None) -> None:
    raise UnsupportedError("progress is reported by the handlers of a worker", Status.UNSUPPORTED)


class Rows:
    """The common part of a batch's items. It does not know them, so that none of them waits for a collector."""

    __slots__ = ("_columns", "_handle", "_is_lost", "renewal", "report", "settle")

    def __init__(
        self,
        c: CData,
        settle: Callable[[Settlement], Outcome],
        is_lost: Callable[[str, int], bool] | None,
        report: Report | None,
    ) -> None:
        self.settle = settle
        self.report: Report = report or _no_worker
        self.renewal: Callable[[], Renewal | None] = _none
        self._is_lost = is_lost
        self._handle: Handle | None = Handle(c, lib.readpast_batch_free)
        self._columns: tuple[Column, ...] | None = None

    def handle(self) -> Handle:
        """The batch's handle, which is not freed while the caller refers to it."""
        handle = self._handle
        if handle is None:
            raise ClosedError("the batch was closed: its columns cannot be read any more", Status.CLOSED)
        return handle

    def close(self) -> None:
        self._handle = None

    def is_lost(self, key: str, attempt: int) -> bool:
        """Whether an item was found lost by the keeper of its lease: the worker that took it, or a renewal."""
        if self._is_lost is not None:
            return self._is_lost(key, attempt)
        renewal = self.renewal()
        return renewal is not None and key in renewal.lost_keys

    def items(self) -> list[tuple[str, str, int]]:
        """Key, token and attempt of each item."""
        c = self.handle().c
        item = _item()
        items: list[tuple[str, str, int]] = []
        for index in range(lib.readpast_batch_count(c)):
            # It cannot fail: the index is below the count.
            lib.readpast_batch_item(c, index, item, ffi.NULL)
            items.append((ffi.string(item.key).decode(), ffi.string(item.token).decode(), item.attempt))
        return items

    def columns(self) -> tuple[Column, ...]:
        if self._columns is None:
            handle, column = self.handle(), ffi.new(_COLUMN)
            column.struct_size = _COLUMN_SIZE
            columns: list[Column] = []
            for index in range(lib.readpast_batch_column_count(handle.c)):
                handle.call(lib.readpast_batch_column, index, column)
                columns.append(Column(ffi.string(column.name).decode(), ColumnType(column.type)))
            self._columns = tuple(columns)
        return self._columns

    def value(self, index: int, column: str, reader: Callable[[CData], object] = _values.value_of) -> object:
        handle, value = self.handle(), ffi.new(_VALUE)
        value.struct_size = _VALUE_SIZE
        name = encoded(column, "the name of a column")
        if handle.call(lib.readpast_batch_value_by_name, index, name, value) is Status.NOT_FOUND:
            raise KeyError(column)
        return reader(value)

    def has(self, index: int, column: str) -> bool:
        """Whether there is such a column."""
        try:
            self.value(index, column, reader=bool)
        except (KeyError, InvalidArgumentError):
            return False
        return True

    def json(self, index: int) -> str:
        handle = self.handle()
        text = string(lib.readpast_batch_json(handle.c, index))
        if text is None:
            # This one says why: the batch is from before a fork.
            handle.call(lib.readpast_batch_item, index, _item())
        return text or ""

    def life(self, index: int) -> CData:
        """The item, with the texts of its life cycle."""
        item = _item()
        self.handle().call(lib.readpast_batch_item, index, item)
        return item

    def traceparent(self, index: int) -> str | None:
        return string(lib.readpast_batch_traceparent(self.handle().c, index))

    def tracestate(self, index: int) -> str | None:
        return string(lib.readpast_batch_tracestate(self.handle().c, index))


def _none() -> None:
    return None


def _item() -> CData:
    item = ffi.new(_ITEM)
    item.struct_size = _ITEM_SIZE
    return item
