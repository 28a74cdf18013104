"""The comparison of two tables as one self-contained HTML page without scripts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tamiz.drift.sentences import (
    OUTSIDE,
    changed_text,
    column_text,
    difference_text,
    format_psi,
    format_score,
    measure_text,
    outside_text,
    scorer_label,
)
from tamiz.report.drawing import Scale, distribution_picture, point_picture
from tamiz.report.html import make_environment, read_styles
from tamiz.report.text import count_with_noun, format_p_value, format_percent, join_column_names

if TYPE_CHECKING:
    from tamiz.drift.records import ComparisonRecord

_ALL_ROWS, _ASSOCIATIONS = 100, 12
_SHOWN_CODES = ("TZ101", "TZ104", "TZ211", "TZ214", "TZ216", "TZ308")
_COLORS = ("c0", "c1")


def render(found: ComparisonRecord) -> str:
    """Return a comparison as one HTML page without scripts and network requests; the same result gives the same bytes.

    Parameters
    ----------
    found : ComparisonRecord
    """
    environment = make_environment()
    filters: dict[str, Any] = {
        "psi": format_psi, "score": format_score, "p_value": format_p_value, "described": column_text, "measure": measure_text,
    }  # fmt: skip
    environment.filters |= filters
    pictures = {
        one.name: distribution_picture(one.distribution, _COLORS)
        for one in found.columns
        if one.distribution is not None
    }
    reasons = found.not_compared | {
        name: " in the first table, ".join(kinds) for name, kinds in found.other_kinds.items()
    }
    return environment.get_template("compared_tables.html").render(
        found=found,
        style=read_styles("page", "verdict", "compared_tables"),
        headline=changed_text(found),
        sizes=[_size_text(one) for one in (found.first, found.second)],
        asides=_asides(found),
        scores=_scores(found),
        columns=found.columns[:_ALL_ROWS],
        pictures=pictures,
        map=_map(found),
        associations=() if found.target is None else found.target.associations[:_ASSOCIATIONS],
        reasons={"Set aside": found.set_aside, "Not compared": reasons},
    )


def _size_text(one: Any) -> str:
    weighted = "" if one.n_effective == one.n_rows else f" that count as {one.n_effective:,.0f}"
    return f"{count_with_noun(one.n_rows, 'row')}{weighted}, {count_with_noun(one.n_columns, 'column')}"


def _asides(found: ComparisonRecord) -> list[str]:
    """Return what of the tables was not compared or set aside, each with its reason."""
    shown = (one for one in found.warnings if one.severity != "note" and one.code in _SHOWN_CODES)
    lines = [f"{one.label}: {join_column_names(one.columns, limit=3, width=30)}" for one in shown]
    for names, where in ((found.only_first, "first"), (found.only_second, "second")):
        if names:
            lines.append(f"{count_with_noun(len(names), 'column')} in the {where} table only")
    if found.other_kinds:
        lines.append(f"{count_with_noun(len(found.other_kinds), 'column')} of another kind in the second table")
    if found.not_compared:
        lines.append(f"{count_with_noun(len(found.not_compared), 'column')} not compared, such as ids and free text")
    return lines


def _scores(found: ComparisonRecord) -> dict[str, Any] | None:
    """Return the areas and scores with their intervals, on one scale."""
    rows = []
    if found.membership is not None:
        rows.append(("table of a row, recognised", found.membership.auc, found.membership.interval))
    if (one := found.target) is not None:
        label = scorer_label(one)
        rows.append((f"{one.target}, first table ({label})", one.scores[0], one.intervals[0]))
        rows.append((f"{one.target}, second table ({label})", one.scores[1], one.intervals[1]))
    if not rows:
        return None
    ends = [0.5, 1.0, *(end for _, _, interval in rows for end in interval)]
    scale = Scale(min(ends), max(ends))
    marks = [
        {
            "label": label,
            "text": format_score(value),
            "mark": scale.mark(value, interval),
        }
        for label, value, interval in rows
    ]
    notes = []
    if found.membership is not None:
        notes.append(
            f"AUC of a model that recognises the table of a row in {found.membership.n_folds}-fold cross-validation: .50 is chance."
        )
    if one is not None:
        columns = count_with_noun(len(one.columns), "chosen column" if one.are_chosen else "column")
        notes.append(f"{one.model.capitalize()} on {columns} of the first table: {difference_text(one)}.")
    return {"rows": marks, "ends": (format_score(scale.low), format_score(scale.high)), "notes": notes}


def _map(found: ComparisonRecord) -> dict[str, Any] | None:
    new = found.new_rows
    if new is None:
        return None
    picture = point_picture(new.points, new.groups, 4, one_scale=True) if new.points else ""
    shares = " and ".join(map(format_percent, new.explained))
    return {
        "picture": picture,
        "n": len(new.points),
        "title": f"PCA of the first table ({shares} of the variance)" if picture else "Rows outside",
        "text": f"{outside_text(found, OUTSIDE)}.",
        "rows": [
            (f"{one.row + 1:,}", f"{one.distance:.1f}", one.column, f"{one.deviations:+.1f}".replace("-", "−"))
            for one in new.rows
        ],
    }
