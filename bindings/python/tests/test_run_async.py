"""Coroutines on the event loop that the program has."""

from __future__ import annotations

import asyncio
import contextlib
import functools
import gc
import logging
import sys
import threading
from collections.abc import Awaitable, Coroutine
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Any, Callable, Optional

import pytest
import support

import readpast
from readpast import Action, Batch, Handlers, Item, NewItem, Queue, Settlement, Status, Worker, errors
from readpast._coroutines import by_worker

Rest = Callable[[Item], Awaitable[Optional[Settlement]]]


@dataclass
class First:
    payload: str


@dataclass
class Second:
    big: int


def run(coroutine: Coroutine[Any, Any, None]) -> None:
    async def in_time() -> None:
        await asyncio.wait_for(coroutine, 2 * support.PATIENCE)

    asyncio.run(in_time())


async def until(condition: Callable[[], object]) -> None:
    await asyncio.to_thread(support.until, condition)


async def cancelled(running: asyncio.Task[None]) -> None:
    await asyncio.wait([running])
    assert running.cancelled()


def test_handlers_use_what_was_made_on_the_loop_as_many_at_once_as_there_are_threads(queue: Queue) -> None:
    support.enqueue(queue, *map(str, range(40)))

    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while line := await reader.readline():
            writer.write(line.upper())
        writer.close()

    async def use() -> None:
        server = await asyncio.start_server(echo, "127.0.0.1", 0)
        reader, writer = await asyncio.open_connection(*server.sockets[0].getsockname())
        turn = asyncio.Lock()
        at_work = 0
        most = 0
        all_at_work = asyncio.Event()
        threads: set[str] = set()

        async def work(item: Item) -> Settlement:
            nonlocal at_work, most
            at_work += 1
            most = max(most, at_work)
            if at_work == 8:
                threads.update(thread.name for thread in threading.enumerate() if "readpast" in thread.name)
                all_at_work.set()
            await all_at_work.wait()
            async with turn:
                writer.write(f"a{item['Payload']}\n".encode())
                answer = await reader.readline()
            at_work -= 1
            return item.complete(answer.decode().strip())

        await Worker(queue, work, threads=8, until_empty=True).run_async()
        assert most == 8
        assert sorted(threads) == ["readpast changes", "readpast events", "readpast worker"], "none for an item"
        writer.close()
        server.close()

    run(use())
    assert support.column(queue, "response") == [f"A{number}" for number in range(40)]
    assert not [thread.name for thread in threading.enumerate() if thread.name.startswith("readpast")]


def test_a_lane_handles_its_items_one_after_the_other(queue: Queue) -> None:
    support.enqueue(queue, *map(str, range(60)))
    lanes: dict[str, list[str]] = {}

    class Noting(Worker):
        def claimed(self, batch: Batch) -> None:
            keys = [item.key for item in batch]
            assert len(keys) <= 6
            for start in range(0, len(keys), 3):
                lane = keys[start : start + 3]
                lanes.update((key, lane) for key in lane)

    async def use() -> None:
        at_work: set[str] = set()
        begun: list[str] = []
        both = asyncio.Event()

        async def work(item: Item) -> None:
            assert at_work.isdisjoint(lanes[item.key])
            at_work.add(item.key)
            begun.append(item.key)
            if len(at_work) == 2:
                both.set()
            await both.wait()
            await asyncio.sleep(0)
            assert len(at_work) <= 2
            at_work.remove(item.key)

        await Noting(queue, work, threads=2, batch_size=3, until_empty=True).run_async()
        assert sorted(begun) == sorted(lanes)
        assert all(begun.index(first) < begun.index(last) for first, *_, last in filter(_is_long, lanes.values()))
        assert any(map(_is_long, lanes.values()))

    run(use())
    assert queue.stats().completed == 60


def _is_long(lane: list[str]) -> bool:
    return len(lane) > 1


def test_each_item_begins_in_the_context_of_the_run(queue: Queue) -> None:
    support.enqueue(queue, *"abcdef")
    place: ContextVar[str] = ContextVar("place")
    seen: list[str] = []

    async def work(item: Item) -> None:
        seen.append(place.get())
        place.set(item.key)
        await asyncio.sleep(0)
        assert place.get() == item.key

    async def use() -> None:
        place.set("the run's")
        await Worker(queue, work, threads=2, batch_size=2, until_empty=True).run_async()
        assert place.get() == "the run's"

    run(use())
    assert seen == ["the run's"] * 6
    assert queue.stats().completed == 6


