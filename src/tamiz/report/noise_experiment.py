"""Effect of added columns: scores of models as random columns or copies are added."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from matplotlib.ticker import PercentFormatter

from tamiz.display import figures
from tamiz.display.figures import escape_text
from tamiz.report.drawing import Chart
from tamiz.report.score_text import ScoreFormat, added_columns_cost, model_name, reselection_text, unshown_notes
from tamiz.report.text import capitalize, count_with_noun, join_names, shorten

if TYPE_CHECKING:
    from collections.abc import Iterator

    from matplotlib.axes import Axes

    from tamiz.assessment.score_report import Added, NoiseExperiment
    from tamiz.report.records import StudyRecord


def collect_noise_experiment(record: StudyRecord) -> dict[str, Any] | None:
    """Return the scores of models as random columns or copies are added; None without a noise experiment."""
    experiment = record.noise_experiment
    if experiment is None:
        return None
    span, searched = score_range(experiment), experiment.selection_n_added
    rows, columns = count_with_noun(experiment.n_samples, "row"), count_with_noun(experiment.n_columns, "column")
    drawn = f" Random columns were drawn {experiment.n_draws} times, and each line is the mean."
    only = f" The search is repeated only for {join_names(f'{n:,}' for n in searched)} added columns."
    return {
        "folded": True,
        "experiment": experiment,
        "design": f"{experiment.folds_description}, {rows}, {columns} before any is added."
        f"{drawn if experiment.n_draws > 1 else ''}",
        "searched": only if len(searched) < len(experiment.n_added) else "",
        "panels": [
            {
                "title": added_columns_cost(added, experiment),
                "reselection": reselection_text(added, experiment),
                "chart": added_columns_chart(added, experiment, span),
                "clipped_note": ScoreFormat(experiment.scoring).clipping_note(
                    {
                        model_name(model, label): min(_means(experiment, added, model))
                        for model, label in experiment.models.items()
                    }
                ),
                "name": "Random columns" if added == "random" else f"Copies of {shorten(experiment.copied_column, 40)}",
                "rows": list(_score_rows(added, experiment)),
            }
            for added in experiment.added
        ],
        "notes": unshown_notes(record, record.recommendation, experiment),
    }


def _means(experiment: NoiseExperiment, added: Added, model: str, *, selected: bool = False) -> list[float]:
    return [one.mean for one in experiment.scores(added, model, selected=selected)]


def _score_rows(added: Added, experiment: NoiseExperiment) -> Iterator[tuple[str, list[str]]]:
    """Yield the scores of each model by the number of added columns, with all columns and with columns selected again."""
    score_format = ScoreFormat(experiment.scoring)
    for model, label in experiment.models.items():
        for name, selected, numbers in (
            (label, False, experiment.n_added),
            (f"{label}, selected", True, experiment.selection_n_added),
        ):
            scores = dict(zip(numbers, _means(experiment, added, model, selected=selected), strict=True))
            yield name, [score_format.format_score(scores[n]) if n in scores else "" for n in experiment.n_added]


def score_range(experiment: NoiseExperiment) -> tuple[float, float]:
    every: list[float] = []
    for added, model in itertools.product(experiment.added, experiment.models):
        means = _means(experiment, added, model)
        every += [*means, *_means(experiment, added, model, selected=True)]
        every += [means[0] + end for one in experiment.score_changes(added, model) for end in one.interval]
    score_format = ScoreFormat(experiment.scoring)
    low, high = score_format.clip(min(every)), score_format.clip(max(every))
    pad = 0.04 * ((high - low) or 0.1)
    return low - pad, high + pad


def added_columns_chart(added: Added, experiment: NoiseExperiment, y_range: tuple[float, float]) -> Chart:
    """Return one line per model as columns are added, with its interval band; dashed with columns selected again."""
    score_format = ScoreFormat(experiment.scoring)
    numbers, chosen = experiment.n_added, experiment.selection_n_added

    def draw(axes: Axes) -> None:
        for k, (model, label) in enumerate(experiment.models.items()):
            means = _means(experiment, added, model)
            style: dict[str, Any] = {"color": figures.CLASS_COLORS[k], "marker": figures.SHAPES[k], "markersize": 4}
            intervals = (one.interval for one in experiment.score_changes(added, model))
            low, high = ([score_format.clip(means[0] + end) for end in side] for side in zip(*intervals, strict=True))
            axes.fill_between(numbers, low, high, color=style["color"], alpha=0.15, linewidth=0.0)
            clipped = [score_format.clip(mean) for mean in means]
            axes.plot(numbers, clipped, linewidth=1.8, label=escape_text(label), **style)
            again = [score_format.clip(mean) for mean in _means(experiment, added, model, selected=True)]
            axes.plot(chosen, again, "--", linewidth=1.4, markerfacecolor="none", **style)
        axes.set_xlim(-0.02 * numbers[-1], 1.02 * numbers[-1])
        axes.set_ylim(*y_range)
        axes.legend()
        axes.set(
            xlabel="Random columns added" if added == "random" else "Copies added",
            ylabel=f"{capitalize(score_format.name)} on test rows",
        )
        if score_format.is_share:
            axes.yaxis.set_major_formatter(PercentFormatter(1.0))

    described = f"Scores as columns are added, one line per model. {added_columns_cost(added, experiment)}."
    return Chart(f"added-{added}", draw, described, height=260)
