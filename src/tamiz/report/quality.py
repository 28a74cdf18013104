"""The quality of the maps: how well each preserves the distances and the neighbours of the rows."""

from __future__ import annotations

from collections import Counter
from itertools import groupby
from typing import TYPE_CHECKING, Any

import numpy as np

from tamiz.display.quality import QualityDisplay, ShepardDisplay
from tamiz.metrics.neighborhoods import RankAgreement
from tamiz.report.drawing import Chart
from tamiz.report.score_text import DECIMALS
from tamiz.report.text import count_with_noun, format_count, join_names, shorten

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tamiz.report.records import QualityRecord, StudyRecord


# The label and the meaning of each measure.
_MEASURE_TEXTS = {
    "kruskal_stress": (
        "Kruskal’s stress-1",
        "Relative error of the distances on the map, at its best scale: 0 if all agree. Ordinal MDS fits only the order of the "
        "distances: judge it by the Shepard correlation below.",
    ),
    "rank_correlation": (
        "Shepard correlation",
        "Rank correlation of the distances in the table and on the map: 1 if their order is the same.",
    ),
    "trustworthiness": (
        "Trustworthiness",
        "Whether the {k} nearest rows on the map are near in the table: 1 if there are no false neighbours.",
    ),
    "continuity": (
        "Continuity",
        "Whether the {k} nearest rows in the table are near on the map: 1 if no neighbours are lost.",
    ),
    "neighborhood_recall": (
        "Neighbourhood recall",
        "Share of the {k} nearest rows in the table that are also among the {k} nearest on the map.",
    ),
    "rank_agreement": (
        "Area under R_NX",
        "Share of preserved neighbours, corrected for chance (R_NX, see the chart below) and averaged over all neighbourhood "
        "sizes: 1 if all are preserved, 0 for a random map.",
    ),
    "label_accuracy": (
        "Accuracy of kNN on the map",
        "Share of rows for which the {k} nearest rows on the map predict {target} correctly{guess}.",
    ),
}
_DISTANCE_MEASURE, _ORDER_MEASURE, _NEIGHBOUR_MEASURE = "kruskal_stress", "rank_correlation", "rank_agreement"
_NAME_WIDTH = 40
_NEIGHBOUR_MEASURES = ("trustworthiness", "continuity", "neighborhood_recall", _NEIGHBOUR_MEASURE)


def collect_quality(record: StudyRecord) -> dict[str, Any] | None:
    """Return a row per measure, a column per map, the curves R_NX and the Shepard diagrams; None if no map was evaluated."""
    quality, table = record.quality, record.table
    if quality is None:
        return None
    names = [reduced.label for reduced in record.maps]
    weights = [one.weight for one in table.classes]
    guess = f"; always predicting the largest class gives {max(weights) / sum(weights):.{DECIMALS}f}" if weights else ""
    target = "" if table.target is None else shorten(table.target, 40)
    facts = {"k": format_count(quality.n_neighbors), "target": target, "guess": guess}
    rows = count_with_noun(quality.n_rows, "row")
    which = f"all {rows}" if quality.n_rows == table.n_rows_used else f"a sample of {rows}"
    return {
        "folded": True,
        "lead": _lead(quality, names),
        "compared": f"Evaluated on {which}. Distances in the table: {quality.metric.label}.",
        "names": names,
        "several": len(names) > 1,
        "rows": [
            _row(quality, name, label, meaning.format(**facts))
            for name, (label, meaning) in _MEASURE_TEXTS.items()
            if any(value is not None for value in quality.values(name))
        ],
        "shapes": _shapes(quality.shape_distances, names),
        "curves": _curves(quality, names),
        "pairs": _shepard_charts(quality, names),
        "all_pairs": quality.all_pairs,
    }


def _shown_values(quality: QualityRecord, name: str) -> list[float | None]:
    """Return the values of a measure rounded as shown, so that values that look equal are ties."""
    return [None if value is None else round(value, DECIMALS) for value in quality.values(name)]


def _best_maps(quality: QualityRecord, name: str) -> list[int]:
    """Return the best maps by a measure, none if all are equal."""
    values = _shown_values(quality, name)
    known = {value for value in values if value is not None}
    best = None if len(known) < 2 else min(known) if name == _DISTANCE_MEASURE else max(known)
    return [k for k, value in enumerate(values) if value is not None and value == best]


def _row(quality: QualityRecord, name: str, label: str, meaning: str) -> dict[str, Any]:
    best = _best_maps(quality, name)
    cells = [
        {"text": "–" if value is None else f"{value:.{DECIMALS}f}".replace("-", "−"), "best": k in best}
        for k, value in enumerate(_shown_values(quality, name))
    ]
    better = "smaller is better" if name == _DISTANCE_MEASURE else "larger is better"
    return {"label": label, "better": better, "cells": cells, "meaning": meaning}


