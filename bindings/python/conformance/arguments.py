"""The members of a request."""

from __future__ import annotations

import json
from datetime import timedelta
from typing import Any, cast

from readpast import Action, Lease, NewItem, Settlement

Request = dict[str, Any]


def milliseconds(request: Request, member: str) -> timedelta | None:
    given = request.get(member)
    return None if given is None else timedelta(milliseconds=given)


def new_item(item: Request) -> NewItem:
    columns = item.get("columns")
    return NewItem(
        None if columns is None else json.dumps(columns),
        item.get("type"),
        item.get("step"),
        milliseconds(item, "delay_ms"),
        item.get("due"),
        item.get("traceparent"),
        item.get("tracestate"),
        item.get("after", ()),
        item.get("on_failed", "fail"),
    )


def settlement(item: Request) -> Settlement:
    return Settlement(
        item["key"],
        item.get("token"),
        item.get("attempt", 0),
        action(item["action"]),
        item.get("step"),
        item.get("response"),
        item.get("error"),
        milliseconds(item, "delay_ms"),
        item.get("due"),
        item.get("set"),
        followers(item),
    )


def followers(item: Request) -> dict[str, list[NewItem]] | None:
    then: dict[str, list[NewItem]] = {}
    for each in item.get("then", []):
        then.setdefault(each["queue"], []).append(new_item(each))
    return then or None


def lease(item: Request) -> Lease:
    return Lease(item["key"], item.get("attempt", 0))


def action(named: Any) -> Action:
    # A number stands for itself, so that one which is none can be asked for.
    return cast(Action, named) if isinstance(named, int) else Action[named.upper()]
