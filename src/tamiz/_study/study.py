"""A study: the table, the graph of its rows, the ranking, the subset and the maps, gathered into one Result."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from importlib.metadata import version
from typing import Any

import numpy as np

from tamiz import __version__
from tamiz._study.budget import Budget, StepRunner
from tamiz._study.estimates import estimate_steps
from tamiz._study.graph import RowGraph, build_row_graph, describe_graph, needs_graph
from tamiz._study.map_colors import describe_clusters, describe_colors
from tamiz._study.maps import DISSIMILARITIES, MapRequest, StudyMap, check_maps, describe_map, fit_map, resolve_maps
from tamiz._study.mean_rank import describe_mean_rank
from tamiz._study.models import prepare_evaluation
from tamiz._study.quality import describe_quality
from tamiz._study.ranking import choose_ranking_criteria, describe_ranking
from tamiz._study.redundancy import describe_redundancy, redundant_pair_notes
from tamiz._study.reproduction import describe_reproduction
from tamiz._study.sampling import sample_shown_rows
from tamiz._study.subset import describe_subset, explain_subset
from tamiz._study.table import describe_table
from tamiz.criteria import registry as criteria
from tamiz.criteria.base import Merit, Relevance
from tamiz.criteria.cfs import CFS
from tamiz.criteria.entropy_relevance import MissingRule
from tamiz.exceptions import DataError
from tamiz.graphs import registry as graphs
from tamiz.graphs.builder import GraphBuilder
from tamiz.graphs.graph import Graph
from tamiz.kernels._compilation import compile_ahead, default_kernels
from tamiz.method_lookup import choose_merit_and_search
from tamiz.reduction.base import Reducer
from tamiz.reduction.majorization.pairs import MAX_FLOAT64_ROWS
from tamiz.report.result import Result
from tamiz.report.shape import FORMAT
from tamiz.runtime import parallel
from tamiz.runtime.memory import SizeLike
from tamiz.runtime.random import Seed, make_rng
from tamiz.runtime.registry import method_label
from tamiz.runtime.user_warnings import collect_warnings, warn_user
from tamiz.runtime.validation import check_choice, check_integer
from tamiz.search import registry as searches
from tamiz.search.base import Search, SetSize
from tamiz.search.stopping import StoppingRule
from tamiz.selection import SubsetSelector
from tamiz.sources.base import Source
from tamiz.sources.date_parts import split_dates
from tamiz.sources.factory import open_source
from tamiz.sources.row_groups import group_warnings, weight_groups_equally
from tamiz.sources.schema import Kind, Schema
from tamiz.sources.views import RowNumbers


def study(
    data: Any,
    target: Any = None,
    *,
    kinds: Mapping[str, Kind] | Kind | None = None,
    weight: Any = None,
    groups: Any = None,
    time: Any = None,
    memory: SizeLike | None = None,
    header: bool | None = None,
    relevances: Sequence[Relevance] | None = None,
    merit: Merit | None = None,
    search: Search | None = None,
    maps: Sequence[Reducer | str] | None = None,
    map_rows: int | None = None,
    dissimilarity: str = "seuclidean",
    graph: GraphBuilder | Graph | None = None,
    missing: MissingRule = "distribute",
    n_features: SetSize | None = None,
    stop: StoppingRule | None = None,
    journal: str | os.PathLike[str] | None = None,
    allow_duplicates: bool = False,
    max_seconds: float | None = None,
    assess: bool | None = None,
    scoring: str | None = None,
    points: bool | int = True,
    random_state: Seed = 0,
    n_jobs: int | None = None,
) -> Result:
    """Study a table: which columns carry information, which subset to keep, what the rows look like.

    Parameters
    ----------
    data, target, kinds, weight, groups, time, memory, header
        As in `open_source`; data may be a Source. Dates take part as year, month, weekday and hour (`split_dates`); those of kind
        "numeric" as seconds since 1970.
    relevances : list of Relevance, default=None
        The ranking's criteria; None is every one that has a meaning on the table and is cheap.
    merit, search : Merit and Search, default=None
        How the subset is chosen; None is CFS() and BestFirst(), and where the target is a number CrossValidated("ridge") and
        Forward(). Without a target no subset is chosen by a merit that needs one.
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
    n_features, stop, journal, allow_duplicates
        As in `SubsetSelector`.
    max_seconds : float, default=None
        What the study may take. Steps that grow with the table work on samples, sized by estimates of their time for about two
        minutes on two cores; a number sizes them in proportion (`inf`: all rows, but for maps of n x n cost), ends the search when
        40 % of what is left then is over, and leaves out steps that there is no time for. Notes say what was sampled or left out.
        None does not look at the clock: the same table and seed give the same result.
    assess : bool, default=None
        Whether the selection is evaluated on rows that took no part in it: nested cross-validation beside other selections
        (`recommend_columns`), the permutation test and the stability of its columns (`selection_report`), and the noise experiment
        (`run_noise_experiment`), all on the same rows and folds, of a large table a sample. None leaves out what takes long, with a
        note.
    scoring : str, default=None
        The scorer of scikit-learn's that decides there; None is the area under the ROC curve for classes, R2 for a number. It
        need not be that of the merit.
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
        Names, numbers, versions and warnings, with `to_html(path)`, `to_json(path)` and `to_dict()`, and the `timings` of its
        steps, which no file has.

    Notes
    -----
    Ctrl-C ends the work at hand; the result then holds what was found and says so. What nobody asked for and cannot be done, such
    as a graph of rows that are all equal, is left out, and the result says why.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tamiz import study
    >>> iris = load_iris(as_frame=True)
    >>> result = study(iris.data, iris.target, assess=False)
    >>> result.to_dict()["subset"]["columns"]
    ['petal length (cm)', 'petal width (cm)']
    """
    arguments = dict(locals())
    of_table = {
        "target": target,
        "kinds": kinds,
        "weight": weight,
        "groups": groups,
        "time": time,
        "memory": memory,
        "header": header,
    }
    _check_arguments(data, of_table, graph)
    check_choice("dissimilarity", dissimilarity, DISSIMILARITIES)
    check_maps(maps or (), dissimilarity)
    most_fitted = None if map_rows is None else check_integer("map_rows", map_rows, low=2)
    most_drawn = None if isinstance(points, bool) else check_integer("points", points, low=2)
    run = StepRunner(Budget(max_seconds))
    rng = make_rng(random_state)
    with parallel.thread_session(n_jobs), collect_warnings() as told:
        source = run.run_required(
            "read", lambda: split_dates(data if isinstance(data, Source) else open_source(data, **of_table))
        )
        schema = source.schema
        target_kind = "none" if schema.target is None else "classes" if schema.has_classes else "number"
        with run.budget.paused():
            compile_ahead(default_kernels(target_kind, include_float32=schema.n_rows > MAX_FLOAT64_ROWS), n_jobs)
        chosen_by, searched_by = choose_merit_and_search(merit, search, schema, missing)
        searched = _can_search(chosen_by, schema, assess=assess)
        rows = sample_shown_rows(schema.n_rows, most_drawn, rng)
        wanted = resolve_maps(maps, schema, dissimilarity)
        table = run.run_required("table", lambda: describe_table(source))
        warn_user(_missing_value_notes(schema, missing))
        asked = [*(relevances or ()), *(one.reducer for one in wanted if one.explicit)]
        parts = [*(relevances or ()), *(one.reducer for one in wanted)]
        needed = relevances is None or graph is not None or any(map(needs_graph, parts))
        run.estimates = estimate_steps(
            schema, run.budget, len(rows), len(wanted), sample_graph=graph is None, search_subset=searched
        )
        joined = (
            run.run_optional(
                "graph", lambda: _try_row_graph(source, graph, asked, rows, rng, run.budget), "the graph of the rows"
            )
            if needed
            else None
        )
        seed = int(rng.integers(2**63))
        # The same lots as `SubsetSelector` draws by the same number, and whenever the search is repeated.
        lots = random_state if isinstance(random_state, int) else seed
        selector = SubsetSelector(
            chosen_by,
            searched_by,
            n_features=n_features,
            stop=run.budget.search_stopping(stop, len(schema.used)),
            journal=journal,
            random_state=lots,
            allow_duplicates=allow_duplicates,
        )
        begun = _StudyRun(
            run,
            joined or RowGraph(source),
            rows,
            missing,
            dissimilarity,
            seed,
            lots,
            assess=assess,
            scoring=scoring,
            points=bool(points),
        )
        columns = begun.rank(relevances)
        subset = begun.select(selector) if searched else None
        maps_drawn = begun.embed(wanted, most_fitted)
        evaluated = begun.evaluate(selector, subset)
        colors = begun.describe_colors_and_clusters(columns["ranking"]) if points and maps_drawn["maps"] else []
        warn_user(run.omission_notes())
    return Result(
        {
            "format": FORMAT,
            "tamiz": __version__,
            "versions": _versions(),
            "title": _title(data),
            "seed": random_state if isinstance(random_state, int) else None,
            "warnings": list(dict.fromkeys([*schema.dropped_row_notes, *schema.notes, *told])),
            "interrupted": run.interruption_note,
            "table": table,
            "graph": describe_graph(begun.row_graph, method_label(graphs, begun.row_graph.builder)),
            **columns,
            "subset": subset,
            **evaluated,
            **maps_drawn,
            "colors": colors,
            "reproduction": describe_reproduction(study, arguments, schema, None if subset is None else selector),
        },
        run.timings,
    )


@dataclass(frozen=True)
class _StudyRun:
    """A study under way: the table, the graph of its rows, and what more than one of its steps is told.

    Attributes
    ----------
    steps : Run
    row_graph : RowGraph
    rows : ndarray of row numbers
        Those drawn in the maps.
    missing, dissimilarity, assess, scoring, points
        As in `study`.
    seed : int
    search_seed : int
        What the search draws by, here and whenever it is repeated.
    """

    steps: StepRunner
    row_graph: RowGraph
    rows: RowNumbers
    missing: MissingRule
    dissimilarity: str
    seed: int
    search_seed: int
    _: KW_ONLY
    assess: bool | None
    scoring: str | None
    points: bool

    @property
    def source(self) -> Source:
        """The table."""
        return self.row_graph.table

    @property
    def budget(self) -> Budget:
        """What the study may take."""
        return self.steps.budget

    def rank(self, relevances: Sequence[Relevance] | None) -> dict[str, Any]:
        """Return the columns by every criterion, and those that say the same."""
        ranked = choose_ranking_criteria(relevances, self.source.schema, self.missing, self.row_graph)
        warn_user(group_warnings(self.source))
        # Relevances that read rows have a source of their own.
        counted = weight_groups_equally(self.source)
        scored = self.steps.run_step("ranking", lambda: describe_ranking(counted, ranked))
        if scored is not None:
            scored["combined"] = self.steps.run_optional(
                "combined rank",
                lambda: describe_mean_rank(counted, ranked, scored, self.seed, self.budget),
                "the mean rank over all criteria",
            )
        repeating = self.steps.run_optional(
            "redundancy",
            lambda: describe_redundancy(self.source, scored, self.missing, self.budget),
            "the redundancy of the columns",
        )
        return {"ranking": scored, "redundancy": repeating}

    def select(self, selector: SubsetSelector) -> dict[str, Any] | None:
        """Search, and return the subset with the reasons for every column."""
        subset = self.steps.run_step("subset", lambda: _search_subset(selector, self.source, self.steps))
        if subset is None:
            return None
        explained = self.steps.run_optional(
            "reasons", lambda: self._explain(selector, subset["columns"]), "why each column is chosen or not"
        )
        return subset | (explained or {"reasons": [], "lattice": None, "notes": []})

    def _explain(self, selector: SubsetSelector, chosen: list[str]) -> dict[str, Any]:
        """Return why each column is in or out, and which of those chosen say the same."""
        shared = redundant_pair_notes(self.source, chosen, self.missing, self.budget)
        return {**explain_subset(selector, self.source), "notes": shared}

    def embed(self, map_requests: Sequence[MapRequest], max_rows: int | None) -> dict[str, Any]:
        """Fit the maps, of at most so many rows where their cost grows with the square, and judge them."""
        drawn: list[tuple[StudyMap, dict[str, Any]]] = []
        self.steps.run_step("maps", lambda: self._fit_maps(map_requests, drawn, max_rows))
        judged = self.steps.run_optional("quality", lambda: self._evaluate_maps(drawn), "the quality of the maps")
        return {"maps": [described for _, described in drawn], "quality": judged}

    def _fit_maps(
        self,
        map_requests: Sequence[MapRequest],
        fitted_maps: list[tuple[StudyMap, dict[str, Any]]],
        max_rows: int | None,
    ) -> None:
        """Fit the maps one by one; what nobody asked for and cannot be drawn is left out."""
        for one in map_requests:
            if not one.explicit and needs_graph(one.reducer) and self.row_graph.connected_graph is None:
                continue
            if not self.steps.fits_budget(self.steps.estimates["maps"].per_part(len(map_requests)), one.label):
                continue
            reducer = (
                self.row_graph.with_graph(one.reducer)
                if one.is_user_reducer
                else self.row_graph.with_connected_graph(one.reducer)
            )
            source = self.row_graph.source_for(reducer)
            shown = self.row_graph.row_positions(self.rows, source)
            try:
                mapped = fit_map(reducer, source, shown, max_rows, self.seed, self.budget)
                label = {"id": one.id, "label": one.label}
                fitted_maps.append((mapped, describe_map(mapped, label, shown if self.points else None, self.seed)))
            except (DataError, MemoryError) as error:
                if one.explicit:
                    raise
                warn_user([f"{one.label} is left out: {error}"])

    def _evaluate_maps(self, fitted_maps: Sequence[tuple[StudyMap, dict[str, Any]]]) -> dict[str, Any] | None:
        """Judge the two axes of every map that a reader sees."""
        maps = [
            (described["label"], mapped.embedding_of(self.row_graph.row_positions(self.rows, mapped.source))[:, :2])
            for mapped, described in fitted_maps
        ]
        return describe_quality(self.source, self.rows, maps, self.dissimilarity, self.seed, points=self.points)

    def evaluate(self, selector: SubsetSelector, subset: dict[str, Any] | None) -> dict[str, Any]:
        """Return what selections are worth to models, how far the subset can be trusted, and what added columns cost."""
        found = dict.fromkeys(("recommendation", "model_effect", "assessment", "noise_experiment"))
        evaluation = prepare_evaluation(
            self.source, self.scoring, self.search_seed, assess=self.assess, budget=self.budget
        )
        if evaluation is None:
            return found
        if subset is not None:
            seconds = self.steps.seconds("subset")
            if evaluation.source is not self.source:
                # Fewer rows can take longer: more columns then look worth a place by chance.
                seconds = evaluation.search_seconds(selector)
            recommended = self.steps.run_optional(
                "recommendation", lambda: evaluation.recommend(selector, seconds), "the comparison of selections"
            )
            if recommended is not None:
                found["recommendation"], found["model_effect"] = recommended
            found["assessment"] = self.steps.run_optional(
                "assessment", lambda: evaluation.assess(selector, seconds), "how far the subset can be trusted"
            )
        found["noise_experiment"] = self.steps.run_optional(
            "noise_experiment",
            lambda: evaluation.run_noise_experiment(CFS(missing=self.missing)),
            "the noise experiment",
        )
        return found

    def describe_colors_and_clusters(self, ranking: dict[str, Any] | None) -> list[dict[str, Any]]:
        """Return the columns, and the clusters, that maps are coloured by."""
        colors = describe_colors(self.source, self.rows, ranking)
        clusters = self.steps.run_optional(
            "clusters", lambda: describe_clusters(self.source, self.rows, self.seed), "clusters of the rows"
        )
        return [*colors, *([] if clusters is None else [clusters])]


def _check_arguments(data: Any, table_options: Mapping[str, Any], graph: Any) -> None:
    if isinstance(data, Source) and any(given is not None for given in table_options.values()):
        raise TypeError(
            "A source has its own target, kinds, weights, groups, times, memory and header: pass them to open_source, not to study."
        )
    if graph is not None and not isinstance(graph, GraphBuilder | Graph):
        raise TypeError(f"study takes a graph such as KNearest(15), got {graph!r}.")


def _can_search(merit: Merit, schema: Schema, *, assess: bool | None) -> bool:
    """Whether a subset can be searched for."""
    if assess and schema.target is None:
        raise DataError(
            "assess=True asks how well the subset tells the target, and the table has none; name its column."
        )
    return schema.target is not None or not merit.reads_target


def _title(data: Any) -> str:
    return os.path.basename(data) if isinstance(data, str | os.PathLike) else f"{type(data).__name__} in memory"


def _try_row_graph(
    source: Source,
    requested: GraphBuilder | Graph | None,
    methods: Sequence[Any],
    shown_rows: RowNumbers,
    rng: np.random.Generator,
    budget: Budget,
) -> RowGraph | None:
    """Return the graph; None, and why, where it cannot be built and nobody asked for it."""
    try:
        return build_row_graph(source, requested, shown_rows, rng, budget)
    except (DataError, MemoryError) as error:
        if requested is not None or any(map(needs_graph, methods)):
            raise
        warn_user([f"The study goes on without a graph of the rows: {error}"])
        return None


def _missing_value_notes(schema: Schema, missing: MissingRule) -> list[str]:
    n = sum(len(column.levels) == 1 and column.n_missing > 0 for column in schema.columns)
    if n == 0 or missing == "category":
        return []
    return [
        f"{n:,} {'column holds' if n == 1 else 'columns hold'} one value and gaps, and so nothing to tell apart; "
        "with missing='category' (--missing category) a gap counts as a value of its own."
    ]


def _search_subset(selector: SubsetSelector, source: Source, steps: StepRunner) -> dict[str, Any] | None:
    try:
        selector.fit(source)
    except KeyboardInterrupt:
        steps.record_interrupt(f"subset, after {getattr(selector, 'n_evaluations_', 0):,} evaluations")
        if not hasattr(selector, "archive_"):
            return None
    merit = {**method_label(criteria, selector.criterion_), "label": selector.merit_name_}
    return describe_subset(selector, merit, method_label(searches, selector.search_))


def _versions() -> dict[str, str]:
    packages = ("numpy", "scipy", "scikit-learn", "numba", "pyarrow", "duckdb")
    return {"python": platform.python_version(), **{package: version(package) for package in packages}}
