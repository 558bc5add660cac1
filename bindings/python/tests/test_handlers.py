"""A worker's handlers and their effect: coroutines, mistakes, and their lines in the log."""

from __future__ import annotations

import asyncio
import functools
import logging
import os
import sys
import threading
from collections.abc import Coroutine, Generator, Iterator, Sequence
from datetime import datetime
from typing import Any

import pytest
import support

import readpast
from readpast import Action, Batch, Item, Queue, Settled, Settlement, Status, Worker
from readpast._engine import Engine, Event


@pytest.fixture
def log(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    with caplog.at_level(logging.INFO, "readpast.worker"):
        yield caplog


def run_until(worker: Worker, enough: Any) -> None:
    def stop() -> None:
        try:
            support.until(enough, "what the worker shall do")
        finally:
            worker.stop()

    threading.Thread(target=stop).start()
    worker.run()


class Callable:
    async def __call__(self, _: Item) -> None:
        await asyncio.sleep(0)


async def complete(_: object, item: Item) -> Settlement:
    await asyncio.sleep(0)
    return item.complete("awaited")


def call_complete(item: Item) -> Any:
    return complete(None, item)


@pytest.mark.parametrize("handler", [functools.partial(complete, None), call_complete, Callable()])
def test_coroutines_are_run_before_the_item_is_settled(queue: Queue, handler: Any) -> None:
    support.enqueue(queue, "a")
    run_until(Worker(queue, handler), lambda: queue.stats().completed == 1)
    assert support.column(queue, "response")[0] in {"awaited", "", None}
    assert support.column(queue, "attempt_num") == [1]


def test_a_coroutine_is_waited_for_on_one_loop(queue: Queue) -> None:
    support.enqueue(queue, *"abcd")
    together = 0
    all_run = threading.Event()
    loops: set[asyncio.AbstractEventLoop] = set()

    async def work(item: Item) -> Settlement:
        nonlocal together
        together += 1
        loops.add(asyncio.get_running_loop())
        if together == 4:
            # All of them run at once, or this is never reached.
            assert queue.stats().completed == 0, "nothing is settled before it is done"
            all_run.set()
        await asyncio.to_thread(all_run.wait, support.PATIENCE)
        return item.complete("sent")

    run_until(Worker(queue, work, threads=4), lambda: queue.stats().completed == 4)
    assert support.column(queue, "response") == ["sent"] * 4
    assert len(loops) == 1
    assert loops.pop().is_closed()


def test_an_exception_of_a_coroutine_is_the_items_error(queue: Queue, log: pytest.LogCaptureFixture) -> None:
    async def work(item: Item) -> None:
        await asyncio.sleep(0)
        if item["Payload"] == "cancelled":
            raise asyncio.CancelledError
        raise ValueError("it is bad")

    support.enqueue(queue, "bad", "cancelled")
    run_until(Worker(queue, work), lambda: queue.stats().failed == 2)
    bad, cancelled = map(str, support.column(queue, "error"))
    assert bad.startswith("ValueError: it is bad\n")
    assert f'File "{__file__}"' in bad
    assert "_handling.py" not in bad, "our own part of the stack helps nobody"
    assert "not by the worker" in cancelled
    assert "attempt 3 failed: the handler raised ValueError('it is bad')" in log.text


def test_a_long_exception_is_cut_in_the_log(queue: Queue, log: pytest.LogCaptureFixture) -> None:
    def work(item: Item) -> None:
        raise ValueError(item["Payload"] + "\N{SLIGHTLY SMILING FACE}\udc80" * 8000)

    support.enqueue(queue, "bad")
    run_until(Worker(queue, work), lambda: queue.stats().failed == 1)
    assert " characters left out) … " in log.text
    assert max(map(len, log.text.splitlines())) < 1500, "the traceback would end in all of it"


def test_a_coroutine_is_cancelled_when_its_item_is_lost(log: pytest.LogCaptureFixture) -> None:
    with readpast.Queue(support.install(), **support.settings(lease_ms=1500, recover_interval_ms=3600000)) as queue:
        support.enqueue(queue, "doomed")
        cleared_away = False

        async def work(item: Item) -> None:
            nonlocal cleared_away
            queue.settle(Settlement.operator(item.key, Action.TERMINATE))
            try:
                await asyncio.sleep(3600)
            finally:
                await asyncio.sleep(0.05)
                cleared_away = True
                worker.stop()

        worker = Worker(queue, work, settle_timeout=support.PATIENCE)
        worker.run()
        assert cleared_away, "its end is waited for"
        assert queue.stats().terminated == 1
        assert "the handler is cancelled: the item is lost" in log.text


def test_a_coroutine_is_cancelled_so_long_after_the_stop_and_its_attempt_does_not_count(queue: Queue) -> None:
    support.enqueue(queue, "patient", "quick")

    async def work(item: Item) -> None:
        worker.stop()
        if item["Payload"] == "patient":
            await asyncio.sleep(3600)

    worker = Worker(queue, work, threads=1, stop_timeout=0.05)
    worker.run()
    assert queue.stats().pending == 2
    assert support.column(queue, "attempt_num") == [0, 0]


def test_one_of_several_coroutines_is_cancelled_for_the_loss_of_its_own_item() -> None:
    with readpast.Queue(support.install(), **support.settings(lease_ms=1500, recover_interval_ms=3600000)) as queue:
        support.enqueue(queue, "doomed", "kept")
        kept_runs, doomed_ended = asyncio.Event(), asyncio.Event()

        async def work(item: Item) -> Settlement:
            if item["Payload"] == "kept":
                kept_runs.set()
                await asyncio.wait_for(doomed_ended.wait(), support.PATIENCE)
                return item.complete("to the end")
            await kept_runs.wait()
            queue.settle(Settlement.operator(item.key, Action.TERMINATE))
            try:
                await asyncio.sleep(2 * support.PATIENCE)
            finally:
                doomed_ended.set()
            return item.complete()

        worker = Worker(queue, work, threads=2, settle_timeout=support.PATIENCE)
        run_until(worker, lambda: (queue.stats().completed, queue.stats().terminated) == (1, 1))
        assert support.column(queue, "response")[1] == "to the end"


def test_a_stop_from_elsewhere_is_noticed_while_all_threads_are_busy(queue: Queue) -> None:
    support.enqueue(queue, "a")

    async def work(_: Item) -> None:
        # No thread waits for items, and could notice it so.
        queue.interrupt()
        await asyncio.sleep(support.PATIENCE)

    Worker(queue, work, stop_timeout=0).run()
    queue.resume()
    assert support.column(queue, "attempt_num") == [0]
    assert not [thread.name for thread in threading.enumerate() if thread.name.startswith("readpast")]


def test_without_a_time_for_it_a_stop_cancels_nothing(queue: Queue) -> None:
    support.enqueue(queue, "a")

    async def work(_: Item) -> None:
        worker.stop()
        await asyncio.sleep(0.5)

    worker = Worker(queue, work)
    worker.run()
    assert queue.stats().completed == 1


@support.deferring("queue")
def test_a_coroutine_that_leaves_the_program_ends_the_run(queue: Queue) -> None:
    support.enqueue(queue, "leaves", "is beside it")
    beside = threading.Event()

    async def work(item: Item) -> None:
        if item["Payload"] == "leaves":
            await asyncio.to_thread(beside.wait, support.PATIENCE)
            sys.exit(3)
        beside.set()
        await asyncio.sleep(3600)

    with pytest.raises(SystemExit):
        Worker(queue, work, threads=2).run()
    # The attempt of the one beside it does not count; that of the one that left does.
    stats = queue.stats()
    assert (stats.pending, stats.error) == (1, 1)


def test_an_item_beside_a_coroutine_that_leaves_the_program_is_not_begun_again(queue: Queue) -> None:
    support.enqueue(queue, "leaves", *["is beside it"] * 3)
    beside = threading.Semaphore(0)
    begun: list[str] = []

    class HeldUp(Worker):
        """The thread whose handler leaves is the last to say so."""

        leaver: int | None = None
        said = threading.Event()

        def claimed(self, batch: Batch) -> None:
            begun.extend([item.key for item in batch])
            if len(begun) > 4:
                self.said.set()

        def stop(self) -> None:
            if threading.get_ident() == self.leaver:
                assert self.said.wait(support.PATIENCE)
            super().stop()
            self.said.set()

    async def work(item: Item) -> None:
        if item["Payload"] == "leaves":
            for _ in range(3):
                assert await asyncio.to_thread(beside.acquire, timeout=support.PATIENCE)
            sys.exit(3)
        beside.release()
        await asyncio.sleep(3600)

    def handle(item: Item) -> Coroutine[Any, Any, None]:
        if item["Payload"] == "leaves":
            worker.leaver = threading.get_ident()
        return work(item)

    worker = HeldUp(queue, handle, threads=4)
    with pytest.raises(SystemExit):
        worker.run()
    assert len(begun) == 4


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("done", "a value of type str"),
        ("", "a value of type str"),
        (True, "a value of type bool"),
        (False, "a value of type bool"),
        ({"secret": "s3cret"}, "a value of type dict"),
        (Item.complete, "Item.complete, which it did not call"),
        (Settlement("another", "t", 1, Action.COMPLETE), "settled item another"),
    ],
)
def test_a_value_that_no_handler_may_return_is_final(
    queue: Queue, log: pytest.LogCaptureFixture, given: object, said: str
) -> None:
    handled: list[int] = []

    def work(item: Item) -> Any:
        handled.append(item.attempt)
        return given

    support.enqueue(queue, "a", "b")
    with readpast.Queue(support.names[queue.worker], **support.settings()) as other:
        run_until(Worker(other, work, batch_size=2), lambda: queue.stats().failed == 2)
    assert handled == [1, 1], "what was done is not done again"
    for error in map(str, support.column(queue, "error")):
        assert said in error
        assert "s3cret" not in error
    mistakes = [record for record in log.records if record.levelno == logging.ERROR]
    assert len(mistakes) == 2
    assert "attempt 1: the handler " in mistakes[0].getMessage()


