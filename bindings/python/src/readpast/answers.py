"""The library's answers, item by item."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple, TypeVar

from ._handle import Handle
from ._library import CData, ffi, lib, sized, string
from .status import State, Status

T = TypeVar("T")


class Answers(tuple[T, ...]):
    """A tuple of answers, one for each item, in their order.

    `status` is what the call came to: `Status.OK` when all went well, else the answer of the first item that did not.
    """

    status: Status

    def __new__(cls, status: Status, answers: Iterable[T]) -> Answers[T]:
        """Answers of a call."""
        self = super().__new__(cls, answers)
        self.status = status
        return self


class Outcome(NamedTuple):
    """The answer about an item, and its state then.

    A settle that is repeated with its operation is answered as the first time, whatever others have made of the item
    since.
    """

    #: `OK`, `LEASE_LOST`, `CONFLICT`, `ILLEGAL_TRANSITION`, `NOT_FOUND` or, of work that is redriven, `DUPLICATE`.
    answer: Status
    #: The state it is in then: Failed although another was asked for, when its attempts are spent.
    state: State
    #: Its attempt number.
    attempt: int
    #: Its token then: the one to go on with after a step. Empty when it was not found, or has another holder since.
    token: str


class Receipt(NamedTuple):
    """The answer about an item to enqueue."""

    #: Its key. For a duplicate, the key of the item which is there, where the queue has it; else empty.
    key: str
    #: Its token, by which a caller can cancel or pause exactly this version of it. Empty for a duplicate,
    #: unless the item that waits got the values of this one (`on_duplicate` in the description).
    token: str
    #: `OK`, or `DUPLICATE` when nothing was enqueued.
    answer: Status


_OUTCOME = ffi.sizeof("readpast_outcome")
_RECEIPT, _RECEIPT_SIZE = sized("readpast_receipt")
_STATUSES = {int(status): status for status in Status}
_STATES = {int(state): state for state in State}


def room_for_outcomes(count: int) -> CData:
    """Room for one at least: the first says how large all are."""
    outcomes = ffi.new("readpast_outcome[]", count + 1)
    outcomes[0].struct_size = _OUTCOME
    return outcomes


def outcomes_in(status: Status, outcomes: CData, count: int) -> Answers[Outcome]:
    """Copies what a call wrote."""
    return Answers(
        status,
        [
            Outcome(
                _STATUSES.get(outcome.answer) or Status(outcome.answer),
                _STATES.get(outcome.state) or State(outcome.state),
                outcome.attempt,
                ffi.string(outcome.token).decode(),
            )
            for outcome in outcomes[0:count]
        ],
    )


def receipts_in(status: Status, c: CData) -> Answers[Receipt]:
    """Copies the receipts of a call, and frees them."""
    handle, receipt = Handle(c, lib.readpast_receipts_free), ffi.new(_RECEIPT)
    receipt.struct_size = _RECEIPT_SIZE
    receipts: list[Receipt] = []
    for index in range(lib.readpast_receipts_count(c)):
        handle.call(lib.readpast_receipts_get, index, receipt)
        receipts.append(Receipt(string(receipt.key) or "", string(receipt.token) or "", Status(receipt.answer)))
    return Answers(status, receipts)
