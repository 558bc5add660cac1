"""Settlements of items, and leases to renew."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ._library import CData, ffi
from ._texts import Moment, Seconds, Texts, any_delay, any_moment
from .new_item import Followers, followers_json, json_of
from .status import Action


class Settlement(NamedTuple):
    """How to settle an item. `Item.complete`, `Item.retry` and so on make one of a claimed item."""

    #: The item's key.
    key: str
    #: The token it had when the caller last saw it. Required with an attempt; None without one: whatever it is.
    token: str | None
    #: The attempt of the claim; 0 steers an item as an operator, without holding its lease.
    attempt: int
    #: The action to take.
    action: Action
    #: The step to record; None keeps the one there is.
    step: str | None = None
    #: The response to record; None keeps the one there is.
    response: str | None = None
    #: The error to record; None keeps the one there is.
    error: str | None = None
    #: When the item is due again, from now on the server's clock; None: at `due`.
    delay: Seconds | None = None
    #: When the item is due again; None: as it was, or after `delay`.
    due: Moment | None = None
    #: Values for the item's own columns, as those of a `NewItem`, what a subtype has in a dict by its name:
    #: `{"PaidAt": datetime.now(timezone.utc), "Email": {"Response": "250 OK"}}`. A column left out keeps its value.
    set: Mapping[str, Any] | str | None = None
    #: Items that follow, by their queues in the same schema, put in with the same commit where the answer is
    #: `Status.OK`: `{"Invoices": [NewItem({"OrderId": 42})]}`. An item that cannot be put in keeps this one from
    #: being done: a worker makes it Failed, with the reason.
    then: Followers | None = None

    @classmethod
    def operator(cls, key: str, action: Action, *, token: str | None = None, error: str | None = None) -> Settlement:
        """Steers an item as an operator does, without holding its lease."""
        return cls(key, token, 0, action, error=error)


class Lease(NamedTuple):
    """A lease to renew."""

    #: The item's key.
    key: str
    #: The attempt of the claim.
    attempt: int


_SETTLEMENT = ffi.sizeof("readpast_settlement")
_LEASE = ffi.sizeof("readpast_lease")


def settlements_for(settlements: Sequence[Settlement], texts: Texts) -> CData:
    """The array that the library takes."""
    array = ffi.new("readpast_settlement[]", len(settlements))
    for native, settlement in zip(array, settlements):
        # This runs for every item: what is not there stays as the array has it, zero.
        key, token, attempt, action, step, response, error, delay, due, values, then = settlement
        native.struct_size = _SETTLEMENT
        native.key = texts(key, "key")
        native.token = texts(token, "token")
        native.attempt = attempt
        native.action = action
        native.delay_ms = any_delay(delay)
        if step is not None:
            native.step, native.step_length = texts.with_length(step, "step")
        if response is not None:
            native.response, native.response_length = texts.with_length(response, "response")
        if error is not None:
            native.error, native.error_length = texts.with_length(error, "error")
        if due is not None:
            native.due, native.due_length = texts.with_length(any_moment(due), "due")
        if values is not None:
            native.set_json, native.set_json_length = texts.with_length(json_of(values, "set"), "set")
        if then is not None:
            native.then_json, native.then_json_length = texts.with_length(followers_json(then), "then")
    return array


def leases_for(leases: Sequence[Lease], texts: Texts) -> CData:
    """As `settlements_for`."""
    array = ffi.new("readpast_lease[]", len(leases))
    for native, lease in zip(array, leases):
        native.struct_size = _LEASE
        native.key = texts(lease.key, "key")
        native.attempt = lease.attempt
    return array
