"""The columns that colour the maps of a study."""

from __future__ import annotations

from typing import Any

from tamiz.sources.base import Source
from tamiz.sources.schema import Column
from tamiz.sources.views import Rows

# Columns offered for colour: what a reader can still take in.
_MOST_COLOURS = 40


def describe_colors(source: Source, rows: Rows, ranking: dict[str, Any] | None) -> list[dict[str, Any]]:
    """Return the target and the best columns at the rows drawn, to colour a map by."""
    schema = source.schema
    columns = schema.used.tolist()
    if ranking is not None and ranking["criteria"]:
        scores = ranking["scores"][ranking["criteria"][0]["id"]]
        columns = sorted(sorted(columns, key=lambda j: -scores[j])[:_MOST_COLOURS])
    columns = columns[:_MOST_COLOURS]
    if schema.target is not None:
        columns = [schema.n_columns, *columns]
    values: dict[int, list[Any]] = {j: [] for j in columns}
    for block in source.blocks([j for j in columns if j < schema.n_columns]):
        here = rows[(rows >= block.rows.start) & (rows < block.rows.stop)] - block.rows.start
        for j in columns:
            values[j] += block.column(j)[here].tolist()
    return [_color(schema.describe(j), values[j]) for j in columns]


def _color(column: Column, values: list[Any]) -> dict[str, Any]:
    if column.is_number:
        shown = [None if value != value else value for value in values]
        return {"name": column.name, "kind": "numeric", "values": shown, "levels": []}
    shown = [None if value < 0 else value for value in values]
    return {"name": column.name, "kind": "categorical", "values": shown, "levels": list(column.levels)}