def test_a_verdict_an_error_a_step_and_a_follower_are_those_of_run(queue: Queue) -> None:
    support.enqueue(queue, "raises", "retries", "step", "strange", "follows")

    async def work(item: Item) -> Any:
        kind = item["Payload"]
        if kind == "raises":
            await asyncio.sleep(0)
            raise ValueError("it is bad")
        if kind == "step":
            answer = await asyncio.to_thread(item.record_step, "rendered")
            assert answer.answer is Status.OK
        if kind == "follows":
            return item.complete(then={queue.name: [{"Payload": "followed"}]})
        return {"retries": item.retry("later", delay=3600), "strange": "done"}.get(kind)

    async def use() -> None:
        await Worker(queue, work, threads=2, until_empty=True).run_async()

    run(use())
    done = ["Failed", "Error", "Completed", "Failed", "Completed", "Completed"]
    assert support.column(queue, "status") == done
    raised, later, _, strange, *_ = map(str, support.column(queue, "error"))
    assert raised.startswith("ValueError: it is bad\n")
    assert f'File "{__file__}"' in raised
    assert "_on_loop.py" not in raised, "our own part of the stack helps nobody"
    assert later == "later"
    assert "returned a value of type str" in strange
    assert support.column(queue, "step")[2] == "rendered"
    assert support.column(queue, "Payload")[-1] == "followed"


def test_typed_handlers_run_there_with_what_stands_around_them(queue: Queue) -> None:
    handlers = Handlers()
    seen: list[str] = []

    @handlers.handle
    async def first(work: First, item: Item) -> Settlement:
        await asyncio.sleep(0)
        return item.complete(work.payload)

    @handlers.handle
    async def second(work: Second, _: Item) -> None: ...

    @handlers.around
    async def around(item: Item, rest: Rest) -> Settlement | None:
        settlement = await rest(item)
        seen.append(str(item.type))
        return settlement

    queue.enqueue(NewItem({"Payload": "a"}, type="First"))
    queue.enqueue(NewItem({"Payload": "no number"}, type="Second"))

    async def use() -> None:
        await Worker(queue, handlers, until_empty=True).run_async()

    run(use())
    assert (first, second, sorted(seen)) == (first, second, ["First", "Second"])
    assert support.column(queue, "status") == ["Completed", "Failed"]
    assert support.column(queue, "response")[0] == "a"


def test_a_function_is_refused_before_it_holds_up_the_loop(queue: Queue) -> None:
    async def coroutine(_: Item) -> None: ...

    def function(_: object) -> None: ...

    def of_dict(_: dict[str, Any], _item: Item) -> None: ...

    @functools.wraps(coroutine)
    def wrapper(item: Item) -> Any:
        return coroutine(item)

    mixed = Handlers()
    mixed.handle(type="First", column="Document")(of_dict)
    for wrong in function, functools.partial(of_dict, {}), mixed:
        worker = Worker(queue, wrong)
        with pytest.raises(TypeError, match=r"is a function, which would hold up the event loop: make it `async def`"):
            run(worker.run_async())
    support.enqueue(queue, "a")
    run(Worker(queue, functools.partial(functools.partial(wrapper)), until_empty=True).run_async())
    support.enqueue(queue, "b")
    run(Worker(queue, wrapper, until_empty=True).run_async())
    assert queue.stats().completed == 2


def test_a_cancellation_is_a_stop_after_which_coroutines_come_to_their_end(queue: Queue) -> None:
    support.enqueue(queue, "a", "b")

    async def use() -> None:
        begun, may_end = asyncio.Event(), asyncio.Event()

        async def work(_: Item) -> None:
            begun.set()
            await may_end.wait()

        worker = Worker(queue, work)
        running = asyncio.create_task(worker.run_async())
        await begun.wait()
        running.cancel("enough")
        await until(worker._is_stopping)
        assert not running.done()
        may_end.set()
        with pytest.raises(asyncio.CancelledError, match="enough"):
            await running

    run(use())
    stats = queue.stats()
    assert (stats.completed, stats.pending) == (1, 1)
    assert support.column(queue, "attempt_num") == [1, 0]