def test_an_action_that_ends_no_item_is_a_mistake(queue: Queue) -> None:
    support.enqueue(queue, "a")
    run_until(Worker(queue, lambda item: item.settle(Action.STEP)), lambda: queue.stats().failed == 1)
    assert "does not end an item" in str(support.column(queue, "error")[0])


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"delay": float("nan")}, "the delay of -9223372036854775808 ms is not from 0"),
        ({"delay": 1e300}, "the delay of 9223372036854775807 ms is not from 0"),
        ({"due": datetime(2030, 1, 1)}, "time zone"),  # noqa: DTZ001
        ({"due": "tomorrow"}, "due"),
        ({"step": "x" * 61}, "step"),
        ({"response": "half \ud83d"}, "the response is not UTF-8"),
        ({"response": "a\0b"}, "U+0000"),
    ],
)
def test_a_value_that_cannot_be_stored_is_left_out_and_the_action_kept(
    queue: Queue, log: pytest.LogCaptureFixture, wrong: dict[str, Any], said: str
) -> None:
    support.enqueue(queue, "a", "b")
    run_until(
        Worker(queue, lambda item: item.complete("done")._replace(**wrong) if item["Payload"] == "a" else None),
        lambda: queue.stats().completed == 2,
    )
    error, other = support.column(queue, "error")
    assert "a part of the result was refused: " in str(error)
    assert said in str(error)
    assert not other
    assert "attempt 1: a part of the result (" in log.text
    assert "was refused, and is left out of its Complete: " in log.text


