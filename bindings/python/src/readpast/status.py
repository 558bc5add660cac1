"""The library's numbers, under the names that readpast.h gives them, and with the values it gives them."""

from __future__ import annotations

from enum import IntEnum
from typing import Any

from ._library import lib, string


class _Numbers(IntEnum):
    """A number that a newer library brings is called `UNKNOWN_` and the number."""

    @classmethod
    def _missing_(cls, value: object) -> Any:
        if not isinstance(value, int):
            return None
        unknown = int.__new__(cls, value)
        unknown._name_ = f"UNKNOWN_{value}"
        unknown._value_ = value
        return unknown


class Status(_Numbers):
    """The result of a call: 0 is success, above 0 are outcomes to be expected, below 0 are failures.

    A status that a newer library brings is called `UNKNOWN_` and its number.
    """

    #: Done.
    OK = lib.READPAST_OK
    #: No item was due.
    EMPTY = lib.READPAST_EMPTY
    #: The worker does not hold the item any more: its lease ran out, or an operator took it. The item is untouched.
    LEASE_LOST = lib.READPAST_LEASE_LOST
    #: The token is not the item's any more: another call changed the item since. The item is untouched.
    CONFLICT = lib.READPAST_CONFLICT
    #: The item's state does not allow it. The item is untouched.
    ILLEGAL_TRANSITION = lib.READPAST_ILLEGAL_TRANSITION
    #: There is no such item, or column.
    NOT_FOUND = lib.READPAST_NOT_FOUND
    #: The queue was interrupted, and not resumed.
    INTERRUPTED = lib.READPAST_INTERRUPTED
    #: The same work is in the queue already: nothing was enqueued for it.
    DUPLICATE = lib.READPAST_DUPLICATE

    # Failures: each is an exception of readpast.errors, where they are explained.
    INVALID_ARGUMENT = lib.READPAST_INVALID_ARGUMENT
    INVALID_HANDLE = lib.READPAST_INVALID_HANDLE
    INVALID_CONFIG = lib.READPAST_INVALID_CONFIG
    INVALID_ITEM = lib.READPAST_INVALID_ITEM
    UNSUPPORTED = lib.READPAST_UNSUPPORTED
    CLOSED = lib.READPAST_CLOSED
    FORKED = lib.READPAST_FORKED
    EXHAUSTED = lib.READPAST_EXHAUSTED
    PANIC = lib.READPAST_PANIC
    UNKNOWN_QUEUE = lib.READPAST_UNKNOWN_QUEUE
    SCHEMA_MISSING = lib.READPAST_SCHEMA_MISSING
    SCHEMA_OLDER = lib.READPAST_SCHEMA_OLDER
    SCHEMA_NEWER = lib.READPAST_SCHEMA_NEWER
    SCHEMA_MISMATCH = lib.READPAST_SCHEMA_MISMATCH
    NOT_PROVIDED = lib.READPAST_NOT_PROVIDED
    DRIVER_MISSING = lib.READPAST_DRIVER_MISSING
    UNREACHABLE = lib.READPAST_UNREACHABLE
    AUTHENTICATION = lib.READPAST_AUTHENTICATION
    DATABASE_MISSING = lib.READPAST_DATABASE_MISSING
    ENCRYPTION = lib.READPAST_ENCRYPTION
    CONNECTION_LOST = lib.READPAST_CONNECTION_LOST
    PERMISSION_DENIED = lib.READPAST_PERMISSION_DENIED
    TIMED_OUT = lib.READPAST_TIMED_OUT
    DEADLOCK = lib.READPAST_DEADLOCK
    UNAVAILABLE = lib.READPAST_UNAVAILABLE
    STORAGE = lib.READPAST_STORAGE
    OUTCOME_UNKNOWN = lib.READPAST_OUTCOME_UNKNOWN
    DATABASE = lib.READPAST_DATABASE
    PROTOCOL = lib.READPAST_PROTOCOL
    POOL_TIMEOUT = lib.READPAST_POOL_TIMEOUT

    @property
    def c_name(self) -> str:
        """The name as readpast.h has it, like `READPAST_EMPTY`; `READPAST_?` for one that the library does not know."""
        return string(lib.readpast_status_name(self.value)) or ""


