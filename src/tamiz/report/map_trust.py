"""What may be trusted on a map: its neighbours, its distances."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tamiz.report.text import count_with_noun

if TYPE_CHECKING:
    from tamiz.report.records.maps import QualityRecord
    from tamiz.report.records.study import StudyRecord

# Digits of the measures; maps that look equal are equally good.
DECIMALS = 3
# From these values on, neighbours and distances on a map may be trusted, or roughly.
_TRUSTED, _MOSTLY_TRUSTED = 0.9, 0.8


def most_trusted_map(result: StudyRecord) -> int | None:
    """Return the number of the map with the largest sum of trustworthiness and rank correlation; None without such a map.

    By neighbours alone, islands without a meaning win where categories split the rows.
    """
    shown = [
        k for k, one in enumerate(result.maps) if one.points and any(point != one.points[0] for point in one.points)
    ]
    if not shown or result.quality is None:
        return next(iter(shown), None)
    measures = [result.quality.values(name) for name in ("trustworthiness", "rank_correlation")]
    sums = {k: sum(-1.0 if (value := values[k]) is None else value for values in measures) for k in shown}
    return max(shown, key=lambda k: (round(sums[k], DECIMALS), -k))


def trust_text(quality: QualityRecord | None, k: int) -> str:
    """Return in a sentence whether neighbours and distances on map number k may be trusted, "" if it was not evaluated."""
    parts = []
    for what, label in (("Neighbours", "trustworthiness"), ("order of distances", "rank correlation")):
        value = None if quality is None else quality.values(label.replace(" ", "_"))[k]
        if value is not None:
            word = "yes" if value >= _TRUSTED else "roughly" if value >= _MOSTLY_TRUSTED else "no"
            parts.append(f"{what} {word} ({label} {value:.2f})")
    return f"To trust: {', '.join(parts)}." if parts else ""


def chance_rows_text(quality: QualityRecord | None, k: int) -> str:
    """Return how many rows map number k places no better than by chance, "" if none or unknown."""
    one = None if quality is None else quality.maps[k]
    if quality is None or one is None or not one.n_chance_rows:
        return ""
    n = one.n_chance_rows
    return (
        f"{n:,} of {count_with_noun(quality.n_rows, 'row')} {'has' if n == 1 else 'have'} neighbours on the map that are no "
        f"better than by chance (trustworthiness at most {quality.chance_trust:.2f})."
    )
