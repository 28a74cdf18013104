"""Map quality and cross-validated score against the number of columns kept: which columns can be dropped."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

from tamiz.arrays import Floats, Indices, Masks
from tamiz.comparison.kept_column_curves import KeptColumnCurves, ScoreCurve
from tamiz.criteria.base import Relevance, RowRelevance
from tamiz.exceptions import DataError
from tamiz.metrics import quality
from tamiz.models.named_models import resolve_model
from tamiz.models.task import CVTask
from tamiz.reduction.base import Reducer
from tamiz.reduction.pca import PCA
from tamiz.runtime import parallel, progress
from tamiz.runtime.random import Seed, make_rng
from tamiz.runtime.registry import suggestion
from tamiz.runtime.user_warnings import ImputationNote, capture_warnings, warn_user
from tamiz.runtime.validation import check_integer
from tamiz.runtime.verdicts import Verdict
from tamiz.selection.rank_selector import RankSelector
from tamiz.selection.size_search import SizeSearchCV
from tamiz.subsets.candidates import Candidates
from tamiz.table.base import Table
from tamiz.table.date_parts import expand_dates
from tamiz.table.duplicate_detection import compute_fingerprints, find_duplicate_columns
from tamiz.table.factory import as_table
from tamiz.table.schema import Schema
from tamiz.table.views import select_columns, select_rows, without_target

# Maps are fitted on all rows up to these numbers, and on a sample beyond; the second is for methods of quadratic cost.
_MAX_MAPPED_ROWS, _MAX_QUADRATIC_ROWS = 20_000, 2_000
# Of more mapped rows, a sample is compared with all: a comparison of all rows would take seconds for every number of columns.
_MAX_EXACT_ROWS, _N_COMPARED = 3_000, 1_000
_N_NEIGHBORS = 15
# How many numbers of columns are compared by default.
_N_NUMBERS = 10
# Scores that are at most 1, and a loss of them that counts as negligible even if the standard error is smaller, as in
# `recommend_columns`: on easy targets the best score is 1 in every fold, and its standard error is 0.
_SCORE_LABELS = {
    "roc_auc": "ROC AUC",
    "roc_auc_ovr_weighted": "weighted ROC AUC",
    "balanced_accuracy": "balanced accuracy",
    "accuracy": "accuracy",
    "r2": "R2",
}
_NEGLIGIBLE_LOSS = 0.01


def columns_to_drop(
    X: Any,
    y: Any = None,
    ranking: RankSelector | Relevance | str | Sequence[str | int] | None = None,
    *,
    reducer: Reducer | None = None,
    estimator: Any = None,
    scoring: str | Callable[..., Any] | None = None,
    numbers: Iterable[int] | None = None,
    cv: Any = 5,
    metric: str = "seuclidean",
    random_state: Seed = 0,
) -> KeptColumnCurves:
    """Map quality and cross-validated score of the best columns of a ranking, for several numbers of columns kept.

    The map of the kept columns is evaluated against the distances of all columns, so it shows what the rows lose without the
    others. The score shows what the prediction of the target loses: in every fold the columns are ranked on the training rows, and
    the model is fitted on the best ones and scored on the test rows.

    Parameters
    ----------
    X : array, sparse matrix, data frame or Table
        Groups and times of the rows are those of a table: `columns_to_drop(open_table(frame, target=..., groups=...))`.
    y : array of shape (n_samples,), default=None
        The target; without it, and without a target of the table, only maps are evaluated. Rows without a target are left out.
    ranking : RankSelector, criterion, str or list of columns, default=None
        A criterion or its name, as in `RankSelector`. A RankSelector, fitted or not, contributes its criterion. None is the first
        criterion that is defined on the table: information gain where there is a target, the Laplacian score where there is none. A
        list contains every used column by name or number, the best first; it is then the same in every fold, and the score is
        optimistic if the same rows were ranked. Constant columns are last in every ranking.
    reducer : Reducer, default=None
        The map, from `tamiz.reduction`, which is cloned; None is `PCA(2, standardize=True)`. Its distances should be those of
        `metric`, as in `MDS(2, dissimilarity="seuclidean")`. A map of one numeric column has one coordinate.
    estimator : estimator or str, default=None
        The model of the score, as in `CrossValidated`; None is "logistic" for classes and "ridge" for a numeric target.
    scoring : str or callable, default=None
        As in `CrossValidated`, except that None is ROC AUC for classes, which does not depend on their frequencies (balanced
        accuracy where a fold lacks a class or the model has no probabilities), and R2 for a numeric target.
    numbers : list of int, default=None
        Numbers of columns to keep; all columns are always added. None is each number of up to 10 columns, and else 10 numbers in
        about equal ratios.
    cv : int, splitter or iterable of (train, test), default=5
        At least 2 folds, as in `SizeSearchCV`.
    metric : str, default="seuclidean"
        Metric of the distances of all columns, as in `quality`; not "precomputed".
    random_state : int, Generator or RandomState, default=0
        Seed of the folds of an integer `cv`, and of the samples of rows; an integer makes the folds of `SizeSearchCV`.

    Returns
    -------
    KeptColumnCurves
        `droppable()` returns the columns that can be dropped and the reason, `plot()` draws the curves.

    Raises
    ------
    DataError
        When the table, the target, a fold or a map of some columns cannot be used.
    ValueError
        When a parameter cannot be used.

    Notes
    -----
    The measures of maps are those of `quality` for 15 neighbours, fewer in tables of up to 31 rows. Every number of columns is
    evaluated on the same rows: tables of more than 20,000 rows (2,000 where the reducer has quadratic cost) are sampled to so many
    rows, on which the maps are fitted; of more than 3,000 mapped rows, 1,000 are compared with all mapped rows, and the measures
    have a standard error. The score uses all rows.

    Cost, for m numbers of columns: m maps, m passes of at most 1,000 x 20,000 (or 3,000 x 3,000) pairs of rows; and a ranking and m
    fits of the estimator in each fold, plus a ranking of all rows. The Laplacian score builds a neighbour graph of all rows.

    The standard errors of scores are corrected for the overlap of training sets. The columns that `droppable` recommends are
    chosen on the rows that they were scored on, so the score at the recommended number is slightly optimistic; `selection_report`
    estimates by how much.

    References
    ----------
    Ambroise and McLachlan (2002), Selection bias in gene extraction, PNAS 99; Nadeau and Bengio (2003), Inference for the
    generalization error, Machine Learning 52; Venna and Kaski (2001), Neighborhood preservation in nonlinear projection methods,
    ICANN; Breiman, Friedman, Olshen and Stone (1984), Classification and Regression Trees, section 3.4.3: one standard error.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from tamiz.comparison import columns_to_drop
    >>> X, y = load_wine(return_X_y=True, as_frame=True)
    >>> curves = columns_to_drop(X, y, numbers=[2, 5, 9], estimator="gaussian_nb")
    >>> curves.numbers, curves.trustworthiness.round(2), curves.score.means.round(2)
    ((2, 5, 9, 13), array([0.84, 0.86, 0.87, 0.9 ]), array([0.98, 1.  , 1.  , 1.  ]))
    >>> droppable = curves.droppable(tolerance=0.03)
    >>> droppable.finding, droppable.columns
    ('9 of 13 columns are enough', ('alcalinity_of_ash', 'proanthocyanins', 'nonflavanoid_phenols', 'ash'))
    """
    seed = int(random_state) if isinstance(random_state, Integral) else int(make_rng(random_state).integers(2**31))
    table = as_table(X, y)
    schema = table.schema
    if schema.target is None and estimator is not None:
        raise DataError("The score of an estimator requires y to be passed, but the target y is None.")
    if schema.weight is not None:
        raise DataError(
            f"Map quality is not defined for weighted rows, and the table has the weights {schema.weight!r}; open it without "
            "weight."
        )
    selector = _make_selector(ranking, schema)
    sizes = _check_numbers(numbers, len(schema.used))
    reducer = _check_reducer(reducer, metric)
    with parallel.thread_session():
        if schema.target is None:
            fitted, score = selector.fit(table), None
        else:
            fitted, score = _score(table, selector, estimator, scoring, sizes, cv, seed)
        ranked = fitted.ranking_[: len(schema.used)]
        measures, n_mapped, n_compared = _measure_maps(table, ranked, reducer, sizes, metric, seed)
        duplicates = find_duplicate_columns(
            table, compute_fingerprints(table, rows=False, distinct_values=False).columns
        )
    names = schema.names
    fixed = isinstance(fitted.relevance_, _FixedOrder)
    return KeptColumnCurves(
        columns=tuple(names[j] for j in ranked.tolist()),
        numbers=tuple(sizes),
        trustworthiness=measures[0],
        trustworthiness_errors=measures[1],
        stress=measures[2],
        stress_errors=measures[3],
        score=score,
        ranking="the list passed as ranking" if fixed else type(fitted.relevance_).__name__,
        reducer=type(reducer).__name__,
        metric=metric,
        n_samples=schema.n_rows,
        n_mapped=n_mapped,
        n_compared=n_compared,
        duplicates={names[j]: names[first] for j, first in sorted(duplicates.items())},
    )


class _FoldRanking(RankSelector):
    """A ranking for every fold: a column without values in the training rows of a fold is excluded there, so a set has fewer.

    Sets of several sizes are compared and none is kept, so that ties have no warning.
    """

    def _tie_warnings(self, schema: Schema) -> list[Verdict]:  # noqa: ARG002
        return []

    def _supports_by_size(self, table: Table, sizes: Sequence[int] | None) -> dict[int, Masks]:
        assert sizes is not None
        n_used = len(table.schema.used)
        found = super()._supports_by_size(table, sorted({min(size, n_used) for size in sizes}))
        return {size: found[min(size, n_used)] for size in sizes}


class _FixedOrder(RowRelevance):
    """Columns in an order that is passed: the scores fall along it."""

    needs_target: ClassVar[bool] = False

    def __init__(self, order: tuple[int, ...]) -> None:
        self.order = order

    def score(self, table: Table) -> Floats:
        scores = np.zeros(table.schema.n_columns)
        scores[list(self.order)] = np.arange(len(self.order), 0, -1)
        return scores


def _make_selector(ranking: Any, schema: Schema) -> _FoldRanking:
    if isinstance(ranking, RankSelector):
        ranking = ranking.relevance
    if ranking is None or isinstance(ranking, str | Relevance):
        return _FoldRanking(ranking)
    if not isinstance(ranking, Iterable):
        raise TypeError(f"ranking must be a RankSelector, a criterion, its name or a list of columns, got {ranking!r}.")
    order: list[int] = []
    for column in expand_dates(schema, list(ranking)):
        j = _column_number(column, schema)
        if j in order:
            raise ValueError(f"ranking contains column {schema.names[j]!r} twice; list each column once.")
        order.append(j)
    missing = [schema.names[j] for j in schema.used.tolist() if j not in order]
    if missing:
        raise ValueError(
            f"ranking lacks {len(missing):,} of the {len(schema.used):,} used columns, such as {missing[0]!r}; list all of them, "
            "the best first."
        )
    return _FoldRanking(_FixedOrder(tuple(order)))


def _column_number(column: Any, schema: Schema) -> int:
    if isinstance(column, str):
        if column not in schema.names:
            raise ValueError(f"ranking contains {column!r}, which is not a column{suggestion(column, schema.names)}.")
        return list(schema.names).index(column)
    if isinstance(column, bool) or not isinstance(column, Integral):
        raise TypeError(f"ranking must contain column names or whole numbers, got {column!r}.")
    if not 0 <= int(column) < schema.n_columns:
        raise ValueError(f"ranking contains column {column}; columns are numbered from 0 to {schema.n_columns - 1}.")
    return int(column)


def _check_numbers(numbers: Iterable[int] | None, n_used: int) -> list[int]:
    """Return the numbers of columns in ascending order, with that of all columns."""
    if not n_used:
        raise DataError("No column of the table can be used.")
    if numbers is None:
        # Up to as many columns as numbers, the geometric grid would leave out some and repeat others.
        spaced = np.geomspace(1, n_used, _N_NUMBERS) if n_used > _N_NUMBERS else np.arange(1, n_used + 1)
        return sorted({round(number) for number in spaced.tolist()})
    if isinstance(numbers, str) or not isinstance(numbers, Iterable):
        raise TypeError(f"numbers must be a list, got {numbers!r}. Put it in brackets: [{numbers}].")
    checked = {check_integer("numbers", number, low=1, high=n_used) for number in numbers}
    if not checked:
        raise ValueError("numbers is an empty list; pass at least one number, or None.")
    return sorted(checked | {n_used})


def _check_reducer(reducer: Reducer | None, metric: str) -> Reducer:
    if metric == "precomputed":
        raise ValueError("metric='precomputed' has no columns to drop; pass the table and the metric of its distances.")
    if reducer is None:
        return PCA(2, standardize=True)
    if not isinstance(reducer, Reducer):
        raise TypeError(f"reducer must be a map of tamiz.reduction such as PCA(2, standardize=True), got {reducer!r}.")
    return reducer


def _score(
    table: Table, selector: RankSelector, estimator: Any, scoring: Any, sizes: list[int], cv: Any, seed: int
) -> tuple[RankSelector, ScoreCurve]:
    """Return the selector fitted on all rows, and the score by the number of columns."""
    schema = table.schema
    if estimator is None:
        estimator = "logistic" if schema.has_classes else "ridge"
    # An iterator of folds would be empty when it is read for the second time.
    cv = list(cv) if isinstance(cv, Iterable) and not hasattr(cv, "split") else cv
    search = SizeSearchCV(selector, estimator, sizes=sizes, cv=cv, scoring=scoring, random_state=seed)
    if scoring is None:
        # The folds do not depend on the score.
        with capture_warnings():
            task = search.make_evaluator(table).task
        scoring = _default_scoring(task, resolve_model(estimator, schema).supports_roc_auc)
        search.set_params(scoring=scoring)
    search.fit(table)
    evaluator = search.make_evaluator(table)
    folds = evaluator.task.folds
    if len(folds) < 2:
        raise ValueError(f"cv must have at least 2 folds for standard errors, got {len(folds)}.")
    empty = Candidates.from_masks(np.zeros((1, schema.n_columns), dtype=bool))
    results = search.cv_results_
    fold_scores = np.column_stack([results[f"split{fold}_test_score"] for fold in range(len(folds))])
    return search.selector_, ScoreCurve(
        name=f"{_SCORE_LABELS[scoring]} of {evaluator.task.label}" if scoring in _SCORE_LABELS else search.score_name_,
        negligible_loss=_NEGLIGIBLE_LOSS if scoring in _SCORE_LABELS else 0.0,
        folds_description=folds.description or f"{len(folds)} folds",
        n_samples=evaluator.task.table.schema.n_rows,
        fold_scores=fold_scores,
        baseline_fold_scores=evaluator.fold_scores(empty)[0],
        variance_factor=folds.variance_factor,
        ranked_in_folds=not isinstance(selector.relevance, _FixedOrder),
    )


def _default_scoring(task: CVTask, supports_roc_auc: Callable[[int], bool]) -> str:
    """Return the name of a score that does not depend on the frequencies of classes; R2 for a numeric target."""
    if not task.has_classes:
        return "r2"
    n_classes = len(np.unique(task.target))
    parts = (rows for fold in task.folds for rows in (fold.train, fold.test))
    if supports_roc_auc(n_classes) and all(len(np.unique(task.target[rows])) == n_classes for rows in parts):
        return "roc_auc" if n_classes == 2 else "roc_auc_ovr_weighted"
    return "balanced_accuracy"


def _measure_maps(
    table: Table, ranked: Indices, reducer: Reducer, sizes: list[int], metric: str, seed: int
) -> tuple[Floats, int, int]:
    """Return the measures of the maps, of shape (4, n_numbers), and the numbers of mapped and of compared rows.

    The measures are trustworthiness and its error, stress and its error.
    """
    rng = np.random.default_rng(seed)
    rows_only, n = without_target(table), table.schema.n_rows
    if n < 3:
        raise DataError(f"X has {n} rows; a map has neighbours from 3 rows on.")
    max_rows = _MAX_QUADRATIC_ROWS if reducer.quadratic_cost else _MAX_MAPPED_ROWS
    if n > max_rows:
        rows_only, n = select_rows(rows_only, np.sort(rng.choice(n, max_rows, replace=False))), max_rows
    n_compared = n if n <= _MAX_EXACT_ROWS else _N_COMPARED
    measures = np.full((4, len(sizes)), np.nan)
    whole: list[Verdict] = []
    others: list[Verdict] = []
    # All columns first: what is wrong with the table is reported of the table.
    for at in progress.track_progress("Maps", range(len(sizes))[::-1], len(sizes)):
        kept = rows_only if sizes[at] == len(ranked) else select_columns(rows_only, ranked[: sizes[at]].tolist())
        label = f"Map of {sizes[at]:,} column{'s' * (sizes[at] > 1)}"
        with capture_warnings() as captured:
            try:
                embedding = _fit_map(reducer, kept)
            except ValueError as error:
                raise DataError(f"{label}: {error} Use other numbers=, or another reducer.") from error
            # A map that is one point has no distances.
            if (embedding != embedding[0]).any():
                found = quality(
                    rows_only,
                    embedding,
                    metric=metric,
                    n_neighbors=min(_N_NEIGHBORS, (n - 1) // 2),
                    sample=n_compared,
                    random_state=seed,
                )
                trust, stress = found["trustworthiness"], found["kruskal_stress"]
                measures[:, at] = trust.value, trust.error, stress.value, stress.error
        # The ranking has reported the excluded columns of the table.
        known = {*rows_only.schema.excluded_column_notes, *kept.schema.excluded_column_notes, *whole}
        new = [one for one in captured if one not in known]
        if kept is rows_only:
            whole = list(dict.fromkeys(new))
        else:
            others += [one.with_sentence(f"{label}: {one}") for one in new if not isinstance(one, ImputationNote)]
    # Maps of other numbers of columns usually repeat the first warning with other values.
    warn_user([*whole, *others[:1]])
    return measures, n, n_compared


def _fit_map(reducer: Reducer, kept: Table) -> NDArray[Any]:
    """Return the coordinates of a map, with at most as many coordinates as the columns have as numbers."""
    fresh = clone(reducer)
    n_components = fresh.get_params(deep=False).get("n_components")
    if isinstance(n_components, Integral) and not isinstance(n_components, bool):
        fresh.set_params(n_components=min(int(n_components), kept.schema.n_coordinates))
    return fresh.fit(kept).embedding_
