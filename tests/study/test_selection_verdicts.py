"""Verdicts on the selection of a study, on records whose numbers are known."""

from typing import Any

import pytest
from tests.report import sample_model_effect

from tamiz._study.models import loss_warnings, stability_warnings
from tamiz.assessment.findings import Stability
from tamiz.assessment.score_report import Recommendation
from tamiz.report.records import ColumnDecision
from tamiz.runtime.codec import from_json

NAMES = [f"x{j}" for j in range(6)]


def found(knn: tuple[float, float] = (0.0, 0.1), **more: Any) -> Recommendation:
    """Return a recommendation with a change of nearest neighbours, and changes within their error of the other models."""
    data = sample_model_effect.recommendation(NAMES, NAMES[:2]) | more
    changes = [(0.001, 0.1), knn, (0.001, 0.1)]
    data["candidates"]["cfs"] = sample_model_effect.candidate("CFS", NAMES[:2], NAMES, changes, data["scorings"])
    return from_json(Recommendation, data)


def stability(estimate: float) -> Stability:
    return Stability(estimate, 0.01, 0.1, 0.9, 5, 6, 2.0)


@pytest.mark.parametrize(
    ("mean", "half", "warned"), [(-0.08, 0.02, True), (-0.08, 0.09, False), (-0.004, 0.001, False), (0.08, 0.02, False)]
)
def test_a_loss_beyond_the_margin_and_the_error_is_warned_of(mean: float, half: float, warned: bool) -> None:
    record = found((mean, half), margin=0.01)
    warnings = loss_warnings(record)
    assert bool(warnings) is warned
    if warned:
        (one,) = warnings
        assert (one.code, one.severity, one.columns) == ("TZ303", "to check", record.columns)
        assert "−0.080 (−0.100 to −0.060)" in one


def test_without_recommended_columns_nothing_is_lost() -> None:
    record = found((-0.08, 0.02), chance="It may be chance.")
    assert loss_warnings(record) == []
    assert stability_warnings(record, stability(0.1), ()) == []


def test_an_unstable_selection_names_the_columns_that_few_folds_select() -> None:
    decisions = tuple(
        ColumnDecision(
            name=name,
            kept=True,
            share=share,
            similar=(),
            same_as=None,
            redundant_with=None,
            p_value=None,
            relevance=None,
        )
        for name, share in zip(NAMES[:2], (1.0, 0.4), strict=True)
    )

    def warned(estimate: float) -> list[Any]:
        return stability_warnings(found(), stability(estimate), decisions)

    (one,) = warned(0.39)
    assert (one.code, one.columns) == ("TZ304", ("x1",))
    assert "the stability of the selection is 0.39" in one
    assert "Fewer than half of the folds select 'x1'." in one
    assert warned(0.4) == []
