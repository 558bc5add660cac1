"""The package has what readpast.h has, with the same values and layouts, and nothing besides."""

from __future__ import annotations

import re
import subprocess
import sys
import typing
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

import readpast
from readpast import Action, ColumnType, State, Status, errors
from readpast._config import key_of
from readpast._engine import Event, EventKind
from readpast._library import ffi, lib
from readpast._texts import Texts
from readpast.new_item import NewItem, new_items_for
from readpast.settlement import Lease, Settlement, leases_for, settlements_for

BINDING = Path(__file__).resolve().parents[1]
ROOT = BINDING.parents[1]
HEADER = re.sub(r"//.*|/\*[\s\S]*?\*/", "", (ROOT / "include/readpast.h").read_text(encoding="utf-8"))
CONSTANTS = {name: int(value) for name, value in re.findall(r"^#define READPAST_(\w+) (-?\d+)$", HEADER, re.MULTILINE)}
STRUCTS = {
    name: re.findall(r"(\w+)(?:\[\d+\])?;", fields)
    for fields, name in re.findall(r"typedef struct \{([^}]*)\} (readpast_\w+);", HEADER)
}
FUNCTIONS = set(re.findall(r"^\w[\w *]*?\b(readpast_\w+)\(", HEADER, re.MULTILINE))


def test_the_header_was_understood() -> None:
    assert len(CONSTANTS) > 60
    assert len(STRUCTS) > 10
    assert len(FUNCTIONS) > 40


@pytest.mark.parametrize(
    ("enumeration", "prefix"), [(Action, "ACTION_"), (State, "STATE_"), (ColumnType, "TYPE_"), (EventKind, "EVENT_")]
)
def test_enumerations(enumeration: Any, prefix: str) -> None:
    declared = {name[len(prefix) :]: value for name, value in CONSTANTS.items() if name.startswith(prefix)}
    assert {member.name: member.value for member in enumeration} == declared


def test_statuses() -> None:
    others = ("ACTION_", "STATE_", "EVENT_", "TYPE_", "VERSION_", "LOG_", "ABI")
    declared = {name: value for name, value in CONSTANTS.items() if not name.startswith(others)}
    assert {status.name: status.value for status in Status} == declared
    for status in Status:
        assert status.c_name == f"READPAST_{status.name}"


def test_a_status_that_a_newer_library_brings() -> None:
    for number in (12345, -12345):
        assert Status(number) == number
        assert Status(number).name == f"UNKNOWN_{number}"
        assert Status(number).c_name == "READPAST_?"


def test_every_failure_has_its_exception() -> None:
    for status in Status:
        if status < 0:
            name = "".join(word.capitalize() for word in status.name.split("_")) + "Error"
            assert errors.QueueError._classes[status] is getattr(errors, name)
    assert len(errors.QueueError._classes) == sum(status < 0 for status in Status)


def test_version_and_abi() -> None:
    assert CONSTANTS["ABI"] == readpast.ABI
    version = [CONSTANTS[f"VERSION_{part}"] for part in ("MAJOR", "MINOR", "PATCH")]
    assert readpast.__version__ == ".".join(map(str, version))


def test_the_library_has_every_function() -> None:
    for function in FUNCTIONS:
        assert callable(getattr(lib, function))


def test_the_sources_call_what_is_declared() -> None:
    called: set[str] = set()
    for source in (BINDING / "src").rglob("*.py"):
        called.update(re.findall(r"\blib\.(readpast_\w+)", source.read_text(encoding="utf-8")))
    # The status is what the call returned; values are asked for by name; the library renews in time by itself; and
    # asyncio, which has loops that poll no descriptors, is woken by threads.
    needless = {"readpast_error_status", "readpast_batch_value", "readpast_worker_renew", "readpast_worker_want"}
    assert FUNCTIONS - called == needless
    assert called <= FUNCTIONS


