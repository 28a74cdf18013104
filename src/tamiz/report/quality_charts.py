"""Charts of what maps keep: curves of neighbours, and pairs of rows by their distances."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import plotly.graph_objects as go

from tamiz.report.charts import make_chart
from tamiz.report.text import chart_label, round_coordinate

if TYPE_CHECKING:
    from collections.abc import Sequence

# Lines are told apart without their colours too.
_DASHES = ["solid", "dash", "dot", "dashdot", "longdash"]


def agreement_chart(curves: dict[str, Any], names: Sequence[str]) -> dict[str, Any]:
    """Return how many neighbours each map keeps beyond chance, by the size of the neighbourhood; the page colours the lines."""
    sizes = curves["n_neighbors"]
    lines = [
        go.Scatter(
            x=sizes,
            y=[round_coordinate(value) for value in values],
            mode="lines",
            name=chart_label(name, 40),
            line={"width": 2.5, "dash": _DASHES[k % len(_DASHES)]},
            hovertemplate="%{y:.3f} of the %{x:,d} nearest<extra>%{fullData.name}</extra>",
        )
        for k, (name, values) in enumerate(zip(names, curves["r_nx"], strict=True))
        if values
    ]
    chart = make_chart(
        lines,
        height=380,
        xaxis={
            "title": {"text": "Nearest rows compared (K, logarithmic)"},
            "type": "log",
            "tickformat": ",d",
            "dtick": 1,
            "showgrid": False,
            "zeroline": False,
        },
        yaxis={"title": {"text": "Kept beyond chance (R_NX)"}, "rangemode": "tozero"},
        legend={"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
    )
    return {**chart, "levels": True}


def shepard_chart(in_table: Sequence[float], on_map: Sequence[float]) -> dict[str, Any]:
    """Return pairs of rows by their distances in the table and on a map, and the line where both are equal."""
    widest = 1.04 * max(in_table)
    axis = {"zeroline": False, "fixedrange": True, "nticks": 6}
    return make_chart(
        [
            go.Scatter(
                x=[round_coordinate(value) for value in in_table],
                y=[round_coordinate(value) for value in on_map],
                mode="markers",
                name="A pair of rows",
                marker={"size": 4, "opacity": 0.6},
                hovertemplate="Distance in the table %{x:.3g}, on the map %{y:.3g}<extra></extra>",
            ),
            go.Scatter(x=[0, widest], y=[0, widest], mode="lines", line={"width": 2}, name="Equal", hoverinfo="skip"),
        ],
        height=320,
        showlegend=False,
        xaxis={**axis, "range": [0, widest], "title": {"text": "Distance in the table"}},
        # The same height on every map, unless a map goes beyond it.
        yaxis={**axis, "range": [0, max(widest, 1.04 * max(on_map))], "title": {"text": "Distance on the map"}},
    )
