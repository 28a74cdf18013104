"""The lattice of all subsets of a few columns: one point per subset, by size, joined to subsets with one column more or less."""

from __future__ import annotations

import math
from itertools import combinations
from typing import TYPE_CHECKING, Any

import plotly.graph_objects as go

from tamiz.report.charts import make_chart
from tamiz.report.text import chart_label, count_with_noun, format_number, join_column_names, round_coordinate

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tamiz.report.records.columns import Lattice, SubsetRecord

# By the number of columns: the characters of a name that fit (0: numbers instead of names), and the pixels of a subset.
_NAME_LENGTHS = {2: 24, 3: 20, 4: 16, 5: 14, 6: 0}
_WIDTH = {2: 150, 3: 130, 4: 110, 5: 92, 6: 46}
_LINE, _LEVEL_SPACING = 14, 44
_MAX_PRINTED_COLUMNS = 4
_MAX_SPACING = 1.7


def collect_lattice(subset: SubsetRecord) -> dict[str, Any] | None:
    """Return the chart, its title and the table of all subsets; None if there are too many.

    Parameters
    ----------
    subset : SubsetRecord
    """
    lattice = subset.lattice
    if lattice is None:
        return None
    names, merits = lattice.columns, lattice.merits
    kept = _set_code(subset.columns, names)
    order = sorted(range(len(merits)), key=lambda k: (-merits[k], k.bit_count(), _members(k, len(names))))
    return {
        "title": _title(subset, lattice, kept),
        "chart": _chart(lattice, kept, [_set_code(step.columns, names) for step in subset.course]),
        # A crowded chart is not printed; its table is.
        "crowded": len(names) > _MAX_PRINTED_COLUMNS,
        "key": [] if _NAME_LENGTHS[len(names)] else names,
        "width": 130 + _WIDTH[len(names)] * max(len(level) for level in _levels(len(names))),
        "described": f"All {len(merits)} subsets of {len(names)} columns by their size, shaded by merit.",
        "sets": [
            {"names": _set_name(k, names), "size": k.bit_count(), "merit": merits[k], "kept": k == kept} for k in order
        ],
    }


def _set_code(columns: Sequence[str], names: Sequence[str]) -> int:
    return sum(1 << j for j, name in enumerate(names) if name in columns)


def _members(set_code: int, n: int) -> list[int]:
    return [j for j in range(n) if set_code >> j & 1]


def _set_name(set_code: int, names: Sequence[str]) -> str:
    return join_column_names([names[j] for j in _members(set_code, len(names))]) or "no column"


def _levels(n: int) -> list[list[int]]:
    """Return the sets of every size, from left to right."""
    return [[sum(1 << j for j in members) for members in combinations(range(n), size)] for size in range(n + 1)]


def _title(subset: SubsetRecord, lattice: Lattice, kept: int) -> str:
    merits, best = lattice.merits, lattice.best
    if merits[best] <= merits[kept]:
        return f"None of all {len(merits)} subsets is better than the selected one"
    restricted = any(reason.role is not None or reason.group for reason in subset.reasons)
    why = (
        "its size was not requested" if subset.sizes is not None
        else "not every subset was permitted" if restricted
        else "the gain is below the minimum gain of the search" if merits[best] - merits[kept] <= subset.min_gain
        else "the search did not evaluate it"
    )  # fmt: skip
    return f"{_set_name(best, lattice.columns)} would be better ({format_number(merits[best])}): {why}"


def _chart(lattice: Lattice, kept: int, course: Sequence[int]) -> dict[str, Any]:
    names, merits = lattice.columns, lattice.merits
    places, ticks, height = _node_positions(len(names))
    nodes = [k for level in _levels(len(names)) for k in level]
    is_best = merits[lattice.best] <= merits[kept]
    spec = make_chart(
        [
            _edges(places, len(names)),
            _course(places, course),
            _ring(places[kept], "The subset kept, the best of all" if is_best else "The subset kept"),
            go.Scatter(
                x=[places[k][0] for k in nodes],
                y=[places[k][1] for k in nodes],
                mode="markers",
                name="A subset",
                showlegend=False,
                marker={
                    "size": 18,
                    "color": [round_coordinate(merits[k]) for k in nodes],
                    "showscale": True,
                    "opacity": 1,
                    "colorbar": {"title": {"text": "Merit"}},
                },
                customdata=[[*_hover_lines(k, names), format_number(merits[k])] for k in nodes],
                hovertemplate="%{customdata[0]}<br>%{customdata[1]}, merit %{customdata[2]}<extra></extra>",
            ),
        ],
        height=height + 60,
        annotations=_labels(places, lattice, kept),
        xaxis={"visible": False, "fixedrange": True},
        yaxis={
            "tickvals": ticks,
            "ticktext": [count_with_noun(size, "column") for size in range(len(names) + 1)],
            "range": [-_LEVEL_SPACING - _LINE * 2, height - _LEVEL_SPACING / 2],
            "showgrid": False,
            "zeroline": False,
            "fixedrange": True,
        },
        legend={"orientation": "h", "x": 0, "y": 1.0, "yanchor": "bottom"},
    )
    return {**spec, "nodes": nodes, "start": nodes.index(kept)}