@pytest.mark.parametrize("by_cancellation", [False, True])
def test_a_coroutine_that_never_ends_is_cancelled_after_the_stop_and_its_attempt_does_not_count(
    queue: Queue, by_cancellation: bool, caplog: pytest.LogCaptureFixture
) -> None:
    support.enqueue(queue, "a", "b")

    async def use() -> None:
        begun, cleared_away = asyncio.Event(), False

        async def work(_: Item) -> None:
            nonlocal cleared_away
            assert not by_worker()
            begun.set()
            try:
                await asyncio.sleep(2 * support.PATIENCE)
            finally:
                await asyncio.sleep(0.01)
                cleared_away = by_worker()

        worker = Worker(queue, work, stop_timeout=0.05)
        running = asyncio.create_task(worker.run_async())
        await begun.wait()
        if by_cancellation:
            running.cancel()
            await cancelled(running)
        else:
            worker.stop()
            await running
        assert cleared_away, "its end is waited for"

    run(use())
    assert "the handler is cancelled: the worker stops" in caplog.text
    assert queue.stats().pending == 2
    assert support.column(queue, "attempt_num") == [0, 0]


def test_a_second_cancellation_gives_back_what_no_cancellation_ends(queue: Queue) -> None:
    support.enqueue(queue, "a")

    async def use() -> None:
        begun, may_end, ended = asyncio.Event(), asyncio.Event(), asyncio.Event()

        async def work(item: Item) -> Settlement:
            begun.set()
            while not may_end.is_set():
                with contextlib.suppress(asyncio.CancelledError):
                    await may_end.wait()
            assert item.is_lost
            ended.set()
            return item.complete("late")

        worker = Worker(queue, work, stop_timeout=0, settle_timeout=support.PATIENCE)
        running = asyncio.create_task(worker.run_async())
        await begun.wait()
        running.cancel()
        await until(worker._is_stopping)
        running.cancel()
        await cancelled(running)
        assert queue.stats().pending == 1
        may_end.set()
        await ended.wait()

    run(use())
    assert queue.stats().pending == 1
    assert support.column(queue, "attempt_num") == [0]


def test_an_abandoned_worker_waits_for_no_coroutine(queue: Queue) -> None:
    support.enqueue(queue, "a")

    async def use() -> None:
        begun, was_cancelled = asyncio.Event(), asyncio.Event()

        async def work(_: Item) -> None:
            begun.set()
            try:
                await asyncio.sleep(2 * support.PATIENCE)
            finally:
                was_cancelled.set()

        worker = Worker(queue, work)
        running = asyncio.create_task(worker.run_async())
        await begun.wait()
        worker.abandon()
        await running
        await was_cancelled.wait()

    run(use())
    assert queue.stats().pending == 1
    assert support.column(queue, "attempt_num") == [0]


def test_the_end_of_the_loop_gives_back_what_it_cancels(queue: Queue) -> None:
    support.enqueue(queue, "a")

    async def use() -> None:
        begun = asyncio.Event()

        async def work(_: Item) -> None:
            begun.set()
            await asyncio.sleep(2 * support.PATIENCE)

        worker = Worker(queue, work)
        running = asyncio.create_task(worker.run_async())
        await begun.wait()
        # The task is left behind: the loop cancels it with all others.
        assert not running.done()

    run(use())
    assert queue.stats().pending == 1
    assert support.column(queue, "attempt_num") == [0]


def test_a_coroutine_is_cancelled_when_its_item_is_lost_and_the_one_beside_it_is_not() -> None:
    with readpast.Queue(support.install(), **support.settings(lease_ms=1500, recover_interval_ms=3600000)) as queue:
        support.enqueue(queue, "doomed", "kept")

        async def use() -> None:
            kept_runs, doomed_ended = asyncio.Event(), asyncio.Event()

            async def work(item: Item) -> Settlement:
                if item["Payload"] == "kept":
                    kept_runs.set()
                    await doomed_ended.wait()
                    return item.complete("to the end")
                await kept_runs.wait()
                await asyncio.to_thread(queue.settle, Settlement.operator(item.key, Action.TERMINATE))
                try:
                    await asyncio.sleep(2 * support.PATIENCE)
                finally:
                    doomed_ended.set()
                return item.complete()

            worker = Worker(queue, work, threads=2, settle_timeout=support.PATIENCE)
            running = asyncio.create_task(worker.run_async())
            await until(lambda: (queue.stats().completed, queue.stats().terminated) == (1, 1))
            worker.stop()
            await running

        run(use())
        assert support.column(queue, "response")[1] == "to the end"


