"""Redundancy: the matrix of associations, its strongest pairs, the groups of redundant columns, and sums of columns."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from matplotlib.colors import to_rgb

from tamiz.display import figures
from tamiz.display.figures import escape_text
from tamiz.report.drawing import Chart
from tamiz.report.text import count_with_noun, join_column_names, label_in_sentence, shorten

if TYPE_CHECKING:
    from collections.abc import Sequence

    from matplotlib.axes import Axes

    from tamiz.report.records import RedundancyRecord, StudyRecord


# With more rows, the names beside them would overlap.
_MAX_LABELS = 40
_ROW, _MIN_HEIGHT, _MAX_HEIGHT = 18, 180, 640
_FRAME = "#d9692b"


def matrix_chart(names: Sequence[str], shares: Sequence[float], groups: Sequence[Sequence[str]]) -> Chart:
    """Return the heat map of all pairs of columns, with frames around groups whose columns are neighbours."""
    n = len(names)
    cells = np.ones((n, n))
    cells[np.triu_indices(n, 1)] = shares
    cells = np.triu(cells) + np.triu(cells, 1).T

    def draw(axes: Axes) -> None:
        # From almost transparent to one colour, for light and dark pages: a cell of 0 is still visible as a cell.
        colors = np.empty((n, n, 4))
        colors[..., :3] = to_rgb(figures.STRONG)
        colors[..., 3] = 0.06 + 0.94 * cells
        axes.imshow(colors, interpolation="none", aspect="auto")
        axes.set_xticks([])
        labels = [escape_text(shorten(name, 24)) for name in names] if n <= _MAX_LABELS else []
        axes.set_yticks(range(len(labels)), labels)
        axes.spines[:].set_visible(False)
        position, group_of = 0, {name: k for k, group in enumerate(groups) for name in group}
        for k, run in itertools.groupby(names, key=group_of.get):
            start, position = position, position + len(list(run))
            low, high = start - 0.5, position - 0.5
            if k is not None and position - start > 1:
                axes.plot([low, high, high, low, low], [low, low, high, high, low], color=_FRAME, linewidth=1.5)

    described = (
        "The association of each two columns, similar columns side by side; the strongest pairs are in the table."
    )
    return Chart("shared", draw, described, height=min(_MAX_HEIGHT, max(_MIN_HEIGHT, 20 + _ROW * n)))


# Pairs in the table, and groups that are shown initially.
_MAX_PAIRS, _MAX_GROUPS = 8, 20
_STEPS = 255


def collect_redundancy(record: StudyRecord) -> dict[str, Any] | None:
    """Return the matrix, its strongest pairs, and the redundant groups; None if there were fewer than two columns to compare."""
    found = record.redundancy
    if found is None:
        return None
    names, kept = found.columns, set() if record.recommendation is None else {*record.recommendation.columns}
    groups = [replace(one, keep=one.first_of(kept) or one.keep) for one in found.groups]
    shares = [step / _STEPS for step in found.pair_steps]
    measures = [found.measures[k] for k in found.pair_measures]
    pairs = sorted(zip(shares, itertools.combinations(names, 2), measures, strict=True), key=lambda pair: -pair[0])
    grouped = {name for group in groups for name in group.columns}
    # A constant column is not compared, and not worth keeping.
    columns = [column.name for column in record.table.columns if not (column.exclusion or column.constant)]
    others = [name for name in columns if name not in grouped]
    return {
        # In place of the recommendation.
        "folded": record.recommendation is not None,
        "found": found,
        "lead": _lead(found, pairs[0]),
        "pairs": pairs[:_MAX_PAIRS],
        "n_pairs": found.n_columns * (found.n_columns - 1) // 2,
        "chart": matrix_chart(names, shares, [group.columns for group in groups]),
        # Rounding to two digits must not show a value below the threshold.
        "groups": [(group, _value_text(group.measure, max(group.min_value, found.threshold))) for group in groups],
        "n_shown": _MAX_GROUPS,
        "method": _method_text(found, record.table.n_rows_used),
        "choice": {
            "groups": [{"columns": g.columns, "keep": g.columns.index(g.keep)} for g in groups],
            "others": others,
        },
        "n_kept": len(others) + len(groups),
        "n_columns": len(columns),
    }


def _value_text(measure: str, value: float) -> str:
    return "equal values" if measure == "equal" else f"{measure} {value:.2f}"


def _lead(redundancy: RedundancyRecord, strongest: tuple[float, tuple[str, str], str]) -> str:
    groups, n = redundancy.groups, count_with_noun(redundancy.n_columns, "column")
    if redundancy.n_not_compared:
        n += f" that were compared (of {redundancy.n_columns + redundancy.n_not_compared:,})"
    if groups:
        size, n_grouped = count_with_noun(len(groups), "group"), sum(len(group.columns) for group in groups)
        return f"{size} of redundant columns ({n_grouped:,} of {n}), such as {join_column_names(groups[0].columns, limit=4)}."
    share, names, measure = strongest
    why = "on too few rows with both values"
    if share < redundancy.threshold:
        why = f"below the threshold of {redundancy.threshold:g}"
    pair = f"{join_column_names(names)} ({_value_text(measure, share)})"
    return f"No two of the {n} are called redundant: the strongest pair is {pair}, {why}."


def _method_text(redundancy: RedundancyRecord, n_rows: int) -> str:
    sample = f", on a sample of {count_with_noun(redundancy.n_rows, 'row')}" if redundancy.n_rows < n_rows else ""
    text = f"Measure: {label_in_sentence(shorten(redundancy.measure.label, 80))}{sample}."
    if redundancy.method:
        text += f" {redundancy.method}"
    if redundancy.n_not_compared:
        text += f" {count_with_noun(redundancy.n_not_compared, 'column')} more were not compared because of the cost, and are kept."
    return text
