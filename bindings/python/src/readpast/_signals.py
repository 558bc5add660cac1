"""Signals: that they stop a worker, and that they wake the main thread."""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
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


class Flag:
    """An event, once set, for which the main thread waits without keeping signal handlers from running.

    Only the main thread runs them, and the system may give a signal to another, which does not wake it from a lock: so
    it sleeps on a socket, to which Python writes whatever thread a signal came to. A handler that raises ends the wait.
    """

    def __init__(self) -> None:
        self._event = threading.Event()
        self._ring: Callable[[], object] | None = None

    def is_set(self) -> bool:
        return self._event.is_set()

    def set(self) -> None:
        self._event.set()
        ring = self._ring
        if ring is not None:
            ring()

    def wait(self) -> None:
        if threading.current_thread() is not threading.main_thread():
            self._event.wait()
            return
        with _signals_to_socket() as (sleeps, wakes):
            # Before the look: who sets it after that rings.
            self._ring = lambda: _send(wakes, b"\0")
            while not self._event.is_set():
                sleeps()


@contextmanager
def _signals_to_socket() -> Generator[tuple[Callable[[], None], socket.socket], None, None]:
    """A function that sleeps until a signal came or something was sent to the socket; and the socket."""
    ours, theirs = socket.socketpair()
    # Python asks for it; what does not fit any more is not needed.
    theirs.setblocking(False)
    before = -1

    def sleep() -> None:
        numbers = ours.recv(64).replace(b"\0", b"")
        if numbers and before != -1:
            _pass_on(before, numbers)

    with ours, theirs:
        try:
            # Outside the main interpreter there are no signals to wake for.
            with suppress(ValueError):
                before = signal.set_wakeup_fd(theirs.fileno(), warn_on_full_buffer=False)
            yield sleep, theirs
        finally:
            with suppress(ValueError):
                signal.set_wakeup_fd(before)


def _pass_on(to: int, numbers: bytes) -> None:
    """Passes signals to the reader that was there before, such as an event loop that this wait holds up."""
    if os.name == "nt":
        # Sockets are no files there.
        other = socket.socket(fileno=to)
        try:
            _send(other, numbers)
        finally:
            other.detach()
    else:
        with suppress(OSError):
            os.write(to, numbers)


def _send(to: socket.socket, data: bytes) -> None:
    # Full, it wakes as well; closed, no thread sleeps any more.
    with suppress(OSError):
        to.send(data)
