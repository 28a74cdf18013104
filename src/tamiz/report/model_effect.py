"""Effect on models: scores of models on all and on the selected columns, and the noise experiment."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from matplotlib.ticker import PercentFormatter

from tamiz.display import figures
from tamiz.display.coloring import escape_text
from tamiz.report import marks
from tamiz.report.drawing import Chart
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
    score_interval,
    score_title,
    short_model_name,
)
from tamiz.report.text import capitalize, count_with_noun, join_names, shorten

if TYPE_CHECKING:
    from collections.abc import Sequence

    from markupsafe import Markup
    from matplotlib.axes import Axes

    from tamiz.report.records.codec import Named
    from tamiz.report.records.models import (
        FoldedScores,
        ModelComparison,
        ModelEffectRecord,
        ModelScores,
        NoiseExperimentRecord,
        NoisePanel,
    )
    from tamiz.report.records.study import StudyRecord
    from tamiz.report.score_text import ScoreFormat

# The height of a name at the end of a line, as a share of the axis.
_LABEL_SHARE = 0.075
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
        "groups": [_score_rows(score, models) for score in effect.scores],
    }


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
    sides = [scores for cell in score.models for scores in (cell.all_columns, cell.chosen)]
    scale = marks.Scale.around(
        [
            score_format.clip(end)
            for scores in sides
            for end in (scores.mean, *score_interval(scores.interval, score.id))
        ]
    )

    def spread(scores: FoldedScores) -> str:
        sd = scores.standard_deviation
        deviation = f"{100 * sd:.1f}" if score_format.is_share else score_format.format_number(sd)
        return f"{score_format.format_score(scores.mean)} ± {deviation}"

    return {
        "name": score_title(score.id),
        "clipped_note": _clipped_means_note(score, models),
        "baseline": score_format.format_score(score.baseline.mean),
        "rows": [
            {
                "name": model.label,
                "all_columns": spread(cell.all_columns),
                "chosen": spread(cell.chosen),
                "difference": format_difference(cell.difference.mean, score_format),
                "between": format_interval(cell.difference.interval, score_format),
                "mark": _comparison_mark(cell, scale, score_format),
            }
            for model, cell in zip(models, score.models, strict=True)
        ],
    }


def _comparison_mark(cell: ModelComparison, scale: marks.Scale, score_format: ScoreFormat) -> Markup:
    """Return the score on the selected columns as a dot, and that on all columns as a ring above it, with their intervals."""

    def place(scores: FoldedScores) -> tuple[float, tuple[float, ...]]:
        ends = score_interval(scores.interval, score_format.scoring)
        return scale.at(score_format.clip(scores.mean)), tuple(scale.at(score_format.clip(end)) for end in ends)

    return marks.dot_interval(*place(cell.chosen), above=place(cell.all_columns))


def _noise_experiment(experiment: NoiseExperimentRecord) -> dict[str, Any]:
    span = score_range(experiment)
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
                "title": added_columns_cost(panel, experiment),
                "why": _theory_text(panel, experiment),
                "reselection": reselection_text(panel, experiment),
                "chart": added_columns_chart(panel, experiment, span),
                "clipped_note": _clipped_lines_note(panel, experiment),
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


def score_range(experiment: NoiseExperimentRecord) -> tuple[float, float]:
    """Return the range of scores that all panels share."""
    every: list[float] = []
    for panel in experiment.panels:
        for line in (*panel.lines, *panel.chosen):
            every += line.means
        for line in panel.lines:
            every += [line.means[0] + end for interval in line.intervals for end in interval]
    score_format = score_format_for(experiment.scoring)
    low, high = score_format.clip(min(every)), score_format.clip(max(every))
    pad = 0.04 * ((high - low) or 0.1)
    return low - pad, high + pad


def added_columns_chart(panel: NoisePanel, experiment: NoiseExperimentRecord, y_range: tuple[float, float]) -> Chart:
    """Return one line per model as columns are added, with its interval band and name; dashed with columns selected again."""
    score_format = score_format_for(experiment.scoring)
    numbers, chosen = experiment.n_added, experiment.selection_n_added

    def draw(axes: Axes) -> None:
        for k, (line, again) in enumerate(zip(panel.lines, panel.chosen, strict=True)):
            style: dict[str, Any] = {"color": figures.CLASS_COLORS[k], "marker": figures.SHAPES[k], "markersize": 4}
            low, high = (
                [score_format.clip(line.means[0] + end) for end in ends] for ends in zip(*line.intervals, strict=True)
            )
            axes.fill_between(numbers, low, high, color=style["color"], alpha=0.15, linewidth=0.0)
            axes.plot(numbers, [score_format.clip(mean) for mean in line.means], linewidth=1.8, **style)
            means = [score_format.clip(mean) for mean in again.means]
            axes.plot(chosen, means, "--", linewidth=1.4, markerfacecolor="none", **style)
        ends = [score_format.clip(line.means[-1]) for line in panel.lines]
        places = separate_labels(ends, _LABEL_SHARE * (y_range[1] - y_range[0]))
        for k, (model, place) in enumerate(zip(experiment.models, places, strict=True)):
            name = escape_text(short_model_name(model))
            axes.text(1.02 * numbers[-1], place, name, color=figures.CLASS_COLORS[k], fontsize="small", va="center")
        axes.set_xlim(-0.02 * numbers[-1], 1.02 * numbers[-1])
        axes.set_ylim(*y_range)
        axes.set(
            xlabel="Random columns added" if panel.added == "random" else "Copies added",
            ylabel=f"{capitalize(score_format.name)} on test rows",
        )
        if score_format.is_share:
            axes.yaxis.set_major_formatter(PercentFormatter(1.0))

    described = f"Scores as columns are added, one line per model. {added_columns_cost(panel, experiment)}."
    return Chart(f"added-{panel.added}", draw, described, height=260)


def separate_labels(positions: Sequence[float], min_distance: float) -> list[float]:
    """Return label positions moved as little as possible until neighbours are at least `min_distance` apart."""
    order = sorted(range(len(positions)), key=lambda k: positions[k])
    # A run of touching labels is centred at the mean of its positions.
    runs: list[list[int]] = []
    for k in order:
        runs.append([k])
        while (
            len(runs) > 1
            and _run_start(runs[-1], positions, min_distance) - _run_end(runs[-2], positions, min_distance)
            < min_distance
        ):
            runs[-2:] = [runs[-2] + runs[-1]]
    found = [0.0] * len(positions)
    for run in runs:
        first = _run_start(run, positions, min_distance)
        for i, k in enumerate(run):
            found[k] = first + i * min_distance
    return found


def _run_start(run: Sequence[int], positions: Sequence[float], min_distance: float) -> float:
    return sum(positions[k] for k in run) / len(run) - (len(run) - 1) * min_distance / 2


def _run_end(run: Sequence[int], positions: Sequence[float], min_distance: float) -> float:
    return _run_start(run, positions, min_distance) + (len(run) - 1) * min_distance
