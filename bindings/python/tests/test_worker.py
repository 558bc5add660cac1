"""The worker."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Callable

import pytest
import support

import readpast
from readpast import Action, Batch, Item, Queue, Settled, Settlement, State, Status, Worker, errors

PROGRAM = Path(__file__).resolve().parents[1] / "build" / "worker"


def run(worker: Worker, enough: Callable[[], object]) -> None:
    """Runs a worker until there is enough."""
    failed: list[BaseException] = []

    def work() -> None:
        try:
            worker.run()
        except BaseException as error:
            failed.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    try:
        support.until(lambda: failed or enough(), "what the worker shall do")
    finally:
        worker.stop()
        thread.join(support.PATIENCE)
    assert not thread.is_alive()
    assert not failed


def test_several_threads_complete_every_item_once(queue: Queue) -> None:
    support.enqueue(queue, *map(str, range(200)))
    seen: list[str] = []
    worker = Worker(queue, lambda item: seen.append(item["Payload"]), threads=3, batch_size=7)
    run(worker, lambda: len(seen) == 200)
    assert sorted(seen) == sorted(map(str, range(200)))
    assert queue.stats().completed == 200


def test_a_handlers_return_value_settles_the_item(queue: Queue) -> None:
    payloads = ["nothing", "response", "partially", "fail", "retry", "release", "cancel", "pause", "step"]
    handled = 0

    def handle(item: Item) -> Settlement | None:
        nonlocal handled
        handled += 1
        if item["Payload"] == "step":
            assert item.record_step("rendered").answer is Status.OK
        return {
            "response": item.complete("sent"),
            "partially": item.complete_partially("half"),
            "fail": item.fail("never"),
            "retry": item.retry("later", delay=3600),
            "release": item.release(delay=3600),
            "cancel": item.settle(Action.CANCEL),
            "pause": item.settle(Action.PAUSE),
        }.get(item["Payload"])

    support.enqueue(queue, *payloads)
    run(Worker(queue, handle), lambda: handled == len(payloads))
    done = ["Completed", "Completed", "PartiallyCompleted", "Failed", "Error", "Pending", "Cancelled", "Paused"]
    assert support.column(queue, "status") == [*done, "Completed"]
    assert support.column(queue, "response")[1:3] == ["sent", "half"]
    assert support.column(queue, "error")[3:5] == ["never", "later"]
    assert support.column(queue, "step")[-1] == "rendered"


def test_an_exception_is_the_items_error_and_the_worker_goes_on(queue: Queue, caplog: pytest.LogCaptureFixture) -> None:
    def raise_for(item: Item) -> Settlement | None:
        payload = item["Payload"]
        if payload == "bad":
            raise ValueError("it is bad: ä\U0001f600 \0\ud83d!") from KeyError("inner")
        if payload == "long":
            raise ValueError("\U0001f600" * 20000)
        if payload == "unsendable":
            return item.complete("half \ud83d")._replace(delay=-1)
        if payload == "strange":
            return "done"  # type: ignore[return-value]  # pyright: ignore[reportReturnType]
        if payload == "another's":
            return item.complete()._replace(key="x")
        return None

    support.enqueue(queue, "bad", "good", "long", "unsendable", "strange", "another's")
    with caplog.at_level(logging.WARNING, "readpast.worker"):
        run(
            Worker(queue, raise_for, batch_size=6),
            lambda: queue.stats().failed == 4 and queue.stats().completed == 2,
        )
    bad, good, long, unsendable, strange, anothers = map(str, support.column(queue, "error"))
    assert bad.startswith("ValueError: it is bad: ä\U0001f600 \ufffd\ufffd!\n")
    assert "KeyError: 'inner'" in bad
    assert f'File "{__file__}"' in bad
    assert "in raise_for" in bad
    assert "worker.py" not in bad.replace(__file__, ""), "our own part of the stack helps nobody"
    assert good in {"", "None"}
    assert len(long) == 16000
    assert "the response is not UTF-8: see its byte 5; the delay of -1000 ms is not from 0" in unsendable
    assert not support.column(queue, "response")[3]
    assert "returned a value of type str" in strange
    assert "settled item x" in anothers
    record = next(record for record in caplog.records if "attempt 1" in record.getMessage())
    assert record.exc_info is not None


def test_a_worker_runs_once(queue: Queue) -> None:
    support.enqueue(queue, "a")
    worker = Worker(queue, lambda _: worker.stop())
    worker.run()
    worker.stop()
    with pytest.raises(RuntimeError, match="once"):
        worker.run()


def test_an_interrupt_of_the_queue_stops_it(queue: Queue) -> None:
    threading.Timer(0.1, queue.interrupt).start()
    Worker(queue, lambda _: None, threads=3).run()
    assert queue.claim().status is Status.INTERRUPTED


def test_a_worker_that_is_stopped_before_it_runs_does_nothing(queue: Queue) -> None:
    support.enqueue(queue, "a")
    worker = Worker(queue, lambda _: pytest.fail("it runs"))
    worker.stop()
    worker.run()
    assert queue.stats().pending == 1


@pytest.mark.parametrize("is_coroutine", [False, True])
def test_an_abandoned_worker_spends_no_attempt_of_what_its_handlers_have(queue: Queue, is_coroutine: bool) -> None:
    support.enqueue(queue, "a")
    begun, may_end, ended = threading.Event(), threading.Event(), threading.Event()
    lost: list[bool] = []

    def work(item: Item) -> Settlement:
        begun.set()
        may_end.wait(support.PATIENCE)
        lost.append(item.is_lost)
        ended.set()
        return item.complete("late")

    async def coroutine(item: Item) -> Settlement:
        return work(item)

    worker = Worker(queue, coroutine if is_coroutine else work)
    thread = threading.Thread(target=worker.run)
    thread.start()
    assert begun.wait(support.PATIENCE)
    worker.abandon()
    thread.join(support.PATIENCE)
    assert not thread.is_alive(), "it waits for its handler"
    may_end.set()
    assert ended.wait(support.PATIENCE)
    assert lost == [True]
    assert queue.stats().pending == 1
    assert support.column(queue, "attempt_num") == [0]


def test_leases_outlast_the_work() -> None:
    name, settings = support.install(), support.settings(lease_ms=15000, recover_interval_ms=50)
    with readpast.Queue(name, **settings) as queue, readpast.Queue(name, **settings) as rival:
        support.enqueue(queue, "slow")
        lost: list[bool] = []

        def work(item: Item) -> None:
            for _ in range(340):
                lost.append(item.is_lost or bool(rival.claim(wait=0.05)))

        run(Worker(queue, work, settle_timeout=support.PATIENCE), lambda: queue.stats().completed == 1)
        assert lost == [False] * 340


def test_a_handler_learns_that_its_item_is_lost(caplog: pytest.LogCaptureFixture) -> None:
    with readpast.Queue(support.install(), **support.settings(lease_ms=1500, recover_interval_ms=3600000)) as queue:
        support.enqueue(queue, "doomed")

        def work(item: Item) -> None:
            assert not item.is_lost
            queue.settle(Settlement.operator(item.key, Action.TERMINATE))
            support.until(lambda: item.is_lost)
            worker.stop()

        worker = Worker(queue, work, settle_timeout=support.PATIENCE)
        with caplog.at_level(logging.WARNING, "readpast.worker"):
            worker.run()
        assert "attempt 1 was lost: " in caplog.text
        assert queue.stats().terminated == 1


def test_a_failure_that_nobody_mends_ends_the_run(queue: Queue) -> None:
    with pytest.raises(errors.InvalidArgumentError):
        Worker(queue, lambda _: None, threads=2, batch_size=5000).run()

    def shut_down() -> None:
        support.until(lambda: queue.stats().completed == 1, "what shows that it runs")
        queue.shutdown(support.PATIENCE)

    support.enqueue(queue, "a")
    closing = threading.Thread(target=shut_down)
    closing.start()
    with pytest.raises(errors.ClosedError) as caught:
        Worker(queue, lambda _: None, threads=2).run()
    closing.join()
    assert any(entry.name == "_work" for entry in caught.traceback), "where it was raised first"
    with pytest.raises(ValueError, match="thread"):
        Worker(queue, lambda _: None, threads=0)


def test_a_time_that_cannot_be_waited_for_is_refused_and_ends_the_run(queue: Queue) -> None:
    with pytest.raises(errors.InvalidArgumentError, match="settle_timeout is -0"):
        Worker(queue, lambda _: None, settle_timeout=-0.001)
    support.enqueue(queue, "a")

    def work(_: Item) -> None:
        worker.stop()

    worker = Worker(queue, work, settle_timeout=2 * 86400)
    with pytest.raises(errors.InvalidArgumentError, match="wait_ms"):
        worker.run()
    assert queue.stats().completed == 1


@support.deferring("queue")
def test_a_base_exception_ends_the_run(queue: Queue) -> None:
    support.enqueue(queue, "a")

    def leave(_: Item) -> None:
        sys.exit(3)

    with pytest.raises(SystemExit):
        Worker(queue, leave, threads=2).run()
    assert queue.stats().error == 1
    assert str(support.column(queue, "error")[0]).startswith("SystemExit: 3")


def test_subclasses_get_the_events(queue: Queue) -> None:
    claimed: list[str] = []
    told: dict[str, Settled] = {}

    class Telling(Worker):
        def claimed(self, batch: Batch) -> None:
            claimed.extend(item["Payload"] for item in batch)

        def settled(self, settled: Sequence[Settled]) -> None:
            told.update((each.key, each) for each in settled)
            if len(told) == 3:
                # The worker counts them a little later.
                support.until(lambda: self.figures().settled == 3)
                self.stop()

    support.enqueue(queue, "a", "b", "c")
    keys = [item.key for item in queue.find()]
    worker = Telling(queue, lambda item: item.fail("no") if item["Payload"] == "b" else None, batch_size=2)
    worker.run()
    assert sorted(claimed) == ["a", "b", "c"]
    states = [State.COMPLETED, State.FAILED, State.COMPLETED]
    assert [told[key] for key in keys] == [Settled(key, 1, Status.OK, state) for key, state in zip(keys, states)]
    with pytest.raises(errors.ClosedError):
        worker.figures()


def test_a_subclass_that_raises_ends_the_run_and_gives_the_items_back(queue: Queue) -> None:
    class Refusing(Worker):
        def claimed(self, batch: Batch) -> None:  # noqa: ARG002
            raise LookupError("claimed")

    class Failing(Worker):
        def settled(self, settled: Sequence[Settled]) -> None:  # noqa: ARG002
            raise LookupError("settled")

    support.enqueue(queue, "a", "b")
    with pytest.raises(LookupError, match="claimed"):
        Refusing(queue, lambda _: None, batch_size=2).run()
    assert queue.stats().pending == 2
    with pytest.raises(LookupError, match="settled"):
        Failing(queue, lambda _: None).run()
    assert queue.stats().processing == 0


def test_it_does_not_wait_for_ever_for_what_the_database_does_not_take(queue: Queue) -> None:
    support.enqueue(queue, "a")
    with support.Psql() as psql:

        def work(_: Item) -> None:
            psql.lock(support.names[queue.worker])
            worker.stop()

        worker = Worker(queue, work, settle_timeout=0.1)
        with pytest.raises(errors.TimedOutError, match="given up"):
            worker.run()
        psql.unlock()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signals_stop_it_when_asked_to(queue: Queue, number: signal.Signals) -> None:
    support.enqueue(queue, "a", "b")
    before = signal.getsignal(number)

    def work(_: Item) -> None:
        os.kill(os.getpid(), number)
        support.until(worker._is_stopping)

    worker = Worker(queue, work, batch_size=2)
    worker.run(signals=True)
    assert signal.getsignal(number) is before
    stats = queue.stats()
    assert (stats.completed, stats.pending) == (1, 1)


def test_ctrl_c_drains_it_and_is_raised(queue: Queue) -> None:
    support.enqueue(queue, "a", "b")

    def work(_: Item) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        support.until(worker._is_stopping)

    worker = Worker(queue, work, batch_size=2)
    with pytest.raises(KeyboardInterrupt):
        worker.run()
    stats = queue.stats()
    assert (stats.completed, stats.pending, stats.processing) == (1, 1, 0)


@pytest.fixture
def program() -> Callable[..., subprocess.Popen[str]]:
    def start(*arguments: str) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [PROGRAM, *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )

    return start


def install_notifications(kind: str) -> tuple[str, list[str]]:
    name = f"{kind}Notification{os.getpid()}"
    column = {"name": "Recipient", "type": "text(254)"}
    readpast.install({"queue": name, "columns": [column]}, **support.settings())
    return name, ["-o", "schema=readpast_python", name]


def test_the_example_drains_on_sigterm(program: Callable[..., subprocess.Popen[str]]) -> None:
    name, arguments = install_notifications("Draining")
    with readpast.Queue(name, **support.settings()) as queue:
        keys = [receipt.key for receipt in queue.enqueue_many({"Recipient": "a@example.com"} for _ in range(20))]
        with program("-r", "-b", "7", "-f", "5", *arguments) as process:
            # All have been handed out, and those that did not fail are settled.
            support.until(lambda: (stats := queue.stats()).completed >= 16 and stats.pending + stats.processing == 0)
            process.send_signal(signal.SIGTERM)
            records, said = process.communicate(timeout=support.PATIENCE)
        assert process.returncode == 0, said
        lines = [line.split("\t") for line in records.splitlines()]
        assert {line[1] for line in lines if line[0] == "T"} == set(keys)
        settled = [line for line in lines if line[0] == "S"]
        assert len(settled) == sum(line[0] == "T" for line in lines)
        assert {line[3] for line in settled} == {"0"}


def test_the_example_ends_at_once_by_a_second_ctrl_c(program: Callable[..., subprocess.Popen[str]]) -> None:
    name, arguments = install_notifications("Hasty")
    arguments = ["-o", "lock.timeout_ms=600000", "-o", "query.timeout_ms=600000", *arguments]
    with readpast.Queue(name, **support.settings()) as queue, support.Psql() as psql:
        with program("-r", *arguments) as process:
            assert process.stdout is not None
            queue.enqueue({"Recipient": "a@example.com"})
            assert process.stdout.readline().startswith("T\t")
            support.until(lambda: queue.stats().completed > 0)
            psql.lock(name)
            psql.wait_for_blocked()
            process.send_signal(signal.SIGINT)
            time.sleep(0.3)
            assert process.poll() is None, "it drains"
            process.send_signal(signal.SIGINT)
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                # Two that come before it has run again are one.
                process.send_signal(signal.SIGINT)
            process.communicate(timeout=support.PATIENCE)
        assert process.returncode == 130
        psql.unlock()


@pytest.mark.parametrize("arguments", [[], ["-b", "0", "q"], ["-b", "x", "q"], ["-o", "x", "q"], ["q", "r"]])
def test_the_example_says_how_it_is_called(program: Callable[..., subprocess.Popen[str]], arguments: list[str]) -> None:
    with program(*arguments) as process:
        _, said = process.communicate(timeout=support.PATIENCE)
    assert process.returncode == 2
    assert said.startswith("usage: worker")


def test_a_worker_stops_when_nothing_is_due(queue: readpast.Queue) -> None:
    support.enqueue(queue, "a", "b")
    Worker(queue, lambda _: None, until_empty=True, settle_timeout=support.PATIENCE).run()
    assert queue.stats().completed == 2
