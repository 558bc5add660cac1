"""The settings of a queue, for type checkers: the library knows them, and says what is wrong with one."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import timedelta
from typing import TypedDict, Union

_Text = Union[str, None]
_Texts = Union[list[str], tuple[str, ...], str, None]
_Places = Union[Mapping[str, str], None]
_Number = Union[int, str, None]
_Switch = Union[bool, str, None]
_Time = Union[timedelta, int, str, None]
"""In milliseconds, unless it is a timedelta."""


class Settings(TypedDict, total=False):
    """The settings of `Queue`, `install`, `list` and `drop`, as their keywords: `lease_ms` is `lease.ms`.

    docs/reference.md says what each is for; None leaves it out. To give a dict of your own, which may have names with
    dots as well, call it a `dict[str, Any]`.
    """

    connection: _Text
    places: _Places
    """The connection of each place by its name, for a queue that is spread over several databases."""
    places_query: _Text
    place: _Text
    dialect: _Text
    schema: _Text
    worker: _Text
    operator: _Text
    worker_run_at: _Text
    worker_types: _Texts
    worker_steps: _Texts
    worker_fetchers: _Number
    worker_ahead: _Number
    worker_ahead_bytes: _Number
    worker_hold_ms: _Time
    worker_max_run_ms: _Time
    lease_ms: _Time
    lease_grace_ms: _Time
    poll_interval_ms: _Time
    poll_doorbell: _Switch
    recover_interval_ms: _Time
    retention_interval_ms: _Time
    item_max_bytes: _Number
    pool_size: _Number
    pool_acquire_ms: _Time
    pool_idle_ms: _Time
    pool_lifetime_ms: _Time
    login_timeout_ms: _Time
    query_timeout_ms: _Time
    lock_timeout_ms: _Time
    retry_budget_ms: _Time
    open_timeout_ms: _Time
    retry_first_ms: _Time
    retry_longest_ms: _Time
    application: _Text
