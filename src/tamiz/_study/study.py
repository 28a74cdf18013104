"""The public function `study`: runs every step on one table and collects the records in one Result."""

from __future__ import annotations

import itertools
import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from importlib.metadata import version
from inspect import signature
from typing import Any, Unpack

import numpy as np
from sklearn.base import clone

from tamiz import __version__
from tamiz._study.budget import Budget, Step, StepEstimate, StepRunner
from tamiz._study.estimates import StudyExtent, estimate_steps
from tamiz._study.maps import MapRequest, choose_map_columns, describe_graph, resolve_maps
from tamiz._study.models import column_options
from tamiz._study.reproduction import describe_reproduction
from tamiz._study.run import StudyOptions, StudyRun
from tamiz._study.table import FoldDesign, choose_fold_design, exclude_leaks, missing_level_notes, summarize_table
from tamiz.arrays import Indices
from tamiz.criteria.base import Merit, Relevance
from tamiz.criteria.cross_validated import CrossValidated
from tamiz.criteria.entropies import MissingRule
from tamiz.exceptions import DataError
from tamiz.graphs import registry as graphs
from tamiz.graphs.builders import GraphBuilder
from tamiz.graphs.graph import Graph
from tamiz.graphs.row_graph import RowGraph, build_row_graph, needs_graph, restrict_to_map_columns
from tamiz.kernels._compilation import compile_ahead, default_kernels
from tamiz.reduction.base import Reducer
from tamiz.reduction.pairs import MAX_FLOAT64_ROWS
from tamiz.report.records import LeakageExclusion, StudyRecord, TableRecord
from tamiz.report.result import Result
from tamiz.runtime import parallel
from tamiz.runtime.codec import Named
from tamiz.runtime.random import Seed, make_rng, sample_rows
from tamiz.runtime.registry import method_label
from tamiz.runtime.user_warnings import capture_imputation_notes, collect_warnings, is_muted, mute_codes, warn_user
from tamiz.runtime.verdicts import Verdict, check_codes
from tamiz.search.base import Search
from tamiz.search.best_first import BestFirst
from tamiz.selection.defaults import choose_merit_and_search, resolve_search
from tamiz.selection.subset_selector import SubsetSelector
from tamiz.table.base import Table
from tamiz.table.date_parts import split_dates
from tamiz.table.factory import OpenArguments, open_table
from tamiz.table.schema import Schema
from tamiz.table.views import add_missing_level

# Folds of a numeric target test at least 2 rows. Of 6 rows, 4 are left for training, of which 2 folds can be made again.
_MIN_NESTED_ROWS = 6


