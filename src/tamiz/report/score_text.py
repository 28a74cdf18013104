"""Scores in words: how they are formatted, the effect of a selection on models, and the verdict of an assessment."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tamiz.report.text import count_with_noun, format_number, join_names, shorten

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from tamiz.assessment.fold_scores import FoldScores
    from tamiz.assessment.score_report import Added, NoiseExperiment, Recommendation, SelectionReport
    from tamiz.report.records.study import StudyRecord
    from tamiz.runtime.codec import Interval
    from tamiz.selection.null_distribution import PermutationNull


# A change whose interval is within this on both sides of 0 is negligible: two points of accuracy, or .02 of R2.
_NEGLIGIBLE = 0.02
# Parts of a sentence are never cut.
_FULL_WIDTH = 200
_SENTENCE_NAMES = {"knn": "nearest neighbours", "tree": "decision tree", "forest": "random forest"}
_SHORT_NAMES = {
    "logistic": "Logistic",
    "naive_bayes": "Naive Bayes",
    "knn": "Neighbours",
    "tree": "Tree",
    "forest": "Forest",
    "gradient_boosting": "Boosting",
    "ridge": "Ridge",
}
_PLURAL = ("knn",)
_SCORE_NAMES = {
    "accuracy": "Accuracy",
    "balanced_accuracy": "Balanced accuracy",
    "f1_macro": "F1, mean over the classes",
    "roc_auc": "AUC (area under the ROC curve)",
    "roc_auc_ovr_weighted": "AUC, each class against the rest, weighted by its rows",
    "roc_auc_ovr": "AUC, each class against the rest, mean of the classes",
    "r2": "R² (variance explained)",
}


def score_format_for(scoring: str) -> ScoreFormat:
    """Return the format of scores in comparisons."""
    return ScoreFormat(scoring, with_fraction=True)


def score_title(scoring: str) -> str:
    """Return the name of a score in a heading."""
    return _SCORE_NAMES.get(scoring) or scoring.replace("_", " ").capitalize()


def model_name(model: str, label: str) -> str:
    """Return the name of a model inside a sentence."""
    return _SENTENCE_NAMES.get(model) or label


def short_model_name(model: str, label: str) -> str:
    """Return the short name of a model, for the end of a line in a chart."""
    return _SHORT_NAMES.get(model) or shorten(label, 14)


def format_difference(change: float, score_format: ScoreFormat, *, unit: bool = True) -> str:
    """Return a difference with its sign: "+1.2 points", "−0.031"."""
    size = f"{100 * abs(change):.1f}" if score_format.is_share else score_format.format_number(abs(change))
    # A difference that rounds to 0 has no sign.
    digits = size if size.strip("0.") == "" else f"{'−' if change < 0 else '+'}{size}"
    return f"{digits} {'point' if size == '1.0' else 'points'}" if score_format.is_share and unit else digits


def format_interval(interval: Sequence[float], score_format: ScoreFormat) -> str:
    """Return an interval of differences: "−0.8 to +2.2"."""
    return " to ".join(format_difference(end, score_format, unit=False) for end in interval)


def change_text(name: str, change: FoldScores, score_format: ScoreFormat) -> str:
    """Return the change of the score of a model, with its interval."""
    size, interval = format_difference(change.mean, score_format), format_interval(change.interval, score_format)
    return f"{name} {size} ({interval})"


def change_direction(interval: Sequence[float]) -> str:
    """Return the direction of a change from its interval: "up", "down", "same" (negligible), or "unknown"."""
    low, high = interval
    if max(-low, high) <= _NEGLIGIBLE:
        return "same"
    return "up" if low > 0 else "down" if high < 0 else "unknown"


def score_interval(interval: Interval, scoring: str) -> tuple[float, float]:
    """Return the 95 % confidence interval of a mean score, clipped to at most 1, and for all but R2 to at least 0."""
    low, high = interval
    return (low if scoring == "r2" else max(low, 0.0)), min(high, 1.0)


def n_chosen_text(n_chosen: Sequence[float]) -> str:
    """Return the number of columns that the folds selected: "4", or "4 to 6"."""
    least, most = int(min(n_chosen)), int(max(n_chosen))
    return f"{least:,}" if least == most else f"{least:,} to {most:,}"


def chosen_columns_text(n_chosen: Sequence[float]) -> str:
    """Return the columns that the folds selected: "the selected one", "the 4 to 6 selected"."""
    return "the selected one" if min(n_chosen) == max(n_chosen) == 1 else f"the {n_chosen_text(n_chosen)} selected"


def model_effect_text(found: Recommendation) -> str:
    """Return the verdict on the recommended columns, and the score of each model on them and on all columns."""
    one, every, scoring = found.candidates[found.recommended], found.all_columns, found.scorings[0]
    score_format, rows = score_format_for(scoring), count_with_noun(found.n_samples, "row")
    if max(one.n_chosen) == 0:
        n_folds = len(one.n_chosen)
        return f"No column is selected in any of {n_folds} folds of {rows}, so there is nothing to compare with all columns."
    n_chosen = n_chosen_text(one.n_chosen)
    some = f"With the {'column' if n_chosen == '1' else f'{n_chosen} columns'} that {one.label} selects"
    scores = [
        f"{score_format.format_score(one.scores[model, scoring].mean)} for {model_name(model, label)} "
        f"({score_format.format_score(every.scores[model, scoring].mean)}{'' if k else ' with all columns'})"
        for k, (model, label) in enumerate(found.models.items())
    ]
    listing, baseline = join_names(scores, width=_FULL_WIDTH), score_format.format_score(found.baseline[scoring].mean)
    return (
        f"{some} in each fold, {_effect_verdict(found, score_format)}. In nested cross-validation of {rows} the "
        f"{score_format.name} is {listing}; the baseline is {baseline}."
    )


def _group_models(models: Mapping[str, str], changes: Iterable[FoldScores]) -> dict[str, list[tuple[float, str, str]]]:
    """Return the change, the id and the name of each model by the direction of its change."""
    found: dict[str, list[tuple[float, str, str]]] = {"up": [], "down": [], "same": [], "unknown": []}
    for (model, label), change in zip(models.items(), changes, strict=True):
        found[change_direction(change.interval)].append((change.mean, model, model_name(model, label)))
    return found


def _effect_verdict(found: Recommendation, score_format: ScoreFormat) -> str:
    """Return which models gain, lose or stay the same, by the intervals of their differences over the folds."""
    groups = _group_models(found.models, (found.score_change(found.recommended, model) for model in found.models))
    if len(groups["same"]) == len(found.models):
        return f"the {score_format.name} of no model differs by more than {_NEGLIGIBLE} from that with all columns"
    if len(groups["unknown"]) == len(found.models):
        return "the folds show no significant difference for any model"
    verbs = {"up": ("gains", "gain"), "down": ("loses", "lose"), "same": ("stays the same", "stay the same")}
    parts = []
    for key, (singular, plural) in verbs.items():
        if group := groups[key]:
            verb = plural if len(group) > 1 or group[0][1] in _PLURAL else singular
            parts.append(f"{join_names(name for *_, name in group)} {verb}")
    if group := groups["unknown"]:
        parts.append(f"no significant difference for {join_names(name for *_, name in group)}")
    return "; ".join(parts)


def added_columns_cost(added: Added, experiment: NoiseExperiment) -> str:
    """Return in a clause how the largest number of added columns changes the score of each model."""
    score_format = score_format_for(experiment.scoring)
    last, score = experiment.n_added[-1], score_format.name
    what = f"{last:,} {'random columns' if added == 'random' else f'copies of {shorten(experiment.copied_column, 40)}'}"
    found = _group_models(experiment.models, (experiment.score_changes(added, name)[-1] for name in experiment.models))
    for each in found.values():
        each.sort(key=lambda one: -abs(one[0]))
    for key, effect in (("same", f"by more than {_NEGLIGIBLE}"), ("unknown", "significantly")):
        if len(found[key]) == len(experiment.models):
            return f"{what} change the {score} of no model {effect}"
    parts: list[str] = []
    for key, verb in (("down", "lower"), ("up", "raise")):
        amounts = [
            f"of {name} by {format_difference(abs(change), score_format).lstrip('+')}" for change, _, name in found[key]
        ]
        if amounts:
            subject = f"they {verb} that" if parts else f"{what} {verb} the {score}"
            parts.append(f"{subject} {join_names(amounts, width=_FULL_WIDTH)}")
    same, unknown = (join_names(name for *_, name in found[key]) for key in ("same", "unknown"))
    if same:
        others = "the other models" if parts and len(found["same"]) > 1 and not unknown else same
        subject = f"that of {others} changes" if parts else f"{what} change the {score} of {others}"
        parts.append(f"{subject} by at most {_NEGLIGIBLE}")
    if unknown:
        parts.append(f"that of {unknown} does not change significantly")
    return "; ".join(parts)


def reselection_text(added: Added, experiment: NoiseExperiment) -> str:
    """Return in a sentence how the scores change if columns are selected again inside every fold."""
    score_format = score_format_for(experiment.scoring)
    last = experiment.selection_n_added[-1]
    kept = experiment.n_added_selected[added][-1].mean()
    noun = "random columns" if added == "random" else "copies"
    of_them = f"keeps {'none' if kept == 0 else f'{kept:.1f} a fold'} of the {last:,} {noun}"
    lower: dict[bool, list[str]] = {True: [], False: []}
    for model, label in experiment.models.items():
        change = experiment.score_changes(added, model, selected=True)[-1]
        loss, sure = -change.mean, change_direction(change.interval) == "down"
        if sure or loss > _NEGLIGIBLE:
            lower[sure].append(f"{format_difference(loss, score_format).lstrip('+')} for {model_name(model, label)}")
    if lower[True]:
        return f"{of_them}; scores still fall by {join_names(lower[True], width=_FULL_WIDTH)}."
    if lower[False]:
        return f"{of_them}; scores fall by {join_names(lower[False], width=_FULL_WIDTH)}, which is not significant."
    return f"{of_them}, and no score falls by more than {_NEGLIGIBLE}."


SIGNIFICANCE_LEVEL = 0.05
# Scores that differ by less than this are written with a fraction of a point.
_WHOLE_POINTS = 0.02
# Scores that are shares of rows, and the words for the others.
_PROPORTION_SCORES = {"accuracy": "accuracy", "balanced_accuracy": "balanced accuracy"}
_SCORE_ABBREVIATIONS = {"r2": "R²", "roc_auc": "AUC", "roc_auc_ovr_weighted": "weighted AUC", "roc_auc_ovr": "mean AUC"}
# R2 has no lower bound, and one fold could flatten a chart: a lower R2 is drawn at the edge and named in a note.
_MIN_DRAWN_R2 = -1.0
# From here on decimals are noise.
_LARGE = 1000.0


@dataclass(frozen=True)
class ScoreFormat:
    """The format of scores of one kind; shares of rows are percentages.

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
    def is_proportion(self) -> bool:
        """Whether the score is between 0 and 1: a share of rows, or AUC."""
        return self.is_share or self.name.endswith("AUC")

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
        """The lowest score that a chart shows at its value; lower ones are clipped."""
        return _MIN_DRAWN_R2 if self.scoring == "r2" else -math.inf

    def clip(self, value: float) -> float:
        """Return the position of a score in a chart: R2 from `min_drawn` to 1, shares of rows and AUC from 0 to 1."""
        low = 0.0 if self.is_proportion else self.min_drawn
        return min(max(value, low), 1.0 if self.is_proportion or self.scoring == "r2" else math.inf)

    def clipping_note(self, clipped: Sequence[str]) -> str:
        """Return a note that names the scores that are clipped at the edge of a chart, "" if there are none."""
        if not clipped:
            return ""
        edge = format_number(self.min_drawn)
        return f"Below {edge}, much worse than predicting the mean, and drawn at {edge}: {join_names(clipped)}."

    def format_score(self, value: float) -> str:
        """Return a score as text."""
        digits = f"{100 * value:.{int(self.with_fraction)}f}%" if self.is_share else self.format_number(value)
        return digits.replace("-", "−")

    def format_number(self, value: float) -> str:
        """Return a score that is no share of rows as text."""
        return f"{value:.3f}" if abs(value) < _LARGE else format_number(value, digits=2)

    def clipped_interval(self, interval: Interval) -> tuple[float, float]:
        """Return the 95 % confidence interval of a mean score, clipped to 0 to 1 for shares of rows and AUC."""
        low, high = interval
        return (max(low, 0.0), min(high, 1.0)) if self.is_proportion else (low, high)

    def format_optimism(self, optimism: float) -> str:
        """Return the optimism as text, "" if it is not positive or rounds to 0."""
        digits = f"{100 * optimism:.{int(self.with_fraction)}f}" if self.is_share else self.format_number(optimism)
        if optimism <= 0 or digits.strip("0.") == "":
            return ""
        return f"{digits} {'point' if digits == '1' else 'points'}" if self.is_share else digits


