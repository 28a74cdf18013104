"""Map quality and cross-validated score by the number of columns kept, and the columns that can be dropped."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from numbers import Integral
from textwrap import fill
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from sklearn.base import clone

from tamiz.arrays import Floats, Indices, Masks
from tamiz.criteria.base import Relevance, RowRelevance
from tamiz.display import figures
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
from tamiz.runtime.validation import check_integer, check_real
from tamiz.runtime.verdicts import Verdict
from tamiz.search.base import Candidates
from tamiz.selection.rank_selector import RankSelector
from tamiz.selection.size_search import SizeSearchCV
from tamiz.table.base import Table
from tamiz.table.date_parts import expand_dates
from tamiz.table.duplicate_detection import compute_fingerprints, find_duplicate_columns
from tamiz.table.factory import as_table
from tamiz.table.schema import Schema
from tamiz.table.views import select_columns, select_rows, without_target

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# The trustworthiness of a random map is about 0.5. A map of all columns that is nearer to 0.5 than to 1 represents the rows so
# badly that it does not show which columns they need.
_MIN_TRUSTWORTHINESS = 0.75
# More numbers of columns than these are not all written below the axis.
_MAX_TICKS = 12
# A baseline score farther below the curve than so many times its height is not drawn.
_MAX_STRETCH = 2.0


@dataclass(frozen=True, eq=False)
class ScoreCurve:
    """The cross-validated score of a model by the number of columns kept; larger is better.

    Attributes
    ----------
    name : str
        Score and model, such as "ROC AUC of logistic regression".
    negligible_loss : float
        A loss that counts as negligible even if the standard error of the best score is smaller.
    folds_description : str
    n_samples : int
        Rows that are in some fold.
    fold_scores : ndarray of shape (n_numbers, n_folds)
        Minus infinity for a number of columns on which the model cannot be fitted.
    baseline_fold_scores : ndarray of shape (n_folds,)
        Scores on the same folds of predicting without columns: the class frequencies, or the mean.
    variance_factor : float
        The variance of the mean score divided by the variance of a fold's score: 1 / J + n_test / n_train for J folds.
    ranked_in_folds : bool
        Whether the columns are ranked in every fold, on its training rows; else one ranking serves all folds.
    """

    name: str
    negligible_loss: float
    folds_description: str
    n_samples: int
    fold_scores: Floats
    baseline_fold_scores: Floats
    variance_factor: float
    ranked_in_folds: bool

    @property
    def means(self) -> Floats:
        """The mean score over the folds, for every number of columns."""
        return self.fold_scores.mean(axis=1)

    @property
    def errors(self) -> Floats:
        """The standard error of each mean, corrected for the overlap of training sets (Nadeau and Bengio); NaN without a score."""
        finite = np.where(np.isfinite(self.fold_scores), self.fold_scores, np.nan)
        return np.sqrt(self.variance_factor * finite.var(axis=1, ddof=1))

    @property
    def baseline(self) -> float:
        return float(self.baseline_fold_scores.mean())

    @property
    def best(self) -> int:
        """The position of the best mean; of equal ones that of the fewest columns."""
        return int(np.argmax(self.means))

    @property
    def gain_interval(self) -> tuple[float, float]:
        """The 99 % confidence interval of the best mean minus the baseline score, fold by fold, by Student's t.

        Like the standard errors it is corrected for the overlap of training sets. It is wide because the best of several numbers of
        columns was chosen: an interval of 95 % was above 0 for 7 to 13 % of tables of pure noise (60 to 150 rows, 12 to 200
        columns), this one for 2 to 7 %.
        """
        gains = self.fold_scores[self.best] - self.baseline_fold_scores
        half = float(stats.t.ppf(0.995, len(gains) - 1) * np.sqrt(self.variance_factor * gains.var(ddof=1)))
        return float(gains.mean()) - half, float(gains.mean()) + half

    @property
    def beats_baseline(self) -> bool:
        """Whether `gain_interval` is above 0."""
        return self.gain_interval[0] > 0

    @property
    def margin(self) -> float:
        """How far a score may be below the best: the standard error of the best, at least `negligible_loss`."""
        return max(float(self.errors[self.best]), self.negligible_loss)

    @property
    def is_near_best(self) -> Masks:
        """Whether the mean is above the baseline score and below the best by at most `margin`, for every number of columns."""
        return (self.means >= self.means[self.best] - self.margin) & (self.means > self.baseline)


@dataclass(frozen=True)
class DroppableColumns:
    """The columns that can be dropped, and why.

    Attributes
    ----------
    n_kept : int or None
        The recommended number of columns; None where none is recommended.
    columns : tuple of str
        The columns that can be dropped, in the order of the ranking; empty where none is recommended.
    n_for_score : int or None
        The number of columns that is enough for the score alone; None without a target, or where the score does not beat the
        baseline.
    finding : str
        The result in a few words.
    reason : str
        What was measured on how many rows, with the values that decide.
    """

    n_kept: int | None
    columns: tuple[str, ...]
    n_for_score: int | None
    finding: str
    reason: str

    def __str__(self) -> str:
        return f"{self.finding}: {self.reason}"


@dataclass(frozen=True, eq=False, repr=False)
class KeptColumnCurves:
    """Map quality and score of a model by the number of columns kept.

    Attributes
    ----------
    columns : tuple of str
        The used columns, the best first: a number of columns keeps the first ones.
    numbers : tuple of int
        Numbers of columns kept, ascending; the last is that of all columns.
    trustworthiness, trustworthiness_errors : ndarray of shape (n_numbers,)
        Trustworthiness of the map of the kept columns, evaluated against the distances of all columns, with its standard error: 0
        where every row was compared with all. Larger is better. NaN where the map is a single point.
    stress, stress_errors : ndarray of shape (n_numbers,)
        Kruskal's stress-1 at the best scale of the map, likewise. Smaller is better.
    score : ScoreCurve or None
        The cross-validated score; None without a target.
    ranking : str
        What ranked the columns: a criterion, or "the list passed as ranking".
    reducer : str
        The class of the maps.
    metric : str
        Metric of the distances of all columns.
    n_samples, n_mapped, n_compared : int
        Rows of the table, rows that were mapped, and rows that were compared with all mapped rows.
    duplicates : dict of str to str
        Columns that duplicate another one exactly. A ranking of single columns puts both side by side.
    """

    columns: tuple[str, ...]
    numbers: tuple[int, ...]
    trustworthiness: Floats
    trustworthiness_errors: Floats
    stress: Floats
    stress_errors: Floats
    score: ScoreCurve | None
    ranking: str
    reducer: str
    metric: str
    n_samples: int
    n_mapped: int
    n_compared: int
    duplicates: dict[str, str]

    def droppable(self, tolerance: float = 0.02) -> DroppableColumns:
        """Return the columns that neither the score nor the map needs.

        Parameters
        ----------
        tolerance : float, default=0.02
            How far the trustworthiness of the map of the kept columns may be below that of the map of all columns.

        Returns
        -------
        DroppableColumns
            The smallest compared number of columns whose mean score is above the baseline score and within one standard error of
            the best (or within 0.01, for scores that are at most 1), and whose map is within the tolerance. Where the map of all
            columns has a trustworthiness below 0.75 (a random map: 0.5), the score decides alone. Nothing is recommended where the
            best score is not above the baseline score (`ScoreCurve.gain_interval`), where neither score nor map decides, and where
            no number of columns satisfies both.
        """
        tolerance = check_real("tolerance", tolerance, low=0)
        score = self.score
        if len(self.columns) == 1:
            return self._decline(f"the table has one column, {self.columns[0]!r}")
        near_map = self.trustworthiness >= self.trustworthiness[-1] - tolerance
        if not self.map_decides:
            if score is None:
                return self._decline(f"{self._poor_map()}, and there is no target")
            near_map[:] = True
        if score is None:
            return self._recommend(int(np.argmax(near_map)), tolerance, None)
        if not score.beats_baseline:
            low, high = score.gain_interval
            return self._decline(
                f"the score does not beat the baseline. The best mean {score.name}, {self._best_score()}, minus the baseline "
                f"score, {score.baseline:.3f}, has a 99 % confidence interval that is not above 0: {low:.3f} to {high:.3f} "
                f"({self._folds()})"
            )
        enough, n_for_score = score.is_near_best & near_map, self.numbers[int(np.argmax(score.is_near_best))]
        if not enough.any():
            return self._decline(
                f"the {score.name} is at most {score.margin:.3f} below the best, {self._best_score()}, only with "
                f"{self._span(score.is_near_best)}, and the trustworthiness is at most {tolerance:g} below that with all columns, "
                f"{self.trustworthiness[-1]:.3f}, only with {self._span(near_map)}. Without columns the score is "
                f"{score.baseline:.3f} ({self._folds()})",
                n_for_score,
            )
        return self._recommend(int(np.argmax(enough)), tolerance, n_for_score)

    @property
    def map_decides(self) -> bool:
        """Whether the map of all columns has a trustworthiness of at least 0.75."""
        return bool(self.trustworthiness[-1] >= _MIN_TRUSTWORTHINESS)

    def _decline(self, why: str, n_for_score: int | None = None) -> DroppableColumns:
        return DroppableColumns(None, (), n_for_score, "No recommendation", f"{why}.{self._caution()}")

    def _recommend(self, at: int, tolerance: float, n_for_score: int | None) -> DroppableColumns:
        n, n_columns, score = self.numbers[at], len(self.columns), self.score
        are = "is" if n == 1 else "are"
        finding = "No column can be dropped" if n == n_columns else f"{n} of {n_columns} columns {are} enough"
        facts = []
        if score is not None:
            facts.append(
                f"the {score.name} is {score.means[at]:.3f} with a standard error of {score.errors[at]:.3f} (best: "
                f"{self._best_score()}, margin: {score.margin:.3f}; without columns: {score.baseline:.3f}; {self._folds()})"
            )
        if self.map_decides:
            error = self.trustworthiness_errors[at]
            uncertain = f" with a standard error of {error:.3f}" if self.n_compared < self.n_mapped else ""
            facts.append(
                f"the map of {self._mapped_rows()} has a trustworthiness of {self.trustworthiness[at]:.3f}{uncertain} (with all "
                f"columns: {self.trustworthiness[-1]:.3f}; tolerance: {tolerance:g})"
            )
        else:
            facts.append(f"the map does not decide, because {self._poor_map()}")
        if n == n_columns:
            facts.append("none of the smaller numbers compared is enough")
        reason = f"{'; '.join(facts)}.{_for_score(n_for_score, n)}{self._caution()}"
        return DroppableColumns(n, self.columns[n:], n_for_score, finding, reason)

    def _folds(self) -> str:
        assert self.score is not None
        return f"{self.score.folds_description}, {self.score.n_samples:,} rows"

    def _best_score(self) -> str:
        assert self.score is not None
        at = self.score.best
        return f"{self.score.means[at]:.3f} with {_count(self.numbers[at])}"

    def _mapped_rows(self) -> str:
        rows = f"{self.n_mapped:,} rows" if self.n_mapped == self.n_samples else f"{self.n_mapped:,} sampled rows"
        return (
            rows
            if self.n_compared == self.n_mapped
            else f"{rows}, of which {self.n_compared:,} were compared with all,"
        )

    def _poor_map(self) -> str:
        return (
            f"the map of all columns ({self.reducer}) of {self._mapped_rows()} has a trustworthiness of only "
            f"{self.trustworthiness[-1]:.3f}, and a random map has about 0.5"
        )

    def _span(self, among: Masks) -> str:
        numbers = [str(number) for number, one in zip(self.numbers, among.tolist(), strict=True) if one]
        listed = ", ".join(numbers[:-1])
        return f"{listed} or {numbers[-1]} columns" if listed else _count(int(numbers[0]))

    def _caution(self) -> str:
        texts = []
        if self.score is not None and not self.score.ranked_in_folds:
            texts.append(
                " The ranking was fixed before the folds, so the score is optimistic if the same rows were ranked."
            )
        if self.duplicates:
            one, other = next(iter(self.duplicates.items()))
            more = f" (and {len(self.duplicates) - 1:,} more duplicates)" if len(self.duplicates) > 1 else ""
            texts.append(
                f" {one!r} duplicates {other!r}{more}, and a ranking of single columns does not take that into account."
            )
        return "".join(texts)

    def __repr__(self) -> str:
        found = self.droppable()
        kept = "no recommendation" if found.n_kept is None else f"keep {found.n_kept}"
        return (
            f"<KeptColumnCurves: {_count(len(self.columns))} ranked by {self.ranking}, {self.n_samples:,} rows; {kept}>"
        )

    def plot(self, tolerance: float = 0.02) -> Figure:
        """Plot score, trustworthiness and stress against the number of columns kept, one above the other.

        Parameters
        ----------
        tolerance : float, default=0.02
            As in `droppable`, whose number of columns is marked.

        Returns
        -------
        matplotlib Figure
            Bars are standard errors. Above the dotted lines a number of columns satisfies `droppable`; the dashed line is the
            baseline score.
        """
        found, score = self.droppable(tolerance), self.score
        n_panels = 2 if score is None else 3
        figure, axes = figures.make_panels(n_panels, 1, width=6.4, height=2.0)
        panels = list(axes[:, 0])
        if score is not None:
            self._draw_score(panels[0], score)
        trust, stress = panels[-2:]
        self._draw_curve(
            trust, self.trustworthiness, self.trustworthiness_errors, "Trustworthiness\n(larger is better)"
        )
        if self.map_decides:
            limit = self.trustworthiness[-1] - tolerance
            trust.axhline(limit, label=f"{tolerance:g} below that with all columns", **_LIMIT_LINE)
        else:
            label = f"below {_MIN_TRUSTWORTHINESS} with all columns: does not decide"
            trust.plot([], [], linestyle="none", label=label)
        figures.add_legend(trust, loc="lower right")
        self._draw_curve(stress, self.stress, self.stress_errors, "Stress\n(smaller is better)")
        stress.set_ylim(0.0, 1.1 * np.nanmax(self.stress + self.stress_errors))
        for panel in panels:
            self._mark(panel, found.n_kept, is_last=panel is stress)
        # The values are those of the curves; only where nothing is marked, the reason is needed.
        marked = f"{found.finding} (vertical line).{_for_score(found.n_for_score, found.n_kept)}"
        note = fill(str(found) if found.n_kept is None else marked, 88)
        figures.add_note(panels[0], note.replace("$", r"\$"))
        figure.align_ylabels(panels)
        return figure

    def _draw_score(self, panel: Axes, score: ScoreCurve) -> None:
        means = np.where(np.isfinite(score.means), score.means, np.nan)
        self._draw_curve(
            panel, means, score.errors, f"{score.name.replace(' of ', chr(10) + 'of ')}\n(larger is better)"
        )
        limit = score.means[score.best] - score.margin
        panel.axhline(limit, label=f"{score.margin:.2g} below the best", **_LIMIT_LINE)
        lowest, highest = np.nanmin(means - score.errors), np.nanmax(means + score.errors)
        line, label = figures.REFERENCE_LINE, f"without columns: {score.baseline:.3f}"
        if min(lowest, limit) - score.baseline < _MAX_STRETCH * (highest - lowest):
            panel.axhline(score.baseline, label=label, **line)
        else:
            # The line would flatten the curve.
            panel.plot([], [], label=f"{label}, below this panel", **line)
        figures.add_legend(panel, loc="best")

    def _draw_curve(self, panel: Axes, values: Floats, errors: Floats, label: str) -> None:
        style = figures.line_style(len(self.numbers))
        panel.errorbar(self.numbers, values, yerr=errors, elinewidth=1.0, capsize=2, **style)
        panel.set_ylabel(label, fontsize="small")

    def _mark(self, panel: Axes, n_kept: int | None, *, is_last: bool) -> None:
        """Draw the axis of the numbers of columns, and mark the recommended one."""
        if n_kept is not None:
            panel.axvline(n_kept, color=figures.CLASS_COLORS[1], linewidth=5.0, alpha=0.35, zorder=0)
        panel.set_xscale("log")
        panel.set_xlim(self.numbers[0] / 1.12, self.numbers[-1] * 1.12)
        ticks = self.numbers
        if len(ticks) > _MAX_TICKS:
            ratios = np.log(np.divide.outer(np.geomspace(ticks[0], ticks[-1], _MAX_TICKS), ticks))
            ticks = tuple(ticks[k] for k in np.unique(np.abs(ratios).argmin(axis=1)).tolist())
        panel.set_xticks(ticks, map(str, ticks) if is_last else [""] * len(ticks))
        panel.set_xticks([], minor=True)
        if is_last:
            panel.set_xlabel(f"Number of columns kept, ranked by {self.ranking}")


_LIMIT_LINE: dict[str, Any] = {"color": figures.MUTED, "linestyle": ":", "linewidth": 1.2}


def _for_score(n_for_score: int | None, n_kept: int | None) -> str:
    """Return a sentence on the number of columns that the score alone needs, empty where it is that of the recommendation."""
    if n_for_score is None or n_kept is None or n_for_score >= n_kept:
        return ""
    return f" For the score alone, {_count(n_for_score)} would be enough."


def _count(n: int) -> str:
    return "1 column" if n == 1 else f"{n:,} columns"


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
