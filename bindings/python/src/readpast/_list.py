"""`readpast_queues`: which queues there are, and the end of one."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ._config import Setting, configuration
from ._handle import Handle
from ._library import CData, ffi, lib, sized, string
from ._texts import encoded

_INSTALLED, _INSTALLED_SIZE = sized("readpast_installed")


class Installed(NamedTuple):
    """A queue that is installed."""

    #: Its name.
    queue: str
    #: The table of its items with its schema, as the catalog has it; None where hand-written procedures hide it.
    table: str | None
    #: Its description, JSON.
    description: str
    #: Whether the items are in a table of readpast's own, which `drop` drops with them.
    own: bool


def list(**settings: Setting) -> tuple[Installed, ...]:
    """The queues that are installed in a schema, by their names. A login that may use one of them may ask.

    `settings` are those of a `Queue`. `SchemaMissingError`: nothing is installed there.
    """
    made = ffi.new("readpast_queues *")
    configuration(settings).call(lib.readpast_list, made)
    queues, installed = Handle(made[0], lib.readpast_queues_free), ffi.new(_INSTALLED)
    installed.struct_size = _INSTALLED_SIZE
    return tuple(_copied(queues, installed))


def _copied(queues: Handle, installed: CData) -> Iterator[Installed]:
    for index in range(lib.readpast_queues_count(queues.c)):
        # It cannot fail: the index is below the count.
        lib.readpast_queues_get(queues.c, index, installed, ffi.NULL)
        name, description = string(installed.queue) or "", string(installed.description) or ""
        yield Installed(name, string(installed.table), description, bool(installed.own))


def drop(queue: str, /, **settings: Setting) -> None:
    """Drops a queue. It asks nothing.

    If the items are in a table of readpast's own, they all go with it, those in work as well; a table that was there
    before stays with its rows. Needs the rights of who installed the queue. `UnknownQueueError`: there is none.
    """
    configuration(settings).call(lib.readpast_drop, encoded(queue, "the queue"))