@pytest.mark.parametrize(
    ("name", "value"), [("response", 5), ("due", 7), ("delay", "soon"), ("action", 1), ("action", None), ("set", 5)]
)
def test_a_settlement_of_wrong_types_is_a_mistake(queue: Queue, name: str, value: Any) -> None:
    support.enqueue(queue, "a")
    wrong = {name: value}
    run_until(Worker(queue, lambda item: item.complete()._replace(**wrong)), lambda: queue.stats().failed == 1)
    assert f"whose {name} is a value of type {type(value).__name__}" in str(support.column(queue, "error")[0])


def test_a_set_is_written_and_one_that_cannot_be_json_is_a_mistake(queue: Queue) -> None:
    support.enqueue(queue, "a", "b")
    values: dict[object, object] = {"a": {"Payload": "changed"}, "b": {"Payload": object()}}
    run_until(
        Worker(queue, lambda item: item.complete()._replace(set=values[item["Payload"]])),  # type: ignore[arg-type]
        lambda: queue.stats().failed == 1 and queue.stats().completed == 1,
    )
    assert support.column(queue, "Payload") == ["changed", "b"]
    assert "whose set cannot be JSON" in str(support.column(queue, "error")[1])


def test_a_step_keeps_the_claim_and_a_lost_item_says_so(queue: Queue) -> None:
    answers: list[Status] = []

    def work(item: Item) -> Settlement:
        answers.append(item.record_step("halfway").answer)
        answers.append(item.record_step("nearly").answer)
        if item["Payload"] == "doomed":
            queue.settle(Settlement.operator(item.key, Action.TERMINATE))
            answers.append(item.record_step("in vain").answer)
            assert item.is_lost
        return item.complete()

    support.enqueue(queue, "fine", "doomed")
    run_until(Worker(queue, work), lambda: (queue.stats().completed, queue.stats().terminated) == (1, 1))
    assert answers == [Status.OK] * 4 + [Status.LEASE_LOST]
    assert support.column(queue, "step") == ["nearly", "nearly"]


