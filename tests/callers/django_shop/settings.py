"""The smallest project with tasks, on the PostgreSQL of PGHOST and so on."""

import os

SECRET_KEY = "not a secret: it signs nothing"
USE_TZ = True
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.postgresql",
        "HOST": os.environ.get("PGHOST", ""),
        "PORT": os.environ.get("PGPORT", ""),
        "NAME": os.environ.get("PGDATABASE", ""),
        "USER": os.environ.get("PGUSER", ""),
        "PASSWORD": os.environ.get("PGPASSWORD", ""),
        "CONN_MAX_AGE": 60,
    }
}
INSTALLED_APPS = ["readpast_data.django"]
TASKS = {
    "default": {
        "BACKEND": "readpast_data.django.ReadpastBackend",
        "QUEUES": ["default", "mail"],
        "OPTIONS": {"queues": {"mail": "ShopMail"}, "schema": os.environ.get("DJANGO_SHOP_SCHEMA", "readpast")},
    },
    "immediate": {"BACKEND": "django_tasks.backends.immediate.ImmediateBackend"},
}