class Action(_Numbers):
    """The actions that settle an item. Unknown ones are called as unknown statuses are."""

    #: Done.
    COMPLETE = lib.READPAST_ACTION_COMPLETE
    #: Done as far as it could be.
    COMPLETE_PARTIALLY = lib.READPAST_ACTION_COMPLETE_PARTIALLY
    #: Give up for good.
    FAIL = lib.READPAST_ACTION_FAIL
    #: This attempt failed: try again when due. The item becomes Failed when its attempts are spent.
    RETRY = lib.READPAST_ACTION_RETRY
    #: Give the item back unworked: it is Pending again, and this attempt does not count.
    #: From a handler it is due after poll.interval_ms at the earliest.
    RELEASE = lib.READPAST_ACTION_RELEASE
    #: Call it off.
    CANCEL = lib.READPAST_ACTION_CANCEL
    #: Set it aside.
    PAUSE = lib.READPAST_ACTION_PAUSE
    #: Let a paused item, or one that waits for its next attempt, be picked up again.
    RESUME = lib.READPAST_ACTION_RESUME
    #: Stop it for good; a worker that holds it finds its lease lost.
    TERMINATE = lib.READPAST_ACTION_TERMINATE
    #: Record progress and keep the claim; the lease starts anew.
    STEP = lib.READPAST_ACTION_STEP


class State(_Numbers):
    """Where an item is in its life. Unknown ones are called as unknown statuses are."""

    #: It was not found, so it has no state.
    NONE = lib.READPAST_STATE_NONE
    #: Waits for a worker.
    PENDING = lib.READPAST_STATE_PENDING
    #: A worker holds its lease.
    PROCESSING = lib.READPAST_STATE_PROCESSING
    #: An attempt failed; it will be tried again when it is due.
    ERROR = lib.READPAST_STATE_ERROR
    #: Attempts are spent, or the worker gave up. Final.
    FAILED = lib.READPAST_STATE_FAILED
    #: Done. Final.
    COMPLETED = lib.READPAST_STATE_COMPLETED
    #: Called off before it was done. Final.
    CANCELLED = lib.READPAST_STATE_CANCELLED
    #: Set aside until somebody resumes it.
    PAUSED = lib.READPAST_STATE_PAUSED
    #: Stopped by an operator. Final.
    TERMINATED = lib.READPAST_STATE_TERMINATED
    #: Done as far as it could be. Final.
    PARTIALLY_COMPLETED = lib.READPAST_STATE_PARTIALLY_COMPLETED


class ColumnType(IntEnum):
    """The type of a column's values, and its type in Python."""

    #: bool
    BOOLEAN = lib.READPAST_TYPE_BOOLEAN
    #: int, of up to 64 bits
    INTEGER = lib.READPAST_TYPE_INTEGER
    #: float
    FLOAT = lib.READPAST_TYPE_FLOAT
    #: decimal.Decimal, with all digits
    DECIMAL = lib.READPAST_TYPE_DECIMAL
    #: str
    TEXT = lib.READPAST_TYPE_TEXT
    #: bytes
    BINARY = lib.READPAST_TYPE_BINARY
    #: datetime.datetime, in UTC
    TIMESTAMP = lib.READPAST_TYPE_TIMESTAMP
    #: datetime.date
    DATE = lib.READPAST_TYPE_DATE
    #: uuid.UUID
    GUID = lib.READPAST_TYPE_GUID
    #: the value of json.loads: dict, list, str, int, float, bool or None; str when it is no JSON
    JSON = lib.READPAST_TYPE_JSON
