"""The steps of one study: ranking, subset, evaluation by models, maps."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from tamiz._study.associations import describe_shown_distributions, describe_statistics
from tamiz._study.budget import StepRunner
from tamiz._study.estimates import bootstrap_refusal
from tamiz._study.map_colors import describe_clusters, describe_colors
from tamiz._study.map_records import describe_map
from tamiz._study.maps import MapRequest
from tamiz._study.models import ModelEvaluation, prepare_evaluation
from tamiz._study.quality import describe_quality
from tamiz._study.ranking import describe_chance_level, describe_ranking
from tamiz._study.redundancy import describe_redundancy, redundant_pair_notes
from tamiz._study.selection_verdicts import loss_warnings, perfect_score_warnings, stability_warnings
from tamiz.arrays import Indices
from tamiz.assessment.mean_ranks import RankingCriterion, combine_ranks
from tamiz.criteria.cfs import CFS
from tamiz.criteria.entropies import MissingRule
from tamiz.exceptions import DataError
from tamiz.graphs.row_graph import RowGraph, needs_graph
from tamiz.reduction.table_embedding import TableEmbedding, fit_map
from tamiz.report.records.columns import ColumnDecision
from tamiz.report.records.maps import MapRecord, QualityRecord
from tamiz.report.records.study import StudyRecord
from tamiz.runtime.codec import Named
from tamiz.runtime.user_warnings import capture_warnings, note_user, plain_notes, warn, warn_user
from tamiz.selection.equivalent_columns import describe_equivalents
from tamiz.selection.permutation_null import has_significant_column
from tamiz.selection.subset_report import (
    ColumnReason,
    SubsetRecord,
    describe_lattice,
    describe_reasons,
    describe_subset,
    similar_columns,
)
from tamiz.selection.subset_selector import SubsetSelector
from tamiz.table.base import Table
from tamiz.table.row_groups import group_warnings, untestable_reason, weight_groups_equally
from tamiz.table.views import select_columns

if TYPE_CHECKING:
    from tamiz.assessment import Recommendation

# The error rate of the association of a recommended column with the target.
_CHANCE_LEVEL = 0.025


@dataclass
class StudyRun:
    """One run of `study`: the table, the graph of its rows, what several steps use, and the record that the steps fill.

    Attributes
    ----------
    steps : StepRunner
    record : StudyRecord
    row_graph : RowGraph
    rows : ndarray of row numbers
        The rows that the maps show.
    selector : SubsetSelector
        Fitted by `select`.
    with_leaks : Table
        The table with the columns of possible leakage.
    missing, dissimilarity, assess, semi_synthetic, scoring, points
        As in `study`.
    seed : int
    comparison : dict or None
        The arguments with which `recommend_columns` selected the columns, None if it did not.
    """

    steps: StepRunner
    record: StudyRecord
    row_graph: RowGraph
    rows: Indices
    selector: SubsetSelector
    with_leaks: Table
    seed: int
    _: KW_ONLY
    missing: MissingRule
    dissimilarity: str
    assess: bool | None
    semi_synthetic: int
    scoring: str | None
    points: bool
    comparison: dict[str, Any] | None = None

    @property
    def table(self) -> Table:
        return self.row_graph.table

    def add(self, **sections: Any) -> None:
        self.record = replace(self.record, **sections)

    def rank(self, ranked: list[RankingCriterion]) -> None:
        """Rank the columns by every criterion, and add their distributions and their redundancy."""
        table, steps, budget = self.table, self.steps, self.steps.budget
        warn_user(group_warnings(table))
        # Relevances that compare rows with rows read the table of their RankingCriterion instead.
        weighted = weight_groups_equally(table)
        ranking = scored = steps.run_step("ranking", lambda: describe_ranking(weighted, ranked))
        if scored is not None:
            refusal = bootstrap_refusal(weighted.schema, budget)
            mean_rank = steps.run_optional(
                "mean rank",
                lambda: combine_ranks(weighted, ranked, scored.scores, self.seed, refusal=refusal),
                "the mean rank over all criteria",
            )
            ranked_on = replace(scored, mean_rank=mean_rank)
            leaking = self.record.table.leaking
            at_chance = describe_chance_level(table, ranked_on, self.missing)
            ranked_on = replace(ranked_on, at_chance=tuple(one for one in at_chance if one.name not in leaking))
            associated = steps.run_step("associations", lambda: describe_statistics(table, ranked_on, self.seed))
            ranking = associated or ranked_on
        redundancy = steps.run_optional(
            "redundancy",
            lambda: describe_redundancy(table, ranking, self.missing, budget),
            "the redundancy of the columns",
        )
        distributions = steps.run_optional(
            "distributions",
            lambda: describe_shown_distributions(table, ranking, self.seed),
            "the distribution of each column",
        )
        self.add(ranking=ranking, redundancy=redundancy, distributions=distributions)

    def select(self, *, requested: bool) -> None:
        """Run the search and add the subset, with the reason why each column is in or out.

        A search that was not requested and cannot be run, such as one by cross-validation of three rows, is skipped with a warning.
        """
        found = self.steps.run_step("subset", self._search, "the subset of columns", requested=requested)
        if found is None:
            return
        subset, table, same = found
        explained = self.steps.run_optional(
            "reasons", lambda: self._explain_subset(subset, table, same), "the reason for each column"
        )
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
        table, same = selector._without_equivalents(self.table)
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

    def embed(self, map_requests: Sequence[MapRequest], max_rows: int | None) -> None:
        """Fit the maps and evaluate their quality; maps of quadratic cost are fitted on at most `max_rows` rows."""
        drawn: list[tuple[TableEmbedding, MapRecord]] = []
        self.steps.run_step("maps", lambda: self._fit_maps(map_requests, drawn, max_rows))
        evaluated = self.steps.run_optional("quality", lambda: self._evaluate_maps(drawn), "the quality of the maps")
        self.add(maps=tuple(described for _, described in drawn), quality=evaluated)

    def _fit_maps(
        self,
        map_requests: Sequence[MapRequest],
        fitted_maps: list[tuple[TableEmbedding, MapRecord]],
        max_rows: int | None,
    ) -> None:
        """Fit the maps one by one and append them to `fitted_maps`; a default map that fails is skipped with a warning."""
        whole = self.steps.estimates["maps"]
        estimate = replace(whole, seconds=whole.seconds / max(len(map_requests), 1))
        for one in map_requests:
            if not one.explicit and needs_graph(one.reducer) and self.row_graph.connected_graph is None:
                continue
            if not self.steps.fits_budget(estimate, one.label):
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
                mapped = fit_map(reducer, seen, shown, max_rows, self.seed, self.steps.budget.scale, builder)
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

    def evaluate(self, *, fallback: bool, requested: bool) -> None:
        """Evaluate the selection by models: that of the requested search, or the one that a comparison of selections recommends.

        Parameters
        ----------
        fallback : bool
            Whether the selector searches for a subset if there is no comparison.
        requested : bool
            Whether an error of this search is raised.
        """
        selector, steps, searched = self.selector, self.steps, self.record.subset is not None
        table = self._scored_table() if searched else self.table
        seed = selector.random_state if isinstance(selector.random_state, int) else self.seed
        evaluation = prepare_evaluation(
            table, self.scoring, seed, assess=self.assess, missing=self.missing, budget=steps.budget
        )
        found = None if evaluation is None else self._compare(evaluation, searched=searched)
        if found is None and fallback and steps.interruption_note is None:
            self.select(requested=requested)
        if evaluation is None:
            self._find_chance(table)
            return
        if searched:
            assessed = steps.run_optional(
                "assessment",
                lambda: evaluation.assess(selector),
                "the reliability of the selection",
                requested=evaluation.requested,
            )
            self.add(assessment=assessed)
        if self.semi_synthetic:
            selected = found if not searched else selector if self.record.assessment else None
            rates = steps.run_optional(
                "error rates",
                lambda: evaluation.estimate_error_rates(selected, self.semi_synthetic),
                "the estimate of error rates on semi-synthetic targets",
            )
            self.add(error_rates=rates)
        noise = steps.run_optional(
            "noise_experiment",
            lambda: evaluation.run_noise_experiment(CFS(missing=self.missing)),
            "the noise experiment",
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
            same = {} if searched else self.selector._without_equivalents(self.table)[1]
            return evaluation.recommend(self.selector, searched=searched, left_out=same), same

        compared = self.steps.run_optional(
            "recommendation", compare, "the comparison of selections", requested=evaluation.requested
        )
        if compared is None:
            return None
        found, same = compared
        note_user(equivalent := describe_equivalents(same, schema.names))
        found = replace(found, notes=plain_notes([*evaluation.notes, *equivalent, *found.notes]))
        decisions = None
        if not searched:
            self.comparison = evaluation.comparison_options(self.table.schema.n_rows)
            decisions = self.steps.run_optional(
                "reasons", lambda: self._explain_choice(found, evaluation, same), "the reason for each column"
            )
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
                "leaks",
                lambda: evaluation.score_with_leaks(self.with_leaks, found),
                "the score with possible target leakage",
                requested=False,
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
        relevances, similar = similar_columns(self.table, chosen, self.missing)
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
            null = self.selector._chance_null(table)
        else:
            null = assessed.null if assessed.null.explained_by_chance else None
        self.selector._warn_of_chance(null)
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

    def describe_colors_and_clusters(self) -> None:
        """Add the columns and the clusters that the maps can be coloured by."""
        colors = describe_colors(self.table, self.rows, self.record.ranking)
        seen = self.row_graph.with_map_columns(self.table)
        clusters = self.steps.run_optional(
            "clusters", lambda: describe_clusters(seen, self.rows, self.seed), "the clustering of the rows"
        )
        self.add(colors=(*colors, *(() if clusters is None else (clusters,))))
