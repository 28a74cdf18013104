"""The methods belong to a copy of the package: their doctests run there."""

collect_ignore = [
    "presence.py",
    "consistency.py",
    "random_mutation.py",
    "random_projection.py",
    "missing_values.py",
    "orc_file.py",
]
