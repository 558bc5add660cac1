"""A queue for asyncio."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, Callable, TypeVar

from ._operating import Filter
from ._texts import Seconds
from ._waiting import Departure
from .answers import Answers, Outcome, Receipt
from .batch import Batch
from .item import Item
from .new_item import NewItem
from .queue import Queue, SettledAndClaimed
from .renewal import Renewal
from .settlement import Lease, Settlement
from .stats import Stats

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._settings import Settings

T = TypeVar("T")


class AsyncQueue:
    """A queue whose calls do not block the event loop. The library is synchronous: each call has a thread of its own.

    The calls are those of `Queue`, which says what they do. Cancelling a claim ends its wait, disturbs no other claim,
    and loses nothing: what was claimed at that very moment is given back before the cancellation goes on. Other calls
    are brought to their end though their caller has left.
    """

    def __init__(self, queue: Queue) -> None:
        #: The queue itself, for calls that do not block: `worker`, `lease_ms`, `interrupt`, `resume`.
        self.queue = queue

    @classmethod
    async def open(cls, name: str, /, **settings: Unpack[Settings]) -> AsyncQueue:
        """Opens a queue, with the arguments of `Queue`."""
        return cls(await _call(lambda: Queue(name, **settings), give_back=Queue.close))

    async def __aenter__(self) -> AsyncQueue:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, at: TracebackType | None
    ) -> None:
        await self.close()

    async def shutdown(self, timeout: Seconds) -> None:
        """`Queue.shutdown`."""
        await _call(partial(self.queue.shutdown, timeout))

    async def close(self) -> None:
        """`Queue.close`."""
        await _call(self.queue.close)

    async def enqueue(self, item: NewItem | Mapping[str, Any], *, operation: str | None = None) -> Receipt:
        """`Queue.enqueue`."""
        return await _call(partial(self.queue.enqueue, item, operation=operation))

    async def enqueue_many(
        self, items: Iterable[NewItem | Mapping[str, Any]], *, operation: str | None = None
    ) -> Answers[Receipt]:
        """`Queue.enqueue_many`."""
        return await _call(partial(self.queue.enqueue_many, items, operation=operation))

    async def claim(self, max_items: int = 1, *, wait: Seconds | None = 0) -> Batch:
        """`Queue.claim`."""
        return await _wait_for(self.queue._departing_claim(max_items, wait))

    async def wait_for(self, key: str, *, wait: Seconds | None = None) -> Batch:
        """`Queue.wait_for`."""
        return await _wait_for(self.queue._departing_wait(key, wait))

    async def items(self, *, wait: Seconds | None = None, batch_size: int = 1) -> AsyncGenerator[Item, None]:
        """`Queue.items`: leases are renewed until you ask for what another call brings.

        Close it (`contextlib.aclosing`) when you leave it early, so that the rest is given back.
        """
        while True:
            with await self.claim(batch_size, wait=wait) as batch:
                if not batch:
                    return
                given = 0
                try:
                    async with self.renewing(batch):
                        for item in batch:
                            given += 1
                            yield item
                finally:
                    if given < len(batch):
                        await _call(partial(self.queue._give_back, batch[given:]))

    async def settle(self, settlement: Settlement, *, operation: str | None = None) -> Outcome:
        """`Queue.settle`."""
        return await _call(partial(self.queue.settle, settlement, operation=operation))

    async def settle_many(self, settlements: Iterable[Settlement], *, operation: str | None = None) -> Answers[Outcome]:
        """`Queue.settle_many`."""
        return await _call(partial(self.queue.settle_many, settlements, operation=operation))

    async def settle_and_claim(
        self, settlements: Iterable[Settlement], max_items: int, *, operation: str | None = None
    ) -> SettledAndClaimed:
        """`Queue.settle_and_claim`. When it is cancelled, what it claims is given back."""
        return await _call(
            lambda: self.queue.settle_and_claim(settlements, max_items, operation=operation),
            give_back=lambda both: self.queue._give_back(both.batch),
        )

    async def record_step(self, item: Item, step: str) -> Outcome:
        """`Item.record_step`."""
        return await _call(partial(item.record_step, step))

    async def renew(self, leases: Iterable[Lease]) -> Answers[Outcome]:
        """`Queue.renew`."""
        return await _call(partial(self.queue.renew, leases))

    @asynccontextmanager
    async def renewing(self, batch: Batch, interval: Seconds | None = None) -> AsyncGenerator[Renewal, None]:
        """`Queue.renewing`."""
        renewal = self.queue.renewing(batch, interval)
        try:
            yield renewal
        finally:
            await _call(renewal.close)

    async def find(self, filter: Filter = None, *, after: str | None = None, max_items: int = 1000) -> Batch:
        """`Queue.find`."""
        return await _call(partial(self.queue.find, filter, after=after, max_items=max_items))

    async def ask(self, what: str, /, **arguments: Any) -> Any:
        """`Queue.ask`."""
        return await _call(partial(self.queue.ask, what, **arguments))

    async def stats(self) -> Stats:
        """`Queue.stats`."""
        return await _call(self.queue.stats)


async def _call(call: Callable[[], T], give_back: Callable[[T], object] | None = None) -> T:
    """Makes a call that nothing interrupts."""
    return await _wait_for(Departure(call, give_back=give_back))


async def _wait_for(departure: Departure[T]) -> T:
    """Makes the call for a task, which may be cancelled meanwhile."""
    loop = asyncio.get_running_loop()

    def telling(event: asyncio.Event) -> Callable[[], None]:
        def tell() -> None:
            # A closed loop refuses it: no task waits then.
            with suppress(RuntimeError):
                loop.call_soon_threadsafe(event.set)

        return tell

    done = asyncio.Event()
    departure.begin(telling(done))
    try:
        await done.wait()
    except BaseException:
        gone = asyncio.Event()
        departure.leave(telling(gone))
        if departure.is_interruptible:
            # It is not long; and who has no patience for it cancels again.
            await gone.wait()
        raise
    return departure.result()