def study(
    data: Any,
    target: Any = None,
    *,
    selector: SubsetSelector | None = None,
    relevances: Sequence[Relevance] | None = None,
    maps: Sequence[Reducer | str] | None = None,
    map_rows: int | None = None,
    map_columns: str | Sequence[str] = "numeric",
    dissimilarity: str = "seuclidean",
    graph: GraphBuilder | Graph | None = None,
    missing: MissingRule = "distribute",
    max_seconds: float | None = None,
    assess: bool | None = None,
    semi_synthetic: int = 0,
    scoring: str | None = None,
    keep_leaks: bool = False,
    random_folds: bool = False,
    mute: str | Sequence[str] = (),
    points: bool | int = True,
    random_state: Seed = 0,
    n_jobs: int | None = None,
    **table_options: Unpack[OpenArguments],
) -> Result:
    """Study a table: rank its columns, select a subset, evaluate it, and map the rows.

    Parameters
    ----------
    data, target
        As in `open_table`; `data` may be a Table. Dates are split into year, month, weekday and hour (`split_dates`); dates of
        kind "numeric" are seconds since 1970.
    selector : SubsetSelector, default=None
        How the subset is selected, with its columns, sizes, stopping rule and journal. By default selections of several methods are
        compared (`recommend_columns`), and so they are with a selector that only sets `n_features`, `allow_duplicates` or the
        columns of its search (`BestFirst(fixed=...)`), within these. A selector with a merit, another search, a stopping rule or a
        journal is asked for: its columns are the selected ones, and the comparison states what they cost. The study copies the
        selector; without a seed of its own it uses `random_state`. Without a target there is no subset if the merit needs a target.
    relevances : list of Relevance, default=None
        The criteria of the ranking. None uses every registered criterion of low cost that is defined for the table.
    maps : list of str or reducers, default=None
        Maps, as names that `tamiz methods` lists, such as "mds:ordinal", or as reducers. None is PCA, metric and ordinal MDS,
        Laplacian eigenmaps and UMAP.
    map_rows : int, default=None
        The most rows that a map of quadratic cost, such as MDS, is fitted on. A longer table is sampled, and the other rows that
        are shown are mapped by `transform`. None is 2,000, and 1,000 for ordinal MDS.
    map_columns : {"numeric", "all"} or list of str, default="numeric"
        The columns that the graph, the maps, their quality and the clusters of rows use, by name. "numeric" is the numeric columns
        of more than 12 distinct values where there are three or more, and else all, as with Gower's dissimilarity. The others are
        colours and explain the maps. With categories among the columns, a map often shows an island for each combination of levels.
    dissimilarity : {"seuclidean", "euclidean", "cityblock", "cosine", "gower"}, default="seuclidean"
        The dissimilarity of rows, for named maps that preserve distances and for the quality of all maps. "seuclidean" is the
        Euclidean distance of standardised columns; "gower" compares mixed columns, with missing values, one by one.
    graph : GraphBuilder or Graph, default=None
        The neighbour graph, built once and shared by every relevance and map that needs a graph and has `graph=None`. None is
        `KNearest(15, metric="seuclidean")`, with fewer neighbours in a table of fewer rows, and on a sample above 100,000 rows.
    missing : {"distribute", "category"}, default="distribute"
        How the default relevances and the default merit treat missing values: distribute their counts over the present values,
        or treat missing as a category of its own. A column of one value and missing values has a level for missing
        (`add_missing_level`).
    max_seconds : float, default=None
        The time budget. By default the steps whose cost grows with the table work on samples, sized from estimates for about two
        minutes on two cores, and the clock is not read: the same table and seed give the same result. A number scales the samples
        in proportion (`inf`: all rows, except for maps of n x n cost), stops the search after 40 % of the seconds that are then
        left, and skips steps that no longer fit. Warnings list what was sampled or skipped.
    assess : bool, default=None
        Whether to evaluate the selection by nested cross-validation beside other selections (`recommend_columns`), by a permutation
        test and the stability of its columns (`selection_report`), and by the noise experiment (`run_noise_experiment`). All use
        the same rows, a sample of a large table, and the same folds. None skips what takes long, with a warning.
    semi_synthetic : int, default=0
        The number of semi-synthetic targets, computed from random columns of the table, on which the search is repeated to estimate
        its true and false positive rates, as `selection_error_rates` does, on the rows of that evaluation. At least 2; with 20 the
        standard errors are a few percent. 0 leaves the rates out. Each target costs a search, and their signal 56 more.
    scoring : str, default=None
        The scikit-learn scorer of that evaluation. None is the area under the ROC curve for classes, and R2 for a numeric target.
        It may differ from the scorer of the merit.
    keep_leaks : bool, default=False
        Whether columns of possible target leakage, alone or by a formula, are used. By default they are set aside: no section uses
        them, and the result states the score of the best model with them and without. A column that the search has `fixed` or
        starts with is used in any case.
    random_folds : bool, default=False
        Whether folds are random where neither `groups` nor `time` are stated. By default a repeated id, the dates and the columns
        by which the rows are sorted are tried as groups and time (`compare_fold_designs`). The first one with which a forest scores
        lower, by more than the noise, is used as if it were passed, with a warning that states both scores.
    mute : str or list of str, default=()
        Codes of warnings that are left out, such as "TZ204"; `tamiz explain` lists them. No number depends on it.
    points : bool or int, default=True
        Whether the result contains the rows shown in the maps: at most 2,000, or this number. Without them it contains no row of
        the table. Above 2,000 rows, coordinates are rounded to 1/65536 of a map, and numbers to six digits.
    random_state : int, default=0
        Seed of the rows that the maps show, of samples and folds, and of searches that use random draws.
    n_jobs : int, default=None
        Threads; None uses the cores that this process may use.
    **table_options
        `kinds`, `weight`, `weights`, `groups`, `time`, `memory`, `header`, `encoding`, `sep`, `na` and `on_bad_rows`, as in
        `open_table`.

    Returns
    -------
    Result
        Names, numbers, versions and warnings, with `to_html(path)`, `to_json(path)` and `to_dict()`. Its attribute `timings`, the
        seconds of each step, is not written to files.

    Notes
    -----
    Ctrl-C ends the current step; the result then contains what was computed so far and reports the interruption. A default step
    that cannot be computed, such as a graph of rows that are all equal, is skipped, and a warning states why. A step that was
    requested raises the error instead.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tamiz import study
    >>> iris = load_iris(as_frame=True)
    >>> result = study(iris.data, iris.target, assess=False)
    >>> result.to_dict()["subset"]["columns"]
    ['petal length (cm)', 'petal width (cm)']
    """
    arguments = {"data": data, "target": target, **table_options, **locals()}
    del arguments["table_options"]
    options = StudyOptions(**{field.name: arguments[field.name] for field in fields(StudyOptions)})
    _check_arguments(data, {"target": target, **table_options}, options)
    steps = StepRunner(Budget(max_seconds))
    with (
        mute_codes(check_codes(mute)),
        parallel.thread_session(n_jobs),
        collect_warnings(warn_notes=False) as collected,
        capture_imputation_notes() as imputed,
    ):
        opened = steps.run_required(
            Step.READ,
            lambda: split_dates(data if isinstance(data, Table) else open_table(data, target, **table_options)),
        )
        target_kind = "none" if opened.schema.target is None else "classes" if opened.schema.has_classes else "number"
        with steps.budget.paused():
            include_float32 = opened.schema.n_rows > MAX_FLOAT64_ROWS
            compile_ahead(default_kernels(target_kind, include_float32=include_float32), n_jobs)
        level_notes = missing_level_notes(opened.schema)
        run = _prepare(add_missing_level(opened), level_notes, options, steps, _title(data))
        run.compute()
        warn_user([*run.missing_value_notes(imputed), *steps.omission_notes()])
        schema = run.table.schema
        warnings = dict.fromkeys([*schema.dropped_row_notes, *schema.notes, *collected])
        run.add(
            warnings=tuple(sorted(itertools.filterfalse(is_muted, warnings), key=lambda one: one.rank)),
            interruption=steps.interruption_note,
            reproduction=describe_reproduction(
                study,
                arguments,
                schema,
                None if run.record.subset is None else run.selector,
                run.comparison,
                run.left_out,
                run.design.roles,
                has_missing_levels=bool(level_notes),
            ),
        )
    return Result(run.record, steps.timings)


