from __future__ import annotations

from collections.abc import Iterator

import pytest
import support

import readpast


@pytest.fixture
def queue() -> Iterator[readpast.Queue]:
    name = support.install()
    with readpast.Queue(name, **support.settings()) as queue:
        support.names[queue.worker] = name
        yield queue
