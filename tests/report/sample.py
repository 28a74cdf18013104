"""Result dictionaries for tests: a real one, one with hostile names, a nearly empty one, one with many columns."""

from __future__ import annotations

import base64
import copy
import functools
import shlex
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy import spatial
from scipy.sparse.csgraph import connected_components
from scipy.spatial.distance import cdist
from scipy.stats import rankdata
from sklearn.datasets import load_breast_cancer, load_digits, load_wine

from tamiz.report.records import FORMAT
from tamiz.runtime.verdicts import Verdict

from . import sample_model_effect

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

HOSTILE = [
    "</script><script>alert(1)</script>",
    '<img src="https://evil.example/x.png" onerror="alert(2)">',
    "<b>bold</b> & <a href='https://evil.example/'>link</a>",
    "{{ 7 * 7 }} %{x} ${y} $x^2$",
    "\"quoted\" 'name' `tick` \\back",
    "",
    "line\u2028end\u2029and\nmore",
    "\u202eright to left",
    "x" * 300,
    "&lt;i&gt;entity&lt;/i&gt;",
    "<!-- <script>",
]

MEASURES = (
    "kruskal_stress",
    "rank_correlation",
    "trustworthiness",
    "continuity",
    "neighborhood_recall",
    "rank_agreement",
    "label_accuracy",
)


