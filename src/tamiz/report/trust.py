"""How far the score of a selection can be trusted, in words."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tamiz.report.text import counted, listed, number

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# A p above this is no surprise.
CHANCE = 0.05
# Scores nearer to each other than this are written with a fraction of a point.
_WHOLE_POINTS = 0.02
# Scores that are shares of rows, and the words for the others.
_SHARES = {"accuracy": "accuracy", "balanced_accuracy": "balanced accuracy"}
_NUMBERS = {"r2": "R²", "roc_auc": "AUC", "roc_auc_ovr_weighted": "AUC", "roc_auc_ovr": "AUC"}
# A model that is so much worse than the mean is told, not drawn: R2 has no least value, and one fold would flatten a chart.
_LEAST_R2 = -1.0
# An axis of shares this wide has ticks that differ by whole points.
_WIDE = 0.06
# From here on decimals say nothing.
_LARGE = 1000.0


@dataclass(frozen=True)
class Told:
    """How scores of one kind are written: shares of rows as percentages.

    Attributes
    ----------
    scoring : str
        The name of the score.
    fine : bool
        Whether points have a fraction.
    """

    scoring: str
    fine: bool

    @property
    def is_share(self) -> bool:
        """Whether the score is a share of rows."""
        return self.scoring in _SHARES

    @property
    def name(self) -> str:
        """The score's name in a sentence."""
        return _SHARES.get(self.scoring) or _NUMBERS.get(self.scoring) or self.scoring.replace("_", " ")

    @property
    def least_drawn(self) -> float:
        """The least score that has a place of its own in a chart."""
        return _LEAST_R2 if self.scoring == "r2" else -math.inf

    def drawn(self, value: float) -> float:
        """Return where a chart shows a score, or the end of an interval: below the least at the least, and R2 not above 1."""
        return min(max(value, self.least_drawn), 1.0 if self.scoring == "r2" else math.inf)

    def at_the_edge(self, names: Sequence[str]) -> str:
        """Return what a reader is to know of scores below the least that is drawn, "" where there are none."""
        if not names:
            return ""
        edge = number(self.least_drawn)
        return f"Below {edge}, which is much worse than guessing the mean, and drawn at {edge}: {listed(names)}."

    def ticks(self, low: float, high: float) -> dict[str, Any]:
        """Return how an axis of scores is labelled, so that no two ticks read the same."""
        if not self.is_share:
            return {}
        return {"tickformat": f".{0 if high - low > _WIDE else 1}%"}

    def score(self, value: float) -> str:
        """Return a score."""
        digits = f"{100 * value:.{int(self.fine)}f}%" if self.is_share else self.decimals(value)
        return digits.replace("-", "−")

    def decimals(self, value: float) -> str:
        """Return a number that is no share."""
        return f"{value:.3f}" if abs(value) < _LARGE else number(value, digits=2)

    def interval(self, scores: Mapping[str, Any]) -> tuple[float, float]:
        """Return where the mean of scores lies; a share of rows and an area lie between 0 and 1."""
        low, high = scores["interval"]
        return (max(low, 0.0), min(high, 1.0)) if self.is_share or self.name == "AUC" else (low, high)

    def lost(self, gap: float) -> str:
        """Return a difference of scores, empty where none can be seen."""
        digits = f"{100 * gap:.{int(self.fine)}f}" if self.is_share else self.decimals(gap)
        if gap <= 0 or digits.strip("0.") == "":
            return ""
        return f"{digits} {'point' if digits == '1' else 'points'}" if self.is_share else digits


def told_scores(assessed: Mapping[str, Any]) -> Told:
    """Return how the scores of an assessment are written."""
    return Told(assessed["scoring"], 0 < abs(assessed["gap"]) < _WHOLE_POINTS)


