"""`readpast_value`: values of columns as Python's own."""

from __future__ import annotations

import json
from datetime import date, datetime, timezone
from decimal import Decimal
from typing import Any, Callable
from uuid import UUID

from ._library import CData, ffi, string
from .status import ColumnType


def text_of(value: CData) -> str | None:
    """The text, or what is given as text, exactly as the library has it; None for NULL."""
    if value.is_null:
        return None
    if not value.text:
        raise TypeError(f"the column holds {ColumnType(value.type).name}, which is no text")
    text: str = ffi.unpack(value.text, value.length).decode()
    return text


def value_of(value: CData) -> Any:
    """The value as `ColumnType` says; None for NULL."""
    return None if value.is_null else _READERS[value.type](value)


def exact_value_of(value: CData) -> Any:
    """The same, with all digits of the numbers in JSON."""
    return _document(value, Exact) if value.type == ColumnType.JSON and not value.is_null else value_of(value)


class Exact(float):
    """A number of JSON that knows its digits, in case it is wanted as a `Decimal`."""

    __slots__ = ("_digits",)

    _digits: str

    def __new__(cls, digits: str) -> Exact:
        number = super().__new__(cls, digits)
        number._digits = digits
        return number

    def __str__(self) -> str:
        return self._digits


def _text(value: CData) -> str:
    text: str = ffi.unpack(value.text, value.length).decode()
    return text


def time_of(c: CData) -> datetime | None:
    """The time of an item's life cycle; None for none."""
    text = string(c)
    time = None if text is None else _time(text)
    if isinstance(time, str):
        raise OverflowError(f"{time} is no time that datetime keeps")
    return time


def _timestamp(value: CData) -> datetime | str:
    return _time(_text(value))


def _time(text: str) -> datetime | str:
    """Digits below a microsecond are dropped, never rounded: a moment that has come is not in the future.

    A time that PostgreSQL has and datetime has not (a year after 9999 or before 1, an infinity) stays text.
    """
    if text[10:11] != "T":
        return text
    whole = datetime.fromisoformat(text[:19])
    return whole.replace(microsecond=int(text[20:26].ljust(6, "0")), tzinfo=timezone.utc)


def _date(value: CData) -> date | str:
    """As a timestamp: what date has no place for stays text."""
    text = _text(value)
    return date.fromisoformat(text) if len(text) == len("2026-11-21") and text[4] == "-" else text


def _document(value: CData, number: Callable[[str], float] = float) -> Any:
    """Others may have written what is no JSON, which stays text."""
    text = _text(value)
    try:
        return json_of(text, number)
    except (ValueError, RecursionError):
        return text


def json_of(text: str, number: Callable[[str], float]) -> Any:
    return json.loads(text, parse_float=number, parse_constant=_no_constant)


def _no_constant(name: str) -> None:
    """Python's parser takes NaN and Infinity, which JSON has not."""
    raise ValueError(f"{name} is no JSON")


_READERS: dict[int, Callable[[CData], Any]] = {
    ColumnType.BOOLEAN: lambda value: value.integer != 0,
    ColumnType.INTEGER: lambda value: value.integer,
    ColumnType.FLOAT: lambda value: value.number,
    ColumnType.DECIMAL: lambda value: Decimal(_text(value)),
    ColumnType.TEXT: _text,
    ColumnType.BINARY: lambda value: bytes(ffi.buffer(value.bytes, value.length)) if value.length else b"",
    ColumnType.TIMESTAMP: _timestamp,
    ColumnType.DATE: _date,
    ColumnType.GUID: lambda value: UUID(_text(value)),
    ColumnType.JSON: _document,
}
