"""Results of evaluations by models: nested cross-validation of a selection, compared selections, and the noise experiment."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal, TypeAlias

import numpy as np

from tamiz.arrays import Floats, Indices, Masks
from tamiz.assessment.findings import FoldScores, SelectionErrorRates, Stability, stability
from tamiz.runtime.codec import JsonResult, check_known, check_lengths
from tamiz.runtime.result_tables import PrintedResult
from tamiz.runtime.user_warnings import list_names, quote_name
from tamiz.selection.subset_record import PermutationNull

ALL_COLUMNS = "all_columns"
# The columns that a noise experiment adds.
Added: TypeAlias = Literal["random", "copies"]
# Scores by model, of shape (n_draws, n_numbers, n_folds).
_ModelScores: TypeAlias = dict[str, Floats]
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


@dataclass(frozen=True, eq=False)
class RoleScores(JsonResult):
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


@dataclass(frozen=True, repr=False, eq=False)
class SelectionReport(PrintedResult, JsonResult):
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

    json_properties: ClassVar[tuple[str, ...]] = (
        *("columns", "optimism", "deciding_score", "beats_baseline", "beats_chance"),
        *("frequency_by_name", "stability", "verdict"),
    )

    selector: str
    model: str
    scoring: str
    folds_description: str
    n_samples: int
    n_columns: int
    groups: str | None
    time: str | None
    names: tuple[str, ...]
    support: Masks
    merit: float | None
    merit_name: str
    unit: str
    nested: FoldScores
    apparent: FoldScores
    baseline: FoldScores
    all_columns: FoldScores | None
    fold_sets: Masks
    candidate_mask: Masks
    null: PermutationNull | None
    notes: tuple[str, ...]
    seed: int | None
    other_scores: dict[str, RoleScores] = field(default_factory=dict)
    error_rates: SelectionErrorRates | None = None

    def __post_init__(self) -> None:
        columns = self.fold_sets.shape[-1]
        check_lengths(names=self.names, support=self.support, candidates=self.candidate_mask, columns=columns)
        check_lengths(folds=self.nested.values, sets=self.fold_sets)

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
    def frequency_by_name(self) -> dict[str, float]:
        """The share of the folds that select a column, for the selected columns and those of any fold, in falling order."""
        order, shares = np.argsort(-self.frequencies, kind="stable").tolist(), self.frequencies
        return {self.names[j]: float(shares[j]) for j in order if shares[j] or self.support[j]}

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
    def conclusion(self) -> str:
        """Whether the selection predicts new rows, without the numbers."""
        scores = self.scores_of(self.deciding_score)
        if self.beats_baseline:
            gain, joined = "The selected columns predict better than none", ", but"
        elif self.null and self.null.explained_by_chance is False and scores.nested.mean > scores.baseline.mean:
            return "The search finds more than on shuffled targets, but the gain in score is within its error"
        else:
            gain, joined = "The selected columns show no gain over the baseline", ", and"
        return gain if self.beats_chance else f"{gain}{joined} the search finds as much on shuffled targets"

    @property
    def verdict(self) -> str:
        """The conclusion in one sentence."""
        names = list(dict.fromkeys([self.deciding_score, self.scoring, *self.other_scores]))
        scores = [f"{name} {self._score_pair(name)}" for name in names]
        scores[0] = f"{names[0]} {self._score_pair(names[0], ' without any column')} in nested cross-validation"
        return f"{self.conclusion}: {'; '.join(scores)}; {self.n_samples:,} rows."

    def _score_pair(self, name: str, what: str = "") -> str:
        scores = self.scores_of(name)
        return f"{scores.nested.mean:.3g} ({scores.baseline.mean:.3g}{what})"

    def _scores(self) -> dict[str, FoldScores | None]:
        return {name: getattr(self, name) for name in _ROLES}

    def _heading(self) -> str:
        return (
            f"Selection report: {self.selector}, {int(self.support.sum()):,} of {self.n_columns:,} columns of "
            f"{self.n_samples:,} rows; {self.model}, {self.folds_description}"
        )

    def lines(self) -> list[tuple[str, str, str]]:
        """Return the name, the value and the meaning of every score and number, as text."""
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
        return [self.verdict, *([] if rates is None else rates._sentences()), *self.notes]


@dataclass(frozen=True, eq=False)
class CandidateSelection(JsonResult):
    """One of several compared selections.

    Attributes
    ----------
    label : str
    columns : tuple of str
        The columns selected on all rows.
    fold_sets : ndarray of shape (n_folds, n_table_columns), bool
        The columns selected on the training rows of every fold.
    scores : dict of FoldScores
        By (model, scorer).
    """

    json_properties: ClassVar[tuple[str, ...]] = ("n_chosen",)

    label: str
    columns: tuple[str, ...]
    fold_sets: Masks
    scores: dict[tuple[str, str], FoldScores]

    @property
    def n_chosen(self) -> tuple[int, ...]:
        return tuple(self.fold_sets.sum(axis=1).tolist())

    @property
    def mean_size(self) -> float:
        """The mean number of columns selected in a fold."""
        return float(self.fold_sets.sum(axis=1).mean())


@dataclass(frozen=True, eq=False)
class ScoredPath(JsonResult):
    """The scores of a candidate's sets, by growing number of columns.

    Attributes
    ----------
    columns : tuple of tuple of str
        The columns of each set, selected on all rows.
    scores : tuple of FoldScores
        The scores of the model and the scorer that decide.
    changes : tuple of FoldScores
        The scores less those on all columns.
    """

    columns: tuple[tuple[str, ...], ...]
    scores: tuple[FoldScores, ...]
    changes: tuple[FoldScores, ...]

    def __post_init__(self) -> None:
        check_lengths(sets=self.columns, scores=self.scores, changes=self.changes)


@dataclass(frozen=True, eq=False)
class Recommendation(JsonResult):
    """Selections compared on the same folds, and the one to keep.

    Attributes
    ----------
    candidates : dict of CandidateSelection
        By id; "all_columns" is the selection of all columns.
    recommended : str
        The id of the recommended candidate.
    paths : dict of ScoredPath
        By id: the scores of all compared sets of each candidate.
    score : FoldScores
        The score of the model that decides on the recommended columns, with the choice included: in each fold it is that of the set
        that the other folds choose.
    apparent : FoldScores
        The score of this model on the recommended columns, which were selected on all rows.
    fold_sets : ndarray of shape (n_folds, n_table_columns), bool
        The columns of the set that the other folds choose, selected on the training rows of each fold.
    names : tuple of str
        The columns of the table.
    margin : float
        The loss that has to be ruled out: 5 % of what the reference leaves unexplained, at least 0.01.
    deciding_model : str
        The name of the model with the best score on all columns, under which the choice is made.
    models : dict of str
        The labels of the models by name.
    scorings : tuple of str
        scikit-learn's names of the scores; the first one decides.
    baseline : dict of FoldScores
        The baseline score (without any column) by scorer.
    folds_description : str
        How the folds were drawn.
    n_samples, n_columns : int
        Rows that are in some fold, and columns that are not excluded.
    notes : tuple of str
    seed : int or None
    requested : bool
        Whether the candidate was requested (`recommend`), and not found by the rule.
    chance : str
        Why the selection may be chance, in a sentence; "" if it is not. It is tested by `study` only.
    """

    json_properties: ClassVar[tuple[str, ...]] = ("columns", "changes", "detectable_loss", "frequencies", "stability")

    candidates: dict[str, CandidateSelection]
    recommended: str
    paths: dict[str, ScoredPath]
    score: FoldScores
    apparent: FoldScores
    fold_sets: Masks
    names: tuple[str, ...]
    margin: float
    deciding_model: str
    models: dict[str, str]
    scorings: tuple[str, ...]
    baseline: dict[str, FoldScores]
    folds_description: str
    n_samples: int
    n_columns: int
    notes: tuple[str, ...]
    seed: int | None
    requested: bool = False
    chance: str = ""

    def __post_init__(self) -> None:
        for name in (self.recommended, ALL_COLUMNS, *self.paths):
            check_known("the candidate", name, self.candidates)
        check_known("the model", self.deciding_model, self.models)
        if not self.scorings or self.baseline.keys() != set(self.scorings):
            raise ValueError("no scores, or baseline scores by other scorers")
        for name, one in self.candidates.items():
            if one.scores.keys() != {(model, scoring) for model in self.models for scoring in self.scorings}:
                raise ValueError(f"the candidate {name!r:.60} is not scored by every model and scorer")
            check_lengths(names=self.names, columns=one.fold_sets.shape[-1])
            for scores in one.scores.values():
                check_lengths(folds=self.score.values, scores=scores.values)
        check_lengths(names=self.names, columns=self.fold_sets.shape[-1])

    @property
    def columns(self) -> tuple[str, ...]:
        """The recommended columns; none if they may be chance."""
        return () if self.chance else self.candidates[self.recommended].columns

    @property
    def keeps_all(self) -> bool:
        """Whether all columns are recommended."""
        return self.recommended == ALL_COLUMNS

    @property
    def all_columns(self) -> CandidateSelection:
        """The selection that the others are compared with."""
        return self.candidates[ALL_COLUMNS]

    @property
    def deciding(self) -> tuple[str, str]:
        """The model and the scorer that decide."""
        return self.deciding_model, self.scorings[0]

    @property
    def gain(self) -> FoldScores:
        """`score` minus the baseline score, in every fold."""
        return FoldScores(self.score.values - self.baseline[self.scorings[0]].values, self.score.variance_factor)

    @property
    def detectable_loss(self) -> float | None:
        """The loss of the model that decides that is found with a power of 80 % on these rows.

        It is that of the recommended columns, or of the best smaller selection if all are recommended; None if there is none.
        """
        compared = self.nearest if self.keeps_all else self.recommended
        return None if compared is None else self.score_change(compared, self.deciding_model).detectable

    @property
    def nearest(self) -> str | None:
        """The id of the candidate with the best score of the model that decides, but for all columns; None if there is none."""
        others = [name for name in self.candidates if name != ALL_COLUMNS]
        return max(others, key=lambda name: self.candidates[name].scores[self.deciding].mean, default=None)

    @property
    def frequencies(self) -> dict[str, float]:
        """The share of the folds whose set contains a column, for the recommended columns and those of any fold."""
        return self.report.frequency_by_name

    @property
    def stability(self) -> Stability:
        """The stability of the sets of the folds, among the columns that are not excluded."""
        return self.report.stability

    @property
    def report(self) -> SelectionReport:
        """The choice as a selection report: it is repeated without each fold. Groups and time are in `folds_description` only."""
        one, scoring = self.candidates[self.recommended], self.scorings[0]
        kept = set(one.columns)
        return SelectionReport(
            selector=one.label,
            model=self.models[self.deciding_model],
            scoring=scoring,
            folds_description=self.folds_description,
            n_samples=self.n_samples,
            n_columns=len(self.names),
            groups=None,
            time=None,
            names=self.names,
            support=np.array([name in kept for name in self.names], dtype=bool),
            merit=None,
            merit_name="",
            unit="",
            nested=self.score,
            apparent=self.apparent,
            baseline=self.baseline[scoring],
            all_columns=self.all_columns.scores[self.deciding],
            fold_sets=self.fold_sets,
            candidate_mask=self.all_columns.fold_sets[0],
            null=None,
            notes=self.notes,
            seed=self.seed,
        )

    @property
    def changes(self) -> dict[str, dict[tuple[str, str], FoldScores]]:
        """The difference of the scores of every candidate from those of all columns, by (model, scorer)."""
        return {
            name: {pair: self.score_change(name, *pair) for pair in one.scores} for name, one in self.candidates.items()
        }

    def score_change(self, candidate: str, model: str, scoring: str | None = None) -> FoldScores:
        """Return the score of a model on a candidate's columns minus its score on all columns, in every fold."""
        key = model, scoring or self.scorings[0]
        one, other = self.candidates[candidate].scores[key], self.candidates[ALL_COLUMNS].scores[key]
        return FoldScores(one.values - other.values, one.variance_factor)

    def __repr__(self) -> str:
        scoring = self.scorings[0]
        baseline = self.baseline[scoring].mean
        head = f"{scoring} of {self.n_samples:,} rows, {self.folds_description}; without any column {baseline:.3f}"
        width = max(len(one.label) for one in self.candidates.values())
        lines = [f"  {'':{width}}  columns  " + "  ".join(f"{label:>19}" for label in self.models.values())]
        for name, one in self.candidates.items():
            mark = "*" if name == self.recommended else " "
            scores = "  ".join(f"{one.scores[model, scoring].mean:19.3f}" for model in self.models)
            lines.append(f"{mark} {one.label:{width}}  {one.mean_size:7.1f}  {scores}")
        return "\n".join(
            [head, *lines, f"* recommended: {', '.join(map(quote_name, self.columns)) or 'no column'}", *self.notes]
        )


