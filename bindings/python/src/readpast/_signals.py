"""Signals that stop a worker."""

from __future__ import annotations

import signal
from collections.abc import Generator
from contextlib import contextmanager
from typing import Callable

_SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def stopping_on_signals(stop: Callable[[], None], wanted: bool) -> Generator[None, None, None]:
    """Lets each signal stop once, then puts back the handlers that were there. Only on the main thread."""
    if not wanted:
        yield
        return
    before = {number: signal.getsignal(number) for number in _SIGNALS}

    def put_back() -> None:
        for number, handler in before.items():
            # None is what C code has installed; it cannot be put back from here.
            if handler is not None:
                signal.signal(number, handler)

    def on_signal(*_: object) -> None:
        put_back()
        stop()

    for number in _SIGNALS:
        signal.signal(number, on_signal)
    try:
        yield
    finally:
        put_back()
