"""Reads an item's work as what a handler's annotation says: a dataclass, a model of pydantic, or what JSON has."""

from __future__ import annotations

import dataclasses
import inspect
import re
import types
import typing
from base64 import b64decode
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, datetime
from decimal import Decimal
from enum import Enum
from functools import partial
from typing import Any, Callable, Literal, Union, cast
from uuid import UUID

from . import _values
from ._handling import plain, signature
from .item import Item

#: Reads a value that is at a place like `$.lines[2]`.
Read = Callable[[Any, str], Any]

_NONE = type(None)
_MISSING = object()
_LISTS = {list, Sequence, Iterable}
_OBJECTS = {dict, Mapping}
_UNIONS: set[Any] = {Union, getattr(types, "UnionType", Union)}
_WITHOUT_VALUE = {
    "import_error": "Input should be a valid Python path",
    "union_tag_invalid": "The tag in {discriminator} does not match any of the expected tags: {expected_tags}",
    "uuid_parsing": "Input should be a valid UUID",
}
_TIME = re.compile(r"(\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d)(?:\.(\d{1,9}))?(Z|[+-]\d\d:\d\d)?")


class Unreadable(Exception):  # noqa: N818
    """The item carries no such work. The text names the place, and no value, which may be secret."""


def annotation_of(function: Callable[..., object]) -> Any:
    """The annotation of the first of a function's two parameters. TypeError where there is none."""
    kinds = {inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD}
    parameters = [each for each in signature(function).parameters.values() if each.kind in kinds]
    if len(parameters) != 2 or parameters[0].annotation is inspect.Parameter.empty:  # noqa: PLR2004
        raise TypeError(f"{function!r} must take work, whose annotation says what is read, and an item")
    # The other annotations may be of names that are there for type checkers alone.
    only = types.SimpleNamespace(__annotations__={"work": parameters[0].annotation})
    inner = plain(function)
    names = inner if inspect.isroutine(inner) else plain(inner.__call__)
    return typing.get_type_hints(only, globalns=getattr(names, "__globals__", {}))["work"]


def is_record(hint: Any) -> bool:
    """Whether it has fields, which may be columns."""
    return isinstance(hint, type) and (_is_model(hint) or dataclasses.is_dataclass(hint))


def reader_of_item(hint: Any, column: str | None) -> Callable[[Item], Any]:
    """Reads the work from one column, or from the columns with the names of its fields. TypeError where none can."""
    read = _reader(hint, {})
    if column is None:
        if not is_record(hint):
            raise TypeError(f"{hint!r} has no fields that could be columns; a document in a column needs column=")
        return lambda item: read(item, "$")

    def read_column(item: Item) -> Any:
        text = item.text(column)
        if text is None:
            raise Unreadable("it is null")
        if _is_model(hint):
            return _validated(partial(hint.model_validate_json, text), "$")
        try:
            value = _values.json_of(text, _values.Exact)
        except (ValueError, RecursionError):
            raise Unreadable("it is no JSON") from None
        return read(value, "$")

    return read_column


def _is_model(hint: Any) -> bool:
    return isinstance(hint, type) and hasattr(hint, "model_validate")


def _reader(hint: Any, known: dict[Any, _Record]) -> Read:
    """The reader for an annotation. TypeError where there is none. `known` are the dataclasses around it."""
    if hint in _PLAIN:
        return partial(_plain, hint)
    if hint in known:
        return known[hint]
    if is_record(hint):
        return partial(_model, hint) if _is_model(hint) else _Record(hint, known)
    if isinstance(hint, type) and issubclass(hint, Enum):
        return partial(_one_of, {each.value: each for each in hint})
    return _generic(hint, known)


def _generic(hint: Any, known: dict[Any, _Record]) -> Read:
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if origin is Literal:
        return partial(_one_of, {each: each for each in arguments})
    if origin in _UNIONS:
        return partial(_either, [(each, _reader(each, known)) for each in arguments])
    if origin in _LISTS and arguments:
        return partial(_list, _reader(arguments[0], known))
    if origin in _OBJECTS and arguments[:1] == (str,):
        return partial(_object, _reader(arguments[1], known))
    raise TypeError(f"work cannot be read as {hint!r}; it may be a dataclass, a model of pydantic, or what JSON has")


class _Record:
    """Reads a dataclass, which may contain itself."""

    def __init__(self, hint: Any, known: dict[Any, _Record]) -> None:
        known[hint] = self
        hints = typing.get_type_hints(hint)
        fields = [each for each in dataclasses.fields(hint) if each.init]
        self._hint = hint
        self._readers = {each.name: _reader(hints[each.name], known) for each in fields}
        missing = dataclasses.MISSING
        self._needed = {each.name for each in fields if each.default is missing and each.default_factory is missing}

    def __call__(self, value: Any, place: str) -> Any:
        members = _members(value, place)
        found = {name: _member(members, name) for name in self._readers}
        given = {
            name: self._readers[name](each, f"{place}.{name}") for name, each in found.items() if each is not _MISSING
        }
        if missing := sorted(self._needed - given.keys()):
            raise Unreadable(f"{place}.{missing[0]} is missing")
        return _validated(partial(self._hint, **given), place)