def test_a_coroutine_that_another_task_cancels_has_failed(queue: Queue) -> None:
    support.enqueue(queue, "a")

    async def work(_: Item) -> None:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        await asyncio.sleep(2 * support.PATIENCE)

    run(Worker(queue, work, until_empty=True).run_async())
    assert "not by the worker" in str(support.column(queue, "error")[0])
    assert support.column(queue, "attempt_num") == [3]


@support.deferring("queue")
def test_a_coroutine_that_leaves_the_program_ends_the_run(queue: Queue) -> None:
    support.enqueue(queue, "leaves", "is beside it")

    async def use() -> None:
        beside = asyncio.Event()

        async def work(item: Item) -> None:
            if item["Payload"] == "leaves":
                await beside.wait()
                sys.exit(3)
            beside.set()
            await asyncio.sleep(2 * support.PATIENCE)

        await Worker(queue, work, threads=2).run_async()

    with pytest.raises(SystemExit):
        asyncio.run(use())
    # The attempt of the one beside it does not count; that of the one that left does.
    stats = queue.stats()
    assert (stats.pending, stats.error) == (1, 1)


class Left(BaseException):
    pass


@support.deferring("queue")
def test_a_failure_ends_the_run_and_gives_back_what_has_not_begun(queue: Queue) -> None:
    async def work(_: Item) -> None:
        await asyncio.sleep(0)
        raise Left

    class Refusing(Worker):
        def claimed(self, batch: Batch) -> None:  # noqa: ARG002
            raise LookupError("claimed")

    support.enqueue(queue, "a", "b")
    with pytest.raises(LookupError, match="claimed"):
        run(Refusing(queue, work, batch_size=2).run_async())
    assert queue.stats().pending == 2
    with pytest.raises(Left):
        run(Worker(queue, work, batch_size=2).run_async())
    assert (queue.stats().error, queue.stats().pending) == (1, 1)
    with pytest.raises(errors.InvalidArgumentError):
        run(Worker(queue, work, batch_size=5000).run_async())


def test_a_failure_between_batches_lets_coroutines_come_to_their_end(queue: Queue) -> None:
    async def use() -> None:
        begun, may_end, ended = asyncio.Event(), asyncio.Event(), False

        async def work(item: Item) -> None:
            nonlocal ended
            if item["Payload"] == "late":
                begun.set()
                await may_end.wait()
                ended = True

        worker = Worker(queue, work, threads=3)
        running = asyncio.create_task(worker.run_async())
        support.enqueue(queue, "late")
        await begun.wait()
        support.enqueue(queue, "soon")
        await until(lambda: worker.figures().ended + worker.figures().settled == 1)
        readpast.drop(queue.name, **support.settings())
        await until(worker._is_stopping)
        await asyncio.wait([running], timeout=0.2)
        assert not running.done()
        may_end.set()
        with pytest.raises(errors.UnknownQueueError):
            await running
        assert ended

    run(use())
    assert not [thread.name for thread in threading.enumerate() if thread.name.startswith("readpast")]


@pytest.mark.parametrize("is_closed", [False, True])
def test_a_run_that_is_dropped_with_its_loop_leaves_no_item_and_no_thread(
    queue: Queue, is_closed: bool, caplog: pytest.LogCaptureFixture
) -> None:
    support.enqueue(queue, "a")
    caplog.set_level(logging.CRITICAL, "asyncio")
    begun = asyncio.Event()

    async def work(_: Item) -> None:
        begun.set()
        await asyncio.sleep(2 * support.PATIENCE)

    loop = asyncio.new_event_loop()
    running: Coroutine[Any, Any, None] = Worker(queue, work, threads=2).run_async()
    task = loop.create_task(running)
    loop.run_until_complete(begun.wait())
    loop.close()
    if is_closed:
        running.close()
    else:
        # It notices when it has an item for the loop.
        support.enqueue(queue, "b")
    support.until(lambda: not [each for each in threading.enumerate() if each.name.startswith("readpast")])
    assert set(support.column(queue, "status")) == {"Pending"}
    assert set(support.column(queue, "attempt_num")) == {0}
    del task, running
    gc.collect()


def test_a_worker_runs_once_on_threads_or_on_a_loop(queue: Queue) -> None:
    async def work(_: Item) -> None: ...

    worker = Worker(queue, work, until_empty=True)
    run(worker.run_async())
    with pytest.raises(RuntimeError, match="once"):
        run(worker.run_async())
    with pytest.raises(RuntimeError, match="once"):
        worker.run()
