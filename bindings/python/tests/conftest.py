from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest
import support

import readpast

# A shell that starts us in the background has Ctrl-C ignored, and programs that we start would ignore it too.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def queue(request: pytest.FixtureRequest) -> Iterator[readpast.Queue]:
    name = support.install(**getattr(request, "param", {}))
    with readpast.Queue(name, **support.settings()) as queue:
        support.names[queue.worker] = name
        yield queue