def test_an_awaitable_that_is_no_coroutine_is_named(queue: Queue) -> None:
    loop = asyncio.new_event_loop()
    support.enqueue(queue, "a")

    def work(_: Item) -> Any:
        return loop.create_future()

    run_until(Worker(queue, work), lambda: queue.stats().failed == 1)
    loop.close()
    assert "make the handler `async def`" in str(support.column(queue, "error")[0])


def test_an_object_that_can_be_no_handler_is_refused_at_once(queue: Queue) -> None:
    def generator(item: Item) -> Generator[Item, None, None]:
        yield item

    async def async_generator(item: Item) -> Any:
        yield item

    wrong: list[Any] = [generator, functools.partial(generator), async_generator]
    for handler in wrong:
        with pytest.raises(TypeError, match="is a generator"):
            Worker(queue, handler)
    with pytest.raises(TypeError, match="cannot be called"):
        Worker(queue, None)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


def test_the_log_has_every_failed_attempt_and_no_payload(queue: Queue, log: pytest.LogCaptureFixture) -> None:
    def work(item: Item) -> Settlement | None:
        kind = str(item["Payload"]).split()[0]
        if kind == "raises":
            raise ValueError("451 greylisted")
        if kind == "retries":
            return item.retry("452 full" + "!" * 15000, delay=3600)
        if kind == "fails":
            return item.fail("550 no such user")
        if kind == "long":
            return item.complete("s3cret" * 3)._replace(step="s3cret" * 100)
        return None

    support.enqueue(queue, "raises s3cret", "retries s3cret", "fails s3cret", "long s3cret", "completes s3cret")
    key = {item["Payload"].split()[0]: item.key for item in queue.find()}
    run_until(Worker(queue, work, batch_size=2), lambda: queue.stats().failed == 2)
    lines = [(record.levelname, record.getMessage()) for record in log.records]
    assert lines[0][0] == "INFO"
    assert lines[0][1].endswith(" started: threads: 1, items a batch: 2")
    assert lines[-1][0] == "INFO"
    assert lines[-1][1].endswith(" stopped")
    warnings = [line for level, line in lines if level == "WARNING"]
    for attempt in 1, 2, 3:
        raised = f"item {key['raises']}, attempt {attempt} failed: the handler raised ValueError('451 greylisted')"
        assert warnings.count(raised) == 1
    brief = "452 full" + "!" * 242 + " … (14508 characters left out) … " + "!" * 250
    assert f"item {key['retries']}, attempt 1 failed (RETRY): {brief}" in warnings
    assert f"item {key['fails']}, attempt 1 failed (FAIL): 550 no such user" in warnings
    (refused,) = (line for line in warnings if line.startswith(f"item {key['long']}, "))
    assert "attempt 1: a part of the result (step of 600 characters) was refused, and is left out of its " in refused
    assert not any(f"item {key['completes']}" in line for line in warnings)
    # As fields, too.
    told = [
        tuple(getattr(record, field) for field in ("queue", "worker", "key", "attempt", "action", "status"))
        for record in log.records
    ]
    of_worker = (queue.name, queue.worker)
    assert {each[:2] for each in told} == {of_worker}
    assert told[0] == told[-1] == (*of_worker, None, None, None, None)
    for attempt in 1, 2, 3:
        assert told.count((*of_worker, key["raises"], attempt, "RETRY", None)) == 1
    assert (*of_worker, key["fails"], 1, "FAIL", None) in told
    assert (*of_worker, key["long"], 1, "COMPLETE", "INVALID_ARGUMENT") in told
    assert "s3cret" not in log.text
    password = os.environ["READPAST_CONNECTION"].partition("Pwd=")[2].partition(";")[0]
    assert not password or password not in log.text


