"""Calls whose caller may leave before they end.

A thread in a call of the library runs no Python: on the main thread no signal handler, so also no Ctrl-C, and in an
event loop no other task. So the call is made on another thread, and its caller can be called away at any moment.
The call's result must not be lost then.
"""

from __future__ import annotations

import _thread
import threading
from typing import Callable, Generic, TypeVar

from ._signals import Flag

T = TypeVar("T")


def _nothing() -> None:
    pass


class Departure(Generic[T]):
    """A call on a thread of its own, from which its caller may depart."""

    def __init__(
        self,
        call: Callable[[], T],
        interrupt: Callable[[], object] | None = None,
        give_back: Callable[[T], object] | None = None,
    ) -> None:
        """`interrupt` makes `call` end soon; without one it takes its time.

        `give_back` gets the call's result when the caller has left.
        """
        self._call = call
        self.is_interruptible = interrupt is not None
        self._interrupt = interrupt or _nothing
        self._give_back = give_back
        self._lock = threading.Lock()
        #: Whether a thread is there that will tell. False in doubt.
        self.has_begun = False
        self._ended = False
        self._tell: Callable[[], object] = _nothing
        self._left = False
        self._result: list[T] = []
        self._failure: BaseException | None = None

    def begin(self, tell: Callable[[], object]) -> None:
        """Starts the call; its thread calls `tell` when it has ended."""
        self._tell = tell
        _thread.start_new_thread(self._make, ())
        self.has_begun = True

    def result(self) -> T:
        """The ended call's result; raises what it raised."""
        if self._failure is not None:
            try:
                raise self._failure
            finally:
                # An exception that knows the frame which knows the exception would wait for a collector.
                del self._failure
        return self._result[0]

    def leave(self, tell: Callable[[], object]) -> None:
        """Ends the call soon, also if it has ended already; `tell` is called when what it brought is given back."""
        with self._lock:
            self._tell, self._left = tell, True
            ended = self._ended
        if ended:
            _thread.start_new_thread(self._clear_away, ())
        else:
            self._interrupt()

    def _make(self) -> None:
        try:
            self._result.append(self._call())
        except BaseException as failure:
            self._failure = failure
        with self._lock:
            self._ended = True
            left, tell = self._left, self._tell
        if left:
            self._clear_away()
        else:
            tell()

    def _clear_away(self) -> None:
        try:
            if self._result and self._give_back is not None:
                self._give_back(self._result[0])
        finally:
            self._tell()


def wait_for(departure: Departure[T]) -> T:
    """Makes the call for the main thread, which runs signal handlers meanwhile. One that raises ends the call."""
    done = Flag()
    try:
        departure.begin(done.set)
        done.wait()
    except BaseException:
        gone = Flag()
        departure.leave(gone.set)
        if departure.has_begun and departure.is_interruptible:
            # It is not long; and who has no patience for it interrupts again.
            gone.wait()
        raise
    return departure.result()
