"""What the axes of a map mean: the columns that are most correlated with each axis, and their loadings."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

from tamiz.report.text import count_with_noun, format_count, format_number, join_column_names, shorten

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tamiz.report.records.columns import ColumnSummary
    from tamiz.report.records.maps import AxisCorrelationsRecord, Loadings, MapRecord

_ROWS_SHOWN = 10
_FAINT_ROWS_SHOWN = 3
# A column explains an axis from this correlation on, if it is also this many times the chance level.
MIN_CORRELATION = 0.3
_MIN_CHANCE_RATIO = 1.5
_LOADINGS_SHOWN = 2


def collect_axes(fitted_map: MapRecord, columns: Sequence[ColumnSummary]) -> dict[str, Any] | None:
    """Return a table for each of the two axes, with the columns that explain it best first.

    Parameters
    ----------
    fitted_map : MapRecord
    columns : sequence of ColumnSummary
        The columns of the table.

    Returns
    -------
    dict or None
        The variables of the template; None if no column was compared.
    """
    explanation = fitted_map.explanation
    if not explanation.columns:
        return None
    loadings = _loadings(fitted_map.loadings, columns)
    tables = [_axis_table(explanation, loadings, axis, name) for axis, name in enumerate(fitted_map.axes[:2])]
    n, of = explanation.n_rows, explanation.n_mapped
    return {
        "tables": tables,
        "has_loadings": any(row["loading"] for table in tables for row in table["rows"]),
        "has_categories": any(row["is_category"] for table in tables for row in table["rows"]),
        "has_faint": any(row["faint"] for table in tables for row in table["rows"]),
        "sample": f"Computed on {format_count(n)} of the {format_count(of)} rows, drawn at random." if n < of else None,
    }


def _axis_table(
    explanation: AxisCorrelationsRecord, loadings: Mapping[str, list[tuple[str, Sequence[float]]]], axis: int, name: str
) -> dict[str, Any]:
    names, kinds = explanation.columns, explanation.kinds
    values = [row[axis] for row in explanation.values]
    by_chance = [abs(v) < _MIN_CHANCE_RATIO * chance for v, chance in zip(values, explanation.chance, strict=True)]
    explains = [abs(v) >= MIN_CORRELATION and not chance for v, chance in zip(values, by_chance, strict=True)]
    order = sorted(range(len(names)), key=lambda j: (not explains[j], by_chance[j], -abs(values[j])))
    shown = order[: _ROWS_SHOWN if explains[order[0]] else _FAINT_ROWS_SHOWN]
    rest = order[len(shown) :]
    large = [names[j] for j in shown if by_chance[j] and abs(values[j]) >= MIN_CORRELATION]
    notes = [
        ""
        if explains[order[0]]
        else f"None reaches {MIN_CORRELATION} and exceeds the chance level."
        if large
        else f"None reaches {MIN_CORRELATION}.",
        f"The correlation of {join_column_names(large)} is near the chance level." if large else "",
        f"The other {_rest_text(rest)} at most {_decimals(max(abs(values[j]) for j in rest))}." if rest else "",
    ]
    weights = {j: _largest_loadings(loadings.get(names[j], []), axis) for j in shown}
    largest = max((abs(weight) for parts in weights.values() for _, weight in parts), default=0.0)
    # Loadings of standardised columns have the same digits as the correlations beside them.
    format_loading = _decimals if 0.1 <= largest < 10 else partial(format_number, digits=3)
    return {
        "axis": name,
        "title": _title(names[order[0]], kinds[order[0]], values[order[0]], name, explains[order[0]]),
        "rows": [
            {
                "name": names[j],
                "is_category": _is_category(kinds[j]),
                "text": _decimals(values[j]),
                "percent": f"{50 * abs(values[j]):.1f}",
                "negative": values[j] < 0,
                "faint": not explains[j],
                "loading": [{"level": level, "text": format_loading(weight)} for level, weight in weights[j]],
            }
            for j in shown
        ],
        "note": " ".join(filter(None, notes)),
    }


def _title(best: str, kind: str, value: float, axis: str, explains: bool) -> str:
    axis, best = shorten(axis, 40), shorten(best, 40)
    if not explains:
        beyond = " beyond chance" if abs(value) >= MIN_CORRELATION else ""
        return f"No column reaches a correlation of {MIN_CORRELATION} with {axis}{beyond}"
    if _is_category(kind):
        return f"{axis} separates the levels of {best}"
    return f"{axis} rises with {best}" if value > 0 else f"{axis} falls as {best} rises"


def _rest_text(rest: Sequence[int]) -> str:
    return f"{count_with_noun(len(rest), 'column')} {'reaches' if len(rest) == 1 else 'reach'}"


def _is_category(kind: str) -> bool:
    return kind not in ("numeric", "date")


def _decimals(value: float) -> str:
    return f"{value:.2f}".replace("-", "−").replace("−0.00", "0.00")


def _loadings(loadings: Loadings, columns: Sequence[ColumnSummary]) -> dict[str, list[tuple[str, Sequence[float]]]]:
    """Return the loadings of every column: its own, or those of its levels by name."""
    by_name = dict(zip(loadings.columns, loadings.values, strict=True))
    found: dict[str, list[tuple[str, Sequence[float]]]] = {}
    for column in columns:
        name = column.name
        if not _is_category(column.kind):
            found[name] = [("", by_name[name])] if name in by_name else []
            continue
        levels = [(level, f"{name}={level}") for level in column.levels]
        found[name] = [(level, by_name[coordinate]) for level, coordinate in levels if coordinate in by_name]
    return found


def _largest_loadings(loadings: Sequence[tuple[str, Sequence[float]]], axis: int) -> list[tuple[str, float]]:
    """Return the loadings of a column on an axis; for a category, the largest loadings of its levels."""
    known = [(level, weights[axis]) for level, weights in loadings if axis < len(weights)]
    return sorted(known, key=lambda pair: -abs(pair[1]))[:_LOADINGS_SHOWN]