@dataclass(frozen=True, eq=False)
class NoiseExperiment(JsonResult):
    """Scores of models as uninformative columns are added.

    Attributes
    ----------
    n_added : tuple of int
        Numbers of added columns, ascending from 0.
    models : dict of str
        The labels of the models by name.
    scoring, folds_description : str
    n_samples, n_columns : int
        Rows that are in some fold, and columns that are not excluded, before any is added.
    n_draws : int
        The number of draws of random columns.
    copied_column : str or None
        The name of the copied column: the one of at most 20 levels with the highest merit. None if no column has a positive merit.
    random_scores, copies_scores : dict of ndarray of shape (n_draws, n_numbers, n_folds)
        Scores on all columns by model; n_draws is 1 for copies.
    selector : str
        The label of the selector.
    selection_n_added : tuple of int
        Numbers of added columns for which columns were selected.
    random_selected_scores, copies_selected_scores : dict of ndarray of shape (1, n_selection_numbers, n_folds)
        Scores on the selected columns, for the first draw.
    n_added_selected : dict of ndarray of shape (n_selection_numbers, n_folds)
        "random", "copies": how many of the added columns were selected.
    variance_factor : float
        As in `FoldScores`.
    notes : tuple of str
    seed : int or None
    """

    n_added: tuple[int, ...]
    models: dict[str, str]
    scoring: str
    folds_description: str
    n_samples: int
    n_columns: int
    n_draws: int
    copied_column: str | None
    random_scores: _ModelScores
    copies_scores: _ModelScores
    selector: str
    selection_n_added: tuple[int, ...]
    random_selected_scores: _ModelScores
    copies_selected_scores: _ModelScores
    n_added_selected: dict[str, Indices]
    variance_factor: float
    notes: tuple[str, ...]
    seed: int | None

    def __post_init__(self) -> None:
        if not (self.n_added and self.selection_n_added):
            raise ValueError("no columns were added")
        if self.n_added_selected.keys() != set(self.added):
            raise ValueError(f"{', '.join(self.n_added_selected)} were added, not {', '.join(self.added)}")
        for added in self.added:
            check_lengths(selections=self.selection_n_added, selected=self.n_added_selected[added])
            for selected, numbers in ((False, self.n_added), (True, self.selection_n_added)):
                found = self._scores(added, selected=selected)
                if found.keys() != self.models.keys():
                    raise ValueError(f"scores of {', '.join(found)} for the models {', '.join(self.models)}")
                for values in found.values():
                    if values.ndim != 3 or values.shape[1] != len(numbers):
                        raise ValueError(f"scores of shape {values.shape} for {len(numbers)} numbers of added columns")

    @property
    def added(self) -> tuple[Added, ...]:
        """The kinds of added columns."""
        return ("random",) if self.copied_column is None else ("random", "copies")

    def scores(self, added: str, model: str, *, selected: bool = False) -> list[FoldScores]:
        """Return the scores for every number of added columns, in each fold the mean over the draws.

        Parameters
        ----------
        added : {"random", "copies"}
        model : str
        selected : bool, default=False
            Whether to return the scores on the selected columns, at `selection_n_added`, instead of those on all columns.
        """
        values = self._scores(added, selected=selected)[model].mean(axis=0)
        return [FoldScores(one, self.variance_factor) for one in values]

    def _scores(self, added: str, *, selected: bool) -> _ModelScores:
        return getattr(self, f"{added}_selected_scores" if selected else f"{added}_scores")

    def score_changes(self, added: str, model: str, *, selected: bool = False) -> list[FoldScores]:
        """Return each score minus the score without added columns, fold by fold."""
        scores = self.scores(added, model, selected=selected)
        return [FoldScores(one.values - scores[0].values, self.variance_factor) for one in scores]

    def __repr__(self) -> str:
        width = max(map(len, self.models.values())) + len(", selected")
        lines = [f"{self.scoring} as columns are added; {self.folds_description}, {self.n_samples:,} rows"]
        for added in self.added:
            named = "random columns" if added == "random" else f"copies of {self.copied_column}"
            lines.append(f"{named:{width}}  {'  '.join(f'{n:>5}' for n in self.n_added)}")
            for name, label in self.models.items():
                lines.append(f"{label:{width}}  {'  '.join(f'{one.mean:5.3f}' for one in self.scores(added, name))}")
                at = dict(zip(self.selection_n_added, self.scores(added, name, selected=True), strict=True))
                values = "  ".join(f"{at[n].mean:5.3f}" if n in at else " " * 5 for n in self.n_added)
                lines.append(f"{f'{label}, selected':{width}}  {values}".rstrip())
        return "\n".join([*lines, *self.notes])
