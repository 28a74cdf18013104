"""What it buys: models on all columns and on the chosen ones, and what columns cost that tell nothing new."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tamiz.report import buys_charts
from tamiz.report.buys_words import (
    between,
    bought,
    chosen,
    cost,
    difference,
    direction,
    model_name,
    score_name,
    short_name,
    sieved,
    told_by,
)
from tamiz.report.text import counted, listed, shortened

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_WHY = {
    "random": {
        "knn": "a random column moves all rows apart, so the nearest ones are less alike",
        "tree": "a tree has one more column to cut small nodes by, which is good at that by chance",
        "naive_bayes": "naive Bayes gives it little weight",
        "ridge": "ridge regression gives it a small coefficient that fits the noise",
        "logistic": "logistic regression gives it a small coefficient that fits the noise",
        "forest": "a random forest splits by it seldom, and averages its trees",
    },
    "copies": {
        "naive_bayes": "naive Bayes takes columns for independent, and believes what two copies say twice",
        "knn": "a column counts in a distance as often as it is there",
        "tree": "a tree has nothing new to cut by, and only ties between equal cuts fall otherwise",
        "ridge": "ridge regression shares one coefficient out among the copies",
        "logistic": "logistic regression shares one coefficient out among the copies",
        "forest": "a random forest tries the copied column at more nodes, and the others at fewer",
    },
}
# The directions of a change that agree with these; a copy may move the nearest neighbours either way.
_AS_TOLD: dict[str, dict[str, tuple[str, ...]]] = {
    "random": {
        "knn": ("down",),
        "tree": ("down",),
        "naive_bayes": ("same",),
        "ridge": ("down", "same"),
        "logistic": ("down", "same"),
        "forest": ("down", "same"),
    },
    "copies": {
        "naive_bayes": ("down",),
        "tree": ("same",),
        "ridge": ("same",),
        "logistic": ("same",),
        "forest": ("down", "same"),
    },
}


def collect_buys(result: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return what the section shows: each model on all columns and on the chosen ones, and the lines as columns are added.

    Parameters
    ----------
    result : mapping
        A result as `Result.to_dict` gives it.

    Returns
    -------
    dict or None
        The template's names; None where nothing was compared and no column added.
    """
    compared, argument = result["buys"], result["argument"]
    if compared is None and argument is None:
        return None
    return {
        "lead": bought(compared) if compared is not None else f"{cost(argument['panels'][0], argument)}.",
        "compared": None if compared is None else _compared(compared, _selector(result)),
        "argument": None if argument is None else _argument(argument),
        "notes": _notes(compared, [*result["warnings"]]),
        "argument_notes": []
        if argument is None
        else [
            *_notes(argument, [*result["warnings"], *(compared or {"notes": []})["notes"]]),
            *_beside(argument, compared),
        ],
    }


def _notes(part: Mapping[str, Any] | None, told: Sequence[str]) -> list[str]:
    """Return the notes of one half that were not told before."""
    return [] if part is None else [note for note in part["notes"] if note not in told]


def _selector(result: Mapping[str, Any]) -> str:
    """Return what chose, as the section of the subset calls it."""
    subset = result["subset"]
    if subset is None:
        return str(result["buys"]["selector"])
    search = subset["search"]["label"]
    return f"{subset['merit']['label']} by {search[:1].lower()}{search[1:]}"


def _compared(compared: Mapping[str, Any], selector: str) -> dict[str, Any]:
    models = compared["models"]
    return {
        "made": f"{compared['folds']}, {counted(compared['n_samples'], 'row')}. Inside each fold {selector} chooses among "
        f"{counted(compared['n_columns'], 'column')} by the rows that are not tested.",
        "n_columns": counted(compared["n_columns"], "column"),
        "chosen": chosen(compared["n_chosen"]),
        "charts": [
            {
                "id": f"bought-{k}",
                "title": score_name(score["id"]),
                "chart": buys_charts.compared(score, models),
                "described": _described(score, models),
                "beyond": _beyond(score, models),
            }
            for k, score in enumerate(compared["scores"])
        ],
        "groups": [_rows(score, models) for score in compared["scores"]],
    }


def _described(score: Mapping[str, Any], models: Sequence[Mapping[str, Any]]) -> str:
    told = told_by(score["id"])
    each = (
        f"{model['label']} {told.score(cell['all_columns']['mean'])} on all columns, {told.score(cell['chosen']['mean'])} on the "
        "chosen ones"
        for model, cell in zip(models, score["models"], strict=True)
    )
    return f"{score_name(score['id'])}: {'; '.join(each)}."


def _beyond(score: Mapping[str, Any], models: Sequence[Mapping[str, Any]]) -> str:
    """Return which means a chart shows at its edge."""
    told = told_by(score["id"])
    off = [
        f"{model_name(model)} on {columns}"
        for model, cell in zip(models, score["models"], strict=True)
        for key, columns in (("all_columns", "all columns"), ("chosen", "the chosen ones"))
        if cell[key]["mean"] < told.least_drawn
    ]
    return told.at_the_edge(off)


