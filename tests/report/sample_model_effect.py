"""Selections compared, one beside all columns, and added columns, as a study describes them: made up, with gain, loss and draw."""

from __future__ import annotations

from typing import Any

import numpy as np

MODELS = [
    {"id": "naive_bayes", "label": "naive Bayes"},
    {"id": "knn", "label": "5 nearest neighbours"},
    {"id": "tree", "label": "decision tree"},
]
_NUMBERS = [0, 5, 10, 20, 30, 40, 50]


def folded(mean: float, half: float, spread: float = 0.02) -> dict[str, Any]:
    """Return scores of ten folds with a mean and an interval."""
    folds = [mean + spread * ((k % 5) - 2) for k in range(10)]
    return {
        "mean": mean,
        "standard_deviation": float(np.std(folds, ddof=1)),
        "interval": [mean - half, mean + half],
        "folds": folds,
    }


def baseline(mean: float, half: float) -> dict[str, Any]:
    """Return the score without columns, the same in ten folds."""
    return {"mean": mean, "interval": [mean - half, mean + half], "folds": [mean] * 10}


def cell(all_columns: float, change: float, half: float) -> dict[str, Any]:
    """Return a model on all columns and on the chosen ones."""
    return {
        "all_columns": folded(all_columns, 0.03),
        "chosen": folded(all_columns + change, 0.03),
        "difference": folded(change, half, 0.01),
    }


def model_effect(n_columns: int = 13) -> dict[str, Any]:
    """Return a comparison: naive Bayes gains, neighbours lose, of the tree nothing can be told."""
    return {
        "selector": "CFS by Forward",
        "folds": "10 stratified folds",
        "n_samples": 178,
        "n_columns": n_columns,
        "n_chosen": [4, 5, 4, 4, 6, 4, 4, 5, 4, 4],
        "models": [dict(model) for model in MODELS],
        "scores": [
            {
                "id": scoring,
                "baseline": baseline(nothing, 0.01),
                "models": [cell(0.9, 0.031, 0.02), cell(0.93, -0.05, 0.03), cell(0.88, 0.01, 0.06)],
            }
            for scoring, nothing in (("accuracy", 0.4), ("f1_macro", 0.19), ("roc_auc_ovr_weighted", 0.5))
        ],
        "notes": ["9 folds in place of 10: what a fold would test is too little."],
    }


def candidate(
    name: str, label: str, columns: list[str], changes: list[tuple[float, float]], n_scores: int = 2
) -> dict[str, Any]:
    """Return a selection of a comparison, with the change of every model and half its interval."""
    cells = [cell(every, *change) for every, change in zip((0.9, 0.93, 0.88), changes, strict=True)]
    return {
        "id": name,
        "label": label,
        "columns": columns,
        "n_chosen": [len(columns)] * 10,
        "scores": [[one["chosen"] for one in cells] for _ in range(n_scores)],
        "changes": [[one["difference"] for one in cells] for _ in range(n_scores)],
    }


def recommendation(names: list[str], kept: list[str]) -> dict[str, Any]:
    """Return a recommendation of the columns kept, of three candidates."""
    none = (0.0, 0.0)
    return {
        "recommended": "cfs",
        "requested": False,
        "columns": kept,
        "score": folded(0.925, 0.02),
        "deciding": MODELS[1]["id"],
        "margin": 0.005,
        "detectable_loss": 0.0123,
        "folds": "10 stratified folds",
        "n_samples": 178,
        "n_columns": len(names),
        "models": [dict(model) for model in MODELS],
        "scores": [
            {"id": "roc_auc_ovr_weighted", "baseline": baseline(0.5, 0.0)},
            {"id": "balanced_accuracy", "baseline": baseline(1 / 3, 0.0)},
        ],
        "candidates": [
            candidate("all_columns", "All columns", names, [none, none, none]),
            candidate("cfs", "CFS", kept, [(0.031, 0.02), (-0.02, 0.03), (0.01, 0.06)]),
            candidate("knn", "Nearest neighbours wrapper", names[:3], [(-0.06, 0.02), (-0.01, 0.03), (-0.04, 0.03)]),
        ],
        "decisions": [
            {
                "name": name,
                "kept": name in kept,
                "share": 1.0 if name in kept else 0.2,
                "same_as": names[0] if name == names[-1] else None,
                "relevance": 0.4,
                "similar": [{"name": kept[0], "uncertainty": 0.5}] if name not in kept else [],
                "p_value": None if name == names[-1] else 0.02 if name in kept else 0.4,
            }
            for name in names
        ],
        "paths": [
            {
                "id": "cfs",
                "sets": [
                    {"columns": kept[:n], "score": folded(0.9, 0.02), "change": folded(-0.03, 0.02)}
                    for n in range(1, len(kept) + 1)
                ],
            }
        ],
        "notes": ["9 folds in place of 10: what a fold would test is too little."],
        "chance": "",
    }


def line(first: float, change: float, half: float, numbers: list[int]) -> dict[str, Any]:
    """Return scores that change in proportion to the columns added."""
    changes = [change * n / numbers[-1] for n in numbers]
    return {
        "means": [first + one for one in changes],
        "changes": changes,
        "intervals": [
            [one - half * n / numbers[-1], one + half * n / numbers[-1]]
            for one, n in zip(changes, numbers, strict=True)
        ],
    }


def noise_experiment(copied: str = "flavanoids", n_columns: int = 13) -> dict[str, Any]:
    """Return what added columns cost: as theory says."""
    random = [(-0.01, 0.015), (-0.18, 0.05), (-0.04, 0.03)]
    copies = [(-0.12, 0.06), (-0.01, 0.04), (0.0, 0.01)]
    return {
        "n_added": list(_NUMBERS),
        "models": [dict(model) for model in MODELS],
        "scoring": "accuracy",
        "folds": "10 stratified folds",
        "n_samples": 178,
        "n_columns": n_columns,
        "n_draws": 2,
        "copied": copied,
        "selector": "CFS (best-first search)",
        "selection_n_added": [0, 50],
        "panels": [
            {
                "added": added,
                "lines": [line(first, *pair, _NUMBERS) for first, pair in zip((0.9, 0.93, 0.88), pairs, strict=True)],
                "chosen": [line(first, 0.0, 0.01, [0, 50]) for first in (0.93, 0.88, 0.89)],
                "kept": [0.0, 0.3],
            }
            for added, pairs in (("random", random), ("copies", copies))
        ],
        "notes": [],
    }
