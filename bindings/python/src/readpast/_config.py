"""`readpast_config`: the settings that queues are opened with, and installing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import timedelta
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, cast

from ._handle import Handle
from ._library import lib
from ._texts import encoded, milliseconds
from .errors import refused

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ._settings import Settings

Setting = object
"""A setting's value: text, a list of texts, a timedelta for one in milliseconds, a bool, or text after `str`.

Of `places` it is a dict of connections.
"""


def key_of(name: str) -> str:
    """A keyword cannot have a dot: the first underscore of one that has none stands for it, as in `lease_ms`."""
    return name if "." in name else name.replace("_", ".", 1)


def configuration(settings: Mapping[str, Setting]) -> Handle:
    """Makes a configuration. The library knows which settings there are, and says what is wrong with one."""
    config = Handle(lib.readpast_config_new(), lib.readpast_config_free)
    for name, value in settings.items():
        if name == "places" and isinstance(value, Mapping):
            for place, connection in cast("Mapping[str, object]", value).items():
                key = f"places.{place}"
                config.call(lib.readpast_config_set, encoded(key, "a setting"), encoded(str(connection), key))
        elif value is not None:
            key = key_of(name)
            config.call(lib.readpast_config_set, encoded(key, "a setting"), encoded(_text(key, value), key))
    return config


def _text(key: str, value: Setting) -> str:
    """A setting's value as the library reads it."""
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, timedelta):
        if not key.endswith("_ms") and not key.endswith(".ms"):
            raise refused(f"{key} is no time in milliseconds; it cannot be {value!r}")
        return str(milliseconds(value))
    return json.dumps(value) if isinstance(value, (list, tuple)) else str(value)


def install(spec: Mapping[str, object] | str | None = None, /, **settings: Unpack[Settings]) -> None:
    """Installs readpast's own objects, or upgrades them, and the queue that `spec` describes.

    `spec` is the description itself, as a dict or as text, JSON or TOML; None for no queue. `settings` are those of a
    `Queue`. It leaves alone what is there already, so it can be called at every start. Needs the rights to create
    objects; workers do not.
    """
    configuration(settings).call(lib.readpast_install, encoded(description(spec), "spec"))


def install_file(name: str | PathLike[str], /, **settings: Unpack[Settings]) -> None:
    """`install` with the description in a file, as JSON or TOML."""
    install(description(None, name), **settings)


def description(spec: Mapping[str, object] | str | None, file: str | PathLike[str] | None = None) -> str | None:
    """The text of a queue's description."""
    if file is None:
        return spec if spec is None or isinstance(spec, str) else json.dumps(spec)
    if spec is not None:
        raise refused("there are a spec and a file; give one of them")
    return Path(file).read_text(encoding="utf-8")
