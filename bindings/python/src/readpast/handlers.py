"""Handlers chosen by the type of the item, which get the work that it carries.

handlers = readpast.Handlers()


@handlers.handle(column="Document")
def send(mail: SendMail, item: readpast.Item) -> None: ...


readpast.Worker(queue, handlers).run()
"""

from __future__ import annotations

import inspect
from collections.abc import Coroutine, Iterable
from typing import Any, Callable, Optional, TypeVar, Union, overload

from ._handling import Handler, check, is_async, signature
from ._work import Unreadable, annotation_of, is_record, reader_of_item
from .item import Item
from .settlement import Settlement

_Result = Union[Optional[Settlement], Coroutine[Any, Any, Optional[Settlement]]]
_Middleware = Callable[[Item, Any], _Result]
_Function = TypeVar("_Function", bound=Callable[..., _Result])
_Around = TypeVar("_Around", bound=_Middleware)


class Handlers:
    """A worker's handler that chooses among others by the item's type. All are added before the worker runs.

    An item that carries no such work becomes Failed, with the place that cannot be read, and is not tried again. One
    whose type has no handler is tried again: a newer version of the program may know it. Items of a described table
    without a column for their type go to the handler of the only type there is.
    """

    def __init__(self) -> None:
        self._by_type: dict[str, Handler] = {}
        self._others: Handler | None = None
        self._around: list[_Middleware] = []
        #: By the type of their items; None: those of all other types.
        self._functions: dict[str | None, Any] = {}

    @overload
    def handle(self, function: _Function, /) -> _Function: ...
    @overload
    def handle(self, /, *, type: str | None = None, column: str | None = None) -> Callable[[_Function], _Function]: ...
    def handle(self, function: Any = None, /, *, type: str | None = None, column: str | None = None) -> Any:
        """Has a function, or coroutine function, `(work, item)` handle the items of one type.

        The annotation of `work` says what is read: a dataclass or a model of pydantic, from the columns with the names
        of its fields (a difference in case and underscores does not matter); with `column`, from the JSON there, and
        then it may be a list or a dict as well. Members that it does not know are left out. `type` is the type of the
        items, by default the name of the annotated class.

        Raises TypeError for what cannot be read, and ValueError when the type has a handler.
        """

        def add(function: _Function) -> _Function:
            hint = annotation_of(function)
            if type is None and not is_record(hint):
                raise TypeError(f"{hint!r} names no type of items; give it: type=")
            name = type or hint.__name__
            if name in self._by_type:
                raise ValueError(f"there is a handler for the type {name}")
            check(function)
            _check_around([function], self._around)
            self._by_type[name] = _typed(function, hint, column)
            self._functions[name] = function
            return function

        return add if function is None else add(function)

    @overload
    def handle_all(self, function: _Function, /) -> _Function: ...
    @overload
    def handle_all(self, /, *, column: str | None = None) -> Callable[[_Function], _Function]: ...
    def handle_all(self, function: Any = None, /, *, column: str | None = None) -> Any:
        """Has a function handle the items of all other types: `(work, item)` as in `handle`, or `(item)` alone."""

        def add(function: _Function) -> _Function:
            check(function)
            _check_around([function], self._around)
            if column is None and len(signature(function).parameters) == 1:
                self._others = function
            else:
                self._others = _typed(function, annotation_of(function), column)
            self._functions[None] = function
            return function

        return add if function is None else add(function)

    def around(self, middleware: _Around, /) -> _Around:
        """Puts a function `(item, next)` around the handling of each item; the first that is added is the outermost.

        It returns `next(item)`, the rest of the handling, or decides without it. A function whose rest ends in a
        coroutine function gets, and returns, a coroutine. A middleware that is `async def` awaits `next(item)`; it may
        stand around coroutine functions only, and anything else is a TypeError.
        """
        check(middleware)
        _check_around(self._functions.values(), [middleware])
        self._around.append(middleware)
        return middleware

    def __call__(self, item: Item) -> _Result:
        """Handles an item: for `Worker`, and for tests."""
        rest: Handler = self._choose
        for middleware in reversed(self._around):
            rest = _within(middleware, rest)
        return rest(item)

    def _choose(self, item: Item) -> _Result:
        kind = item.type
        handler = self._by_type.get(kind or "", self._others)
        if handler is None and len(self._by_type) == 1 and kind is None and "Type" not in item:
            # A table of the user's without a column for it has one type of items.
            (handler,) = self._by_type.values()
        if handler is not None:
            return handler(item)
        # A newer version of the program may know it: during a roll-out both are at work.
        known = ", ".join(sorted(self._by_type))
        return item.retry(f"this worker has no handler for the type {kind or '(none)'}; it has some for {known}")


def _check_around(functions: Iterable[Any], around: Iterable[_Middleware]) -> None:
    """Raises TypeError for a function that a coroutine function would stand around."""
    for middleware in filter(is_async, around):
        for function in functions:
            if not is_async(function):
                # It would hold up the event loop, and no cancellation would end it.
                raise TypeError(
                    f"{middleware!r} is a coroutine function, and cannot stand around {function!r}, a function"
                )


def _typed(function: Callable[..., _Result], hint: Any, column: str | None) -> Handler:
    read = reader_of_item(hint, column)
    name = getattr(hint, "__name__", None) or str(hint)

    def handle(item: Item) -> _Result:
        try:
            work = read(item)
        except Unreadable as why:
            # No other attempt reads it either.
            return item.fail(f"the item carries no {name}: {why}")
        return function(work, item)

    return handle


def _within(middleware: _Middleware, rest: Handler) -> Handler:
    async def awaited(item: Item) -> Settlement | None:
        given: Any = rest(item)
        return await given if inspect.iscoroutine(given) else given  # type: ignore[no-any-return]

    # A rest that decides at once is awaited as well.
    inner: Handler = awaited if is_async(middleware) else rest
    return lambda item: middleware(item, inner)
