"""One function a verb: the arguments, the call, the answer."""

from __future__ import annotations

import os
from datetime import datetime
from typing import Any, Callable

import arguments
import objects
import work
from answers import Answer, answered, failed, items, outcomes, refused, value
from arguments import Request
from objects import batch_of, queue_of, renewal_of

import readpast
from readpast import Queue, QueueError, Status

_verbs: dict[str, Callable[[Request], Answer]] = {}


def call(request: Request) -> Answer:
    verb = _verbs.get(request["do"])
    if verb is None:
        return {"status": "UNSUPPORTED"}
    try:
        return verb(request)
    except QueueError as error:
        return failed(error)
    except (ValueError, TypeError, OverflowError) as error:
        return refused(error)


def _verb(name: str) -> Callable[[Callable[[Request], Answer]], Callable[[Request], Answer]]:
    def remember(function: Callable[[Request], Answer]) -> Callable[[Request], Answer]:
        _verbs[name] = function
        return function

    return remember


@_verb("hello")
def _hello(_: Request) -> Answer:
    return _done(language="python", version=readpast.__version__, abi=readpast.ABI)


@_verb("describe")
def _describe(request: Request) -> Answer:
    return _done(name=Status(request["status"]).c_name)


@_verb("install")
def _install(request: Request) -> Answer:
    readpast.install(request.get("spec"), **request.get("settings", {}))
    return _done()


@_verb("open")
def _open(request: Request) -> Answer:
    queue = Queue(request["name"], **request.get("settings", {}))
    objects.keep("queue", request["queue"], queue)
    return _done(worker=queue.worker, lease_ms=queue.lease_ms)


@_verb("share")
def _share(request: Request) -> Answer:
    queue, place = queue_of(request), request.get("place")
    objects.keep("queue", request["as"], queue.at(place) if place else queue.share())
    return _done()


@_verb("enqueue")
def _enqueue(request: Request) -> Answer:
    receipts = queue_of(request).enqueue_many(
        map(arguments.new_item, request["items"]), operation=request.get("operation")
    )
    told = [{"key": each.key, "token": each.token, "answer": each.answer.c_name} for each in receipts]
    return answered(receipts.status, receipts=told)


@_verb("claim")
def _claim(request: Request) -> Answer:
    wait = arguments.milliseconds(request, "wait_ms") or 0
    return _claimed(request, queue_of(request).claim(request.get("max", 1), wait=wait))


@_verb("wait_for")
def _wait_for(request: Request) -> Answer:
    wait = arguments.milliseconds(request, "wait_ms") or 0
    return _claimed(request, queue_of(request).wait_for(request["key"], wait=wait))


@_verb("find")
def _find(request: Request) -> Answer:
    return _claimed(
        request,
        queue_of(request).find(request.get("filter"), after=request.get("after"), max_items=request.get("max", 1000)),
    )


@_verb("settle")
def _settle(request: Request) -> Answer:
    return _settled(
        queue_of(request).settle_many(
            map(arguments.settlement, request["settlements"]), operation=request.get("operation")
        )
    )


@_verb("settle_and_claim")
def _settle_and_claim(request: Request) -> Answer:
    told, batch = queue_of(request).settle_and_claim(
        map(arguments.settlement, request["settlements"]), request.get("max", 1), operation=request.get("operation")
    )
    answer = {**_settled(told), "items": items(batch)}
    _keep(request, batch)
    return answer


@_verb("renew")
def _renew(request: Request) -> Answer:
    return _settled(queue_of(request).renew(map(arguments.lease, request["leases"])))


@_verb("ask")
def _ask(request: Request) -> Answer:
    return _done(answer=queue_of(request).ask(request["what"], **(request.get("arguments") or {})))


@_verb("metrics")
def _metrics(_: Request) -> Answer:
    return _done(text=readpast.metrics())


@_verb("interrupt")
def _interrupt(request: Request) -> Answer:
    queue_of(request).interrupt()
    return _done()


@_verb("resume")
def _resume(request: Request) -> Answer:
    queue_of(request).resume()
    return _done()


@_verb("close")
def _close(request: Request) -> Answer:
    queue_of(request).shutdown(arguments.milliseconds(request, "timeout_ms") or 0)
    return _done()


@_verb("free")
def _free(request: Request) -> Answer:
    objects.free(request)
    return _done()


@_verb("renewal_start")
def _renewal_start(request: Request) -> Answer:
    interval = arguments.milliseconds(request, "interval_ms")
    objects.keep("renewal", request["as"], queue_of(request).renewing(batch_of(request), interval))
    return _done()


@_verb("renewal_release")
def _renewal_release(request: Request) -> Answer:
    return answered(Status.OK if renewal_of(request).release(request["key"]) else Status.NOT_FOUND)


@_verb("renewal_lost")
def _renewal_lost(request: Request) -> Answer:
    return _done(keys=renewal_of(request).lost_keys)


@_verb("value")
def _value(request: Request) -> Answer:
    batch, name, index = batch_of(request), str(request["column"]), int(request["index"])
    try:
        item = batch[index]
        item[name]
    except (IndexError, KeyError):
        return answered(Status.NOT_FOUND)
    column = next((column for column in batch.columns if column.name.lower() == name.lower()), None)
    if column is None:
        # Another name of a column of the life cycle, whose type the mapping does not say.
        held = item[name]
        return _done(value=item.text(name) if isinstance(held, datetime) else held)
    return _done(**value(item, column))


@_verb("claim_in_child")
def _claim_in_child(request: Request) -> Answer:
    queue = queue_of(request)
    child = os.fork()
    if child == 0:
        status = Status.OK
        try:
            queue.claim()
        except QueueError as error:
            status = error.status
        os._exit(-status)
    _, ended = os.waitpid(child, 0)
    return answered(Status(-os.WEXITSTATUS(ended)))


@_verb("work")
def _work(request: Request) -> Answer:
    return _done(**work.run(queue_of(request), request))


def _done(**members: Any) -> Answer:
    return answered(Status.OK, **members)


def _settled(told: readpast.Answers[readpast.Outcome]) -> Answer:
    return answered(told.status, outcomes=outcomes(told))


def _claimed(request: Request, batch: readpast.Batch) -> Answer:
    """Answers with the items that a call claimed or found, and keeps the batch if the driver wants that."""
    answer = answered(batch.status, items=items(batch)) if batch else answered(batch.status)
    _keep(request, batch)
    return answer


def _keep(request: Request, batch: readpast.Batch) -> None:
    if batch and request.get("as") is not None:
        objects.keep("batch", request["as"], batch)
    else:
        batch.close()
