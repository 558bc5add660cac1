"""Handlers by the type of the item, and the work that they get."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Awaitable
from dataclasses import dataclass, field
from datetime import date, datetime, timezone
from decimal import Decimal
from enum import Enum
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, Literal, Optional, Union, cast
from uuid import UUID

import pydantic
import pytest
import support

import readpast
from readpast import Handlers, Item, NewItem, Queue, Settlement, Worker

if TYPE_CHECKING:
    from readpast import Item as OnlyForTypeCheckers

Rest = Callable[[Item], Awaitable[Optional[Settlement]]]

NOON = datetime(2026, 7, 1, 12, tzinfo=timezone.utc)


class Kind(Enum):
    NOTE = "note"


@dataclass
class Line:
    sum: Decimal
    lines: list[Line] = field(default_factory=list["Line"])


@dataclass
class First:
    """Work in a JSON column, named like the type of its items."""

    to: str
    copies: int
    order_id: int = 0
    kind: Kind = Kind.NOTE
    mode: Literal["fast", "slow"] = "fast"
    at: Optional[datetime] = None  # noqa: UP045
    lines: list[Line] = field(default_factory=list["Line"])
    counts: dict[str, Union[Decimal, str]] = field(default_factory=dict[str, Union[Decimal, str]])  # noqa: UP007
    day: Optional[date] = None  # noqa: UP045
    id: Optional[UUID] = None  # noqa: UP045


@dataclass
class Second:
    """Work whose fields are columns."""

    payload: str
    big: int
    amount: Decimal
    at: datetime
    day: str
    Day: date
    id: str
    Id: UUID
    document: dict[str, Any]
    raw: bytes
    flag: Optional[bool]  # noqa: UP045
    unknown: int = 7


class Model(pydantic.BaseModel):
    text: str = pydantic.Field(alias="payload")
    amount: Decimal = pydantic.Field(gt=0)
    ratio: float | None = None
    big: int = pydantic.Field(0, validation_alias=pydantic.AliasChoices("Large", "BIG"))


def run(queue: Queue, handlers: Handlers, until: Callable[[readpast.Stats], bool], *items: NewItem) -> None:
    queue.enqueue_many(items)
    worker = Worker(queue, handlers, until_empty=True)
    worker.run()
    assert until(queue.stats()), queue.stats()


def document(value: object) -> NewItem:
    return NewItem({"Document": value})


def test_work_goes_to_the_handler_of_its_type(queue: Queue) -> None:
    handlers, seen = Handlers(), list[object]()

    @handlers.handle(column="Document")
    def send(mail: First, item: Item) -> Settlement:
        seen.append(mail)
        return item.complete("sent")

    @handlers.handle
    async def note(work: Second, _: Item) -> None:
        await asyncio.sleep(0)
        seen.append(work)

    guid = UUID(int=7)
    columns = {"Payload": "x", "Big": 5, "Amount": Decimal("12.5"), "At": NOON, "Day": date(2026, 7, 2), "Id": guid}
    mail = {
        "to": "a@example.org",
        "Copies": 3,
        "orderId": 9,
        "more": 1,
        "at": "2026-07-01T12:00:00Z",
        "day": "2026-07-02",
        "id": str(guid),
        "lines": [{"sum": 1.1, "lines": [{"sum": "2"}]}],
        "counts": {"a": 1, "b": "2"},
    }
    second = NewItem({**columns, "Document": {"n": 1}, "Raw": b"\0"}, type="Second")
    run(queue, handlers, lambda stats: stats.completed == 2, document(mail), second)
    sums = [Line(Decimal("1.1"), [Line(Decimal(2))])]
    assert (
        First(
            "a@example.org",
            3,
            9,
            at=NOON,
            lines=sums,
            counts={"a": Decimal(1), "b": "2"},
            day=date(2026, 7, 2),
            id=guid,
        )
        in seen
    )
    wanted = Second(
        "x", 5, Decimal("12.5"), NOON, "2026-07-02", date(2026, 7, 2), str(guid), guid, {"n": 1}, b"\0", None
    )
    assert wanted in seen
    assert support.column(queue, "response")[0] == "sent"


@pytest.mark.parametrize(
    ("value", "why"),
    [
        ({"to": "a", "copies": "secret"}, "$.copies must be int, and is of type str"),
        ({"to": "a", "copies": True}, "$.copies must be int, and is of type bool"),
        ({"to": "a", "copies": 1.5}, "$.copies must be int, and is of type float"),
        ({"to": "a"}, "$.copies is missing"),
        ({"to": None, "copies": 1}, "$.to must be str, and is null"),
        ({"to": "a", "copies": 1, "kind": "secret"}, "$.kind is none of 'note'"),
        ({"to": "a", "copies": 1, "mode": []}, "$.mode is none of 'fast', 'slow'"),
        ({"to": "a", "copies": 1, "at": "secret"}, "$.at must be datetime, and is of type str; or $.at must be None"),
        ({"to": "a", "copies": 1, "lines": [{"sum": 1}, {"sum": "x"}]}, "$.lines[1].sum must be Decimal"),
        ({"to": "a", "copies": 1, "counts": {"a": []}}, "$.counts.a must be Decimal, and is of type list"),
        ([], "$ must be an object, and is of type list"),
        (None, "it is null"),
    ],
)
def test_work_that_cannot_be_read_is_failed_with_the_place(value: object, why: str) -> None:
    handlers, item = Handlers(), readpast.testing.item({"Document": value})

    @handlers.handle_all(column="Document")
    def send(mail: First, _: Item) -> None:
        pytest.fail(f"{mail}")

    given = cast("Settlement", handlers(item))
    assert given == item.fail(given.error or "")
    assert (given.error or "").startswith(f"the item carries no First: {why}")
    assert "secret" not in (given.error or "")


class Cat(pydantic.BaseModel):
    kind: Literal["cat"]
    id: UUID = UUID(int=0)


class Dog(pydantic.BaseModel):
    kind: Literal["dog"]


class Owner(pydantic.BaseModel):
    pet: Union[Cat, Dog] = pydantic.Field(discriminator="kind")  # noqa: UP007
    module: Optional[pydantic.ImportString[Any]] = None  # noqa: UP045


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (
            {"pet": {"kind": "secret"}},
            "$.pet: The tag in 'kind' does not match any of the expected tags: 'cat', 'dog'",
        ),
        ({"pet": {"kind": "cat", "id": "secret"}}, "$.pet.cat.id: Input should be a valid UUID"),
        ({"pet": {"kind": "dog"}, "module": "secret"}, "$.module: Input should be a valid Python path"),
    ],
)
def test_no_text_of_pydantic_quotes_a_value(value: object, why: str) -> None:
    handlers = Handlers()

    @handlers.handle_all(column="Document")
    def keep(owner: Owner, _: Item) -> None:
        pytest.fail(f"{owner}")

    given = cast("Settlement", handlers(readpast.testing.item({"Document": value})))
    assert given.error == f"the item carries no Owner: {why}"


@dataclass
class Exactly:
    document: Line
    rest: Any


def test_a_decimal_in_json_keeps_its_digits_and_other_numbers_are_floats() -> None:
    handlers, seen = Handlers(), list[object]()
    digits = "12345678901234567.8901234567890123"

    @handlers.handle(type="First")
    def by_columns(work: Exactly, _: Item) -> None:
        seen.append(work.document.sum)

    @handlers.handle(type="Second", column="Document")
    def by_document(work: dict[str, Union[Decimal, list[Any]]], _: Item) -> None:  # noqa: UP007
        seen.append(work)

    spec = {"queue": "Q", "columns": [{"name": "Document", "type": "json"}, {"name": "Rest", "type": "integer"}]}
    document = f'{{"sum": {digits}, "rest": [1.5]}}'
    item = readpast.testing.item(f'{{"Document": {document}, "Rest": 1}}', type="First", spec=spec)
    assert handlers(item) is None
    item = readpast.testing.item(f'{{"Document": {document}}}', type="Second", spec=spec)
    assert handlers(item) is None
    assert seen == [Decimal(digits), {"sum": Decimal(digits), "rest": [1.5]}]
    assert type(cast("Any", seen[1])["rest"][0]) is float


@dataclass
class OnADay:
    at: date


def test_a_time_is_no_day() -> None:
    handlers = Handlers()

    @handlers.handle_all
    def keep(work: OnADay, _: Item) -> None:
        pytest.fail(f"{work}")

    spec = {"queue": "Q", "columns": [{"name": "At", "type": "timestamp"}]}
    given = cast("Settlement", handlers(readpast.testing.item({"At": NOON}, spec=spec)))
    assert given.error == "the item carries no OnADay: $.at must be date, and is of type datetime"


def test_it_is_failed_at_the_first_attempt(queue: Queue) -> None:
    handlers = Handlers()
    handlers.handle_all(partial(second_of_three, 1))
    handlers.handle(column="Document")(never)
    run(queue, handlers, lambda stats: stats.failed == 2, document([]), NewItem({"Payload": "x"}, type="Second"))
    errors = support.column(queue, "error")
    assert errors[0] == "the item carries no First: $ must be an object, and is of type list"
    assert str(errors[1]).startswith("the item carries no Second: $.big must be int, and is null")
    assert support.column(queue, "attempt_num") == [1, 1]


def second_of_three(_number: int, work: Second, _item: Item) -> None:
    pytest.fail(f"{work}")


def ignore(_: Item) -> None: ...


def never(work: First, _: Item) -> None:
    pytest.fail(f"{work}")


def test_text_that_is_no_json_is_failed() -> None:
    handlers = Handlers()
    handlers.handle(column="Document")(never)
    for text in ("{", "NaN", "[" * 100000):
        given = cast("Settlement", handlers(readpast.testing.item({"Document": text})))
        assert given.error == "the item carries no First: it is no JSON"
    with pytest.raises(KeyError):
        # A mistake of the program, not of the item.
        handlers(readpast.testing.item({"Payload": "x"}))


def test_a_model_of_pydantic_validates(queue: Queue) -> None:
    handlers, seen = Handlers(), list[Model]()

    @handlers.handle(type="First")
    def by_columns(model: Model, _: Item) -> None:
        seen.append(model)

    @handlers.handle(type="Second", column="Document")
    def by_document(model: Model, _: Item) -> None:
        seen.append(model)

    items = [
        NewItem({"Payload": "x", "Amount": Decimal("12.5"), "Big": 5}),
        NewItem({"Document": {"payload": "y", "amount": "1", "Large": 6}}, type="Second"),
        NewItem({"Document": {"amount": "-7"}}, type="Second"),
    ]
    run(queue, handlers, lambda stats: stats.completed == 2 and stats.failed == 1, *items)
    wanted = [("x", Decimal("12.5"), None, 5), ("y", Decimal(1), None, 6)]
    assert [(model.text, model.amount, model.ratio, model.big) for model in seen] == wanted
    error = "the item carries no Model: $.payload: Field required; $.amount: Input should be greater than 0"
    assert support.column(queue, "error")[2] == error


@support.deferring("queue")
def test_a_type_that_this_version_does_not_know_is_left_to_the_next_attempt(queue: Queue) -> None:
    handlers = Handlers()
    handlers.handle(never)
    handlers.handle(type="Zeroth")(never)
    run(queue, handlers, lambda stats: stats.error == 1, NewItem(type="Second"))
    error = "this worker has no handler for the type Second; it has some for First, Zeroth"
    assert support.column(queue, "error") == [error]
    handlers.handle_all(ignore)
    run(queue, handlers, lambda stats: stats.completed == 1, NewItem(type="Second"))


def test_a_table_without_types_has_items_of_its_only_one() -> None:
    handlers, seen = Handlers(), list[First]()

    @handlers.handle
    def send(mail: First, _: Item) -> None:
        seen.append(mail)

    item = readpast.testing.item({"To": "a", "COPIES": 2})
    assert handlers(item) is None
    assert seen == [First("a", 2)]
    untyped = readpast.testing.item({"Type": None, "To": "a", "Copies": 2})
    assert handlers(untyped) == untyped.retry("this worker has no handler for the type (none); it has some for First")
    handlers.handle(type="Other")(never)
    given = cast("Settlement", handlers(item))
    assert given == item.retry("this worker has no handler for the type (none); it has some for First, Other")


def test_the_first_middleware_is_the_outermost_and_may_decide_alone(queue: Queue) -> None:
    handlers, seen = Handlers(), list[str]()

    @handlers.handle(column="Document")
    async def send(mail: First, _: Item) -> None:
        await asyncio.sleep(0)
        seen.append(f"mail {mail.to}")

    async def around(name: str, item: Item, next: Rest) -> Settlement | None:
        seen.append(f"{name} in")
        given = await next(item)
        seen.append(f"{name} out")
        return given

    handlers.around(partial(around, "outer"))
    handlers.around(partial(around, "inner"))
    mail = {"to": "a", "copies": 1}
    run(queue, handlers, lambda stats: stats.completed == 1, document(mail))
    assert seen == ["outer in", "inner in", "mail a", "inner out", "outer out"]
    run(queue, handlers, lambda stats: stats.failed == 1, document([]))
    assert seen[5:] == ["outer in", "inner in", "inner out", "outer out"], (
        "it stands around what cannot be read as well"
    )

    def refuse(item: Item, _: Rest) -> Settlement:
        return item.fail("not today")

    handlers.around(refuse)
    run(queue, handlers, lambda stats: stats.failed == 2, document(mail))
    assert seen.count("mail a") == 1


def test_a_coroutine_function_cannot_stand_around_a_function() -> None:
    async def around(item: Item, next: Rest) -> Settlement | None:
        return await next(item)

    early, late = Handlers(), Handlers()
    early.around(around)
    late.handle_all(ignore)
    with pytest.raises(TypeError, match="cannot stand around"):
        early.handle(never)
    with pytest.raises(TypeError, match="cannot stand around"):
        late.around(around)


def test_decorated_handlers_are_what_they_are_around() -> None:
    async def handler(_: Item) -> Settlement | None: ...

    async def around(item: Item, next: Rest) -> Settlement | None:
        return await next(item)

    @wraps(handler)
    def decorated(item: Item) -> Any:
        return handler(item)

    @wraps(around)
    def decorated_around(item: Item, next: Rest) -> Any:
        return around(item, next)

    def decide(item: Item, _: Rest) -> Settlement:
        return item.complete("decided")

    handlers = Handlers()
    handlers.around(partial(decorated_around))
    handlers.handle_all(decorated)
    with pytest.raises(TypeError, match="cannot stand around"):
        handlers.handle_all(ignore)
    handlers.around(decide)
    item = readpast.testing.item()
    assert asyncio.run(cast("Any", handlers(item))) == item.complete("decided")


def test_a_handler_that_is_refused_or_replaced_is_forgotten() -> None:
    async def around(item: Item, next: Rest) -> Settlement | None:
        return await next(item)

    async def of_all(_: Item) -> None: ...

    handlers = Handlers()
    with pytest.raises(TypeError, match="cannot be read as"):
        handlers.handle(of_socket, type="First", column="Document")  # type: ignore[call-overload]
    handlers.handle_all(ignore)
    handlers.handle_all(of_all)
    handlers.around(around)


def test_only_the_annotation_of_the_work_is_read() -> None:
    def send(mail: First, _: OnlyForTypeCheckers) -> None:
        seen.append(mail)

    handlers, seen = Handlers(), list[First]()
    handlers.handle(cast("Any", partial(send)))
    assert handlers(readpast.testing.item({"To": "a", "Copies": 2})) is None
    assert seen == [First("a", 2)]


def without_annotation(_work: Any, _: Item) -> None: ...


without_annotation.__annotations__.clear()


def without_item(_: First) -> None: ...


def of_json(_: dict[str, Any], _item: Item) -> None: ...


def of_socket(_: support.Psql, _item: Item) -> None: ...


@pytest.mark.parametrize(
    ("function", "given", "why"),
    [
        (without_annotation, {}, "must take work, whose annotation"),
        (without_item, {}, "must take work, whose annotation"),
        (of_json, {"column": "Document"}, "type="),
        (of_json, {"type": "First"}, "column="),
        (of_socket, {"type": "First", "column": "Document"}, "cannot be read as"),
        (3, {}, "is not a callable"),
    ],
)
def test_a_handler_that_can_get_no_work_is_refused(function: Any, given: dict[str, str], why: str) -> None:
    with pytest.raises(TypeError, match=why):
        Handlers().handle(**given)(function)


def test_the_example_of_the_page_works() -> None:
    program = Path(__file__).resolve().parents[1] / "examples" / "typed.py"
    ran = subprocess.run([sys.executable, str(program)], stdout=subprocess.PIPE, text=True, check=True)
    assert sorted(ran.stdout.splitlines()) == ["mail to a@example.org", "resize x.png"]


def test_a_type_has_one_handler() -> None:
    handlers = Handlers()
    assert handlers.handle(never) is never
    with pytest.raises(ValueError, match="there is a handler for the type First"):
        handlers.handle(never)
