"""Enqueues items in the caller's own transaction, over the caller's own connection, without the native library."""

from ._enqueue import Receipt, enqueue, enqueue_async
from ._items import NewItem

__all__ = ["NewItem", "Receipt", "enqueue", "enqueue_async"]
