"""What the README shows is what runs."""

from __future__ import annotations

import re
from pathlib import Path

BINDING = Path(__file__).resolve().parents[1]


def test_the_ten_lines() -> None:
    shown = re.search(r"```python\n(.*?)```", (BINDING / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    assert shown is not None
    assert shown[1] == (BINDING / "examples/minimal_worker.py").read_text(encoding="utf-8")
