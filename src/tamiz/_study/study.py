"""The public function `study`: runs every step on one table and collects the records in one Result."""

from __future__ import annotations

import os
import platform
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, replace
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
from tamiz._study.missing_values import missing_value_notes, single_value_notes
from tamiz._study.models import ModelEvaluation, prepare_evaluation
from tamiz._study.quality import describe_quality
from tamiz._study.ranking import RankingCriterion, choose_ranking_criteria, describe_ranking
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
from tamiz.report.records.codec import Named
from tamiz.report.records.columns import RankingRecord, RedundancyRecord, SubsetRecord
from tamiz.report.records.maps import ColorColumn, MapRecord, QualityRecord
from tamiz.report.records.models import AssessmentRecord, ModelEffectRecord, NoiseExperimentRecord, RecommendationRecord
from tamiz.report.records.study import StudyRecord
from tamiz.report.result import Result
from tamiz.runtime import parallel
from tamiz.runtime.memory import SizeLike
from tamiz.runtime.random import Seed, make_rng
from tamiz.runtime.registry import method_label
from tamiz.runtime.user_warnings import capture_imputation_notes, collect_warnings, warn_user
from tamiz.runtime.validation import check_choice, check_integer
from tamiz.search import registry as searches
from tamiz.search.base import Search, SetSize
from tamiz.search.stopping import StoppingRule
from tamiz.selection.subset_selector import SubsetSelector
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
    semi_synthetic: int = 0,
    scoring: str | None = None,
    points: bool | int = True,
    random_state: Seed = 0,
    n_jobs: int | None = None,
) -> Result:
    """Study a table: rank its columns, select a subset, evaluate it, and map the rows.

    Parameters
    ----------
    data, target, kinds, weight, groups, time, memory, header
        As in `open_source`; `data` may be a Source. Dates are split into year, month, weekday and hour (`split_dates`); dates of
        kind "numeric" are seconds since 1970.
    relevances : list of Relevance, default=None
        The criteria of the ranking. None uses every registered criterion of low cost that is defined for the table.
    merit, search : Merit and Search, default=None
        How the subset is selected. None is CFS() and BestFirst(), and for a numeric target CrossValidated("ridge") and Forward().
        Without a target there is no subset if the merit needs a target.
    maps : list of str or reducers, default=None
        Maps, as names that `tamiz methods` lists, such as "mds:ordinal", or as reducers. None is PCA, metric and ordinal MDS and
        Laplacian eigenmaps.
    map_rows : int, default=None
        The most rows that a map of quadratic cost, such as MDS, is fitted on. A longer table is sampled, and the other rows that
        are shown are mapped by `transform`. None is 2,000, and 1,000 for ordinal MDS.
    dissimilarity : {"seuclidean", "euclidean", "cityblock", "cosine", "gower"}, default="seuclidean"
        The dissimilarity of rows, for named maps that preserve distances and for the quality of all maps. "seuclidean" is the
        Euclidean distance of standardised columns; "gower" compares mixed columns, with missing values, one by one.
    graph : GraphBuilder or Graph, default=None
        The neighbour graph, built once and shared by every relevance and map that needs a graph and has `graph=None`. None is
        `KNearest(15, metric="seuclidean")`, with fewer neighbours in a table of fewer rows, and on a sample above 100,000 rows.
    missing : {"distribute", "category"}, default="distribute"
        How the default relevances and the default merit treat missing values: distribute their counts over the present values,
        or treat missing as a category of its own.
    n_features, stop, journal, allow_duplicates
        As in `SubsetSelector`.
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
    points : bool or int, default=True
        Whether the result contains the rows shown in the maps: at most 2,000, or this number. Without them it contains no row of
        the table. Above 2,000 rows, coordinates are rounded to 1/65536 of a map, and numbers to six digits.
    random_state : int, default=0
        Seed of the rows that the maps show, of samples and folds, and of searches that use random draws.
    n_jobs : int, default=None
        Threads; None uses the cores that this process may use.

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
    _check_semi_synthetic(semi_synthetic, assess=assess)
    run = StepRunner(Budget(max_seconds))
    rng = make_rng(random_state)
    with parallel.thread_session(n_jobs), collect_warnings() as collected, capture_imputation_notes() as imputed:
        source = run.run_required(
            "read", lambda: split_dates(data if isinstance(data, Source) else open_source(data, **of_table))
        )
        schema = source.schema
        target_kind = "none" if schema.target is None else "classes" if schema.has_classes else "number"
        with run.budget.paused():
            compile_ahead(default_kernels(target_kind, include_float32=schema.n_rows > MAX_FLOAT64_ROWS), n_jobs)
        used_merit, used_search = choose_merit_and_search(merit, search, schema, missing)
        searched = _can_search(used_merit, schema, assess=assess, semi_synthetic=semi_synthetic)
        rows = sample_shown_rows(schema.n_rows, most_drawn, rng)
        wanted = resolve_maps(maps, schema, dissimilarity, most_fitted)
        table = run.run_required("table", lambda: describe_table(source))
        warn_user(single_value_notes(schema, missing))
        asked = [*(relevances or ()), *(one.reducer for one in wanted if one.explicit)]
        parts = [*(relevances or ()), *(one.reducer for one in wanted)]
        needed = relevances is None or graph is not None or any(map(needs_graph, parts))
        run.estimates = estimate_steps(
            schema,
            run.budget,
            len(rows),
            len(wanted),
            sample_graph=graph is None,
            search_subset=searched,
            semi_synthetic=semi_synthetic,
        )
        joined = (
            run.run_optional(
                "graph", lambda: _try_row_graph(source, graph, asked, rows, rng, run.budget), "the graph of the rows"
            )
            if needed
            else None
        )
        seed = int(rng.integers(2**63))
        # The random draws of `SubsetSelector(random_state=...)`, so that the selection alone can be reproduced.
        search_seed = random_state if isinstance(random_state, int) else seed
        selector = SubsetSelector(
            used_merit,
            used_search,
            n_features=n_features,
            stop=run.budget.search_stopping(stop, len(schema.used)),
            journal=journal,
            random_state=search_seed,
            allow_duplicates=allow_duplicates,
        )
        study_run = _StudyRun(
            run,
            joined or RowGraph(source),
            rows,
            missing,
            dissimilarity,
            seed,
            search_seed,
            assess=assess,
            semi_synthetic=semi_synthetic,
            scoring=scoring,
            points=bool(points),
        )
        ranked = choose_ranking_criteria(relevances, schema, missing, study_run.row_graph)
        ranking, redundancy = study_run.rank(ranked)
        subset = study_run.select(selector) if searched else None
        fitted_maps, quality = study_run.embed(wanted, most_fitted)
        evaluated = study_run.evaluate(selector, subset)
        colors = study_run.describe_colors_and_clusters(ranking) if points and fitted_maps else ()
        methods = [
            *(one.relevance for one in ranked if ranking is not None),
            *([] if subset is None else [used_merit]),
            *(one.reducer for one in wanted if fitted_maps),
            *(one for one in [study_run.row_graph.builder] if isinstance(one, GraphBuilder)),
        ]
        warn_user(missing_value_notes(schema, imputed, methods, None if redundancy is None else missing))
        warn_user(run.omission_notes())
    return Result(
        StudyRecord(
            tamiz=__version__,
            versions=_versions(),
            title=_title(data),
            seed=random_state if isinstance(random_state, int) else None,
            warnings=tuple(dict.fromkeys([*schema.dropped_row_notes, *schema.notes, *collected])),
            interruption=run.interruption_note,
            table=table,
            graph=describe_graph(study_run.row_graph, Named(**method_label(graphs, study_run.row_graph.builder))),
            ranking=ranking,
            redundancy=redundancy,
            subset=subset,
            recommendation=evaluated.recommendation,
            model_effect=evaluated.model_effect,
            noise_experiment=evaluated.noise_experiment,
            assessment=evaluated.assessment,
            maps=fitted_maps,
            quality=quality,
            colors=colors,
            reproduction=describe_reproduction(study, arguments, schema, None if subset is None else selector),
        ),
        run.timings,
    )


@dataclass(frozen=True)
class _Evaluated:
    """The sections that evaluate the subset by models; None was not computed."""

    recommendation: RecommendationRecord | None = None
    model_effect: ModelEffectRecord | None = None
    assessment: AssessmentRecord | None = None
    noise_experiment: NoiseExperimentRecord | None = None


@dataclass(frozen=True)
class _StudyRun:
    """One run of `study`: the table, the graph of its rows, and the parameters that several steps use.

    Attributes
    ----------
    steps : StepRunner
    row_graph : RowGraph
    rows : ndarray of row numbers
        The rows that the maps show.
    missing, dissimilarity, assess, semi_synthetic, scoring, points
        As in `study`.
    seed : int
    search_seed : int
        Seed of the search and of its evaluation.
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
    semi_synthetic: int
    scoring: str | None
    points: bool

    @property
    def source(self) -> Source:
        """The table."""
        return self.row_graph.table

    @property
    def budget(self) -> Budget:
        """The time and memory budget."""
        return self.steps.budget

    def rank(self, ranked: list[RankingCriterion]) -> tuple[RankingRecord | None, RedundancyRecord | None]:
        """Return the ranking of the columns by every criterion, and the redundancy of the columns."""
        warn_user(group_warnings(self.source))
        # Relevances that compare rows with rows read the source of their RankingCriterion instead.
        weighted = weight_groups_equally(self.source)
        scored = self.steps.run_step("ranking", lambda: describe_ranking(weighted, ranked))
        ranking = scored
        if scored is not None:
            mean_rank = self.steps.run_optional(
                "mean rank",
                lambda: describe_mean_rank(weighted, ranked, scored, self.seed, self.budget),
                "the mean rank over all criteria",
            )
            ranking = replace(scored, mean_rank=mean_rank)
        redundancy = self.steps.run_optional(
            "redundancy",
            lambda: describe_redundancy(self.source, ranking, self.missing, self.budget),
            "the redundancy of the columns",
        )
        return ranking, redundancy

    def select(self, selector: SubsetSelector) -> SubsetRecord | None:
        """Run the search and return the subset, with the reason why each column is in or out."""
        subset = self.steps.run_step("subset", lambda: _search_subset(selector, self.source, self.steps))
        if subset is None:
            return None
        explained = self.steps.run_optional(
            "reasons", lambda: self._explain(selector, subset), "why each column is selected or not"
        )
        return explained or subset

    def _explain(self, selector: SubsetSelector, subset: SubsetRecord) -> SubsetRecord:
        """Return the subset with why each column is in or out, and which selected columns are redundant."""
        notes = redundant_pair_notes(self.source, subset.columns, self.missing, self.budget)
        return explain_subset(subset, selector, self.source, notes)

    def embed(
        self, map_requests: Sequence[MapRequest], max_rows: int | None
    ) -> tuple[tuple[MapRecord, ...], QualityRecord | None]:
        """Fit the maps and evaluate their quality; maps of quadratic cost are fitted on at most `max_rows` rows."""
        drawn: list[tuple[StudyMap, MapRecord]] = []
        self.steps.run_step("maps", lambda: self._fit_maps(map_requests, drawn, max_rows))
        evaluated = self.steps.run_optional("quality", lambda: self._evaluate_maps(drawn), "the quality of the maps")
        return tuple(described for _, described in drawn), evaluated

    def _fit_maps(
        self,
        map_requests: Sequence[MapRequest],
        fitted_maps: list[tuple[StudyMap, MapRecord]],
        max_rows: int | None,
    ) -> None:
        """Fit the maps one by one and append them to `fitted_maps`; a default map that fails is skipped with a warning."""
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
                builder = self.row_graph.builder if needs_graph(one.reducer) else None
                mapped = fit_map(reducer, source, shown, max_rows, self.seed, self.budget, builder)
                name = Named(id=one.id, label=one.label)
                fitted_maps.append((mapped, describe_map(mapped, name, shown if self.points else None, self.seed)))
            except (DataError, MemoryError) as error:
                if one.explicit:
                    raise
                warn_user([f"{one.label} is left out: {error}"])

    def _evaluate_maps(self, fitted_maps: Sequence[tuple[StudyMap, MapRecord]]) -> QualityRecord | None:
        """Evaluate the first two axes of every map, which are the ones that the report shows."""
        maps = [
            (described.label, mapped.embedding_of(self.row_graph.row_positions(self.rows, mapped.source))[:, :2])
            for mapped, described in fitted_maps
        ]
        return describe_quality(self.source, self.rows, maps, self.dissimilarity, self.seed, points=self.points)

    def evaluate(self, selector: SubsetSelector, subset: SubsetRecord | None) -> _Evaluated:
        """Return the comparison of selections under several models, the assessment of the subset, and the noise experiment."""
        evaluation = prepare_evaluation(
            self.source, self.scoring, self.search_seed, assess=self.assess, budget=self.budget
        )
        if evaluation is None:
            return _Evaluated()
        recommended = assessed = None
        if subset is not None:
            seconds = self.steps.seconds("subset")
            if evaluation.source is not self.source:
                # A search on fewer rows can take longer: more columns then raise the merit by chance.
                seconds = evaluation.search_seconds(selector)
            recommended = self.steps.run_optional(
                "recommendation", lambda: evaluation.recommend(selector, seconds), "the comparison of selections"
            )
            assessed = self.steps.run_optional(
                "assessment", lambda: evaluation.assess(selector, seconds), "the reliability of the selection"
            )
            if self.semi_synthetic:
                assessed = self._add_error_rates(evaluation, selector, assessed)
        experiment = self.steps.run_optional(
            "noise_experiment",
            lambda: evaluation.run_noise_experiment(CFS(missing=self.missing)),
            "the noise experiment",
        )
        recommendation, model_effect = recommended or (None, None)
        return _Evaluated(recommendation, model_effect, assessed, experiment)

    def _add_error_rates(
        self, evaluation: ModelEvaluation, selector: SubsetSelector, assessed: AssessmentRecord | None
    ) -> AssessmentRecord | None:
        """Return the assessment with the error rates on semi-synthetic targets; a warning states why there are none."""
        if assessed is None:
            if self.steps.interruption_note is None:
                warn_user(
                    ["The error rates on semi-synthetic targets are left out with the reliability of the selection."]
                )
            return None
        rates = self.steps.run_optional(
            "error rates",
            lambda: evaluation.estimate_error_rates(selector, self.semi_synthetic),
            "the error rates on semi-synthetic targets",
        )
        return replace(assessed, error_rates=rates)

    def describe_colors_and_clusters(self, ranking: RankingRecord | None) -> tuple[ColorColumn, ...]:
        """Return the columns and the clusters that the maps can be coloured by."""
        colors = describe_colors(self.source, self.rows, ranking)
        clusters = self.steps.run_optional(
            "clusters", lambda: describe_clusters(self.source, self.rows, self.seed), "clusters of the rows"
        )
        return (*colors, *(() if clusters is None else (clusters,)))


