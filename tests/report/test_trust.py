"""The verdict on a selection: every number of it is one of the assessment's, and its words agree with them."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from tamiz import RankSelector, selection_report
from tamiz.assessment.score_report import SelectionReport
from tamiz.criteria import FisherScore
from tamiz.report.score_text import ScoreFormat, assessment_verdict
from tamiz.runtime.codec import from_json

from . import sample, sample_model_effect

BETTER = "The selected columns predict better than none: "


def assessed(
    apparent: float, nested: float, baseline: float, scoring: str = "accuracy", half: float = 0.04, **more: Any
) -> dict[str, Any]:
    """Return an assessment by one score alone."""
    found = sample.assessment({"columns": ["ash", "hue"], "value": 0.5}, ["ash", "hue", "proline"])
    found |= {
        "apparent": sample_model_effect.folded(apparent, 0.04),
        "nested": sample_model_effect.folded(nested, half),
    }
    found |= {"baseline": sample_model_effect.baseline(baseline), "scoring": scoring, "other_scores": {}}
    return {**found, **more}


def beside(scoring: str, nested: float, baseline: float) -> dict[str, Any]:
    """Return another score of the same predictions."""
    of_columns, without = map(sample_model_effect.baseline, (nested, baseline))
    return {scoring: {"nested": of_columns, "apparent": of_columns, "baseline": without, "all_columns": None}}


def null(n_reached: int) -> dict[str, Any]:
    """Return merits of 19 searches, of which some reach the observed one."""
    merits = [0.1 * k for k in range(19)]
    observed = merits[19 - n_reached] if n_reached else 2.0
    return {"null_values": merits, "observed": observed, "statistic": "merit", "description": "shuffled among all rows"}


def verdict(data: dict[str, Any]) -> str:
    return assessment_verdict(from_json(SelectionReport, data))


def test_the_verdict_states_score_interval_rows_and_baseline_and_how_much_of_the_apparent_score_is_optimism() -> None:
    assert verdict(assessed(0.87, 0.79, 0.5)) == (
        f"{BETTER}accuracy 79.0% (95% 75.0% to 83.0%) in nested cross-validation of 178 rows, "
        "baseline 50.0%. Apparent score: accuracy 87.0%; optimism: 8.0 points."
    )
    assert verdict(assessed(0.87, 0.86, 0.5)).endswith("; optimism: 1.0 point.")
    assert verdict(assessed(0.8, 0.81, 0.5)).endswith("Apparent score: accuracy 80.0%; optimism: 0.0 points.")
    assert verdict(assessed(0.41, 0.3, -0.02, "r2")) == (
        f"{BETTER}R² 0.300 (95% 0.260 to 0.340) in nested cross-validation of 178 rows, "
        "baseline −0.020. Apparent score: R² 0.410; optimism: 0.110."
    )


def test_without_a_gain_the_verdict_begins_with_that() -> None:
    words = verdict(assessed(0.69, 0.4, 0.55, null=null(3)))
    assert words.startswith(
        "The selected columns show no gain over the baseline, and the search finds as much on shuffled targets: accuracy 40.0% "
        "(95% 36.0% to 44.0%) in nested cross-validation of 178 rows, baseline 55.0%."
    )
    words = verdict(assessed(0.69, 0.54, 0.55))
    assert words.startswith("The selected columns show no gain over the baseline: accuracy 54.0% (95% ")


def test_a_gain_within_its_error_is_not_denied_where_shuffled_targets_give_less() -> None:
    found = assessed(0.69, 0.6, 0.55, half=0.08, null=null(0))
    assert verdict(found).startswith(
        "The search finds more than on shuffled targets, but the gain in score is within its error: accuracy 60.0% (95% "
    )
    found["null"] = null(3)
    assert verdict(found).startswith(
        "The selected columns show no gain over the baseline, and the search finds as much on"
    )
    # Of fewer searches, none can show anything.
    found["null"] |= {"null_values": [0.0] * 5}
    assert verdict(found).startswith("The selected columns show no gain over the baseline: ")


def test_a_gain_with_a_merit_within_the_permutation_null_is_stated_with_that_limitation() -> None:
    found = assessed(0.87, 0.79, 0.5, null=null(3))
    assert verdict(found).startswith(
        f"{BETTER[:-2]}, but the search finds as much on shuffled targets: accuracy 79.0% "
    )


def test_a_search_that_keeps_no_column_has_no_score() -> None:
    found = assessed(0.5, 0.5, 0.5, support="000")
    assert verdict(found) == (
        "The search keeps no column, so there is no score to evaluate; the baseline is accuracy 50.0%."
    )


def test_where_another_score_decides_both_it_and_the_apparent_one_are_named() -> None:
    found = assessed(0.9, 0.85, 0.6, other_scores=beside("roc_auc", 0.88, 0.5))
    assert verdict(found) == (
        f"{BETTER}AUC 0.880 (95% 0.880 to 0.880) in nested cross-validation of 178 rows, "
        "baseline 0.500. Apparent score: accuracy 90.0%; optimism: 5.0 points."
    )
    record = from_json(SelectionReport, found)
    assert record.scores_of("roc_auc").nested.mean == pytest.approx(0.88)
    assert record.scores_of("accuracy").nested is record.nested


@pytest.mark.parametrize(
    ("nested", "words"),
    [
        (0.94, " Its accuracy, 94.0%, is not above the 95.0% of always predicting the most frequent class."),
        (0.95, " Its accuracy, 95.0%, is not above the 95.0% of always predicting the most frequent class."),
        (0.96, "optimism: 0.000."),
    ],
)
def test_accuracy_below_the_most_frequent_class_is_stated_beside_a_gain(nested: float, words: str) -> None:
    found = assessed(0.8, 0.8, 0.5, "roc_auc", other_scores=beside("accuracy", nested, 0.95))
    assert verdict(found).startswith(f"{BETTER}AUC 0.800 (95% ")
    assert verdict(found).endswith(words)


def imbalanced() -> tuple[Any, Any]:
    """One row of twenty is of a class, which two columns shift by less than its rarity weighs."""
    rng = np.random.default_rng(0)
    y = np.arange(400) % 20 == 0
    X = rng.normal(size=(400, 5))
    X[:, :2] += y[:, None]
    return X, y


def test_a_rare_class_that_columns_predict_is_a_gain_although_accuracy_is_below_its_baseline() -> None:
    found = selection_report(RankSelector(FisherScore(), n_features=2), *imbalanced(), n_splits=5, n_permutations=0)
    accuracy = found.scores_of("accuracy")
    assert accuracy.nested.mean < accuracy.baseline.mean == pytest.approx(0.95)
    assert found.deciding_score == "roc_auc"
    assert found.beats_baseline
    words = assessment_verdict(found)
    mean = found.nested.mean
    assert words.startswith(f"{BETTER}AUC {mean:.3f} (95% ")
    assert f"is not above the {100 * accuracy.baseline.mean:.1f}% of always predicting the most frequent class" in words
    assert "no gain" not in words
    # So too where accuracy was asked for.
    asked = selection_report(
        RankSelector(FisherScore(), n_features=2), *imbalanced(), scoring="accuracy", n_splits=5, n_permutations=0
    )
    assert (asked.scoring, asked.deciding_score) == ("accuracy", "roc_auc")
    assert "no gain" not in assessment_verdict(asked)
    assert "no gain" not in asked.verdict


def test_columns_of_noise_are_no_gain_in_nine_of_ten_tables_of_a_rare_class() -> None:
    gains = 0
    for seed in range(10):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(200, 10)), np.arange(200) % 20 == 0
        found = selection_report(RankSelector(FisherScore(), n_features=3), X, y, n_splits=5, n_permutations=0)
        words = assessment_verdict(found)
        gains += found.beats_baseline
        if found.beats_baseline:
            continue
        assert words.startswith("The selected columns show no gain over the baseline: AUC 0.")
        ends = re.search(r"\(95% (\d\.\d+) to (\d\.\d+)\)", words)
        assert ends is not None
        assert tuple(map(float, ends.groups())) == tuple(np.clip(np.round(found.nested.interval, 3), 0, 1))
    # Twice the standard error of five folds is exceeded in 6 of 100 tables by Student's distribution, and in 7 of 100 as measured.
    assert gains <= 1


def test_scores_are_named_and_written_as_shares_or_numbers() -> None:
    share, number = ScoreFormat("balanced_accuracy"), ScoreFormat("neg_mean_squared_error")
    assert (share.name, share.format_score(0.5)) == ("balanced accuracy", "50.0%")
    assert (number.name, number.format_score(-2.5)) == ("neg mean squared error", "−2.500")
    assert ScoreFormat("roc_auc").format_interval((-0.1, 1.1)) == "0.000 to 1.000"
    assert ScoreFormat("r2").format_interval((-0.1, 1.1)) == "−0.100 to 1.000"
    # Of several classes there are several averages.
    names = [ScoreFormat(score).name for score in ("roc_auc", "roc_auc_ovr_weighted", "roc_auc_ovr")]
    assert names == ["AUC", "weighted AUC", "mean AUC"]
