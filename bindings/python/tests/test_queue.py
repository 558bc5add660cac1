"""A queue's calls, and their failures."""

from __future__ import annotations

import json
import pickle
import uuid
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any, Callable

import pytest
import support

import readpast
from readpast import Action, NewItem, Settlement, State, Status, errors


def test_from_enqueued_to_completed(queue: readpast.Queue) -> None:
    receipt = queue.enqueue(NewItem({"Payload": "a"}, type="Second", step="begin"))
    assert receipt.answer is Status.OK
    with queue.claim() as batch:
        assert batch.status is Status.OK
        item = batch[0]
        assert (item.key, item.attempt) == (receipt.key, 1)
        assert (item["type"], item["step"]) == ("Second", "begin")
        outcome = queue.settle(item.complete("done"))
        assert (outcome.answer, outcome.state, outcome.attempt) == (Status.OK, State.COMPLETED, 1)
        again = queue.settle(item.complete())
        assert again.answer is Status.LEASE_LOST
        assert again.state is State.COMPLETED
    assert support.column(queue, "response") == ["done"]


def test_answers_have_the_status_of_the_call(queue: readpast.Queue) -> None:
    with support.claimed(queue, "a", "b") as batch:
        good, bad = batch[0].complete(), batch[1].complete()._replace(token="2000-01-01T00:00:00.0000000")
        outcomes = queue.settle_many([good, bad])
        assert outcomes.status is not Status.OK
        assert [outcome.answer for outcome in outcomes] == [Status.OK, outcomes.status]
        assert isinstance(outcomes, tuple)


def test_a_settlement_sets_the_items_own_columns(queue: readpast.Queue) -> None:
    with support.claimed(queue, "a", "b", "c") as batch:
        moment = datetime(2026, 11, 21, 8, 30, tzinfo=timezone.utc)
        paid = batch[0].complete("paid")._replace(set={"payload": "changed", "At": moment, "Document": {"n": [1]}})
        text = batch[1].complete()._replace(set='{"Document": {"n": [1.10]}}')
        assert queue.settle_many([paid, text]).status is Status.OK
        with pytest.raises(errors.InvalidItemError, match="Nope"):
            queue.settle(batch[2].complete()._replace(set={"Nope": 1}))
        with pytest.raises(TypeError, match="cannot hold"):
            queue.settle(batch[2].complete()._replace(set={"Payload": object()}))
        assert queue.settle(batch[2].complete()).answer is Status.OK
    assert support.column(queue, "Payload") == ["changed", "b", "c"]
    assert support.column(queue, "At") == [moment, None, None]


def test_settle_and_claim(queue: readpast.Queue) -> None:
    support.enqueue(queue, "a", "b")
    with queue.claim() as first:
        outcomes, second = queue.settle_and_claim([first[0].complete()], 10)
    with second:
        assert [outcome.state for outcome in outcomes] == [State.COMPLETED]
        assert [item["Payload"] for item in second] == ["b"]
        _, none = queue.settle_and_claim([second[0].complete()], 10)
        assert none.status is Status.EMPTY


def test_the_same_call_twice_under_one_identity(queue: readpast.Queue) -> None:
    identity = str(uuid.uuid4())
    receipts = queue.enqueue_many([{"Payload": "a"}], operation=identity)
    assert queue.enqueue_many([{"Payload": "a"}], operation=identity) == receipts
    assert queue.stats().pending == 1


def test_questions_of_types_and_of_the_trend(queue: readpast.Queue) -> None:
    support.enqueue(queue, "a", "b", "c")
    with queue.claim() as batch:
        types, trend = queue.ask("types")["types"], queue.ask("trend", apart_ms=1)["trend"]
        assert [(of["type"], of["waiting"], of["in_flight"], of["capped"]) for of in types] == [
            ("First", 2, 1, False),
            ("Second", 0, 0, False),
        ]
        assert (types[0]["arrivals_last_hour"], types[0]["claimed_mean_ms"]) == (3, None)
        assert (trend["depth"], trend["arrivals_per_hour"], trend["counted"]) == (2, None, True)
        assert queue.ask("why", key=batch[0].key)["why"]["reason"] == "held"
    for what, wrong in (("moons", {}), ("types", {"key": "a key"}), ("show", {}), ("trend", {"apart_ms": 0})):
        with pytest.raises(errors.InvalidArgumentError, match=what):
            queue.ask(what, **wrong)


