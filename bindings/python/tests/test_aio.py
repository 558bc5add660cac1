"""asyncio: calls do not block the loop, and cancelling loses nothing."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
from collections.abc import Coroutine
from typing import Any

import pytest
import support

import readpast
from readpast import Action, AsyncQueue, Status, errors


def run(coroutine: Coroutine[Any, Any, None]) -> None:
    async def in_time() -> None:
        await asyncio.wait_for(coroutine, 2 * support.PATIENCE)

    asyncio.run(in_time())


def test_from_opened_to_closed() -> None:
    async def use() -> None:
        async with await AsyncQueue.open(support.install(), **support.settings()) as queue:
            await queue.enqueue({"Payload": "a"})
            await queue.enqueue_many({"Payload": payload} for payload in "bc")
            with await queue.claim(wait=5) as batch:
                async with queue.renewing(batch) as renewal:
                    assert renewal.lost_keys == []
                    assert (await queue.record_step(batch[0], "halfway")).answer is Status.OK
                    assert (await queue.renew([batch[0].lease])).status is Status.OK
                outcomes, following = await queue.settle_and_claim([batch[0].complete()], 1)
                assert outcomes.status is Status.OK
            key = following[0].key
            assert (await queue.settle(following[0].settle(Action.CANCEL))).answer is Status.OK
            assert (await queue.ask("redrive", items=[{"key": key}]))["redriven"] == 1
            seen: list[str] = []
            async for item in queue.items(wait=0):
                seen.append(item["Payload"])
                await queue.settle_many([item.complete()])
            assert sorted(seen) == ["b", "c"]
            assert (await queue.stats()).completed == 3
            assert len(await queue.find({"status": ["Completed"]})) == 3
            assert await queue.ask("purge") == {"purged": 3}
            await queue.shutdown(support.PATIENCE)
            with pytest.raises(errors.ClosedError):
                await queue.claim()

    run(use())


def test_a_producer_waits_for_the_end_of_its_item() -> None:
    async def use() -> None:
        async with await AsyncQueue.open(support.install(), **support.settings()) as queue:
            key = (await queue.enqueue({"Payload": "a"})).key
            assert (await queue.wait_for(key, wait=0.01)).status is Status.EMPTY
            cancelled, waiting = (asyncio.create_task(queue.wait_for(key)) for _ in range(2))
            await asyncio.sleep(0.05)
            cancelled.cancel()
            with pytest.raises(asyncio.CancelledError):
                await cancelled
            with await queue.claim() as batch:
                await queue.settle(batch[0].complete("42"))
            with await waiting as ended:
                assert (ended[0].key, ended[0]["response"]) == (key, "42")

    run(use())


def test_failures_are_raised_where_they_are_awaited() -> None:
    async def use() -> None:
        with pytest.raises(errors.UnknownQueueError):
            await AsyncQueue.open("Nonesuch", **support.settings())

    run(use())


def test_waits_do_not_block_the_loop(queue: readpast.Queue) -> None:
    async def use() -> None:
        on = AsyncQueue(queue)
        # More than any pool of threads has.
        claims = [asyncio.ensure_future(on.claim(wait=3600)) for _ in range(50)]
        await asyncio.sleep(0.1)
        assert not any(claim.done() for claim in claims)
        assert (await on.stats()).pending == 0
        queue.interrupt()
        assert [batch.status for batch in await asyncio.gather(*claims)] == [Status.INTERRUPTED] * 50
        queue.resume()

    run(use())


def test_the_loop_runs_while_the_server_does_not_answer(queue: readpast.Queue) -> None:
    async def use() -> None:
        on = AsyncQueue(queue)
        with support.Psql() as psql:
            psql.lock(support.names[queue.worker])
            calls = [asyncio.ensure_future(call) for call in (on.enqueue({}), on.claim(), on.stats())]
            await asyncio.sleep(0.2)
            assert not any(call.done() for call in calls)
            psql.unlock()
            await asyncio.gather(*calls)

    run(use())


def threads() -> int:
    """How many this process has: `threading` does not know of all."""
    return len(os.listdir("/proc/self/task"))


def test_cancelling_ends_one_wait_alone(queue: readpast.Queue) -> None:
    async def use() -> None:
        on = AsyncQueue(queue)
        kept = asyncio.ensure_future(on.claim(wait=support.PATIENCE))
        before = threads()
        for _ in range(20):
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(on.claim(wait=3600), 0.05)
        support.until(lambda: threads() < before + 20, "a thread whose wait is over")
        await on.enqueue({"Payload": "a"})
        assert (await kept)[0]["Payload"] == "a"

    run(use())


def test_items_claimed_at_the_moment_of_a_cancellation_are_given_back(queue: readpast.Queue) -> None:
    async def use() -> None:
        on = AsyncQueue(queue)
        support.enqueue(queue, "a", "b")
        with support.Psql() as psql:
            psql.lock(support.names[queue.worker])
            claim = asyncio.ensure_future(on.claim(2, wait=3600))
            await asyncio.get_running_loop().run_in_executor(None, psql.wait_for_blocked)
            claim.cancel()
            await asyncio.sleep(0.1)
            assert not claim.done(), "the cancellation waits for the answer"
            psql.unlock()
            with pytest.raises(asyncio.CancelledError):
                await claim
        stats = queue.stats()
        assert (stats.pending, stats.processing) == (2, 0)

    run(use())


def test_a_second_cancellation_does_not_wait(queue: readpast.Queue) -> None:
    async def use() -> None:
        support.enqueue(queue, "a")
        with support.Psql() as psql:
            psql.lock(support.names[queue.worker])
            claim = asyncio.ensure_future(AsyncQueue(queue).claim(wait=3600))
            await asyncio.get_running_loop().run_in_executor(None, psql.wait_for_blocked)
            for _ in range(2):
                claim.cancel()
                await asyncio.sleep(0.05)
            assert claim.cancelled()
            psql.unlock()
        # Its thread gives the item back nevertheless.
        support.until(lambda: queue.stats().pending == 1)

    run(use())


def test_no_item_is_lost_to_a_cancellation(queue: readpast.Queue) -> None:
    """However the race of items and cancellations ends, each item is claimed, or in the queue."""
    rounds, taken, dice = 100, 0, random.Random(1)

    async def use() -> None:
        nonlocal taken
        on = AsyncQueue(queue)
        for _ in range(rounds):
            claim = asyncio.ensure_future(on.claim(wait=3600))
            await on.enqueue({"Payload": "a"})
            await asyncio.sleep(dice.random() * 0.004)
            claim.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                batch = await claim
                taken += len(batch)
                assert (await on.settle(batch[0].complete())).answer is Status.OK

    run(use())
    stats = queue.stats()
    assert (stats.completed, stats.pending, stats.processing) == (taken, rounds - taken, 0)


def test_a_settling_that_is_cancelled_is_brought_to_its_end(queue: readpast.Queue) -> None:
    async def use() -> None:
        on = AsyncQueue(queue)
        support.enqueue(queue, "a", "b")
        with await on.claim() as batch, support.Psql() as psql:
            psql.lock(support.names[queue.worker])
            settling = asyncio.ensure_future(on.settle_and_claim([batch[0].complete()], 1))
            await asyncio.get_running_loop().run_in_executor(None, psql.wait_for_blocked)
            settling.cancel()
            with pytest.raises(asyncio.CancelledError):
                await settling
            psql.unlock()
        # The item is settled, and what was claimed with it is given back.
        support.until(lambda: queue.stats()[:5] == (1, 0, 0, 0, 1))

    run(use())


def test_an_iteration_that_is_left_gives_the_rest_back(queue: readpast.Queue) -> None:
    async def use() -> None:
        support.enqueue(queue, "a", "b", "c")
        items = AsyncQueue(queue).items(batch_size=3)
        async for item in items:
            queue.settle(item.complete())
            break
        await items.aclose()
        stats = queue.stats()
        assert (stats.completed, stats.pending, stats.processing) == (1, 2, 0)

    run(use())


@pytest.mark.parametrize("is_async", [True, False])
def test_leases_outlast_the_work_on_an_iterations_items(is_async: bool) -> None:
    """Two programs as the README has them, and work that takes longer than a lease: it is done once."""
    name, settings = support.install(), support.settings(lease_ms=15000, recover_interval_ms=50)
    calls: list[str] = []

    async def send(item: readpast.Item) -> None:
        calls.append(item.key)
        await asyncio.sleep(17)
        assert not item.is_lost

    async def serve(queue: readpast.Queue) -> None:
        on = AsyncQueue(queue)
        async for item in on.items():
            await send(item)
            assert (await on.settle(item.complete())).answer is Status.OK
            end()

    def serve_blocking(queue: readpast.Queue) -> None:
        for item in queue.items():
            asyncio.run(send(item))
            assert queue.settle(item.complete()).answer is Status.OK
            end()

    with readpast.Queue(name, **settings) as one, readpast.Queue(name, **settings) as other:

        def end() -> None:
            one.interrupt()
            other.interrupt()

        async def both() -> None:
            if is_async:
                await asyncio.gather(*(serve(queue) for queue in (one, other)))
            else:
                await asyncio.gather(*(asyncio.to_thread(serve_blocking, queue) for queue in (one, other)))

        support.enqueue(one, "slow")
        run(both())
        assert (len(calls), one.stats().completed) == (1, 1)