def _prepare(
    opened: Table, level_notes: Sequence[Verdict], options: StudyOptions, steps: StepRunner, title: str
) -> StudyRun:
    """Describe the table without its leaks, plan the steps, and build the graph of the rows."""
    rng = make_rng(options.random_state)
    selector = SubsetSelector() if options.selector is None else clone(options.selector)
    asked = asks_for_subset(selector)
    merit, search = choose_merit_and_search(selector.merit, selector.search, opened.schema, options.missing)
    searched = _can_search(merit, opened.schema, options)
    rows = sample_rows(opened.schema.n_rows, options.most_shown, rng)

    def describe() -> tuple[FoldDesign, Table, LeakageExclusion | None, TableRecord]:
        design = choose_fold_design(opened, random_folds=options.random_folds)
        leaks, names, used = design.leaks, design.table.schema.names, design.table.schema.used
        problem = search.make_problem(names, used, selector.n_features) if searched and leaks else None
        warn_user(design.warnings)
        table, exclusion = exclude_leaks(design.table, () if options.keep_leaks else leaks, problem)
        return design, table, exclusion, summarize_table(table, leaks)

    design, table, exclusion, described = steps.run_required(Step.TABLE, describe)
    warn_user(level_notes)
    n_distinct = {column.name: column.n_distinct for column in described.columns}
    method = (merit, search) if searched else None
    plan = plan_study(table, steps.budget, options, method, n_shown=len(rows), asked=asked, n_distinct=n_distinct)
    steps.estimates = plan.estimates
    row_graph = _build_graph(steps, table, options, plan, rows, rng)
    seed = int(rng.integers(2**63))
    known_seed = options.random_state if isinstance(options.random_state, int) else None
    selector.set_params(
        merit=merit, search=search, stop=steps.budget.search_stopping(selector.stop, len(table.schema.used))
    )
    if selector.random_state is None:
        # The random draws of `SubsetSelector(random_state=...)`, so that the selection alone can be reproduced.
        selector.random_state = seed if known_seed is None else known_seed
    record = StudyRecord(
        tamiz=__version__,
        versions=_versions(),
        title=title,
        seed=known_seed,
        table=described,
        leakage_exclusion=exclusion,
        fold_design=design.comparison,
        graph=describe_graph(row_graph, Named(**method_label(graphs, row_graph.builder))),
        map_columns=None if plan.map_columns is None else tuple(table.schema.names[j] for j in plan.map_columns),
    )
    return StudyRun(steps, record, table, row_graph, rows, selector, options, design, plan.maps, seed, searched, asked)


@dataclass(frozen=True)
class StudyPlan:
    """The columns and the methods of the maps of a study, and the estimated cost of each step."""

    map_columns: list[int] | None
    maps: list[MapRequest]
    estimates: dict[Step, StepEstimate]


