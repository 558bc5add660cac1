"""`manage.py readpast_worker`: runs the tasks of a queue."""

from __future__ import annotations

import os
import sys
from argparse import ArgumentParser
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from django.core.management.base import BaseCommand, CommandError

from ..._api import task_backends
from ..._backend import ReadpastBackend
from ..._handling import Handler


class Command(BaseCommand):
    """Runs the tasks of a queue, until SIGTERM or Ctrl-C: then tasks that were begun are finished, and it ends."""

    help = "Runs the tasks of a queue of a ReadpastBackend. It needs the package readpast."

    def add_arguments(self, parser: ArgumentParser) -> None:
        """Those of the command."""
        parser.add_argument("--backend", default="default", help="the alias in TASKS (default: default)")
        parser.add_argument("--queue-name", default="default", help="the queue, by Django's name (default: default)")
        parser.add_argument("--threads", type=int, default=4, help="how many tasks run at once (default: 4)")
        parser.add_argument("--stop-timeout", type=float, help="seconds that async tasks may go on after a stop")
        parser.add_argument("--until-empty", action="store_true", help="end when nothing is due")
        parser.add_argument(
            "-o", dest="of_readpast", metavar="KEY=VALUE", action="append", default=[], help="a setting of readpast's"
        )

    def handle(self, **options: Any) -> None:
        """Runs until it is stopped."""
        backend = _backend(options["backend"], options["queue_name"])
        try:
            import readpast  # noqa: PLC0415 (only the worker needs the native library)
        except ImportError as error:
            raise CommandError(
                f"a worker needs the package readpast, which has the native library: pip install readpast ({error})"
            ) from error
        settings: dict[str, Any] = {
            "connection": backend.options.get("connection") or os.environ.get("READPAST_CONNECTION"),
            "schema": backend.schema,
            **_settings(options["of_readpast"]),
        }
        if not settings["connection"]:
            raise CommandError(
                "there is no connection: set READPAST_CONNECTION, or OPTIONS['connection'] in TASKS, to an ODBC "
                "connection string of the database"
            )
        try:
            with readpast.Queue(backend.readpast_queue(options["queue_name"]), **settings) as queue:
                readpast.Worker(
                    queue,
                    Handler(backend, options["queue_name"], queue.worker),
                    threads=options["threads"],
                    stop_timeout=options["stop_timeout"],
                    until_empty=options["until_empty"],
                ).run(signals=True)
        except (readpast.QueueError, ValueError) as error:
            raise CommandError(str(error)) from error
        except KeyboardInterrupt:
            # The second one: nobody waits any longer.
            sys.exit(130)


def _backend(alias: str, queue_name: str) -> ReadpastBackend:
    try:
        backend = task_backends[alias]
    except ImproperlyConfigured as error:
        raise CommandError(f"TASKS[{alias!r}]: {error}") from error
    if not isinstance(backend, ReadpastBackend):
        raise CommandError(f"TASKS[{alias!r}] is a {type(backend).__name__}, not a ReadpastBackend")
    if backend.queues and queue_name not in backend.queues:
        raise CommandError(f"TASKS[{alias!r}] has no queue {queue_name!r}; its QUEUES: {sorted(backend.queues)}")
    return backend


def _settings(given: list[str]) -> dict[str, str]:
    settings = {}
    for setting in given:
        key, equals, value = setting.partition("=")
        if not equals:
            raise CommandError(f"-o {setting}: there is no value")
        settings[key] = value
    return settings
