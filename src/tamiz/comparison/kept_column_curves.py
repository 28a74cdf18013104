"""Map quality and cross-validated score by the number of columns kept, the columns that can be dropped, and the picture of both."""

from __future__ import annotations

from dataclasses import dataclass
from textwrap import fill
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from tamiz.display import figures
from tamiz.runtime.validation import check_real
from tamiz.statistics.base import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# The trustworthiness of a random map is about 0.5. A map of all columns that is nearer to 0.5 than to 1 represents the rows so
# badly that it does not show which columns they need.
_MIN_TRUSTWORTHINESS = 0.75
# More numbers of columns than these are not all written below the axis.
_MAX_TICKS = 12


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
        """The mean baseline score."""
        return float(self.baseline_fold_scores.mean())

    @property
    def best(self) -> int:
        """The position of the best mean; of equal ones that of the fewest columns."""
        return int(np.argmax(self.means))

    @property
    def gain_interval(self) -> tuple[float, float]:
        """The 95 % confidence interval of the best mean minus the baseline score, fold by fold, by Student's t.

        Like the standard errors it is corrected for the overlap of training sets. It is divided among the numbers of columns
        (Bonferroni), because the best of them was chosen.
        """
        gains = self.fold_scores[self.best] - self.baseline_fold_scores
        level = 1 - 0.025 / len(self.fold_scores)
        half = float(stats.t.ppf(level, len(gains) - 1) * np.sqrt(self.variance_factor * gains.var(ddof=1)))
        return float(gains.mean()) - half, float(gains.mean()) + half

    @property
    def beats_baseline(self) -> bool:
        """Whether the interval of the gain is above 0."""
        return self.gain_interval[0] > 0

    @property
    def margin(self) -> float:
        """How far a score may be below the best: the standard error of the best, at least `negligible_loss`."""
        return max(float(self.errors[self.best]), self.negligible_loss)

    @property
    def is_near_best(self) -> NDArray[np.bool_]:
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
    reason : str
        What was measured on how many rows, with the values that decide.
    """

    n_kept: int | None
    columns: tuple[str, ...]
    reason: str

    def __str__(self) -> str:
        return self.reason


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
        What ranked the columns: a criterion, or "the order passed as ranking".
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
            return DroppableColumns(None, (), f"The table has one column, {self.columns[0]!r}: there is none to drop.")
        near_map = self.trustworthiness >= self.trustworthiness[-1] - tolerance
        if not self.map_decides:
            if score is None:
                return self._decline(f"{self._poor_map()}, and there is no target")
            near_map[:] = True
        if score is None:
            return self._recommend(int(np.argmax(near_map)), tolerance, "")
        if not score.beats_baseline:
            low, high = score.gain_interval
            return self._decline(
                f"the columns do not predict the target. The best mean {score.name}, {self._best_score()}, minus the baseline "
                f"score, {score.baseline:.3f}, has a 95 % confidence interval that includes 0: {low:.3f} to {high:.3f} "
                f"({self._folds()})"
            )
        enough = score.is_near_best & near_map
        if not enough.any():
            return self._decline(
                f"the {score.name} is at most {score.margin:.3f} below the best, {self._best_score()}, only with "
                f"{self._span(score.is_near_best)}, and the trustworthiness is at most {tolerance:g} below that with all columns, "
                f"{self.trustworthiness[-1]:.3f}, only with {self._span(near_map)}. Without columns the score is "
                f"{score.baseline:.3f} ({self._folds()})"
            )
        at, alone = int(np.argmax(enough)), int(np.argmax(score.is_near_best))
        return self._recommend(
            at, tolerance, f" For the score alone, {_count(self.numbers[alone])} would be enough." if alone < at else ""
        )

    @property
    def map_decides(self) -> bool:
        """Whether the map of all columns has a trustworthiness of at least 0.75."""
        return bool(self.trustworthiness[-1] >= _MIN_TRUSTWORTHINESS)

    def _decline(self, why: str) -> DroppableColumns:
        return DroppableColumns(None, (), f"No recommendation: {why}.{self._caution()}")

    def _recommend(self, at: int, tolerance: float, also: str) -> DroppableColumns:
        n, n_columns, score = self.numbers[at], len(self.columns), self.score
        if n == n_columns:
            head = f"No column can be dropped: of the compared numbers of columns, none below {n_columns} is enough"
        else:
            head = f"{n} of {n_columns} columns {'is' if n == 1 else 'are'} enough"
        facts = []
        if score is not None:
            facts.append(
                f"the {score.name} is {score.means[at]:.3f} with a standard error of {score.errors[at]:.3f} (best: "
                f"{self._best_score()}, margin: {score.margin:.3f}; without columns: {score.baseline:.3f}; {self._folds()})"
            )
        if self.map_decides:
            facts.append(
                f"the map of {self.n_mapped:,} rows has a trustworthiness of {self.trustworthiness[at]:.3f} (with all columns: "
                f"{self.trustworthiness[-1]:.3f}; tolerance: {tolerance:g})"
            )
        else:
            facts.append(f"the map does not decide, because {self._poor_map()}")
        return DroppableColumns(n, self.columns[n:], f"{head}: {'; '.join(facts)}.{also}{self._caution()}")

    def _folds(self) -> str:
        assert self.score is not None
        return f"{self.score.folds_description}, {self.score.n_samples:,} rows"

    def _best_score(self) -> str:
        assert self.score is not None
        at = self.score.best
        return f"{self.score.means[at]:.3f} with {_count(self.numbers[at])}"

    def _poor_map(self) -> str:
        return (
            f"the map of all columns ({self.reducer}, {self.n_mapped:,} rows) has a trustworthiness of only "
            f"{self.trustworthiness[-1]:.3f}, and a random map has about 0.5"
        )

    def _span(self, among: NDArray[np.bool_]) -> str:
        """Return the numbers of columns in words."""
        numbers = [str(number) for number, one in zip(self.numbers, among.tolist(), strict=True) if one]
        listed = ", ".join(numbers[:-1])
        return f"{listed} or {numbers[-1]} columns" if listed else _count(int(numbers[0]))

    def _caution(self) -> str:
        """Return what limits the score and the ranking."""
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
            figures.add_legend(trust, loc="lower right")
        self._draw_curve(stress, self.stress, self.stress_errors, "Stress\n(smaller is better)")
        stress.set_ylim(bottom=0.0)
        for panel in panels:
            self._mark(panel, found.n_kept, is_last=panel is stress)
        if found.n_kept is None:
            note = found.reason
        else:
            note = (
                f"Keep {found.n_kept} of {_count(len(self.columns))} (vertical line). Columns ranked by {self.ranking}."
            )
        figures.add_note(panels[0], fill(note, 95).replace("$", r"\$"))
        figure.align_ylabels(panels)
        return figure

    def _draw_score(self, panel: Axes, score: ScoreCurve) -> None:
        means = np.where(np.isfinite(score.means), score.means, np.nan)
        self._draw_curve(
            panel, means, score.errors, f"{score.name.replace(' of ', chr(10) + 'of ')}\n(larger is better)"
        )
        limit = score.means[score.best] - score.margin
        panel.axhline(limit, label=f"{score.margin:.2g} below the best", **_LIMIT_LINE)
        panel.axhline(score.baseline, label="without columns", **figures.REFERENCE_LINE)
        figures.add_legend(panel, loc="best")

    def _draw_curve(self, panel: Axes, values: Floats, errors: Floats, label: str) -> None:
        panel.errorbar(
            self.numbers,
            values,
            yerr=errors,
            color=figures.STRONG,
            marker="o" if len(self.numbers) <= figures.MAX_MARKERS else "",
            markersize=4,
            linewidth=1.5,
            elinewidth=1.0,
            capsize=2,
        )
        panel.set_ylabel(label, fontsize="small")

    def _mark(self, panel: Axes, n_kept: int | None, *, is_last: bool) -> None:
        """Draw the axis of the numbers of columns, and mark the recommended one."""
        if n_kept is not None:
            panel.axvline(n_kept, color=figures.CLASS_COLORS[1], linewidth=5.0, alpha=0.35, zorder=0)
        panel.set_xscale("log")
        panel.set_xlim(self.numbers[0] / 1.12, self.numbers[-1] * 1.12)
        at = np.unique(np.linspace(0, len(self.numbers) - 1, _MAX_TICKS).round().astype(int))
        ticks = [self.numbers[k] for k in at]
        panel.set_xticks(ticks, map(str, ticks) if is_last else [""] * len(ticks))
        panel.set_xticks([], minor=True)
        if is_last:
            panel.set_xlabel("Number of columns kept")


_LIMIT_LINE = {"color": figures.MUTED, "linestyle": ":", "linewidth": 1.2}


def _count(n: int) -> str:
    return "1 column" if n == 1 else f"{n:,} columns"