def assessment_score_format(assessment: SelectionReport) -> ScoreFormat:
    """Return the format of the scores of an assessment."""
    return ScoreFormat(assessment.scoring, 0 < abs(assessment.optimism) < _WHOLE_POINTS)


def selected_columns_text(result: StudyRecord) -> str:
    """Return the selected columns: "the 4 recommended columns", or with the merit that selected them."""
    recommended, subset = result.recommendation, result.subset
    if subset is not None:
        n = len(subset.columns)
        return f"the {'column' if n == 1 else f'{n:,} columns'} selected by {subset.merit.label}"
    if recommended is not None and recommended.columns:
        n = len(recommended.columns)
        return f"the recommended {'column' if n == 1 else f'{n:,} columns'}"
    return "the selected columns"


def assessment_verdict(assessment: SelectionReport, selection: str) -> str:
    """Return in a sentence or two whether the selection predicts new rows, and how much of its apparent score is optimism."""
    score_format = assessment_score_format(assessment)
    if not assessment.columns:
        nothing = score_format.format_score(assessment.baseline.mean)
        return f"The search keeps no column, so there is no score to evaluate; the baseline is {score_format.name} {nothing}."
    beats_chance = assessment.beats_chance
    if assessment.beats_baseline:
        found = f"With {selection}, new rows are predicted better than without columns"
    elif not beats_chance:
        found = "No gain over the baseline was found on new rows, and the merit is no better than on shuffled targets"
    elif _is_uncertain_gain(assessment):
        found = "The merit is better than on shuffled targets, but the gain on new rows is within its error"
    else:
        found = "No gain over the baseline was found on new rows"
    words = f"{found}: {_nested_score_text(assessment)}."
    words += f"{_apparent_score_text(assessment, score_format)}{_accuracy_note(assessment)}"
    if assessment.beats_baseline and not beats_chance and assessment.null is not None:
        words += f" Yet {null_count_text(assessment.null)}: the merit itself may be chance."
    return words