def _lead(quality: QualityRecord, names: Sequence[str]) -> str:
    """Return which map preserves distances best, and which map preserves neighbours best by most measures."""
    if len(names) == 1:
        stress, kept = (_shown_values(quality, name)[0] for name in (_DISTANCE_MEASURE, _NEIGHBOUR_MEASURE))
        return f"{shorten(names[0], _NAME_WIDTH)} has a stress of {stress} and an area under R_NX of {kept}."
    distances, order = (_best_maps(quality, name) for name in (_DISTANCE_MEASURE, _ORDER_MEASURE))
    neighbors, agreeing, n = _most_wins([_best_maps(quality, name) for name in _NEIGHBOUR_MEASURES])
    among = f" ({'each ' if len(neighbors) > 1 else ''}by {agreeing} of {n} measures)" if agreeing < n else ""
    parts = [(distances, "the distances best"), (neighbors, f"the neighbours best{among}")]
    if distances and order != distances:
        parts.insert(1, (order, "their order best"))
    clauses = []
    for maps, group in groupby([part for part in parts if part[0]], key=lambda part: part[0]):
        preserving = f"{join_names(shorten(names[k], _NAME_WIDTH) for k in maps)} preserve{'s' * (len(maps) == 1)}"
        clauses.append(f"{preserving} {' and '.join(what for _, what in group)}")
    return f"{'; '.join(clauses) or 'All maps preserve distances and neighbours equally well'}."


def _most_wins(best: Sequence[Sequence[int]]) -> tuple[list[int], int, int]:
    """Return the maps that win most measures, the number of these measures, and the number of measures with a winner."""
    votes = Counter(k for maps in best for k in maps)
    most = max(votes.values(), default=0)
    return sorted(k for k, n in votes.items() if n == most), most, sum(map(bool, best))


def _shapes(distances: Sequence[Sequence[float | None]], names: Sequence[str]) -> dict[str, Any] | None:
    """Return the Procrustes distances between the maps, with a title that names the two most similar ones."""
    pairs = [
        (value, j, i) for i, values in enumerate(distances) for j, value in enumerate(values[:i]) if value is not None
    ]
    if len(names) < 3 or not pairs:
        return None
    least, *nearest = min(pairs)
    return {
        "title": f"{join_names(shorten(names[k], _NAME_WIDTH) for k in nearest)} have the most similar shapes",
        "rows": [
            {
                "label": name,
                "cells": [
                    {"text": "–" if value is None or i == j else f"{value:.2f}", "best": value == least and i != j}
                    for j, value in enumerate(values)
                ],
            }
            for i, (name, values) in enumerate(zip(names, distances, strict=True))
        ],
    }


def _curves(quality: QualityRecord, names: Sequence[str]) -> dict[str, Any] | None:
    """Return the curves R_NX, with a title that names the best map for small and for large neighbourhoods."""
    sizes = quality.sizes
    if len(sizes) < 3:
        return None
    curves = {name: one.r_nx for name, one in zip(names, quality.maps, strict=True) if one is not None}
    near = min(range(len(sizes)), key=lambda at: abs(sizes[at] - quality.n_neighbors))
    wide = min(range(len(sizes)), key=lambda at: abs(sizes[at] - quality.n_rows / 4))
    title = "Preserved neighbours by neighbourhood size"
    if len(names) > 1 and near < wide:
        first, second = (shorten(max(curves, key=lambda name: curves[name][at]), _NAME_WIDTH) for at in (near, wide))
        few, many = format_count(sizes[near]), f"{format_count(sizes[wide])} nearest rows (about a quarter of the rows)"
        title = f"{first} preserves the most of the {few} nearest rows"
        title += f" and of the {many}" if first == second else f"; {second} preserves the most of the {many}"
    areas, k = dict(zip(names, quality.values(_NEIGHBOUR_MEASURE), strict=True)), np.array(sizes)
    none = np.full(len(k), np.nan)
    found = {name: RankAgreement(k, none, none, np.array(r_nx), areas[name] or 0.0) for name, r_nx in curves.items()}
    described = "The neighbours that each map preserves beyond chance, by the size of the neighbourhood."
    return {"title": title, "chart": Chart("agreement", QualityDisplay(found).plot, described, height=280)}


def _shepard_charts(quality: QualityRecord, names: Sequence[str]) -> list[dict[str, Any]]:
    return [
        {
            "label": name,
            "chart": Chart(
                f"pairs-{k + 1}",
                ShepardDisplay(quality.pairs, one.pairs, scale=1.0).plot,
                f"Pairs of rows by their distances in the table and on the map of {name}.",
            ),
        }
        for k, (name, one) in enumerate(zip(names, quality.maps, strict=True))
        if one is not None and one.pairs
    ]
