"""Effect on models: scores of models on all and on the selected columns, and the noise experiment."""

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
    from collections.abc import Sequence

    from tamiz.report.records.codec import Named
    from tamiz.report.records.models import (
        FoldedScores,
        ModelEffectRecord,
        ModelScores,
        NoiseExperimentRecord,
        NoisePanel,
    )
    from tamiz.report.records.study import StudyRecord

_THEORY = {
    "random": {
        "knn": "random columns add noise to the distances of nearest neighbours",
        "tree": "a tree splits small nodes on a random column that fits them by chance",
        "naive_bayes": "naive Bayes gives a random column little weight",
        "ridge": "ridge regression gives it a small coefficient, which fits noise",
        "logistic": "logistic regression gives it a small coefficient, which fits noise",
        "forest": "a random forest rarely splits on it",
        "gradient_boosting": "gradient boosting splits late trees on it, where little is left to explain",
    },
    "copies": {
        "naive_bayes": "naive Bayes counts the evidence of each copy again",
        "knn": "each copy gives the column more weight in the distances of nearest neighbours",
        "tree": "a tree has no new splits, and only ties between equal splits may change",
        "ridge": "ridge regression divides one coefficient among the copies",
        "logistic": "logistic regression divides one coefficient among the copies",
        "forest": "a random forest tries the copied column at more nodes, and the others at fewer",
        "gradient_boosting": "gradient boosting has no new splits",
    },
}
# The directions of a change that agree with the theory; copies may change kNN in either direction.
_EXPECTED_DIRECTIONS: dict[str, dict[str, tuple[str, ...]]] = {
    "random": {
        "knn": ("down",),
        "tree": ("down",),
        "naive_bayes": ("same",),
        "ridge": ("down", "same"),
        "logistic": ("down", "same"),
        "forest": ("down", "same"),
        "gradient_boosting": ("down", "same"),
    },
    "copies": {
        "naive_bayes": ("down",),
        "tree": ("same",),
        "ridge": ("same",),
        "logistic": ("same",),
        "forest": ("down", "same"),
        "gradient_boosting": ("same",),
    },
}


def collect_model_effect(result: StudyRecord) -> dict[str, Any] | None:
    """Return the context of the section: each model on all and on the selected columns, and the noise experiment.

    Parameters
    ----------
    result : StudyRecord
        The record of a study.

    Returns
    -------
    dict or None
        The variables of the template; None without a comparison and without a noise experiment.
    """
    compared, experiment = result.model_effect, result.noise_experiment
    if compared is not None:
        lead = model_effect_text(compared, compared.selector)
    elif experiment is not None:
        lead = f"{added_columns_cost(experiment.panels[0], experiment)}."
    else:
        return None
    shown_notes = [*result.warnings, *(() if compared is None else compared.notes)]
    return {
        "lead": lead,
        "compared": None if compared is None else _comparison(compared, compared.selector),
        "noise_experiment": None if experiment is None else _noise_experiment(experiment),
        "notes": [] if compared is None else _notes(compared.notes, result.warnings),
        "noise_experiment_notes": [] if experiment is None else _notes(experiment.notes, shown_notes),
    }


def _notes(notes: Sequence[str], shown_notes: Sequence[str]) -> list[str]:
    """Return the notes of one part of the section that the page does not already show."""
    return [note for note in notes if note not in shown_notes]


def _comparison(effect: ModelEffectRecord, selector: str) -> dict[str, Any]:
    models = effect.models
    return {
        "design": f"{effect.folds}, {count_with_noun(effect.n_samples, 'row')}. In every fold {selector} selects from "
        f"{count_with_noun(effect.n_columns, 'column')}, using the training rows only. Differences are computed before rounding.",
        "n_columns": count_with_noun(effect.n_columns, "column"),
        "chosen": chosen_columns_text(effect.n_chosen),
        "charts": [
            {
                "id": f"comparison-{k}",
                "title": score_title(score.id),
                "chart": model_effect_charts.comparison_chart(score, models),
                "described": _chart_description(score, models),
                "clipped_note": _clipped_means_note(score, models),
            }
            for k, score in enumerate(effect.scores)
        ],
        "groups": [_score_rows(score, models) for score in effect.scores],
    }


def _chart_description(score: ModelScores, models: Sequence[Named]) -> str:
    score_format = score_format_for(score.id)
    each = (
        f"{model.label} {score_format.format_score(cell.all_columns.mean)} on all columns, "
        f"{score_format.format_score(cell.chosen.mean)} on the selected ones"
        for model, cell in zip(models, score.models, strict=True)
    )
    return f"{score_title(score.id)}: {'; '.join(each)}."


