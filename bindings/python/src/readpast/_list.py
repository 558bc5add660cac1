"""The queues that there are, and the end of one."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, NamedTuple

from ._config import configuration
from ._library import ffi, lib
from ._made_text import taken
from ._texts import encoded

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._settings import Settings


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


def list(**settings: Unpack[Settings]) -> tuple[Installed, ...]:
    """The queues that are installed in a schema, by their names. A login that may use one of them may ask.

    `settings` are those of a `Queue`. `SchemaMissingError`: nothing is installed there.
    """
    made = ffi.new("readpast_text *")
    configuration(settings).call(lib.readpast_list, made)
    return tuple(Installed(*(one[field] for field in Installed._fields)) for one in json.loads(taken(made[0])))


def drop(queue: str, /, **settings: Unpack[Settings]) -> None:
    """Drops a queue. It asks nothing.

    If the items are in a table of readpast's own, they all go with it, those in work as well; a table that was there
    before stays with its rows. Needs the rights of who installed the queue. `UnknownQueueError`: there is none.
    """
    configuration(settings).call(lib.readpast_drop, encoded(queue, "the queue"))
