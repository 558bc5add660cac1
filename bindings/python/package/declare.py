#!/usr/bin/env python3
"""The text that cffi reads: the C declarations of include/readpast.h, without the preprocessor's part.

declare.py DIRECTORY makes the module that loads the library, as maturin does for the wheel, for a library beside it.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import cffi
from cffi import recompiler

HEADER = Path(__file__).resolve().parents[3] / "include" / "readpast.h"

# The name that maturin gives the library.
_INIT = """\
from pathlib import Path

from .ffi import ffi

lib = ffi.dlopen(str(Path(__file__).with_name("lib_native.so")))
"""

_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_GUARD = re.compile(r"#ifdef __cplusplus\n.*?#endif[^\n]*\n", re.DOTALL)
_CONSTANT = re.compile(r"#define \w+ -?\d+")


def declarations(header: str) -> str:
    """Keeps types, functions and whole-number constants; drops comments, what is for C++, and every other directive."""
    lines = _GUARD.sub("", _COMMENT.sub("", header)).splitlines()
    kept = (line for line in lines if line.strip() and (not line.startswith("#") or _CONSTANT.fullmatch(line.rstrip())))
    return "\n".join(kept) + "\n"


def main(directory: Path) -> None:
    ffi = cffi.FFI()
    ffi.cdef(declarations(HEADER.read_text(encoding="utf-8")))
    directory.mkdir(parents=True, exist_ok=True)
    recompiler.make_py_source(ffi, "ffi", str(directory / "ffi.py"))
    (directory / "__init__.py").write_text(_INIT, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
