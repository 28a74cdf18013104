"""What it buys: models on all columns and on the chosen ones, and what columns cost that tell nothing new."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tamiz.report import model_effect_charts
from tamiz.report.score_text import (
    added_columns_cost,
    change_direction,
    chosen_columns_text,
    format_difference,
    format_interval,
    model_effect_text,
    model_name,
    reselection_text,
    score_format_for,
    score_title,
    short_model_name,
)
from tamiz.report.text import count_with_noun, join_names, shorten

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_THEORY = {
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
_EXPECTED_DIRECTIONS: dict[str, dict[str, tuple[str, ...]]] = {
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


def collect_model_effect(result: Mapping[str, Any]) -> dict[str, Any] | None:
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
    compared, argument = result["model_effect"], result["noise_experiment"]
    if compared is None and argument is None:
        return None
    return {
        "lead": model_effect_text(compared)
        if compared is not None
        else f"{added_columns_cost(argument['panels'][0], argument)}.",
        "compared": None if compared is None else _comparison(compared, _selector_name(result)),
        "noise_experiment": None if argument is None else _noise_experiment(argument),
        "notes": _notes(compared, [*result["warnings"]]),
        "noise_experiment_notes": []
        if argument is None
        else [
            *_notes(argument, [*result["warnings"], *(compared or {"notes": []})["notes"]]),
            *_score_difference_notes(argument, compared),
        ],
    }


def _notes(section: Mapping[str, Any] | None, shown_notes: Sequence[str]) -> list[str]:
    """Return the notes of one half that were not told before."""
    return [] if section is None else [note for note in section["notes"] if note not in shown_notes]


def _selector_name(result: Mapping[str, Any]) -> str:
    """Return what chose, as the section of the subset calls it."""
    subset = result["subset"]
    if subset is None:
        return str(result["model_effect"]["selector"])
    search = subset["search"]["label"]
    return f"{subset['merit']['label']} by {search[:1].lower()}{search[1:]}"


def _comparison(effect: Mapping[str, Any], selector: str) -> dict[str, Any]:
    models = effect["models"]
    return {
        "design": f"{effect['folds']}, {count_with_noun(effect['n_samples'], 'row')}. Inside each fold {selector} chooses among "
        f"{count_with_noun(effect['n_columns'], 'column')} by the rows that are not tested.",
        "n_columns": count_with_noun(effect["n_columns"], "column"),
        "chosen": chosen_columns_text(effect["n_chosen"]),
        "charts": [
            {
                "id": f"comparison-{k}",
                "title": score_title(score["id"]),
                "chart": model_effect_charts.comparison_chart(score, models),
                "described": _chart_description(score, models),
                "clipped_note": _clipped_means_note(score, models),
            }
            for k, score in enumerate(effect["scores"])
        ],
        "groups": [_score_rows(score, models) for score in effect["scores"]],
    }


def _chart_description(score: Mapping[str, Any], models: Sequence[Mapping[str, Any]]) -> str:
    told = score_format_for(score["id"])
    each = (
        f"{model['label']} {told.format_score(cell['all_columns']['mean'])} on all columns, {told.format_score(cell['chosen']['mean'])} on the "
        "chosen ones"
        for model, cell in zip(models, score["models"], strict=True)
    )
    return f"{score_title(score['id'])}: {'; '.join(each)}."


def _clipped_means_note(score: Mapping[str, Any], models: Sequence[Mapping[str, Any]]) -> str:
    """Return which means a chart shows at its edge."""
    told = score_format_for(score["id"])
    off = [
        f"{model_name(model)} on {columns}"
        for model, cell in zip(models, score["models"], strict=True)
        for key, columns in (("all_columns", "all columns"), ("chosen", "the chosen ones"))
        if cell[key]["mean"] < told.min_drawn
    ]
    return told.clipping_note(off)


def _score_rows(score: Mapping[str, Any], models: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the rows of the table for one score."""
    told = score_format_for(score["id"])

    def spread(scores: Mapping[str, Any]) -> str:
        sd = scores["standard_deviation"]
        return f"{told.format_score(scores['mean'])} ± {f'{100 * sd:.1f}' if told.is_share else told.format_number(sd)}"

    return {
        "name": score_title(score["id"]),
        "baseline": told.format_score(score["baseline"]["mean"]),
        "rows": [
            {
                "name": model["label"],
                "all_columns": spread(cell["all_columns"]),
                "chosen": spread(cell["chosen"]),
                "difference": format_difference(cell["difference"]["mean"], told),
                "between": format_interval(cell["difference"]["interval"], told),
            }
            for model, cell in zip(models, score["models"], strict=True)
        ],
    }


