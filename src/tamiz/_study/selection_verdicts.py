"""Verdicts on the selection of a study: perfect scores, losses of models, and columns that other rows would not select."""

from __future__ import annotations

from tamiz.report.records.models import RecommendationRecord, StabilitySummary
from tamiz.report.score_text import change_text, model_name, score_format_for
from tamiz.report.text import join_names, kinds_argument, kinds_option
from tamiz.runtime.user_warnings import list_names
from tamiz.runtime.verdicts import Verdict

# Models are few, and none of their scores is cut.
_FULL_WIDTH = 1_000
# A score of a model that is shown as 1.000 or 100 %, and the most columns that a warning of it names.
_PERFECT_SCORE, _MAX_NAMED = 0.9995, 5


def perfect_score_warnings(found: RecommendationRecord) -> list[Verdict]:
    """Return a warning of scores that are shown as 1.000, with the fewest columns that reach one; an empty list without any.

    These are the smallest of the compared sets with such a score. If only all columns reach it, the columns are those of the
    smallest sets that the candidates select.
    """
    scorings = [one.id for one in found.scores]
    perfect = [
        (len(one.columns), scoring, model, one.columns)
        for one in found.candidates
        for scoring, scores in zip(scorings, one.scores, strict=True)
        for model, score in zip(found.models, scores, strict=True)
        if score.mean >= _PERFECT_SCORE
    ]
    deciding = next(one for one in found.models if one.id == found.deciding)
    sets = [one for path in found.paths for one in path.sets]
    perfect += [
        (len(one.columns), scorings[0], deciding, one.columns) for one in sets if one.score.mean >= _PERFECT_SCORE
    ]
    if not perfect:
        return []
    size, scoring, model, columns = min(perfect, key=lambda one: one[0])
    # The columns of the smallest sets first: a search selects the best columns first.
    order = dict.fromkeys(name for one in sorted(sets, key=lambda one: len(one.columns)) for name in one.columns)
    names = [*(name for name in order if name in columns), *(name for name in columns if name not in order)]
    named = join_names([repr(name) for name in names[:_MAX_NAMED]])
    which = named if size <= _MAX_NAMED else f"{size:,} columns, of which {named} are the best"
    score = score_format_for(scoring)
    its = "its values are" if size == 1 else "their values are"
    sentence = (
        f"The {score.name} of {model_name(model)} is {score.format_score(1.0)} on {which}: check that {its} known before the "
        f"target. If not, exclude the columns, such as {kinds_argument({names[0]: 'id'})} ({kinds_option({names[0]: 'id'})})."
    )
    return [Verdict("TZ102", sentence, names[:_MAX_NAMED])]


def loss_warnings(found: RecommendationRecord) -> list[Verdict]:
    """Return a warning of the models that lose more than the margin on the recommended columns, beyond the error; or none."""
    chosen = found.chosen
    if chosen is None:
        return []
    score = score_format_for(found.scores[0].id)
    losses = [
        change_text(model, change, score)
        for model, change in zip(found.models, chosen.changes[0], strict=True)
        if change.interval[1] < 0 and -change.mean > found.margin
    ]
    if not losses:
        return []
    sentence = (
        f"The {score.name} on the recommended columns is lower than on all columns: {join_names(losses, width=_FULL_WIDTH)}, with "
        "95% confidence intervals. For these models keep more columns."
    )
    return [Verdict("TZ303", sentence, chosen.columns)]


# Poor agreement by Fleiss (1981), as Nogueira, Sechidis and Brown (2018) propose for this measure.
_LOW_STABILITY, _RARE = 0.4, 0.5


def stability_warnings(found: RecommendationRecord, stability: StabilitySummary) -> list[Verdict]:
    """Return a warning if the columns that the folds select agree poorly, with the recommended ones that few folds select."""
    if not found.columns or stability.estimate >= _LOW_STABILITY or len(found.columns) == found.n_columns:
        return []
    rare = [one.name for one in found.decisions if one.kept and one.share < _RARE]
    named = f" Fewer than half of the folds select {list_names(rare, as_text=repr)}." if rare else ""
    sentence = (
        f"Other rows of this table lead to other columns: the stability of the selection is {stability.estimate:.2f} (95% "
        f"interval {stability.low:.2f} to {stability.high:.2f}; 1 for the same columns always, 0 for random sets).{named} The "
        "score includes the choice; the list of columns is uncertain."
    )
    return [Verdict("TZ304", sentence, rare)]
