"""Holds the spans of two programs to one trace: `through.py GO_PLAYER`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import readpast

players = {
    "Python": [sys.executable, str(Path(__file__).with_name("player.py"))],
    "Go": [sys.argv[1]],
}


def spans(language: str, does: str, queue: str) -> dict[str, dict[str, str]]:
    """The spans of a program, by the first words of the names."""
    told = subprocess.run([*players[language], does, queue], check=True, stdout=subprocess.PIPE, timeout=600).stdout
    return {span["name"].split()[0]: span for span in json.loads(told)}


for producer, worker in [("Python", "Go"), ("Go", "Python")]:
    name = f"Traced{producer}"
    readpast.install(
        {"queue": name, "trace": True, "columns": [{"name": "Payload", "type": "text"}]},
        connection=os.environ["READPAST_CONNECTION"],
    )
    sent, worked = spans(producer, "send", name), spans(worker, "work", name)
    assert set(sent) == {"request", "send"}, sent
    assert set(worked) == {"process", "handle"}, worked
    assert worked["handle"]["name"] == f"handle from {producer}", worked
    assert len({span["trace"] for span in [*sent.values(), *worked.values()]}) == 1, (sent, worked)
    parents = [
        sent["request"]["parent"],
        sent["send"]["parent"],
        worked["process"]["parent"],
        worked["handle"]["parent"],
    ]
    assert parents == ["", sent["request"]["id"], sent["send"]["id"], worked["process"]["id"]], (sent, worked)
    assert (sent["send"]["name"], worked["process"]["name"]) == (f"send {name}", f"process {name}")
    print(f"from {producer} to {worker}: one trace")