def test_questions_of_steps_and_attempts() -> None:
    name = f"Steps{uuid.uuid4().hex[:12]}"
    columns = [{"name": "N", "type": "integer"}]
    spec = {
        "queue": name,
        "steps": ["pick", "pack"],
        "attempts": {"history": True},
        "backoff": "none",
        "columns": columns,
    }
    readpast.install(spec, **support.settings())
    with readpast.Queue(name, **support.settings()) as queue:
        key = queue.enqueue({"N": 1}).key
        with queue.claim() as batch:
            queue.settle(batch[0].retry("first \u2603", delay=0))
        with queue.claim() as batch:
            batch[0].record_step("pack")
            queue.settle(batch[0].fail("second"))
        steps = {of["step"]: of["counts"] for of in queue.ask("stats")["steps"] if of["step"]}
        assert [(name, of["Failed"], of["Pending"]) for name, of in steps.items()] == [("pick", 0, 0), ("pack", 1, 0)]
        attempts = queue.ask("show", key=key)["attempts"]
        told = [(each["number"], each["outcome"], each["error"], each["step"]) for each in attempts]
        assert told == [(1, "Error", "first \u2603", "pick"), (2, "Failed", "second", "pack")]
        assert all(each["started"] <= each["ended"] for each in attempts)


def test_delays_and_due_times(queue: readpast.Queue) -> None:
    past, future = datetime(2020, 1, 1, tzinfo=timezone.utc), datetime(2999, 1, 1, tzinfo=timezone.utc)
    queue.enqueue_many(
        [
            NewItem({"Payload": "delayed"}, delay=3600),
            NewItem({"Payload": "timedelta"}, delay=timedelta(days=2)),
            NewItem({"Payload": "future"}, due=future),
            NewItem({"Payload": "text"}, due="2999-01-01T00:00:00Z"),
            NewItem({"Payload": "past"}, due=past),
        ]
    )
    with queue.claim(10) as batch:
        assert [item["Payload"] for item in batch] == ["past"]
        queue.settle(batch[0].retry("later", due=future))
    assert queue.claim(10).status is Status.EMPTY
    with pytest.raises(errors.InvalidArgumentError, match="time zone"):
        queue.enqueue(NewItem(due=datetime(2020, 1, 1)))  # noqa: DTZ001


def test_iterating(queue: readpast.Queue) -> None:
    support.enqueue(queue, "a", "b", "c")
    seen: list[str] = []
    for item in queue.items(wait=0, batch_size=2):
        seen.append(item["Payload"])
        queue.settle(item.complete())
    assert seen == ["a", "b", "c"]
    assert queue.stats().completed == 3


def test_an_iteration_that_is_left_gives_the_rest_back(queue: readpast.Queue) -> None:
    support.enqueue(queue, "a", "b", "c")
    items = queue.items(batch_size=3)
    queue.settle(next(items).complete())
    items.close()
    stats = queue.stats()
    assert (stats.completed, stats.pending, stats.processing) == (1, 2, 0)
    with queue.claim(3) as batch:
        assert [item.attempt for item in batch] == [1, 1]


def test_steps(queue: readpast.Queue) -> None:
    with support.claimed(queue, "a") as batch:
        before = batch[0].token
        assert batch[0].record_step("halfway").answer is Status.OK
        assert batch[0].token != before
        with pytest.raises(errors.UnsupportedError, match="by the handlers of a worker"):
            batch[0].progress(42)
        assert queue.settle(batch[0].retry("later", delay=0)).state is State.ERROR
    with queue.claim(wait=support.PATIENCE) as batch:
        assert (batch[0]["step"], batch[0].attempt) == ("halfway", 2)


def test_leases(queue: readpast.Queue) -> None:
    with support.claimed(queue, "a", "b") as batch:
        assert queue.renew(item.lease for item in batch).status is Status.OK
        with queue.renewing(batch) as renewal:
            assert renewal.release(batch[0].key)
            assert not renewal.release(batch[0].key)
            assert renewal.lost_keys == []
            assert not batch[0].is_lost
        with pytest.raises(errors.ClosedError):
            renewal.release(batch[1].key)


