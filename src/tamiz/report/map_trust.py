"""What may be trusted on a map: its neighbours, its distances."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tamiz.report.text import count_with_noun

if TYPE_CHECKING:
    from tamiz.report.records.maps import QualityRecord
    from tamiz.report.records.study import StudyRecord

# Digits of the measures; maps that look equal are equally good.
DECIMALS = 3


def most_trusted_map(result: StudyRecord) -> int | None:
    """Return the number of the map with points whose neighbours and distances may be trusted most; None without such a map.

    The largest sum of trustworthiness and rank correlation decides: by neighbours alone, islands without a meaning win where
    categories split the rows.

    Parameters
    ----------
    result : StudyRecord
    """
    shown = [
        k for k, one in enumerate(result.maps) if one.points and any(point != one.points[0] for point in one.points)
    ]
    if not shown or result.quality is None:
        return next(iter(shown), None)
    sums = [0.0] * len(result.maps)
    for measure in result.quality.measures:
        if measure.name in ("trustworthiness", "rank_correlation"):
            sums = [
                total - 1 if value is None else total + value for total, value in zip(sums, measure.values, strict=True)
            ]
    return max(shown, key=lambda k: (round(sums[k], DECIMALS), -k))


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


def chance_rows_text(quality: QualityRecord | None, k: int) -> str:
    """Return how many rows a map places no better than by chance, "" if none or unknown.

    Parameters
    ----------
    quality : QualityRecord or None
    k : int
        The number of the map.
    """
    n = None if quality is None or not quality.n_chance_rows else quality.n_chance_rows[k]
    if not n or quality is None:
        return ""
    verb = "has" if n == 1 else "have"
    return (
        f"{n:,} of {count_with_noun(quality.n_rows, 'row')} {verb} neighbours on the map that are no better than by chance "
        f"(trustworthiness at most {quality.chance_trust:.2f})."
    )
