"""Redundancy: which columns say the same, and what is left when one of each is kept."""

from __future__ import annotations

import base64
import itertools
from typing import TYPE_CHECKING, Any

from tamiz.report import redundancy_charts
from tamiz.report.text import count_with_noun, join_names, shorten

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

# Pairs in the table, and groups shown at once: what a reader can still take in.
_MAX_PAIRS, _MAX_GROUPS = 15, 20
_STEPS = 255


def collect_redundancy(result: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return what the section shows: the matrix, its strongest pairs, and the groups to keep one of each from.

    Parameters
    ----------
    result : mapping
        A result as `Result.to_dict` gives it.

    Returns
    -------
    dict or None
        The template's names; None where there were no two columns to compare.
    """
    found = result["redundancy"]
    if found is None:
        return None
    names, groups = found["columns"], found["groups"]
    shares = _decode_pairs(found["values"])
    pairs = sorted(zip(shares, itertools.combinations(names, 2), strict=True), key=lambda pair: -pair[0])
    grouped = {name for group in groups for name in group["columns"]}
    # A constant column is not compared: it says nothing, so there is nothing to keep.
    columns = [
        column["name"] for column in result["table"]["columns"] if not (column["left_out"] or column["constant"])
    ]
    others = [name for name in columns if name not in grouped]
    return {
        "lead": _lead(found, pairs),
        "title": _title(pairs),
        "drawn": _matrix_caption(found),
        "pairs": [{"names": pair, "share": f"{share:.2f}", "percent": f"{100 * share:.1f}"} for share, pair in pairs[:_MAX_PAIRS]],
        "n_pairs": found["n_columns"] * (found["n_columns"] - 1) // 2,
        "chart": redundancy_charts.matrix_chart(names, shares, [group["columns"] for group in groups]),
        "width": redundancy_charts.matrix_width(len(names)),
        "threshold": f"{found['threshold']:g}",
        "groups": [_group(group, found["threshold"]) for group in groups],
        "n_shown": _MAX_GROUPS,
        "how": _method_text(found, result["table"]["n_rows_used"]),
        "choice": {
            "groups": [{"columns": g["columns"], "keep": g["columns"].index(g["keep"])} for g in groups],
            "others": others,
        },
        "n_kept": len(others) + len(groups),
        "n_columns": len(columns),
        "has_target": result["table"]["target"] is not None,
    }  # fmt: skip


def _decode_pairs(values: str) -> list[float]:
    return [step / _STEPS for step in base64.b64decode(values)]


def _group(group: Mapping[str, Any], threshold: float) -> dict[str, Any]:
    # The least of a group is at least the threshold, also when it is told with two digits.
    return {
        "columns": group["columns"],
        "keep": group["keep"],
        "least": f"{max(group['least'], threshold):.2f}",
        "n": len(group["columns"]),
    }


def _lead(redundancy: Mapping[str, Any], pairs: Sequence[tuple[float, tuple[str, str]]]) -> str:
    groups, n = redundancy["groups"], count_with_noun(redundancy["n_columns"], "column")
    if not groups:
        (share, names) = pairs[0]
        if share == 0:
            return f"Every pair of the {n} shares less than 0.01."
        if share >= redundancy["threshold"]:
            return (
                f"{join_names(names)} share {share:.2f}, but there are too few rows to tell whether they say the same."
            )
        return f"No two of the {n} say the same; {join_names(names)} come nearest and share {share:.2f}."
    words = f"{join_names(groups[0]['columns'], limit=4)} say the same"
    grouped = sum(len(group["columns"]) for group in groups)
    if len(groups) == 1:
        rest = redundancy["n_columns"] - grouped
        return (
            f"{words}; {'the other column is' if rest == 1 else f'the other {rest:,} columns are'} in no group."
            if rest
            else f"{words}."
        )
    return f"{words}: {count_with_noun(len(groups), 'group')} like that hold {grouped:,} of the {n}."


def _title(pairs: Sequence[tuple[float, tuple[str, str]]]) -> str:
    share, names = pairs[0]
    return f"{join_names(names)} share most: {share:.2f}" if share else "Every pair of columns shares less than 0.01"


def _matrix_caption(redundancy: Mapping[str, Any]) -> str:
    words = (
        "A cell is what two columns share, as a part of what they hold: 1 where each tells the other, 0 where neither does. "
        "Columns that share much stand side by side, across as they do down"
    )
    words += "; a frame is a group." if redundancy["groups"] else "."
    if len(redundancy["columns"]) < redundancy["n_columns"]:
        words += f" Drawn are the {len(redundancy['columns']):,} of {redundancy['n_columns']:,} columns that share most with another."
    return words


def _method_text(redundancy: Mapping[str, Any], n_rows: int) -> str:
    """Return how columns were compared, in a sentence or two."""
    words = [shorten(redundancy["measure"]["label"], 60), *([redundancy["how"]] if redundancy["how"] else [])]
    if redundancy["n_rows"] < n_rows:
        words.append(f"of a sample of {count_with_noun(redundancy['n_rows'], 'row')}")
    told = f"{', '.join(words)}."
    if redundancy["n_left"]:
        told += f" {count_with_noun(redundancy['n_left'], 'column')} more were too many to be compared, and are kept."
    return told
