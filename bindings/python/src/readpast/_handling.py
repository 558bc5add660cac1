"""What a worker does with its handler: calls it, judges what it gives, and says what failed."""

from __future__ import annotations

import inspect
import logging
import re
import traceback
from collections.abc import Coroutine
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Callable, Optional, Union

from ._coroutines import Cancelled, Coroutines
from ._texts import Moment, Seconds, delay, encoded, moment
from .item import Item
from .settlement import Settlement
from .status import Action

_log = logging.getLogger("readpast.worker")

Handler = Callable[[Item], Union[Optional[Settlement], Coroutine[Any, Any, Optional[Settlement]]]]
"""Does the work, and says what came of it by what it returns: None is `Item.complete`. May be `async def`."""

_LONGEST_ERROR = 16 * 1024
"""What an error column holds at most, in characters; stacks can be long."""

_ENDS = set(Action) - {Action.STEP, Action.RESUME}
_LONGEST_MS = 2**63 - 1
_UNSENDABLE = re.compile("[\0\ud800-\udfff]")

_OURS = str(Path(__file__).parent)


class _Mistake(Exception):  # noqa: N818
    """The handler gave what no handler may give. The work was done, so it is not done again."""


class Handling:
    """Calls a handler, be it a function or a coroutine function."""

    def __init__(self, handler: Handler, is_stopping: Callable[[], bool], stop_timeout: Seconds | None) -> None:
        """Raises TypeError for what can be no handler."""
        _check(handler)
        self._handler = handler
        self._coroutines = Coroutines(is_stopping, stop_timeout)

    def handle(self, item: Item) -> Settlement:
        """Has the work done. Whatever the handler gives or raises, this says how to settle the item."""
        try:
            given: object = self._handler(item)
            if inspect.iscoroutine(given):
                given = self._coroutines.run(given, item)
            settlement = _proper(given, item)
        except Cancelled:
            return item.release()
        except _Mistake as mistake:
            _log.error("item %s, attempt %d: %s; the item is not tried again", item.key, item.attempt, mistake)
            return item.fail(str(mistake))
        except Exception as error:
            return self.raised(item, error)
        if settlement.action in {Action.RETRY, Action.FAIL}:
            _log.warning("item %s, attempt %d failed (%s): %s", *_of(item), settlement.action.name, settlement.error)
        return settlement

    def raised(self, item: Item, error: BaseException) -> Settlement:
        """How to settle an item whose handler raised this."""
        _log.warning("item %s, attempt %d failed: the handler raised %r", *_of(item), error, exc_info=error)
        return item.retry(_described(error))

    def close(self, *, wait: bool) -> None:
        """Ends what coroutines ran on. `wait` tells whether no handler runs any more."""
        self._coroutines.close(wait=wait)


def _of(item: Item) -> tuple[str, int]:
    return item.key, item.attempt


def _check(handler: object) -> None:
    if not callable(handler):
        raise TypeError(f"a handler is called with an item, but {handler!r} cannot be called")
    function: object = handler
    while isinstance(function, partial):
        function = function.func
    for each in (function, getattr(function, "__call__", None)):  # noqa: B004
        if inspect.isgeneratorfunction(each) or inspect.isasyncgenfunction(each):
            raise TypeError(
                f"{handler!r} is a generator: it would do nothing when it is called. "
                "A handler does its work and returns a Settlement or None"
            )


def _proper(given: object, item: Item) -> Settlement:
    """What ends the item, as the library can take it. It judges the rest."""
    if given is None:
        return item.complete()
    if not isinstance(given, Settlement):
        raise _Mistake(
            f"the handler returned {_named(given)}; a handler returns None when the work is done, or a Settlement "
            "such as item.complete() or item.retry(error)"
        )
    if given.key != item.key:
        raise _Mistake(f"the handler of item {item.key} settled item {given.key}; it may only settle its own")
    if given.action not in _ENDS:
        raise _Mistake(f"the handler returned a Settlement with {given.action!r}, which does not end an item")
    return _passable(given, item)


def _passable(given: Settlement, item: Item) -> Settlement:
    """Leaves out what is nothing of C's, and lets the item's error say so, as the library does with what it refuses."""
    refusals: list[str] = []

    def kept(name: str, check: Callable[[Any, str], object]) -> Any:
        value = _whole(getattr(given, name))
        try:
            check(value, name)
        except (ValueError, TypeError, OverflowError, AttributeError) as error:
            refusals.append(str(error))
            return None
        return value

    settlement = given._replace(
        attempt=item.attempt,
        step=kept("step", encoded),
        response=kept("response", encoded),
        error=kept("error", encoded),
        delay=kept("delay", _check_delay),
        due=kept("due", _check_due),
    )
    if not refusals:
        return settlement
    reason = "; ".join(refusals)
    _log.warning("item %s, attempt %d: what the handler gave was refused, and is left out: %s", *_of(item), reason)
    own = f"{settlement.error}; " if settlement.error else ""
    return settlement._replace(error=_whole(f"{own}what the handler gave was refused: {reason}"))


def _check_delay(given: Seconds | None, name: str) -> None:
    if delay(given) > _LONGEST_MS:
        raise OverflowError(f"{name} is {given}; no such time will come")


def _check_due(given: Moment | None, name: str) -> None:
    encoded(moment(given), name)


def _whole(text: Any) -> Any:
    """A text without what no text of the library's may hold: half a character is no reason to lose the rest."""
    return _UNSENDABLE.sub("\N{REPLACEMENT CHARACTER}", text) if isinstance(text, str) else text


def _named(given: object) -> str:
    """A type, never a value: that may be nobody's business."""
    if inspect.isawaitable(given):
        return f"an awaitable of type {type(given).__name__}, which nobody awaits (make the handler `async def`)"
    if callable(given):
        return f"{getattr(given, '__qualname__', type(given).__name__)}, which it did not call"
    return f"a value of type {type(given).__name__}"


def _described(error: BaseException) -> str:
    """The exception, then its stack without our own part of it, as a text that every column takes."""
    stack: TracebackType | None = error.__traceback__
    while stack is not None and stack.tb_next is not None and stack.tb_frame.f_code.co_filename.startswith(_OURS):
        stack = stack.tb_next
    what = "".join(traceback.format_exception_only(type(error), error))
    where = "".join(traceback.format_exception(type(error), error, stack))
    return str(_whole(f"{what}\n{where}"[:_LONGEST_ERROR]))