def _node_positions(n: int) -> tuple[dict[int, tuple[float, float]], list[float], float]:
    """Return the position of each set, the height of each size, and the total height in pixels; the empty set is at the bottom."""
    places: dict[int, tuple[float, float]] = {}
    ticks: list[float] = []
    height, widest = 0.0, max(len(level) for level in _levels(n))
    for size, level in enumerate(_levels(n)):
        # The names of a set are below its point, one per line, followed by its merit.
        lines = (max(size, 1) if _NAME_LENGTHS[n] else 1) + 1
        height += _LEVEL_SPACING + _LINE * lines if size else 0.0
        ticks.append(height)
        # Levels with few sets are spread out.
        spacing = min(widest / len(level), _MAX_SPACING)
        places |= {k: (spacing * (i - (len(level) - 1) / 2), height) for i, k in enumerate(level)}
    return places, ticks, height + _LEVEL_SPACING


def _edges(positions: Mapping[int, tuple[float, float]], n: int) -> Any:
    ends = [(k, k | 1 << j) for k in positions for j in range(n) if not k >> j & 1]
    return go.Scatter(
        x=[x for one, other in ends for x in (positions[one][0], positions[other][0], None)],
        y=[y for one, other in ends for y in (positions[one][1], positions[other][1], None)],
        mode="lines",
        line={"width": 1},
        opacity=0.6,
        hoverinfo="skip",
        showlegend=False,
    )


def _course(positions: Mapping[int, tuple[float, float]], course: Sequence[int]) -> Any:
    return go.Scatter(
        x=[positions[k][0] for k in course],
        y=[positions[k][1] for k in course],
        mode="lines",
        line={"width": 4},
        name="The course of the search",
        showlegend=len(course) > 1,
        hoverinfo="skip",
    )


def _ring(position: tuple[float, float], name: str) -> Any:
    return go.Scatter(
        x=[position[0]],
        y=[position[1]],
        mode="markers",
        marker={"size": 28, "symbol": "circle-open", "line": {"width": 2.5}},
        name=name,
        hoverinfo="skip",
    )


def _labels(positions: Mapping[int, tuple[float, float]], lattice: Lattice, kept: int) -> list[dict[str, Any]]:
    names, merits, best = lattice.columns, lattice.merits, lattice.best
    return [
        {
            "x": x,
            "y": y,
            "yshift": -12,
            "yanchor": "top",
            "showarrow": False,
            "font": {"size": 11},
            "text": "<br>".join(
                [
                    *(_label_lines(k, names) or ["no column" if _NAME_LENGTHS[len(names)] else "none"]),
                    f"<b>{_format_merit(merits[k], max(map(abs, merits)))}</b>",
                    *(["the best"] if k == best and merits[best] > merits[kept] else []),
                ]
            ),
        }
        for k, (x, y) in positions.items()
    ]


def _label_lines(set_code: int, names: Sequence[str]) -> list[str]:
    """Return the lines that name the columns of a set, numbered if two shortened names are equal."""
    members, limit = _members(set_code, len(names)), _NAME_LENGTHS[len(names)]
    if not limit:
        return [" ".join(str(j + 1) for j in members)] if members else []
    short = [chart_label(name, limit) for name in names]
    if len(set(short)) < len(short):
        short = [f"{j + 1} {chart_label(name, limit - 2)}" for j, name in enumerate(names)]
    return [short[j] for j in members]


def _format_merit(merit: float, largest: float) -> str:
    """Return a merit with as many decimals as three significant digits of the largest merit need."""
    if not 1e-4 <= largest < 1000:
        return format_number(merit, digits=3)
    return f"{merit:.{2 - math.floor(math.log10(largest))}f}".replace("-", "−")


def _hover_lines(set_code: int, names: Sequence[str]) -> list[str]:
    """Return the names of a set, three per line, and its size."""
    members = [chart_label(names[j], 40) for j in _members(set_code, len(names))]
    lines = [", ".join(members[k : k + 3]) for k in range(0, len(members), 3)]
    return [",<br>".join(lines) or "no column", count_with_noun(len(members), "column")]
