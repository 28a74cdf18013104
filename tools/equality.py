"""Write the results of a fixed list of calls, and compare those of two commits.

python tools/equality.py write FILE [WORD]     writes the results of this package, with WORD those of the calls named so
python tools/equality.py compare BEFORE AFTER [LARGEST]  names each result that differs, with the largest relative difference of its
                                               numbers, if it is above LARGEST (0)
python tools/equality.py commit NAME           compares a commit, in a clone of its own, with the files here
"""

from __future__ import annotations

import dataclasses
import json
import os
import re
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from importlib.resources import files
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

ROOT = Path(__file__).parents[1]
# What differs between two runs of the same code.
VOLATILE = re.compile(r"seconds|versions|timings|created|machine|memory|threads|bytes|n_jobs|journal")


def flatten(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield the numbers, texts and lists of numbers inside a result, each with its path."""
    import numpy as np
    import pandas as pd
    from scipy.sparse import issparse
    from sklearn.base import BaseEstimator

    if issparse(value):
        value = {"rows": value.tocoo().row, "columns": value.tocoo().col, "values": value.tocoo().data}
    if isinstance(value, pd.DataFrame | pd.Series):
        value = value.to_dict("list") if isinstance(value, pd.DataFrame) else value.to_numpy()
    if isinstance(value, BaseEstimator):
        computed = [name for name in dir(type(value)) if isinstance(getattr(type(value), name), property)]
        names = [name for name in [*vars(value), *computed] if name.endswith("_") and not name.startswith("_")]
        value = {name: getattr(value, name, None) for name in names}
    elif dataclasses.is_dataclass(value):
        value = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, np.ndarray) and value.dtype.kind in "fiub":
        yield path, {"shape": value.shape, "values": value.ravel().tolist()}
    elif isinstance(value, Mapping):
        for key, part in value.items():
            if not VOLATILE.search(str(key)):
                yield from flatten(part, f"{path}/{key}")
    elif isinstance(value, list | tuple | np.ndarray):
        if len(value) and all(isinstance(part, float | int) for part in value):
            yield path, {"shape": (len(value),), "values": list(value)}
        else:
            for i, part in enumerate(value):
                yield from flatten(part, f"{path}/{i}")
    elif isinstance(value, np.generic):
        yield path, value.item()
    elif value is None or isinstance(value, str | float | int):
        yield path, value


def make_messy():
    """Return a table of dates, text, missing values, groups and a target that follows three of nine columns."""
    import numpy as np
    import pandas as pd

    rng = np.random.default_rng(7)
    n = 400
    a, b, c = rng.normal(size=(3, n))
    table = pd.DataFrame({
        "a": a, "b": np.where(rng.random(n) < 0.1, np.nan, b), "copy": a + 0.01 * c, "noise": rng.normal(size=n),
        "level": rng.choice(["low", "middle", "high"], n), "wide": rng.choice([f"w{i}" for i in range(40)], n),
        "when": pd.date_range("2020-01-01", periods=n, freq="7h").astype(str), "const": 1.0,
        "unit": np.repeat([f"u{i}" for i in range(40)], 10),
    })  # fmt: skip
    table["target"] = np.where(a + (table["level"] == "high") + 0.7 * rng.normal(size=n) > 0.4, "yes", "no")
    return table


def list_calls() -> dict[str, Callable[[], Any]]:
    """Return the calls by their names."""
    import numpy as np
    from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine

    import tamiz
    from tamiz import assessment, comparison, criteria, error_control, graphs, metrics, neighbors, reduction, search
    from tamiz.cluster import SpectralClustering

    penguins = str(files("tamiz.datasets") / "penguins.csv")
    X, y = load_wine(return_X_y=True, as_frame=True)
    digits = load_digits().data[:900]
    numbers = load_diabetes(as_frame=True)
    messy = make_messy()
    cancer, diagnosis = load_breast_cancer(return_X_y=True, as_frame=True)
    iris, species = load_iris(return_X_y=True, as_frame=True)

    def study(*arguments: Any, **options: Any) -> Callable[[], Any]:
        def call() -> Any:
            with TemporaryDirectory() as folder:
                path = Path(folder, "study.json")
                tamiz.study(*arguments, **options).to_json(path)
                return json.loads(path.read_text())

        return call

    calls: dict[str, Callable[[], Any]] = {
        "study penguins": study(penguins, "species"),
        "study penguins numeric": study(penguins, "body_mass_g"),
        "study penguins no target": study(penguins),
        "study diabetes": study(numbers.data, numbers.target),
        "study messy": study(messy, "target", groups="unit"),
        "study wine": study(X, y, semi_synthetic=2),
    }

    def name_of(part: Any) -> str:
        return re.sub(r"\s+", " ", repr(part))

    # Maps, with new rows.
    reducers = [
        *(getattr(reduction, name)() for name in ("PCA", "ClassicalMDS", "MDS", "LaplacianEigenmaps", "Isomap")),
        reduction.PCA(5, standardize=True, whiten=True), reduction.PCA(0.9), reduction.MDS(kind="ordinal", random_state=0),
        reduction.MDS(3, dissimilarity="gower", random_state=0), reduction.LaplacianEigenmaps(laplacian="symmetric"),
        reduction.Isomap(n_landmarks=40, random_state=0), reduction.ClassicalMDS(correction="cailliez"),
        *(getattr(reduction, name)(random_state=0) for name in ("LandmarkMDS", "StochasticMDS", "TSNE")),
        *(getattr(reduction, name)(random_state=0) for name in ("UMAP", "ICA", "Autoencoder")),
        *(reduction.LocallyLinearEmbedding(method=one) for one in ("standard", "modified", "hessian", "ltsa")),
    ]  # fmt: skip

    def fit_map(reducer: Any, data: Any) -> Callable[[], Any]:
        def call() -> Any:
            reducer.fit(data)
            rows = data[:40] + 0.01 if isinstance(data, np.ndarray) else data.iloc[:40] + 0.01
            new = reducer.transform(rows) if hasattr(reducer, "transform") else None
            return {"fit": reducer, "embedding": reducer.embedding_, "new rows": new}

        return call

    for reducer in reducers:
        calls[f"map wine {name_of(reducer)}"] = fit_map(reducer, X)
    for name in ("PCA", "LaplacianEigenmaps", "Isomap", "LocallyLinearEmbedding", "TSNE", "UMAP"):
        kwargs = {"random_state": 0} if name in ("TSNE", "UMAP") else {}
        calls[f"map digits {name}"] = fit_map(getattr(reduction, name)(**kwargs), digits)
    for name in ("PCA", "Autoencoder", "LaplacianEigenmaps", "ClassicalMDS"):
        table = (
            tamiz.open_table(messy, "target", groups="unit")
            if name == "PCA"
            else messy.drop(columns=["target", "when"])
        )
        kwargs = {"random_state": 0} if name == "Autoencoder" else {}
        kwargs |= {"dissimilarity": "gower"} if name == "ClassicalMDS" else {}
        if name == "LaplacianEigenmaps":
            kwargs["graph"] = graphs.KNearest(metric="gower")
        calls[f"map messy {name}"] = lambda name=name, table=table, kwargs=kwargs: (
            getattr(reduction, name)(**kwargs).fit(table).embedding_
        )

    # Graphs, neighbours, clusters.
    for builder in (graphs.KNearest(), graphs.KNearest(5, symmetry="mutual", weight=graphs.HeatKernel()), graphs.Radius(60.0),
                    graphs.ConnectedRadius(), graphs.SameClass(), graphs.KNearest(metric="cosine")):  # fmt: skip
        calls[f"graph {name_of(builder)}"] = lambda builder=builder: describe_graph(builder.build(X, y))
    many = np.random.default_rng(3).normal(size=(2500, 6))
    for finder in (neighbors.BruteForce(), neighbors.KDTree(), neighbors.NNDescent(random_state=0)):
        calls[f"neighbors {name_of(finder)}"] = lambda finder=finder: describe_graph(
            graphs.KNearest(10, search=finder).build(many)
        )
    calls["clusters"] = lambda: SpectralClustering(3, random_state=0).fit(digits).labels_

    # Relevances.
    relevances = [getattr(criteria, name)() for name in criteria.__all__ if is_class_of(criteria, name, "Relevance")]
    relevances += [
        criteria.InformationGain(discretization=criteria.EqualFrequency(8)),
        criteria.InformationGain(missing="category"),
    ]
    for relevance in relevances:
        for table, data, target in (
            ("wine", X, y),
            ("diabetes", numbers.data, numbers.target),
            ("messy", messy, "target"),
        ):
            calls[f"rank {table} {name_of(relevance)}"] = lambda r=relevance, data=data, target=target: (
                tamiz.RankSelector(r, n_features=3).fit(*split_table(tamiz, data, target)).scores_
            )

    # Merits and searches.
    merits = [
        getattr(criteria, name)() for name in ("CFS", "MRMR", "JMI", "CMIM", "DISR", "ICAP", "CIFE", "MIFS", "MIM")
    ]
    merits += [criteria.MRMR("correlation"), criteria.CFS(convention="weka"), criteria.JMI(correction="chance")]
    merits += [
        criteria.CrossValidated(name, cv=5)
        for name in ("gaussian_nb", "naive_bayes", "knn", "logistic", "linear", "tree")
    ]
    for merit in merits:
        calls[f"merit {name_of(merit)}"] = lambda merit=merit: outcome(
            tamiz.SubsetSelector(merit, search.Forward(), n_features=4).fit(X, y)
        )
    for merit in (criteria.CFS(), criteria.CrossValidated("ridge", cv=5), criteria.CrossValidated("knn", cv=5)):
        calls[f"merit diabetes {name_of(merit)}"] = lambda merit=merit: outcome(
            tamiz.SubsetSelector(merit, search.Forward()).fit(numbers.data, numbers.target)
        )
    searches = [
        getattr(search, name)()
        for name in ("Forward", "Backward", "Bidirectional", "BestFirst", "Beam", "BranchAndBound")
    ]
    searches += [search.Genetic(20, generations=10), search.RandomSubsets(50), search.RecursiveElimination()]
    for one in searches:
        calls[f"search CFS {name_of(one)}"] = lambda one=one: outcome(
            tamiz.SubsetSelector(criteria.CFS(), one, random_state=0).fit(X, y)
        )
        merit = criteria.CrossValidated("gaussian_nb", cv=4)
        calls[f"search NB {name_of(one)}"] = lambda one=one, merit=merit: outcome(
            tamiz.SubsetSelector(merit, one, random_state=0).fit(X, y)
        )
    calls["search exhaustive"] = lambda: outcome(
        tamiz.SubsetSelector(criteria.CrossValidated("knn", cv=4), search.Exhaustive(), random_state=0).fit(
            iris, species
        )
    )

    # Error control, assessment, comparison, metrics.
    small = cancer.iloc[:, :10]
    calls["boruta"] = lambda: error_control.BorutaSelector(max_iter=20, random_state=0).fit(small, diagnosis)
    calls["stability selection"] = lambda: error_control.StabilitySelector(
        n_features=4, n_pairs=10, random_state=0
    ).fit(small, diagnosis)
    calls["knockoffs"] = lambda: error_control.knockoffs(small, random_state=0)
    calls["knockoff selection"] = lambda: error_control.KnockoffSelector(random_state=0, fdr=0.3).fit(small, diagnosis)
    calls["selection report"] = lambda: assessment.selection_report(
        tamiz.SubsetSelector(random_state=0), X, y, n_permutations=5, random_state=0
    )
    calls["ranking stability"] = lambda: assessment.ranking_stability(X, y, n_bootstrap=20)
    calls["mean rank"] = lambda: assessment.mean_rank(X, y, n_bootstrap=20)
    calls["column comparison"] = lambda: assessment.compare_columns(tamiz.SubsetSelector(random_state=0), X, y)
    calls["conditional importance"] = lambda: assessment.conditional_importance(X, y)
    calls["error rates"] = lambda: assessment.selection_error_rates(
        tamiz.SubsetSelector(random_state=0), X, y, n_draws=3
    )
    calls["calibration"] = lambda: assessment.calibration(X, y)
    for name in ("describe_associations", "find_interactions", "table_remarks", "find_leaks", "find_target_formulas",
                 "find_linear_dependences", "recommend_columns", "run_noise_experiment"):  # fmt: skip
        calls[f"assessment {name}"] = lambda name=name: getattr(assessment, name)(X, y)
    maps = {"pca": reduction.PCA(), "umap": reduction.UMAP(random_state=0)}
    calls["compare maps"] = lambda: comparison.compare_maps(X, maps, y)
    calls["columns to drop"] = lambda: comparison.columns_to_drop(X, y)
    calls["stress by dimensions"] = lambda: comparison.stress_by_dimensions(X, range(1, 4), random_state=0)
    calls["stress test"] = lambda: comparison.stress_test(X, n_permutations=5, random_state=0)
    embedding = X.to_numpy()[:, [0, 12]]
    calls["quality"] = lambda: metrics.quality(X, embedding, labels=y)
    for name in ("normalized_stress", "kruskal_stress", "shepard", "trustworthiness", "continuity", "neighborhood_recall",
                 "mean_relative_rank_errors", "rank_agreement", "co_ranking"):  # fmt: skip
        calls[f"metric {name}"] = lambda name=name: getattr(metrics, name)(X, embedding)
    calls["compare tables"] = lambda: tamiz.compare_tables(messy.iloc[:250], messy.iloc[250:])
    calls["cluster rules"] = lambda: reduction.cluster_rules(X, embedding)
    calls["size search"] = lambda: tamiz.SizeSearchCV(
        tamiz.RankSelector(criteria.FisherScore()), "gaussian_nb", random_state=0
    ).fit(X, y)
    calls["redundancy filter"] = lambda: tamiz.RedundancyFilter().fit(X, y)
    return calls


def is_class_of(module: Any, name: str, base: str) -> bool:
    """Return whether a name of a module is a class with a base class of this name."""
    value = getattr(module, name)
    return isinstance(value, type) and base in (one.__name__ for one in value.__mro__)


def describe_graph(graph: Any) -> dict[str, Any]:
    """Return edges with weights and lengths, and the components of a graph."""
    return {"edges": graph.edges, "weights": graph.adjacency, "components": graph.components, "degrees": graph.degrees}


def split_table(tamiz: Any, data: Any, target: Any) -> tuple[Any, Any]:
    """Return what to fit a selector on: rows and target, or the table of a file."""
    return (tamiz.open_table(data, target, groups="unit"), None) if isinstance(target, str) else (data, target)


def outcome(selector: Any) -> dict[str, Any]:
    """Return the columns, the merit and every merit on the way of a fitted selector."""
    archive = selector.archive_
    return {"support": selector.support_, "merit": selector.merit_, "merits": archive.merits, "sizes": archive.sizes}


def write(target: Path, word: Path = Path("")) -> None:
    warnings.simplefilter("ignore")
    results: dict[str, Any] = {}
    for name, call in list_calls().items():
        if word.name not in name:
            continue
        try:
            results[name] = dict(flatten(call()))
        except Exception as error:  # noqa: BLE001 - a call that fails is a result, too
            results[name] = {"/error": f"{type(error).__name__}: {error}"}
    target.write_text(json.dumps(results))
    failed = [name for name, result in results.items() if "/error" in result]
    print(f"{len(results)} calls, {sum(map(len, results.values())):,} results in {target}; failed: {failed or 'none'}")


def difference(before: Any, after: Any) -> str:
    """Return how two results differ, empty if they are equal."""
    import numpy as np

    if json.dumps(before) == json.dumps(after):
        return ""
    if isinstance(before, dict) and isinstance(after, dict) and before["shape"] == after["shape"]:
        a, b = (np.asarray(one["values"], dtype=float) for one in (before, after))
        if not np.array_equal(np.isfinite(a), np.isfinite(b)):
            return "other missing values"
        scale = np.nanmax(np.abs(a[np.isfinite(a)]), initial=0) or 1.0
        return f"{np.nanmax(np.abs(a - b)[np.isfinite(a)], initial=0) / scale:.1e}"
    if isinstance(before, float | int) and isinstance(after, float | int):
        return f"{abs(before - after) / (abs(before) or 1):.1e}"
    return f"{str(before)[:70]!r} was, {str(after)[:70]!r} is"


def is_small(text: str, largest: float) -> bool:
    """Return whether a difference is a number of at most `largest`."""
    try:
        return float(text) <= largest
    except ValueError:
        return False


def compare(before: Path, after: Path, largest: Path = Path("0")) -> None:
    first, second = (json.loads(path.read_text()) for path in (before, after))
    n_different = 0
    for name in second:
        one, two = first.get(name, {}), second.get(name, {})
        found = {path: difference(one.get(path), two.get(path)) for path in {**one, **two}}
        found = {path: text for path, text in found.items() if text and not is_small(text, float(largest.name))}
        if found:
            n_different += 1
            print(f"{name}: {len(found)} of {len(found | one)} results differ")
            for path, text in list(found.items())[:8]:
                print(f"    {path}: {text}")
    print(f"{len(second)} of {len(first)} calls, {n_different} differ")
    sys.exit(n_different > 0)


def compare_commit(commit: str) -> None:
    with TemporaryDirectory() as folder:
        clone = Path(folder, "clone")
        subprocess.run(["git", "clone", "--quiet", ROOT, clone], check=True)
        subprocess.run(["git", "-C", clone, "checkout", "--quiet", commit], check=True)
        for source, name in ((clone, "before"), (ROOT, "after")):
            environment = {**os.environ, "PYTHONPATH": str(source / "src")}
            subprocess.run([sys.executable, __file__, "write", f"{folder}/{name}"], check=True, env=environment)
        compare(Path(folder, "before"), Path(folder, "after"))


if __name__ == "__main__":
    {"write": write, "compare": compare, "commit": compare_commit}[sys.argv[1]](
        *(Path(one) if sys.argv[1] != "commit" else one for one in sys.argv[2:])
    )
