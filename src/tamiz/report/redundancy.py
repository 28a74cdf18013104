"""Redundancy: the matrix of associations, its strongest pairs, the groups of redundant columns, and sums of columns."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import plotly.graph_objects as go

from tamiz.report.charts import make_chart
from tamiz.report.text import chart_label, count_with_noun, join_column_names, label_in_sentence, shorten

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tamiz.report.records.columns import RedundancyRecord, RedundantGroup
    from tamiz.report.records.study import StudyRecord


# With more rows, the names beside them would overlap.
_MAX_LABELS = 40
_ROW, _MIN_HEIGHT, _MAX_HEIGHT = 18, 240, 760
_NAMES, _MIN_WIDTH = 180, 420
# From almost transparent to one colour, for light and dark pages: a cell of 0 is still visible as a cell.
_SCALE = [[0, "rgba(52,132,176,0.06)"], [1, "rgba(52,132,176,1)"]]
_FRAME = {"color": "#d9692b", "width": 2}


def matrix_chart(names: Sequence[str], shares: Sequence[float], groups: Sequence[Sequence[str]]) -> dict[str, Any]:
    """Return the heat map of all pairs of columns, with frames around groups whose columns are neighbours.

    Parameters
    ----------
    names : list of str
        The columns in display order.
    shares : list of float
        The associations of the pairs (0, 1), (0, 2), ..
    groups : list of lists of str
    """
    n = len(names)
    cells = [[1.0] * n for _ in range(n)]
    values = iter(shares)
    for i in range(n):
        for j in range(i + 1, n):
            cells[i][j] = cells[j][i] = round(next(values), 2)
    # Numbered, because plotly would parse names as numbers or dates, or look them up as object members ("constructor").
    positions = list(range(n))
    named = {
        "type": "linear",
        "tickmode": "array",
        "tickvals": positions,
        "ticktext": [chart_label(name) for name in names],
    }
    return make_chart(
        [
            go.Heatmap(
                x=positions,
                y=positions,
                z=cells,
                zmin=0,
                zmax=1,
                xgap=1 if n <= _MAX_LABELS else 0,
                ygap=1 if n <= _MAX_LABELS else 0,
                hovertemplate="%{y}<br>%{x}<br>association %{z:.2f}<extra></extra>",
                colorscale=_SCALE,
                colorbar={
                    "orientation": "h",
                    "x": 0,
                    "xanchor": "left",
                    "y": 1.02,
                    "yanchor": "bottom",
                    "len": 0.5,
                    "thickness": 10,
                    "ypad": 0,
                    "ticks": "",
                    "tickvals": [0, 0.5, 1],
                    "outlinecolor": _SCALE[1][1],
                    "outlinewidth": 1,
                },
            )
        ],
        height=min(_MAX_HEIGHT, max(_MIN_HEIGHT, 60 + _ROW * n)),
        # The names at the side are those across as well.
        xaxis={**named, "showticklabels": False, "showgrid": False, "zeroline": False},
        yaxis={
            **named,
            "autorange": "reversed",
            "showgrid": False,
            "zeroline": False,
            "showticklabels": n <= _MAX_LABELS,
            "tickfont": {"size": 12},
        },
        shapes=_frames(names, groups),
    )  # fmt: skip


def matrix_width(n_columns: int) -> int:
    """Return the width of the matrix in pixels, for cells a little wider than high."""
    return max(_MIN_WIDTH, _NAMES + 2 * _ROW * n_columns)


def _frames(names: Sequence[str], groups: Sequence[Sequence[str]]) -> list[dict[str, Any]]:
    """Return a frame for every run of neighbouring columns of one group."""
    group_of = {name: k for k, group in enumerate(groups) for name in group}
    frames, start = [], 0
    for end in range(1, len(names) + 1):
        same = end < len(names) and names[start] in group_of and group_of.get(names[end]) == group_of[names[start]]
        if same:
            continue
        if end - start > 1:
            corners = {"x0": start - 0.5, "x1": end - 0.5, "y0": start - 0.5, "y1": end - 0.5}
            frames.append({"type": "rect", **corners, "line": _FRAME})
        start = end
    return frames


# Pairs in the table, and groups that are shown initially.
_MAX_PAIRS, _MAX_GROUPS = 15, 20
_STEPS = 255


def collect_redundancy(result: StudyRecord) -> dict[str, Any] | None:
    """Return the context of the section: the matrix, its strongest pairs, and the groups of redundant columns.

    Parameters
    ----------
    result : StudyRecord
        The record of a study.

    Returns
    -------
    dict or None
        The variables of the template; None if there were fewer than two columns to compare.
    """
    found = result.redundancy
    if found is None:
        return None
    names, groups = found.columns, found.groups
    shares = [step / _STEPS for step in found.pair_steps]
    measures = [found.measures[k] for k in found.pair_measures]
    pairs = sorted(zip(shares, itertools.combinations(names, 2), measures, strict=True), key=lambda pair: -pair[0])
    grouped = {name for group in groups for name in group.columns}
    # A constant column is not compared, and not worth keeping.
    columns = [column.name for column in result.table.columns if not (column.exclusion or column.constant)]
    others = [name for name in columns if name not in grouped]
    return {
        "lead": _lead(found, pairs),
        "title": _title(pairs),
        "drawn": _matrix_caption(found),
        "pairs": [
            {"names": pair, "share": f"{share:.2f}", "measure": measure, "percent": f"{100 * share:.1f}"}
            for share, pair, measure in pairs[:_MAX_PAIRS]
        ],
        "sums": found.sums,
        "n_pairs": found.n_columns * (found.n_columns - 1) // 2,
        "chart": matrix_chart(names, shares, [group.columns for group in groups]),
        "width": matrix_width(len(names)),
        "threshold": f"{found.threshold:g}",
        "groups": [_group(group, found.threshold) for group in groups],
        "n_shown": _MAX_GROUPS,
        "method": _method_text(found, result.table.n_rows_used),
        "choice": {
            "groups": [{"columns": g.columns, "keep": g.columns.index(g.keep)} for g in groups],
            "others": others,
        },
        "n_kept": len(others) + len(groups),
        "n_columns": len(columns),
        "has_target": result.table.target is not None,
    }  # fmt: skip


def _group(group: RedundantGroup, threshold: float) -> dict[str, Any]:
    # Rounding to two digits must not show a value below the threshold.
    return {
        "columns": group.columns,
        "keep": group.keep,
        "weakest": _value_text(group.measure, max(group.min_value, threshold)),
        "n": len(group.columns),
    }


def _value_text(measure: str, value: float) -> str:
    return "equal values" if measure == "equal" else f"{measure} {value:.2f}"


def _lead(redundancy: RedundancyRecord, pairs: Sequence[tuple[float, tuple[str, str], str]]) -> str:
    groups, n = redundancy.groups, count_with_noun(redundancy.n_columns, "column")
    if redundancy.n_not_compared:
        n += f" that were compared (of {redundancy.n_columns + redundancy.n_not_compared:,})"
    if not groups:
        share, names, measure = pairs[0]
        strongest = f"{join_column_names(names)} ({_value_text(measure, share)})"
        if share >= redundancy.threshold:
            return f"{strongest} are not called redundant: there are too few rows with both values."
        return (
            f"No two of the {n} are redundant: the strongest pair is {strongest}, below the threshold of "
            f"{redundancy.threshold:g}."
        )
    words = f"{join_column_names(groups[0].columns, limit=4)} are redundant"
    grouped = sum(len(group.columns) for group in groups)
    if len(groups) == 1:
        rest = redundancy.n_columns - grouped
        return (
            f"{words}; {'the other column is' if rest == 1 else f'the other {rest:,} columns are'} in no group."
            if rest
            else f"{words}."
        )
    return f"{words}: {count_with_noun(len(groups), 'such group')} contain {grouped:,} of the {n}."


def _title(pairs: Sequence[tuple[float, tuple[str, str], str]]) -> str:
    share, names, measure = pairs[0]
    return f"{join_column_names(names)} have the strongest association: {_value_text(measure, share)}"


def _matrix_caption(redundancy: RedundancyRecord) -> str:
    words = (
        "A cell is the association of two columns: |r| or |rho| of numbers, Cramer's V of categories, eta of both. "
        "Similar columns are side by side; from left to right they have the same order as the rows from top to bottom"
    )
    words += "; a frame marks a group of redundant columns." if redundancy.groups else "."
    n_shown, n = len(redundancy.columns), redundancy.n_columns
    if n_shown < n:
        words += f" The matrix shows the {n_shown:,} of {n:,} columns with the largest values."
    return words


def _method_text(redundancy: RedundancyRecord, n_rows: int) -> str:
    """Return how columns were compared."""
    sample = f", on a sample of {count_with_noun(redundancy.n_rows, 'row')}" if redundancy.n_rows < n_rows else ""
    text = f"Measure: {label_in_sentence(shorten(redundancy.measure.label, 80))}{sample}."
    if redundancy.method:
        text += f" {redundancy.method}"
    if redundancy.n_not_compared:
        text += f" {count_with_noun(redundancy.n_not_compared, 'column')} more were not compared because of the cost, and are kept."
    return text