def test_layouts_are_those_of_the_c_compiler(tmp_path: Path) -> None:
    places = [(struct, field) for struct, fields in STRUCTS.items() for field in fields]
    lines = [f'printf("%zu\\n", sizeof({struct}));' for struct in STRUCTS]
    lines += [f'printf("%zu\\n", offsetof({struct}, {field}));' for struct, field in places]
    program = tmp_path / "layouts.c"
    program.write_text(f"#include <readpast.h>\n#include <stdio.h>\nint main(void) {{ {' '.join(lines)} }}\n", "utf-8")
    subprocess.run(["cc", f"-I{ROOT}/include", "-o", tmp_path / "layouts", program], check=True)
    told = subprocess.run([tmp_path / "layouts"], check=True, stdout=subprocess.PIPE, text=True).stdout
    ours = [ffi.sizeof(struct) for struct in STRUCTS] + [ffi.offsetof(struct, field) for struct, field in places]
    assert [int(line) for line in told.split()] == ours


@pytest.mark.parametrize(
    ("struct", "made"),
    [
        ("new_item", new_items_for([NewItem()], Texts())),
        ("settlement", settlements_for([Settlement("", None, 0, Action.COMPLETE)], Texts())),
        ("lease", leases_for([Lease("", 0)], Texts())),
    ],
)
def test_a_field_left_out_is_as_the_header_initialises_it(struct: str, made: Any) -> None:
    found = re.search(rf"#define READPAST_{struct.upper()}_INIT \{{sizeof\(\w+\), (.*)\}}", HEADER)
    assert found is not None
    said = {"key", "action"}
    for field, initial in zip(STRUCTS[f"readpast_{struct}"][1:], found[1].split(", ")):
        if field not in said:
            value = getattr(made[0], field)
            assert value == (ffi.NULL if initial == "NULL" else int(initial)), field
    assert made[0].struct_size == ffi.sizeof(f"readpast_{struct}")


def test_fields_are_those_of_the_structs() -> None:
    assert list(readpast.Figures._fields) == STRUCTS["readpast_worker_figures"][1:]
    assert list(Event._fields) == STRUCTS["readpast_event"][1:]


def settings_of_the_library() -> dict[str, str]:
    """Each setting with its values, from the page that is made from the library's list."""
    page = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
    table = page.split("<!-- settings -->")[1].split("<!-- end -->")[0]
    settings = re.findall(r"^\| `([\w.]+)` \| ([^|]*) \|", table, re.MULTILINE)
    # Those of the places are one keyword, a dict by their names.
    return {key.removesuffix(".NAME"): values for key, values in settings}


def test_every_setting_can_be_a_keyword() -> None:
    keys = list(settings_of_the_library())
    assert len(keys) > 15
    for key in keys:
        assert key_of(key.replace(".", "_")) == key
        assert key_of(key) == key


def test_a_type_checker_knows_every_setting_and_takes_its_values() -> None:
    settings = settings_of_the_library()
    known = typing.get_type_hints(readpast.Settings)
    assert list(known) == [key.replace(".", "_") for key in settings]
    for key, values in settings.items():
        hint = known[key.replace(".", "_")]
        taken: set[object] = set(typing.get_args(hint))
        if key == "places":
            assert taken == {Mapping[str, str], type(None)}
            continue
        assert {str, type(None)} <= taken, key
        assert (bool in taken) == (values == "on, off"), key
        assert (int in taken) == bool(re.match("[0-9]", values)), key
        assert (timedelta in taken) == key.endswith(("_ms", ".ms")), key
        assert (list[str] in taken) == ("array" in values), key


def test_the_module_is_made_of_this_header() -> None:
    """The script itself makes the declarations, as for the wheel's module."""
    script = "import declare; print(declare.declarations(declare.HEADER.read_text()))"
    told = subprocess.run(
        [sys.executable, "-c", script], cwd=BINDING / "package", check=True, stdout=subprocess.PIPE, text=True
    ).stdout
    assert set(re.findall(r"\b(readpast_\w+)\(", told)) == FUNCTIONS
    assert dict(re.findall(r"#define READPAST_(\w+) (-?\d+)", told)) == {
        name: str(value) for name, value in CONSTANTS.items()
    }
    assert "//" not in told
    assert "/*" not in told
