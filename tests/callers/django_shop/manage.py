"""`python -m django_shop.manage`, with Django's commands."""

import os

from django.core.management import execute_from_command_line

if __name__ == "__main__":
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "django_shop.settings")
    execute_from_command_line()
