"""Builds the wheel with maturin, after making the C declarations for its cffi support.

They stand in cargo's target directory, and are those of include/readpast.h. Without them maturin would make some of its
own, by what cbindgen finds in the sources.
"""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import maturin
from declare import HEADER, declarations
from maturin import *  # noqa: F403


def _declare() -> None:
    command = ["cargo", "metadata", "--format-version=1", "--no-deps", "--offline"]
    told = subprocess.run(command, cwd=HEADER.parent, check=True, stdout=subprocess.PIPE)
    target = Path(json.loads(told.stdout)["target_directory"])
    target.mkdir(parents=True, exist_ok=True)
    (target / "header.h").write_text(declarations(HEADER.read_text(encoding="utf-8")), encoding="utf-8")


def build_wheel(
    wheel_directory: str, config_settings: Mapping[str, Any] | None = None, metadata_directory: str | None = None
) -> str:
    _declare()
    return maturin.build_wheel(wheel_directory, config_settings, metadata_directory)
