"""Scores in words: how they are formatted, how added columns change them, and the verdict of an assessment."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from tamiz.report.drawing import Scale
from tamiz.report.text import (
    capitalize,
    count_with_noun,
    format_count,
    format_number,
    format_percent,
    join_names,
    shorten,
)
from tamiz.runtime.user_warnings import quote_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from markupsafe import Markup

    from tamiz.assessment.findings import FoldScores, Rate, SelectionErrorRates
    from tamiz.assessment.score_report import Added, NoiseExperiment, SelectionReport
    from tamiz.report.records import QualityRecord, StudyRecord
    from tamiz.runtime.codec import Interval


# A change whose interval is within this on both sides of 0 is negligible: two points of accuracy, or .02 of R2.
_NEGLIGIBLE = 0.02
# Parts of a sentence are never cut.
_FULL_WIDTH = 200
# The name of a score in a sentence, and what it is.
_SCORES = {
    "f1_macro": ("f1 macro", "mean over the classes"),
    "roc_auc": ("AUC", "area under the ROC curve"),
    "roc_auc_ovr_weighted": ("weighted AUC", "each class against the rest, weighted by its rows"),
    "roc_auc_ovr": ("mean AUC", "each class against the rest, mean of the classes"),
    "r2": ("R²", "variance explained"),
}


def model_name(model: str, label: str) -> str:
    return "nearest neighbours" if model == "knn" else label


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


def n_chosen_text(n_chosen: Sequence[float]) -> str:
    """Return the number of columns that the folds selected: "4", or "4 to 6"."""
    least, most = int(min(n_chosen)), int(max(n_chosen))
    return f"{least:,}" if least == most else f"{least:,} to {most:,}"


def added_columns_cost(added: Added, experiment: NoiseExperiment) -> str:
    """Return in a clause how the largest number of added columns changes the score of each model."""
    score_format = ScoreFormat(experiment.scoring)
    what = "random columns" if added == "random" else f"copies of {shorten(experiment.copied_column, 40)}"
    found: dict[str, list[str]] = {"sure": [], "same": [], "unknown": []}
    changes = {model: experiment.score_changes(added, model)[-1] for model in experiment.models}
    for model, change in sorted(changes.items(), key=lambda pair: -abs(pair[1].mean)):
        direction, name = change_direction(change.interval), model_name(model, experiment.models[model])
        size = "" if direction == "same" else f" ({format_difference(change.mean, score_format)})"
        found[direction if direction in found else "sure"].append(f"{name}{size}")
    effects = {
        "sure": "changes for {}",
        "same": f"changes by at most {_NEGLIGIBLE} for {{}}",
        "unknown": "changes within the error of the folds for {}",
    }
    parts = [effects[key].format(join_names(names, width=_FULL_WIDTH)) for key, names in found.items() if names]
    return f"With {experiment.n_added[-1]:,} {what}, the {score_format.name} {'; it '.join(parts)}"


def reselection_text(added: Added, experiment: NoiseExperiment) -> str:
    """Return in a sentence which score falls most if columns are selected again inside every fold."""
    n_kept, noun = experiment.n_added_selected[added][-1].mean(), "random columns" if added == "random" else "copies"
    changes = {model: experiment.score_changes(added, model, selected=True)[-1] for model in experiment.models}
    model, change = min(changes.items(), key=lambda pair: pair[1].mean)
    lowest = change_text(model_name(model, experiment.models[model]), change, ScoreFormat(experiment.scoring))
    of_added = f"{n_kept:.1f} a fold of the {experiment.selection_n_added[-1]:,} {noun}"
    return f"keeps {of_added}; the lowest change of a score is that of {lowest}."


# R2 has no lower bound, and one fold could flatten a chart: a lower R2 is drawn at the edge and named in a note.
_MIN_DRAWN_R2 = -1.0
# From here on decimals are noise.
_LARGE = 1000.0


@dataclass(frozen=True)
class ScoreFormat:
    """The format of scores of one kind; shares of rows are percentages."""

    scoring: str

    @property
    def is_share(self) -> bool:
        return self.scoring in ("accuracy", "balanced_accuracy")

    @property
    def name(self) -> str:
        return _SCORES.get(self.scoring, (self.scoring.replace("_", " "), ""))[0]

    @property
    def title(self) -> str:
        """The score's name in a heading, with what it is."""
        name, meaning = _SCORES.get(self.scoring, (self.name, ""))
        return capitalize(name) + (f" ({meaning})" if meaning else "")

    def limit(self, value: float) -> float:
        """Return an end of an interval within the values that the score can have."""
        if self.is_share or self.name.endswith("AUC"):
            return min(max(value, 0.0), 1.0)
        return min(value, 1.0) if self.scoring == "r2" else value

    def clip(self, value: float) -> float:
        """Return the position of a score in a chart: that of a lower R2 is -1."""
        return max(self.limit(value), _MIN_DRAWN_R2) if self.scoring == "r2" else self.limit(value)

    def clipping_note(self, scores: Mapping[str, float]) -> str:
        """Return a note that names those of some scores that are clipped at the edge of a chart, "" if there are none."""
        low = [name for name, value in scores.items() if self.scoring == "r2" and value < _MIN_DRAWN_R2]
        return f"Below −1, much worse than predicting the mean, and drawn at −1: {join_names(low)}." if low else ""

    def format_score(self, value: float) -> str:
        return f"{100 * value:.1f}%".replace("-", "−") if self.is_share else self.format_number(value)

    def format_number(self, value: float) -> str:
        return f"{value:.3f}".replace("-", "−") if abs(value) < _LARGE else format_number(value, digits=2)

    def format_interval(self, interval: Sequence[float]) -> str:
        """Return the confidence interval of a mean score: "0.905 to 0.945"."""
        return " to ".join(self.format_score(self.limit(end)) for end in interval)


