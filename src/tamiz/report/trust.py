"""How far the score of a selection can be trusted, in words."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tamiz.report.text import count_with_noun, format_number, join_names

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# A p above this is no surprise.
SIGNIFICANCE_LEVEL = 0.05
# Scores nearer to each other than this are written with a fraction of a point.
_WHOLE_POINTS = 0.02
# Scores that are shares of rows, and the words for the others.
_PROPORTION_SCORES = {"accuracy": "accuracy", "balanced_accuracy": "balanced accuracy"}
_SCORE_ABBREVIATIONS = {"r2": "R²", "roc_auc": "AUC", "roc_auc_ovr_weighted": "AUC", "roc_auc_ovr": "AUC"}
# A model that is so much worse than the mean is told, not drawn: R2 has no least value, and one fold would flatten a chart.
_MIN_DRAWN_R2 = -1.0
# An axis of shares this wide has ticks that differ by whole points.
_WIDE_AXIS = 0.06
# From here on decimals say nothing.
_LARGE = 1000.0


@dataclass(frozen=True)
class ScoreFormat:
    """How scores of one kind are written: shares of rows as percentages.

    Attributes
    ----------
    scoring : str
        The name of the score.
    with_fraction : bool
        Whether points have a fraction.
    """

    scoring: str
    with_fraction: bool

    @property
    def is_share(self) -> bool:
        """Whether the score is a share of rows."""
        return self.scoring in _PROPORTION_SCORES

    @property
    def name(self) -> str:
        """The score's name in a sentence."""
        return (
            _PROPORTION_SCORES.get(self.scoring)
            or _SCORE_ABBREVIATIONS.get(self.scoring)
            or self.scoring.replace("_", " ")
        )

    @property
    def min_drawn(self) -> float:
        """The least score that has a place of its own in a chart."""
        return _MIN_DRAWN_R2 if self.scoring == "r2" else -math.inf

    def clip(self, value: float) -> float:
        """Return where a chart shows a score, or the end of an interval: below the least at the least, and R2 not above 1."""
        return min(max(value, self.min_drawn), 1.0 if self.scoring == "r2" else math.inf)

    def clipping_note(self, clipped: Sequence[str]) -> str:
        """Return what a reader is to know of scores below the least that is drawn, "" where there are none."""
        if not clipped:
            return ""
        edge = format_number(self.min_drawn)
        return f"Below {edge}, which is much worse than guessing the mean, and drawn at {edge}: {join_names(clipped)}."

    def tick_format(self, low: float, high: float) -> dict[str, Any]:
        """Return how an axis of scores is labelled, so that no two ticks read the same."""
        if not self.is_share:
            return {}
        return {"tickformat": f".{0 if high - low > _WIDE_AXIS else 1}%"}

    def format_score(self, value: float) -> str:
        """Return a score."""
        digits = f"{100 * value:.{int(self.with_fraction)}f}%" if self.is_share else self.format_number(value)
        return digits.replace("-", "−")

    def format_number(self, value: float) -> str:
        """Return a number that is no share."""
        return f"{value:.3f}" if abs(value) < _LARGE else format_number(value, digits=2)

    def clipped_interval(self, scores: Mapping[str, Any]) -> tuple[float, float]:
        """Return where the mean of scores lies; a share of rows and an area lie between 0 and 1."""
        low, high = scores["interval"]
        return (max(low, 0.0), min(high, 1.0)) if self.is_share or self.name == "AUC" else (low, high)

    def format_optimism(self, optimism: float) -> str:
        """Return a difference of scores, empty where none can be seen."""
        digits = f"{100 * optimism:.{int(self.with_fraction)}f}" if self.is_share else self.format_number(optimism)
        if optimism <= 0 or digits.strip("0.") == "":
            return ""
        return f"{digits} {'point' if digits == '1' else 'points'}" if self.is_share else digits


def assessment_score_format(assessment: Mapping[str, Any]) -> ScoreFormat:
    """Return how the scores of an assessment are written."""
    return ScoreFormat(assessment["scoring"], 0 < abs(assessment["gap"]) < _WHOLE_POINTS)


