"""The application, which has the command `readpast_worker`."""

from __future__ import annotations

from django.apps import AppConfig


class ReadpastConfig(AppConfig):
    """The entry in INSTALLED_APPS is `readpast_data.django`."""

    name = "readpast_data.django"
    label = "readpast"
    verbose_name = "readpast"
