"""The owner of a handle of the library."""

from __future__ import annotations

from typing import Any, Callable

from ._library import CData
from .errors import checked, place_for_error
from .status import Status


class Handle:
    """Owns a handle, and frees it as soon as no reference to this object is left.

    Text stays valid in this way while another thread closes the object that lent it: a reader keeps a reference for so
    long. In the child of a fork the library lets freeing pass.
    """

    __slots__ = ("_free", "c")

    def __init__(self, c: CData, free: Callable[[CData], None]) -> None:
        self.c = c
        self._free = free

    def __del__(self) -> None:
        self._free(self.c)

    def call(self, function: Callable[..., int], *arguments: Any) -> Status:
        """Makes a call that takes the handle first and a place for an error last; raises what it fails with."""
        error = place_for_error()
        return checked(function(self.c, *arguments, error), error)
