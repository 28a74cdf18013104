"""The result of nested cross-validation of a selection, as numbers, text and HTML."""

from __future__ import annotations

from dataclasses import dataclass, field
from html import escape
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamiz.assessment.error_rates import SelectionErrorRates
from tamiz.assessment.fold_scores import FoldScores
from tamiz.assessment.set_stability import Stability, stability
from tamiz.runtime.user_warnings import list_names, quote_name
from tamiz.selection.permutation_null import PermutationNull
from tamiz.statistics.base import Floats

# The largest number of columns that the text names.
_MAX_NAMED = 12
_ROLES = {
    "baseline": ("baseline", "class frequencies or the mean, without any column"),
    "nested": ("nested CV", "columns selected again inside every fold"),
    "apparent": ("apparent", "columns selected once on all rows, including test rows"),
    "all_columns": ("all columns", "no selection"),
}
# The scores that decide instead of accuracy, which is high without any column if one class is frequent.
_ACCURACY_SUBSTITUTES = ("roc_auc", "roc_auc_ovr_weighted", "balanced_accuracy")


@dataclass(frozen=True)
class RoleScores:
    """One score in four roles: nested CV, apparent, baseline, and with all columns.

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
    """Nested CV score, apparent score, baseline score, stability and permutation null distribution of a selection.

    Attributes
    ----------
    selector, model, scoring, folds_description : str
        The labels of the selector, the model and the score, and how the folds were drawn.
    n_samples, n_columns : int
        Rows that are in some fold, and columns.
    groups, time : str or None
        The names of the groups or the time, if folds respect them.
    names : tuple of str
        All columns.
    support : ndarray of shape (n_columns,), bool
        The columns selected on all rows.
    merit : float or None
        The merit of these columns; None if the selector has no merit.
    merit_name, unit : str
        The name and the unit of the merit.
    nested : FoldScores
        The nested CV score: columns are selected on the training rows of every fold.
    apparent : FoldScores
        The apparent score: columns are selected once on all rows, then cross-validated on the same folds.
    baseline : FoldScores
        The baseline score, without any column.
    all_columns : FoldScores or None
        The score with all columns; None if the rows do not fit in memory.
    fold_sets : ndarray of shape (n_folds, n_columns), bool
        The columns selected in every fold.
    candidate_mask : ndarray of shape (n_columns,), bool
        The columns that could be selected.
    null : PermutationNull or None
        The permutation null distribution.
    notes : tuple of str
    seed : int or None
    other_scores : dict of RoleScores
        Other scores of the same models by name: for classes those of ROC AUC, balanced accuracy and accuracy that are not
        `scoring`.
    error_rates : SelectionErrorRates or None
        True and false positive rates on semi-synthetic targets.
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
    error_rates: SelectionErrorRates | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns selected on all rows."""
        return tuple(self.names[j] for j in np.flatnonzero(self.support).tolist())

    @property
    def optimism(self) -> float:
        """The optimism: mean apparent score minus mean nested CV score."""
        return self.apparent.mean - self.nested.mean

    @property
    def frequencies(self) -> Floats:
        """The share of the folds in which each column was selected."""
        return self.fold_sets.mean(axis=0)

    @property
    def stability(self) -> Stability:
        """The stability of the sets of the folds, among the columns that could be selected."""
        selectable = self.candidate_mask | self.fold_sets.any(axis=0)
        return stability(self.fold_sets[:, selectable] if selectable.any() else self.fold_sets)

    @property
    def deciding_score(self) -> str:
        """The name of the deciding score: `scoring`, or ROC AUC instead of accuracy if it was computed."""
        if self.scoring != "accuracy":
            return self.scoring
        return next((name for name in _ACCURACY_SUBSTITUTES if name in self.other_scores), self.scoring)

    def scores_of(self, name: str) -> RoleScores:
        """Return the scores by name: `scoring` or one of `other_scores`."""
        if name == self.scoring:
            return RoleScores(self.nested, self.apparent, self.baseline, self.all_columns)
        return self.other_scores[name]

    @property
    def beats_baseline(self) -> bool:
        """Whether the 95 % confidence interval of nested CV score minus baseline score, of the deciding score, is above 0."""
        scores = self.scores_of(self.deciding_score)
        gain = FoldScores(scores.nested.values - scores.baseline.values, scores.nested.variance_factor)
        return gain.interval[0] > 0

    @property
    def beats_chance(self) -> bool:
        """Whether the permutation test has p <= 0.05; also True without a test or with too few permutations."""
        return self.null is None or not self.null.explained_by_chance

    @property
    def verdict(self) -> str:
        """The conclusion in one sentence."""
        names = list(dict.fromkeys([self.deciding_score, self.scoring, *self.other_scores]))
        scores = [f"{name} {self._score_pair(name)}" for name in names]
        scores[0] = f"{names[0]} {self._score_pair(names[0], ' without any column')} in nested cross-validation"
        measured = f"{'; '.join(scores)}; {self.n_samples:,} rows"
        if self.beats_baseline and not self.beats_chance:
            return f"The selected columns predict better than none, but the search finds as much on shuffled targets: {measured}."
        if self.beats_baseline:
            return f"The selected columns predict better than none: {measured}."
        if self.null is not None and self.null.explained_by_chance is False:
            return f"The search finds more than on shuffled targets, but the gain in score is within its error: {measured}."
        return f"The selected columns show no gain over the baseline: {measured}."

    def _score_pair(self, name: str, what: str = "") -> str:
        scores = self.scores_of(name)
        return f"{scores.nested.mean:.3g} ({scores.baseline.mean:.3g}{what})"

    def to_dict(self) -> dict[str, Any]:
        """Return the report as JSON types."""
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
            "error_rates": None if self.error_rates is None else self.error_rates.to_dict(),
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
        lines = [("selected", list_names(self.columns, limit=_MAX_NAMED) or "no column", "on all rows")]
        if self.merit is not None:
            lines.append((self.merit_name, f"{self.merit:.4g} {self.unit}".strip(), "of the search"))
        for name, scores in self._scores().items():
            label, meaning = _ROLES[name]
            value = "not computed" if scores is None else f"{scores.mean:.4f} ± {scores.standard_error:.4f}"
            lines.append((f"{self.scoring}, {label}", value, meaning))
        lines.append(("optimism", f"{self.optimism:.4f}", "apparent minus nested CV"))
        lines.append(("stability", f"{self.stability.estimate:.2f}", self.stability.sentence))
        n = len(self.fold_sets)
        by_frequency = [j for j in np.argsort(-self.frequencies, kind="stable").tolist() if self.fold_sets[:, j].any()]

        def count_folds(j: int) -> str:
            return f"{quote_name(self.names[j])} {int(self.fold_sets[:, j].sum())}"

        counts = list_names(by_frequency, limit=_MAX_NAMED, as_text=count_folds)
        lines.append((f"selected in, of {n} folds", counts or "no column in any", ""))
        if self.null is not None:
            null = self.null
            n_shuffles = len(null.null_values)
            values = f"{null.median:.4g} in the median and {null.null_values.max():.4g} at most"
            shuffles = f"{n_shuffles} target{'s' * (n_shuffles != 1)} {null.description}"
            meaning = f"{null.statistic} {null.observed:.4g}; {values} for {shuffles}"
            lines.append(("shuffled targets", f"p = {null.p_value:.2g}", meaning))
        if self.error_rates is not None:
            lines += self.error_rates.lines()
        return lines

    def _sentences(self) -> list[str]:
        rates = self.error_rates
        return [self.verdict, *([] if rates is None else [rates.verdict, *rates.notes]), *self.notes]

    def __repr__(self) -> str:
        lines = self._lines()
        widths = [max(len(line[k]) for line in lines if len(line[k]) <= 40) for k in range(2)]
        table = [f"{name:{widths[0]}}  {value:{widths[1]}}  {meaning}".rstrip() for name, value, meaning in lines]
        return "\n".join([self._heading(), *table, *self._sentences()])

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in line)}</tr>" for line in self._lines())
        paragraphs = "".join(f"<p>{escape(sentence)}</p>" for sentence in self._sentences())
        return f"<table><caption>{escape(self._heading())}</caption><tbody>{rows}</tbody></table>{paragraphs}"