def _is_uncertain_gain(assessment: SelectionReport) -> bool:
    """Return whether the permutation test is significant and the nested score is above the baseline (within its error)."""
    null, scores = assessment.null, assessment.scores_of(assessment.deciding_score)
    return null is not None and null.p_value <= SIGNIFICANCE_LEVEL and scores.nested.mean > scores.baseline.mean


def _nested_score_text(assessment: SelectionReport) -> str:
    """Return the deciding nested score, the rows and the baseline; with the interval if the score shows no gain."""
    decided = assessment.deciding_score
    score_format = ScoreFormat(decided, with_fraction=True)
    scores = assessment.scores_of(decided)
    nested = score_format.format_score(scores.nested.mean)
    if not assessment.beats_baseline:
        nested += f" (95% {' to '.join(map(score_format.format_score, score_format.clipped_interval(scores.nested.interval)))})"
    rows = count_with_noun(assessment.n_samples, "row")
    baseline = score_format.format_score(scores.baseline.mean)
    return f"{score_format.name} {nested} in nested cross-validation of {rows}, baseline {baseline}"


def _apparent_score_text(assessment: SelectionReport, score_format: ScoreFormat) -> str:
    """Return the apparent score and the optimism in it."""
    lost = score_format.format_optimism(assessment.optimism)
    apparent = score_format.format_score(assessment.apparent.mean)
    nested = score_format.format_score(assessment.nested.mean)
    if not lost:
        return f" The apparent score, {score_format.name} {apparent}, is not higher: no optimism was found."
    are = "is" if not score_format.is_share or lost == "1 point" else "are"
    beside = f" beside {nested} in nested cross-validation" if assessment.deciding_score != assessment.scoring else ""
    return f" The apparent score is {score_format.name} {apparent}{beside}, of which {lost} {are} optimism."


def _accuracy_note(assessment: SelectionReport) -> str:
    """Return a sentence if accuracy is not above that of the most frequent class, else ""."""
    if "accuracy" not in (assessment.scoring, *assessment.other_scores):
        return ""
    score_format, scores = ScoreFormat("accuracy", with_fraction=True), assessment.scores_of("accuracy")
    nested, baseline = scores.nested.mean, scores.baseline.mean
    if nested > baseline:
        return ""
    than = "below" if nested < baseline else "no more than"
    most_frequent = f"the {score_format.format_score(baseline)} of always predicting the most frequent class"
    return f" Its accuracy, {score_format.format_score(nested)}, is {than} {most_frequent}."


def null_count_text(null: PermutationNull) -> str:
    """Return how many searches on shuffled targets reached the observed merit."""
    count = int((null.null_values >= null.observed).sum())
    searches = count_with_noun(len(null.null_values), "search", "searches")
    reached = f"{null.statistic} {format_number(null.observed)}"
    return f"{f'{count:,}' if count else 'none'} of {searches} on shuffled targets reached the {reached}"
