"""`readpast_text`: a text that a call made."""

from __future__ import annotations

from ._handle import Handle
from ._library import CData, lib, string


def taken(c: CData) -> str:
    """A copy of the text, which is freed."""
    text = Handle(c, lib.readpast_text_free)
    return string(lib.readpast_text_get(text.c)) or ""
