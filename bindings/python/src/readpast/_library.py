"""Loads the library, and refuses one that this package was not made for."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

try:
    _native = import_module("._native", __package__)
except OSError as failure:
    _is_there = any(Path(__file__).with_name("_native").glob("*.so"))
    _packages = "libodbc2 (Debian, Ubuntu), unixODBC (Fedora, RHEL) or unixodbc (Alpine)"
    _remedy = f" It needs unixODBC: install the package {_packages}." if _is_there else ""
    raise ImportError(f"the readpast library cannot be loaded: {failure}.{_remedy}") from None

ffi: Any = _native.ffi
lib: Any = _native.lib

CData = Any
"""An object of cffi's, which has no types for them."""


def string(text: CData) -> str | None:
    """The text at a `const char *`; None at NULL."""
    return ffi.string(text).decode() if text else None


def sized(struct: str) -> tuple[CData, int]:
    """The type of a pointer to a struct, for ffi.new, and the size of the struct."""
    return ffi.typeof(struct + " *"), ffi.sizeof(struct)


VERSION = string(lib.readpast_version()) or ""
ABI: int = lib.readpast_abi()

if ABI != lib.READPAST_ABI:
    raise ImportError(
        f"libreadpast {VERSION} has the binary interface {ABI}; this package is made for {lib.READPAST_ABI}"
    )

__all__ = ["ABI", "VERSION", "CData", "ffi", "lib", "sized", "string"]
