"""Work queues in ordinary SQL Server tables (and PostgreSQL). The README of the package is the place to begin."""

from . import testing
from ._config import install, install_file
from ._library import ABI, VERSION
from ._list import Installed, drop, list
from ._metrics import metrics
from ._rows import Column
from ._settings import Settings
from .aio import AsyncQueue
from .answers import Answers, Outcome, Receipt
from .batch import Batch
from .errors import QueueError
from .figures import Figures
from .handlers import Handlers
from .item import Item
from .new_item import NewItem
from .queue import Queue, SettledAndClaimed
from .renewal import Renewal
from .settlement import Lease, Settlement
from .stats import Stats
from .status import Action, ColumnType, State, Status
from .worker import Settled, Worker

__version__ = VERSION


__all__ = [
    "ABI",
    "Action",
    "Answers",
    "AsyncQueue",
    "Batch",
    "Column",
    "ColumnType",
    "Figures",
    "Handlers",
    "Installed",
    "Item",
    "Lease",
    "NewItem",
    "Outcome",
    "Queue",
    "QueueError",
    "Receipt",
    "Renewal",
    "Settings",
    "Settled",
    "SettledAndClaimed",
    "Settlement",
    "State",
    "Stats",
    "Status",
    "Worker",
    "__version__",
    "drop",
    "install",
    "install_file",
    "list",
    "metrics",
    "testing",
]