def mark_scores(
    scores: Sequence[tuple[float, Interval | None]], score_format: ScoreFormat
) -> tuple[Scale, list[Markup]]:
    """Return the marks of mean scores with their intervals, and their common scale, which has no impossible score."""
    clipped = [[score_format.clip(one) for one in (mean, *(interval or ()))] for mean, interval in scores]
    around = Scale.around([value for values in clipped for value in values])
    scale = Scale(score_format.clip(around.low), score_format.clip(around.high))
    return scale, [scale.mark(mean, interval) for mean, *interval in clipped]


def unshown_notes(record: StudyRecord, *parts: Any) -> list[str]:
    """Return the notes of the last of some parts of a result that neither its warnings nor the other parts have."""
    *others, last = parts
    shown = {*record.warnings, *(note for one in others if one is not None for note in one.notes)}
    return [note for note in last.notes if note not in shown]


def assessment_verdict(assessment: SelectionReport) -> str:
    """Return in a few sentences whether the selection predicts new rows, and how much of its apparent score is optimism."""
    deciding, apparent = ScoreFormat(assessment.deciding_score), ScoreFormat(assessment.scoring)
    scores = assessment.scores_of(assessment.deciding_score)
    baseline = deciding.format_score(scores.baseline.mean)
    if not assessment.columns:
        return (
            f"The search keeps no column, so there is no score to evaluate; the baseline is {deciding.name} {baseline}."
        )
    nested = f"{deciding.format_score(scores.nested.mean)} (95% {deciding.format_interval(scores.nested.interval)})"
    optimism = format_difference(max(assessment.optimism, 0.0), apparent).lstrip("+")
    rows = count_with_noun(assessment.n_samples, "row")
    words = (
        f"{assessment.conclusion}: {deciding.name} {nested} in nested cross-validation of {rows}, baseline {baseline}. "
        f"Apparent score: {apparent.name} {apparent.format_score(assessment.apparent.mean)}; optimism: {optimism}."
    )
    if "accuracy" in (assessment.scoring, *assessment.other_scores):
        accuracy, share = assessment.scores_of("accuracy"), ScoreFormat("accuracy").format_score
        if accuracy.nested.mean <= accuracy.baseline.mean:
            always = f"{share(accuracy.baseline.mean)} of always predicting the most frequent class"
            words += f" Its accuracy, {share(accuracy.nested.mean)}, is not above the {always}."
    return words


_NAME_WIDTH = 40
_STRENGTHS = {
    "equal": "a signal as strong as the one estimated for the real target",
    "stronger": "a stronger signal than that of the real target",
    "weaker": "at most as strong a signal as that of the real target",
    None: "as requested",
}


def collect_error_rates(record: StudyRecord) -> dict[str, Any] | None:
    """Return the sentences and the notes on error rates; None if there are none."""
    assessment, rates = record.reliability, record.error_rates
    if assessment is None or rates is None:
        return None
    return {
        "finding": error_rates_text(rates),
        "design": error_rates_design(rates, has_gain=assessment.beats_baseline and assessment.beats_chance),
        "often": _often_false_text(rates),
        "notes": unshown_notes(record, record.recommendation, record.noise_experiment, assessment, rates),
    }


