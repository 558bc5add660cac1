"""A backend of Django's tasks: an item is put into the queue in the transaction of the Django connection."""

from ._backend import ReadpastBackend
from ._errors import GiveUpError, TryAgainError

__all__ = ["GiveUpError", "ReadpastBackend", "TryAgainError"]
