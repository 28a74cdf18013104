"""What is to be said of a selection, in numbers and in words."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamiz.assessment.fold_scores import FoldScores
from tamiz.assessment.permutation_null import PermutationNull
from tamiz.assessment.set_stability import Stability, stability
from tamiz.statistics.base import Floats

# As many columns are named in the report as a reader takes in.
_MAX_NAMED = 12
_ROLES = {
    "baseline": ("baseline", "predicts the shares of the classes or the mean, without any column"),
    "nested": ("nested CV", "columns chosen again inside every fold"),
    "apparent": ("apparent", "columns chosen once with all rows, those tested among them"),
    "all_columns": ("all columns", "no column left out"),
}


# The score that decides in place of accuracy, which is high for no column where one class is frequent.
_ACCURACY_SUBSTITUTES = ("roc_auc", "roc_auc_ovr_weighted", "balanced_accuracy")


@dataclass(frozen=True)
class RoleScores:
    """One score of the columns that folds choose, of those that all rows choose, of no column and of all columns.

    Attributes
    ----------
    nested, apparent, baseline : FoldScores
    all_columns : FoldScores or None
    """

    nested: FoldScores
    apparent: FoldScores
    baseline: FoldScores
    all_columns: FoldScores | None

    def to_dict(self) -> dict[str, Any]:
        """Return the scores as JSON."""
        return {name: None if scores is None else scores.to_dict() for name, scores in vars(self).items()}


@dataclass(frozen=True, repr=False)
class SelectionReport:
    """How far the score of a selection can be trusted.

    Attributes
    ----------
    selector, model, scoring, folds_description : str
        What chose, what predicted, how that was scored and on which folds, in words.
    n_samples, n_columns : int
        Rows that are learned or tested, and columns.
    groups, time : str or None
        The names of the rows' groups or times, where folds respected them.
    names : tuple of str
        All columns.
    support : ndarray of shape (n_columns,), bool
        The columns chosen by all rows.
    merit : float or None
        What the search found them worth, in the unit of `merit_name`; None where the selector says nothing of that.
    merit_name, unit : str
    nested : FoldScores
        The honest score: columns chosen anew inside every fold, by the rows that are not tested.
    apparent : FoldScores
        The optimistic score: columns chosen once by all rows, then cross-validated on the same folds.
    baseline : FoldScores
        The score without any column.
    all_columns : FoldScores or None
        The score with every column; None where the rows did not fit in memory.
    fold_sets : ndarray of shape (n_folds, n_columns), bool
        The columns that every fold chose.
    candidate_mask : ndarray of shape (n_columns,), bool
        The columns that could be chosen.
    null : Null or None
        What the search finds for shuffled targets.
    notes : tuple of str
        What a reader of the numbers must know.
    seed : int or None
    other_scores : dict of RoleScores
        Other scores of the same predictions by their names: for classes the area under the ROC curve, balanced accuracy and
        accuracy, those among them that are not `scoring`.
    """

    selector: str
    model: str
    scoring: str
    folds_description: str
    n_samples: int
    n_columns: int
    groups: str | None
    time: str | None
    names: tuple[str, ...]
    support: NDArray[np.bool_]
    merit: float | None
    merit_name: str
    unit: str
    nested: FoldScores
    apparent: FoldScores
    baseline: FoldScores
    all_columns: FoldScores | None
    fold_sets: NDArray[np.bool_]
    candidate_mask: NDArray[np.bool_]
    null: PermutationNull | None
    notes: tuple[str, ...]
    seed: int | None
    other_scores: dict[str, RoleScores] = field(default_factory=dict)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns chosen by all rows."""
        return tuple(self.names[j] for j in np.flatnonzero(self.support).tolist())

    @property
    def optimism(self) -> float:
        """How much the optimistic score promises beyond the honest one."""
        return self.apparent.mean - self.nested.mean

    @property
    def frequencies(self) -> Floats:
        """The share of the folds that chose each column."""
        return self.fold_sets.mean(axis=0)

    @property
    def stability(self) -> Stability:
        """How much the sets of the folds are alike, among the columns that could be chosen; where none could, all are empty."""
        could = self.candidate_mask | self.fold_sets.any(axis=0)
        return stability(self.fold_sets[:, could] if could.any() else self.fold_sets)

    @property
    def deciding_score(self) -> str:
        """The name of the score that the verdict is about: `scoring`, but for accuracy the area under the ROC curve beside it."""
        if self.scoring != "accuracy":
            return self.scoring
        return next((name for name in _ACCURACY_SUBSTITUTES if name in self.other_scores), self.scoring)

    def scores_of(self, name: str) -> RoleScores:
        """Return the scores of one name, `scoring` or one of `other_scores`."""
        if name == self.scoring:
            return RoleScores(self.nested, self.apparent, self.baseline, self.all_columns)
        return self.other_scores[name]

    @property
    def beats_baseline(self) -> bool:
        """Whether the nested score that decides is above the baseline: the 95 % interval of the difference excludes 0."""
        scores = self.scores_of(self.deciding_score)
        gain = FoldScores(scores.nested.values - scores.baseline.values, scores.nested.variance_factor)
        return gain.interval[0] > 0

    @property
    def beats_chance(self) -> bool:
        """Whether shuffled targets do not show that luck finds as much; so too where none, or too few to tell, were searched."""
        return self.null is None or not self.null.explained_by_chance

    @property
    def verdict(self) -> str:
        """What the numbers come to, in one sentence."""
        names = list(dict.fromkeys([self.deciding_score, self.scoring, *self.other_scores]))
        scores = [f"{name} {self._score_pair(name)}" for name in names]
        scores[0] = f"{names[0]} {self._score_pair(names[0], ' without any column')} in nested cross-validation"
        measured = f"{'; '.join(scores)}; {self.n_samples:,} rows"
        if self.beats_baseline and not self.beats_chance:
            return f"The columns chosen predict better than none, but the search finds as much on shuffled targets: {measured}."
        if self.beats_baseline:
            return f"The columns chosen predict better than none: {measured}."
        if self.null is not None and self.null.explained_by_chance is False:
            return f"The search finds more than on shuffled targets, but what it gains is within its error: {measured}."
        return f"No gain over the baseline was found for the columns chosen: {measured}."

    def _score_pair(self, name: str, what: str = "") -> str:
        scores = self.scores_of(name)
        return f"{scores.nested.mean:.3g} ({scores.baseline.mean:.3g}{what})"

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON knows it."""
        order = np.argsort(-self.frequencies, kind="stable")
        listed = [j for j in order.tolist() if self.fold_sets[:, j].any() or self.support[j]]
        shares = self.frequencies
        return {
            "selector": self.selector,
            "predictor": self.model,
            "scoring": self.scoring,
            "folds": self.folds_description,
            "n_samples": self.n_samples,
            "n_columns": self.n_columns,
            "groups": self.groups,
            "time": self.time,
            "columns": list(self.columns),
            "merit": self.merit,
            "merit_name": self.merit_name,
            "unit": self.unit,
            "scores": {name: None if scores is None else scores.to_dict() for name, scores in self._scores().items()},
            "beside": [{"id": name, "scores": scores.to_dict()} for name, scores in self.other_scores.items()],
            "deciding_score": self.deciding_score,
            "optimism": self.optimism,
            "frequencies": [
                {"name": self.names[j], "share": float(shares[j]), "chosen": bool(self.support[j])} for j in listed
            ],
            "stability": {**vars(self.stability), "sentence": self.stability.sentence},
            "null": None if self.null is None else self.null.to_dict(),
            "helps": self.beats_baseline,
            "beats_chance": self.beats_chance,
            "verdict": self.verdict,
            "notes": list(self.notes),
            "seed": self.seed,
        }

    def _scores(self) -> dict[str, FoldScores | None]:
        return {name: getattr(self, name) for name in _ROLES}

    def _heading(self) -> str:
        return (
            f"Selection report: {self.selector}, {int(self.support.sum()):,} of {self.n_columns:,} columns of "
            f"{self.n_samples:,} rows; {self.model}, {self.folds_description}"
        )

    def _lines(self) -> list[tuple[str, str, str]]:
        lines = [("chosen", _join_names(self.columns) or "no column", "by all rows")]
        if self.merit is not None:
            lines.append((self.merit_name, f"{self.merit:.4g} {self.unit}".strip(), "what the search saw"))
        for name, scores in self._scores().items():
            label, meaning = _ROLES[name]
            told = "not found" if scores is None else f"{scores.mean:.4f} ± {scores.standard_error:.4f}"
            lines.append((f"{self.scoring}, {label}", told, meaning))
        lines.append(("optimism", f"{self.optimism:.4f}", "apparent less nested CV"))
        lines.append(("stability", f"{self.stability.estimate:.2f}", self.stability.sentence))
        n = len(self.fold_sets)
        often = [j for j in np.argsort(-self.frequencies, kind="stable").tolist() if self.fold_sets[:, j].any()]
        counts = [f"{self.names[j]} {int(self.fold_sets[:, j].sum())}" for j in often]
        lines.append((f"chosen in, of {n} folds", _join_names(counts) or "no column in any", ""))
        if self.null is not None:
            null = self.null
            lines.append(
                (
                    "shuffled targets",
                    f"p = {null.p_value:.2g}",
                    f"{null.statistic} {null.observed:.4g}; {null.median:.4g} in the median and {null.null_values.max():.4g} at most "
                    f"for {len(null.null_values)} target{'s' * (len(null.null_values) != 1)} {null.description}",
                )
            )
        return lines

    def __repr__(self) -> str:
        lines = self._lines()
        widths = [max(len(line[place]) for line in lines if len(line[place]) <= 40) for place in range(2)]
        table = [f"{name:{widths[0]}}  {value:{widths[1]}}  {meaning}".rstrip() for name, value, meaning in lines]
        return "\n".join([self._heading(), *table, self.verdict, *self.notes])

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in line)}</tr>" for line in self._lines())
        said = "".join(f"<p>{escape(sentence)}</p>" for sentence in (self.verdict, *self.notes))
        return f"<table><caption>{escape(self._heading())}</caption><tbody>{rows}</tbody></table>{said}"


def _join_names(words: Any) -> str:
    listed = list(words)
    more = f", and {len(listed) - _MAX_NAMED:,} more" if len(listed) > _MAX_NAMED else ""
    return ", ".join(listed[:_MAX_NAMED]) + more
