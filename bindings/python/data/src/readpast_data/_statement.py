"""The statement of a call, for each server and each way of writing parameters."""

from __future__ import annotations

import re
from typing import NamedTuple

POSTGRESQL = "postgresql"
SQL_SERVER = "sqlserver"

#: Between a lower-case letter or a digit and a capital, and before the last capital of an acronym that a word follows.
_WORDS = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


class Statement(NamedTuple):
    """The call that enqueues, with {0} for the items and {1} for the operation, and the places in its answer."""

    text: str
    answer: int
    ordinal: int
    key: int
    #: The place of the key's type, where the key is its text as JSON has it; None: the key is as the driver reads it.
    type: int | None = None

    def written(self, style: str) -> str:
        """The text with parameters in a driver's style."""
        first, second = {"qmark": ("?", "?"), "numeric_dollar": ("$1", "$2")}.get(style, ("%s", "%s"))
        return self.text.replace("{0}", first).replace("{1}", second)


def enqueuing(server: str, schema: str, queue: str) -> Statement:
    """The call for a queue."""
    if server == SQL_SERVER:
        procedure = _quoted(schema, "[", "]") + "." + _quoted(f"Add_{queue}_Set_utx", "[", "]")
        # The whole answer of the procedure: Answer, Ordinal, DueMs, Key, Token and so on.
        return Statement(f"EXECUTE {procedure} @Items = {{0}}, @Operation = {{1}}", 0, 1, 3)
    if server != POSTGRESQL:
        raise ValueError(f"the server is {server!r}; it must be {POSTGRESQL!r} or {SQL_SERVER!r}")
    function = _quoted(schema, '"', '"') + "." + _quoted(f"add_{snake_case(queue)}_set_utx", '"', '"')
    call = f"{function}(CAST({{0}} AS json), CAST({{1}} AS uuid))"
    # A driver may be set to read times without their zone, as Django does without USE_TZ.
    key = "to_json(answer_key) #>> '{}', CAST(pg_typeof(answer_key) AS text)"
    return Statement(f"SELECT answer, answer_ordinal, {key} FROM {call}", 0, 1, 2, 3)


def finding(server: str, schema: str, queue: str) -> str:
    """The call that reads items of a filter, at most one, with `%s` for the filter."""
    if server == SQL_SERVER:
        return f"EXECUTE {_quoted(schema, '[', ']')}.{_quoted(f'Find_{queue}', '[', ']')} @Filter = %s, @Max = 1"
    function = _quoted(schema, '"', '"') + "." + _quoted(f"find_{snake_case(queue)}", '"', '"')
    return f"SELECT * FROM {function}(CAST(%s AS json), NULL, 1)"


def snake_case(name: str) -> str:
    """As the library names functions: PasswordReset is password_reset, SMSOut sms_out."""
    return _WORDS.sub("_", name).lower()


def _quoted(name: str, begin: str, end: str) -> str:
    # A driver with %s for parameters would read a percent sign of the name.
    if not name or "%" in name or "\0" in name:
        raise ValueError(f"{name!r} is no name of a queue or schema")
    return begin + name.replace(end, end + end) + end
