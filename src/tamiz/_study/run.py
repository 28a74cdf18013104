"""The steps of one study: ranking, subset, evaluation by models, maps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tamiz._study.budget import Step, StepRunner
from tamiz._study.estimates import bootstrap_refusal
from tamiz._study.maps import (
    DISSIMILARITIES,
    MapRequest,
    check_maps,
    collect_colors,
    color_clusters,
    measure_quality,
    record_map,
)
from tamiz._study.models import (
    ModelEvaluation,
    loss_warnings,
    perfect_score_warnings,
    prepare_evaluation,
    stability_warnings,
)
from tamiz._study.ranking import (
    add_associations,
    count_distributions,
    find_chance_level,
    find_redundancy,
    rank_columns,
    redundant_pair_notes,
)
from tamiz._study.table import FoldDesign, leakage_warnings, missing_value_notes
from tamiz.arrays import Indices
from tamiz.assessment.mean_ranks import RankingCriterion, choose_ranking_criteria, combine_ranks
from tamiz.criteria.base import Relevance
from tamiz.criteria.cfs import CFS
from tamiz.criteria.entropies import MissingRule
from tamiz.exceptions import DataError
from tamiz.graphs.builders import GraphBuilder
from tamiz.graphs.graph import Graph
from tamiz.graphs.row_graph import MAX_SHOWN_ROWS, RowGraph, needs_graph
from tamiz.reduction.base import Reducer
from tamiz.reduction.table_embedding import TableEmbedding, fit_map
from tamiz.report.records import ColumnDecision, MapRecord, QualityRecord, StudyRecord
from tamiz.runtime.codec import Named
from tamiz.runtime.random import Seed
from tamiz.runtime.user_warnings import ImputationNote, capture_warnings, note_user, plain_notes, warn, warn_user
from tamiz.runtime.validation import check_choice, check_integer
from tamiz.runtime.verdicts import Verdict
from tamiz.selection.equivalent_columns import describe_equivalents
from tamiz.selection.permutation_null import has_significant_column
from tamiz.selection.subset_record import ColumnReason, SubsetRecord
from tamiz.selection.subset_report import describe_lattice, describe_reasons, describe_subset, similar_columns
from tamiz.selection.subset_selector import SubsetSelector
from tamiz.table.base import Table
from tamiz.table.row_groups import group_warnings, untestable_reason
from tamiz.table.views import select_columns, weight_groups_equally

if TYPE_CHECKING:
    from tamiz.assessment import Recommendation

# The error rate of the association of a recommended column with the target.
_CHANCE_LEVEL = 0.025


@dataclass(frozen=True, kw_only=True)
class StudyOptions:
    """The parameters of `study` that its steps read."""

    selector: SubsetSelector | None = None
    relevances: Sequence[Relevance] | None = None
    maps: Sequence[Reducer | str] | None = None
    map_rows: int | None = None
    map_columns: str | Sequence[str] = "numeric"
    dissimilarity: str = "seuclidean"
    graph: GraphBuilder | Graph | None = None
    missing: MissingRule = "distribute"
    assess: bool | None = None
    semi_synthetic: int = 0
    scoring: str | None = None
    keep_leaks: bool = False
    random_folds: bool = False
    points: bool | int = True
    random_state: Seed = 0

    @property
    def most_shown(self) -> int:
        """The most rows that maps show."""
        return MAX_SHOWN_ROWS if isinstance(self.points, bool) else self.points

    def check(self) -> None:
        if not isinstance(self.selector, SubsetSelector | None):
            raise TypeError(f"selector must be a SubsetSelector, got {self.selector!r}.")
        if self.graph is not None and not isinstance(self.graph, GraphBuilder | Graph):
            raise TypeError(f"graph must be a builder such as KNearest(15) or a Graph, got {self.graph!r}.")
        check_choice("dissimilarity", self.dissimilarity, DISSIMILARITIES)
        check_maps(self.maps or (), self.dissimilarity)
        if self.map_rows is not None:
            check_integer("map_rows", self.map_rows, low=2)
        if not isinstance(self.points, bool):
            check_integer("points", self.points, low=2)
        if (
            self.semi_synthetic != 0
            and check_integer("semi_synthetic", self.semi_synthetic, low=2)
            and self.assess is False
        ):
            raise ValueError(
                f"semi_synthetic={self.semi_synthetic} is part of the evaluation that assess=False leaves out; pass assess=True, "
                "or neither."
            )


@dataclass
class StudyRun:
    """One run of `study`: the table, the graph of its rows, what several steps use, and the record that the steps fill.

    The maps show `rows`; `select` fits `selector`; `comparison` has the arguments with which `recommend_columns` selected the
    columns, None if it did not. A subset can be `searched` for, and the user may have `asked` for it.
    """

    steps: StepRunner
    record: StudyRecord
    table: Table
    row_graph: RowGraph
    rows: Indices
    selector: SubsetSelector
    options: StudyOptions
    design: FoldDesign
    maps: Sequence[MapRequest]
    seed: int
    searched: bool
    asked: bool
    comparison: dict[str, Any] | None = None
    ranked: Sequence[RankingCriterion] = ()

    @property
    def left_out(self) -> tuple[str, ...]:
        """The columns of possible leakage that no step uses."""
        return () if self.record.leakage_exclusion is None else self.record.leakage_exclusion.columns

    def compute(self) -> None:
        """Run the steps in their order."""
        options, sized = self.options, self.selector.n_features is not None
        self.ranked = choose_ranking_criteria(options.relevances, self.table.schema, options.missing, self.row_graph)
        self.rank()
        first = self.searched and (self.asked or options.assess is False)
        if first:
            self.select(requested=self.asked or sized)
        self.embed()
        requested = bool(options.assess or options.semi_synthetic or sized)
        self.evaluate(fallback=self.searched and not first, requested=requested)
        if self.record.leakage_exclusion is not None:
            warn_user(leakage_warnings(self.design.leaks, self.table.schema, self.record.leakage_exclusion)[:1])
        if options.points and self.record.maps:
            self.add_colors()

    def missing_value_notes(self, imputed: Sequence[ImputationNote]) -> list[Verdict]:
        """Return notes on how the methods that were used treat missing values."""
        record, builder = self.record, self.row_graph.builder
        methods = [
            *(one.relevance for one in self.ranked if record.ranking is not None),
            *([] if record.subset is None else [self.selector.merit]),
            *(one.reducer for one in self.maps if record.maps),
            *([builder] if isinstance(builder, GraphBuilder) else []),
        ]
        return missing_value_notes(self.table.schema, imputed, methods, has_pairs=record.redundancy is not None)

    def add(self, **sections: Any) -> None:
        self.record = replace(self.record, **sections)

    def rank(self) -> None:
        """Rank the columns by every criterion, and add their distributions and their redundancy."""
        table, ranked, steps, budget = self.table, self.ranked, self.steps, self.steps.budget
        warn_user(group_warnings(table))
        # Relevances that compare rows with rows read the table of their RankingCriterion instead.
        weighted = weight_groups_equally(table)
        ranking = scored = steps.run_step(Step.RANKING, lambda: rank_columns(weighted, ranked))
        if scored is not None:
            refusal = bootstrap_refusal(weighted.schema, budget)
            mean_rank = steps.run_optional(
                Step.MEAN_RANK, lambda: combine_ranks(weighted, ranked, scored.scores, self.seed, refusal=refusal)
            )
            ranked_on = replace(scored, mean_rank=mean_rank)
            leaking = self.record.table.leaking
            at_chance = find_chance_level(table, ranked_on, self.options.missing)
            ranked_on = replace(ranked_on, at_chance=tuple(one for one in at_chance if one.name not in leaking))
            associated = steps.run_step(Step.ASSOCIATIONS, lambda: add_associations(table, ranked_on, self.seed))
            ranking = associated or ranked_on
        redundancy = steps.run_optional(
            Step.REDUNDANCY, lambda: find_redundancy(table, ranking, self.options.missing, budget)
        )
        distributions = steps.run_optional(Step.DISTRIBUTIONS, lambda: count_distributions(table, ranking, self.seed))
        self.add(ranking=ranking, redundancy=redundancy, distributions=distributions)

    def select(self, *, requested: bool) -> None:
        """Run the search and add the subset with its reasons; a search that was not requested may be skipped with a warning."""
        found = self.steps.run_step(Step.SUBSET, self._search, requested=requested)
        if found is None:
            return
        subset, table, same = found
        explained = self.steps.run_optional(Step.REASONS, lambda: self._explain_subset(subset, table, same))
        self.add(subset=explained or subset)

    def _explain_subset(self, subset: SubsetRecord, table: Table, same: dict[int, int]) -> SubsetRecord:
        """Return the subset with its reasons and lattice, of columns that were not searched too, and notes on redundant pairs."""
        names, size = table.schema.names, len(subset.columns) + 1
        unsearched = [
            ColumnReason(name=names[j], chosen=False, same_as=names[kept], alternative_size=size)
            for j, kept in same.items()
        ]
        reasons = [*describe_reasons(self.selector, table), *unsearched]
        notes = [*describe_equivalents(same, names), *redundant_pair_notes(table, subset.columns, self.steps.budget)]
        return replace(
            subset,
            reasons=tuple(sorted(reasons, key=lambda one: names.index(one.name))),
            lattice=describe_lattice(self.selector, table),
            notes=plain_notes(notes),
        )

    def _search(self) -> tuple[SubsetRecord, Table, dict[int, int]] | None:
        """Return the subset, the table of the searched columns, and the others with their equivalent, or None."""
        selector = self.selector
        table, same = selector.without_equivalents(self.table)
        try:
            # The evaluation of the study compares the merit with chance.
            with capture_warnings() as messages:
                selector.fit(table)
        except KeyboardInterrupt:
            self.steps.record_interrupt(f"subset, after {getattr(selector, 'n_evaluations_', 0):,} evaluations")
            if not hasattr(selector, "archive_"):
                return None
        finally:
            # The section states which columns were not searched. A column that predicts the target by its missing values may have
            # no information in the others.
            unsearched, leaking = table.schema.excluded_column_notes, self.record.table.leaking
            shown = [
                one
                for one in messages
                if one not in unsearched and (one.code != "TZ302" or leaking.isdisjoint(one.columns))
            ]
            warn_user([*self.table.schema.excluded_column_notes, *shown])
        return describe_subset(selector), table, same

    def embed(self) -> None:
        """Fit the maps and evaluate their quality."""
        drawn: list[tuple[TableEmbedding, MapRecord]] = []
        self.steps.run_step(Step.MAPS, lambda: self._fit_maps(drawn))
        evaluated = self.steps.run_optional(Step.QUALITY, lambda: self._evaluate_maps(drawn))
        self.add(maps=tuple(described for _, described in drawn), quality=evaluated)

    def _fit_maps(self, fitted_maps: list[tuple[TableEmbedding, MapRecord]]) -> None:
        """Fit the maps one by one and append them to `fitted_maps`; a default map that fails is skipped with a warning."""
        whole = self.steps.estimates[Step.MAPS]
        estimate = replace(whole, seconds=whole.seconds / max(len(self.maps), 1))
        for one in self.maps:
            if not one.explicit and needs_graph(one.reducer) and self.row_graph.connected_graph is None:
                continue
            if not self.steps.fits_budget(estimate, one.label):
                continue
            reducer = self.row_graph.with_graph(one.reducer, connected=not one.is_user_reducer)
            table = self.row_graph.table_for(reducer)
            shown = self.row_graph.row_positions(self.rows, table)
            try:
                builder = self.row_graph.builder if needs_graph(one.reducer) else None
                seen = self.row_graph.with_map_columns(table)
                mapped = fit_map(
                    reducer, seen, shown, self.options.map_rows, self.seed, self.steps.budget.scale, builder
                )
                # All columns explain the map.
                mapped = replace(mapped, table=table)
                drawn = shown if self.options.points else None
                fitted_maps.append((mapped, record_map(mapped, Named(id=one.id, label=one.label), drawn, self.seed)))
            except (DataError, MemoryError) as error:
                if one.explicit:
                    raise
                warn("TZ503", f"{one.label} is left out: {error}")

    def _evaluate_maps(self, fitted_maps: Sequence[tuple[TableEmbedding, MapRecord]]) -> QualityRecord | None:
        """Evaluate the first two axes of every map, which are the ones that the report shows."""
        maps = [
            (described.label, mapped.embedding_of(self.row_graph.row_positions(self.rows, mapped.table))[:, :2])
            for mapped, described in fitted_maps
        ]
        seen = self.row_graph.with_map_columns(self.table)
        return measure_quality(
            seen, self.rows, maps, self.options.dissimilarity, self.seed, points=bool(self.options.points)
        )

    def evaluate(self, *, fallback: bool, requested: bool) -> None:
        """Evaluate the selection by models: that of the requested search, or the one that a comparison of selections recommends.

        With `fallback` the selector searches if there is no comparison; with `requested` an error of this search is raised.
        """
        selector, steps, searched = self.selector, self.steps, self.record.subset is not None
        table = self._scored_table() if searched else self.table
        seed = selector.random_state if isinstance(selector.random_state, int) else self.seed
        evaluation = prepare_evaluation(
            table,
            self.options.scoring,
            seed,
            assess=self.options.assess,
            missing=self.options.missing,
            budget=steps.budget,
        )
        found = None if evaluation is None else self._compare(evaluation, searched=searched)
        if found is None and fallback and steps.interruption_note is None:
            self.select(requested=requested)
        if evaluation is None:
            self._find_chance(table)
            return
        if searched:
            asked = evaluation.requested
            self.add(
                assessment=steps.run_optional(Step.ASSESSMENT, lambda: evaluation.assess(selector), requested=asked)
            )
        if self.options.semi_synthetic:
            selected = found if not searched else selector if self.record.assessment else None
            rates = steps.run_optional(
                Step.ERROR_RATES, lambda: evaluation.estimate_error_rates(selected, self.options.semi_synthetic)
            )
            self.add(error_rates=rates)
        noise = steps.run_optional(
            Step.NOISE_EXPERIMENT, lambda: evaluation.run_noise_experiment(CFS(missing=self.options.missing))
        )
        self.add(noise_experiment=noise)
        chance = self._find_chance(table) if searched or found is None else self._find_chance_of_choice(found)
        if found is not None:
            self._conclude(found, evaluation, chance)

    def _compare(self, evaluation: ModelEvaluation, *, searched: bool) -> Recommendation | None:
        """Add the comparison of selections and why each column is recommended or not; return it."""
        schema = evaluation.table.schema

        def compare() -> tuple[Recommendation, dict[int, int]]:
            # The comparison scores columns that are equivalent to another one, and does not search them.
            same = {} if searched else self.selector.without_equivalents(self.table)[1]
            return evaluation.recommend(self.selector, searched=searched, left_out=same), same

        compared = self.steps.run_optional(Step.RECOMMENDATION, compare, requested=evaluation.requested)
        if compared is None:
            return None
        found, same = compared
        note_user(equivalent := describe_equivalents(same, schema.names))
        found = replace(found, notes=plain_notes([*evaluation.notes, *equivalent, *found.notes]))
        decisions = None
        if not searched:
            self.comparison = evaluation.comparison_options(self.table.schema.n_rows)
            decisions = self.steps.run_optional(Step.REASONS, lambda: self._explain_choice(found, evaluation, same))
        self.add(recommendation=found, decisions=decisions or ())
        return found

    def _conclude(self, found: Recommendation, evaluation: ModelEvaluation, chance: str) -> None:
        """Withdraw a recommendation that may be chance, warn of what it loses, and score it with the possible leaks."""
        # A score above the baseline, with the choice included, is evidence of its own.
        if chance and found.gain.interval[0] <= 0:
            found = replace(found, chance=chance)
            self.add(recommendation=found, decisions=())
        warn_user(perfect_score_warnings(found))
        note_user(loss_warnings(found))
        if (reliability := self.record.reliability) is not None:
            note_user(stability_warnings(found, reliability.stability, self.record.decisions))
        exclusion = self.record.leakage_exclusion
        if exclusion is not None:
            scores = self.steps.run_step(
                Step.LEAKS, lambda: evaluation.score_with_leaks(self.design.table, found), requested=False
            )
            self.add(leakage_exclusion=replace(exclusion, **(scores or {})))

    def _explain_choice(
        self, found: Recommendation, evaluation: ModelEvaluation, same: dict[int, int]
    ) -> tuple[ColumnDecision, ...]:
        """Return why each column is recommended or not; `same` are columns that are not searched, with their equivalent."""
        schema, kept, shares = self.table.schema, set(found.columns), found.frequencies
        if not len(schema.used):
            return ()
        columns = [j for j in schema.used.tolist() if j not in same or schema.names[j] in kept]
        chosen = np.array([j for j in columns if schema.names[j] in kept], dtype=np.intp)
        relevances, similar = similar_columns(self.table, chosen, self.options.missing)
        p_values = evaluation.added_p_values(columns, found.deciding_model)
        redundancy = self.record.redundancy
        represented = {} if redundancy is None else redundancy.find_represented(kept)
        return tuple(
            ColumnDecision(
                name=schema.names[j],
                kept=schema.names[j] in kept,
                share=shares.get(schema.names[j], 0.0),
                same_as=None if j in columns else schema.names[same[j]],
                redundant_with=represented.get(schema.names[j]),
                relevance=relevances.get(j),
                similar=similar.get(j, ()),
                p_value=p_values.get(j),
            )
            for j in schema.used.tolist()
        )

    def _scored_table(self) -> Table:
        searched = self.selector.schema_
        if len(searched.used) == len(self.table.schema.used):
            return self.table
        reasons = {j: str(column.exclusion_reason) for j, column in enumerate(searched.columns)}
        return select_columns(self.table, searched.used.tolist(), reasons)

    def _find_chance(self, table: Table) -> str:
        """Return in a sentence why the subset may be chance, "" if it is not; the null of the assessment decides, if any."""
        subset, assessed = self.record.subset, self.record.assessment
        if (
            subset is None
            or not subset.columns
            or not self.record.table.leaking.isdisjoint(subset.columns)
            or self.steps.interruption_note is not None
        ):
            return ""
        if assessed is None or assessed.null is None:
            null = self.selector.permutation_null(table)
        else:
            null = assessed.null if assessed.null.explained_by_chance else None
        warn_user(self.selector.chance_warnings(null))
        return "" if null is None else null.sentence

    def _find_chance_of_choice(self, found: Recommendation) -> str:
        """Return in a sentence why recommended columns may be chance, "" if they are not.

        They are not if the score, with the choice included, is above the baseline, or if one of them is significantly associated
        with the target after the correction for all columns. Each of the two has an error rate of 2.5 %.
        """
        if found.gain.interval[0] > 0:
            return ""
        table, schema, kept = self.table, self.table.schema, set(found.columns)
        columns = np.array([j for j in schema.used.tolist() if schema.names[j] in kept], dtype=np.intp)
        if has_significant_column(table, columns, _CHANCE_LEVEL / max(len(schema.used), 1)):
            return ""
        tested = "" if table.groups is None else " (tested on one row of each group)"
        association = (
            f"no column is significantly associated with the target after the correction for all columns{tested}"
            if table.time is None
            else f"no column can be tested, because {untestable_reason(table)}"
        )
        sentence = f"The score is not above the baseline by more than its error, and {association}."
        warn("TZ302", f"No columns are recommended, because any selection may be chance. {sentence}")
        return sentence

    def add_colors(self) -> None:
        """Add the columns and the clusters that the maps can be coloured by."""
        colors = collect_colors(self.table, self.rows, self.record.ranking)
        seen = self.row_graph.with_map_columns(self.table)
        clusters = self.steps.run_optional(Step.CLUSTERS, lambda: color_clusters(seen, self.rows, self.seed))
        self.add(colors=(*colors, *(() if clusters is None else (clusters,))))
