"""`readpast_queue`: an open queue."""

from __future__ import annotations

import logging
import threading
import warnings
from collections.abc import Generator, Iterable, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, NamedTuple

from ._config import configuration
from ._handle import Handle
from ._library import CData, ffi, lib, string
from ._operating import Operating
from ._texts import Seconds, Texts, encoded, milliseconds
from ._waiting import Departure, wait_for
from .answers import Answers, Outcome, Receipt, outcomes_in, receipts_in, room_for_outcomes
from .batch import Batch
from .errors import ClosedError, QueueError
from .item import Item
from .new_item import NewItem, new_items_for
from .renewal import Renewal
from .settlement import Lease, Settlement, leases_for, settlements_for
from .status import Status

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._settings import Settings

_log = logging.getLogger(__name__)

_LONGEST_WAIT_MS = 24 * 60 * 60 * 1000


class SettledAndClaimed(NamedTuple):
    """The answers about the settlements, and the claimed items."""

    outcomes: Answers[Outcome]
    batch: Batch


class Queue(Operating):
    """An open queue, with its connections and its worker's name. Any number of threads may use it; calls block.

    As a context manager it is closed at the end. In the child of a fork it raises `ForkedError`: open another there.
    """

    def __init__(self, name: str, /, **settings: Unpack[Settings]) -> None:
        """Connects, checks that the queue called `name` is as the library needs it, and opens it.

        `settings` are those of the library, which knows them and says what is wrong with one; only `connection` has to
        be there. A keyword cannot have a dot: `lease_ms=30_000` is `lease.ms`. Ctrl-C ends the wait for a server that
        does not answer; `open_timeout_ms` bounds it.
        """
        of_queue, settled = encoded(name, "name"), configuration(settings)

        def opened() -> CData:
            queue = ffi.new("readpast_queue *")
            settled.call(lib.readpast_queue_open, of_queue, queue)
            return queue[0]

        on_main = threading.current_thread() is threading.main_thread()
        departure = Departure(opened, give_back=lib.readpast_queue_free)
        self._take(wait_for(departure) if on_main else opened())

    def _take(self, c: CData) -> None:
        self._handle: Handle | None = Handle(c, lib.readpast_queue_free)
        # Claims have a handle of their own: closing interrupts it, but not the handles that others share.
        self._claims: Handle | None = _shared(self._handle)
        #: The name of the queue, as its description has it.
        self.name: str = string(lib.readpast_queue_name(c)) or ""
        #: Whether trace context travels with its items, so that spans are worth their while: whether its description
        #: has `trace`.
        self.is_traced: bool = bool(lib.readpast_queue_is_traced(c))
        #: The name that the leases are held under: the setting `worker`, or a name that no other handle has.
        self.worker: str = string(lib.readpast_queue_worker(c)) or ""
        #: How long a claim holds, in milliseconds: the setting `lease.ms`, or else what the queue's description says.
        #: The queue's leaseMs in AppSettings overrides the description on the server, and is not asked for here.
        self.lease_ms: int = lib.readpast_queue_lease_ms(c)

    def __enter__(self) -> Queue:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, at: TracebackType | None
    ) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_handle", None) is not None:
            warnings.warn(f"{self!r} was not closed", ResourceWarning, source=self, stacklevel=2)
            self.close()

    def __repr__(self) -> str:
        return f"<readpast.Queue of {self.worker}{'' if self._handle else ', closed'}>"

    def __reduce__(self) -> str:
        raise TypeError("a readpast.Queue cannot be pickled: open one in each process")

    def _open(self) -> Handle:
        """Its handle, which is not freed while the caller refers to it."""
        handle = self._handle
        if handle is None:
            raise ClosedError("the queue was closed", Status.CLOSED)
        return handle

    def _batch(self, status: Status, c: CData) -> Batch:
        return Batch(status, c, self.settle)

    def share(self) -> Queue:
        """Another handle on the same queue, with its connections and leases in common, to be closed for itself.

        It can be interrupted for itself alone; when this one is interrupted, it is too.
        """
        shared = Queue.__new__(type(self))
        shared._take(_shared_c(self._open()))
        return shared

    def at(self, place: str) -> Queue:
        """Another handle, as of `share`, at one of the places of a queue that is spread over several databases.

        It is for calls that cannot be about all of them. Keys have the place before them there, too.
        """
        shared, of_place = ffi.new("readpast_queue *"), encoded(place, "place")
        self._open().call(lib.readpast_queue_at, of_place, shared)
        at = Queue.__new__(type(self))
        at._take(shared[0])
        return at

    @property
    def given_up(self) -> int:
        """How many connections were given up so far, since they fell silent without being closed (docs/worker.md)."""
        return int(lib.readpast_queue_given_up(self._open().c))

    def interrupt(self) -> None:
        """Makes every claim on this handle, and on those shared of it, end at once with `Status.INTERRUPTED`.

        Claims that wait end so, and those to come, until `resume`. Settling and renewing go on, so that work in
        hand can be finished.
        """
        self._open().call(lib.readpast_queue_interrupt)

    def resume(self) -> None:
        """Ends what `interrupt` began."""
        self._open().call(lib.readpast_queue_resume)

    def wake(self) -> None:
        """Has everybody in this process who waits for the queue look at it at once.

        Call it after you enqueued without the library, or inside a transaction that has committed since.
        """
        self._open().call(lib.readpast_queue_wake)

    def attach(self, connection: int) -> Queue:
        """A queue whose `enqueue` and `settle` work on an ODBC connection of the caller's, inside its transaction.

        `connection` is the address of its handle (SQLHDBC). All else is refused with `NotProvidedError`. The library
        neither commits nor closes it. pyodbc does not give its handle away: there, call `Modify_<queue>_Set_utx` and
        `Add_<queue>_Set_utx` (sql/README.md).
        """
        place = ffi.new("readpast_queue *")
        self._open().call(lib.readpast_queue_attach, ffi.cast("void *", connection), place)
        attached = Queue.__new__(Queue)
        attached._take(place[0])
        return attached

    def is_done(self, operation: str) -> bool:
        """Whether the call that was made with `operation` has committed.

        For a caller who has lost the answer to a commit of his own. One that is under way is waited for; after an hour
        identities are forgotten.
        """
        return self._open().call(lib.readpast_queue_is_done, encoded(operation, "operation")) == Status.OK

    def shutdown(self, timeout: Seconds) -> None:
        """Closes the connections of this and all shared handles, and waits for calls under way, up to a day.

        From here on calls raise `ClosedError`, and so do claims that wait. `TimedOutError`: calls are still under way;
        new ones are refused nevertheless.
        """
        self._open().call(lib.readpast_queue_close, milliseconds(timeout))

    def close(self) -> None:
        """Frees this handle; again: does nothing. Its claims that wait are interrupted.

        Other calls that threads have under way on it end as they would have, and the last of them closes the
        connections if no shared handle is left. `shutdown` before is the orderly way.
        """
        claims, self._claims, self._handle = self._claims, None, None
        if claims is not None:
            # In the child of a fork it reports that there is no call to interrupt.
            lib.readpast_queue_interrupt(claims.c, ffi.NULL)

    def enqueue(self, item: NewItem | Mapping[str, Any], *, operation: str | None = None) -> Receipt:
        """Enqueues an item: a `NewItem`, or a mapping of its columns. The receipt has its key."""
        return self.enqueue_many([item], operation=operation)[0]

    def enqueue_many(
        self, items: Iterable[NewItem | Mapping[str, Any]], *, operation: str | None = None
    ) -> Answers[Receipt]:
        """Enqueues items, 1000 in a commit: up to so many go in all or none.

        When a call of more fails, the thousands before are in, and the same call with the exception's operation goes
        on; all items are checked before the first is sent. A call without items sends nothing.

        A queue that knows duplicates leaves only them out; the receipts, in the order of the items, name them.

        `operation` is an identity for the call, a UUID, by which a repetition is recognized; None: the library makes
        one. A caller that gives one keeps it until a call with it succeeds.
        """
        every, texts = list(items), Texts()
        array, receipts = new_items_for(every, texts), ffi.new("readpast_receipts *")
        status = self._open().call(
            lib.readpast_queue_enqueue, array, len(every), encoded(operation, "operation"), receipts
        )
        return receipts_in(status, receipts[0])

    def claim(self, max_items: int = 1, *, wait: Seconds | None = 0) -> Batch:
        """Claims up to `max_items` (1 to 1000) items that are due, in the order they were due, and waits for the first.

        Each is this worker's until its lease runs out, on the server's clock; settle or renew it before. `wait` is how
        long to wait when none is due; None: until one is. A batch without items says in its `status` why it is.

        On the main thread a wait lets signal handlers run, and ends at once when one raises, as that of Ctrl-C does.
        Items claimed at that very moment are given back.
        """
        if (wait is None or wait) and threading.current_thread() is threading.main_thread():
            return wait_for(self._departing_claim(max_items, wait))
        return self._claim(self._claiming(), max_items, wait)

    def wait_for(self, key: str, *, wait: Seconds | None = None) -> Batch:
        """Waits until the item of this key has ended, and returns a batch of it as it is then: state, response, error.

        For a producer that needs the result of its work. `wait` is how long at most; None: until it ends. The batch is
        empty, and its `status` says why, when the item has not ended in time (EMPTY), or is not there (NOT_FOUND): a
        queue with `completion` deletes an item, or moves it to the history, as it ends. Those who wait for items of one
        queue share one question to the server. Signals are as in `claim`.
        """
        if (wait is None or wait) and threading.current_thread() is threading.main_thread():
            return wait_for(self._departing_wait(key, wait))
        return self._wait_for(self._claiming(), key, wait)

    def items(self, *, wait: Seconds | None = None, batch_size: int = 1) -> Generator[Item, None, None]:
        """Claims items one after the other, `batch_size` with each call, until none came for as long as `wait` says.

        None: until the queue is interrupted. Each item is yours to settle. Its lease is renewed, however long the work
        takes, and its columns can be read until you ask for the next that another call brings; `Item.is_lost` is
        whether it was lost all the same. When the iterator is closed, it gives back the items that it has left.
        """
        while True:
            with self.claim(batch_size, wait=wait) as batch:
                if not batch:
                    return
                given = 0
                try:
                    with self.renewing(batch):
                        for item in batch:
                            given += 1
                            yield item
                finally:
                    self._give_back(batch[given:])

    def settle(self, settlement: Settlement, *, operation: str | None = None) -> Outcome:
        """Ends the claim of an item, or records progress.

        A lost lease or a conflict is an answer, not an exception. `operation` is as for `enqueue_many`.
        `OutcomeUnknownError`: make the same call with the exception's operation.
        """
        return self.settle_many([settlement], operation=operation)[0]

    def settle_many(self, settlements: Iterable[Settlement], *, operation: str | None = None) -> Answers[Outcome]:
        """Does what `settle` does with items, 1000 in a commit. Each item is judged by itself."""
        every, texts = list(settlements), Texts()
        array, outcomes = settlements_for(every, texts), room_for_outcomes(len(every))
        status = self._open().call(
            lib.readpast_queue_settle, array, len(every), encoded(operation, "operation"), outcomes
        )
        return outcomes_in(status, outcomes, len(every))

    def settle_and_claim(
        self, settlements: Iterable[Settlement], max_items: int, *, operation: str | None = None
    ) -> SettledAndClaimed:
        """Settles as `settle_many` does and, in the same round trip and commit, claims as `claim` does without waiting.

        The batch is there whatever came of the settlements.
        """
        every, texts = list(settlements), Texts()
        array, outcomes, batch = (
            settlements_for(every, texts),
            room_for_outcomes(len(every)),
            ffi.new("readpast_batch *"),
        )
        status = self._claiming().call(
            lib.readpast_queue_settle_and_claim,
            array,
            len(every),
            encoded(operation, "operation"),
            max_items,
            outcomes,
            batch,
        )
        claimed = self._batch(Status.OK if batch[0].id else Status.EMPTY, batch[0])
        return SettledAndClaimed(outcomes_in(status, outcomes, len(every)), claimed)

    def renew(self, leases: Iterable[Lease]) -> Answers[Outcome]:
        """Lets the leases of items start anew. Nothing else of them changes. `renewing` does it by itself."""
        every, texts = list(leases), Texts()
        array, outcomes = leases_for(every, texts), room_for_outcomes(len(every))
        status = self._open().call(lib.readpast_queue_renew, array, len(every), outcomes)
        return outcomes_in(status, outcomes, len(every))

    def renewing(self, batch: Batch, interval: Seconds | None = None) -> Renewal:
        """Renews the leases of a batch on a thread of the library's, until the `Renewal` is closed.

        `interval` is up to a day; None: a third of the lease, which leaves time for two more tries.
        """
        every_ms = self.lease_ms // 3 if interval is None else milliseconds(interval)
        items, renewal = batch._rows.handle(), ffi.new("readpast_renewal *")
        self._open().call(lib.readpast_renewal_start, items.c, every_ms, renewal)
        return Renewal(batch._rows, renewal[0])

    def _claiming(self) -> Handle:
        self._open()
        return self._claims or self._open()

    def _claim(self, on: Handle, max_items: int, wait: Seconds | None) -> Batch:
        wait_ms = _LONGEST_WAIT_MS if wait is None else milliseconds(wait)
        batch = ffi.new("readpast_batch *")
        while True:
            status = on.call(lib.readpast_queue_claim, max_items, wait_ms, batch)
            if status is not Status.EMPTY or wait is not None:
                return self._batch(status, batch[0])

    def _departing_claim(self, max_items: int, wait: Seconds | None) -> Departure[Batch]:
        """A claim on a handle of its own, which is interrupted for itself alone."""
        own = _shared(self._claiming())
        return Departure(
            lambda: self._claim(own, max_items, wait),
            lambda: lib.readpast_queue_interrupt(own.c, ffi.NULL),
            self._give_back,
        )

    def _wait_for(self, on: Handle, key: str, wait: Seconds | None) -> Batch:
        wait_ms = _LONGEST_WAIT_MS if wait is None else milliseconds(wait)
        name, batch = encoded(key, "key"), ffi.new("readpast_batch *")
        while True:
            status = on.call(lib.readpast_queue_wait_for, name, wait_ms, batch)
            if status is not Status.EMPTY or wait is not None:
                return self._batch(status, batch[0])

    def _departing_wait(self, key: str, wait: Seconds | None) -> Departure[Batch]:
        """As a claim's, with nothing to give back."""
        own = _shared(self._claiming())
        return Departure(
            lambda: self._wait_for(own, key, wait),
            lambda: lib.readpast_queue_interrupt(own.c, ffi.NULL),
        )

    def _give_back(self, items: Iterable[Item]) -> None:
        """Releases items that were claimed for a caller that has left. At worst their leases run out."""
        releases = [item.release() for item in items]
        try:
            if releases:
                self.settle_many(releases)
        except QueueError as error:
            _log.warning("%d claimed items could not be given back: %s", len(releases), error)


def _shared_c(of: Handle) -> CData:
    shared = ffi.new("readpast_queue *")
    of.call(lib.readpast_queue_share, shared)
    return shared[0]


def _shared(of: Handle) -> Handle:
    return Handle(_shared_c(of), lib.readpast_queue_free)
