"""`manage.py readpast_worker` runs the tasks of a Django project, that of tests/callers."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import support

import readpast

BINDING = Path(__file__).resolve().parents[1]
DATA = BINDING / "data" / "src"
CALLERS = BINDING.parents[1] / "tests" / "callers"
SCHEMA = "readpast_django"
MANAGE = [sys.executable, "-m", "django_shop.manage"]
PLACES = {"PGHOST": "Server", "PGPORT": "Port", "PGDATABASE": "Database", "PGUSER": "Uid", "PGPASSWORD": "Pwd"}

ENQUEUES = """
import django, json, sys
django.setup()
from django_shop import checkout, tasks
made = [getattr(tasks, name).enqueue(*args, **kwargs).id for name, args, kwargs in json.loads(sys.argv[1])]
print(json.dumps(made))
"""

READS = """
import django, json, sys
django.setup()
from django_tasks import default_task_backend
def shown(result):
    value = result.return_value if result.status == "SUCCESSFUL" else None
    return [result.status, result.attempts, value, [error.exception_class_path for error in result.errors]]
print(json.dumps([shown(default_task_backend.get_result(id)) for id in json.loads(sys.argv[1])]))
"""


@pytest.fixture(scope="module", autouse=True)
def environment() -> dict[str, str]:
    if "READPAST_PG_BIN" not in os.environ:
        pytest.skip("the project has a PostgreSQL")
    given = dict(re.findall(r"(\w+)=([^;]*)", os.environ["READPAST_CONNECTION"]))
    description = (DATA / "readpast_data" / "django" / "task.toml").read_text()
    # Another attempt is made where a task asks for it, however slow the machine is.
    description += "backoff = { first_ms = 3600000, cap_ms = 3600000 }"
    for name in ("Task", "ShopMail"):
        readpast.install(description.replace('"Task"', f'"{name}"'), **settings())
    return {
        **os.environ,
        **{name: given[place] for name, place in PLACES.items()},
        "DJANGO_SETTINGS_MODULE": "django_shop.settings",
        "DJANGO_SHOP_SCHEMA": SCHEMA,
        "PYTHONPATH": os.pathsep.join(map(str, (DATA, CALLERS))),
    }


def settings() -> dict[str, Any]:
    return support.settings(schema=SCHEMA)


def answer(program: str, of: object, environment: dict[str, str]) -> list[Any]:
    """Lists that a program of the project has made of a list."""
    run = [sys.executable, "-c", program, json.dumps(of)]
    done: list[Any] = json.loads(subprocess.run(run, env=environment, check=True, stdout=subprocess.PIPE).stdout)
    return done


def enqueue(environment: dict[str, str], *tasks: tuple[str, list[Any], dict[str, Any]]) -> list[str]:
    return answer(ENQUEUES, tasks, environment)


def work(environment: dict[str, str], *options: str) -> str:
    """The log of a worker, until nothing is due any more."""
    worker = subprocess.run(
        [*MANAGE, "readpast_worker", "--until-empty", *options],
        env=environment,
        check=False,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert worker.returncode == 0, worker.stderr
    return worker.stderr


def test_tasks_end_as_they_return(environment: dict[str, str]) -> None:
    ids = enqueue(
        environment,
        ("echo", [1, None, "\u00e9"], {"copy": True}),
        ("give_up", [], {}),
        ("divide", [0], {}),
        ("wrong", [], {}),
        ("pid", [], {}),
    )
    work(environment)
    echo, given_up, divided, wrong, pid = answer(READS, ids, environment)
    assert echo == ["SUCCESSFUL", 1, [[1, None, "\u00e9"], {"copy": True}], []]
    assert given_up == ["FAILED", 1, None, ["readpast_data.django._errors.GiveUpError"]]
    assert divided == ["READY", 1, None, ["builtins.ZeroDivisionError"]]
    assert wrong[:3] == ["FAILED", 1, None]
    assert pid[0] == "SUCCESSFUL"
    with readpast.Queue("Task", **settings()) as queue, queue.find({"error": "cannot be JSON"}) as batch:
        assert [item["Path"] for item in batch] == ["django_shop.tasks.wrong"]


def test_a_task_gets_its_context_and_another_attempt(environment: dict[str, str]) -> None:
    [id] = enqueue(environment, ("attempt", ["x"], {}))
    work(environment, "--threads", "1")
    [[status, attempts, value, _]] = answer(READS, [id], environment)
    assert (status, attempts) == ("SUCCESSFUL", 2)
    assert value == ["x", 2, id, "RUNNING", 0, ["x"]]


def test_coroutines_run_in_the_queue_that_they_name(environment: dict[str, str]) -> None:
    ids = enqueue(environment, ("awaited", [1], {}), ("awaited_attempt", [], {}), ("awaited_failure", [], {}))
    work(environment)
    assert {status for status, *_ in answer(READS, ids, environment)} == {"READY"}
    work(environment, "--queue-name", "mail", "--stop-timeout", "600")
    awaited, attempted, failed = answer(READS, ids, environment)
    assert awaited == ["SUCCESSFUL", 1, 2, []]
    assert attempted[:3] == ["SUCCESSFUL", 2, 2]
    assert failed == ["READY", 1, None, ["builtins.LookupError"]]


def test_a_path_that_is_no_task_is_not_called(environment: dict[str, str]) -> None:
    with readpast.Queue("Task", **settings()) as queue:
        for path in ("django_shop.tasks.plain", "django_shop.nowhere.task"):
            queue.enqueue({"Path": path, "Arguments": {"args": [], "kwargs": {}}})
        log = work(environment)
        with queue.find({"error": "plain is no task"}) as batch:
            assert len(batch) == 1
        with queue.find({"error": "ModuleNotFoundError"}) as batch:
            assert len(batch) == 1
    assert "django_shop.tasks.plain is no task" in log


def test_a_signal_ends_the_worker_in_order(environment: dict[str, str]) -> None:
    worker = subprocess.Popen([*MANAGE, "readpast_worker"], env=environment)
    try:
        [id] = enqueue(environment, ("echo", [], {}))
        with readpast.Queue("Task", **settings()) as queue:
            key = id.partition(":")[2]
            support.until(lambda: worker.poll() is not None or len(queue.wait_for(key, wait=1)), "the end of a task")
        worker.send_signal(signal.SIGTERM)
        assert worker.wait(support.PATIENCE) == 0
    finally:
        worker.kill()
        worker.wait()


def test_mistakes_are_a_sentence(environment: dict[str, str]) -> None:
    for options, change, sentence in (
        (["-o", "lease.ms"], {}, "-o lease.ms: there is no value"),
        (["-o", "lease.ms=x"], {}, "lease.ms"),
        ([], {"READPAST_CONNECTION": ""}, "there is no connection: set READPAST_CONNECTION"),
        (["--threads", "0"], {}, "a worker needs a thread"),
        ([], {"DJANGO_SHOP_SCHEMA": "nowhere"}, "nowhere"),
    ):
        run = [*MANAGE, "readpast_worker", *options]
        failed = subprocess.run(run, env={**environment, **change}, stderr=subprocess.PIPE, text=True, check=False)
        assert failed.returncode == 1
        assert sentence in failed.stderr
        assert "Traceback" not in failed.stderr
