"""The values of an item."""

from __future__ import annotations

import json
from datetime import date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any
from uuid import UUID

import pytest
import support

import readpast
from readpast import ColumnType
from readpast._library import ffi
from readpast._values import value_of
from readpast.errors import ClosedError

VALUES: dict[str, Any] = {
    "Payload": "ä\U0001f600 \t\n'",
    "Small": -(2**31),
    "Big": 2**63 - 1,
    "Flag": True,
    "Ratio": -1.5e300,
    "Amount": Decimal("-1234567890123456789012345678.0123456789"),
    "At": datetime(2026, 11, 21, 8, 30, 0, 123456, tzinfo=timezone.utc),
    "Day": date(2024, 2, 29),
    "Id": UUID("0d6b6a52-8f9d-4c44-b044-08b98257037c"),
    "Raw": b"\x00\xff",
}


def test_columns_of_followers_as_text_are_one_value(queue: readpast.Queue) -> None:
    queue.enqueue({"Payload": "a"})
    with queue.claim() as batch:
        for columns in ('{}}, {"queue": "Other"', "{"):
            followed = batch[0].complete(then={queue.name: [readpast.NewItem(columns)]})
            with pytest.raises(readpast.QueueError, match="columns: "):
                queue.settle(followed)
        followed = batch[0].complete(then={queue.name: [readpast.NewItem('{"Payload": "b"}'), {"Payload": "c"}]})
        assert queue.settle(followed).answer is readpast.Status.OK
    with queue.claim(2) as batch:
        assert [item["Payload"] for item in batch] == ["b", "c"]


def test_values_come_out_as_they_went_in(queue: readpast.Queue) -> None:
    queue.enqueue({**VALUES, "Document": {"a": [1, None, "x"]}})
    with queue.claim() as batch:
        item = batch[0]
        assert {name: item[name] for name in VALUES} == VALUES
        assert [type(item[name]) for name in VALUES] == [type(value) for value in VALUES.values()]
        assert item["Document"] == {"a": [1, None, "x"]}
        assert json.loads(item.json())["Document"] == {"a": [1, None, "x"]}
        types = {column.name: column.type for column in batch.columns}
        assert types["Amount"] is ColumnType.DECIMAL
        assert types["At"] is ColumnType.TIMESTAMP
        assert types["Document"] is ColumnType.JSON


def test_numbers_in_a_document_keep_their_digits(queue: readpast.Queue) -> None:
    queue.enqueue(readpast.NewItem('{"document": {"n": 123456789012345678901234567890, "d": 1.10}}'))
    with queue.claim() as batch:
        assert batch[0]["Document"]["n"] == 123456789012345678901234567890
        assert batch[0].text("Document") == '{"n": 123456789012345678901234567890, "d": 1.10}'


@pytest.mark.parametrize("text", ["no JSON", "NaN", "", "[" * 100_000])
def test_a_value_that_is_no_json_is_text(text: str) -> None:
    kept = ffi.new("char[]", text.encode())
    value = ffi.new("readpast_value *", {"type": ColumnType.JSON, "text": kept, "length": len(text)})
    assert value_of(value) == text


def test_times_of_other_zones_go_in(queue: readpast.Queue) -> None:
    at = datetime(2026, 11, 21, 8, 30, tzinfo=timezone(timedelta(hours=5, minutes=30)))
    queue.enqueue({"At": at})
    with queue.claim() as batch:
        assert batch[0]["At"] == at
        assert batch[0].text("At") == "2026-11-21T03:00:00.0000000"


def test_null_is_none(queue: readpast.Queue) -> None:
    queue.enqueue({"Payload": ""})
    with queue.claim() as batch:
        assert batch[0]["Payload"] == ""
        assert [batch[0][name] for name in support.COLUMNS if name != "Payload"] == [None] * (len(support.COLUMNS) - 1)
        assert batch[0].text("Amount") is None
        assert batch[0].text("Small") is None


def test_an_item_is_a_mapping(queue: readpast.Queue) -> None:
    with support.claimed(queue, "a", "b") as batch:
        first, second = batch
        assert first["pAYLOAD"] == "a"
        assert "payload" in first
        assert "nonesuch" not in first
        assert first.get("nonesuch", 1) == 1
        assert len(first) == len(batch.columns) == len(list(first))
        assert dict(first)["Payload"] == "a"
        assert "{Payload}!".format_map(second) == "b!"
        assert len({first, second}) == 2
        assert first != second
        with pytest.raises(KeyError, match="Nonesuch"):
            first["Nonesuch"]


def test_exact_text(queue: readpast.Queue) -> None:
    queue.enqueue({"Amount": "0.5", "Flag": False, "Small": 1, "Payload": "x", "Id": VALUES["Id"]})
    with queue.claim() as batch:
        item = batch[0]
        assert item.text("Amount") == "0.5000000000"
        assert item.text("Payload") == "x"
        assert str(item.text("Id")).lower() == str(VALUES["Id"])
        for name in ("Flag", "Small"):
            with pytest.raises(TypeError, match="no text"):
                item.text(name)
        assert json.loads(item.json())["Amount"] == "0.5000000000"


@pytest.mark.parametrize(
    ("text", "microsecond"),
    [("2026-11-21T08:30:00.1234567", 123456), ("2026-11-21T08:30:00.5", 500000), ("2026-11-21T08:30:00", 0)],
)
def test_digits_below_a_microsecond_are_dropped(text: str, microsecond: int) -> None:
    kept = ffi.new("char[]", text.encode())
    value = ffi.new("readpast_value *", {"type": ColumnType.TIMESTAMP, "text": kept, "length": len(text)})
    assert value_of(value) == datetime(2026, 11, 21, 8, 30, 0, microsecond, tzinfo=timezone.utc)


def test_bytes() -> None:
    kept = ffi.new("uint8_t[]", b"\x00\xff\x10")
    value = ffi.new("readpast_value *", {"type": ColumnType.BINARY, "bytes": kept, "length": 3})
    assert value_of(value) == b"\x00\xff\x10"
    assert value_of(ffi.new("readpast_value *", {"type": ColumnType.BINARY})) == b""


def test_a_batch_is_a_sequence(queue: readpast.Queue) -> None:
    with support.claimed(queue, "a", "b", "c") as batch:
        assert [item["Payload"] for item in batch] == ["a", "b", "c"]
        assert [item["Payload"] for item in batch[1:]] == ["b", "c"]
        assert batch[-1]["Payload"] == "c"
        assert batch[0] is batch[0]
        with pytest.raises(IndexError):
            batch[3]
    with queue.claim() as none:
        assert not none
        assert none.status is readpast.Status.EMPTY
        assert none.columns == ()


def test_a_closed_batch_keeps_what_settles(queue: readpast.Queue) -> None:
    batch = support.claimed(queue, "a")
    batch.close()
    batch.close()
    item = batch[0]
    for read in (lambda: item["Payload"], item.json, lambda: item.text("Payload"), lambda: list(item)):
        with pytest.raises(ClosedError, match="batch was closed"):
            read()
    assert queue.settle(item.complete()).answer is readpast.Status.OK