def test_an_item_that_is_lost_while_it_is_renewed(queue: readpast.Queue) -> None:
    with support.claimed(queue, "a", "b") as batch, queue.renewing(batch, timedelta(milliseconds=10)) as renewal:
        queue.settle(Settlement.operator(batch[1].key, Action.TERMINATE))
        support.until(lambda: batch[1].is_lost)
        assert renewal.lost_keys == [batch[1].key]
        assert not batch[0].is_lost


def test_operating(queue: readpast.Queue) -> None:
    keys = [receipt.key for receipt in queue.enqueue_many({"Payload": str(number)} for number in range(5))]
    page = queue.find({"status": ["Pending"]}, max_items=3)
    assert [item.key for item in page] == sorted(keys)[:3]
    assert len(queue.find(after=page[-1].key)) == 2
    assert queue.find({"keys": keys[:1]})[0]["Payload"] == "0"
    assert not queue.find('{"error": "nonesuch"}')
    queue.settle(Settlement.operator(keys[0], Action.CANCEL, error="not wanted"))
    redriven = queue.ask("redrive", items=[{"key": keys[0]}])
    assert (redriven["redriven"], redriven["outcomes"][0]["state"]) == (1, "Pending")
    queue.settle(Settlement.operator(keys[1], Action.CANCEL))
    assert queue.ask("purge") == {"purged": 1}
    assert queue.ask("recover")["recovered"] == 0
    assert queue.ask("show", key=keys[1]) is None
    stats = queue.stats()
    assert (stats.pending, stats.cancelled, stats.claimed) == (4, 0, 0)


def test_shared_handles_are_interrupted_for_themselves(queue: readpast.Queue) -> None:
    with queue.share() as shared:
        shared.interrupt()
        assert shared.claim(wait=60).status is Status.INTERRUPTED
        assert queue.claim().status is Status.EMPTY
        shared.resume()
        queue.interrupt()
        assert shared.claim(wait=None).status is Status.INTERRUPTED
        queue.resume()
        assert shared.claim().status is Status.EMPTY
    assert queue.claim().status is Status.EMPTY, "closing one leaves the other"


def test_installing_again_changes_nothing() -> None:
    name = support.install()
    readpast.install(json.dumps(support.spec(name)), **support.settings())
    readpast.install(**support.settings())
    with pytest.raises(errors.SchemaMismatchError, match="Payload"):
        readpast.install({**support.spec(name), "columns": []}, **support.settings())


def test_queues_are_listed_and_dropped_with_their_items(queue: readpast.Queue) -> None:
    held = support.claimed(queue, "a")
    listed = {one.queue: one for one in readpast.list(**support.settings())}[queue.name]
    assert listed.own
    assert listed.table is not None
    assert '"Payload"' in listed.description

    with pytest.raises(errors.UnknownQueueError, match="did you mean"):
        readpast.drop(queue.name + "x", **support.settings())
    readpast.drop(queue.name, **support.settings())
    assert queue.name not in {one.queue for one in readpast.list(**support.settings())}
    with held, pytest.raises(errors.UnknownQueueError, match="was dropped"):
        queue.settle(held[0].complete())
    with pytest.raises(errors.UnknownQueueError):
        readpast.drop(queue.name, **support.settings())
    elsewhere = support.settings(schema="readpast_python_nowhere")
    with pytest.raises(errors.SchemaMissingError):
        readpast.list(**elsewhere)
    with pytest.raises(errors.SchemaMissingError):
        readpast.drop(queue.name, **elsewhere)


def test_settings_are_the_librarys() -> None:
    name = support.install()
    with readpast.Queue(name, **support.settings(worker="me", lease_ms=12345, login_timeout_ms=None)) as queue:
        assert (queue.worker, queue.lease_ms) == ("me", 12345)
        assert "me" in repr(queue)
    with readpast.Queue(name, **support.settings(**{"lease.ms": "23456"})) as queue:
        assert queue.lease_ms == 23456
    with readpast.Queue(name, **support.settings(lease_ms=timedelta(seconds=34.5), poll_doorbell=False)) as queue:
        assert queue.lease_ms == 34500
    with pytest.raises(errors.InvalidConfigError, match='no type "Other"'):
        readpast.Queue(name, **support.settings(worker_types=["Other"]))
    with pytest.raises(errors.InvalidArgumentError, match=r"pool\.size is no time"):
        readpast.Queue(name, **support.settings(pool_size=timedelta(1)))
    with pytest.raises(errors.InvalidConfigError, match=r"no\.such_thing"):
        readpast.Queue(name, **support.settings(no_such_thing=1))
    with pytest.raises(errors.InvalidConfigError, match="connection"):
        readpast.Queue(name)


