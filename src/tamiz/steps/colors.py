"""The columns that colour the maps of a study, and are told where a reader points at a row."""

from __future__ import annotations

from typing import Any

from tamiz.sources.base import Source
from tamiz.sources.schema import Column
from tamiz.sources.views import RowNumbers
from tamiz.steps.sampling import MAX_EXACT_POINTS

# Columns that travel with the points beside the target: what a reader can still take in.
_MAX_COLORS = 12


def describe_colors(source: Source, rows: RowNumbers, ranking: dict[str, Any] | None) -> list[dict[str, Any]]:
    """Return the target and the best columns at the rows drawn, to colour a map by."""
    schema = source.schema
    columns = schema.used.tolist()
    if ranking is not None and ranking["criteria"]:
        scores = ranking["scores"][ranking["criteria"][0]["id"]]
        combined = ranking["combined"]
        columns = sorted(columns, key=lambda j: (0.0 if combined is None else combined["ranks"][j], -scores[j]))
    columns = columns[:_MAX_COLORS]
    if schema.target is not None:
        columns = [schema.n_columns, *columns]
    values: dict[int, list[Any]] = {j: [] for j in columns}
    for block in source.blocks([j for j in columns if j < schema.n_columns]):
        here = rows[(rows >= block.rows.start) & (rows < block.rows.stop)] - block.rows.start
        for j in columns:
            values[j] += block.column(j)[here].tolist()
    return [
        _color_column(schema.column(j), "target" if j == schema.n_columns else "column", values[j]) for j in columns
    ]


def _color_column(column: Column, role: str, values: list[Any]) -> dict[str, Any]:
    named = {"name": column.name, "role": role}
    if column.is_number:
        is_date = column.kind == "date"
        shown = _round_values(values, exact=is_date or len(values) <= MAX_EXACT_POINTS)
        return {**named, "kind": "date" if is_date else "numeric", "values": shown, "levels": [], "silhouette": None}
    shown = [None if value < 0 else value for value in values]
    return {**named, "kind": "categorical", "values": shown, "levels": list(column.levels), "silhouette": None}


def _round_values(values: list[float], *, exact: bool) -> list[float | None]:
    """Return numbers, None for gaps; very many have the six digits that are told where a reader points at one."""
    return [None if value != value else value if exact else float(f"{value:.6g}") for value in values]