def _rows(score: Mapping[str, Any], models: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the rows of the table for one score."""
    told = told_by(score["id"])

    def spread(scores: Mapping[str, Any]) -> str:
        sd = scores["standard_deviation"]
        return f"{told.score(scores['mean'])} ± {f'{100 * sd:.1f}' if told.is_share else told.decimals(sd)}"

    return {
        "name": score_name(score["id"]),
        "baseline": told.score(score["baseline"]["mean"]),
        "rows": [
            {
                "name": model["label"],
                "all_columns": spread(cell["all_columns"]),
                "chosen": spread(cell["chosen"]),
                "difference": difference(cell["difference"]["mean"], told),
                "between": between(cell["difference"]["interval"], told),
            }
            for model, cell in zip(models, score["models"], strict=True)
        ],
    }


def _argument(argument: Mapping[str, Any]) -> dict[str, Any]:
    span = buys_charts.heights(argument)
    draws = argument["n_draws"]
    mean = f" Random columns were drawn {draws} times, and a line is the mean." if draws > 1 else ""
    return {
        "made": f"{argument['folds']}, {counted(argument['n_samples'], 'row')}, {counted(argument['n_columns'], 'column')} before "
        f"any is added.{mean}",
        "selector": argument["selector"],
        "panels": [
            {
                "id": f"added-{panel['added']}",
                "title": cost(panel, argument),
                "why": _why(panel, argument),
                "sieved": sieved(panel, argument),
                "chart": buys_charts.added(panel, argument, span),
                "beyond": _beyond_in(panel, argument),
                "described": f"Scores as columns are added, a line a model. {cost(panel, argument)}.",
            }
            for panel in argument["panels"]
        ],
        "numbers": argument["numbers"],
        "tables": [_lines(panel, argument) for panel in argument["panels"]],
    }


def _beyond_in(panel: Mapping[str, Any], argument: Mapping[str, Any]) -> str:
    """Return which lines a chart shows at its edge."""
    told = told_by(argument["scoring"])
    pairs = zip(argument["models"], panel["lines"], strict=True)
    return told.at_the_edge([model_name(model) for model, line in pairs if min(line["means"]) < told.least_drawn])


def _why(panel: Mapping[str, Any], argument: Mapping[str, Any]) -> str:
    """Return what theory says of each model, and which did otherwise here."""
    why, as_told = _WHY[panel["added"]], _AS_TOLD[panel["added"]]
    models = {model["id"]: (model, line) for model, line in zip(argument["models"], panel["lines"], strict=True)}
    words = "; ".join(sentence for name, sentence in why.items() if name in models)
    told = told_by(argument["scoring"])
    other = [
        f"{model_name(model)} ({difference(line['changes'][-1], told)})"
        for name, (model, line) in models.items()
        if name in as_told and direction(line["intervals"][-1]) not in ("unknown", *as_told[name])
    ]
    here = f" Here it came out otherwise for {listed(other)}." if other else ""
    return f"In theory {words}.{here}" if words else ""


def _beside(argument: Mapping[str, Any], compared: Mapping[str, Any] | None) -> list[str]:
    """Return why models on all columns score otherwise in the two halves, where they do."""
    if compared is None:
        return []
    if compared["n_samples"] != argument["n_samples"]:
        rows = counted(compared["n_samples"], "row")
        return [
            f"These are other rows than the {rows} of the scores above, and so the scores at 0 columns added differ from them."
        ]
    score = next((one for one in compared["scores"] if one["id"] == argument["scoring"]), None)
    known = [model["id"] for model in compared["models"]]
    if score is None or compared["folds"] != argument["folds"]:
        return []
    for model, line in zip(argument["models"], argument["panels"][0]["lines"], strict=True):
        if model["id"] != "knn" or "knn" not in known:
            continue
        means = line["means"][0], score["models"][known.index("knn")]["all_columns"]["mean"]
        here, above = map(told_by(score["id"]).score, means)
        if here != above:
            return [
                f"Nearest neighbours score {here} at 0 columns added and {above} on all columns "
                "above: where rows are equally near, each takes others of them."
            ]
    return []


def _lines(panel: Mapping[str, Any], argument: Mapping[str, Any]) -> dict[str, Any]:
    """Return the numbers of one panel as rows."""
    told = told_by(argument["scoring"])
    rows = []
    for model, line, again in zip(argument["models"], panel["lines"], panel["chosen"], strict=True):
        rows.append((short_name(model), [told.score(mean) for mean in line["means"]]))
        at = dict(zip(argument["chosen_numbers"], again["means"], strict=True))
        chosen = [told.score(at[n]) if n in at else "" for n in argument["numbers"]]
        rows.append((f"{short_name(model)}, chosen", chosen))
    name = "Random columns" if panel["added"] == "random" else f"Copies of {shortened(argument['copied'], 40)}"
    return {"name": name, "rows": rows}