def test_places_are_a_dict_of_connections() -> None:
    name, settings = support.install(), support.settings()
    connection = settings.pop("connection")
    with readpast.Queue(name, places={"here": connection}, **settings) as queue, queue.at("here") as at:
        key = at.enqueue(NewItem()).key
        assert key.startswith("here/")
        assert queue.claim(1, wait=0)[0].key == key
    with pytest.raises(errors.InvalidConfigError, match="there are here"):
        readpast.Queue(name, places={"here": connection}, place="there", **settings)


def test_none_and_more_than_go_out_at_once(queue: readpast.Queue) -> None:
    assert [len(answers) for answers in (queue.settle_many([]), queue.renew([]))] == [0, 0]
    assert queue.enqueue_many([]).status is Status.OK
    receipts = queue.enqueue_many([NewItem()] * 1001)
    assert len({receipt.key for receipt in receipts}) == queue.stats().pending == 1001


def test_a_description_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "letters.toml"
    file.write_text('queue = "FromFile"', encoding="utf-8")
    readpast.install_file(file, **support.settings())
    readpast.Queue("FromFile", **support.settings()).close()
    with pytest.raises(errors.InvalidArgumentError, match=r'"x.toml" is the name of a file'):
        readpast.install("x.toml", **support.settings())


REFUSED: list[tuple[Callable[[Any], object], type[Exception]]] = [
    (lambda queue: queue.claim(0), errors.InvalidArgumentError),
    (lambda queue: queue.claim(1001), errors.InvalidArgumentError),
    (lambda queue: queue.claim(wait=-1), errors.InvalidArgumentError),
    (lambda queue: queue.claim(2**40), OverflowError),
    (lambda queue: queue.enqueue({"Nonesuch": 1}), errors.InvalidItemError),
    (lambda queue: queue.enqueue({"Payload": "\ud83d"}), errors.InvalidArgumentError),
    (lambda queue: queue.enqueue({"Ratio": float("nan")}), errors.InvalidArgumentError),
    (lambda queue: queue.enqueue({"Payload": object()}), TypeError),
    (lambda queue: queue.enqueue(NewItem(type="a\0b")), errors.InvalidArgumentError),
    (lambda queue: queue.find(1), TypeError),
    (lambda queue: queue.find("{"), errors.InvalidArgumentError),
    (lambda queue: queue.settle(Settlement("x", None, 1, Action.COMPLETE)), errors.InvalidArgumentError),
]


@pytest.mark.parametrize(("call", "expected"), REFUSED)
def test_a_wrong_argument_is_refused(queue: readpast.Queue, call: Any, expected: type[Exception]) -> None:
    with pytest.raises(expected):
        call(queue)
    assert queue.stats().pending == 0


def test_failures_tell_what_is_known() -> None:
    with pytest.raises(errors.UnknownQueueError, match="Nonesuch") as caught:
        readpast.Queue("Nonesuch", **support.settings())
    error = caught.value
    assert isinstance(error, errors.SchemaError)
    assert (error.status, error.retryable, error.operation) == (Status.UNKNOWN_QUEUE, False, None)
    with pytest.raises(errors.ConnectError):
        readpast.Queue("Work", **support.settings(connection="Driver={nonesuch};Server=x;"))
    with pytest.raises(ValueError, match="schema"):
        readpast.Queue("Work", **support.settings(schema=""))


def test_an_exception_goes_to_another_process() -> None:
    error = errors.OutcomeUnknownError("lost", Status.OUTCOME_UNKNOWN, "08S01", 7, retryable=True, operation="an id")
    copy = pickle.loads(pickle.dumps(error))
    assert type(copy) is errors.OutcomeUnknownError
    assert vars(copy) == vars(error)
    assert str(copy) == "lost"
    assert isinstance(copy, errors.QueueError)