def error_rates_text(rates: SelectionErrorRates) -> str:
    """Return in a sentence the shares of true columns found and of false columns selected, with their standard errors."""
    found, false = rates.true_positive_rate, rates.false_discovery_proportion
    strict = rates.strict_false_discovery_proportion
    without = (
        f" ({_mean_and_error(strict)} if columns that nearly equal a true one are not counted)"
        if strict.mean < false.mean
        else ""
    )
    return (
        f"On {format_count(rates.n_draws)} semi-synthetic targets of {count_with_noun(rates.n_samples, 'row')}, the search finds "
        f"{_mean_and_error(found)} of the true columns (mean and standard error; as many columns drawn at random: "
        f"{format_percent(rates.chance_true_positive_rate.mean)}), and {_mean_and_error(false)} of the columns that it selects are "
        f"false{without}."
    )


def error_rates_design(rates: SelectionErrorRates, *, has_gain: bool) -> str:
    """Return in a sentence how the semi-synthetic targets were computed, and how strong their signal is.

    `has_gain` is whether the subset predicts the real target better than chance: if not, the estimate of its signal may be chance.
    """
    strength = _STRENGTHS[rates.signal_strength]
    what = "latent variable behind the classes" if rates.target_kind == "classes" else "target"
    if rates.signal_strength == "equal" and not has_gain:
        strength += ", which may be none"
    columns = f"{count_with_noun(rates.n_true, 'random column')} of {format_count(rates.n_columns)}"
    return (
        f"Each target is computed from noise and {columns}, which the search should find. The explained share of the variance "
        f"of the {what} is {format_percent(rates.signal)}: {strength}."
    )


def _often_false_text(rates: SelectionErrorRates) -> str:
    """Return the columns that are most often selected falsely, "" if there are none."""
    often = [
        f"{shorten(quote_name(name), _NAME_WIDTH)} ({'' if k else 'for '}{format_percent(share)}{'' if k else ' of the targets'})"
        for k, (name, share) in enumerate(rates.false_selection_frequencies.items())
    ]
    return f"Most often selected without being true: {join_names(often, width=2 * _NAME_WIDTH)}." if often else ""


def _mean_and_error(rate: Rate) -> str:
    """Return the mean of a rate and its standard error: "62% ± 3.2%"."""
    return f"{format_percent(rate.mean)} ± {format_percent(rate.standard_error)}"


# Digits of the measures; maps that look equal are equally good.
DECIMALS = 3


# From these values on, neighbours and distances on a map may be trusted, or roughly.
_TRUSTED, _MOSTLY_TRUSTED = 0.9, 0.8


def most_trusted_map(record: StudyRecord) -> int | None:
    """Return the number of the map with the largest sum of trustworthiness and rank correlation; None without such a map.

    By neighbours alone, islands without a meaning win where categories split the rows.
    """
    shown = [
        k for k, one in enumerate(record.maps) if one.points and any(point != one.points[0] for point in one.points)
    ]
    if not shown or record.quality is None:
        return next(iter(shown), None)
    measures = [record.quality.values(name) for name in ("trustworthiness", "rank_correlation")]
    sums = {k: sum(-1.0 if (value := values[k]) is None else value for values in measures) for k in shown}
    return max(shown, key=lambda k: (round(sums[k], DECIMALS), -k))


def trust_text(quality: QualityRecord | None, k: int) -> str:
    """Return in a sentence whether neighbours and distances on map number k may be trusted, "" if it was not evaluated."""
    parts = []
    for what, label in (("Neighbours", "trustworthiness"), ("order of distances", "rank correlation")):
        value = None if quality is None else quality.values(label.replace(" ", "_"))[k]
        if value is not None:
            word = "yes" if value >= _TRUSTED else "roughly" if value >= _MOSTLY_TRUSTED else "no"
            parts.append(f"{what} {word} ({label} {value:.2f})")
    return f"To trust: {', '.join(parts)}." if parts else ""


def chance_rows_text(quality: QualityRecord | None, k: int) -> str:
    """Return how many rows map number k places no better than by chance, "" if none or unknown."""
    one = None if quality is None else quality.maps[k]
    if quality is None or one is None or not one.n_chance_rows:
        return ""
    n = one.n_chance_rows
    return (
        f"{n:,} of {count_with_noun(quality.n_rows, 'row')} {'has' if n == 1 else 'have'} neighbours on the map that are no "
        f"better than by chance (trustworthiness at most {quality.chance_trust:.2f})."
    )