def _noise_experiment(experiment: Mapping[str, Any]) -> dict[str, Any]:
    span = model_effect_charts.score_range(experiment)
    draws = experiment["n_draws"]
    mean = f" Random columns were drawn {draws} times, and a line is the mean." if draws > 1 else ""
    return {
        "design": f"{experiment['folds']}, {count_with_noun(experiment['n_samples'], 'row')}, {count_with_noun(experiment['n_columns'], 'column')} before "
        f"any is added.{mean}",
        "selector": experiment["selector"],
        "panels": [
            {
                "id": f"added-{panel['added']}",
                "title": added_columns_cost(panel, experiment),
                "why": _theory_text(panel, experiment),
                "reselection": reselection_text(panel, experiment),
                "chart": model_effect_charts.added_columns_chart(panel, experiment, span),
                "clipped_note": _clipped_lines_note(panel, experiment),
                "described": f"Scores as columns are added, a line a model. {added_columns_cost(panel, experiment)}.",
            }
            for panel in experiment["panels"]
        ],
        "numbers": experiment["numbers"],
        "tables": [_panel_numbers(panel, experiment) for panel in experiment["panels"]],
    }


def _clipped_lines_note(panel: Mapping[str, Any], experiment: Mapping[str, Any]) -> str:
    """Return which lines a chart shows at its edge."""
    told = score_format_for(experiment["scoring"])
    pairs = zip(experiment["models"], panel["lines"], strict=True)
    return told.clipping_note([model_name(model) for model, line in pairs if min(line["means"]) < told.min_drawn])


def _theory_text(panel: Mapping[str, Any], experiment: Mapping[str, Any]) -> str:
    """Return what theory says of each model, and which did otherwise here."""
    why, as_told = _THEORY[panel["added"]], _EXPECTED_DIRECTIONS[panel["added"]]
    models = {model["id"]: (model, line) for model, line in zip(experiment["models"], panel["lines"], strict=True)}
    words = "; ".join(sentence for name, sentence in why.items() if name in models)
    told = score_format_for(experiment["scoring"])
    other = [
        f"{model_name(model)} ({format_difference(line['changes'][-1], told)})"
        for name, (model, line) in models.items()
        if name in as_told and change_direction(line["intervals"][-1]) not in ("unknown", *as_told[name])
    ]
    here = f" Here it came out otherwise for {join_names(other)}." if other else ""
    return f"In theory {words}.{here}" if words else ""


def _score_difference_notes(experiment: Mapping[str, Any], effect: Mapping[str, Any] | None) -> list[str]:
    """Return why models on all columns score otherwise in the two halves, where they do."""
    if effect is None:
        return []
    if effect["n_samples"] != experiment["n_samples"]:
        rows = count_with_noun(effect["n_samples"], "row")
        return [
            f"These are other rows than the {rows} of the scores above, and so the scores at 0 columns added differ from them."
        ]
    score = next((one for one in effect["scores"] if one["id"] == experiment["scoring"]), None)
    known = [model["id"] for model in effect["models"]]
    if score is None or effect["folds"] != experiment["folds"]:
        return []
    for model, line in zip(experiment["models"], experiment["panels"][0]["lines"], strict=True):
        if model["id"] != "knn" or "knn" not in known:
            continue
        means = line["means"][0], score["models"][known.index("knn")]["all_columns"]["mean"]
        here, above = map(score_format_for(score["id"]).format_score, means)
        if here != above:
            return [
                f"Nearest neighbours score {here} at 0 columns added and {above} on all columns "
                "above: where rows are equally near, each takes others of them."
            ]
    return []


def _panel_numbers(panel: Mapping[str, Any], experiment: Mapping[str, Any]) -> dict[str, Any]:
    """Return the numbers of one panel as rows."""
    told = score_format_for(experiment["scoring"])
    rows = []
    for model, line, again in zip(experiment["models"], panel["lines"], panel["chosen"], strict=True):
        rows.append((short_model_name(model), [told.format_score(mean) for mean in line["means"]]))
        at = dict(zip(experiment["selection_n_added"], again["means"], strict=True))
        chosen = [told.format_score(at[n]) if n in at else "" for n in experiment["numbers"]]
        rows.append((f"{short_model_name(model)}, chosen", chosen))
    name = "Random columns" if panel["added"] == "random" else f"Copies of {shorten(experiment['copied'], 40)}"
    return {"name": name, "rows": rows}
