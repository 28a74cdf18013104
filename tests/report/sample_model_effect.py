"""Selections compared, and added columns, as a study stores them: made up, with gain, loss and draw."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import stats

MODELS = {"naive_bayes": "naive Bayes", "knn": "5 nearest neighbours", "tree": "decision tree"}
N_FOLDS = 10
_NUMBERS = [0, 5, 10, 20, 30, 40, 50]
_QUANTILE = float(stats.t.ppf(0.975, N_FOLDS - 1))
# Deviations of the folds from their mean, of scores and of changes; they are not correlated.
_SPREAD = np.array([(k % 5) - 2.0 for k in range(N_FOLDS)])
_CHANGE = np.array([1.0 - 2 * (k % 2) for k in range(N_FOLDS)])
_FACTOR = 1 / N_FOLDS + 1 / 9


def scores(values: Any, half: float, of: Any = None) -> dict[str, Any]:
    """Return scores of folds, of which the interval (or that of the changes `of`) has a certain half."""
    variance = np.var(values if of is None else of, ddof=1)
    return {
        "values": np.asarray(values, dtype=float).tolist(),
        "variance_factor": float((half / _QUANTILE) ** 2 / variance) if variance > 0 else _FACTOR,
    }


def folded(mean: float, half: float, spread: float = 0.02) -> dict[str, Any]:
    """Return scores of ten folds with a mean and an interval."""
    return scores(mean + spread * _SPREAD, half)


def baseline(mean: float) -> dict[str, Any]:
    """Return the score without columns, the same in ten folds."""
    return scores([mean] * N_FOLDS, 0.0)


def changed(all_columns: float, change: float, half: float) -> dict[str, Any]:
    """Return scores that differ from `folded(all_columns, ...)` by a change with an interval."""
    changes = change + 0.01 * _CHANGE
    return scores(all_columns + 0.02 * _SPREAD + changes, half, of=changes)


def sets(chosen: list[str], names: list[str], rarely: int = 0) -> list[str]:
    """Return the columns of ten folds as 0 and 1: the chosen ones in all, and the others in the first few."""
    return ["".join("01"[name in chosen or k < rarely] for name in names) for k in range(N_FOLDS)]


def candidate(
    label: str, columns: list[str], names: list[str], changes: list[tuple[float, float]], scorings: list[str]
) -> dict[str, Any]:
    """Return a selection of a comparison, with the change of every model and half its interval; no change is all columns."""
    means = dict(zip(MODELS, (0.9, 0.93, 0.88), strict=True))
    of_model = {
        model: changed(mean, *change) if change != (0.0, 0.0) else folded(mean, 0.03)
        for (model, mean), change in zip(means.items(), changes, strict=True)
    }
    return {
        "label": label,
        "columns": columns,
        "fold_sets": sets(columns, names),
        "scores": {model: dict.fromkeys(scorings, one) for model, one in of_model.items()},
    }


def recommendation(names: list[str], kept: list[str]) -> dict[str, Any]:
    """Return a recommendation of the columns kept, of three candidates."""
    scorings = ["roc_auc_ovr_weighted", "balanced_accuracy"]
    none = (0.0, 0.0)
    sizes = range(1, len(kept) + 1)
    return {
        "recommended": "cfs",
        "requested": False,
        "score": folded(0.925, 0.02),
        "apparent": folded(0.935, 0.02),
        "fold_sets": sets(kept, names, rarely=2),
        "names": names,
        "deciding_model": "knn",
        "margin": 0.005,
        "folds_description": "10 stratified folds",
        "n_samples": 178,
        "n_columns": len(names),
        "models": dict(MODELS),
        "scorings": scorings,
        "baseline": {"roc_auc_ovr_weighted": baseline(0.5), "balanced_accuracy": baseline(1 / 3)},
        "candidates": {
            "all_columns": candidate("All columns", names, names, [none, none, none], scorings),
            "cfs": candidate("CFS", kept, names, [(0.031, 0.02), (-0.02, 0.03), (0.01, 0.06)], scorings),
            "knn": candidate(
                "Nearest neighbours wrapper",
                names[:3],
                names,
                [(-0.06, 0.02), (-0.01, 0.03), (-0.04, 0.03)],
                scorings,
            ),
        },
        "paths": {
            "cfs": {
                "columns": [kept[:n] for n in sizes],
                "scores": [folded(0.9, 0.02) for _ in sizes],
                "changes": [folded(-0.03, 0.02) for _ in sizes],
            }
        },
        "notes": ["9 folds in place of 10: what a fold would test is too little."],
        "seed": 0,
        "chance": "",
    }


def decisions(names: list[str], kept: list[str]) -> list[dict[str, Any]]:
    """Return why each column is kept or dropped; the last one is equivalent to the first, the one before redundant if not kept."""
    return [
        {
            "name": name,
            "kept": name in kept,
            "share": 1.0 if name in kept else 0.2,
            "same_as": names[0] if name == names[-1] else None,
            "redundant_with": kept[0] if name == names[-2] and name not in kept else None,
            "relevance": 0.4,
            "similar": [{"name": kept[0], "uncertainty": 0.5}] if name not in kept else [],
            "p_value": None if name == names[-1] else 0.02 if name in kept else 0.4,
        }
        for name in names
    ]


def rename_model(found: dict[str, Any], model: str, name: str) -> None:
    """Rename a model of a recommendation, in place."""
    found["models"] = {
        name if one == model else one: name if one == model else of for one, of in found["models"].items()
    }
    for one in found["candidates"].values():
        one["scores"] = {name if of == model else of: cells for of, cells in one["scores"].items()}


def rename_scoring(found: dict[str, Any], name: str) -> None:
    """Rename the scorer that decides of a recommendation, in place."""
    first, *others = found["scorings"]
    found["scorings"] = [name, *others]
    found["baseline"][name] = found["baseline"].pop(first)
    for one in found["candidates"].values():
        for cells in one["scores"].values():
            cells[name] = cells.pop(first)


def line(first: float, change: float, half: float, numbers: list[int]) -> list[list[float]]:
    """Return the scores of ten folds by the number of columns added, which change in proportion to it."""
    deviation = half / (_QUANTILE * np.sqrt(_FACTOR) * np.std(_CHANGE, ddof=1))
    return [(first + 0.002 * _SPREAD + (change + deviation * _CHANGE) * n / numbers[-1]).tolist() for n in numbers]


def noise_experiment(copied: str = "flavanoids", n_columns: int = 13) -> dict[str, Any]:
    """Return what added columns cost: as theory says."""
    changes = {
        "random": [(-0.01, 0.015), (-0.18, 0.05), (-0.04, 0.03)],
        "copies": [(-0.12, 0.06), (-0.01, 0.04), (0.0, 0.01)],
    }
    found: dict[str, Any] = {
        "n_added": list(_NUMBERS),
        "models": dict(MODELS),
        "scoring": "accuracy",
        "folds_description": "10 stratified folds",
        "n_samples": 178,
        "n_columns": n_columns,
        "n_draws": 2,
        "copied_column": copied,
        "selector": "CFS (best-first search)",
        "selection_n_added": [0, 50],
        "n_added_selected": {key: [[0] * N_FOLDS, [1, 1, 1] + [0] * 7] for key in ("random", "copies")},
        "variance_factor": _FACTOR,
        "notes": [],
        "seed": 0,
    }
    for added, pairs in changes.items():
        n_draws = 2 if added == "random" else 1
        found[f"{added}_scores"] = {
            model: [line(first, *pair, _NUMBERS)] * n_draws
            for model, first, pair in zip(MODELS, (0.9, 0.93, 0.88), pairs, strict=True)
        }
        found[f"{added}_selected_scores"] = {
            model: [line(first, 0.0, 0.01, [0, 50])] for model, first in zip(MODELS, (0.93, 0.88, 0.89), strict=True)
        }
    return found
