"""Python's texts, times and settings as the library takes them."""

from __future__ import annotations

import math
from datetime import datetime, timedelta, timezone
from typing import Union

from ._library import CData, ffi
from .errors import InvalidArgumentError, refused

Seconds = Union[float, timedelta]
"""A span of time, in seconds. Part of a millisecond counts as a whole one: a short wait is not none."""

Moment = Union[str, datetime]
"""A moment: a datetime with a time zone, or a UTC time like `2026-11-21T08:30:00Z`."""

_LEAST = -(2**63)


def encoded(text: str | None, name: str) -> bytes | CData:
    """The text as an argument; NULL for None."""
    if text is None:
        return ffi.NULL
    if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"{name} must be text, not {type(text).__name__}")
    try:
        data = text.encode()
    except UnicodeEncodeError as error:
        raise refused(f"{name} is not a text that UTF-8 can hold: {error}") from error
    if b"\0" in data:
        raise refused(f"{name} holds a NUL character, which no text may")
    return data


class Texts:
    """Texts that structs point to. They live as long as this does."""

    __slots__ = ("_kept",)

    def __init__(self) -> None:
        self._kept: list[CData] = []

    def __call__(self, text: str | None, name: str) -> CData:
        if text is None:
            return ffi.NULL
        return self._keep(encoded(text, name))

    def of_trace(self, text: str | None, name: str) -> CData:
        """A part of a trace's context. A malformed one is left out, and so is one that the library cannot get."""
        try:
            return self(text, name)
        except InvalidArgumentError:
            return ffi.NULL

    def with_length(self, text: str | None, name: str) -> tuple[CData, int]:
        """A text that may hold anything, also a NUL or half a character: for the library to judge."""
        if text is None:
            return ffi.NULL, 0
        if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError(f"{name} must be text, not {type(text).__name__}")
        data = text.encode("utf-8", "surrogatepass")
        return self._keep(data), len(data)

    def _keep(self, data: bytes | CData) -> CData:
        kept = ffi.new("char[]", data)
        self._kept.append(kept)
        return kept


def milliseconds(time: Seconds) -> int:
    """A span of time as the library counts it."""
    if isinstance(time, timedelta):
        return -(-time // timedelta(milliseconds=1))
    return math.ceil(time * 1000)


def milliseconds_or_none(name: str, time: Seconds | None) -> int:
    """A span of time that may be left out, as the library takes it: -1 for none."""
    if time is None:
        return -1
    ms = milliseconds(time)
    if ms < 0 or time != abs(time):
        raise refused(f"{name} is {time}; it must not be negative")
    return ms


def any_delay(time: Seconds | None) -> int:
    """A delay as the library takes it, whatever it is: for the library to judge."""
    if time is None:
        return -1
    try:
        ms = milliseconds(time)
    except (ValueError, OverflowError):  # NaN, infinity
        ms = _LEAST
    # -1 would mean that there is none.
    return max(_LEAST, min(ms, -_LEAST - 1)) if time == abs(time) else max(_LEAST, min(ms, -2))


def any_moment(time: Moment | None) -> str | None:
    """A moment as the library takes it, or refuses it."""
    if isinstance(time, datetime) and time.tzinfo is None:
        return f"{time.isoformat()} without a time zone"
    return moment(time)


def moment(time: Moment | None) -> str | None:
    """A moment as the library takes it."""
    if not isinstance(time, datetime):
        return time
    if time.tzinfo is None:
        raise refused("a datetime must have a time zone: no one else knows which hour it means")
    return time.astimezone(timezone.utc).replace(tzinfo=None).isoformat() + "Z"