def assessment_verdict(assessment: Mapping[str, Any]) -> str:
    """Return in a sentence or two whether the selection predicts new rows, and how much of its apparent score is optimism."""
    told, scores = assessment_score_format(assessment), assessment["scores"]
    if not any(column["chosen"] for column in assessment["frequencies"]):
        nothing = told.format_score(scores["baseline"]["mean"])
        return f"The search keeps no column, so there is no score to evaluate; the baseline is {told.name} {nothing}."
    beats_chance = assessment["beats_chance"]
    if assessment["helps"]:
        found = "The selected columns predict new rows better than the baseline"
    elif not beats_chance:
        found = "No gain over the baseline was found on new rows, nor more than on shuffled targets"
    elif _is_uncertain_gain(assessment):
        found = "The search finds more than on shuffled targets, but what it gains on new rows is within its error"
    else:
        found = "No gain over the baseline was found on new rows"
    words = f"{found}: {_nested_score_text(assessment)}.{_apparent_score_text(assessment, told)}{_accuracy_note(assessment)}"
    if assessment["helps"] and not beats_chance:
        words += f" Yet {null_count_text(assessment['null'])}: the merit itself may be chance."
    return words


def _is_uncertain_gain(assessment: Mapping[str, Any]) -> bool:
    """Return whether shuffled targets tell that there is something, and the folds are too few, or too unlike, to tell how much."""
    null, scores = assessment["null"], scores_of(assessment, assessment["decided_by"])
    return (
        null is not None
        and null["p_value"] <= SIGNIFICANCE_LEVEL
        and scores["nested"]["mean"] > scores["baseline"]["mean"]
    )


def _nested_score_text(assessment: Mapping[str, Any]) -> str:
    """Return the score that decides, with its interval where it decides against the columns, the rows and the baseline."""
    decided = assessment["decided_by"]
    told = ScoreFormat(decided, with_fraction=True)
    scores = scores_of(assessment, decided)
    nested = told.format_score(scores["nested"]["mean"])
    if not assessment["helps"]:
        nested += f" (95% {' to '.join(map(told.format_score, told.clipped_interval(scores['nested'])))})"
    rows = count_with_noun(assessment["n_samples"], "row")
    return f"{told.name} {nested} in nested cross-validation of {rows}, baseline {told.format_score(scores['baseline']['mean'])}"


def _apparent_score_text(assessment: Mapping[str, Any], score_format: ScoreFormat) -> str:
    """Return the apparent score and the optimism in it."""
    lost = score_format.format_optimism(assessment["gap"])
    apparent = score_format.format_score(assessment["scores"]["apparent"]["mean"])
    nested = score_format.format_score(assessment["scores"]["nested"]["mean"])
    if not lost:
        return f" The apparent score, {score_format.name} {apparent}, shows no optimism."
    are = "is" if not score_format.is_share or lost == "1 point" else "are"
    beside = f" beside {nested} in nested cross-validation" if assessment["decided_by"] != assessment["scoring"] else ""
    return f" The apparent score is {score_format.name} {apparent}{beside}, of which {lost} {are} optimism."


def _accuracy_note(assessment: Mapping[str, Any]) -> str:
    """Return that accuracy does not reach that of the most frequent class, "" where it does or was not computed."""
    names = [assessment["scoring"], *(one["id"] for one in assessment["beside"])]
    if "accuracy" not in names:
        return ""
    told, scores = ScoreFormat("accuracy", with_fraction=True), scores_of(assessment, "accuracy")
    nested, baseline = scores["nested"]["mean"], scores["baseline"]["mean"]
    if nested > baseline:
        return ""
    than = "below" if nested < baseline else "no more than"
    most_frequent = f"the {told.format_score(baseline)} of always predicting the most frequent class"
    return f" Its accuracy, {told.format_score(nested)}, is {than} {most_frequent}."


def scores_of(assessment: Mapping[str, Any], scoring: str) -> Mapping[str, Any]:
    """Return the scores of one name: the assessment's own, or one beside it."""
    if scoring == assessment["scoring"]:
        scores: Mapping[str, Any] = assessment["scores"]
        return scores
    return next(one["scores"] for one in assessment["beside"] if one["id"] == scoring)


def null_count_text(null: Mapping[str, Any]) -> str:
    """Return how many searches on shuffled targets found as much."""
    merits = null["merits"]
    count = sum(merit >= null["observed"] for merit in merits)
    return f"{f'{count:,}' if count else 'none'} of {count_with_noun(len(merits), 'search', 'searches')} on shuffled targets found as much"
