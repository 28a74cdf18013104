"""The example belongs to a copy of the package: its doctest runs there."""

collect_ignore = ["presence.py"]
