"""Items for the tests of a handler, without a queue or a server.

    item = readpast.testing.item({"Recipient": "a@example.org"}, attempt=3)
    assert handle(item) == item.fail("no such address")

A step recorded with such an item is answered with `Status.OK` and kept nowhere, and so is its progress. Every queue
refuses its settlements.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from os import PathLike
from typing import Any

from ._config import description
from ._library import ffi, lib
from ._texts import Moment, encoded, moment
from .answers import Outcome
from .batch import Batch
from .errors import checked, place_for_error
from .item import Item
from .new_item import json_of
from .settlement import Settlement
from .status import State, Status


def item(
    columns: Mapping[str, Any] | str | None = None,
    *,
    key: str | None = None,
    token: str | None = None,
    attempt: int = 1,
    type: str | None = None,
    step: str | None = None,
    due: Moment | None = None,
    enqueued: Moment | None = None,
    lease_until: Moment | None = None,
    spec: Mapping[str, object] | str | None = None,
    file: str | PathLike[str] | None = None,
) -> Item:
    """An item with these columns, a dict as for `NewItem` or JSON text.

    With the description of a queue, `spec` as for `readpast.install` or the name of its `file`, it has the columns and
    types of that queue; without one, the values decide the types, and a date, time, `Decimal` or `UUID` is text.
    """
    members: dict[str, object] = {"key": key, "token": token, "attempt": attempt, "type": type, "step": step}
    members.update(due=moment(due), enqueued=moment(enqueued), lease_until=moment(lease_until))
    own = {name: given for name, given in members.items() if given is not None}
    return _batch([_member(own, columns)], description(spec, file))[0]


def batch(
    columns: Iterable[Mapping[str, Any] | str],
    *,
    spec: Mapping[str, object] | str | None = None,
    file: str | PathLike[str] | None = None,
) -> Batch:
    """A batch of such items, of their columns."""
    return _batch([_member({}, each) for each in columns], description(spec, file))


def _member(own: Mapping[str, object], columns: Mapping[str, Any] | str | None) -> str:
    members = [f"{json.dumps(name)}: {json.dumps(given)}" for name, given in own.items()]
    return "{" + ", ".join([*members, f'"columns": {json_of(columns, "columns") or "{}"}']) + "}"


def _batch(items: list[str], spec: str | None) -> Batch:
    made, error = ffi.new("readpast_batch *"), place_for_error()
    text = encoded(f"[{', '.join(items)}]", "the items")
    status = checked(lib.readpast_batch_from_json(text, encoded(spec, "spec"), made, error), error)
    return Batch(status, made[0], _recorded, report=_ignored)


def _ignored(_key: str, _attempt: int, _percent: int | None, _text: str | None) -> None:
    pass


def _recorded(settlement: Settlement) -> Outcome:
    return Outcome(Status.OK, State.PROCESSING, settlement.attempt, settlement.token or "")
