"""Possible target leakage in words: how well one column predicts or recodes the target, on which rows and classes."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from tamiz.report.score_text import ScoreFormat
from tamiz.report.text import count_with_noun, format_percent, join_column_names

if TYPE_CHECKING:
    from tamiz.assessment.findings import PossibleLeak
    from tamiz.report.records.columns import LeakageExclusion

# A formula with this score is exact but for rounding; at most so many limits of classes are listed.
_EXACT_SCORE, _MAX_LIMITS = 0.9999, 5


def leakage_evidence(leakage: PossibleLeak, target: str) -> str:
    """Return the evidence of possible leakage by one column or by a formula, as a predicate that follows the name or names.

    >>> from tamiz.assessment import PossibleLeak
    >>> score = {"score": 0.9964, "score_name": "balanced accuracy", "baseline": 0.5, "n_rows": 1200}
    >>> leak = PossibleLeak(name="closed", predictor="values", **score, by_groups=False)
    >>> leakage_evidence(leak, "churn")
    'alone predicts churn with a balanced accuracy of 99.6% (50% by guessing) in 5-fold cross-validation on 1,200 rows'
    """
    rows = count_with_noun(leakage.n_rows, "row")
    score = f"{'an R²' if leakage.score_name == 'R2' else f'a {leakage.score_name}'} of {_score_text(leakage, leakage.score)}"
    if leakage.predictor == "formula":
        almost = "" if leakage.score > _EXACT_SCORE else "almost "
        limits = ", ".join(f"{limit:.4g}" for limit in leakage.limits[:_MAX_LIMITS])
        formula = f"{leakage.formula} with the limits {limits}" if limits else leakage.formula
        fewer = f"at most {_score_text(leakage, leakage.baseline)} by fewer columns"
        return f"together {almost}determine {target}: {formula} has {score} on {rows} that were not used to find it ({fewer})"
    if leakage.score_name == "adjusted mutual information":
        of = " (one of each group)" if leakage.by_groups else ""
        almost = "" if leakage.score > 1 - 1e-9 else "almost "
        information = f"{leakage.score_name} {_format_floor(leakage.score, 3)}"
        scale = "where 1 is a one-to-one recoding and 0 is expected by chance"
        return f"is {almost}a recoding of {target}: {information} on {rows}{of}, {scale}"
    if leakage.score_name != "R2":
        score += f" ({format_percent(leakage.baseline)} by guessing)"
    subject = "by its missing values alone " if leakage.predictor == "missing" else "alone "
    folds = "5-fold cross-validation of whole groups" if leakage.by_groups else "5-fold cross-validation"
    decided = "" if leakage.decided > 1 - 1e-9 else f" for {_format_floor(100 * leakage.decided, 1)}% of the rows"
    return f"{subject}predicts {target}{decided} with {score} in {folds} on {rows}{_coverage_text(leakage)}"


def _score_text(leakage: PossibleLeak, score: float) -> str:
    return _format_floor(score, 4) if leakage.score_name == "R2" else f"{_format_floor(100 * score, 1)}%"


def exclusion_text(exclusion: LeakageExclusion) -> str:
    """Return which columns of possible leakage are set aside, with the score of the best model with them and without."""
    n = len(exclusion.columns)
    named = join_column_names(exclusion.columns, limit=8)
    uses = f"keep_leaks=True (--keep-leaks) uses {'it' if n == 1 else 'them'}"
    return f"{count_with_noun(n, 'possible leak')} set aside: {named}{exclusion_scores(exclusion)}; {uses}."


def exclusion_scores(exclusion: LeakageExclusion) -> str:
    """Return both scores in parentheses, after a space; "" if no models were evaluated."""
    if exclusion.scoring is None or exclusion.with_leaks is None or exclusion.without_leaks is None:
        return ""
    score = ScoreFormat(exclusion.scoring)
    them = "it" if len(exclusion.columns) == 1 else "them"
    return (
        f" ({score.name} {score.format_score(exclusion.with_leaks)} with {them}, "
        f"{score.format_score(exclusion.without_leaks)} without)"
    )


def _coverage_text(leakage: PossibleLeak) -> str:
    """Return a note on the classes that were scored, "" if all were."""
    found = leakage.coverage
    if found is None:
        return ""
    least = f"at least {found.min_rows} {'groups' if leakage.by_groups else 'rows'}"
    return (
        f": the {found.n_classes:,} of {found.of_classes:,} classes with {least}, which contain {leakage.n_rows:,} of "
        f"{found.of_rows:,} rows"
    )


def _format_floor(value: float, decimals: int) -> str:
    """Return a score rounded down, so that it never looks perfect when it is not."""
    text = f"{math.floor(value * 10**decimals + 1e-6) / 10**decimals:.{decimals}f}"
    return text.rstrip("0").rstrip(".")