def _check_arguments(data: Any, table_options: Mapping[str, Any], graph: Any) -> None:
    if isinstance(data, Source) and any(value is not None for value in table_options.values()):
        raise TypeError(
            "A source has its own target, kinds, weights, groups, times, memory and header: pass them to open_source, not to study."
        )
    if graph is not None and not isinstance(graph, GraphBuilder | Graph):
        raise TypeError(f"graph must be a builder such as KNearest(15) or a Graph, got {graph!r}.")


def _check_semi_synthetic(n_draws: Any, *, assess: bool | None) -> None:
    if n_draws != 0 and check_integer("semi_synthetic", n_draws, low=2) and assess is False:
        raise ValueError(
            f"semi_synthetic={n_draws} is part of the evaluation that assess=False leaves out; pass assess=True, or neither."
        )


def _can_search(merit: Merit, schema: Schema, *, assess: bool | None, semi_synthetic: int) -> bool:
    """Whether a subset can be searched for; an error if it is to be evaluated and there is no target."""
    if assess and schema.target is None:
        raise DataError(
            "assess=True evaluates how well the subset predicts the target, and the table has no target; pass target=."
        )
    if semi_synthetic and schema.target is None:
        raise DataError(
            f"semi_synthetic={semi_synthetic} repeats the search on targets with the values of the real one, and the table has no "
            "target; pass target=."
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
    """Return the graph; None, with a warning, if it cannot be built and no argument of `study` needs it."""
    try:
        return build_row_graph(source, requested, shown_rows, rng, budget)
    except (DataError, MemoryError) as error:
        if requested is not None or any(map(needs_graph, methods)):
            raise
        warn_user([f"The graph of the rows is left out: {error}"])
        return None


def _search_subset(selector: SubsetSelector, source: Source, steps: StepRunner) -> SubsetRecord | None:
    try:
        selector.fit(source)
    except KeyboardInterrupt:
        steps.record_interrupt(f"subset, after {getattr(selector, 'n_evaluations_', 0):,} evaluations")
        if not hasattr(selector, "archive_"):
            return None
    merit = Named(id=method_label(criteria, selector.criterion_)["id"], label=selector.merit_name_)
    return describe_subset(selector, merit, Named(**method_label(searches, selector.search_)))


def _versions() -> dict[str, str]:
    packages = ("numpy", "scipy", "scikit-learn", "numba", "pyarrow", "duckdb")
    return {"python": platform.python_version(), **{package: version(package) for package in packages}}
