"""Exceptions by which a task decides what becomes of its item."""

from __future__ import annotations

from datetime import timedelta


class GiveUpError(Exception):
    """Raised by a task: no other attempt will help. The item becomes Failed."""


class TryAgainError(Exception):
    """Raised by a task: another attempt is to be made after `delay`, while attempts are left."""

    def __init__(self, message: str, *, delay: float | timedelta | None = None) -> None:
        """`delay` is in seconds, or a timedelta; None: as the queue's backoff says."""
        super().__init__(message)
        self.delay = delay
