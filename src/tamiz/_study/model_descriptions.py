"""The records of what models show about the selections of a study: comparisons, assessment, noise experiment."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from tamiz.report.records.codec import Named
from tamiz.report.records.models import (
    AssessmentRecord,
    AssessmentScores,
    BaselineScore,
    CandidatePath,
    CandidateScores,
    ErrorRatesRecord,
    FalseSelection,
    FoldedScores,
    ModelComparison,
    ModelEffectRecord,
    ModelScores,
    NoiseExperimentRecord,
    NoisePanel,
    OtherScores,
    PermutationNullRecord,
    RateRecord,
    RecommendationRecord,
    ScoreCurve,
    Scores,
    SelectionFrequency,
    SetScores,
    StabilitySummary,
)
from tamiz.runtime.user_warnings import plain_notes

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tamiz.assessment import NoiseExperiment, Recommendation, SelectionErrorRates, SelectionReport
    from tamiz.assessment.error_rates import Rate
    from tamiz.assessment.fold_scores import FoldScores
    from tamiz.assessment.score_report import RoleScores
    from tamiz.assessment.set_stability import Stability


def describe_model_effect(found: Recommendation, notes: Sequence[str]) -> ModelEffectRecord:
    """Return the recommended columns compared with all columns, with the notes on the sample of rows before its own."""
    one, every = found.candidates[found.recommended], found.candidates["all_columns"]
    return ModelEffectRecord(
        selector=one.label,
        folds=found.folds_description,
        n_samples=found.n_samples,
        n_columns=found.n_columns,
        n_chosen=tuple(one.fold_sets.sum(axis=1).tolist()),
        models=_named(found.models),
        scores=tuple(
            ModelScores(
                id=scoring,
                baseline=_scores(found.baseline[scoring]),
                models=tuple(
                    ModelComparison(
                        all_columns=_folded_scores(every.scores[model, scoring]),
                        chosen=_folded_scores(one.scores[model, scoring]),
                        difference=_folded_scores(found.score_change(found.recommended, model, scoring)),
                    )
                    for model in found.models
                ),
            )
            for scoring in found.scorings
        ),
        notes=plain_notes([*notes, *found.notes]),
    )


def describe_recommendation(found: Recommendation, notes: Sequence[str], *, requested: bool) -> RecommendationRecord:
    """Return a comparison of selections as a record, with the notes on the sample of rows before its own."""
    return RecommendationRecord(
        recommended=found.recommended,
        requested=requested,
        columns=found.columns,
        score=_folded_scores(found.score),
        deciding=found.deciding_model,
        margin=found.margin,
        detectable_loss=found.detectable_loss,
        folds=found.folds_description,
        n_samples=found.n_samples,
        n_columns=found.n_columns,
        models=_named(found.models),
        scores=tuple(BaselineScore(id=name, baseline=_scores(found.baseline[name])) for name in found.scorings),
        candidates=tuple(
            CandidateScores(
                id=name,
                label=one.label,
                columns=one.columns,
                n_chosen=tuple(one.fold_sets.sum(axis=1).tolist()),
                scores=tuple(
                    tuple(_folded_scores(one.scores[model, scoring]) for model in found.models)
                    for scoring in found.scorings
                ),
                changes=tuple(
                    tuple(_folded_scores(found.score_change(name, model, scoring)) for model in found.models)
                    for scoring in found.scorings
                ),
            )
            for name, one in found.candidates.items()
        ),
        paths=tuple(
            CandidatePath(
                id=name,
                sets=tuple(
                    SetScores(columns=columns, score=_folded_scores(score), change=_folded_scores(change))
                    for columns, score, change in zip(path.columns, path.scores, path.changes, strict=True)
                ),
            )
            for name, path in found.paths.items()
        ),
        notes=plain_notes([*notes, *found.notes]),
    )


def describe_choice(found: Recommendation, notes: Sequence[str]) -> AssessmentRecord:
    """Return the reliability of a recommendation: its score and columns when the choice is repeated without each fold."""
    kept = set(found.columns)
    return AssessmentRecord(
        predictor=found.models[found.deciding_model],
        scoring=found.scorings[0],
        folds=found.folds_description,
        n_samples=found.n_samples,
        scores=AssessmentScores(
            baseline=_scores(found.baseline[found.scorings[0]]),
            nested=_scores(found.score),
            apparent=_scores(found.apparent),
            all_columns=_scores(found.candidates["all_columns"].scores[found.deciding_model, found.scorings[0]]),
        ),
        other_scores=(),
        deciding_score=found.scorings[0],
        optimism=found.apparent.mean - found.score.mean,
        helps=found.gain.interval[0] > 0,
        beats_chance=True,
        frequencies=tuple(
            SelectionFrequency(name=name, share=share, chosen=name in kept) for name, share in found.frequencies.items()
        ),
        stability=_stability(found.stability),
        null=None,
        notes=plain_notes([*notes, *found.notes]),
    )


def withhold_recommendation(found: RecommendationRecord, chance: str) -> RecommendationRecord:
    """Return the comparison without a recommendation, because the selection may be chance."""
    return replace(found, recommended=None, columns=(), chance=chance, decisions=())


def describe_noise_experiment(found: NoiseExperiment, notes: Sequence[str]) -> NoiseExperimentRecord:
    """Return a noise experiment as a record, with the notes on the sample of rows before its own."""
    kinds: list[Literal["random", "copies"]] = ["random"] if found.copied_column is None else ["random", "copies"]
    return NoiseExperimentRecord(
        n_added=tuple(found.n_added),
        models=_named(found.models),
        scoring=found.scoring,
        folds=found.folds_description,
        n_samples=found.n_samples,
        n_columns=found.n_columns,
        n_draws=found.n_draws,
        copied=found.copied_column,
        selector=found.selector,
        selection_n_added=tuple(found.selection_n_added),
        panels=tuple(
            NoisePanel(
                added=added,
                lines=tuple(_score_curve(found, added, name, selected=False) for name in found.models),
                chosen=tuple(_score_curve(found, added, name, selected=True) for name in found.models),
                kept=tuple(found.n_added_selected[added].mean(axis=1).tolist()),
            )
            for added in kinds
        ),
        notes=plain_notes([*notes, *found.notes]),
    )


def _score_curve(found: NoiseExperiment, added: str, model: str, *, selected: bool) -> ScoreCurve:
    changes = found.score_changes(added, model, selected=selected)
    return ScoreCurve(
        means=tuple(one.mean for one in found.scores(added, model, selected=selected)),
        changes=tuple(one.mean for one in changes),
        intervals=tuple(one.interval for one in changes),
    )


def describe_assessment(found: SelectionReport, notes: Sequence[str]) -> AssessmentRecord:
    """Return a selection report as a record.

    Parameters
    ----------
    found : SelectionReport
    notes : sequence of str
        All notes.
    """
    order = np.argsort(-found.frequencies, kind="stable").tolist()
    return AssessmentRecord(
        predictor=found.model,
        scoring=found.scoring,
        folds=found.folds_description,
        n_samples=found.n_samples,
        scores=_assessment_scores(found),
        other_scores=tuple(
            OtherScores(id=name, scores=_assessment_scores(scores)) for name, scores in found.other_scores.items()
        ),
        deciding_score=found.deciding_score,
        optimism=found.optimism,
        helps=found.beats_baseline,
        beats_chance=found.beats_chance,
        frequencies=tuple(
            SelectionFrequency(name=found.names[j], share=float(found.frequencies[j]), chosen=bool(found.support[j]))
            for j in order
            if found.fold_sets[:, j].any() or found.support[j]
        ),
        stability=_stability(found.stability),
        null=None
        if found.null is None
        else PermutationNullRecord(
            statistic=found.null.statistic,
            observed=found.null.observed,
            p_value=found.null.p_value,
            merits=tuple(found.null.null_values.tolist()),
            shuffling=found.null.description,
        ),
        notes=plain_notes(notes),
    )


def describe_error_rates(found: SelectionErrorRates) -> ErrorRatesRecord:
    """Return error rates, with a signal estimated from the real target, as a record."""
    assert found.signal_strength is not None
    return ErrorRatesRecord(
        n_samples=found.n_samples,
        n_columns=found.n_columns,
        n_true=found.n_true,
        n_draws=found.n_draws,
        target_kind=found.target_kind,
        signal=found.signal,
        signal_strength=found.signal_strength,
        true_positive_rate=_rate(found.true_positive_rate),
        chance_true_positive_rate=_rate(found.chance_true_positive_rate),
        false_positive_rate=_rate(found.false_positive_rate),
        false_discovery_proportion=_rate(found.false_discovery_proportion),
        strict_false_discovery_proportion=_rate(found.strict_false_discovery_proportion),
        falsely_selected=tuple(
            FalseSelection(name=name, share=share) for name, share in found.false_selection_frequencies.items()
        ),
        notes=plain_notes(found.notes),
    )


def _stability(found: Stability) -> StabilitySummary:
    return StabilitySummary(estimate=found.estimate, low=found.low, high=found.high, sentence=found.sentence)


def _rate(found: Rate) -> RateRecord:
    return RateRecord(mean=found.mean, standard_error=found.standard_error)


def _assessment_scores(found: SelectionReport | RoleScores) -> AssessmentScores:
    return AssessmentScores(
        baseline=_scores(found.baseline),
        nested=_scores(found.nested),
        apparent=_scores(found.apparent),
        all_columns=None if found.all_columns is None else _scores(found.all_columns),
    )


def _named(labels: Mapping[str, str]) -> tuple[Named, ...]:
    return tuple(Named(id=name, label=label) for name, label in labels.items())


def _scores(found: FoldScores) -> Scores:
    return Scores(mean=found.mean, interval=found.interval, folds=tuple(found.values.tolist()))


def _folded_scores(found: FoldScores) -> FoldedScores:
    return FoldedScores(
        mean=found.mean,
        interval=found.interval,
        folds=tuple(found.values.tolist()),
        standard_deviation=found.standard_deviation,
    )
