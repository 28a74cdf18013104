"""What a choice of columns buys, and what added columns cost, in words that the numbers bear out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tamiz.report.text import count_with_noun, join_names, shorten
from tamiz.report.trust import ScoreFormat

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

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
    last = experiment["chosen_numbers"][-1]
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
