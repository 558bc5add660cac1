"""The process's figures, as text and through prometheus_client."""

from __future__ import annotations

import subprocess
import sys
import threading

import prometheus_client
import support
from prometheus_client import CollectorRegistry, generate_latest

import readpast
from readpast.prometheus import Collector


def figure(queue: readpast.Queue, name: str, **labels: str) -> float | None:
    registry = CollectorRegistry()
    registry.register(Collector())
    of_queue = {"schema": "readpast_python", "queue": support.names[queue.worker]}
    return registry.get_sample_value(name, {**of_queue, **labels})


def test_the_figures_report_the_work(queue: readpast.Queue) -> None:
    assert figure(queue, "readpast_claimed_items_total") == 0
    items = support.claimed(queue, "a", "b", "c")
    queue.settle_many([items[0].complete(), items[1].fail("never")])
    assert figure(queue, "readpast_claimed_items_total") == 3
    assert figure(queue, "readpast_settled_items_total", outcome="Completed") == 1
    assert figure(queue, "readpast_settled_items_total", outcome="Failed") == 1
    assert figure(queue, "readpast_call_duration_seconds_count", call="claim") == 1
    assert figure(queue, "readpast_call_duration_seconds_bucket", call="claim", le="30") == 1
    text = readpast.metrics()
    assert f'readpast_claimed_items_total{{schema="readpast_python",queue="{support.names[queue.worker]}"}} 3\n' in text


def test_the_collector_gives_all_that_the_text_has() -> None:
    registry = CollectorRegistry()
    registry.register(Collector())
    told = generate_latest(registry).decode()

    def names(text: str) -> set[str]:
        return {line.split()[2] for line in text.splitlines() if line.startswith("# TYPE ")}

    assert names(told) == names(readpast.metrics())
    assert len(names(told)) > 15
    assert f'readpast_build_info{{version="{readpast.__version__}"}} 1.0\n' in told
    assert prometheus_client.CONTENT_TYPE_LATEST.startswith("text/plain")


def test_any_thread_may_ask() -> None:
    told: list[str] = []
    threads = [threading.Thread(target=lambda: told.extend(readpast.metrics() for _ in range(50))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(told) == 200
    assert all(text.startswith("# HELP ") for text in told)


def test_nobody_else_needs_prometheus_client() -> None:
    program = "import readpast, sys; readpast.metrics(); sys.exit('prometheus_client' in sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True)
