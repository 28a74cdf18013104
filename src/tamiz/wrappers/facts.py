"""What scores depend on beyond columns and data, so that a search is not gone on with under another estimator or other folds."""

from __future__ import annotations

import hashlib
import re
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from tamiz.wrappers.base import Task

# Where an object lies in memory says nothing of what it is.
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+")


def facts_of(task: Task) -> dict[str, Any]:
    """Return the estimator with all its parameters, seeds among them, the score, and a hash of the folds."""
    digest = hashlib.sha256()
    for fold in task.folds:
        for rows in (fold.train, fold.test):
            # In the user's numbers, and with their number, so that no two lists of folds run into the same bytes.
            digest.update(np.int64(len(rows)).tobytes())
            digest.update(task.source.row_numbers[rows].astype(np.int64).tobytes())
    return {
        "estimator": told(task.estimator),
        "scoring": told(task.scoring.scorer),
        "encode": task.encode,
        "folds": digest.hexdigest(),
    }


def told(value: Any) -> str:
    """Return a value in words that tell it from others, in every process alike; large arrays as a hash."""
    if isinstance(value, np.ndarray):
        held = value.astype(str) if value.dtype.kind == "O" else value
        content = hashlib.sha256(np.ascontiguousarray(held).tobytes()).hexdigest()
        return f"array({value.dtype}, {value.shape}, {content})"
    if isinstance(value, BaseEstimator):
        parameters = sorted(value.get_params(deep=False).items())
        return f"{_named(type(value))}({', '.join(f'{name}={told(one)}' for name, one in parameters)})"
    if isinstance(value, dict):
        return f"{{{', '.join(sorted(f'{told(key)}: {told(one)}' for key, one in value.items()))}}}"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(told, value))}]"
    if hasattr(value, "__qualname__"):
        return _named(value)
    return _ADDRESS.sub("", repr(value))


def _named(value: Any) -> str:
    return f"{value.__module__}.{value.__qualname__}"
