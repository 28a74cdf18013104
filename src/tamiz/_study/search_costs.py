"""Estimated seconds of a subset search, by its merit and search, from the shape of the table."""

from __future__ import annotations

from typing import NamedTuple

from sklearn.base import clone

from tamiz._study.models import COLUMN_PARAMETERS
from tamiz.criteria.base import Merit
from tamiz.criteria.cross_validated import CrossValidated
from tamiz.search.base import Search
from tamiz.search.beam import Beam
from tamiz.search.best_first import BestFirst
from tamiz.search.bidirectional import Bidirectional
from tamiz.search.forward import Forward
from tamiz.table.schema import Schema

# Columns that a search adds before no further one raises the merit: 1 to 14 in the measured tables, most often 3 to 7.
_N_ADDED = 5
# More sets than that take hours with any merit, and their number may be beyond the largest float.
_MAX_EVALUATIONS = 10**12


class _FoldCost(NamedTuple):
    """Seconds of a model in one fold: for every set, for every set and row, and for every row and column once."""

    per_set: float
    per_set_and_row: float = 0.0
    per_value: float = 0.0


# Measured on tables of 2,000 to 300,000 rows. Naive Bayes computes counts for accuracy, and probabilities for other scores.
_MODEL_COSTS = {
    "gaussian_nb": _FoldCost(1e-6, 1e-10, 4.3e-8),
    "naive_bayes": _FoldCost(1e-6, 1e-10, 4.3e-8),
    "knn": _FoldCost(3e-4, 9e-7),
    "linear": _FoldCost(8e-4, 1.8e-7),
    "ridge": _FoldCost(2.5e-6, 0.0, 1e-8),
    "forest": _FoldCost(3e-2, 2.6e-5),
}
_PROBABILITY_COST = _FoldCost(2e-4, 2.1e-8, 4.3e-8)
# A model that is refitted for every set and fold, such as a decision tree or logistic regression.
_REFIT_COST = _FoldCost(5e-4, 2.6e-6)
_COUNT_SCORINGS = (None, "accuracy", "balanced_accuracy")
# The products of coordinates, which ridge regression sums once, in all folds together: of rows that fit into cache, and of more.
_RIDGE_PRODUCT, _LARGE_RIDGE_PRODUCT = 4.5e-9, 1e-8
_CACHED_VALUES = 8_000_000
# The seconds of the reasons for each column relative to those of the search: merits from counts find no pairs of columns known.
_REASONS_SHARE, _WRAPPER_REASONS_SHARE = 1.5, 0.5


def search_seconds(merit: Merit, search: Search, schema: Schema, n_rows: int) -> float:
    """Return the seconds of a search on `n_rows` rows of a table.

    A merit from counts, such as CFS or JMI, costs a pass over the rows and the pairs of columns that the search asks for. A
    cross-validated merit costs its model for every evaluated set and fold.

    Parameters
    ----------
    merit : Merit
    search : Search
    schema : Schema
    n_rows : int

    Notes
    -----
    The number of columns that are selected is not known before: a search that adds columns is assumed to add five.
    """
    used = len(schema.used)
    if not isinstance(merit, CrossValidated):
        return 0.01 + 1.5e-4 * used + 7e-8 * used * n_rows
    cost, n_folds = _fold_cost(merit), merit.cv if isinstance(merit.cv, int) else 10
    per_set = cost.per_set + cost.per_set_and_row * n_rows
    seconds = 0.01 + n_folds * (per_set * expected_evaluations(search, schema) + cost.per_value * n_rows * used)
    if merit.estimator == "ridge":
        product = _RIDGE_PRODUCT if n_rows * schema.n_coordinates <= _CACHED_VALUES else _LARGE_RIDGE_PRODUCT
        seconds += product * n_rows * schema.n_coordinates**2
    return seconds


def reasons_seconds(merit: Merit, search_seconds: float) -> float:
    """Return the seconds of the reasons why each column is selected or not, after a search of some seconds."""
    return search_seconds * (_WRAPPER_REASONS_SHARE if isinstance(merit, CrossValidated) else _REASONS_SHARE)


def expected_evaluations(search: Search, schema: Schema) -> int:
    """Return the approximate number of sets that a search evaluates."""
    used = len(schema.used)
    added = min(_N_ADDED, used)
    # Every step evaluates each column that is not selected yet.
    stepwise = 1 + (added + 1) * used - added * (added + 1) // 2
    if isinstance(search, Forward | BestFirst):
        return stepwise
    if isinstance(search, Bidirectional):
        return 2 * stepwise
    if isinstance(search, Beam):
        return search.width * stepwise
    # Without the columns that it is restricted to, which change little.
    restricted = {name for name in COLUMN_PARAMETERS if name in search.get_params(deep=False)}
    free: Search = clone(search).set_params(**dict.fromkeys(restricted))
    most = free.max_evaluations(free.make_problem(schema.names, schema.used, None))
    return stepwise if most is None else min(most, _MAX_EVALUATIONS)


def _fold_cost(merit: CrossValidated) -> _FoldCost:
    if not isinstance(merit.estimator, str):
        return _REFIT_COST
    if merit.estimator in ("gaussian_nb", "naive_bayes") and merit.scoring not in _COUNT_SCORINGS:
        return _PROBABILITY_COST
    return _MODEL_COSTS.get(merit.estimator, _REFIT_COST)
