"""Items for tests of handlers: nothing here needs a server."""

from __future__ import annotations

from datetime import datetime, timezone
from decimal import Decimal
from pathlib import Path

import pytest

from readpast import Action, Item, NewItem, Settlement, State, Status, errors, testing
from readpast._texts import Texts
from readpast.new_item import new_items_for

SPEC = {
    "queue": "Letters",
    "columns": [
        {"name": "To", "type": "text"},
        {"name": "Sum", "type": "decimal(9, 2)"},
        {"name": "At", "type": "timestamp"},
        {"name": "Body", "type": "json"},
    ],
}


def handle(item: Item) -> Settlement:
    """A handler as a service has one."""
    if item.attempt > 2:
        return item.fail(f"{item['To']} does not answer")
    assert item.record_step("sent").answer is Status.OK
    item.progress(100, "sent")
    return item.complete(item["Body"]["text"])


def test_a_handler_is_tested_without_a_server() -> None:
    item = testing.item({"To": "a", "Body": {"text": "hello"}}, key="7")
    settlement = handle(item)
    assert (settlement.key, settlement.action, settlement.response) == ("7", Action.COMPLETE, "hello")
    assert handle(testing.item({"To": "b"}, attempt=3)).error == "b does not answer"


def test_a_description_gives_columns_and_types(tmp_path: Path) -> None:
    columns = {"to": "a", "Sum": Decimal("12.50"), "At": datetime(2026, 11, 21, tzinfo=timezone.utc)}
    item = testing.item(columns, spec=SPEC)
    assert dict(item) == {"To": "a", **{name: columns[name] for name in ("Sum", "At")}, "Body": None}
    file = tmp_path / "letters.toml"
    file.write_text('queue = "Letters"\ncolumns = [{ name = "Sum", type = "decimal(9, 2)" }]\n', encoding="utf-8")
    assert testing.item({"sum": "1.5"}, file=file)["Sum"] == Decimal("1.5")


def test_an_item_has_its_life_cycle_by_property_and_by_any_name() -> None:
    due, until = datetime(2026, 11, 21, 8, 30, tzinfo=timezone.utc), datetime(2026, 11, 22, tzinfo=timezone.utc)
    item = testing.item({"At": due}, type="Mail", step="sent", due=due, enqueued="2026-11-20", lease_until=until)
    assert (item.type, item.step, item.state, item.attempt) == ("Mail", "sent", State.PROCESSING, 1)
    assert (item.due, item.lease_until) == (due, until)
    assert item.enqueued == datetime(2026, 11, 20, tzinfo=timezone.utc)
    assert item["ScheduledFor"] == item["scheduled_for"] == item["item_due_at"] == due
    assert "scheduled_for" in item
    assert "due" not in item
    bare = testing.item({"ScheduledFor": 1})
    assert (bare.type, bare.step, bare.due, bare.enqueued, bare.lease_until) == (None, None, None, None, None)
    assert bare["scheduled_for"] == 1
    by_column = testing.item({"item_type": "Mail", "EnqueuedAt": due})
    assert (by_column.type, by_column.enqueued) == ("Mail", due)


def test_a_batch_of_items() -> None:
    with testing.batch([{"N": 1}, {"N": 2.5}, '{"n": null}']) as batch:
        assert [item["N"] for item in batch] == [1.0, 2.5, None]
        assert len({item.key for item in batch}) == len({item.token for item in batch}) == 3
    assert not testing.batch([])


def test_an_item_that_cannot_be_made_is_named() -> None:
    with pytest.raises(errors.InvalidItemError, match=r'item 0: column "At" .* does not take "soon"'):
        testing.item({"At": "soon"}, spec=SPEC)
    with pytest.raises(errors.InvalidArgumentError, match="line 1: queue"):
        testing.item({}, spec={"queue": 1})
    with pytest.raises(errors.InvalidArgumentError, match="a spec and a file"):
        testing.item({}, spec=SPEC, file="x.toml")


def test_delays_are_named_as_they_were_given() -> None:
    for delay in (-5, -0.0001):
        with pytest.raises(errors.InvalidArgumentError, match=f"delay is {delay}; it must not be negative"):
            new_items_for([NewItem(delay=delay)], Texts())
