"""The schema of a result, and its validation.

A dictionary lists the required names; one whose only key is `str` has any names, each with a value of one shape. A list with one
element is the shape of every member, a list with several the shape of each member; a tuple with one element is a shape that may be
null. A type is a value of that type; float accepts whole numbers, and only finite ones.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

FORMAT = "tamiz result 1"

_CHOSEN = {"id": str, "label": str}
_SPREAD = {"min": float, "median": float, "max": float}
_INTERVAL = [float, float]
_SCORES = {"mean": float, "interval": _INTERVAL, "folds": [float]}
_FOLDED = {**_SCORES, "standard_deviation": float}
_LINE = {"means": [float], "changes": [float], "intervals": [_INTERVAL]}
_IMAGE = {"name": str, "height": float, "width": float, "low": float, "high": float, "pixels": str}
# Equal rows: their number, the number of groups, and the first group as row numbers from 0.
_REPEATED = {"n": float, "n_groups": float, "example": [float]}
# Another plausible kind of a column.
_DOUBT = {"kind": str, "why": str}
# A column of possible target leakage; the classes that were scored if some are too small.
_LEAK = {
    "name": str,
    "predictor": str,
    "score": float,
    "score_name": str,
    "baseline": float,
    "n_rows": float,
    "by_groups": bool,
    "coverage": ({"least": float, "n_classes": float, "of_classes": float, "of_rows": float},),
}
_SHAPE: dict[str, Any] = {
    "tamiz": str,
    "versions": {str: str},
    "title": str,
    "seed": (float,),
    "warnings": [str],
    "interrupted": (str,),
    "table": {
        "n_rows": float,
        "n_rows_used": float,
        "target": (str,),
        "target_kind": (str,),
        "classes": [{"name": str, "weight": float}],
        "target_summary": ({"mean": (float,), "sd": (float,), "min": (float,), "max": (float,)},),
        "weight_column": (str,),
        "group_column": (str,),
        "time_column": (str,),
        "target_doubt": (_DOUBT,),
        "duplicate_rows": ({**_REPEATED, "contradictions": _REPEATED},),
        # A sentence on the order of the rows.
        "row_order": (str,),
        "leaks": [_LEAK],
        "columns": [
            {
                "name": str,
                "kind": str,
                "n_missing": float,
                "n_levels": (float,),
                "levels": ([str],),
                "constant": bool,
                "left_out": (str,),
                "n_distinct": (float,),
                "same_as": (str,),
                "doubt": (_DOUBT,),
                "mean": (float,),
                "sd": (float,),
                "min": (float,),
                "max": (float,),
            }
        ],
    },
    "graph": (
        {
            **_CHOSEN,
            "parameters": str,
            "by_class": bool,
            "n_rows": float,
            "n_edges": float,
            "components": {"n": float, "sizes": [float]},
            "joining": (float,),
            "neighbors": {**_SPREAD, "histogram": {"start": float, "width": float, "rows": [float]}},
            "degrees": _SPREAD,
            "radius": (float,),
            "t": (float,),
            "unweighted": bool,
            "search": (str,),
            "recall": (float,),
        },
    ),
    "ranking": (
        {
            "criteria": [{**_CHOSEN, "unit": str, "summary": str, "needs_target": bool}],
            "columns": [str],
            "scores": {str: [(float,)]},
            "cuts": {str: ([float],)},
            # Numeric columns in one interval, and their test if one is valid.
            "uncut": (
                {
                    "rule": str,
                    "columns": [str],
                    "test": (str,),
                    "why_not": str,
                    "n_tested": (float,),
                    "n_found": (float,),
                    "level": float,
                    "power": float,
                    "n_rows": (float,),
                    "detectable": (float,),
                    "detectable_adjusted": (float,),
                },
            ),
            "constant": [str],
            # The criteria that are counted, the mean of their ranks, and its 95 % interval from `n_resamples` bootstrap samples.
            "combined": (
                {
                    "criteria": [str],
                    "ranks": [(float,)],
                    "intervals": [(_INTERVAL,)],
                    "n_resamples": float,
                    "how": str,
                },
            ),
        },
    ),
    # The pairs of `columns`, (0, 1), (0, 2), .., as bytes of 255 steps in base64; groups are among all `n_columns`, in the order
    # of the table, and `n_left` columns were too many to be compared.
    "redundancy": (
        {
            "measure": _CHOSEN,
            "columns": [str],
            "values": str,
            "groups": [{"columns": [str], "keep": str, "least": float}],
            "threshold": float,
            "n_columns": float,
            "n_left": float,
            "n_rows": float,
            "how": str,
        },
    ),
    "subset": (
        {
            "merit": _CHOSEN,
            "how": str,
            "search": _CHOSEN,
            # The smallest and the largest requested size.
            "sizes": (_INTERVAL,),
            "min_gain": float,
            "columns": [str],
            "value": float,
            "n_evaluations": float,
            "n_written": float,
            "certificate": ({"bound": float, "optimality_gap": float, "proven": bool},),
            "stopped": (str,),
            "course": [{"evaluation": float, "merit": float, "columns": [str]}],
            "points": {"size": [float], "merit": [float]},
            "frontier": [{"size": float, "merit": float, "columns": [str]}],
            # "other_merit" is the merit with this one column (and its group) flipped.
            "reasons": [
                {
                    "name": str,
                    "chosen": bool,
                    "role": (str,),
                    "same_as": (str,),
                    "together": [str],
                    "other_merit": (float,),
                    "other_size": float,
                    "relevance": (float,),
                    "repeats": [[str, float]],
                }
            ],
            # Merits by the number whose bit k is set if column k is in the subset.
            "lattice": ({"columns": [str], "merits": [float], "best": float},),
            # Sentences on the subset.
            "notes": [str],
        },
    ),
    # What `Recommendation.to_dict` returns: of each candidate, a list of models' scores for every score.
    "recommendation": (
        {
            "recommended": str,
            "refused": [str],
            "columns": [str],
            "folds": str,
            "n_samples": float,
            "n_columns": float,
            "models": [_CHOSEN],
            "scores": [{"id": str, "baseline": _SCORES}],
            "candidates": [
                {
                    **_CHOSEN,
                    "columns": [str],
                    "n_chosen": [float],
                    "scores": [[_FOLDED]],
                    "changes": [[_FOLDED]],
                }
            ],
            "notes": [str],
        },
    ),
    # From `ColumnComparison.to_dict`; the models of a score are in the order of "models".
    "model_effect": (
        {
            "selector": str,
            "folds": str,
            "n_samples": float,
            "n_columns": float,
            "n_chosen": [float],
            "models": [_CHOSEN],
            "scores": [
                {
                    "id": str,
                    "baseline": _SCORES,
                    "models": [{"all_columns": _FOLDED, "chosen": _FOLDED, "difference": _FOLDED}],
                }
            ],
            "notes": [str],
        },
    ),
    # From `NoiseExperiment.to_dict`; the lines of a panel are in the order of "models".
    "noise_experiment": (
        {
            "numbers": [float],
            "models": [_CHOSEN],
            "scoring": str,
            "folds": str,
            "n_samples": float,
            "n_columns": float,
            "n_draws": float,
            "copied": (str,),
            "selector": str,
            "selection_n_added": [float],
            "panels": [{"added": str, "lines": [_LINE], "chosen": [_LINE], "kept": [float]}],
            "notes": [str],
        },
    ),
    # The study as a command line and a config file (or the reason why there is none), and in Python, with the placeholders for
    # objects that were in memory.
    "reproduction": {"command": (str,), "config": (str,), "no_command": (str,), "python": str, "given": [str]},
    # From `SelectionReport.to_dict`.
    "assessment": (
        {
            "predictor": str,
            "scoring": str,
            "folds": str,
            "n_columns": float,
            "merit": (float,),
            "merit_name": str,
            "scores": {"baseline": _SCORES, "nested": _SCORES, "apparent": _SCORES, "all_columns": (_SCORES,)},
            "n_samples": float,
            "beside": [{"id": str, "scores": {"baseline": _SCORES, "nested": _SCORES, "apparent": _SCORES}}],
            "deciding_score": str,
            "optimism": float,
            "helps": bool,
            "beats_chance": bool,
            "frequencies": [{"name": str, "share": float, "chosen": bool}],
            "stability": {"sentence": str},
            "null": ({"statistic": str, "observed": float, "p_value": float, "merits": [float], "how": str},),
            "notes": [str],
        },
    ),
    "maps": [
        {
            **_CHOSEN,
            "axes": [str],
            "notes": [str],
            "proximity_note": str,
            "comparable_axes": bool,
            "points": ([[float]],),
            "rows": [float],
            "spectrum": (
                {
                    "label": str,
                    "note": str,
                    "values": [float],
                    "cumulative": [float],
                    "residuals": [float],
                    "reference": [float],
                    "chance_title": str,
                    "chance_note": str,
                },
            ),
            "loadings": ({"columns": [str], "values": [[float]]},),
            "explanation": {
                "axes": [str],
                "columns": [str],
                "kinds": [str],
                "values": [[float]],
                "chance": [float],
                "n_rows": float,
                "n_mapped": float,
            },
            "galleries": [
                {"title": str, "note": str, "signed": bool, "n_images": float, "images": [_IMAGE]},
            ],
        }
    ],
    # Values are in the order of "maps".
    "quality": (
        {
            "metric": _CHOSEN,
            "n_rows": float,
            "n_neighbors": float,
            "measures": [{"name": str, "meaning": str, "larger_is_better": bool, "values": [(float,)]}],
            "agreement": {"n_neighbors": [float], "r_nx": [[float]]},
            "pairs": ({"all_pairs": bool, "in_table": [float], "on_map": [[float]]},),
            "stress_per_point": [([(float,)],)],
        },
    ),
    # The target, the best columns and the k-means clusters for the shown rows; clusters have a silhouette.
    "colors": [{"name": str, "role": str, "kind": str, "values": [(float,)], "levels": [str], "silhouette": (float,)}],
}
_WORDS = {float: "a number", str: "text", bool: "true or false", list: "a list", dict: "a set of names and values"}


def wanting(data: Any, shape: Any = _SHAPE, where: str = "") -> str | None:
    """Return a description of the first value of `data` that is missing or does not match `shape`, or None."""
    if isinstance(shape, tuple):
        return None if data is None else wanting(data, shape[0], where)
    kind = shape if isinstance(shape, type) else type(shape)
    whole = isinstance(data, int) and not isinstance(data, bool)
    if not isinstance(data, kind) and not (kind is float and whole):
        return f"{where} is not {_WORDS[kind]}"
    if kind is float and not _is_finite(data):
        return f"{where} is {data if isinstance(data, float) else 'too large a number'}, and every number is finite"
    if isinstance(shape, list) and len(shape) not in (1, len(data)):
        return f"{where} has {len(data)} members, not {len(shape)}"
    return next(filter(None, (wanting(*part) for part in _parts(data, shape, where))), None) or _absent(
        data, shape, where
    )


def _is_finite(number: float) -> bool:
    try:
        return math.isfinite(number)
    except OverflowError:
        return False


def _parts(data: Any, shape: Any, where: str) -> Iterator[tuple[Any, Any, str]]:
    """Yield the members of a list or a dictionary, each with its shape and its path."""
    if isinstance(shape, list):
        for i, member in enumerate(data):
            yield member, shape[i % len(shape)], f"{where}[{i}]"
    if isinstance(shape, dict):
        names = dict.fromkeys(data, shape[str]) if str in shape else shape
        for name, part in names.items():
            if name in data:
                yield data[name], part, _joined(where, name)


def _absent(data: Any, shape: Any, where: str) -> str | None:
    """Return a description of the first missing name, or None."""
    names = (name for name in shape if name is not str and name not in data) if isinstance(shape, dict) else ()
    return next((f"{_joined(where, name)} is missing" for name in names), None)


def _joined(where: str, name: str) -> str:
    """Return the path of a name; unprintable characters are escaped, so that an error message stays on one line."""
    name = name if name.isprintable() else repr(name)
    return f"{where}.{name}" if where else name
