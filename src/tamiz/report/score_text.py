"""How far the score of a selection can be trusted, in words."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tamiz.report.text import count_with_noun, format_number, join_names, shorten

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


# MERGED: What a choice of columns buys, and what added columns cost, in words that the numbers bear out.
# A change whose interval lies within this on both sides of 0 is as good as none: two points of accuracy, or .02 of R2.
_NEGLIGIBLE = 0.02
# Parts of a sentence are never cut.
_FULL_WIDTH = 200
_SENTENCE_NAMES = {"knn": "nearest neighbours", "tree": "the tree", "forest": "the random forest"}
_SHORT_NAMES = {
    "logistic": "Logistic",
    "naive_bayes": "Naive Bayes",
    "knn": "Neighbours",
    "tree": "Tree",
    "forest": "Forest",
    "ridge": "Ridge",
}
_PLURAL = ("knn",)
_SCORE_NAMES = {
    "accuracy": "Accuracy",
    "balanced_accuracy": "Balanced accuracy",
    "f1_macro": "F1, mean over the classes",
    "roc_auc": "AUC (area under the ROC curve)",
    "roc_auc_ovr_weighted": "AUC, each class against the rest",
    "r2": "R² (variance explained)",
}


def score_format_for(scoring: str) -> ScoreFormat:
    """Return how scores of a comparison are written."""
    return ScoreFormat(scoring, with_fraction=True)


def score_title(scoring: str) -> str:
    """Return what a score is called over a chart."""
    return _SCORE_NAMES.get(scoring) or scoring.replace("_", " ").capitalize()


def model_name(model: Mapping[str, Any]) -> str:
    """Return a model inside a sentence."""
    return _SENTENCE_NAMES.get(model["id"]) or str(model["label"])


def short_model_name(model: Mapping[str, Any]) -> str:
    """Return a model beside a line."""
    return _SHORT_NAMES.get(model["id"]) or shorten(model["label"], 14)


def format_difference(change: float, score_format: ScoreFormat, *, unit: bool = True) -> str:
    """Return a difference with its sign: "+1.2 points", "−0.031"."""
    size = f"{100 * abs(change):.1f}" if score_format.is_share else score_format.format_number(abs(change))
    # What rounds to nothing has no sign.
    digits = size if size.strip("0.") == "" else f"{'−' if change < 0 else '+'}{size}"
    return f"{digits} {'point' if size == '1.0' else 'points'}" if score_format.is_share and unit else digits


def format_interval(interval: Sequence[float], score_format: ScoreFormat) -> str:
    """Return an interval of differences: "−0.8 to +2.2"."""
    return " to ".join(format_difference(end, score_format, unit=False) for end in interval)


def change_direction(interval: Sequence[float]) -> str:
    """Return what an interval of a change says: "up", "down", "same", or "unknown" where the folds do not tell."""
    low, high = interval
    if low > 0:
        return "up"
    if high < 0:
        return "down"
    return "same" if max(-low, high) <= _NEGLIGIBLE else "unknown"


def score_interval(scores: Mapping[str, Any], scoring: str) -> tuple[float, float]:
    """Return where the mean of scores lies: no score of ours is above 1, and all but R2 are at least 0."""
    low, high = scores["interval"]
    return (low if scoring == "r2" else max(low, 0.0)), min(high, 1.0)


def n_chosen_text(n_chosen: Sequence[float]) -> str:
    """Return how many columns the folds chose."""
    least, most = int(min(n_chosen)), int(max(n_chosen))
    return f"{least:,}" if least == most else f"{least:,} to {most:,}"


def chosen_columns_text(n_chosen: Sequence[float]) -> str:
    """Return the columns that the folds chose: "the chosen one", "the 4 to 6 chosen"."""
    return "the chosen one" if min(n_chosen) == max(n_chosen) == 1 else f"the {n_chosen_text(n_chosen)} chosen"


def model_effect_text(effect: Mapping[str, Any]) -> str:
    """Return in a sentence what each model scores on the columns chosen and on all, and whether that is a gain."""
    first = effect["scores"][0]
    told = score_format_for(first["id"])
    n_folds = len(effect["n_chosen"])
    if max(effect["n_chosen"]) == 0:
        rows = count_with_noun(effect["n_samples"], "row")
        return (
            f"No column is chosen in any of {n_folds} folds of {rows}, so there is nothing to compare with all columns."
        )
    base = f"baseline {told.format_score(first['baseline']['mean'])}"
    some = f"With {n_chosen_text(effect['n_chosen'])} of {count_with_noun(effect['n_columns'], 'column')}"
    pairs = list(zip(effect["models"], first["models"], strict=True))
    scores = []
    for k, (model, cell) in enumerate(pairs):
        every = f"{told.format_score(cell['all_columns']['mean'])}{'' if k else ' with all'}"
        scores.append(f"{told.format_score(cell['chosen']['mean'])} for {model_name(model)} ({every})")
    listing = join_names(scores, width=_FULL_WIDTH)
    folds = f"{n_folds} folds of {count_with_noun(effect['n_samples'], 'row')}"
    return f"{some}, chosen again inside each of {folds}, {_score_unit(first['id'])} ({base}) is {listing}: {_effect_verdict(pairs)}."


def _effect_verdict(pairs: Sequence[tuple[Mapping[str, Any], Mapping[str, Any]]]) -> str:
    """Return which models gain, lose or stay, as far as the folds tell."""
    found: dict[str, list[Mapping[str, Any]]] = {"up": [], "down": [], "same": [], "unknown": []}
    for model, cell in pairs:
        found[change_direction(cell["difference"]["interval"])].append(model)
    if len(found["same"]) == len(pairs):
        return "nothing is lost"
    if len(found["unknown"]) == len(pairs):
        return "no difference that the folds could tell"
    verbs = {"up": ("gains", "gain"), "down": ("loses", "lose"), "same": ("holds", "hold")}
    parts = [_clause(found[key], *pair) for key, pair in verbs.items() if found[key]]
    if found["unknown"]:
        parts.append(f"for {join_names(map(model_name, found['unknown']))} the folds tell no difference")
    return "; ".join(parts)


def _clause(models: Sequence[Mapping[str, Any]], one: str, many: str) -> str:
    is_many = len(models) > 1 or models[0]["id"] in _PLURAL
    return f"{join_names(map(model_name, models))} {many if is_many else one}"


def _score_unit(scoring: str) -> str:
    told = score_format_for(scoring)
    return told.name


def added_columns_cost(panel: Mapping[str, Any], experiment: Mapping[str, Any]) -> str:
    """Return in a sentence what the most columns added cost each model."""
    told = score_format_for(experiment["scoring"])
    last = experiment["numbers"][-1]
    copied = experiment["copied"]
    what = f"{last:,} random columns" if panel["added"] == "random" else f"{last:,} copies of {shorten(copied, 40)}"
    unit = _score_unit(experiment["scoring"])
    found: dict[str, list[tuple[float, Mapping[str, Any]]]] = {"up": [], "down": [], "same": [], "unknown": []}
    for model, line in zip(experiment["models"], panel["lines"], strict=True):
        found[change_direction(line["intervals"][-1])].append((line["changes"][-1], model))
    for each in found.values():
        each.sort(key=lambda pair: -abs(pair[0]))
    parts: list[str] = []
    for key, verb, again in (("down", "cost", "they cost"), ("up", "give", "they give")):
        amounts = [
            f"{model_name(model)} {format_difference(abs(change), told).lstrip('+')}" for change, model in found[key]
        ]
        if amounts:
            amounts[0] += "" if parts else f" of {unit}"
            parts.append(f"{again if parts else f'{what} {verb}'} {join_names(amounts, width=_FULL_WIDTH)}")
    if found["same"]:
        held = _clause([model for _, model in found["same"]], "holds", "hold")
        parts.append(held if parts else f"{held} against {what}")
    if found["unknown"]:
        names = join_names(model_name(model) for _, model in found["unknown"])
        parts.append(f"for {names} the folds tell no change" + ("" if parts else f" by {what}"))
    words = "; ".join(parts)
    return f"{words[:1].upper()}{words[1:]}"


def reselection_text(panel: Mapping[str, Any], experiment: Mapping[str, Any]) -> str:
    """Return in a sentence how the models fare on columns chosen again inside every fold."""
    told = score_format_for(experiment["scoring"])
    last = experiment["selection_n_added"][-1]
    kept = panel["kept"][-1]
    noun = "random columns" if panel["added"] == "random" else "copies"
    of_them = f"keeps {'none' if kept == 0 else f'{kept:.1f} a fold'} of the {last:,} {noun}"
    lower: dict[bool, list[str]] = {True: [], False: []}
    for model, line in zip(experiment["models"], panel["chosen"], strict=True):
        loss, sure = -line["changes"][-1], change_direction(line["intervals"][-1]) == "down"
        if sure or loss > _NEGLIGIBLE:
            lower[sure].append(f"{model_name(model)} {format_difference(loss, told).lstrip('+')}")
    if lower[True]:
        return f"{of_them}; that costs {join_names(lower[True], width=_FULL_WIDTH)} all the same."
    if lower[False]:
        return f"{of_them}; lower by it, though that may be chance: {join_names(lower[False], width=_FULL_WIDTH)}."
    return f"{of_them}, and no model loses anything to speak of."


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
    return ScoreFormat(assessment["scoring"], 0 < abs(assessment["optimism"]) < _WHOLE_POINTS)


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
    null, scores = assessment["null"], scores_of(assessment, assessment["deciding_score"])
    return (
        null is not None
        and null["p_value"] <= SIGNIFICANCE_LEVEL
        and scores["nested"]["mean"] > scores["baseline"]["mean"]
    )


def _nested_score_text(assessment: Mapping[str, Any]) -> str:
    """Return the score that decides, with its interval where it decides against the columns, the rows and the baseline."""
    decided = assessment["deciding_score"]
    told = ScoreFormat(decided, with_fraction=True)
    scores = scores_of(assessment, decided)
    nested = told.format_score(scores["nested"]["mean"])
    if not assessment["helps"]:
        nested += f" (95% {' to '.join(map(told.format_score, told.clipped_interval(scores['nested'])))})"
    rows = count_with_noun(assessment["n_samples"], "row")
    return f"{told.name} {nested} in nested cross-validation of {rows}, baseline {told.format_score(scores['baseline']['mean'])}"


def _apparent_score_text(assessment: Mapping[str, Any], score_format: ScoreFormat) -> str:
    """Return the apparent score and the optimism in it."""
    lost = score_format.format_optimism(assessment["optimism"])
    apparent = score_format.format_score(assessment["scores"]["apparent"]["mean"])
    nested = score_format.format_score(assessment["scores"]["nested"]["mean"])
    if not lost:
        return f" The apparent score, {score_format.name} {apparent}, shows no optimism."
    are = "is" if not score_format.is_share or lost == "1 point" else "are"
    beside = f" beside {nested} in nested cross-validation" if assessment["deciding_score"] != assessment["scoring"] else ""
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
