"""Waits keep no other thread from running, and end at once when a signal's handler raises."""

from __future__ import annotations

import os
import re
import resource
import signal
import socket
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Callable

import pytest
import support

import readpast
from readpast import Status
from readpast._waiting import Departure


@pytest.fixture
def killer() -> Iterator[threading.Timer]:
    """Sends this process a SIGINT a little after it is started."""
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    yield timer
    timer.cancel()


def started(timer: threading.Timer, call: Callable[[], object]) -> None:
    """The call, with what ends it under way: all of it where KeyboardInterrupt is expected, however early it comes."""
    timer.start()
    call()


def test_other_threads_run_during_every_wait(queue: readpast.Queue) -> None:
    """Were the interpreter's lock held for as long as a wait, what ends the wait here could not run."""
    claims: list[Callable[[], readpast.Batch]] = [
        lambda: queue.claim(wait=support.PATIENCE),
        lambda: queue._claim(queue._claiming(), 1, support.PATIENCE),
    ]
    for claim in claims:
        enqueue = threading.Timer(0.2, support.enqueue, (queue, "a"))
        enqueue.start()
        with claim() as batch:
            assert len(batch) == 1
        enqueue.join()
    with support.Psql() as psql:

        def let_go() -> None:
            psql.wait_for_blocked()
            psql.unlock()

        calls: list[Callable[[], object]] = [
            queue.stats,
            queue.claim,
            lambda: queue.enqueue({}),
            lambda: queue.ask("recover"),
            lambda: queue.ask("purge"),
        ]
        for call in calls:
            psql.lock(queue_name(queue))
            thread = threading.Thread(target=let_go)
            thread.start()
            call()
            thread.join()


def test_ctrl_c_ends_a_wait(queue: readpast.Queue, killer: threading.Timer) -> None:
    begun = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        started(killer, lambda: queue.claim(wait=3600))
    assert time.monotonic() - begun < support.PATIENCE
    assert queue.claim().status is Status.EMPTY, "nothing stays interrupted"


def test_ctrl_c_ends_the_wait_for_a_server_that_does_not_answer(killer: threading.Timer) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    connection = re.sub(r"(?i)port=\d+", f"Port={port}", os.environ["READPAST_CONNECTION"])
    begun = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        started(killer, lambda: readpast.Queue("Mail", connection=connection, open_timeout_ms=3_600_000))
    assert time.monotonic() - begun < support.PATIENCE
    with pytest.raises(readpast.QueueError):
        readpast.Queue("Mail", connection=connection, open_timeout_ms=0)


def test_ctrl_c_ends_a_wait_whichever_thread_the_system_gives_it_to(queue: readpast.Queue) -> None:
    # The handler would run at the end of the wait, too.
    end = threading.Timer(support.PATIENCE, queue.interrupt)
    end.start()
    try:
        other = threading.Timer(0.3, lambda: signal.pthread_kill(threading.get_ident(), signal.SIGINT))
        with pytest.raises(KeyboardInterrupt):
            started(other, lambda: queue.claim(wait=3600))
        assert end.is_alive()
    finally:
        end.cancel()


def test_a_wait_does_not_wake_to_look(queue: readpast.Queue) -> None:
    def times_slept() -> int:
        return resource.getrusage(resource.RUSAGE_THREAD).ru_nvcsw

    before = times_slept()
    assert queue.claim(wait=10).status is Status.EMPTY
    # A thread that waits for the interpreter's lock sleeps every 5 ms, and may have to wait for it for a while.
    assert times_slept() - before < 70, "looking every 100 ms would be 100 times"


def test_the_former_reader_of_signals_still_gets_them(queue: readpast.Queue, killer: threading.Timer) -> None:
    """As a rule, that reader is an event loop on this thread, which then runs its handlers."""
    told, tell = socket.socketpair()
    tell.setblocking(False)
    told.settimeout(support.PATIENCE)

    def heed(*_: object) -> None:
        pass

    handler, fd = signal.signal(signal.SIGINT, heed), signal.set_wakeup_fd(tell.fileno())
    try:
        killer.start()
        assert queue.claim(wait=1).status is Status.EMPTY
        assert told.recv(10) == bytes([signal.SIGINT])
    finally:
        assert signal.set_wakeup_fd(fd) == tell.fileno()
        signal.signal(signal.SIGINT, handler)
        told.close()
        tell.close()


def test_ctrl_c_ends_an_iteration(queue: readpast.Queue, killer: threading.Timer) -> None:
    support.enqueue(queue, "a")
    items = queue.items()
    queue.settle(next(items).complete())
    with pytest.raises(KeyboardInterrupt):
        started(killer, lambda: next(items))
    assert queue.stats().completed == 1


def test_a_handler_that_returns_lets_the_wait_go_on(queue: readpast.Queue, killer: threading.Timer) -> None:
    handled: list[int] = []

    def enqueue(number: int, _: object) -> None:
        handled.append(number)
        support.enqueue(queue, "a")

    before = signal.signal(signal.SIGINT, enqueue)
    try:
        killer.start()
        with queue.claim(wait=support.PATIENCE) as batch:
            assert batch[0]["Payload"] == "a"
    finally:
        signal.signal(signal.SIGINT, before)
    assert handled == [signal.SIGINT]


def test_items_claimed_at_the_moment_of_a_signal_are_given_back(
    queue: readpast.Queue, monkeypatch: pytest.MonkeyPatch
) -> None:
    support.enqueue(queue, "a", "b")
    is_interrupted, leave = threading.Event(), Departure[object].leave

    def leave_and_tell(departure: Departure[object], tell: Callable[[], object]) -> None:
        leave(departure, tell)
        is_interrupted.set()

    monkeypatch.setattr(Departure, "leave", leave_and_tell)
    with support.Psql() as psql:
        psql.lock(queue_name(queue))

        def interrupt() -> None:
            psql.wait_for_blocked()
            os.kill(os.getpid(), signal.SIGINT)
            is_interrupted.wait(support.PATIENCE)
            # And yet the server grants the claim, for it was sent before.
            psql.unlock()

        thread = threading.Thread(target=interrupt)
        thread.start()
        with pytest.raises(KeyboardInterrupt):
            queue.claim(2, wait=3600)
        thread.join()
    stats = queue.stats()
    assert (stats.pending, stats.processing) == (2, 0)
    with queue.claim(2) as batch:
        assert [item.attempt for item in batch] == [1, 1], "what is given back does not count"


def test_failures_of_a_wait_are_raised_where_it_was_asked_for(queue: readpast.Queue) -> None:
    threading.Timer(0.2, queue.shutdown, (support.PATIENCE,)).start()
    with pytest.raises(readpast.errors.ClosedError) as caught:
        queue.claim(wait=3600)
    assert any(entry.name == "test_failures_of_a_wait_are_raised_where_it_was_asked_for" for entry in caught.traceback)


def test_a_program_in_a_wait_ends_by_ctrl_c(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        textwrap.dedent("""\
            import os, sys, readpast

            name, connection = sys.argv[1], os.environ["READPAST_CONNECTION"]
            with readpast.Queue(name, connection=connection, schema="readpast_python") as queue:
                print("waiting", flush=True)
                queue.claim(wait=None)
        """),
        "utf-8",
    )
    with subprocess.Popen(
        [sys.executable, program, support.install()], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "waiting\n"
        time.sleep(0.2)
        process.send_signal(signal.SIGINT)
        _, said = process.communicate(timeout=support.PATIENCE)
    assert process.returncode == -signal.SIGINT
    assert "KeyboardInterrupt" in said


def queue_name(queue: readpast.Queue) -> str:
    return support.names[queue.worker]