def plan_study(
    table: Table,
    budget: Budget,
    options: StudyOptions,
    method: tuple[Merit, Search] | None,
    *,
    n_shown: int,
    asked: bool,
    n_distinct: Mapping[str, int | None],
) -> StudyPlan:
    """Return the plan of a study of a table, which shows `n_shown` rows and searches by a method."""
    dissimilarity = options.dissimilarity
    columns = choose_map_columns(options.map_columns, table.schema, dissimilarity, n_distinct)
    seen = restrict_to_map_columns(table, columns).schema
    requests = resolve_maps(options.maps, seen, dissimilarity, options.map_rows)
    extent = StudyExtent(
        n_shown=n_shown,
        n_maps=len(requests),
        sample_graph=options.graph is None,
        searched=method,
        assessed=options.assess is not False,
        asked=asked,
        semi_synthetic=options.semi_synthetic,
        map_schema=seen,
    )
    return StudyPlan(columns, requests, estimate_steps(table.schema, budget, extent))


def asks_for_subset(selector: SubsetSelector) -> bool:
    """Whether a selector asks for a search, and does not only restrict the columns of the default selections."""
    if not (selector.merit is None and selector.stop is None and selector.journal is None):
        return True
    search = resolve_search(selector.search)
    if search is None:
        return False
    restricted = column_options(search)
    usual = clone(search).set_params(**dict.fromkeys(restricted))
    return not any(value is not None for value in restricted.values()) or repr(usual) != repr(BestFirst())


def _check_arguments(data: Any, table_options: Mapping[str, Any], options: StudyOptions) -> None:
    for name in table_options.keys() - {"target", *OpenArguments.__annotations__}:
        hint = (
            f": it is a parameter of the selector, as in study(data, selector=SubsetSelector({name}=...))."
            if name in signature(SubsetSelector).parameters
            else "."
        )
        raise TypeError(f"study() has no parameter {name!r}{hint}")
    if isinstance(data, Table) and any(value is not None for value in table_options.values()):
        raise TypeError(
            "A Table has its own target, kinds, weights, groups, times, memory and header: pass them to open_table, not to study."
        )
    options.check()


def _can_search(merit: Merit, schema: Schema, options: StudyOptions) -> bool:
    """Whether a subset can be searched for; an error if it is to be evaluated and there is no target."""
    if options.assess and schema.target is None:
        raise DataError(
            "assess=True evaluates how well the subset predicts the target, and the table has no target; pass target=."
        )
    if options.semi_synthetic and schema.target is None:
        raise DataError(
            f"semi_synthetic={options.semi_synthetic} repeats the search on targets with the values of the real one, and the table "
            "has no target; pass target=."
        )
    is_wrapper = isinstance(merit, CrossValidated)
    if options.assess and is_wrapper and not schema.has_classes and schema.n_rows < _MIN_NESTED_ROWS:
        raise DataError(
            f"assess=True (--assess) cross-validates the merit again in every fold, which needs at least {_MIN_NESTED_ROWS} rows; "
            f"the table has {schema.n_rows} with a target. Pass more rows, or leave out assess."
        )
    return schema.target is not None or not merit.reads_target


def _title(data: Any) -> str:
    return os.path.basename(data) if isinstance(data, str | os.PathLike) else f"{type(data).__name__} in memory"


def _build_graph(
    steps: StepRunner,
    table: Table,
    options: StudyOptions,
    plan: StudyPlan,
    shown_rows: Indices,
    rng: np.random.Generator,
) -> RowGraph:
    """Return the graph of the rows; without one if nothing needs it, or, with a warning, if a default one cannot be built."""
    requested, relevances = options.graph, options.relevances
    asked = [*(relevances or ()), *(one.reducer for one in plan.maps if one.explicit)]
    required = requested is not None or any(map(needs_graph, asked))
    without = RowGraph(table, map_columns=plan.map_columns)
    if relevances is not None and not required and not any(needs_graph(one.reducer) for one in plan.maps):
        return without

    def build() -> RowGraph:
        # The record of the graph describes its components, which most tables have several of.
        with mute_codes(["TZ401"]):
            return build_row_graph(table, requested, shown_rows, rng, steps.budget.scale, columns=plan.map_columns)

    return steps.run_optional(Step.GRAPH, build, requested=required) or without


def _versions() -> dict[str, str]:
    packages = ("numpy", "scipy", "scikit-learn", "numba", "pyarrow", "duckdb")
    return {"python": platform.python_version(), **{package: version(package) for package in packages}}
