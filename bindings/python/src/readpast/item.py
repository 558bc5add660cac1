"""A claimed item."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

from . import _values
from ._library import string
from ._texts import Moment, Seconds
from .new_item import Followers
from .settlement import Lease, Settlement
from .status import Action, State, Status

if TYPE_CHECKING:
    from ._rows import Rows
    from .answers import Outcome


class Item(Mapping[str, Any]):
    """A claimed item: a mapping of its columns, by name in any case, to values as `ColumnType` says; None for NULL.

    A column of its life cycle has its name on the other server and in other tables too: `ScheduledFor`, `scheduled_for`
    and `ItemDueAt` are one.

    Columns are read when they are asked for, until the batch is closed. Any number of threads may read it.
    """

    __slots__ = ("_index", "_rows", "attempt", "key", "token")

    #: The primary key, as text.
    key: str
    #: The token that the claim, or the newest step, left on the item. A settle must carry it.
    token: str
    #: Which attempt this is, counted from 1. A settle must carry it.
    attempt: int

    def __init__(self, rows: Rows, index: int, key: str, token: str, attempt: int) -> None:
        self._rows = rows
        self._index = index
        self.key = key
        self.token = token
        self.attempt = attempt

    def __getitem__(self, column: str) -> Any:
        """The value of a column. Times have no digits below a microsecond: `text` has them all."""
        return self._rows.value(self._index, column)

    def _exact(self, column: str) -> Any:
        return self._rows.value(self._index, column, _values.exact_value_of)

    def __contains__(self, column: object) -> bool:
        return isinstance(column, str) and self._rows.has(self._index, column)

    def __iter__(self) -> Iterator[str]:
        return (column.name for column in self._rows.columns())

    def __len__(self) -> int:
        return len(self._rows.columns())

    def __eq__(self, other: object) -> bool:
        return self is other

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        return f"<readpast.Item {self.key}, attempt {self.attempt}>"

    def text(self, column: str) -> str | None:
        """The text of a column; of decimals, times, dates, GUIDs and JSON their exact text. None for NULL.

        Raises TypeError when the column holds a truth value, a number or bytes.
        """
        text = self._rows.value(self._index, column, _values.text_of)
        return None if text is None else str(text)

    def json(self) -> str:
        """The item as one JSON object, a member per column; JSON in a column stands there as it is stored.

        Times are text in UTC, decimals text with all their digits, bytes base64.
        """
        return self._rows.json(self._index)

    @property
    def type(self) -> str | None:
        """Its type. None where a described table has none."""
        return string(self._rows.life(self._index).type)

    @property
    def step(self) -> str | None:
        """The step that was recorded last, when it was read. None where none was."""
        return string(self._rows.life(self._index).step)

    @property
    def state(self) -> State:
        """The state it was in when it was read."""
        return State(self._rows.life(self._index).state)

    @property
    def due(self) -> datetime | None:
        """The time before which it is not claimed. None where there is none.

        Times are in UTC. Raises OverflowError for one that datetime has not, which PostgreSQL has; `text` gives it.
        """
        return _values.time_of(self._rows.life(self._index).due)

    @property
    def enqueued(self) -> datetime | None:
        """The time at which it was enqueued. None where a described table has no such column."""
        return _values.time_of(self._rows.life(self._index).enqueued)

    @property
    def lease_until(self) -> datetime | None:
        """The end that its lease had when it was read, which renewals move on. None where nobody held it."""
        return _values.time_of(self._rows.life(self._index).lease_until)

    @property
    def traceparent(self) -> str | None:
        """The W3C `traceparent` in which it was enqueued: what the span around its handler has as its parent.

        None where the queue's description has no `trace`, and where the item has none.
        """
        return self._rows.traceparent(self._index)

    @property
    def tracestate(self) -> str | None:
        """The `tracestate` that belongs to it."""
        return self._rows.tracestate(self._index)

    @property
    def is_lost(self) -> bool:
        """Whether the item was found lost while its lease was being renewed: work on it is in vain.

        Also true after `worker.max_run_ms`: a result still counts until the lease runs out.

        Always false without a renewal.
        """
        return self._rows.is_lost(self.key, self.attempt)

    @property
    def lease(self) -> Lease:
        """The lease of the claim, for `Queue.renew`."""
        return Lease(self.key, self.attempt)

    def complete(
        self,
        response: str | None = None,
        *,
        set: Mapping[str, Any] | str | None = None,
        then: Followers | None = None,
    ) -> Settlement:
        """To end the claim: done. `set` sets columns of the item in the same commit; `then` are items that follow."""
        settlement = Settlement(self.key, self.token, self.attempt, Action.COMPLETE, response=response)
        return settlement._replace(set=set, then=then)

    def complete_partially(
        self,
        response: str | None = None,
        *,
        set: Mapping[str, Any] | str | None = None,
        then: Followers | None = None,
    ) -> Settlement:
        """To end the claim: done as far as it could be. `set` and `then` as in `complete`."""
        return self.complete(response, set=set, then=then)._replace(action=Action.COMPLETE_PARTIALLY)

    def fail(self, error: str) -> Settlement:
        """To end the claim: given up for good."""
        return Settlement(self.key, self.token, self.attempt, Action.FAIL, error=error)

    def retry(self, error: str, delay: Seconds | None = None, due: Moment | None = None) -> Settlement:
        """To end the claim: this attempt failed, try again when due, or become Failed when the attempts are spent.

        Without `delay` (from now) and `due` it is due as the queue's backoff says.
        """
        return Settlement(self.key, self.token, self.attempt, Action.RETRY, error=error, delay=delay, due=due)

    def release(self, delay: Seconds | None = None) -> Settlement:
        """To give the item back unworked: it is Pending again, and this attempt does not count."""
        return Settlement(self.key, self.token, self.attempt, Action.RELEASE, delay=delay)

    def settle(self, action: Action) -> Settlement:
        """To end the claim in any way there is; `_replace` fills in the rest."""
        return Settlement(self.key, self.token, self.attempt, action)

    def record_step(self, step: str) -> Outcome:
        """Records at once how far the work has come, and keeps the claim; the lease starts anew.

        A later attempt finds the step in the item's column. With the answer `Status.OK`, `token` is the new one. An
        item of a `Worker` keeps its token: the worker minds tokens itself, and the outcome has none.
        """
        settlement = Settlement(self.key, self.token, self.attempt, Action.STEP, step=step)
        outcome = self._rows.settle(settlement)
        if outcome.answer is Status.OK and outcome.token:
            self.token = outcome.token
        return outcome

    def progress(self, percent: int | None = None, text: str | None = None) -> None:
        """Reports how far the work is: a percentage from 0 to 100, a line of text, or both, in place of the one before.

        For the handlers of a worker: operators see it while they run. It returns at once and is written a moment later,
        at most one in a second; a report may be lost. A percentage above 100 counts as 100, one below 0 as none; a text
        is cut after 200 characters. Raises UnsupportedError if the queue's description has no `progress`.
        """
        self._rows.report(self.key, self.attempt, percent, text)