def _copied(make: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    """Make a result once, and give each caller one of its own to change."""
    made = functools.cache(make)

    @functools.wraps(make)
    def fresh(*arguments: int) -> dict[str, Any]:
        return copy.deepcopy(made(*arguments))

    return fresh


def _entropy(codes: NDArray[np.int64]) -> float:
    share = np.bincount(codes) / len(codes)
    share = share[share > 0]
    return float(-(share * np.log2(share)).sum())


def _symmetric_uncertainty(a: NDArray[np.int64], b: NDArray[np.int64]) -> float:
    h_a, h_b = _entropy(a), _entropy(b)
    return 2 * (h_a + h_b - _entropy(a * (b.max() + 1) + b)) / (h_a + h_b) if h_a + h_b else 0.0


def _cfs(columns: list[int], with_class: NDArray[np.float64], between: NDArray[np.float64]) -> float:
    if not columns:
        return 0.0
    return float(with_class[columns].sum() / np.sqrt(between[np.ix_(columns, columns)].sum()))


def _forward(with_class: NDArray[np.float64], between: NDArray[np.float64], names: list[str]) -> dict[str, Any]:
    """Greedy forward search, written out: what a search leaves behind."""
    kept: list[int] = []
    best = 0.0
    points: dict[str, list[Any]] = {"sizes": [0], "merits": [0.0]}
    frontier: list[dict[str, Any]] = [{"size": 0, "merit": 0.0, "columns": []}]
    course: list[dict[str, Any]] = [{"evaluation": 1, "merit": 0.0, "columns": []}]
    while True:
        step: tuple[float, int] | None = None
        merits: dict[float, list[str]] = {}
        for column in (j for j in range(len(names)) if j not in kept):
            merit = _cfs([*kept, column], with_class, between)
            points["merits"].append(merit)
            points["sizes"].append(len(kept) + 1)
            found = [names[j] for j in sorted([*kept, column])]
            merits.setdefault(merit, found)
            if merit > best:
                best, step = merit, (merit, column)
                course.append({"evaluation": len(points["sizes"]), "merit": merit, "columns": found})
        if merits:
            frontier.append({"size": len(kept) + 1, "merit": max(merits), "columns": merits[max(merits)]})
        if step is None:
            break
        kept.append(step[1])
    return {
        "merit": {"id": "cfs", "label": "CFS"},
        "scoring_note": "",
        "search": {"id": "forward", "label": "Forward selection"},
        "sizes": None,
        "min_gain": 0.0,
        "columns": [names[j] for j in sorted(kept)],
        "value": best,
        "n_evaluations": len(points["sizes"]),
        "n_recorded": len(points["sizes"]),
        "bound": None,
        "stopped": "no column left to add brings a gain",
        "course": course,
        "points": points,
        "frontier": frontier,
    }


def _explained_subset(
    subset: dict[str, Any], with_class: NDArray[np.float64], between: NDArray[np.float64], names: list[str]
) -> dict[str, Any]:
    """Return the subset with why each column is in or out, and no lattice: of so many columns there is none."""
    kept = [j for j, name in enumerate(names) if name in subset["columns"]]
    reasons = []
    for j, name in enumerate(names):
        others = sorted((k for k in kept if k != j), key=lambda k: -between[j, k])[: 1 if j in kept else 2]
        flipped = [k for k in kept if k != j] if j in kept else sorted([*kept, j])
        reasons.append(
            {
                "name": name,
                "chosen": j in kept,
                "role": None,
                "same_as": None,
                "group": [],
                "alternative_merit": _cfs(flipped, with_class, between),
                "alternative_size": len(flipped),
                "relevance": float(with_class[j]),
                "similar": [{"name": names[k], "uncertainty": float(between[j, k])} for k in others],
            }
        )
    return {**subset, "reasons": reasons, "lattice": None, "notes": []}


def lattice(names: list[str]) -> dict[str, Any]:
    """Return merits of all sets of some columns, the first two the best."""
    merits = [0.1 * k.bit_count() if k != 3 else 0.9 for k in range(2 ** len(names))]
    return {"columns": names, "merits": merits, "best": 3}


def repeat(title: str) -> dict[str, Any]:
    """Return how a study of a file is repeated."""
    return {
        "command": f"tamiz study {shlex.quote(title)} --target class",
        "placeholders": [],
        "python": f"from tamiz import study\n\nresult = study({title!r}, 'class')\n",
    }


def error_rates(names: list[str], n_true: int, n_draws: int = 20) -> dict[str, Any]:
    """Return error rates of a search that finds half of the true columns, which are others in every draw, and a false one."""

    def rows(chosen: Callable[[int], set[int]]) -> list[str]:
        return ["".join("01"[j in chosen(draw)] for j in range(len(names))) for draw in range(n_draws)]

    def true(draw: int) -> set[int]:
        return {(draw + k) % len(names) for k in range(n_true)}

    def found(draw: int) -> set[int]:
        return {(draw + k) % len(names) for k in range(0, n_true, 2)}

    def false(draw: int) -> set[int]:
        return {(5 * (draw % 2) + 3 * (draw % 3 == 1)) % len(names)} - true(draw)

    return {
        "selector": "CFS",
        "truth": "random",
        "names": names,
        "n_samples": 178,
        "candidate_mask": "1" * len(names),
        "true_sets": rows(true),
        "selected_sets": rows(lambda draw: found(draw) | false(draw)),
        "proxy_sets": rows(lambda draw: false(draw) if draw < 4 else set()),
        "covered_sets": rows(found),
        "signal": 0.609375,
        "signal_description": "",
        "target_kind": "classes",
        "signal_strength": "equal",
        "notes": ["Semi-synthetic targets are additive in the true columns."],
        "seed": 0,
    }


def assessment(subset: dict[str, Any], names: list[str]) -> dict[str, Any]:
    """Return an assessment of an apparent accuracy of 92 % and a nested one of 84 %."""
    folds = np.array([0.78, 0.89, 0.83, 0.94, 0.78, 0.83, 0.88, 0.82, 0.82, 0.83])
    columns = subset["columns"]
    others = [name for name in names if name not in columns][:3]
    shares = dict.fromkeys(others, 0.3) | dict(
        zip(columns, [1.0, 1.0, 0.9, 0.7, *[0.4] * len(columns)][: len(columns)], strict=True)
    )
    merits = np.random.default_rng(0).gamma(4, 0.02, 99) * subset["value"]
    return {
        "selector": "CFS by Forward",
        "model": "naive Bayes",
        "scoring": "accuracy",
        "folds_description": "10 stratified folds",
        "n_samples": 178,
        "n_columns": len(names),
        "groups": None,
        "time": None,
        "names": names,
        "support": "".join("01"[name in columns] for name in names),
        "merit": subset["value"],
        "merit_name": "CFS",
        "unit": "",
        "nested": sample_model_effect.scores(folds, 0.04),
        "apparent": sample_model_effect.scores(folds + 0.08, 0.04),
        "all_columns": sample_model_effect.scores(folds + 0.03, 0.04),
        "baseline": sample_model_effect.scores([0.4] * 10, 0.0),
        "fold_sets": frequent_sets(names, shares),
        "candidate_mask": "1" * len(names),
        "null": {
            "null_values": merits.tolist(),
            "observed": subset["value"],
            "statistic": "merit",
            "description": "shuffled among all rows",
        },
        "notes": [],
        "seed": 0,
        "other_scores": {
            "roc_auc_ovr_weighted": {
                "nested": sample_model_effect.scores(folds + 0.1, 0.04),
                "apparent": sample_model_effect.scores(folds + 0.11, 0.04),
                "baseline": sample_model_effect.scores([0.5] * 10, 0.0),
                "all_columns": None,
            }
        },
        "error_rates": None,
    }  # fmt: skip


def frequent_sets(names: list[str], shares: dict[str, float]) -> list[str]:
    """Return the columns of ten folds as 0 and 1, each in a share of the folds."""
    return ["".join("01"[k < round(10 * shares.get(name, 0.0))] for name in names) for k in range(10)]


def mean_rank(names: list[str], scores: list[Any]) -> dict[str, Any]:
    """Return the mean rank by three criteria, and an interval of a rank or two about it."""
    told = [set(of) != {None} for of in zip(*scores, strict=True)]
    by_criterion = [
        rankdata([np.inf if s is None else -s for s, here in zip(one, told, strict=True) if here]) for one in scores
    ]
    ranks = iter(np.mean(by_criterion, axis=0).tolist())
    filled = [next(ranks) if here else None for here in told]
    n = sum(told)
    return {
        "columns": names,
        "criteria": ["information_gain", "symmetric_uncertainty", "fisher_score"],
        "ranks": filled,
        "intervals": [None if r is None else [max(1.0, r - 1.25), min(float(n), r + 2.0)] for r in filled],
        "criterion_intervals": {"fisher_score": [None if r is None else [1.0, float(n)] for r in filled]},
        "n_bootstrap": 60,
        "method": "The mean of a column's ranks by 3 criteria.",
    }


def _explained(x: NDArray[np.float64], points: NDArray[np.float64], names: list[str]) -> dict[str, Any]:
    """Spearman's correlations of every column with every axis, written out."""
    ranks = rankdata(np.hstack([x, points]), axis=0)
    values = np.corrcoef(ranks.T)[: x.shape[1], x.shape[1] :]
    return {
        "columns": names,
        "kinds": ["numeric"] * len(names),
        "values": values.tolist(),
        "chance": [float(1 / np.sqrt(len(x) - 1))] * len(names),
        "n_rows": len(x),
        "n_mapped": len(x),
    }


def clusters(points: NDArray[np.float64], name: str) -> dict[str, Any]:
    """Return a cluster left of the middle with a rule, and one right of it without."""
    left = points[:, 0] < np.median(points[:, 0])
    condition = {"column": name, "kind": "above", "thresholds": [12.5], "levels": [], "text": f"{name} > 12.5"}
    level = {"column": "cellar", "kind": "one of", "thresholds": [], "levels": ["a", "b"], "text": "cellar = a or b"}
    rule = {
        "cluster": 1,
        "label": "1",
        "n_rows": int(left.sum()),
        "center": np.median(points[left], axis=0).tolist(),
        "conditions": [condition, level],
    }
    rule |= {"precision": 0.98, "coverage": 0.957, "n_fulfilling": 50, "n_test": 47}
    without = {
        "cluster": 2,
        "label": "2",
        "n_rows": 12,
        "center": [0.0, 0.0],
        "conditions": [],
        "n_fulfilling": 0,
        "n_test": 6,
    }
    return {
        "rules": [rule, without | {"precision": None, "coverage": None}],
        "n_rows": len(points),
        "n_mapped": len(points),
        "n_outside": int((~left).sum()) - 12,
        "n_considered": 13,
        "n_columns": 13,
    }


def _by_chance(n: int, p: int) -> list[float]:
    """The shares of variance of independent columns, the mean of 20 tables."""
    rng = np.random.default_rng(0)
    tables = rng.normal(size=(20, n, p))
    squares = np.linalg.svd(tables - tables.mean(1, keepdims=True), compute_uv=False) ** 2
    return [float(share) for share in (squares / squares.sum(1, keepdims=True)).mean(0)]


def gallery(title: str, names: list[str], *, signed: bool = False) -> dict[str, Any]:
    """Return images of 6 x 4 pixels, each brighter downwards."""
    pixels = base64.b64encode(bytes(range(0, 240, 10))).decode()
    image = {"height": 6, "width": 4, "low": -1.5 if signed else 0.0, "high": 1.5, "pixels": pixels}
    return {
        "title": title,
        "note": "What they show.",
        "n_images": len(names),
        "images": [{"name": name, **image} for name in names],
    }


def _pca(x: NDArray[np.float64], names: list[str]) -> dict[str, Any]:
    z = (x - x.mean(0)) / x.std(0, ddof=1)
    u, s, vt = np.linalg.svd(z, full_matrices=False)
    share = s**2 / (s**2).sum()
    return {
        "id": "pca",
        "label": "PCA",
        "axes": ["PC 1", "PC 2"],
        "notes": ["Numeric columns were standardised: each has mean 0 and standard deviation 1."],
        "proximity_note": "Points near each other are rows with similar values.",
        "comparable_axes": True,
        "stress": None,
        "points": (u[:, :2] * s[:2]).tolist(),
        "rows": list(range(len(x))),
        "spectrum": {
            "label": "Share of the total variance",
            "note": "",
            "values": share.tolist(),
            "cumulative": np.minimum(np.cumsum(share), 1).tolist(),
            "residuals": [],
            "reference": _by_chance(*x.shape) if x.shape[1] < 50 else [],
            "chance_title": "The first 3 components explain more variance than expected by chance; component 4 does not"
            if x.shape[1] < 50
            else "",
            "chance_note": "By chance is the mean of 20 tables of independent columns." if x.shape[1] < 50 else "",
        },
        "loadings": {"columns": names, "values": vt[:5].T.tolist()},
        "explanation": _explained(x, u[:, :4] * s[:4], names),
        "clusters": clusters(u[:, :2] * s[:2], names[0]),
        "galleries": [],
    }


def _neighbors(x: NDArray[np.float64], k: int) -> NDArray[np.float64]:
    """Return the 0/1 matrix of rows among each other's k nearest, by standardised columns."""
    z = (x - x.mean(0)) / x.std(0, ddof=1)
    distances = ((z[:, None] - z[None]) ** 2).sum(-1)
    np.fill_diagonal(distances, np.inf)
    joined = np.zeros_like(distances)
    np.put_along_axis(joined, np.argsort(distances, axis=1, kind="stable")[:, :k], 1.0, axis=1)
    return np.maximum(joined, joined.T)


def _spread(values: NDArray[np.float64]) -> dict[str, float]:
    return {"min": float(values.min()), "median": float(np.median(values)), "max": float(values.max())}


def _graph(joined: NDArray[np.float64], k: int) -> dict[str, Any]:
    degrees = joined.sum(1)
    _, labels = connected_components(joined)
    return {
        "id": "knn",
        "label": "Nearest neighbours",
        "parameters": f"n_neighbors={k}, weight=Binary(), metric='seuclidean'",
        "description": f"{k} nearest neighbours, Euclidean distance of standardised columns, unweighted edges",
        "by_class": False,
        "n_rows": len(joined),
        "n_edges": int(joined.sum() / 2),
        "components": {"n": int(labels.max() + 1), "sizes": sorted(np.bincount(labels).tolist(), reverse=True)},
        "n_joining_edges": int(labels.max()),
        "neighbors": {
            **_spread(degrees),
            "histogram": {
                "start": int(degrees.min()),
                "width": 1,
                "rows": np.bincount(degrees.astype(int))[k:].tolist(),
            },
        },
        "degrees": _spread(degrees),
        "radius": None,
        "t": None,
        "unweighted": True,
        "search": "exact, by matrix products",
        "recall": 1.0,
    }


def _eigenmap(joined: NDArray[np.float64], x: NDArray[np.float64], names: list[str]) -> dict[str, Any]:
    degrees = joined.sum(1)
    laplacian = np.eye(len(joined)) - joined / np.sqrt(np.outer(degrees, degrees))
    values, vectors = np.linalg.eigh(laplacian)
    places = vectors[:, 1:5] / np.sqrt(degrees)[:, None]
    return {
        "id": "laplacian_eigenmaps",
        "label": "Laplacian eigenmaps",
        "axes": ["Eigenvector 1", "Eigenvector 2"],
        "notes": [],
        "proximity_note": "Points near each other are rows that few steps along the graph join.",
        "comparable_axes": False,
        "stress": None,
        "points": places[:, :2].tolist(),
        "rows": list(range(len(joined))),
        "spectrum": {
            "label": "Eigenvalue",
            "note": "The smaller an eigenvalue, the less its coordinate changes along the edges.",
            "values": values[1:11].tolist(),
            "cumulative": [],
            "residuals": [3e-15] * 10,
            "reference": [],
            "chance_title": "",
            "chance_note": "",
        },
        "loadings": {"columns": [], "values": []},
        "explanation": _explained(x, places, names),
        "clusters": clusters(places[:, :2], names[0]) | {"rules": []},
        "galleries": [],
    }


def _quality(x: NDArray[np.float64], y: NDArray[np.int64], maps: list[dict[str, Any]]) -> dict[str, Any]:
    """Judge maps by whole matrices of distances."""
    n, k = len(x), 15
    d = _distances((x - x.mean(0)) / x.std(0, ddof=1))
    ranks = _ranks(d)
    pairs = np.triu_indices(n, 1)
    at = np.random.default_rng(0).choice(len(pairs[0]), min(300, len(pairs[0])), replace=False)
    sizes = np.unique(np.round(np.geomspace(1, n - 2, 20)).astype(int))
    found = []
    for reduced in maps:
        e = _distances(np.array(reduced["points"]))
        e *= (d * e).sum() / (e * e).sum()
        near = _ranks(e)
        kept = np.array([((ranks <= size) & (near <= size) & (ranks > 0)).sum() / (n * size) for size in sizes])
        r_nx = ((n - 1) * kept - sizes) / (n - 1 - sizes)
        votes = np.array([np.bincount(y[(row > 0) & (row <= k)]).argmax() for row in near])
        numbers = [
            np.sqrt(((d - e) ** 2).sum() / (e**2).sum()),
            np.corrcoef(rankdata(d[pairs]), rankdata(e[pairs]))[0, 1],
            1 - np.maximum(ranks - k, 0)[(near > 0) & (near <= k)].sum() * 2 / (n * k * (2 * n - 3 * k - 1)),
            1 - np.maximum(near - k, 0)[(ranks > 0) & (ranks <= k)].sum() * 2 / (n * k * (2 * n - 3 * k - 1)),
            ((ranks <= k) & (near <= k) & (ranks > 0)).sum() / (n * k),
            (r_nx / sizes).sum() / (1 / sizes).sum(),
            (votes == y).mean(),
        ]
        beyond = (np.maximum(ranks - k, 0) * ((near > 0) & (near <= k))).sum(1)
        trust = (1 - beyond * 2 / (k * (2 * n - 3 * k - 1))).tolist()
        found.append(
            {
                "measures": [
                    {
                        "name": name,
                        "value": float(value),
                        "error": 0.0,
                        "larger_is_better": name != MEASURES[0],
                        "meaning": "",
                    }
                    for name, value in zip(MEASURES, numbers, strict=True)
                ],
                "r_nx": r_nx.tolist(),
                "pairs": e[pairs][at].tolist(),
                "stress": np.sqrt(((d - e) ** 2).sum(1) / (d**2).sum(1)).tolist(),
                "trust": trust,
                "n_chance_rows": sum(value <= 0.6 for value in trust),
            }
        )
    return {
        "metric": {"id": "seuclidean", "label": "Euclidean, of standardised columns"},
        "n_rows": n,
        "n_neighbors": k,
        "maps": found,
        "sizes": sizes.tolist(),
        "pairs": d[pairs][at].tolist(),
        "all_pairs": False,
        "shape_distances": _shape_distances([np.array(reduced["points"]) for reduced in maps]),
        "nearest": [[j for j in np.argsort(row, kind="stable").tolist() if j != i][:10] for i, row in enumerate(d)],
        "chance_trust": 0.6,
    }


def _shape_distances(maps: list[NDArray[np.float64]]) -> list[list[float]]:
    return [
        [0.0 if i == j else float(spatial.procrustes(a, b)[2]) for j, b in enumerate(maps)] for i, a in enumerate(maps)
    ]


def _distances(x: NDArray[np.float64]) -> NDArray[np.float64]:
    return cdist(x, x)


def _ranks(distances: NDArray[np.float64]) -> NDArray[np.int64]:
    """Return for each row the places of all others by their distance, itself at 0."""
    near = distances.copy()
    np.fill_diagonal(near, -1.0)
    return np.argsort(np.argsort(near, axis=1, kind="stable"), axis=1)


def redundancy(names: list[str], between: NDArray[np.float64], threshold: float = 0.3) -> dict[str, Any]:
    """Return the pairs of columns, and groups found from the strongest pair on: a column comes in that is alike to all of one."""
    drawn = names[:100]
    pairs = np.triu_indices(len(drawn), 1)
    groups: list[list[int]] = []
    free = set(range(len(names)))
    for i, j in sorted(zip(*np.triu_indices(len(names), 1), strict=True), key=lambda pair: -between[pair]):
        if {i, j} <= free and between[i, j] >= threshold:
            group = [int(i), int(j)]
            group += [k for k in sorted(free - {i, j}) if (between[k, group] >= threshold).all()][:1]
            free -= set(group)
            groups.append(sorted(group))
    return {
        "measure": {"id": "kinds", "label": "Correlation, Cramer's V or eta"},
        "columns": drawn,
        "pair_steps": base64.b64encode(np.round(255 * between[pairs]).astype(np.uint8).tobytes()).decode(),
        "measures": ["equal", "|r|", "V"],
        "pair_measures": base64.b64encode(bytes(k % 2 + 1 for k in range(len(pairs[0])))).decode(),
        "sums": ["total = a + b, exactly."],
        "groups": [
            {
                "columns": [names[k] for k in group],
                "keep": names[group[0]],
                "min_value": float(between[np.ix_(group, group)].min()),
                "measure": "|r|",
            }
            for group in groups
        ],
        "threshold": threshold,
        "n_columns": len(names),
        "n_not_compared": 0,
        "n_rows": 178,
        "method": "",
    }


def _column(name: str, values: NDArray[np.float64], **more: Any) -> dict[str, Any]:
    moments = {"mean": values.mean(), "sd": values.std(ddof=1), "min": values.min(), "max": values.max()}
    column = {"name": name, "kind": "numeric", "n_missing": 0, "n_levels": None, "levels": [], "constant": False}
    facts = _facts(len(np.unique(values)))
    numbers = {k: float(v) for k, v in moments.items()}
    return {**column, **facts, "exclusion": None, "numbers": numbers, **more}


def _facts(n_distinct: int) -> dict[str, Any]:
    return {"n_distinct": n_distinct, "same_as": None, "kind_suggestion": None, "date": None}


def _words(name: str, kind: str, levels: list[str], **more: Any) -> dict[str, Any]:
    column = {"name": name, "kind": kind, "n_missing": 0, "n_levels": len(levels), "levels": levels}
    return {**column, **_facts(len(levels)), "constant": False, "exclusion": None, "numbers": None, **more}


def _no_repeats() -> dict[str, Any]:
    """What a table tells of rows that repeat and of leaks where there are none."""
    none: dict[str, Any] = {"n": 0, "example": []}
    duplicates = {**none, "contradictions": none}
    return {"duplicate_rows": duplicates, "row_order": None, "leakage": []}


def _hostile_facts(table: dict[str, Any]) -> None:
    repeated = {"n": 3, "example": [9, 34]}
    table["duplicate_rows"] = {**repeated, "contradictions": repeated}
    suggestion = {"kind": HOSTILE[0], "reason": HOSTILE[1]}
    table["row_order"] = HOSTILE[2]
    for column, name in zip(table["columns"], reversed(HOSTILE), strict=True):
        column |= {"same_as": name, "kind_suggestion": suggestion}
        score = {"score": 0.99, "score_name": "balanced accuracy", "baseline": 0.5}
        score |= {"n_rows": 178, "by_groups": False, "coverage": None, "decided": 1.0}
        score |= {"columns": [], "formula": HOSTILE[4], "limits": []}
        table["leakage"].append({"name": column["name"], "predictor": "missing", **score})


def _build(
    title: str, x: NDArray[np.float64], y: NDArray[np.int64], names: list[str], classes: list[str]
) -> dict[str, Any]:
    edges = [np.quantile(x[:, j], [0.25, 0.5, 0.75]) for j in range(x.shape[1])]
    codes = [np.searchsorted(e, x[:, j]) for j, e in enumerate(edges)]
    with_class = np.array([_symmetric_uncertainty(c, y) for c in codes])
    between = np.array(
        [[_symmetric_uncertainty(a, b) if i != j else 1.0 for j, b in enumerate(codes)] for i, a in enumerate(codes)]
    )
    gain = [_entropy(c) + _entropy(y) - _entropy(c * (y.max() + 1) + y) for c in codes]
    joined = _neighbors(x, 15)
    grand = x.mean(0)
    groups = [x[y == k] for k in range(y.max() + 1)]
    fisher = sum(len(g) * (g.mean(0) - grand) ** 2 for g in groups) / sum(len(g) * g.var(0) for g in groups)
    counts = np.bincount(y)
    maps = [_pca(x, names), _eigenmap(joined, x, names)]
    subset = _explained_subset(_forward(with_class, between, names), with_class, between, names)
    return {
        "format": FORMAT,
        "tamiz": "0.1.0",
        "versions": {"python": "3.11.7", "numpy": "2.4.6", "matplotlib": "3.11.2"},
        "title": title,
        "seed": 0,
        "warnings": [],
        "interruption": None,
        "leakage_exclusion": None,
        "fold_design": None,
        "table": {
            "n_rows": len(x),
            "n_rows_used": len(x),
            "target": "class",
            "classes": [{"name": name, "weight": float(n)} for name, n in zip(classes, counts, strict=True)],
            "target_summary": None,
            "weight_column": None,
            "weight_kind": None,
            "total_weight": None,
            "group_column": None,
            "time_column": None,
            **_no_repeats(),
            "columns": [_column(name, x[:, j]) for j, name in enumerate(names)],
        },
        "graph": _graph(joined, 15),
        "ranking": {
            "criteria": [
                {
                    "id": "information_gain",
                    "label": "Information gain",
                    "unit": "bits",
                    "summary": "How many bits the column tells of the target.",
                    "needs_target": True,
                },
                {
                    "id": "symmetric_uncertainty",
                    "label": "Symmetric uncertainty",
                    "unit": "",
                    "summary": "Twice the information shared, over the information in both.",
                    "needs_target": True,
                },
                {
                    "id": "fisher_score",
                    "label": "Fisher score",
                    "unit": "",
                    "summary": "The spread between the classes over the spread within them and between them.",
                    "needs_target": True,
                },
            ],
            "columns": names,
            "scores": {
                "information_gain": [float(g) for g in gain],
                "symmetric_uncertainty": with_class.tolist(),
                "fisher_score": (fisher / (1 + fisher)).tolist(),
            },
            "cut_points": {name: [float(cut) for cut in e] for name, e in zip(names, edges, strict=True)},
            "uncut": None,
            "tests": None,
            "at_chance": [],
            "associations": {"proline": ["highest where class is 1 (eta 0.82, 0.76 to 0.86)"]},
            "interactions": "",
            "constant": [],
            "mean_rank": mean_rank(names, [gain, with_class, fisher]),
        },
        "distributions": distributions(x, y, names, classes),
        "redundancy": redundancy(names, between),
        "subset": subset,
        "reproduction": repeat(title),
        "recommendation": sample_model_effect.recommendation(names, subset["columns"]),
        "decisions": sample_model_effect.decisions(names, subset["columns"]),
        "noise_experiment": sample_model_effect.noise_experiment(names[0], len(names)),
        "assessment": assessment(subset, names),
        "error_rates": error_rates(names, max(len(subset["columns"]), 1)),
        "maps": maps,
        "map_columns": None,
        # Maps of many rows are slow to judge by whole matrices.
        "quality": _quality(x, y, maps) if len(x) <= 200 else None,
        "colors": [
            color("class", y.tolist(), classes) | {"role": "target"},
            *(color(name, x[:, j].tolist(), []) for j, name in enumerate(names)),
        ],
    }


def distributions(x: NDArray[np.float64], y: NDArray[np.int64], names: list[str], classes: list[str]) -> dict[str, Any]:
    """Return the counts of columns in four intervals by class."""
    columns = []
    for j, name in enumerate(names):
        edges = np.linspace(x[:, j].min(), x[:, j].max(), 5)
        counts = [np.histogram(x[y == k, j], edges)[0] for k in range(len(classes))]
        columns.append(
            {"name": name, "edges": edges.tolist(), "levels": [], "counts": np.array(counts, dtype=float).tolist()}
        )
    return {
        "n_rows": len(x),
        "groups": [{"name": name, "levels": [k]} for k, name in enumerate(classes)],
        "columns": columns,
    }


def warning(code: str, sentence: str, *columns: str) -> dict[str, Any]:
    return Verdict(code, sentence, columns).to_dict()


def color(name: str, values: list[Any], levels: list[str]) -> dict[str, Any]:
    kind = "categorical" if levels else "numeric"
    return {"name": name, "role": "column", "kind": kind, "values": values, "levels": levels, "silhouette": None}


@_copied
def wine() -> dict[str, Any]:
    """Return a result of real numbers, with a column of levels, gaps, a constant and a column left out beside them."""
    data = load_wine()
    result = _build("wine.csv", data.data, data.target, list(data.feature_names), ["Barolo", "Grignolino", "Barbera"])
    table = result["table"]
    table["n_rows"] = 180
    table["columns"][3]["n_missing"] = 4
    table["columns"] += [
        _words("cellar", "categorical", [f"cellar {i}" for i in range(14)], n_missing=12),
        {
            **_words("country", "categorical", ["Italy"], constant=True),
            "exclusion": "It has one value only, so it can tell nothing.",
        },
        {
            **_words("bottle", "id", ["B-0001", "B-0002"], n_levels=178),
            "exclusion": "Every row has its own value: it names the rows instead of describing them.",
        },
    ]
    ranking = result["ranking"]
    ranking["columns"] = [*ranking["columns"], "cellar", "country", "bottle"]
    for scores, told in zip(ranking["scores"].values(), (0.0, 0.0, None), strict=True):
        scores += [told, None, None]
    ranking["cut_points"]["ash"] = []
    ranking["mean_rank"] = mean_rank(ranking["columns"], list(ranking["scores"].values()))
    for reduced, values in zip(result["maps"], ([0.62, 0.21, 0.1, 0.3], [0.35, 0.3, 0.2, 0.1]), strict=True):
        told = reduced["explanation"]
        told |= {"columns": [*told["columns"], "cellar"], "kinds": [*told["kinds"], "categorical"]}
        told |= {"values": [*told["values"], values], "chance": [*told["chance"], 0.27]}
    loadings = result["maps"][0]["loadings"]
    loadings["columns"] = [*loadings["columns"], "cellar=cellar 3", "cellar=cellar 5", "cellar=cellar 7"]
    loadings["values"] += [[0.05, 0.1, 0, 0, 0], [-0.07, 0.02, 0, 0, 0], [0.01, 0.08, 0, 0, 0]]
    cellars = (np.arange(178) ** 2 % 17 % 14).tolist()
    kept = [None if i % 15 == 7 else code for i, code in enumerate(cellars)]
    result["colors"].append(color("cellar", kept, [f"cellar {i}" for i in range(14)]))
    clusters = color("k-means cluster", (np.arange(178) % 3).tolist(), [f"cluster {k}" for k in (1, 2, 3)])
    result["colors"].append(clusters | {"role": "cluster", "silhouette": 0.2849})
    result["colors"][4]["values"][10:14] = [None] * 4
    result["warnings"] = [
        warning("TZ206", "2 rows without a target were left out."),
        warning(
            "TZ207", "4 gaps in alcalinity_of_ash were filled with the column's mean for the map.", "alcalinity_of_ash"
        ),
    ]
    return result


@_copied
def cancer() -> dict[str, Any]:
    """Return a result of 569 rows and 30 columns."""
    data = load_breast_cancer()
    names = [str(name) for name in data.feature_names]
    return _build("breast_cancer", data.data, data.target, names, ["malignant", "benign"])


@_copied
def digits() -> dict[str, Any]:
    """Return a result whose columns are the pixels of images, 8 x 8."""
    data = load_digits()
    x = data.data[:150]
    varies = np.flatnonzero(x.std(0) > 0)
    names = [f"pixel_{j}" for j in varies]
    result = _build("digits.csv", x[:, varies], data.target[:150], names, [str(k) for k in range(10)])
    result["maps"][0]["galleries"] = [
        gallery("The mean image", ["mean"]),
        gallery("Components as images", [f"PC {k + 1}" for k in range(10)], signed=True),
        gallery("Rows rebuilt", ["5 components", "row 1"]),
    ]
    return result


@_copied
def hostile() -> dict[str, Any]:
    """Return a result where every name, level, title and sentence tries to be HTML, script, template or format."""
    data = load_wine()
    result = _build(HOSTILE[0], data.data[:, :11], data.target, HOSTILE, [HOSTILE[0], HOSTILE[1], HOSTILE[2]])
    result["table"]["target"] = HOSTILE[2]
    result["table"] |= {"weight_column": HOSTILE[1], "group_column": HOSTILE[0], "time_column": HOSTILE[3]}
    result["table"]["columns"][1] |= {"kind": "categorical", "levels": HOSTILE, "n_levels": 11}
    result["table"]["columns"][2] |= {"exclusion": HOSTILE[0]}
    _hostile_facts(result["table"])
    result["redundancy"] |= {
        "method": HOSTILE[0],
        "measure": {"id": HOSTILE[1], "label": HOSTILE[2]},
        "groups": [
            {"columns": HOSTILE[:4], "keep": HOSTILE[1], "min_value": 0.7, "measure": "V"},
            {"columns": HOSTILE[4:], "keep": "", "min_value": 0.9, "measure": HOSTILE[0]},
        ],
        "sums": HOSTILE[:2],
    }
    result["warnings"] = [warning("TZ101", text, text) for text in HOSTILE]
    result["interruption"] = HOSTILE[0]
    scores = {"model": HOSTILE[1], "scoring": "roc_auc", "with_leaks": 1.0, "without_leaks": 0.8}
    result["leakage_exclusion"] = {"columns": [HOSTILE[0], HOSTILE[2]], **scores}
    result["fold_design"] = {
        "kind": "groups", "name": HOSTILE[3], "n_samples": 178, "n_units": 30, "scoring": "roc_auc", "score": 0.7,
        "random_score": 0.9, "t": 5.0, "intraclass": 0.4, "intraclass_p": 0.0, "wave_p": None,
    }  # fmt: skip
    result["subset"]["stopped"] = HOSTILE[1]
    result["subset"]["lattice"] = lattice(HOSTILE[:6])
    result["reproduction"]["command"] = None
    result["subset"]["merit"]["label"] = HOSTILE[2]
    result["subset"]["search"]["label"] = HOSTILE[0]
    experiment, assessed, recommended = (result[part] for part in ("noise_experiment", "assessment", "recommendation"))
    experiment |= {
        "copied_column": HOSTILE[8],
        "selector": HOSTILE[2],
        "folds_description": HOSTILE[3],
        "scoring": HOSTILE[4],
    }
    for by_model in (value for value in experiment.values() if isinstance(value, dict) and "naive_bayes" in value):
        by_model[HOSTILE[1]] = by_model.pop("naive_bayes")
    experiment["models"][HOSTILE[1]] = HOSTILE[1]
    assessed |= {"model": HOSTILE[1], "scoring": HOSTILE[0], "folds_description": HOSTILE[2], "notes": [*HOSTILE]}
    assessed["null"]["description"] = HOSTILE[1]
    assessed["other_scores"][HOSTILE[3]] = assessed["other_scores"].pop("roc_auc_ovr_weighted")
    recommended |= {"folds_description": HOSTILE[1], "notes": [*HOSTILE]}
    sample_model_effect.rename_model(recommended, "naive_bayes", HOSTILE[2])
    sample_model_effect.rename_scoring(recommended, HOSTILE[0])
    recommended["candidates"]["cfs"] |= {"label": HOSTILE[0], "columns": HOSTILE}
    result["maps"][0] |= {"label": HOSTILE[0], "axes": [HOSTILE[0], HOSTILE[2]], "notes": [*HOSTILE]}
    result["maps"][0]["spectrum"]["label"] = HOSTILE[1]
    result["maps"][1] |= {"label": HOSTILE[3], "axes": [HOSTILE[1], HOSTILE[3]], "proximity_note": HOSTILE[0]}
    result["maps"][1]["spectrum"] |= {"label": HOSTILE[3], "note": HOSTILE[2]}
    result["maps"][0]["spectrum"]["chance_title"] = HOSTILE[0]
    result["maps"][0]["spectrum"]["chance_note"] = HOSTILE[0]
    result["maps"][1]["galleries"] = [gallery(HOSTILE[0], HOSTILE) | {"note": HOSTILE[2]}]
    for reduced in result["maps"]:
        reduced["explanation"] |= {"kinds": ["numeric", "categorical"] + ["numeric"] * 9}
    rule = result["maps"][0]["clusters"]["rules"][0]
    rule["conditions"] = [rule["conditions"][0] | {"column": name, "text": f"{name} > 1"} for name in HOSTILE]
    levels = [f"{HOSTILE[1]}={level}" for level in (HOSTILE[4], HOSTILE[0])]
    result["maps"][0]["loadings"]["columns"] = [HOSTILE[0], *levels, *HOSTILE[3:]]
    result["graph"] |= {"label": HOSTILE[0], "parameters": HOSTILE[1], "description": "", "search": HOSTILE[2]}
    result["ranking"]["criteria"][0] |= {"label": HOSTILE[0], "unit": HOSTILE[1], "summary": HOSTILE[2]}
    result["versions"] = {name: name for name in HOSTILE}
    result["quality"]["metric"]["label"] = HOSTILE[0]
    result["colors"][0]["name"] = HOSTILE[2]
    result["colors"].append(color(HOSTILE[0], (np.arange(178) % 11).tolist(), HOSTILE))
    return result


@_copied
def bare() -> dict[str, Any]:
    """Return a result without a target, a graph, a subset or points: what the least of studies leaves."""
    result = wine()
    result["table"] |= {"target": None, "classes": [], "n_rows": 178}
    variance = [column["numbers"] and column["numbers"]["sd"] ** 2 for column in result["table"]["columns"]]
    result["ranking"] |= {
        "criteria": [
            {
                "id": "variance",
                "label": "Variance",
                "unit": "",
                "summary": "The mean squared distance from the mean.",
                "needs_target": False,
            }
        ],
        "scores": {"variance": variance},
        "cut_points": {},
        "mean_rank": None,
        "at_chance": [],
        "associations": {},
        "interactions": "",
    }
    result["subset"] = None
    result["recommendation"] = None
    result["decisions"] = []
    result["noise_experiment"] = None
    result["assessment"] = None
    result["error_rates"] = None
    result["graph"] = None
    result["maps"] = [result["maps"][0] | {"points": None, "rows": []}]
    quality = result["quality"]
    first = quality["maps"][0]
    first |= {"pairs": [], "stress": [], "trust": [], "measures": first["measures"][:-1]}
    quality |= {"pairs": [], "nearest": [], "maps": [first], "shape_distances": [[0.0]]}
    result["colors"] = []
    result["warnings"] = []
    return result


@_copied
def wide(n_columns: int = 500, n_rows: int = 2000) -> dict[str, Any]:
    """Return a result of many columns, few of which say anything, and of a numeric target."""
    rng = np.random.default_rng(7)
    y = rng.integers(0, 2, n_rows)
    x = rng.normal(size=(n_rows, n_columns)) * rng.uniform(1, 1e4, n_columns)
    x[:, :8] += y[:, None] * np.linspace(3, 1, 8) * x[:, :8].std(0)
    names = [f"probe_{j:04d}_channel_{j % 7}" for j in range(n_columns)]
    result = _build("wide.parquet", x, y, names, ["healthy", "ill"])
    result["colors"] = result["colors"][:40]
    result["table"] |= {"n_rows": 50_000, "n_rows_used": 50_000}
    return result
