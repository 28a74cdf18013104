"""Redundancy: which columns say the same, and what is left when one of each is kept."""

from __future__ import annotations

import base64
import itertools
from typing import TYPE_CHECKING, Any

import plotly.graph_objects as go

from tamiz.report.charts import make_chart
from tamiz.report.text import chart_label, count_with_noun, join_names, shorten

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence


# MERGED: The chart of redundancy: what each two columns share, like columns side by side.
# Names beside more rows than this would stand in each other's way.
_MAX_LABELS = 40
_ROW, _MIN_HEIGHT, _MAX_HEIGHT = 18, 240, 760
_NAMES, _MIN_WIDTH = 180, 420
# From the page itself, light or dark, to one colour: what is not shared is not seen.
_SCALE = [[0, "rgba(52,132,176,0)"], [1, "rgba(52,132,176,1)"]]
_FRAME = {"color": "#d9692b", "width": 2}


def matrix_chart(names: Sequence[str], shares: Sequence[float], groups: Sequence[Sequence[str]]) -> dict[str, Any]:
    """Return a cell for every two columns, and a frame around groups that stand together.

    Parameters
    ----------
    names : list of str
        In the order in which they are drawn.
    shares : list of float
        Of the pairs (0, 1), (0, 2), ..
    groups : list of lists of str
    """
    n = len(names)
    cells = [[1.0] * n for _ in range(n)]
    values = iter(shares)
    for i in range(n):
        for j in range(i + 1, n):
            cells[i][j] = cells[j][i] = round(next(values), 2)
    # Names as coordinates would be taken for numbers, for dates, or for what every object of the page has ("constructor").
    places = list(range(n))
    named = {
        "type": "linear",
        "tickmode": "array",
        "tickvals": places,
        "ticktext": [chart_label(name) for name in names],
    }
    return make_chart(
        [
            go.Heatmap(
                x=places,
                y=places,
                z=cells,
                zmin=0,
                zmax=1,
                xgap=1 if n <= _MAX_LABELS else 0,
                ygap=1 if n <= _MAX_LABELS else 0,
                hovertemplate="%{y}<br>%{x}<br>share %{z:.2f}<extra></extra>",
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
        # Across the names are those at the side.
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
    """Return how wide the matrix of so many columns may be: its cells are little wider than they are high."""
    return max(_MIN_WIDTH, _NAMES + 2 * _ROW * n_columns)


def _frames(names: Sequence[str], groups: Sequence[Sequence[str]]) -> list[dict[str, Any]]:
    """Return a frame for every run of columns of one group."""
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


# Pairs in the table, and groups shown at once: what a reader can still take in.
_MAX_PAIRS, _MAX_GROUPS = 15, 20
_STEPS = 255


def collect_redundancy(result: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return what the section shows: the matrix, its strongest pairs, and the groups to keep one of each from.

    Parameters
    ----------
    result : mapping
        A result as `Result.to_dict` gives it.

    Returns
    -------
    dict or None
        The template's names; None where there were no two columns to compare.
    """
    found = result["redundancy"]
    if found is None:
        return None
    names, groups = found["columns"], found["groups"]
    shares = _decode_pairs(found["values"])
    pairs = sorted(zip(shares, itertools.combinations(names, 2), strict=True), key=lambda pair: -pair[0])
    grouped = {name for group in groups for name in group["columns"]}
    # A constant column is not compared: it says nothing, so there is nothing to keep.
    columns = [
        column["name"] for column in result["table"]["columns"] if not (column["left_out"] or column["constant"])
    ]
    others = [name for name in columns if name not in grouped]
    return {
        "lead": _lead(found, pairs),
        "title": _title(pairs),
        "drawn": _matrix_caption(found),
        "pairs": [{"names": pair, "share": f"{share:.2f}", "percent": f"{100 * share:.1f}"} for share, pair in pairs[:_MAX_PAIRS]],
        "n_pairs": found["n_columns"] * (found["n_columns"] - 1) // 2,
        "chart": matrix_chart(names, shares, [group["columns"] for group in groups]),
        "width": matrix_width(len(names)),
        "threshold": f"{found['threshold']:g}",
        "groups": [_group(group, found["threshold"]) for group in groups],
        "n_shown": _MAX_GROUPS,
        "how": _method_text(found, result["table"]["n_rows_used"]),
        "choice": {
            "groups": [{"columns": g["columns"], "keep": g["columns"].index(g["keep"])} for g in groups],
            "others": others,
        },
        "n_kept": len(others) + len(groups),
        "n_columns": len(columns),
        "has_target": result["table"]["target"] is not None,
    }  # fmt: skip


def _decode_pairs(values: str) -> list[float]:
    return [step / _STEPS for step in base64.b64decode(values)]


def _group(group: Mapping[str, Any], threshold: float) -> dict[str, Any]:
    # The least of a group is at least the threshold, also when it is text with two digits.
    return {
        "columns": group["columns"],
        "keep": group["keep"],
        "least": f"{max(group['least'], threshold):.2f}",
        "n": len(group["columns"]),
    }


def _lead(redundancy: Mapping[str, Any], pairs: Sequence[tuple[float, tuple[str, str]]]) -> str:
    groups, n = redundancy["groups"], count_with_noun(redundancy["n_columns"], "column")
    if not groups:
        (share, names) = pairs[0]
        if share == 0:
            return f"Every pair of the {n} shares less than 0.01."
        if share >= redundancy["threshold"]:
            return (
                f"{join_names(names)} share {share:.2f}, but there are too few rows to tell whether they say the same."
            )
        return f"No two of the {n} say the same; {join_names(names)} come nearest and share {share:.2f}."
    words = f"{join_names(groups[0]['columns'], limit=4)} say the same"
    grouped = sum(len(group["columns"]) for group in groups)
    if len(groups) == 1:
        rest = redundancy["n_columns"] - grouped
        return (
            f"{words}; {'the other column is' if rest == 1 else f'the other {rest:,} columns are'} in no group."
            if rest
            else f"{words}."
        )
    return f"{words}: {count_with_noun(len(groups), 'group')} like that hold {grouped:,} of the {n}."


def _title(pairs: Sequence[tuple[float, tuple[str, str]]]) -> str:
    share, names = pairs[0]
    return f"{join_names(names)} share most: {share:.2f}" if share else "Every pair of columns shares less than 0.01"


def _matrix_caption(redundancy: Mapping[str, Any]) -> str:
    words = (
        "A cell is what two columns share, as a part of what they hold: 1 where each tells the other, 0 where neither does. "
        "Columns that share much stand side by side, across as they do down"
    )
    words += "; a frame is a group." if redundancy["groups"] else "."
    if len(redundancy["columns"]) < redundancy["n_columns"]:
        words += f" Drawn are the {len(redundancy['columns']):,} of {redundancy['n_columns']:,} columns that share most with another."
    return words


def _method_text(redundancy: Mapping[str, Any], n_rows: int) -> str:
    """Return how columns were compared, in a sentence or two."""
    words = [shorten(redundancy["measure"]["label"], 60), *([redundancy["how"]] if redundancy["how"] else [])]
    if redundancy["n_rows"] < n_rows:
        words.append(f"of a sample of {count_with_noun(redundancy['n_rows'], 'row')}")
    text = f"{', '.join(words)}."
    if redundancy["n_left"]:
        text += f" {count_with_noun(redundancy['n_left'], 'column')} more were too many to be compared, and are kept."
    return text
