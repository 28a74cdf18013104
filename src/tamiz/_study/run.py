"""The steps of one study: ranking, subset, evaluation by models, maps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from tamiz._study.associations import describe_shown_distributions, describe_statistics
from tamiz._study.budget import Budget, StepRunner
from tamiz._study.map_colors import describe_clusters, describe_colors
from tamiz._study.map_records import describe_map
from tamiz._study.maps import MapRequest
from tamiz._study.mean_rank import describe_mean_rank
from tamiz._study.models import LeakageScores, ModelEvaluation, prepare_evaluation
from tamiz._study.quality import describe_quality
from tamiz._study.ranking import RankingCriterion, describe_chance_level, describe_ranking
from tamiz._study.redundancy import describe_redundancy, redundant_pair_notes
from tamiz._study.selection_verdicts import loss_warnings, perfect_score_warnings, stability_warnings
from tamiz._study.subset import describe_subset, explain_subset, similar_columns
from tamiz.criteria import registry as criteria
from tamiz.criteria.cfs import CFS
from tamiz.criteria.entropy_relevance import MissingRule
from tamiz.exceptions import DataError
from tamiz.graphs.row_graph import RowGraph, needs_graph
from tamiz.reduction.table_embedding import TableEmbedding, fit_map
from tamiz.report.records.columns import (
    ColumnDecision,
    DistributionsRecord,
    RankingRecord,
    RedundancyRecord,
    SimilarColumn,
    SubsetRecord,
)
from tamiz.report.records.maps import ColorColumn, MapRecord, QualityRecord
from tamiz.runtime.codec import Named
from tamiz.runtime.registry import method_label
from tamiz.runtime.user_warnings import capture_warnings, note_user, plain_notes, warn, warn_user
from tamiz.search import registry as searches
from tamiz.selection.equivalent_columns import describe_equivalents
from tamiz.selection.permutation_null import has_significant_column
from tamiz.selection.subset_selector import SubsetSelector
from tamiz.table.base import Table
from tamiz.table.row_groups import group_warnings, untestable_reason, weight_groups_equally
from tamiz.table.views import RowNumbers, select_columns

if TYPE_CHECKING:
    from tamiz.assessment import NoiseExperiment, Recommendation, SelectionErrorRates, SelectionReport

# The error rate of the association of a recommended column with the target.
_CHANCE_LEVEL = 0.025


@dataclass(frozen=True)
class Evaluated:
    """The requested or default subset, and the sections that evaluate the selection by models; None was not computed.

    `comparison` are the arguments with which `recommend_columns` selected the columns, None if it did not.
    """

    subset: SubsetRecord | None = None
    recommendation: Recommendation | None = None
    decisions: tuple[ColumnDecision, ...] = ()
    assessment: SelectionReport | None = None
    error_rates: SelectionErrorRates | None = None
    noise_experiment: NoiseExperiment | None = None
    comparison: dict[str, Any] | None = None
    leakage_scores: LeakageScores | None = None


@dataclass(frozen=True)
class StudyRun:
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
    with_leaks : Table or None
        The table with the columns of possible leakage, None if none are set aside.
    leaking : frozenset of str
        The columns that alone predict the target almost perfectly.
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
    with_leaks: Table | None = None
    leaking: frozenset[str] = frozenset()

    @property
    def table(self) -> Table:
        """The table."""
        return self.row_graph.table

    @property
    def budget(self) -> Budget:
        """The time and memory budget."""
        return self.steps.budget

    def rank(
        self, ranked: list[RankingCriterion]
    ) -> tuple[RankingRecord | None, DistributionsRecord | None, RedundancyRecord | None]:
        """Return the ranking of the columns by every criterion, their distributions, and their redundancy."""
        warn_user(group_warnings(self.table))
        # Relevances that compare rows with rows read the table of their RankingCriterion instead.
        weighted = weight_groups_equally(self.table)
        scored = self.steps.run_step("ranking", lambda: describe_ranking(weighted, ranked))
        ranking = scored
        if scored is not None:
            mean_rank = self.steps.run_optional(
                "mean rank",
                lambda: describe_mean_rank(weighted, ranked, scored, self.seed, self.budget),
                "the mean rank over all criteria",
            )
            ranking = replace(scored, mean_rank=mean_rank)
            at_chance = describe_chance_level(self.table, ranking, self.missing)
            ranking = replace(ranking, at_chance=tuple(one for one in at_chance if one.name not in self.leaking))
            ranking = (
                self.steps.run_step("associations", partial(describe_statistics, self.table, ranking, self.seed))
                or ranking
            )
        redundancy = self.steps.run_optional(
            "redundancy",
            lambda: describe_redundancy(self.table, ranking, self.missing, self.budget),
            "the redundancy of the columns",
        )
        distributions = self.steps.run_optional(
            "distributions",
            lambda: describe_shown_distributions(self.table, ranking, self.seed),
            "the distributions of the columns",
        )
        return ranking, distributions, redundancy

    def select(self, selector: SubsetSelector, *, requested: bool) -> SubsetRecord | None:
        """Run the search and return the subset, with the reason why each column is in or out.

        A search that was not requested and cannot be run, such as one by cross-validation of three rows, is skipped with a warning.
        """
        table, same = self.table, dict[int, int]()

        def search() -> SubsetRecord | None:
            nonlocal table, same
            table, same = selector._without_equivalents(self.table)
            return _search_subset(selector, table, self.table, self.steps, self.leaking)

        try:
            subset = self.steps.run_step("subset", search)
        except (DataError, MemoryError) as error:
            if requested:
                raise
            warn("TZ503", f"The subset of columns is left out: {error}")
            return None
        if subset is None:
            return None
        explained = self.steps.run_optional(
            "reasons", lambda: self._explain(selector, subset, table, same), "why each column is selected or not"
        )
        return explained or subset

    def _explain(
        self, selector: SubsetSelector, subset: SubsetRecord, table: Table, same: dict[int, int]
    ) -> SubsetRecord:
        """Return the subset with why each column is in or out, and which selected columns are redundant."""
        notes = [
            *describe_equivalents(same, table.schema.names),
            *redundant_pair_notes(table, subset.columns, self.budget),
        ]
        return explain_subset(subset, selector, table, notes, same)

    def embed(
        self, map_requests: Sequence[MapRequest], max_rows: int | None
    ) -> tuple[tuple[MapRecord, ...], QualityRecord | None]:
        """Fit the maps and evaluate their quality; maps of quadratic cost are fitted on at most `max_rows` rows."""
        drawn: list[tuple[TableEmbedding, MapRecord]] = []
        self.steps.run_step("maps", lambda: self._fit_maps(map_requests, drawn, max_rows))
        evaluated = self.steps.run_optional("quality", lambda: self._evaluate_maps(drawn), "the quality of the maps")
        return tuple(described for _, described in drawn), evaluated

    def _fit_maps(
        self,
        map_requests: Sequence[MapRequest],
        fitted_maps: list[tuple[TableEmbedding, MapRecord]],
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
            table = self.row_graph.table_for(reducer)
            shown = self.row_graph.row_positions(self.rows, table)
            try:
                builder = self.row_graph.builder if needs_graph(one.reducer) else None
                seen = self.row_graph.with_map_columns(table)
                mapped = fit_map(reducer, seen, shown, max_rows, self.seed, self.budget.scale, builder)
                # All columns explain the map.
                mapped = replace(mapped, table=table)
                name = Named(id=one.id, label=one.label)
                fitted_maps.append((mapped, describe_map(mapped, name, shown if self.points else None, self.seed)))
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
        return describe_quality(seen, self.rows, maps, self.dissimilarity, self.seed, points=self.points)

    def evaluate(
        self, selector: SubsetSelector, subset: SubsetRecord | None, *, fallback: bool, requested: bool
    ) -> Evaluated:
        """Return the selection of the study with its evaluation: the requested subset, or that of a comparison of selections.

        Parameters
        ----------
        selector : SubsetSelector
            Fitted if there is a subset.
        subset : SubsetRecord or None
            That of the requested search; None if none was requested.
        fallback : bool
            Whether the selector searches for a subset if there is no comparison.
        requested : bool
            Whether an error of this search is raised.
        """
        searched = subset is not None
        table, same = self._scored_table(selector, searched=searched), dict[int, int]()
        evaluation = prepare_evaluation(
            table, self.scoring, self.search_seed, assess=self.assess, missing=self.missing, budget=self.budget
        )
        found = None
        if evaluation is not None:

            def compare() -> Recommendation | None:
                nonlocal same
                if not searched:
                    # The comparison scores these columns, and does not search them.
                    same = selector._without_equivalents(self.table)[1]
                return evaluation.recommend(selector, searched=searched, left_out=same)

            found = self.steps.run_optional("recommendation", compare, "the comparison of selections")
        if found is None and fallback and self.steps.interruption_note is None:
            subset = self.select(selector, requested=requested)
        if evaluation is None:
            self._find_chance(selector, subset, None, table)
            return Evaluated(subset)
        assessed = None
        if searched:
            assessed = self.steps.run_optional(
                "assessment", lambda: evaluation.assess(selector), "the reliability of the selection"
            )
        if found is not None:
            note_user(equivalent := describe_equivalents(same, table.schema.names))
            found = replace(found, notes=plain_notes([*evaluation.notes, *equivalent, *found.notes]))
        rates = self._estimate_error_rates(
            evaluation, found if not searched else None if assessed is None else selector
        )
        experiment = self.steps.run_optional(
            "noise_experiment",
            lambda: evaluation.run_noise_experiment(CFS(missing=self.missing)),
            "the noise experiment",
        )
        decisions: tuple[ColumnDecision, ...] | None = None
        if found is not None and not searched:
            decisions = self.steps.run_optional(
                "reasons",
                partial(self._explain_choice, found, evaluation, same),
                "why each column is recommended or not",
            )
        chance = self._find_chance(selector, subset, assessed, table)
        if found is not None and not searched:
            chance = self._find_chance_of_choice(found, table)
        # A score above the baseline, with the choice included, is evidence of its own.
        if found is not None and chance and found.gain.interval[0] <= 0:
            found, decisions = replace(found, chance=chance), None
        leakage_scores = None
        if found is not None:
            warn_user(perfect_score_warnings(found))
            note_user(loss_warnings(found))
            if (reliability := assessed if searched else found.report) is not None:
                note_user(stability_warnings(found, reliability.stability, decisions or ()))
            if self.with_leaks is not None:
                leakage_scores = evaluation.score_with_leaks(self.with_leaks, found)
        comparison = None if found is None or searched else evaluation.comparison_options(self.table.schema.n_rows)
        return Evaluated(subset, found, decisions or (), assessed, rates, experiment, comparison, leakage_scores)

    def _explain_choice(
        self, found: Recommendation, evaluation: ModelEvaluation, same: dict[int, int]
    ) -> tuple[ColumnDecision, ...]:
        """Return why each column is recommended or not; `same` are columns that are not searched, with their equivalent."""
        schema, kept, shares = self.table.schema, set(found.columns), found.frequencies
        if not len(schema.used):
            return ()
        columns = [j for j in schema.used.tolist() if j not in same or schema.names[j] in kept]
        chosen = np.array([j for j in columns if schema.names[j] in kept], dtype=np.intp)
        relevances, similar = similar_columns(self.table, chosen, self.missing)
        p_values = evaluation.added_p_values(columns, found.deciding_model)
        return tuple(
            ColumnDecision(
                name=schema.names[j],
                kept=schema.names[j] in kept,
                share=shares.get(schema.names[j], 0.0),
                same_as=schema.names[same[j]] if j in same and schema.names[j] not in kept else None,
                relevance=relevances.get(j),
                similar=tuple(
                    SimilarColumn(name=schema.names[i], uncertainty=value) for i, value in similar.get(j, [])
                ),
                p_value=p_values.get(j),
            )
            for j in schema.used.tolist()
        )

    def _scored_table(self, selector: SubsetSelector, *, searched: bool) -> Table:
        """Return the table with the columns to score: after a search, those that were searched."""
        if not searched or len(selector.schema_.used) == len(self.table.schema.used):
            return self.table
        reasons = {j: str(column.exclusion_reason) for j, column in enumerate(selector.schema_.columns)}
        return select_columns(self.table, selector.schema_.used.tolist(), reasons)

    def _find_chance(
        self,
        selector: SubsetSelector,
        subset: SubsetRecord | None,
        assessed: SelectionReport | None,
        table: Table,
    ) -> str:
        """Return in a sentence why the subset may be chance, "" if it is not; the null of the assessment decides, if any."""
        if (
            subset is None
            or not subset.columns
            or not self.leaking.isdisjoint(subset.columns)
            or self.steps.interruption_note is not None
        ):
            return ""
        if assessed is None or assessed.null is None:
            null = selector._chance_null(table)
        else:
            null = assessed.null if assessed.null.explained_by_chance else None
        selector._warn_of_chance(null)
        return "" if null is None else null.sentence

    def _find_chance_of_choice(self, found: Recommendation, table: Table) -> str:
        """Return in a sentence why recommended columns may be chance, "" if they are not.

        They are not if the score, with the choice included, is above the baseline, or if one of them is significantly associated
        with the target after the correction for all columns. Each of the two has an error rate of 2.5 %.
        """
        if found.gain.interval[0] > 0:
            return ""
        schema, kept = table.schema, set(found.columns)
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

    def _estimate_error_rates(
        self, evaluation: ModelEvaluation, selected: SubsetSelector | Recommendation | None
    ) -> SelectionErrorRates | None:
        """Return the error rates on semi-synthetic targets, if they are requested; a warning states why there are none."""
        if not self.semi_synthetic:
            return None
        if selected is None:
            if self.steps.interruption_note is None:
                warn(
                    "TZ503",
                    "The error rates on semi-synthetic targets are left out with the reliability of the selection.",
                )
            return None
        return self.steps.run_optional(
            "error rates",
            lambda: evaluation.estimate_error_rates(selected, self.semi_synthetic),
            "the error rates on semi-synthetic targets",
        )

    def describe_colors_and_clusters(self, ranking: RankingRecord | None) -> tuple[ColorColumn, ...]:
        """Return the columns and the clusters that the maps can be coloured by."""
        colors = describe_colors(self.table, self.rows, ranking)
        seen = self.row_graph.with_map_columns(self.table)
        clusters = self.steps.run_optional(
            "clusters", lambda: describe_clusters(seen, self.rows, self.seed), "clusters of the rows"
        )
        return (*colors, *(() if clusters is None else (clusters,)))


def _search_subset(
    selector: SubsetSelector, opened: Table, table: Table, steps: StepRunner, leaking: frozenset[str]
) -> SubsetRecord | None:
    """Return the subset of the columns of `table`, the searched ones of the table; None if there is none."""
    try:
        # The evaluation of the study compares the merit with chance.
        with capture_warnings() as messages:
            selector.fit(opened)
    except KeyboardInterrupt:
        steps.record_interrupt(f"subset, after {getattr(selector, 'n_evaluations_', 0):,} evaluations")
        if not hasattr(selector, "archive_"):
            return None
    finally:
        # The section states which columns were not searched. A column that predicts the target by its missing values may have no
        # information in the others.
        unsearched = opened.schema.excluded_column_notes
        shown = [
            one
            for one in messages
            if one not in unsearched and (one.code != "TZ302" or leaking.isdisjoint(one.columns))
        ]
        warn_user([*table.schema.excluded_column_notes, *shown])
    merit = Named(id=method_label(criteria, selector.criterion_)["id"], label=selector.merit_name_)
    return describe_subset(selector, merit, Named(**method_label(searches, selector.search_)))
