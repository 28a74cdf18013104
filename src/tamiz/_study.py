"""A study: the table, the ranking, the subset and the maps, gathered into one Result."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Mapping, Sequence
from importlib.metadata import version
from typing import Any

from tamiz import __version__, parallel, progress
from tamiz._description import (
    describe_colors,
    describe_map,
    describe_ranking,
    describe_subset,
    describe_table,
    drawn_rows,
)
from tamiz.criteria import registry as criteria
from tamiz.criteria.base import Merit, Relevance
from tamiz.criteria.cfs import CFS
from tamiz.criteria.entropy_family import Missing
from tamiz.random import Seed, generator
from tamiz.reduction import registry as reduction
from tamiz.reduction.base import Reducer
from tamiz.registry import Registry
from tamiz.report.result import Result
from tamiz.report.shape import FORMAT
from tamiz.search import registry as searches
from tamiz.search.base import Search
from tamiz.search.best_first import BestFirst
from tamiz.search.stopping import Stopping
from tamiz.selection import SubsetSelector
from tamiz.sources.base import Source
from tamiz.sources.open import open_source
from tamiz.sources.schema import Kind, Schema
from tamiz.warn import collected, tell


def study(
    data: Any,
    target: Any = None,
    *,
    kinds: Mapping[str, Kind] | Kind | None = None,
    weight: Any = None,
    relevances: Sequence[Relevance] | None = None,
    merit: Merit | None = None,
    search: Search | None = None,
    maps: Sequence[Reducer] | None = None,
    missing: Missing = "distribute",
    n_features: int | tuple[int, int] | None = None,
    stop: Stopping | None = None,
    journal: str | os.PathLike[str] | None = None,
    points: bool = True,
    random_state: Seed = 0,
    n_jobs: int | None = None,
) -> Result:
    """Study a table: which columns carry information, which subset to keep, what the rows look like.

    Parameters
    ----------
    data, target, kinds, weight
        As in `open_source`; data may be a Source.
    relevances : list of Relevance, default=None
        The ranking's criteria; None is every one that has a meaning on the table.
    merit, search : Merit and Search, default=None
        How the subset is chosen; None is CFS() and BestFirst(). Without a target no subset is chosen by a merit that needs one.
    maps : list of reducers, default=None
        None is every map there is.
    missing : {"distribute", "category"}, default="distribute"
        What the relevances and the merit that are not given do with missing values: share their counts out, or make missing a
        value of its own.
    n_features, stop, journal
        As in `SubsetSelector`.
    points : bool, default=True
        Whether the result holds the rows drawn in the maps, at most 2,000; without them it holds no row of the table.
    random_state : int, default=0
        Draws the rows that are drawn in the maps.
    n_jobs : int, default=None
        Threads; None takes the cores that this process may use.

    Returns
    -------
    Result
        Names, numbers, versions, timings and warnings, with `to_html(path)`, `to_json(path)` and `to_dict()`.

    Notes
    -----
    Ctrl-C ends the work at hand; the result then holds what was found and says so.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tamiz import study
    >>> iris = load_iris(as_frame=True)
    >>> result = study(iris.data, iris.target)
    >>> result.to_dict()["subset"]["columns"]
    ['petal length (cm)', 'petal width (cm)']
    """
    if isinstance(data, Source) and not (target is None and kinds is None and weight is None):
        raise TypeError("A source has its own target, kinds and weights: pass them to open_source, not to study.")
    run = _Run()
    rng = generator(random_state)
    with parallel.session(n_jobs), collected() as told:
        source: Source = run.first(
            "read", lambda: data if isinstance(data, Source) else open_source(data, target, kinds=kinds, weight=weight)
        )
        schema = source.schema
        rows = drawn_rows(schema.n_rows, rng) if points else None
        table = run.first("table", lambda: describe_table(source))
        tell(_sentences_on_gaps(schema, missing))
        scored = run.step("ranking", lambda: describe_ranking(source, _relevances(relevances, schema, missing)))
        chosen = merit or CFS(missing=missing)
        subset = None
        if schema.target is not None or not chosen.needs_target:
            selector = SubsetSelector(
                chosen, search or BestFirst(), n_features=n_features, stop=stop, journal=journal, random_state=rng
            )
            subset = run.step("subset", lambda: _select(selector, source, run))
        reducers = [e.load().for_study(schema) for e in reduction.of_kind("map")] if maps is None else maps
        drawn = run.step("maps", lambda: [describe_map(reducer, source, rows) for reducer in reducers]) or []
        colors = describe_colors(source, rows, scored) if rows is not None and drawn else []
    return Result(
        {
            "format": FORMAT,
            "tamiz": __version__,
            "versions": _versions(),
            "title": os.path.basename(data)
            if isinstance(data, str | os.PathLike)
            else f"{type(data).__name__} in memory",
            "seed": random_state if isinstance(random_state, int) else None,
            "timings": run.timings,
            "warnings": list(dict.fromkeys([*schema.dropped, *schema.notes, *told])),
            "interrupted": run.interrupted,
            "table": table,
            "ranking": scored,
            "subset": subset,
            "maps": drawn,
            "colors": colors,
        }
    )


class _Run:
    """The steps of a study, timed; after Ctrl-C the rest are skipped."""

    def __init__(self) -> None:
        self.timings: list[dict[str, Any]] = []
        self.interrupted: str | None = None

    def first(self, name: str, work: Callable[[], Any]) -> Any:
        """Return what the work gives; without it there is no study."""
        begun = time.perf_counter()
        progress.tell(f"Step: {name}", 0)
        given = work()
        self.timings.append({"step": name, "seconds": round(time.perf_counter() - begun, 4)})
        return given

    def step(self, name: str, work: Callable[[], Any]) -> Any:
        """Return what the work gives, None when it or an earlier step was interrupted."""
        if self.interrupted:
            return None
        try:
            return self.first(name, work)
        except KeyboardInterrupt:
            self.stop(name)
            return None

    def stop(self, name: str) -> None:
        """Take note of Ctrl-C."""
        self.interrupted = f"Interrupted in the step '{name}'; what was found until then is shown."


def _relevances(
    given: Sequence[Relevance] | None, schema: Schema, missing: Missing
) -> list[tuple[str, str, Relevance]]:
    """Return name, label and relevance; by default every registered one that has a meaning on the table."""
    if given is not None:
        labels = [_label(criteria, relevance) for relevance in given]
        taken = [label["id"] for label in labels]
        for k, relevance in enumerate(given):
            if taken.count(taken[k]) > 1:
                labels[k] = {"id": f"{taken[k]}_{taken[: k + 1].count(taken[k])}", "label": repr(relevance)}
        parts = [relevance.suited(schema) or relevance for relevance in given]
        return [(label["id"], label["label"], part) for label, part in zip(labels, parts, strict=True)]
    suited = [(e.name, e.label, e.load()().with_missing(missing).suited(schema)) for e in criteria.of_kind("relevance")]
    return [(name, label, relevance) for name, label, relevance in suited if relevance is not None]


def _sentences_on_gaps(schema: Schema, missing: Missing) -> list[str]:
    n = sum(len(column.levels) == 1 and column.n_missing > 0 for column in schema.columns)
    if n == 0 or missing == "category":
        return []
    return [
        f"{n:,} {'column holds' if n == 1 else 'columns hold'} one value and gaps, and so nothing to tell apart; "
        "with missing='category' (--missing category) a gap counts as a value of its own."
    ]


def _select(selector: SubsetSelector, source: Source, run: _Run) -> dict[str, Any] | None:
    try:
        selector.fit(source)
    except KeyboardInterrupt:
        run.stop(f"subset, after {getattr(selector, 'n_evaluations_', 0):,} evaluations")
        if not hasattr(selector, "archive_"):
            return None
    return describe_subset(selector, _label(criteria, selector.merit), _label(searches, selector.search))


def _label(registry: Registry, part: Any) -> dict[str, str]:
    name = type(part).__name__
    entry = next((entry for entry in registry if entry.attribute == name), None)
    return {"id": entry.name, "label": entry.label} if entry else {"id": name, "label": name}


def _versions() -> dict[str, str]:
    packages = ("numpy", "scipy", "scikit-learn", "numba", "pyarrow", "duckdb")
    return {"python": platform.python_version(), **{package: version(package) for package in packages}}
