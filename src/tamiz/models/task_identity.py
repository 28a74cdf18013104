"""The identity of a task in a journal, so that a search is not resumed with another estimator, score or folds."""

from __future__ import annotations

import hashlib
import re
from functools import partial
from types import CodeType, FunctionType, MethodType
from typing import Any

import numpy as np

from tamiz.models.base import CVTask
from tamiz.models.scoring import PREDICTION_SCORER

# Memory addresses in reprs differ between processes.
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


def task_identity_fields(task: CVTask) -> dict[str, Any]:
    """Return the estimator with all parameters (including seeds), the score, and a hash of the folds."""
    digest = hashlib.sha256()
    for fold in task.folds:
        for rows in (fold.train_in_order, fold.test):
            # The user's row numbers, after their count, so that different folds cannot produce the same bytes.
            digest.update(np.int64(len(rows)).tobytes())
            digest.update(task.source.row_numbers[rows].astype(np.int64).tobytes())
    # A target of one column is part of the table's own identity.
    outputs = {"outputs": stable_repr(task.target)} if task.is_multioutput else {}
    return {
        **outputs,
        "estimator": stable_repr(task.estimator),
        "scoring": stable_repr(task.scoring.scorer),
        "encoding": task.encoding,
        "impute": task.impute,
        "folds": digest.hexdigest(),
    }


def stable_repr(value: Any, ancestors: tuple[int, ...] = ()) -> str:
    """Return a text that identifies a value and is the same in every process; arrays and code are hashed.

    `ancestors` are the ids of the functions and objects that contain the value, to stop at circular references.
    """

    def part(value: Any) -> str:
        return stable_repr(value, ancestors)

    if isinstance(value, np.ndarray):
        array = value.astype(str) if value.dtype.kind == "O" else value
        content = hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()
        return f"array({value.dtype}, {value.shape}, {content})"
    if not isinstance(value, type) and callable(getattr(value, "get_params", None)):
        parameters = sorted(value.get_params(deep=False).items())
        return f"{_qualified_name(type(value))}({', '.join(f'{name}={part(one)}' for name, one in parameters)})"
    if isinstance(value, PREDICTION_SCORER):
        return f"{_qualified_name(type(value))}({part(vars(value))})"
    if isinstance(value, partial):
        return f"partial({part(value.func)}, {part(value.args)}, {part(value.keywords)})"
    if isinstance(value, MethodType):
        return f"{part(value.__func__)} of {part(value.__self__)}"
    if isinstance(value, FunctionType):
        return _function_repr(value, ancestors)
    if isinstance(value, dict):
        return f"{{{', '.join(sorted(f'{part(key)}: {part(one)}' for key, one in value.items()))}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(part, value))}]"
    if isinstance(value, set | frozenset):
        return f"{{{', '.join(sorted(map(part, value)))}}}"
    if hasattr(value, "__qualname__"):
        return _qualified_name(value)
    if getattr(type(value), "__repr__", None) is object.__repr__ and hasattr(value, "__dict__"):
        # The default repr has only the address, not the content.
        name = _qualified_name(type(value))
        return name if id(value) in ancestors else f"{name}({stable_repr(vars(value), (*ancestors, id(value)))})"
    return _ADDRESS.sub("", repr(value))


def _function_repr(function: FunctionType, ancestors: tuple[int, ...]) -> str:
    """Return a function's name and a hash of its code; names alone are ambiguous, as for lambdas."""
    name = _qualified_name(function)
    # scikit-learn's functions are identified by name: their bytecode differs between Python versions.
    if name.startswith("sklearn.") or id(function) in ancestors:
        return name
    inner = (*ancestors, id(function))
    captured = [cell.cell_contents for cell in function.__closure__ or () if _is_filled(cell)]
    # Include the functions that it calls by name.
    called = [function.__globals__.get(word) for word in function.__code__.co_names]
    called = [one for one in called if isinstance(one, FunctionType)]
    parts = (function.__defaults__, function.__kwdefaults__, captured, called)
    words = _code_repr(function.__code__) + stable_repr(parts, inner)
    return f"{name}[{hashlib.sha256(words.encode()).hexdigest()}]"


def _is_filled(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018 - reading an empty cell raises
    except ValueError:
        return False
    return True


def _code_repr(code: CodeType) -> str:
    """Return code as text, without file names and line numbers."""
    constants = [_code_repr(one) if isinstance(one, CodeType) else stable_repr(one) for one in code.co_consts]
    return f"{code.co_code.hex()} {constants} {code.co_names} {code.co_varnames} {code.co_freevars}"


def _qualified_name(value: Any) -> str:
    return f"{value.__module__}.{value.__qualname__}"
