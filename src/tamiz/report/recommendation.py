"""Recommended columns: selections compared by nested cross-validation under several models, and the one to keep."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tamiz.report.buys_words import between, difference, direction, model_name, score_name, sizes, told_by
from tamiz.report.text import counted, listed

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tamiz.report.trust import Told

_ALL = "all_columns"
# Parts of a sentence are never cut.
_WIDE = 200
_MOST_NAMED = 12
# No model may lose more: the rule of `recommend_columns`.
_LARGEST_LOSS = 0.03


def collect_recommendation(result: Mapping[str, Any]) -> dict[str, Any] | None:
    """Return what the section shows: the recommended columns, what they cost each model, and the selections side by side.

    Parameters
    ----------
    result : mapping
        A result as `Result.to_dict` gives it.

    Returns
    -------
    dict or None
        The template's names; None where selections were not compared.
    """
    found = result["recommendation"]
    if found is None:
        return None
    warnings = result["warnings"]
    return {
        "lead": recommended(found),
        "cost": cost(found),
        "columns": found["columns"] if found["recommended"] != _ALL and _gains(found, _chosen(found)) else [],
        "made": f"{counted(found['n_samples'], 'row')}, {found['folds']}. Every selection is searched for again inside each fold, "
        "with the rows that the fold does not test. Beside each score: its difference from the score with all columns.",
        "models": [model["label"] for model in found["models"]],
        "groups": [_group(found, k) for k in range(len(found["scores"]))],
        "notes": [note for note in found["notes"] if note not in warnings],
    }


def kept_at_first(result: Mapping[str, Any]) -> list[str]:
    """Return the columns that the reader's own choice begins with: those recommended, else the subset, else none.

    Parameters
    ----------
    result : mapping
        A result as `Result.to_dict` gives it.
    """
    found, subset = result["recommendation"], result["subset"]
    if found is not None and _gains(found, _chosen(found)):
        columns: list[str] = _chosen(found)["columns"]
        return columns
    return [] if subset is None else subset["columns"]


def recommended(found: Mapping[str, Any]) -> str:
    """Return in a sentence which columns to keep, with the rows, the scores and the baseline."""
    name, candidates = found["recommended"], {one["id"]: one for one in found["candidates"]}
    chosen, score = candidates[name], found["scores"][0]
    told = told_by(score["id"])
    means = [cell["mean"] for cell in chosen["scores"][0]]
    reached = told.score(means[0]) if len(means) == 1 else f"{told.score(min(means))} to {told.score(max(means))}"
    measured = (
        f"{_named(score['id'])} {reached} over {counted(len(means), 'model')} in nested cross-validation of "
        f"{counted(found['n_samples'], 'row')}; baseline {told.score(score['baseline']['mean'])}"
    )
    if not _gains(found, chosen):
        return f"No selection, and not all columns together, scores above the baseline: {measured}."
    if name == _ALL:
        return f"Keep all {counted(found['n_columns'], 'column')}: {_why_all(found)}. {measured}."
    kept = f"{len(chosen['columns']):,} of {counted(found['n_columns'], 'column')}"
    return f"Keep {kept} ({_inside(chosen['label'])}): {listed(chosen['columns'], limit=_MOST_NAMED)}. {measured}."


def _why_all(found: Mapping[str, Any]) -> str:
    """Return why no smaller selection is recommended."""
    others = _others(found)
    if not others:
        return "no smaller selection could be compared"
    costly = f"every smaller selection costs a model more than {_LARGEST_LOSS}"
    if all(one["id"] in found["refused"] or _worst(one) < -_LARGEST_LOSS for one in others):
        return costly
    return f"{costly}, or the models together more than their standard error"


def _others(found: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the candidates but for all columns."""
    return [one for one in found["candidates"] if one["id"] != _ALL]


def _worst(candidate: Mapping[str, Any]) -> float:
    """Return the largest loss beside all columns, as a change of the score that decides."""
    return min(float(change["mean"]) for change in candidate["changes"][0])


def cost(found: Mapping[str, Any]) -> str:
    """Return in a sentence what the recommended columns change for each model, beside all columns."""
    told = told_by(found["scores"][0]["id"])
    name = found["recommended"]
    if name == _ALL:
        others = _others(found)
        if not others:
            return ""
        nearest = max(others, key=_worst)
        changes = _changes(found["models"], nearest["changes"][0], told)
        size = counted(len(nearest["columns"]), "column")
        return f"The nearest selection, {_inside(nearest['label'])} ({size}), changes {changes}."
    chosen = _chosen(found)
    changes = _changes(found["models"], chosen["changes"][0], told)
    return f"Beside all columns, {told.name} changes {changes}."


def _changes(models: Sequence[Mapping[str, Any]], changes: Sequence[Mapping[str, Any]], told: Told) -> str:
    """Return the change of each model with its interval, the largest loss first."""
    pairs = sorted(zip(models, changes, strict=True), key=lambda pair: pair[1]["mean"])
    parts = [
        f"by {difference(change['mean'], told)} ({between(change['interval'], told)}) for {model_name(model)}"
        for model, change in pairs
    ]
    return listed(parts, width=_WIDE)


def _chosen(found: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the recommended candidate."""
    return next(one for one in found["candidates"] if one["id"] == found["recommended"])


def _gains(found: Mapping[str, Any], chosen: Mapping[str, Any]) -> bool:
    """Return whether some model scores above the baseline by more than the interval of its mean."""
    baseline = found["scores"][0]["baseline"]["mean"]
    return any(cell["interval"][0] > baseline for cell in chosen["scores"][0])


def _group(found: Mapping[str, Any], k: int) -> dict[str, Any]:
    """Return the rows of the table for one score."""
    score = found["scores"][k]
    told = told_by(score["id"])
    return {
        "name": score_name(score["id"]),
        "baseline": told.score(score["baseline"]["mean"]),
        "rows": [
            {
                "label": one["label"],
                "kept": one["id"] == found["recommended"] and _gains(found, one),
                "size": sizes(one["n_chosen"]),
                "cells": [
                    (
                        told.score(cell["mean"]),
                        "" if one["id"] == _ALL else difference(change["mean"], told),
                        "" if one["id"] == _ALL else direction(change["interval"]),
                    )
                    for cell, change in zip(one["scores"][k], one["changes"][k], strict=True)
                ],
            }
            for one in found["candidates"]
        ],
    }


def _inside(label: str) -> str:
    """Return a selection's label inside a sentence."""
    return label if label[:2].isupper() else label[:1].lower() + label[1:]


def _named(scoring: str) -> str:
    told = told_by(scoring)
    return told.name[:1].upper() + told.name[1:]
