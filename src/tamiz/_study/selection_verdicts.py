"""Verdicts on the selection of a study: perfect scores, losses of models, and columns that other rows would not select."""

from __future__ import annotations

from collections.abc import Sequence

from tamiz.assessment.findings import Stability
from tamiz.assessment.score_report import Recommendation
from tamiz.report.records.columns import ColumnDecision
from tamiz.report.score_text import ScoreFormat, change_text, model_name
from tamiz.report.text import join_names, kinds_argument, kinds_option
from tamiz.runtime.user_warnings import list_names
from tamiz.runtime.verdicts import Verdict

# Models are few, and none of their scores is cut.
_FULL_WIDTH = 1_000
# A score of a model that is shown as 1.000 or 100 %, and the most columns that a warning of it names.
_PERFECT_SCORE, _MAX_NAMED = 0.9995, 5


def perfect_score_warnings(found: Recommendation) -> list[Verdict]:
    """Return a warning of scores that are shown as 1.000, with the fewest columns that reach one; an empty list without any.

    These are the smallest of the compared sets with such a score. If only all columns reach it, the columns are those of the
    smallest sets that the candidates select.
    """
    perfect = [
        (len(one.columns), scoring, model, one.columns)
        for one in found.candidates.values()
        for scoring in found.scorings
        for model in found.models
        if one.scores[model, scoring].mean >= _PERFECT_SCORE
    ]
    sets = [pair for path in found.paths.values() for pair in zip(path.columns, path.scores, strict=True)]
    model, scoring = found.deciding
    perfect += [(len(columns), scoring, model, columns) for columns, score in sets if score.mean >= _PERFECT_SCORE]
    if not perfect:
        return []
    size, scoring, model, columns = min(perfect, key=lambda one: one[0])
    # The columns of the smallest sets first: a search selects the best columns first.
    order = dict.fromkeys(name for of_set, _ in sorted(sets, key=lambda pair: len(pair[0])) for name in of_set)
    names = [*(name for name in order if name in columns), *(name for name in columns if name not in order)]
    named = join_names([repr(name) for name in names[:_MAX_NAMED]])
    which = named if size <= _MAX_NAMED else f"{size:,} columns, of which {named} are the best"
    score, name = ScoreFormat(scoring), model_name(model, found.models[model])
    its = "its values are" if size == 1 else "their values are"
    sentence = (
        f"The {score.name} of {name} is {score.format_score(1.0)} on {which}: check that {its} known before the "
        f"target. If not, exclude the columns, such as {kinds_argument({names[0]: 'id'})} ({kinds_option({names[0]: 'id'})})."
    )
    return [Verdict("TZ102", sentence, names[:_MAX_NAMED])]


def loss_warnings(found: Recommendation) -> list[Verdict]:
    """Return a warning of the models that lose more than the margin on the recommended columns, beyond the error; or none."""
    if found.chance:
        return []
    score = ScoreFormat(found.scorings[0])
    losses = [
        change_text(model_name(model, label), change, score)
        for model, label in found.models.items()
        if (change := found.score_change(found.recommended, model)).interval[1] < 0 and -change.mean > found.margin
    ]
    if not losses:
        return []
    sentence = (
        f"The {score.name} on the recommended columns is lower than on all columns: {join_names(losses, width=_FULL_WIDTH)}, with "
        "95% confidence intervals. For these models keep more columns."
    )
    return [Verdict("TZ303", sentence, found.columns)]


# Poor agreement by Fleiss (1981), as Nogueira, Sechidis and Brown (2018) propose for this measure.
_LOW_STABILITY, _RARE = 0.4, 0.5


def stability_warnings(
    found: Recommendation, stability: Stability, decisions: Sequence[ColumnDecision]
) -> list[Verdict]:
    """Return a warning if the columns that the folds select agree poorly, with the recommended ones that few folds select."""
    if not found.columns or stability.estimate >= _LOW_STABILITY or len(found.columns) == found.n_columns:
        return []
    rare = [one.name for one in decisions if one.kept and one.share < _RARE]
    named = f" Fewer than half of the folds select {list_names(rare, as_text=repr)}." if rare else ""
    sentence = (
        f"Other rows of this table lead to other columns: the stability of the selection is {stability.estimate:.2f} (95% "
        f"interval {stability.low:.2f} to {stability.high:.2f}; 1 for the same columns always, 0 for random sets).{named} The "
        "score includes the choice; the list of columns is uncertain."
    )
    return [Verdict("TZ304", sentence, rare)]
