"""Verdicts on the selection of a study, on records whose numbers are known."""

from dataclasses import replace
from typing import Any

import pytest
from tests.report import sample_model_effect

from tamiz._study.selection_verdicts import loss_warnings, stability_warnings
from tamiz.report.records.codec import from_json
from tamiz.report.records.models import ColumnDecision, FoldedScores, RecommendationRecord, StabilitySummary

NAMES = [f"x{j}" for j in range(6)]


def found(**more: Any) -> RecommendationRecord:
    record: RecommendationRecord = from_json(
        RecommendationRecord, sample_model_effect.recommendation(NAMES, NAMES[:2]) | more
    )
    return record


def folded(mean: float, half: float) -> FoldedScores:
    return FoldedScores(mean=mean, interval=(mean - half, mean + half), folds=(mean,) * 5, standard_deviation=half)


def with_change(record: RecommendationRecord, model: int, mean: float, half: float) -> RecommendationRecord:
    """Return the record with another change of a model on the recommended columns."""
    candidates = []
    for one in record.candidates:
        row = [folded(0.0, 0.1) for _ in record.models]
        row[model] = folded(mean, half)
        candidates.append(replace(one, changes=(tuple(row), *one.changes[1:])) if one.id == record.recommended else one)
    return replace(record, candidates=tuple(candidates))


@pytest.mark.parametrize(
    ("mean", "half", "warned"), [(-0.08, 0.02, True), (-0.08, 0.09, False), (-0.004, 0.001, False), (0.08, 0.02, False)]
)
def test_a_loss_beyond_the_margin_and_the_error_is_warned_of(mean: float, half: float, warned: bool) -> None:
    record = with_change(found(margin=0.01), 1, mean, half)
    warnings = loss_warnings(record)
    assert bool(warnings) is warned
    if warned:
        (one,) = warnings
        assert (one.code, one.severity, one.columns) == ("TZ303", "to check", record.columns)
        assert "−0.080 (−0.100 to −0.060)" in one


def test_without_recommended_columns_nothing_is_lost() -> None:
    record = replace(found(), recommended=None, columns=(), chance="It may be chance.")
    assert loss_warnings(record) == []
    assert stability_warnings(record, StabilitySummary(estimate=0.1, low=0.0, high=0.2, sentence="")) == []


def test_an_unstable_selection_names_the_columns_that_few_folds_select() -> None:
    decisions = tuple(
        ColumnDecision(name=name, kept=True, share=share, similar=(), same_as=None, p_value=None, relevance=None)
        for name, share in zip(NAMES[:2], (1.0, 0.4), strict=True)
    )
    record = replace(found(), columns=tuple(NAMES[:2]), decisions=decisions)

    def warned(estimate: float) -> list[Any]:
        return stability_warnings(record, StabilitySummary(estimate=estimate, low=0.1, high=0.9, sentence=""))

    (one,) = warned(0.39)
    assert (one.code, one.columns) == ("TZ304", ("x1",))
    assert "the stability of the selection is 0.39" in one
    assert "Fewer than half of the folds select 'x1'." in one
    assert warned(0.4) == []