def _model(hint: Any, value: Any, place: str) -> Any:
    """Reads a model of pydantic. Its fields may be columns by their names or aliases."""
    if isinstance(value, Item):
        found: dict[str, Any] = {}
        for name, field in hint.model_fields.items():
            alias = field.validation_alias or field.alias or name
            for each in getattr(alias, "choices", [alias]):
                member = _member(value, each) if isinstance(each, str) else _MISSING
                if member is not _MISSING:
                    found[each] = member
                    break
        value = found
    return _validated(partial(hint.model_validate, _bare(value)), place)


def _validated(make: Callable[[], Any], place: str) -> Any:
    """Makes the work, which may refuse the values."""
    try:
        return make()
    except ValueError as error:
        errors: Any = getattr(error, "errors", None)
        if errors is None:
            raise Unreadable(f"{place}: {error}") from None
        whys = [
            place + "".join(f"[{at}]" if isinstance(at, int) else f".{at}" for at in one["loc"]) + f": {_why(one)}"
            for one in errors()
        ]
        raise Unreadable("; ".join(whys)) from None


def _why(error: Mapping[str, Any]) -> str:
    """The text of one of pydantic's errors, without the value that some of them quote."""
    text = _WITHOUT_VALUE.get(error["type"])
    return str(error["msg"]) if text is None else text.format(**error["ctx"])


def _members(value: Any, place: str) -> Mapping[str, Any]:
    if not isinstance(value, Mapping):
        raise _wrong("an object", value, place)
    return cast("Mapping[str, Any]", value)


def _member(values: Mapping[str, Any], name: str) -> Any:
    """The member of this name, or the only one whose name differs just in case and underscores."""
    if name not in values:
        alike = [each for each in values if _folded(each) == _folded(name)]
        if len(alike) != 1:
            return _MISSING
        (name,) = alike
    return values._exact(name) if isinstance(values, Item) else values[name]


def _folded(name: str) -> str:
    return name.replace("_", "").lower()


def _either(readers: list[tuple[Any, Read]], value: Any, place: str) -> Any:
    whys: list[str] = []
    # A value of one of the types is not to become another.
    for _, read in sorted(readers, key=lambda each: each[0] is not _type_of(value)):
        try:
            return read(value, place)
        except Unreadable as why:
            whys.append(str(why))
    raise Unreadable("; or ".join(whys))


def _list(read: Read, value: Any, place: str) -> list[Any]:
    if not isinstance(value, list):
        raise _wrong("list", value, place)
    return [read(each, f"{place}[{index}]") for index, each in enumerate(cast("Any", value))]


def _object(read: Read, value: Any, place: str) -> dict[str, Any]:
    return {name: read(each, f"{place}.{name}") for name, each in _members(value, place).items()}


def _one_of(known: dict[Any, Any], value: Any, place: str) -> Any:
    if isinstance(value, (str, int)) and value in known:
        return known[value]
    raise Unreadable(f"{place} is none of {', '.join(map(repr, known))}")


def _bare(value: Any) -> Any:
    """JSON with floats that are nothing else, for what is no `Decimal`."""
    if isinstance(value, list):
        return [_bare(each) for each in cast("Any", value)]
    if isinstance(value, dict):
        return {name: _bare(each) for name, each in cast("Any", value).items()}
    return float(value) if isinstance(value, _values.Exact) else value


def _type_of(value: object) -> type:
    return float if isinstance(value, _values.Exact) else type(value)


def _plain(hint: Any, value: Any, place: str) -> Any:
    try:
        return _PLAIN[hint](value)
    except (ValueError, TypeError, ArithmeticError):
        raise _wrong(getattr(hint, "__name__", str(hint)), value, place) from None


def _wrong(what: str, value: Any, place: str) -> Unreadable:
    there = "null" if value is None else f"of type {_type_of(value).__name__}"
    return Unreadable(f"{place} must be {what}, and is {there}")


def _only(*types: type) -> Callable[[Any], Any]:
    """Takes values of these types; True is no number."""

    def take(value: Any) -> Any:
        if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
            raise TypeError
        return value

    return take


_number = _only(int, float, Decimal)


def _whole(value: Any) -> int:
    whole = int(_number(value))
    if whole != value:
        raise ValueError
    return whole


def _text(value: Any) -> str:
    """Columns that have no type in JSON are its texts."""
    return value.isoformat() if isinstance(value, date) else str(_only(str, Decimal, UUID)(value))


def _time(value: Any) -> datetime:
    if isinstance(value, datetime):
        return value
    match = _TIME.fullmatch(value)
    if match is None:
        raise ValueError
    # The oldest Python reads no other form.
    whole, digits, zone = match.groups()
    return datetime.fromisoformat(f"{whole}.{(digits or '')[:6]:0<6}{'+00:00' if zone == 'Z' else zone or ''}")


def _day(value: Any) -> date:
    if isinstance(value, datetime):
        # It is a date, too, for Python alone.
        raise TypeError
    return date.fromisoformat(value) if isinstance(value, str) else _only(date)(value)


_PLAIN: dict[Any, Callable[[Any], Any]] = {
    Any: _bare,
    object: _bare,
    _NONE: _only(_NONE),
    bool: _only(bool),
    int: _whole,
    float: lambda value: float(_number(value)),
    str: _text,
    bytes: lambda value: value if isinstance(value, bytes) else b64decode(value, validate=True),
    Decimal: lambda value: Decimal(str(_only(int, float, str, Decimal)(value))),
    datetime: _time,
    date: _day,
    UUID: lambda value: value if isinstance(value, UUID) else UUID(value),
    list: lambda value: _bare(_only(list)(value)),
    dict: lambda value: _bare(_only(dict)(value)),
}
