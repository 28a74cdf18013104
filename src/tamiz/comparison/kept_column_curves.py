"""Map quality and cross-validated score by the number of columns kept, the columns that can be dropped, and the picture of both."""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import stats

from tamiz.arrays import Floats, Masks
from tamiz.display import figures
from tamiz.runtime.validation import check_real

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
