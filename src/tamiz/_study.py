"""A study: the table, the graph of its rows, the ranking, the subset and the maps, gathered into one Result."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from importlib.metadata import version
from typing import Any

import numpy as np

from tamiz import __version__, parallel, progress
from tamiz.criteria import registry as criteria
from tamiz.criteria.base import Merit, Relevance
from tamiz.criteria.cfs import CFS
from tamiz.criteria.entropy_family import Missing
from tamiz.exceptions import DataError
from tamiz.graphs import registry as graphs
from tamiz.graphs.builder import GraphBuilder
from tamiz.graphs.graph import Graph
from tamiz.memory import Size
from tamiz.random import Seed, generator
from tamiz.reduction.base import Reducer
from tamiz.registry import Entry, Registry
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
from tamiz.sources.views import Rows
from tamiz.steps.assessment import assess_selection
from tamiz.steps.buys import describe_argument, describe_buys
from tamiz.steps.clusters import describe_clusters
from tamiz.steps.colors import describe_colors
from tamiz.steps.combined import describe_combined
from tamiz.steps.graph import describe_graph
from tamiz.steps.joining import Joined, join_rows, takes_graph
from tamiz.steps.mapping import DISSIMILARITIES, Mapped, Wanted, check_maps, fit_map, wanted_maps
from tamiz.steps.maps import describe_map
from tamiz.steps.quality import describe_quality
from tamiz.steps.ranking import describe_ranking
from tamiz.steps.redundancy import describe_redundancy
from tamiz.steps.repeat import describe_repeat
from tamiz.steps.sampling import drawn_rows
from tamiz.steps.scoring import Ranked
from tamiz.steps.subset import describe_subset, explain_subset
from tamiz.steps.table import describe_table
from tamiz.validation import check_choice, check_integer
from tamiz.warn import collected, tell


def study(
    data: Any,
    target: Any = None,
    *,
    kinds: Mapping[str, Kind] | Kind | None = None,
    weight: Any = None,
    groups: Any = None,
    time: Any = None,
    memory: Size | None = None,
    relevances: Sequence[Relevance] | None = None,
    merit: Merit | None = None,
    search: Search | None = None,
    maps: Sequence[Reducer | str] | None = None,
    map_rows: int | None = None,
    dissimilarity: str = "seuclidean",
    graph: GraphBuilder | Graph | None = None,
    missing: Missing = "distribute",
    n_features: int | tuple[int, int] | None = None,
    stop: Stopping | None = None,
    journal: str | os.PathLike[str] | None = None,
    assess: bool | None = None,
    points: bool | int = True,
    random_state: Seed = 0,
    n_jobs: int | None = None,
) -> Result:
    """Study a table: which columns carry information, which subset to keep, what the rows look like.

    Parameters
    ----------
    data, target, kinds, weight, groups, time, memory
        As in `open_source`; data may be a Source.
    relevances : list of Relevance, default=None
        The ranking's criteria; None is every one that has a meaning on the table and is cheap.
    merit, search : Merit and Search, default=None
        How the subset is chosen; None is CFS() and BestFirst(). Without a target no subset is chosen by a merit that needs one.
    maps : list of str or reducers, default=None
        Maps by the names that `tamiz methods` lists, such as "mds:ordinal", or as reducers. None is PCA, metric and ordinal MDS
        and Laplacian eigenmaps.
    map_rows : int, default=None
        Rows that a map whose cost grows with their square, such as MDS, is fitted on at most; of more so many are drawn, and the
        other rows drawn are placed by `transform`. None is 2,000, and 1,000 for ordinal MDS.
    dissimilarity : {"seuclidean", "euclidean", "cityblock", "cosine", "gower"}, default="seuclidean"
        Distances of rows: those that maps by name show where they show distances, and that all maps are judged by. "seuclidean"
        is Euclidean in standardised columns, "gower" compares mixed columns with gaps one by one.
    graph : GraphBuilder or Graph, default=None
        How rows are joined, for every relevance and map that lives on a graph and was not given one: it is built once. None is
        `KNearest(15, metric="seuclidean")`, fewer where there are no more rows, of a sample where there are more than 100,000.
    missing : {"distribute", "category"}, default="distribute"
        What the relevances and the merit that are not given do with missing values: share their counts out, or make missing a
        value of its own.
    n_features, stop, journal
        As in `SubsetSelector`.
    assess : bool, default=None
        Whether the search is repeated inside folds and on shuffled targets, to tell how far the score of the subset can be
        trusted (`selection_report`), and what it buys (`compare_columns`), beside what columns cost that tell nothing new
        (`added_columns`); None is where that is quick, by the numbers of rows, columns and sets, and told where not.
    points : bool or int, default=True
        Whether the result holds the rows drawn in the maps, at most 2,000 or as many as are asked for; without them it holds no
        row of the table. Of more than 2,000, coordinates are kept in steps of 1/65536 of a map, and numbers with six digits.
    random_state : int, default=0
        Draws the rows that are drawn in the maps, and the lots of a search that draws any.
    n_jobs : int, default=None
        Threads; None takes the cores that this process may use.

    Returns
    -------
    Result
        Names, numbers, versions, timings and warnings, with `to_html(path)`, `to_json(path)` and `to_dict()`.

    Notes
    -----
    Ctrl-C ends the work at hand; the result then holds what was found and says so. What nobody asked for and cannot be done, such
    as a graph of rows that are all equal, is left out, and the result says why.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tamiz import study
    >>> iris = load_iris(as_frame=True)
    >>> result = study(iris.data, iris.target)
    >>> result.to_dict()["subset"]["columns"]
    ['petal length (cm)', 'petal width (cm)']
    """
    arguments = dict(locals())
    _check_parts(data, (target, kinds, weight, groups, time, memory), graph)
    check_maps(maps or ())
    check_choice("dissimilarity", dissimilarity, DISSIMILARITIES)
    most = None if map_rows is None else check_integer("map_rows", map_rows, low=2)
    most_drawn = None if isinstance(points, bool) else check_integer("points", points, low=2)
    points = bool(points)
    run = _Run()
    rng = generator(random_state)
    with parallel.session(n_jobs), collected() as told:
        source: Source = run.first(
            "read",
            lambda: (
                data
                if isinstance(data, Source)
                else open_source(data, target, kinds=kinds, weight=weight, groups=groups, time=time, memory=memory)
            ),
        )
        schema = source.schema
        chosen = merit or CFS(missing=missing)
        searched = _is_searched(chosen, schema, assess=assess)
        rows = drawn_rows(schema.n_rows, most_drawn, rng)
        wanted = wanted_maps(maps, schema, dissimilarity)
        table = run.first("table", lambda: describe_table(source))
        tell(_sentences_on_gaps(schema, missing))
        asked = [*(relevances or ()), *(one.reducer for one in wanted if one.asked)]
        parts = [*(relevances or ()), *(one.reducer for one in wanted)]
        needed = relevances is None or graph is not None or any(map(takes_graph, parts))
        found = run.step("graph", lambda: _join(source, graph, asked, rows, rng)) if needed else None
        joined: Joined = found or Joined(source)
        ranked = _ranked(relevances, schema, missing, joined)
        scored = run.step("ranking", lambda: describe_ranking(source, ranked))
        seed = int(rng.integers(2**63))
        if scored is not None:
            scored["combined"] = run.step("combined rank", lambda: describe_combined(source, ranked, scored, seed))
        repeating = run.step("redundancy", lambda: describe_redundancy(source, scored, missing))
        # The same lots as `SubsetSelector` draws by the same number, and whenever the search is repeated.
        lots = random_state if isinstance(random_state, int) else seed
        selector = SubsetSelector(
            chosen, search or BestFirst(), n_features=n_features, stop=stop, journal=journal, random_state=lots
        )
        subset = run.step("subset", lambda: _select(selector, source, run)) if searched else None
        if subset is not None:
            explained = run.step("reasons", lambda: explain_subset(selector, source))
            subset |= explained or {"reasons": [], "lattice": None}
        drawn: list[tuple[Mapped, dict[str, Any]]] = []
        run.step("maps", lambda: _draw(wanted, drawn, rows, joined, most, seed, points=points))
        judged = run.step("quality", lambda: _judge(drawn, rows, joined, dissimilarity, seed, points=points))
        repeated = partial(assess_selection, selector, source, lots, assess=assess)
        assessed = None if subset is None else run.step("assessment", repeated)
        buying = partial(describe_buys, selector, source, lots, assessed, assess=assess)
        bought = None if subset is None else run.step("buys", buying)
        arguing = partial(describe_argument, source, CFS(missing=missing), lots, bought, assess=assess)
        argument = run.step("argument", arguing)
        colors = describe_colors(source, rows, scored) if points and drawn else []
        clusters = run.step("clusters", lambda: describe_clusters(source, rows, seed)) if points and drawn else None
    return Result(
        {
            "format": FORMAT,
            "tamiz": __version__,
            "versions": _versions(),
            "title": _title(data),
            "seed": random_state if isinstance(random_state, int) else None,
            "timings": run.timings,
            "warnings": list(dict.fromkeys([*schema.dropped, *schema.notes, *told])),
            "interrupted": run.interrupted,
            "table": table,
            "graph": describe_graph(joined, _label(graphs, joined.builder)),
            "ranking": scored,
            "redundancy": repeating,
            "subset": subset,
            "buys": bought,
            "argument": argument,
            "assessment": None if assessed is None else assessed.to_dict(),
            "maps": [described for _, described in drawn],
            "quality": judged,
            "colors": [*colors, *([] if clusters is None else [clusters])],
            "repeat": describe_repeat(study, arguments, schema, None if subset is None else selector),
        }
    )


def _check_parts(data: Any, of_table: Sequence[Any], graph: Any) -> None:
    if isinstance(data, Source) and any(given is not None for given in of_table):
        raise TypeError(
            "A source has its own target, kinds, weights, groups, times and memory: pass them to open_source, not to study."
        )
    if graph is not None and not isinstance(graph, GraphBuilder | Graph):
        raise TypeError(f"study takes a graph such as KNearest(15), got {graph!r}.")


def _is_searched(merit: Merit, schema: Schema, *, assess: bool | None) -> bool:
    """Whether a subset can be searched for."""
    if assess and schema.target is None:
        raise DataError(
            "assess=True asks how well the subset tells the target, and the table has none; name its column."
        )
    return schema.target is not None or not merit.needs_target


def _title(data: Any) -> str:
    return os.path.basename(data) if isinstance(data, str | os.PathLike) else f"{type(data).__name__} in memory"


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


def _join(
    source: Source,
    asked: GraphBuilder | Graph | None,
    parts: Sequence[Any],
    rows: Rows,
    rng: np.random.Generator,
) -> Joined | None:
    """Return the graph; None, and why, where it cannot be built and nobody asked for it."""
    try:
        return join_rows(source, asked, rows, rng)
    except (DataError, MemoryError) as error:
        if asked is not None or any(map(takes_graph, parts)):
            raise
        tell([f"The study goes on without a graph of the rows: {error}"])
        return None


def _ranked(given: Sequence[Relevance] | None, schema: Schema, missing: Missing, joined: Joined) -> list[Ranked]:
    """Return the relevances as the table needs them; by default the registered ones that have a meaning on it and are cheap."""
    taken = [] if given is None else [(label, part.suited(schema) or part) for label, part in _told_apart(given)]
    for entry in criteria.of_kind("relevance") if given is None else ():
        part = entry.load()().with_missing(missing).suited(schema)
        if part is not None and part.by_default and (joined.graph is not None or not takes_graph(part)):
            taken.append((_named(entry), part))
    lent = [(label, joined.lent_to(part)) for label, part in taken]
    return [Ranked(label["id"], label["label"], part, joined.read_by(part)) for label, part in lent]


def _told_apart(given: Sequence[Relevance]) -> list[tuple[dict[str, str], Relevance]]:
    """Return relevances with their labels, numbered where a class occurs twice."""
    labels = [_label(criteria, relevance) for relevance in given]
    taken = [label["id"] for label in labels]
    for k, relevance in enumerate(given):
        if taken.count(taken[k]) > 1:
            labels[k] = {"id": f"{taken[k]}_{taken[: k + 1].count(taken[k])}", "label": repr(relevance)}
    return list(zip(labels, given, strict=True))


def _draw(
    wanted: Sequence[Wanted],
    drawn: list[tuple[Mapped, dict[str, Any]]],
    rows: Rows,
    joined: Joined,
    most: int | None,
    seed: int,
    *,
    points: bool,
) -> None:
    """Fit the maps one by one; what nobody asked for and cannot be drawn is left out."""
    for one in wanted:
        if not one.asked and takes_graph(one.reducer) and joined.whole is None:
            continue
        reducer = joined.lent_to(one.reducer) if one.given else joined.lent_whole_to(one.reducer)
        source = joined.read_by(reducer)
        shown = joined.numbers(rows, source)
        try:
            mapped = fit_map(reducer, source, shown, most, seed)
            label = {"id": one.id, "label": one.label}
            drawn.append((mapped, describe_map(mapped, label, shown if points else None, seed)))
        except (DataError, MemoryError) as error:
            if one.asked:
                raise
            tell([f"{one.label} is left out: {error}"])


def _judge(
    drawn: Sequence[tuple[Mapped, dict[str, Any]]],
    rows: Rows,
    joined: Joined,
    dissimilarity: str,
    seed: int,
    *,
    points: bool,
) -> dict[str, Any] | None:
    """Judge the two axes of every map that a reader sees."""
    maps = [(described["label"], mapped.at(joined.numbers(rows, mapped.source))[:, :2]) for mapped, described in drawn]
    return describe_quality(joined.table, rows, maps, dissimilarity, seed, points=points)


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
    merit = {**_label(criteria, selector.merit), "label": selector.merit_name_}
    return describe_subset(selector, merit, _label(searches, selector.search))


def _label(registry: Registry, part: Any) -> dict[str, str]:
    name = type(part).__name__
    entry = next((entry for entry in registry if entry.attribute == name), None)
    return _named(entry) if entry else {"id": name, "label": name}


def _named(entry: Entry) -> dict[str, str]:
    return {"id": entry.name, "label": entry.label}


def _versions() -> dict[str, str]:
    packages = ("numpy", "scipy", "scikit-learn", "numba", "pyarrow", "duckdb")
    return {"python": platform.python_version(), **{package: version(package) for package in packages}}