def test_fields_that_records_have_already_are_left_alone(queue: Queue, log: pytest.LogCaptureFixture) -> None:
    made = logging.getLogRecordFactory()

    def make(*args: Any, **more: Any) -> logging.LogRecord:
        record = made(*args, **more)
        record.worker = "the program's own"
        return record

    support.enqueue(queue, "a")
    logging.setLogRecordFactory(make)
    try:
        worker = Worker(queue, lambda item: item.fail("550 no such user")._replace(step="x" * 100))
        run_until(worker, lambda: queue.stats().failed == 1)
    finally:
        logging.setLogRecordFactory(made)
    said = " ".join(record.getMessage() for record in log.records if vars(record)["worker"] == "the program's own")
    for line in " started: ", "attempt 1 failed (FAIL): 550 no such user", " was refused, ", " stopped":
        assert line in said
    assert {record.filename for record in log.records} == {"worker.py", "_handling.py"}


def test_a_newer_librarys_events_end_no_worker(
    queue: Queue, log: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = Engine.events
    told: list[Settled] = []

    def events(engine: Engine) -> list[Event] | None:
        found = read(engine)
        return found and [event._replace(action=99, answer=98, state=97, line="news") for event in found]

    class Listening(Worker):
        def settled(self, settled: Sequence[Settled]) -> None:
            told.extend(settled)

    monkeypatch.setattr(Engine, "events", events)
    support.enqueue(queue, "a", "b")
    run_until(Listening(queue, lambda _: None), lambda: queue.stats().completed == 2 and told)
    (record, *_) = (record for record in log.records if record.getMessage() == "news")
    assert (vars(record)["action"], vars(record)["status"]) == ("UNKNOWN_99", "UNKNOWN_98")
    assert (told[0].answer.name, told[0].state.name, int(told[0].state)) == ("UNKNOWN_98", "UNKNOWN_97", 97)


def test_a_handler_longer_than_the_lease_is_called_once_though_two_workers_wait() -> None:
    name, settings = support.install(), support.settings(lease_ms=15000, recover_interval_ms=50)
    with readpast.Queue(name, **settings) as one, readpast.Queue(name, **settings) as other:
        support.enqueue(one, "slow")
        calls: list[str] = []

        async def work(item: Item) -> None:
            calls.append(item.key)
            await asyncio.sleep(17)

        rival = Worker(other, work, settle_timeout=support.PATIENCE)
        waiting = threading.Thread(target=rival.run)
        waiting.start()
        run_until(Worker(one, work, settle_timeout=support.PATIENCE), lambda: one.stats().completed == 1)
        rival.stop()
        waiting.join(support.PATIENCE)
        assert len(calls) == 1
