"""The chart of a search: what sets of columns are worth, by their size."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import plotly.graph_objects as go

from tamiz.report.charts import make_chart
from tamiz.report.text import chart_label, count_with_noun, format_number, round_coordinate

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

_MAX_NAMED = 12


def merit_by_size_chart(
    points: Mapping[str, Sequence[float]],
    frontier: Sequence[Mapping[str, Any]],
    chosen: Mapping[str, Any],
    *,
    merit: str,
) -> dict[str, Any]:
    """Return every set of columns as a point, the best of each size as a line, and a ring around the chosen one.

    Parameters
    ----------
    points : mapping
        The sizes and the merits of the sets.
    frontier : list of mappings
        The best set of each size: its size, its merit and its first columns.
    chosen : mapping
        The same of the chosen set.
    merit : str
        What the merits are.
    """
    sizes = [best["size"] for best in frontier]
    many = len(points["size"]) > 500
    return make_chart(
        [
            go.Scatter(
                x=list(points["size"]),
                y=[round_coordinate(m) for m in points["merit"]],
                mode="markers",
                name="A subset",
                marker={"size": 4 if many else 6, "opacity": 0.5 if many else 0.7},
                # Else they would speak in the place of the best of their size, which lies on them.
                hoverinfo="skip",
            ),
            go.Scatter(
                x=sizes,
                y=[round_coordinate(best["merit"]) for best in frontier],
                mode="lines+markers" if len(sizes) <= 60 else "lines",
                line={"width": 2.5},
                marker={"size": 7},
                name="The best of each size",
                customdata=[_hover_text(best) for best in frontier],
                hovertemplate="Best of %{customdata[0]}: merit %{customdata[1]}<br>%{customdata[2]}<extra></extra>",
            ),
            go.Scatter(
                x=[chosen["size"]],
                y=[round_coordinate(chosen["merit"])],
                mode="markers",
                marker={"size": 17, "symbol": "circle-open", "line": {"width": 2.5}},
                name="The subset kept",
                customdata=[_hover_text(chosen)],
                hovertemplate="Kept: %{customdata[0]}, merit %{customdata[1]}<br>%{customdata[2]}<extra></extra>",
            ),
        ],
        height=400,
        xaxis={
            "title": {"text": "Columns in the subset"},
            "tickformat": ",d",
            "showgrid": False,
            "zeroline": False,
            **({"dtick": 1} if max(points["size"]) - min(points["size"]) <= 12 else {"nticks": 10}),
        },
        yaxis={"title": {"text": chart_label(merit, 40)}, "zeroline": False},
        legend={"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom"},
    )


def _hover_text(best: Mapping[str, Any]) -> list[str]:
    """Return how many columns a set has, its merit and its columns, three a line."""
    names = [chart_label(name) for name in best["columns"][:_MAX_NAMED]]
    rest = int(best["size"]) - len(names)
    names += [f"and {rest:,} more"] if rest > 0 and names else []
    lines = [", ".join(names[k : k + 3]) for k in range(0, len(names), 3)]
    return [count_with_noun(best["size"], "column"), format_number(best["merit"]), ",<br>".join(lines)]
