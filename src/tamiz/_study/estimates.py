"""Estimates of the time and memory of each step of a study, from the shape of the table."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import NamedTuple

from sklearn.base import clone

from tamiz._study.budget import Budget, Step, StepEstimate
from tamiz._study.models import (
    MAX_IMPORTANCE_WORK,
    MAX_NOISE_COORDINATES,
    MAX_SEARCH_SECONDS,
    affordable_searches,
    column_options,
    evaluation_size,
)
from tamiz._study.ranking import max_compared_columns, n_compared_rows
from tamiz.assessment.mean_ranks import N_BOOTSTRAP
from tamiz.criteria.base import Merit
from tamiz.criteria.cross_validated import CrossValidated
from tamiz.criteria.linear_coefficient import LinearCoefficient
from tamiz.graphs.row_graph import graph_seconds, max_graph_rows
from tamiz.search.base import Search
from tamiz.search.best_first import BestFirst
from tamiz.search.greedy import Beam, Bidirectional, Forward
from tamiz.selection.permutation_null import default_n_permutations
from tamiz.table.schema import Schema

# Imports and compiled code, whatever the table.
_BASE_BYTES = 2e7
# A semi-synthetic target, and the ridge regression or the comparison with the true columns after its search.
_TARGET_SECONDS = 0.006
# The time of a search in a fold or on a shuffled target relative to that of the first search, which warms up caches.
_REPEATED_SEARCH = 0.6
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
# The most values that are counted per bootstrap sample of the mean rank: fifteen million take 10 to 20 s for all samples on two
# cores. A category takes a quarter of the time of a number. The fixed cost of a column equals that of so many rows, and more if the
# target is a number, because cut points are then computed outside of kernels.
_MAX_VALUES = 1.5e7
_COLUMN_COST_ROWS, _NUMERIC_TARGET_COST_ROWS = 5_000, 15_000
# The seconds of the reasons for each column relative to those of the search: merits from counts find no pairs of columns known.
_REASONS_SHARE, _WRAPPER_REASONS_SHARE = 1.5, 0.5


@dataclass(frozen=True, kw_only=True)
class StudyExtent:
    """What a study does, as far as its cost depends on it.

    `n_shown` rows are on the maps; None as `searched` is no search, as `map_schema` all columns. Selections are compared if
    `assessed`: there is then no search that was not `asked` for.
    """

    n_shown: int
    n_maps: int
    sample_graph: bool
    searched: tuple[Merit, Search] | None
    assessed: bool = True
    asked: bool = True
    semi_synthetic: int = 0
    map_schema: Schema | None = None


def estimate_steps(schema: Schema, budget: Budget, extent: StudyExtent) -> dict[Step, StepEstimate]:
    """Return the estimate of every step of a study, by its name.

    Seconds on two cores, and bytes beyond the table, fitted to studies of 100 to 3,000,000 rows and 10 to 100,000 columns;
    `benchmarks/study_curves.py` plots them beside measurements. Steps that use both cores need up to twice the seconds of CPU time.
    """
    n_shown, searched, asked, assessed = extent.n_shown, extent.searched, extent.asked, extent.assessed
    n_maps, semi_synthetic = extent.n_maps, extent.semi_synthetic
    n, used, seen = schema.n_rows, len(schema.used), schema.n_coordinates
    mapped = extent.map_schema or schema
    on_maps = mapped.n_coordinates
    values, some = n * used, min(n * used, 4_000_000)
    compared = max_compared_columns(used, budget)
    n_compared = n_compared_rows(compared, n, budget)
    joined, drawn = max_graph_rows(mapped, n_shown, budget.scale) if extent.sample_graph else n, min(n_shown, 2000)
    resampled = 0.0 if bootstrap_refusal(schema, budget) else bootstrap_cost(schema)
    refitted = LinearCoefficient().study_refit_products(schema, N_BOOTSTRAP) if resampled else 0.0
    ranked_again = 1.9e-6 * resampled + 0.02 * used * bool(resampled) + 6.5e-9 * refitted
    compared_seconds = 0.005 + 6e-8 * compared * n_compared + 0.75e-9 * compared**2 * n_compared
    fitted = 0.1 + 2.5e-4 * joined + 3e-8 * joined * on_maps + 2.5e-7 * drawn**2 + 1.5e-6 * drawn * on_maps
    evaluated = 0.1 + 3.5e-7 * drawn**2 + 8e-7 * drawn * on_maps
    found: dict[Step, tuple[float, float, int]] = {
        Step.TABLE: (0.2 + 2e-4 * used + 4e-8 * values, 8 * some, n),
        Step.GRAPH: (0.05 + 1.25 * graph_seconds(joined, on_maps), 20 * joined * on_maps + 1500 * joined, joined),
        Step.RANKING: (0.1 + 3e-4 * used + 5e-7 * some + 5e-8 * values, 32 * some, n),
        Step.ASSOCIATIONS: (0.05 + 2.5e-6 * min(values, 1_000_000) * (used <= 500), 16 * some, n),
        Step.DISTRIBUTIONS: (0.02 + 2e-7 * min(values, 1_000_000), 16 * some, n),
        Step.MEAN_RANK: (ranked_again, 90 * resampled + 24 / N_BOOTSTRAP * refitted, n if resampled else 0),
        Step.REDUNDANCY: (compared_seconds, 80 * compared**2 + 48 * compared * n_compared, n_compared),
        Step.MAPS: (n_maps / 4 * fitted, 24 * drawn**2 + 500 * joined + 8 * joined * min(on_maps, 1000), joined),
        Step.QUALITY: (n_maps / 4 * evaluated, 32 * drawn**2 + 8 * drawn * on_maps, drawn),
        Step.CLUSTERS: (5e-8 * drawn**2 + 8e-7 * drawn * on_maps, 24 * drawn * on_maps, drawn),
    }
    if searched is not None:
        search = search_seconds(*searched, schema, n)
        rows, n_splits = evaluation_size(schema, budget)
        again = search_seconds(*searched, schema, rows)
        n_searches = affordable_searches(
            default_n_permutations(replace(schema, n_rows=rows)), n_splits, again, budget.scale * MAX_SEARCH_SECONDS
        )
        if asked or not assessed:
            reasons = _WRAPPER_REASONS_SHARE if isinstance(searched[0], CrossValidated) else _REASONS_SHARE
            found |= {Step.SUBSET: (search, 9 * some, n), Step.REASONS: (reasons * search, 9 * some, n)}
        if asked and assessed:
            found[Step.ASSESSMENT] = (0.2 + _REPEATED_SEARCH * n_searches * again, 64 * rows * used, rows)
    if searched is not None and assessed:
        found[Step.RECOMMENDATION] = (*_recommendation_cost(schema, rows, n_splits), rows)
        if not asked:
            importance = 1e-9 * (rows * seen * (5 * seen + 2 * used**2) + 1000 * rows * (1 + 5 * used))
            found[Step.REASONS] = (0.5 + importance * (importance <= 1e-9 * MAX_IMPORTANCE_WORK), 9 * some, rows)
        if semi_synthetic:
            found[Step.ERROR_RATES] = (_error_rate_seconds(schema, rows, semi_synthetic, again), 64 * rows * used, rows)
        if seen <= MAX_NOISE_COORDINATES:
            found[Step.NOISE_EXPERIMENT] = (0.5 + 2e-5 * rows * (seen + 60), 64 * rows * (seen + 50), rows)
    return {
        step: StepEstimate(seconds, _BASE_BYTES + n_bytes, n_rows) for step, (seconds, n_bytes, n_rows) in found.items()
    }


def _recommendation_cost(schema: Schema, n_rows: int, n_splits: int) -> tuple[float, float]:
    """Return the seconds and bytes of the comparison of selections: models, and searches on all rows and in every fold."""
    # Imported late: it loads scikit-learn's models.
    from tamiz.assessment.recommendation import MAX_MRMR_WORK, MAX_WRAPPER_WORK, SET_ROWS

    # Few levels of a column occur in the rows that models are fitted to.
    modelled = len(schema.numeric) + sum(schema.n_levels.values()) / 50
    seconds = 3.0 + min(0.03 * math.sqrt(n_rows * modelled), 40)
    values, n_steps = n_rows * len(schema.used), min(len(schema.used), 48)
    sets = (n_rows + SET_ROWS) * len(schema.used)
    # The paths by MRMR, the wrapper and importance.
    searches = 1.8 * min(1, sets * n_steps / MAX_MRMR_WORK) + 2 * min(1, values / 1e6)
    if sets <= MAX_WRAPPER_WORK:
        searches += 2.2 * min(1, sets * n_steps / 2 / MAX_WRAPPER_WORK)
    return seconds + (1 + n_splits) * searches, 64 * n_rows * modelled


def _error_rate_seconds(schema: Schema, n_rows: int, n_draws: int, search: float) -> float:
    """Return the seconds of searches on semi-synthetic targets, and of the ridge regressions that determine the signal."""
    # Imported late: it loads scikit-learn's models.
    from tamiz.assessment.semi_synthetic import count_searches

    # The largest column of levels is often selected. The regression has an unknown for each of its levels in the rows.
    n_unknowns = min(max(schema.n_levels.values(), default=0), n_rows)
    # One after every search but that on all rows and those on the targets.
    regressions = 1e-10 * (count_searches(0) - 1) * n_unknowns**2 * n_rows
    return 0.2 + count_searches(n_draws) * (_REPEATED_SEARCH * search + _TARGET_SECONDS) + regressions


def search_seconds(merit: Merit, search: Search, schema: Schema, n_rows: int) -> float:
    """Return the seconds of a search on `n_rows` rows of a table; a search that adds columns is assumed to add five.

    A merit from counts, such as CFS or JMI, costs a pass over the rows and the pairs of columns that the search asks for. A
    cross-validated merit costs its model for every evaluated set and fold.
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
    free: Search = clone(search).set_params(**dict.fromkeys(column_options(search)))
    most = free.max_evaluations(free.make_problem(schema.names, schema.used, None))
    return stepwise if most is None else min(most, _MAX_EVALUATIONS)


def _fold_cost(merit: CrossValidated) -> _FoldCost:
    name = merit.estimator if isinstance(merit.estimator, str) else ""
    if name in ("gaussian_nb", "naive_bayes") and merit.scoring not in _COUNT_SCORINGS:
        return _PROBABILITY_COST
    return _MODEL_COSTS.get(name, _REFIT_COST)


def bootstrap_cost(schema: Schema) -> float:
    """Return the cost of one bootstrap sample of the mean rank, in counted values."""
    by_column = _COLUMN_COST_ROWS if schema.has_classes else _NUMERIC_TARGET_COST_ROWS
    return (schema.n_rows + by_column) * (len(schema.numeric) + len(schema.categorical) / 4)


def bootstrap_refusal(schema: Schema, budget: Budget) -> str:
    """Return why the mean rank has no bootstrap intervals, "" if it has."""
    if bootstrap_cost(schema) <= budget.scale * _MAX_VALUES:
        return ""
    return (
        f"{N_BOOTSTRAP} bootstrap samples of {schema.n_rows:,} rows and {len(schema.used):,} columns would exceed the time "
        "budget (max_seconds=, --max-seconds)"
    )
