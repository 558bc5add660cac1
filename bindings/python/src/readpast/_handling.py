"""The worker's dealings with its handler: calls it, judges its return value, and describes its failures."""

from __future__ import annotations

import inspect
import logging
import sys
import traceback
from collections.abc import Coroutine, Mapping
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Callable, Optional, Union

from ._coroutines import Cancelled, Changes, Coroutines
from ._logging import Teller, brief, log
from .item import Item
from .new_item import json_of
from .settlement import Settlement
from .status import Action

Handler = Callable[[Item], Union[Optional[Settlement], Coroutine[Any, Any, Optional[Settlement]]]]
"""Does the work, and says what came of it by what it returns: None is `Item.complete`. May be `async def`."""

_TYPES: dict[str, type | tuple[type, ...]] = {
    "action": Action,
    "step": str,
    "response": str,
    "error": str,
    "delay": (int, float, timedelta),
    "due": (str, datetime),
    "set": (str, Mapping),
}
_OURS = str(Path(__file__).parent)


class Mistake(Exception):  # noqa: N818
    """The handler gave what no handler may give. The work was done, so it is not done again."""


class Handling:
    """Calls a handler, be it a function or a coroutine function."""

    def __init__(self, handler: Handler, changes: Changes, patience: float | None, teller: Teller) -> None:
        """Raises TypeError for what can be no handler."""
        check(handler)
        self._handler = handler
        self._coroutines = Coroutines(changes, patience)
        self._teller = teller

    def handle(self, item: Item) -> Settlement:
        """Has the work done, and says how to settle the item."""

        def give() -> object:
            given: object = self._handler(item)
            return self._coroutines.run(given, item) if inspect.iscoroutine(given) else given

        return self.judged(item, give)

    async def awaited(self, item: Item) -> object:
        """Has the work done on the loop of the caller."""
        given: object = self._handler(item)
        return await given if inspect.iscoroutine(given) else given

    def judged(self, item: Item, give: Callable[[], object]) -> Settlement:
        """Whatever the handler gives or raises, this says how to settle the item."""
        try:
            settlement = proper(give(), item)
        except Cancelled:
            return item.release()
        except Mistake as mistake:
            extra, what = self._teller(item.key, item.attempt, Action.FAIL), str(mistake)
            line = "item %s, attempt %d: %s; the item is not tried again"
            log(logging.ERROR, line, *_of(item), brief(what), extra=extra)
            return item.fail(what)
        except Exception as error:
            return self.raised(item, error)
        if settlement.action in {Action.RETRY, Action.FAIL}:
            action, why = settlement.action.name, brief(settlement.error or "the handler gave no error")
            extra = self._teller(item.key, item.attempt, settlement.action)
            log(logging.WARNING, "item %s, attempt %d failed (%s): %s", *_of(item), action, why, extra=extra)
        return settlement

    def raised(self, item: Item, error: BaseException) -> Settlement:
        """How to settle an item whose handler raised this."""
        extra = self._teller(item.key, item.attempt, Action.RETRY)
        line = "item %s, attempt %d failed: the handler raised %s"
        whole = repr(error)
        told = brief(whole)
        # A traceback ends in the whole error: that of a long one is in the item's error alone.
        log(logging.WARNING, line, *_of(item), told, exc_info=error if told == whole else None, extra=extra)
        return item.retry(_described(error))

    def close(self, *, wait: bool) -> None:
        """Ends the loop of the coroutines. `wait` is whether no handler runs any more."""
        self._coroutines.close(wait=wait)

    def join(self) -> None:
        """Waits for what waits for the library's worker, which has closed."""
        self._coroutines.join()


def _of(item: Item) -> tuple[str, int]:
    return item.key, item.attempt


def check(handler: object) -> None:
    if not callable(handler):
        raise TypeError(f"a handler is called with an item, but {handler!r} cannot be called")
    function = _without_arguments(handler)
    for each in (function, getattr(function, "__call__", None)):  # noqa: B004
        if inspect.isgeneratorfunction(each) or inspect.isasyncgenfunction(each):
            raise TypeError(
                f"{handler!r} is a generator: it would do nothing when it is called. "
                "A handler does its work and returns a Settlement or None"
            )


def _without_arguments(function: object) -> object:
    while isinstance(function, partial):
        function = function.func
    return function


def plain(handler: Callable[..., object]) -> Any:
    """The function that decorators and `partial` are around."""
    function: Any = handler
    while (inner := _without_arguments(inspect.unwrap(function))) is not function:
        function = inner
    return function


def signature(function: Callable[..., object]) -> inspect.Signature:
    """Its parameters, though names in their annotations may be known to type checkers alone."""
    if sys.version_info >= (3, 14):
        import annotationlib  # noqa: PLC0415

        return inspect.signature(function, annotation_format=annotationlib.Format.FORWARDREF)
    return inspect.signature(function)


def is_async(handler: Callable[..., object]) -> bool:
    """Whether it gives a coroutine, as far as one can see."""
    function = plain(handler)
    call = getattr(function, "__call__", None)  # noqa: B004
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(call)


def proper(given: object, item: Item) -> Settlement:
    """The settlement that ends the item. The library judges its texts and times."""
    if given is None:
        return item.complete()
    if not isinstance(given, Settlement):
        raise Mistake(
            f"the handler returned {_named(given)}; a handler returns None when the work is done, or a Settlement "
            "such as item.complete() or item.retry(error)"
        )
    if given.key != item.key:
        raise Mistake(f"the handler of item {item.key} settled item {given.key}; it may only settle its own")
    for name, types in _TYPES.items():
        value = getattr(given, name)
        if not isinstance(value, types) and (value is not None or name == "action"):
            raise Mistake(f"the handler returned a Settlement whose {name} is {_named(value)}")
    try:
        values = json_of(given.set, "set")
    except (TypeError, ValueError) as error:
        raise Mistake(f"the handler returned a Settlement whose set cannot be JSON: {error}") from error
    return given._replace(attempt=item.attempt, set=values)


def _named(given: object) -> str:
    """A type, never a value: the value may be secret."""
    if inspect.isawaitable(given):
        return f"an awaitable of type {type(given).__name__}, which nobody awaits (make the handler `async def`)"
    if callable(given):
        return f"{getattr(given, '__qualname__', type(given).__name__)}, which it did not call"
    return f"a value of type {type(given).__name__}"


def _described(error: BaseException) -> str:
    """The exception, then its stack without our own part of it."""
    stack: TracebackType | None = error.__traceback__
    while stack is not None and stack.tb_next is not None and stack.tb_frame.f_code.co_filename.startswith(_OURS):
        stack = stack.tb_next
    what = "".join(traceback.format_exception_only(type(error), error))
    where = "".join(traceback.format_exception(type(error), error, stack))
    return f"{what}\n{where}"
