"""The fields that lines of a worker's log have besides their text, for programs that keep logs by fields."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from ._library import ffi, lib
from .status import Action, Status

if TYPE_CHECKING:
    from .queue import Queue

_log = logging.getLogger("readpast.worker")

Fields = dict[str, object]


def log(level: int, line: str, *arguments: object, extra: Fields, exc_info: BaseException | None = None) -> None:
    """A line of a worker's log. Where records have one of the fields already, by a factory of the program's own, the
    line goes without ours: `logging` refuses to overwrite it, and no log is worth a worker."""
    try:
        _log.log(level, line, *arguments, exc_info=exc_info, extra=extra, stacklevel=2)
    except KeyError:
        _log.log(level, line, *arguments, exc_info=exc_info, stacklevel=2)


def brief(error: str) -> str:
    """An error as a line of the log has it: of a long one the beginning and the end, as the library cuts its own."""
    given = error.encode("utf-8", "surrogatepass")
    text = ffi.new("char[]", lib.READPAST_LOG_TEXT_ROOM)
    length = lib.readpast_log_text(given, len(given), text, lib.READPAST_LOG_TEXT_ROOM)
    written: bytes = ffi.unpack(text, length)
    return written.decode()


class Teller:
    """The attributes of a log record (`extra`): each line has all of them, None where one does not apply."""

    def __init__(self, queue: Queue) -> None:
        self._worker: Fields = {"queue": queue.name, "worker": queue.worker}

    def __call__(
        self, key: str | None = None, attempt: int | None = None, action: int | None = None, status: int | None = None
    ) -> Fields:
        """`action` is what an item was to be settled as, `status` what the library or the database answered."""
        return {
            **self._worker,
            "key": key or None,
            "attempt": attempt or None,
            "action": Action(action).name if action else None,
            "status": None if status is None else Status(status).name,
        }
