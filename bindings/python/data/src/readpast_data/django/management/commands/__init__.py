"""Commands of `manage.py`, a module each."""
