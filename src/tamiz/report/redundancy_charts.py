"""The chart of redundancy: what each two columns share, like columns side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import plotly.graph_objects as go

from tamiz.report.charts import make_chart
from tamiz.report.text import chart_label

if TYPE_CHECKING:
    from collections.abc import Sequence

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
