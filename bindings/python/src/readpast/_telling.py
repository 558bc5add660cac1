"""What a worker's log says of what the library does for it."""

from __future__ import annotations

import logging

from ._engine import Event, EventKind
from .status import State, Status

_log = logging.getLogger("readpast.worker")


def tell(event: Event) -> None:
    """Logs an event, if it is one that the log tells of."""
    if event.kind == EventKind.LOST:
        state = State(event.state)
        now = "" if state is State.NONE else f": it is {state.name} now"
        _log.warning(
            "item %s, attempt %d was lost (%s)%s, and left to whoever has it",
            event.key,
            event.attempt,
            Status(event.answer).name,
            now,
        )
    elif event.kind == EventKind.REFUSED:
        _log.warning(
            "item %s, attempt %d: what the handler gave was refused, and is left out: %s; "
            "shorten or correct it, or widen its column",
            event.key,
            event.attempt,
            event.message,
        )
    elif event.kind == EventKind.TROUBLE:
        _log.warning("a call failed and is made again: %s", event.message)
