"""The end of handles: closing, forgetting to, forking, and uses after that."""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import pickle
import threading
from typing import Any

import pytest
import support

import readpast
from readpast import Status, errors
from readpast._library import ffi, lib


def test_a_closed_handle_reports_that_it_is_closed() -> None:
    queue = readpast.Queue(support.install(), **support.settings())
    batch = support.claimed(queue, "a")
    renewal = queue.renewing(batch)
    for each in (renewal, queue):
        each.close()
        each.close()
    for call in (queue.claim, queue.stats, queue.interrupt, queue.share, lambda: queue.enqueue({})):
        with pytest.raises(errors.ClosedError, match="closed"):
            call()
    with pytest.raises(errors.ClosedError):
        queue.settle(batch[0].complete())
    with pytest.raises(errors.ClosedError):
        renewal.release(batch[0].key)
    assert renewal.lost_keys == []
    assert batch[0]["Payload"] == "a", "a batch does not need its queue"
    batch.close()


def test_a_queue_that_was_shut_down_says_so(queue: readpast.Queue) -> None:
    with queue.share() as shared:
        queue.shutdown(support.PATIENCE)
        queue.shutdown(0)
        for call in (queue.claim, shared.stats):
            with pytest.raises(errors.ClosedError):
                call()


def test_closing_interrupts_claims_that_wait(queue: readpast.Queue) -> None:
    # On a busy machine none may wait yet.
    assert any(Status.INTERRUPTED in ended_by_closing(queue.share()) for _ in range(20))
    assert queue.claim().status is Status.EMPTY


def ended_by_closing(shared: readpast.Queue) -> list[Status]:
    """How three claims end whose queue is closed. Those that had not begun by then say that it is closed."""
    ended: list[Status] = []

    def claim() -> None:
        try:
            ended.append(shared.claim(wait=3600).status)
        except errors.ClosedError:
            ended.append(Status.CLOSED)

    threads = [threading.Thread(target=claim) for _ in range(3)]
    for thread in threads:
        thread.start()
    threading.Event().wait(0.1)
    shared.close()
    for thread in threads:
        thread.join(support.PATIENCE)
    assert len(ended) == 3
    assert set(ended) <= {Status.INTERRUPTED, Status.CLOSED}
    return ended


def test_a_forgotten_handle_is_freed() -> None:
    """Handles are used again: after as many as there can be at once, one more fits."""
    with readpast.Queue(support.install(), **support.settings()) as queue:
        batch = support.claimed(queue, "a")
        forgotten = batch._rows.handle().c.id
        del batch
        again: Any = ffi.new("readpast_batch *")
        again[0].id = forgotten
        assert lib.readpast_batch_count(again[0]) == 0, "it was freed at once, without the collector"

        batch = support.claimed(queue, "b")
        handle = queue.renewing(batch)._handle
        assert handle is not None
        renewal = handle.c
        del handle
        assert lib.readpast_renewal_release(renewal, b"", ffi.NULL) == Status.INVALID_HANDLE

    forgotten_queues = [readpast.Queue(support.install(), **support.settings())]
    with pytest.warns(ResourceWarning, match="was not closed"):
        forgotten_queues.clear()


def test_reading_while_another_thread_closes(queue: readpast.Queue) -> None:
    """Text is copied before what lends it is freed; a crash would end the tests."""
    payload = "x" * 5000

    def read(item: readpast.Item) -> None:
        with contextlib.suppress(errors.ClosedError):
            while True:
                seen.add(item["Payload"])

    seen: set[str] = set()
    for _ in range(50):
        batch = support.claimed(queue, payload)
        thread = threading.Thread(target=read, args=(batch[0],))
        thread.start()
        batch.close()
        thread.join(support.PATIENCE)
        assert not thread.is_alive()
    assert seen <= {payload}


def test_a_queue_is_not_pickled(queue: readpast.Queue) -> None:
    with pytest.raises(TypeError, match="open one in each process"):
        pickle.dumps(queue)


def _in_child(queue: readpast.Queue, item: readpast.Item, told: Any) -> None:
    said: list[str] = []
    for call in (
        queue.claim,
        lambda: queue.claim(wait=60),
        queue.stats,
        lambda: queue.settle(item.complete()),
        lambda: item["Payload"],
        item.json,
        queue.interrupt,
    ):
        try:
            call()
            said.append("nothing")
        except errors.QueueError as error:
            said.append(type(error).__name__)
    queue.close()
    told.put(said)


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_the_child_of_a_fork_is_refused_and_the_parent_goes_on(queue: readpast.Queue) -> None:
    context = multiprocessing.get_context("fork")
    told = context.SimpleQueue()
    with support.claimed(queue, "a") as batch:
        child = context.Process(target=_in_child, args=(queue, batch[0], told))
        child.start()
        child.join(support.PATIENCE)
        assert child.exitcode == 0
        assert told.get() == ["ForkedError"] * 7
        assert batch[0]["Payload"] == "a"
        assert queue.settle(batch[0].complete()).answer is Status.OK


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
def test_a_child_opens_a_queue_of_its_own(queue: readpast.Queue) -> None:
    support.enqueue(queue, "a")
    child = os.fork()
    if child == 0:
        try:
            with readpast.Queue(support.names[queue.worker], **support.settings()) as own:
                item = own.claim(wait=support.PATIENCE)[0]
                os._exit(0 if own.settle(item.complete()).answer is Status.OK else 1)
        finally:
            os._exit(2)
    assert os.waitpid(child, 0)[1] == 0
    assert queue.stats().completed == 1
