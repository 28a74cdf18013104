"""Helpers that score a set, and that check the facts in an error message."""

import numpy as np
import pytest
from sklearn.datasets import load_iris

from tamiz.exceptions import DataError
from tamiz.runtime import parallel
from tamiz.search.base import Candidates

from .random_cases import evaluator_of

X, Y = load_iris(return_X_y=True)


def scored(estimator, table=X, y=Y, columns=None, **given):
    """Score a set of columns, all by default."""
    mask = np.ones(table.shape[1], dtype=bool) if columns is None else np.isin(np.arange(table.shape[1]), columns)
    # Inside a session BLAS keeps to one thread: on busy cores its own wait for each other.
    with parallel.thread_session(1):
        evaluator = evaluator_of(table, y, estimator, **given)
        return evaluator.evaluate(Candidates.from_masks(mask))


def refused(sentence, estimator, table=X, y=Y, error=DataError, **given):
    with pytest.raises(error, match=sentence):
        scored(estimator, table, y, **given)
