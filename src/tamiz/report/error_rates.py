"""Error rates of a selection in words: what a search finds and selects falsely on semi-synthetic targets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tamiz.report.score_text import unshown_notes
from tamiz.report.text import count_with_noun, format_count, format_percent, join_names, shorten
from tamiz.runtime.user_warnings import quote_name

if TYPE_CHECKING:
    from tamiz.assessment.findings import Rate, SelectionErrorRates
    from tamiz.report.records.study import StudyRecord

_NAME_WIDTH = 40
_STRENGTHS = {
    "equal": "a signal as strong as the one estimated for the real target",
    "stronger": "a stronger signal than that of the real target",
    "weaker": "at most as strong a signal as that of the real target",
    None: "as requested",
}


def collect_error_rates(result: StudyRecord) -> dict[str, Any] | None:
    """Return the sentences and the notes on error rates; None if there are none.

    Parameters
    ----------
    result : StudyRecord
        The record of a study.
    """
    assessment, rates = result.reliability, result.error_rates
    if assessment is None or rates is None:
        return None
    return {
        "finding": error_rates_text(rates),
        "design": error_rates_design(rates, has_gain=assessment.beats_baseline and assessment.beats_chance),
        "often": _often_false_text(rates),
        "notes": unshown_notes(result, result.recommendation, result.noise_experiment, assessment, rates),
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