def verdict(assessed: Mapping[str, Any]) -> str:
    """Return in a sentence or two whether the selection predicts new rows, and how much of its apparent score is optimism."""
    told, scores = told_scores(assessed), assessed["scores"]
    if not any(column["chosen"] for column in assessed["frequencies"]):
        nothing = told.score(scores["baseline"]["mean"])
        return f"The search keeps no column, so there is no score to evaluate; the baseline is {told.name} {nothing}."
    beats_chance = assessed["beats_chance"]
    if assessed["helps"]:
        found = "The selected columns predict new rows better than the baseline"
    elif not beats_chance:
        found = "No gain over the baseline was found on new rows, nor more than on shuffled targets"
    elif _is_uncertain_gain(assessed):
        found = "The search finds more than on shuffled targets, but what it gains on new rows is within its error"
    else:
        found = "No gain over the baseline was found on new rows"
    words = f"{found}: {_measured(assessed)}.{_apparent(assessed, told)}{_accuracy(assessed)}"
    if assessed["helps"] and not beats_chance:
        words += f" Yet {as_high(assessed['null'])}: the merit itself may be chance."
    return words


def _is_uncertain_gain(assessed: Mapping[str, Any]) -> bool:
    """Return whether shuffled targets tell that there is something, and the folds are too few, or too unlike, to tell how much."""
    null, scores = assessed["null"], scores_of(assessed, assessed["decided_by"])
    return null is not None and null["p_value"] <= CHANCE and scores["nested"]["mean"] > scores["baseline"]["mean"]


def _measured(assessed: Mapping[str, Any]) -> str:
    """Return the score that decides, with its interval where it decides against the columns, the rows and the baseline."""
    decided = assessed["decided_by"]
    told = Told(decided, fine=True)
    scores = scores_of(assessed, decided)
    nested = told.score(scores["nested"]["mean"])
    if not assessed["helps"]:
        nested += f" (95% {' to '.join(map(told.score, told.interval(scores['nested'])))})"
    rows = counted(assessed["n_samples"], "row")
    return (
        f"{told.name} {nested} in nested cross-validation of {rows}, baseline {told.score(scores['baseline']['mean'])}"
    )


def _apparent(assessed: Mapping[str, Any], told: Told) -> str:
    """Return the apparent score and the optimism in it."""
    lost = told.lost(assessed["gap"])
    apparent = told.score(assessed["scores"]["apparent"]["mean"])
    nested = told.score(assessed["scores"]["nested"]["mean"])
    if not lost:
        return f" The apparent score, {told.name} {apparent}, shows no optimism."
    are = "is" if not told.is_share or lost == "1 point" else "are"
    beside = f" beside {nested} in nested cross-validation" if assessed["decided_by"] != assessed["scoring"] else ""
    return f" The apparent score is {told.name} {apparent}{beside}, of which {lost} {are} optimism."


def _accuracy(assessed: Mapping[str, Any]) -> str:
    """Return that accuracy does not reach that of the most frequent class, "" where it does or was not computed."""
    names = [assessed["scoring"], *(one["id"] for one in assessed["beside"])]
    if "accuracy" not in names:
        return ""
    told, scores = Told("accuracy", fine=True), scores_of(assessed, "accuracy")
    nested, baseline = scores["nested"]["mean"], scores["baseline"]["mean"]
    if nested > baseline:
        return ""
    than = "below" if nested < baseline else "no more than"
    most_frequent = f"the {told.score(baseline)} of always predicting the most frequent class"
    return f" Its accuracy, {told.score(nested)}, is {than} {most_frequent}."


def scores_of(assessed: Mapping[str, Any], scoring: str) -> Mapping[str, Any]:
    """Return the scores of one name: the assessment's own, or one beside it."""
    if scoring == assessed["scoring"]:
        scores: Mapping[str, Any] = assessed["scores"]
        return scores
    return next(one["scores"] for one in assessed["beside"] if one["id"] == scoring)


def as_high(null: Mapping[str, Any]) -> str:
    """Return how many searches on shuffled targets found as much."""
    merits = null["merits"]
    count = sum(merit >= null["observed"] for merit in merits)
    return f"{f'{count:,}' if count else 'none'} of {counted(len(merits), 'search', 'searches')} on shuffled targets found as much"
