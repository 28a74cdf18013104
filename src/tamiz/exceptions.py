"""What tamiz raises and warns with.

A value that cannot be used is a ValueError, an argument of the wrong type a TypeError, a file that cannot be
read or written an OSError, memory that is not there a MemoryError: the built-in classes, so that callers need
no import from here to catch them.
"""


class DataError(ValueError):
    """The table cannot be used as it is; the message names the column, row or line and the way out."""


class TamizWarning(UserWarning):
    """Something a reader of the numbers must know: rows dropped, gaps filled, a subset of no columns."""


def __getattr__(name: str) -> type[TamizWarning]:
    """Return `ConvergenceWarning`, made when it is first asked for: the command line starts without scikit-learn."""
    if name != "ConvergenceWarning":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from sklearn import exceptions as of_sklearn

    doc = "An iteration ended before it converged. Filters for scikit-learn's `ConvergenceWarning` apply to it too."
    found = type(name, (TamizWarning, of_sklearn.ConvergenceWarning), {"__doc__": doc, "__module__": __name__})
    return globals().setdefault(name, found)