def _clipped_means_note(score: ModelScores, models: Sequence[Named]) -> str:
    """Return a note on the means that are clipped in a chart."""
    score_format = score_format_for(score.id)
    off = [
        f"{model_name(model)} on {columns}"
        for model, cell in zip(models, score.models, strict=True)
        for scores, columns in ((cell.all_columns, "all columns"), (cell.chosen, "the selected ones"))
        if scores.mean < score_format.min_drawn
    ]
    return score_format.clipping_note(off)


def _score_rows(score: ModelScores, models: Sequence[Named]) -> dict[str, Any]:
    """Return the rows of the table for one score."""
    score_format = score_format_for(score.id)

    def spread(scores: FoldedScores) -> str:
        sd = scores.standard_deviation
        deviation = f"{100 * sd:.1f}" if score_format.is_share else score_format.format_number(sd)
        return f"{score_format.format_score(scores.mean)} ± {deviation}"

    return {
        "name": score_title(score.id),
        "baseline": score_format.format_score(score.baseline.mean),
        "rows": [
            {
                "name": model.label,
                "all_columns": spread(cell.all_columns),
                "chosen": spread(cell.chosen),
                "difference": format_difference(cell.difference.mean, score_format),
                "between": format_interval(cell.difference.interval, score_format),
            }
            for model, cell in zip(models, score.models, strict=True)
        ],
    }


def _noise_experiment(experiment: NoiseExperimentRecord) -> dict[str, Any]:
    span = model_effect_charts.score_range(experiment)
    draws = experiment.n_draws
    mean = f" Random columns were drawn {draws} times, and each line is the mean." if draws > 1 else ""
    rows, columns = count_with_noun(experiment.n_samples, "row"), count_with_noun(experiment.n_columns, "column")
    searched = experiment.selection_n_added
    return {
        "design": f"{experiment.folds}, {rows}, {columns} before any is added.{mean}",
        "selector": experiment.selector,
        "searched": f" The search is repeated only for {join_names(f'{n:,}' for n in searched)} added columns."
        if len(searched) < len(experiment.n_added)
        else "",
        "panels": [
            {
                "id": f"added-{panel.added}",
                "title": added_columns_cost(panel, experiment),
                "why": _theory_text(panel, experiment),
                "reselection": reselection_text(panel, experiment),
                "chart": model_effect_charts.added_columns_chart(panel, experiment, span),
                "clipped_note": _clipped_lines_note(panel, experiment),
                "described": f"Scores as columns are added, one line per model. {added_columns_cost(panel, experiment)}.",
            }
            for panel in experiment.panels
        ],
        "n_added": experiment.n_added,
        "tables": [_panel_numbers(panel, experiment) for panel in experiment.panels],
    }


def _clipped_lines_note(panel: NoisePanel, experiment: NoiseExperimentRecord) -> str:
    """Return a note on the lines that are clipped in a chart."""
    score_format = score_format_for(experiment.scoring)
    pairs = zip(experiment.models, panel.lines, strict=True)
    return score_format.clipping_note(
        [model_name(model) for model, line in pairs if min(line.means) < score_format.min_drawn]
    )


def _theory_text(panel: NoisePanel, experiment: NoiseExperimentRecord) -> str:
    """Return the expected effect on each model, and the models whose change differs from it."""
    why, expected = _THEORY[panel.added], _EXPECTED_DIRECTIONS[panel.added]
    models = {model.id: (model, line) for model, line in zip(experiment.models, panel.lines, strict=True)}
    words = "; ".join(sentence for name, sentence in why.items() if name in models)
    score_format = score_format_for(experiment.scoring)
    other = [
        f"{model_name(model)} ({format_difference(line.changes[-1], score_format)})"
        for name, (model, line) in models.items()
        if name in expected and change_direction(line.intervals[-1]) not in ("unknown", *expected[name])
    ]
    here = f" The result differs for {join_names(other)}." if other else ""
    return f"Expected: {words}.{here}" if words else ""


def _panel_numbers(panel: NoisePanel, experiment: NoiseExperimentRecord) -> dict[str, Any]:
    """Return the numbers of one panel as rows."""
    score_format = score_format_for(experiment.scoring)
    rows = []
    for model, line, again in zip(experiment.models, panel.lines, panel.chosen, strict=True):
        rows.append((short_model_name(model), [score_format.format_score(mean) for mean in line.means]))
        at = dict(zip(experiment.selection_n_added, again.means, strict=True))
        chosen = [score_format.format_score(at[n]) if n in at else "" for n in experiment.n_added]
        rows.append((f"{short_model_name(model)}, selected", chosen))
    name = "Random columns" if panel.added == "random" else f"Copies of {shorten(experiment.copied, 40)}"
    return {"name": name, "rows": rows}
