"""Classes of errors and warnings.

An invalid value raises ValueError, an argument of the wrong type TypeError, a file that cannot be read or written OSError, and
a lack of memory MemoryError. These are built-in classes, so that callers can catch them without an import.
"""


class DataError(ValueError):
    """The table cannot be used as it is; the message names the column, row or line, and the remedy."""


class TamizWarning(UserWarning):
    """The results may not mean what they seem to: rows were dropped, missing values imputed, a subset is empty.

    The text starts with a code, such as "TZ204: ", which `tamiz explain TZ204` explains and
    `warnings.filterwarnings("ignore", "TZ204")` mutes. `args[0]` is the sentence with the attributes `code`, `severity` and
    `columns`.
    """

    def __str__(self) -> str:
        verdict = self.args[0] if self.args else ""
        code = getattr(verdict, "code", None)
        return f"{code}: {verdict}" if code else str(verdict)


def __getattr__(name: str) -> type[TamizWarning]:
    """Return `ConvergenceWarning`, created at first use so that the command line starts without importing scikit-learn."""
    if name != "ConvergenceWarning":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from sklearn import exceptions as sklearn_exceptions

    doc = "An iterative method stopped before it converged. Filters for scikit-learn's `ConvergenceWarning` apply to it too."
    found = type(name, (TamizWarning, sklearn_exceptions.ConvergenceWarning), {"__doc__": doc, "__module__": __name__})
    return globals().setdefault(name, found)
