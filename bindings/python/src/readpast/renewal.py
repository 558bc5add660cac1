"""`readpast_renewal`: keeps leases while items are worked on."""

from __future__ import annotations

from types import TracebackType
from typing import TYPE_CHECKING
from weakref import ref

from ._handle import Handle
from ._library import CData, lib, string
from ._texts import encoded
from .errors import ClosedError
from .status import Status

if TYPE_CHECKING:
    from ._rows import Rows


class Renewal:
    """Renews the leases of a batch on a thread of the library's, until it is closed. `Queue.renewing` makes one.

    Any number of threads may use it.
    """

    def __init__(self, rows: Rows, c: CData) -> None:
        self._handle: Handle | None = Handle(c, lib.readpast_renewal_free)
        # Weakly, or a renewal that is forgotten would wait for a collector, and renew until then.
        rows.renewal = ref(self)

    def __enter__(self) -> Renewal:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, raised: BaseException | None, at: TracebackType | None
    ) -> None:
        self.close()

    @property
    def lost_keys(self) -> list[str]:
        """The keys of the items that were found lost so far: work on them is in vain. Empty once it is closed."""
        handle = self._handle
        if handle is None:
            return []
        count = lib.readpast_renewal_lost_count(handle.c)
        return [string(lib.readpast_renewal_lost_key(handle.c, index)) or "" for index in range(count)]

    def release(self, key: str) -> bool:
        """Stops to renew an item, since it is settled; else its lease would be renewed in vain and then be found lost.

        False when it is not renewed any more: it was released or lost before.
        """
        handle = self._handle
        if handle is None:
            raise ClosedError("the renewal was closed", Status.CLOSED)
        return handle.call(lib.readpast_renewal_release, encoded(key, "key")) is Status.OK

    def close(self) -> None:
        """Stops, and waits for a round under way. Leases stay as they are. Again: does nothing."""
        self._handle = None
