"""What may be trusted on a map: its neighbours, its distances."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tamiz.report.records.maps import QualityRecord
    from tamiz.report.records.study import StudyRecord

# Digits of the measures; maps that look equal are equally good.
DECIMALS = 3


def best_neighbor_map(result: StudyRecord) -> int | None:
    """Return the number of the map with points that keeps neighbours best; None without such a map.

    Parameters
    ----------
    result : StudyRecord
    """
    shown = [
        k for k, one in enumerate(result.maps) if one.points and any(point != one.points[0] for point in one.points)
    ]
    if not shown or result.quality is None:
        return next(iter(shown), None)
    values = next(one.values for one in result.quality.measures if one.name == "trustworthiness")
    kept = [-1.0 if value is None else round(value, DECIMALS) for value in values]
    return max(shown, key=lambda k: (kept[k], -k))


# From these values on, neighbours and distances on a map may be trusted, or mostly.
_TRUSTED, _MOSTLY_TRUSTED = 0.9, 0.8


def trust_text(quality: QualityRecord | None, k: int) -> str:
    """Return in a sentence whether neighbours and distances on a map may be trusted, "" if it was not evaluated.

    Parameters
    ----------
    quality : QualityRecord or None
    k : int
        The number of the map.
    """
    parts = []
    for what, name, label in (
        ("Neighbours", "trustworthiness", "trustworthiness"),
        ("distances", "rank_correlation", "rank correlation"),
    ):
        value = None if quality is None else next((m.values[k] for m in quality.measures if m.name == name), None)
        if value is not None:
            word = "yes" if value >= _TRUSTED else "mostly" if value >= _MOSTLY_TRUSTED else "no"
            parts.append(f"{what} {word} ({label} {value:.2f})")
    return f"To trust: {', '.join(parts)}." if parts else ""
