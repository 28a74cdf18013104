"""The picture of a fitted estimator in a notebook: the selected columns with their scores, or the map."""

from __future__ import annotations

from html import escape
from typing import Any

import numpy as np

from tamiz.display.column_selection import RankingDisplay, SearchDisplay
from tamiz.display.embedding import EmbeddingDisplay
from tamiz.display.figures import write_svg
from tamiz.reduction.base import Reducer
from tamiz.runtime.random import sample_rows
from tamiz.runtime.user_warnings import list_names

# Points of a map, and names of selected columns.
_MAX_POINTS, _MAX_NAMES = 5_000, 30


def draw_estimator(estimator: Any) -> str:
    """Return the picture of a fitted map or selector as HTML; "" for a map without rows."""
    if isinstance(estimator, Reducer):
        return _draw_map(estimator)
    names = estimator.schema_.names
    selected = [names[j] for j in estimator.get_support(indices=True).tolist()]
    noun = "column" if len(names) == 1 else "columns"
    lines = [
        f"{len(selected):,} of {len(names):,} {noun} selected: {list_names(selected, limit=_MAX_NAMES)}.",
        *estimator.describe(),
    ]
    display: Any = None
    if "archive_" in vars(estimator):
        display = SearchDisplay.from_estimator(estimator)
    elif "ranking_" in vars(estimator):
        display = RankingDisplay.from_estimator(estimator)
    return _figure(lines, display)


def _draw_map(reducer: Reducer) -> str:
    if not hasattr(reducer, "embedding_"):
        return ""
    embedding = np.asarray(reducer.embedding_)
    rows = sample_rows(len(embedding), _MAX_POINTS, np.random.default_rng(0))
    shown = f"{len(rows):,} of its {len(embedding):,} rows" if len(rows) < len(embedding) else f"{len(rows):,} rows"
    display = EmbeddingDisplay(embedding[rows], names=reducer.axis_names_).plot()
    return _figure([f"{type(reducer).__name__} of {shown}."], display)


def _figure(lines: list[str], display: Any) -> str:
    caption = "".join(f"<p>{escape(line)}</p>" for line in lines)
    return f"<figure>{caption}{'' if display is None else write_svg(display.figure_, lines[0])}</figure>"
