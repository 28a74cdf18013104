"""Records of models: selections compared, the effect on models, the noise experiment, and the reliability of the selection."""

from dataclasses import dataclass
from typing import Literal

from tamiz.report.records.codec import Interval, Named, check_known, check_lengths
from tamiz.report.records.columns import SimilarColumn


@dataclass(frozen=True, kw_only=True, slots=True)
class Scores:
    """The mean of the scores of some folds, its 95 % confidence interval, and the score of each fold."""

    mean: float
    interval: Interval
    folds: tuple[float, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class FoldedScores(Scores):
    """Scores with their standard deviation over the folds."""

    standard_deviation: float


@dataclass(frozen=True, kw_only=True, slots=True)
class BaselineScore:
    """A score by its scikit-learn name, and that of a prediction without columns."""

    id: str
    baseline: Scores


@dataclass(frozen=True, kw_only=True, slots=True)
class CandidateScores(Named):
    """One of several compared selections; `scores` and `changes` are by score, then by model.

    `n_chosen` is the number of columns selected in each fold, and a change is the difference from the score with all columns.
    """

    columns: tuple[str, ...]
    n_chosen: tuple[int, ...]
    scores: tuple[tuple[FoldedScores, ...], ...]
    changes: tuple[tuple[FoldedScores, ...], ...]

    def __post_init__(self) -> None:
        check_folds(self.n_chosen)


@dataclass(frozen=True, kw_only=True, slots=True)
class SetScores:
    """A set of columns with the scores of the model that decides, and their differences from those on all columns."""

    columns: tuple[str, ...]
    score: FoldedScores
    change: FoldedScores


@dataclass(frozen=True, kw_only=True, slots=True)
class CandidatePath:
    """The sets of a candidate, by growing number of columns."""

    id: str
    sets: tuple[SetScores, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class ColumnDecision:
    """Whether a column is recommended, with the share of the folds that choose it, and what it adds to the other columns.

    `same_as` is the column that represents an equivalent one. `relevance` is the symmetric uncertainty with the target, and
    `similar` the most similar recommended columns. `p_value` is that of the conditional importance in the model that decides,
    adjusted for all columns.
    """

    name: str
    kept: bool
    share: float
    same_as: str | None
    relevance: float | None
    similar: tuple[SimilarColumn, ...]
    p_value: float | None


@dataclass(frozen=True, kw_only=True, slots=True)
class RecommendationRecord:
    """Selections compared by nested cross-validation under several models, and the recommended one; the first score decides.

    `deciding` is the id of the model under which the choice is made: a loss of more than `margin` is ruled out for the recommended
    columns, unless they are those of a search that was `requested`. `score` is its score on them with the choice included.
    `detectable_loss` is the loss on them (of all columns: on the nearest selection) that is found with a power of 80 %. Where
    `recommended` is None, `chance` is the sentence that states why the selection may be chance. `decisions` are why each column is
    recommended or not, unless a search was requested.
    """

    recommended: str | None
    requested: bool
    columns: tuple[str, ...]
    score: FoldedScores
    deciding: str
    margin: float
    detectable_loss: float | None
    folds: str
    n_samples: int
    n_columns: int
    models: tuple[Named, ...]
    scores: tuple[BaselineScore, ...]
    candidates: tuple[CandidateScores, ...]
    paths: tuple[CandidatePath, ...]
    notes: tuple[str, ...]
    chance: str = ""
    decisions: tuple[ColumnDecision, ...] = ()

    @property
    def chosen(self) -> CandidateScores | None:
        """The recommended candidate, None if none is."""
        return next((one for one in self.candidates if one.id == self.recommended), None)

    @property
    def all_columns(self) -> CandidateScores:
        """The candidate that every selection is compared with."""
        return next(one for one in self.candidates if one.id == "all_columns")

    def __post_init__(self) -> None:
        if self.recommended is not None:
            check_known("the candidate", self.recommended, [one.id for one in self.candidates])
        elif self.columns or not self.chance:
            raise ValueError("columns without a recommended selection, or no reason why none is recommended")
        check_models(self.models, self.scores)
        check_known("the model", self.deciding, [one.id for one in self.models])
        for path in self.paths:
            check_known("the candidate", path.id, [one.id for one in self.candidates])
        for candidate in self.candidates:
            for cells in (candidate.scores, candidate.changes):
                check_lengths(scores=self.scores, cells=cells)
                for row in cells:
                    check_lengths(models=self.models, cells=row)


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelComparison:
    """A model on all columns and on the selected ones, and the difference."""

    all_columns: FoldedScores
    chosen: FoldedScores
    difference: FoldedScores


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelScores(BaselineScore):
    """All models by one score, in the order of the models of the section."""

    models: tuple[ModelComparison, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelEffectRecord:
    """The selected columns compared with all columns under several models; the first score decides."""

    selector: str
    folds: str
    n_samples: int
    n_columns: int
    n_chosen: tuple[int, ...]
    models: tuple[Named, ...]
    scores: tuple[ModelScores, ...]
    notes: tuple[str, ...]

    def __post_init__(self) -> None:
        check_folds(self.n_chosen)
        check_models(self.models, self.scores)
        for score in self.scores:
            check_lengths(models=self.models, cells=score.models)


@dataclass(frozen=True, kw_only=True, slots=True)
class ScoreCurve:
    """The mean scores of a model by the number of added columns, and their changes from no added column with 95 % intervals."""

    means: tuple[float, ...]
    changes: tuple[float, ...]
    intervals: tuple[Interval, ...]

    def __post_init__(self) -> None:
        check_lengths(means=self.means, changes=self.changes, intervals=self.intervals)


@dataclass(frozen=True, kw_only=True, slots=True)
class NoisePanel:
    """The scores of all models with all columns (`lines`) and with columns selected again in every fold (`chosen`).

    `kept` is the mean number of added columns that a fold selects.
    """

    added: Literal["random", "copies"]
    lines: tuple[ScoreCurve, ...]
    chosen: tuple[ScoreCurve, ...]
    kept: tuple[float, ...]


@dataclass(frozen=True, kw_only=True, slots=True)
class NoiseExperimentRecord:
    """The noise experiment: scores as random columns, or copies of the column `copied`, are added.

    `n_added` are the numbers of added columns; at `selection_n_added` of them columns were selected again.
    """

    n_added: tuple[int, ...]
    models: tuple[Named, ...]
    scoring: str
    folds: str
    n_samples: int
    n_columns: int
    n_draws: int
    copied: str | None
    selector: str
    selection_n_added: tuple[int, ...]
    panels: tuple[NoisePanel, ...]
    notes: tuple[str, ...]

    def __post_init__(self) -> None:
        if not (self.panels and self.n_added and self.selection_n_added):
            raise ValueError("no columns were added")
        for panel in self.panels:
            check_lengths(models=self.models, lines=panel.lines, chosen=panel.chosen)
            check_lengths(selections=self.selection_n_added, kept=panel.kept)
            for line in panel.lines:
                check_lengths(numbers=self.n_added, means=line.means)
            for line in panel.chosen:
                check_lengths(selections=self.selection_n_added, means=line.means)


@dataclass(frozen=True, kw_only=True, slots=True)
class AssessmentScores:
    """The baseline, the nested CV score, the apparent score and the score with all columns."""

    baseline: Scores
    nested: Scores
    apparent: Scores
    all_columns: Scores | None


@dataclass(frozen=True, kw_only=True, slots=True)
class OtherScores:
    """The scores by another scorer."""

    id: str
    scores: AssessmentScores


@dataclass(frozen=True, kw_only=True, slots=True)
class SelectionFrequency:
    """The share of the folds that select a column, and whether it is in the subset."""

    name: str
    share: float
    chosen: bool


@dataclass(frozen=True, kw_only=True, slots=True)
class StabilitySummary:
    """The stability of the subsets selected in the folds, its 95 % confidence interval, and both in a sentence."""

    estimate: float
    low: float
    high: float
    sentence: str


@dataclass(frozen=True, kw_only=True, slots=True)
class PermutationNullRecord:
    """The best merits of searches on shuffled targets; `shuffling` is how the target was shuffled."""

    statistic: str
    observed: float
    p_value: float
    merits: tuple[float, ...]
    shuffling: str


@dataclass(frozen=True, kw_only=True, slots=True)
class RateRecord:
    """The mean of a rate over semi-synthetic targets, and its standard error."""

    mean: float
    standard_error: float


@dataclass(frozen=True, kw_only=True, slots=True)
class FalseSelection:
    """The share of the semi-synthetic targets for which a column is selected without being true."""

    name: str
    share: float


@dataclass(frozen=True, kw_only=True, slots=True)
class ErrorRatesRecord:
    """True and false positive rates of the search on semi-synthetic targets, each computed from `n_true` of `n_columns` columns.

    These explain the share `signal` of the variance of the target, or of the latent variable behind its classes; its strength is
    relative to the signal of the real target. Columns that nearly equal a true one (proxies) are false selections, except in the
    strict false discovery proportion. `falsely_selected` are the columns that are false selections most often.
    """

    n_samples: int
    n_columns: int
    n_true: int
    n_draws: int
    target_kind: Literal["number", "classes"]
    signal: float
    signal_strength: Literal["equal", "stronger", "weaker"]
    true_positive_rate: RateRecord
    chance_true_positive_rate: RateRecord
    false_positive_rate: RateRecord
    false_discovery_proportion: RateRecord
    strict_false_discovery_proportion: RateRecord
    falsely_selected: tuple[FalseSelection, ...]
    notes: tuple[str, ...]

    def __post_init__(self) -> None:
        if not 1 <= self.n_true <= self.n_columns:
            raise ValueError(f"{self.n_true:,} true columns of {self.n_columns:,}")


@dataclass(frozen=True, kw_only=True, slots=True)
class AssessmentRecord:
    """Reliability of the selection: apparent and nested CV scores, selection frequencies, and the permutation null distribution.

    `deciding_score` is the scorer by which the subset `helps`. `error_rates` are computed on request.
    """

    predictor: str
    scoring: str
    folds: str
    n_samples: int
    scores: AssessmentScores
    other_scores: tuple[OtherScores, ...]
    deciding_score: str
    optimism: float
    helps: bool
    beats_chance: bool
    frequencies: tuple[SelectionFrequency, ...]
    stability: StabilitySummary
    null: PermutationNullRecord | None
    notes: tuple[str, ...]
    error_rates: ErrorRatesRecord | None = None

    def __post_init__(self) -> None:
        check_known("the score", self.deciding_score, [self.scoring, *(one.id for one in self.other_scores)])
        if self.helps and not self.beats_chance and self.null is None:
            raise ValueError("a permutation test that is not significant, and no permutation null distribution")

    def scores_by(self, scoring: str) -> AssessmentScores:
        """Return the scores by one scorer: that of the assessment, or one of the others."""
        if scoring == self.scoring:
            return self.scores
        return next(one.scores for one in self.other_scores if one.id == scoring)


def check_folds(n_chosen: tuple[int, ...]) -> None:
    """Raise ValueError without folds."""
    if not n_chosen:
        raise ValueError("no folds")


def check_models(models: tuple[Named, ...], scores: tuple[BaselineScore, ...]) -> None:
    """Raise ValueError without models or scores."""
    if not models or not scores:
        raise ValueError("no models or no scores")
