"""Effect on models: scores of models on all and on the selected columns, and the noise experiment."""

from __future__ import annotations

import itertools
from functools import partial
from typing import TYPE_CHECKING, Any

from matplotlib.ticker import PercentFormatter

from tamiz.assessment.score_report import ALL_COLUMNS
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

    from matplotlib.axes import Axes

    from tamiz.assessment.fold_scores import FoldScores
    from tamiz.assessment.score_report import Added, NoiseExperiment, Recommendation
    from tamiz.report.records.study import StudyRecord

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
    compared, experiment = result.recommendation, result.noise_experiment
    if compared is not None and compared.recommended == ALL_COLUMNS:
        compared = None
    if compared is not None:
        lead = model_effect_text(compared)
    elif experiment is not None:
        lead = f"{added_columns_cost('random', experiment)}."
    else:
        return None
    shown_notes = [*result.warnings, *(() if compared is None else compared.notes)]
    return {
        "lead": lead,
        "compared": None if compared is None else _comparison(compared),
        "noise_experiment": None if experiment is None else _noise_experiment(experiment),
        "notes": [] if compared is None else _notes(compared.notes, result.warnings),
        "noise_experiment_notes": [] if experiment is None else _notes(experiment.notes, shown_notes),
    }


def _notes(notes: Sequence[str], shown_notes: Sequence[str]) -> list[str]:
    """Return the notes of one part of the section that the page does not already show."""
    return [note for note in notes if note not in shown_notes]


def _comparison(found: Recommendation) -> dict[str, Any]:
    one, columns = found.candidates[found.recommended], count_with_noun(found.n_columns, "column")
    return {
        "design": f"{found.folds_description}, {count_with_noun(found.n_samples, 'row')}. In every fold {one.label} selects from "
        f"{columns}, using the training rows only. Differences are computed before rounding.",
        "n_columns": columns,
        "chosen": chosen_columns_text(one.n_chosen),
        "groups": [_score_rows(found, scoring) for scoring in found.scorings],
    }


def _score_rows(found: Recommendation, scoring: str) -> dict[str, Any]:
    """Return the rows of the table for one score."""
    score_format, changes = score_format_for(scoring), partial(found.score_change, found.recommended, scoring=scoring)
    every, chosen = (
        {model: one.scores[model, scoring] for model in found.models}
        for one in (found.all_columns, found.candidates[found.recommended])
    )
    scale = marks.Scale.around(
        [
            score_format.clip(end)
            for scores in (*every.values(), *chosen.values())
            for end in (scores.mean, *score_interval(scores.interval, scoring))
        ]
    )
    off = [
        f"{model_name(model, label)} on {columns}"
        for model, label in found.models.items()
        for scores, columns in ((every[model], "all columns"), (chosen[model], "the selected ones"))
        if scores.mean < score_format.min_drawn
    ]

    def place(scores: FoldScores) -> tuple[float, tuple[float, ...]]:
        ends = score_interval(scores.interval, scoring)
        return scale.at(score_format.clip(scores.mean)), tuple(scale.at(score_format.clip(end)) for end in ends)

    def spread(scores: FoldScores) -> str:
        sd = scores.standard_deviation
        deviation = f"{100 * sd:.1f}" if score_format.is_share else score_format.format_number(sd)
        return f"{score_format.format_score(scores.mean)} ± {deviation}"

    return {
        "name": score_title(scoring),
        "clipped_note": score_format.clipping_note(off),
        "baseline": score_format.format_score(found.baseline[scoring].mean),
        "rows": [
            {
                "name": label,
                "all_columns": spread(every[model]),
                "chosen": spread(chosen[model]),
                "difference": format_difference(changes(model).mean, score_format),
                "between": format_interval(changes(model).interval, score_format),
                # A dot for the selected columns, and above it a ring for all columns.
                "mark": marks.dot_interval(*place(chosen[model]), above=place(every[model])),
            }
            for model, label in found.models.items()
        ],
    }


def _noise_experiment(experiment: NoiseExperiment) -> dict[str, Any]:
    span = score_range(experiment)
    draws = experiment.n_draws
    mean = f" Random columns were drawn {draws} times, and each line is the mean." if draws > 1 else ""
    rows, columns = count_with_noun(experiment.n_samples, "row"), count_with_noun(experiment.n_columns, "column")
    searched = experiment.selection_n_added
    return {
        "design": f"{experiment.folds_description}, {rows}, {columns} before any is added.{mean}",
        "selector": experiment.selector,
        "searched": f" The search is repeated only for {join_names(f'{n:,}' for n in searched)} added columns."
        if len(searched) < len(experiment.n_added)
        else "",
        "panels": [
            {
                "title": added_columns_cost(added, experiment),
                "why": _theory_text(added, experiment),
                "reselection": reselection_text(added, experiment),
                "chart": added_columns_chart(added, experiment, span),
                "clipped_note": _clipped_lines_note(added, experiment),
            }
            for added in experiment.added
        ],
        "n_added": experiment.n_added,
        "tables": [_panel_numbers(added, experiment) for added in experiment.added],
    }


def _means(experiment: NoiseExperiment, added: Added, model: str, *, selected: bool = False) -> list[float]:
    """Return the mean scores of a model by the number of added columns."""
    return [one.mean for one in experiment.scores(added, model, selected=selected)]


def _clipped_lines_note(added: Added, experiment: NoiseExperiment) -> str:
    """Return a note on the lines that are clipped in a chart."""
    score_format = score_format_for(experiment.scoring)
    return score_format.clipping_note(
        [
            model_name(model, label)
            for model, label in experiment.models.items()
            if min(_means(experiment, added, model)) < score_format.min_drawn
        ]
    )


def _theory_text(added: Added, experiment: NoiseExperiment) -> str:
    """Return the expected effect on each model, and the models whose change differs from it."""
    why, expected = _THEORY[added], _EXPECTED_DIRECTIONS[added]
    words = "; ".join(sentence for model, sentence in why.items() if model in experiment.models)
    score_format = score_format_for(experiment.scoring)
    changes = {model: experiment.score_changes(added, model)[-1] for model in experiment.models if model in expected}
    other = [
        f"{model_name(model, experiment.models[model])} ({format_difference(change.mean, score_format)})"
        for model, change in changes.items()
        if change_direction(change.interval) not in ("unknown", *expected[model])
    ]
    here = f" The result differs for {join_names(other)}." if other else ""
    return f"Expected: {words}.{here}" if words else ""


def _panel_numbers(added: Added, experiment: NoiseExperiment) -> dict[str, Any]:
    """Return the numbers of one panel as rows."""
    score_format = score_format_for(experiment.scoring)
    rows = []
    for model, label in experiment.models.items():
        short = short_model_name(model, label)
        rows.append((short, [score_format.format_score(mean) for mean in _means(experiment, added, model)]))
        at = dict(zip(experiment.selection_n_added, _means(experiment, added, model, selected=True), strict=True))
        chosen = [score_format.format_score(at[n]) if n in at else "" for n in experiment.n_added]
        rows.append((f"{short}, selected", chosen))
    name = "Random columns" if added == "random" else f"Copies of {shorten(experiment.copied_column, 40)}"
    return {"name": name, "rows": rows}


def score_range(experiment: NoiseExperiment) -> tuple[float, float]:
    """Return the range of scores that all panels share."""
    every: list[float] = []
    for added, model in itertools.product(experiment.added, experiment.models):
        means = _means(experiment, added, model)
        every += [*means, *_means(experiment, added, model, selected=True)]
        every += [means[0] + end for one in experiment.score_changes(added, model) for end in one.interval]
    score_format = score_format_for(experiment.scoring)
    low, high = score_format.clip(min(every)), score_format.clip(max(every))
    pad = 0.04 * ((high - low) or 0.1)
    return low - pad, high + pad


def added_columns_chart(added: Added, experiment: NoiseExperiment, y_range: tuple[float, float]) -> Chart:
    """Return one line per model as columns are added, with its interval band and name; dashed with columns selected again."""
    score_format = score_format_for(experiment.scoring)
    numbers, chosen = experiment.n_added, experiment.selection_n_added

    def draw(axes: Axes) -> None:
        ends = []
        for k, model in enumerate(experiment.models):
            means = _means(experiment, added, model)
            style: dict[str, Any] = {"color": figures.CLASS_COLORS[k], "marker": figures.SHAPES[k], "markersize": 4}
            intervals = (one.interval for one in experiment.score_changes(added, model))
            low, high = ([score_format.clip(means[0] + end) for end in side] for side in zip(*intervals, strict=True))
            axes.fill_between(numbers, low, high, color=style["color"], alpha=0.15, linewidth=0.0)
            axes.plot(numbers, [score_format.clip(mean) for mean in means], linewidth=1.8, **style)
            again = [score_format.clip(mean) for mean in _means(experiment, added, model, selected=True)]
            axes.plot(chosen, again, "--", linewidth=1.4, markerfacecolor="none", **style)
            ends.append(score_format.clip(means[-1]))
        places = separate_labels(ends, _LABEL_SHARE * (y_range[1] - y_range[0]))
        for k, ((model, label), place) in enumerate(zip(experiment.models.items(), places, strict=True)):
            name = escape_text(short_model_name(model, label))
            axes.text(1.02 * numbers[-1], place, name, color=figures.CLASS_COLORS[k], fontsize="small", va="center")
        axes.set_xlim(-0.02 * numbers[-1], 1.02 * numbers[-1])
        axes.set_ylim(*y_range)
        axes.set(
            xlabel="Random columns added" if added == "random" else "Copies added",
            ylabel=f"{capitalize(score_format.name)} on test rows",
        )
        if score_format.is_share:
            axes.yaxis.set_major_formatter(PercentFormatter(1.0))

    described = f"Scores as columns are added, one line per model. {added_columns_cost(added, experiment)}."
    return Chart(f"added-{added}", draw, described, height=260)


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
