"""A selection report as text, HTML and JSON."""

import json
import re
from dataclasses import FrozenInstanceError, replace

import numpy as np
import pytest
from tests.assessment.tables import signal

from tamiz import RankSelector, SubsetSelector, selection_report
from tamiz.assessment.findings import FoldScores
from tamiz.assessment.score_report import RoleScores, SelectionReport
from tamiz.criteria import CFS, InformationGain, Variance
from tamiz.report import score_text
from tamiz.search import BestFirst
from tamiz.selection.subset_record import PermutationNull


def scores(*values):
    return FoldScores(np.array(values), 0.45)


REPORT = SelectionReport(
    selector="CFS by BestFirst",
    model="naive Bayes",
    scoring="accuracy",
    folds_description="4 stratified folds",
    n_samples=60,
    n_columns=4,
    groups=None,
    time=None,
    names=("a", "b<c", "d", "e"),
    support=np.array([True, True, False, False]),
    merit=0.25,
    merit_name="CFS",
    unit="",
    nested=scores(0.7, 0.8, 0.8, 0.7),
    apparent=scores(0.9, 0.8, 0.8, 0.9),
    baseline=scores(0.5, 0.5, 0.5, 0.5),
    all_columns=scores(0.6, 0.6, 0.6, 0.8),
    fold_sets=np.array([[1, 1, 0, 0], [1, 1, 0, 0], [1, 0, 1, 0], [1, 1, 0, 0]], dtype=bool),
    candidate_mask=np.array([True, True, True, False]),
    null=PermutationNull(np.array([0.1, 0.2, 0.05]), 0.25, "merit", "shuffled among all rows"),
    notes=("4 folds in place of 10: class 'x' has 4 rows.",),
    seed=0,
)


# One row of twenty is of a class: no prediction is right more often than the most frequent class, yet rows are ranked well.
IMBALANCED = replace(
    REPORT,
    nested=scores(0.94, 0.95, 0.93, 0.94),
    apparent=scores(0.95, 0.95, 0.95, 0.95),
    baseline=scores(0.95, 0.95, 0.95, 0.95),
    all_columns=scores(0.92, 0.93, 0.92, 0.93),
    null=None,
    other_scores={
        "roc_auc": RoleScores(
            scores(0.8, 0.85, 0.8, 0.83), scores(0.86, 0.86, 0.85, 0.87), scores(0.5, 0.5, 0.5, 0.5), None
        ),
        "balanced_accuracy": RoleScores(
            scores(0.5, 0.52, 0.49, 0.5), scores(0.5, 0.5, 0.5, 0.5), scores(0.5, 0.5, 0.5, 0.5), None
        ),
    },
)


def test_the_numbers_follow_from_the_folds():
    assert REPORT.columns == ("a", "b<c")
    assert REPORT.optimism == pytest.approx(0.1)
    assert REPORT.frequencies.tolist() == [1, 0.75, 0.25, 0]
    assert REPORT.stability.n_columns == 3
    assert REPORT.null.p_value == 0.25


def test_a_report_reads_as_lines():
    heading, *lines, verdict, note = repr(REPORT).splitlines()
    assert heading == ("Selection report: CFS by BestFirst, 2 of 4 columns of 60 rows; naive Bayes, 4 stratified folds")
    assert [[cell for cell in re.split("  +", line) if cell] for line in lines] == [
        ["selected", "a, b<c", "on all rows"],
        ["CFS", "0.25", "of the search"],
        ["accuracy, baseline", "0.5000 ± 0.0000", "class frequencies or the mean, without any column"],
        ["accuracy, nested CV", "0.7500 ± 0.0387", "columns selected again inside every fold"],
        ["accuracy, apparent", "0.8500 ± 0.0387", "columns selected once on all rows, including test rows"],
        ["accuracy, all columns", "0.6500 ± 0.0671", "no selection"],
        ["optimism", "0.1000", "apparent minus nested CV"],
        ["stability", f"{REPORT.stability.estimate:.2f}", REPORT.stability.sentence],
        ["selected in, of 4 folds", "a 4, b<c 3, d 1"],
        [
            "shuffled targets",
            "p = 0.25",
            "merit 0.25; 0.1 in the median and 0.2 at most for 3 targets shuffled among all rows",
        ],
    ]
    assert verdict == REPORT.verdict
    assert note == "4 folds in place of 10: class 'x' has 4 rows."


def test_a_page_escapes_names():
    page = REPORT._repr_html_()
    assert "b&lt;c" in page
    assert "b<c" not in page
    assert REPORT.verdict in page


def test_a_report_is_json():
    record = json.loads(json.dumps(REPORT.to_dict(), allow_nan=False))
    assert record["columns"] == ["a", "b<c"]
    assert record["nested"]["values"] == [0.7, 0.8, 0.8, 0.7]
    assert record["nested"]["mean"] == pytest.approx(0.75)
    assert list(record["frequency_by_name"].items()) == [("a", 1.0), ("b<c", 0.75), ("d", 0.25)]
    assert (record["support"], record["fold_sets"][2]) == ("1100", "1010")
    assert record["null"]["p_value"] == 0.25
    assert record["stability"]["n_sets"] == 4
    assert json.loads(json.dumps(replace(REPORT, null=None, all_columns=None).to_dict()))["all_columns"] is None


@pytest.mark.parametrize(
    ("changes", "verdict"),
    [
        (
            {"null": None},
            r"The selected columns predict better than none: accuracy 0\.75 \(0\.5 without any column\) in nested "
            r"cross-validation; 60 rows\.$",
        ),
        # Three shuffled targets are too few for a test, nineteen are enough.
        ({}, "The selected columns predict better than none: accuracy 0.75"),
        (
            {"null": PermutationNull(np.arange(19) / 19, 0.25, "merit", "")},
            "The selected columns predict better than none, but the search finds as much on shuffled targets: accuracy 0.75",
        ),
        (
            {"null": PermutationNull(np.zeros(19), 0.25, "merit", "")},
            "The selected columns predict better than none: accuracy 0.75",
        ),
        (
            {"nested": scores(0.4, 0.8, 0.3, 0.9), "null": PermutationNull(np.zeros(19), 0.25, "merit", "")},
            "The search finds more than on shuffled targets, but the gain in score is within its error: accuracy 0.6",
        ),
        (
            {"nested": scores(0.4, 0.8, 0.3, 0.7)},
            "The selected columns show no gain over the baseline: accuracy 0.55",
        ),
        (
            {"nested": scores(0.5, 0.5, 0.5, 0.5)},
            "The selected columns show no gain over the baseline: accuracy 0.5 ",
        ),
    ],
)
def test_the_verdict_needs_a_gain_beyond_its_error_and_beyond_chance(changes, verdict):
    assert re.match(verdict, replace(REPORT, **changes).verdict)


@pytest.mark.parametrize(
    ("null", "beats_chance"),
    [
        (None, True),
        # Too few permutations for a test.
        (PermutationNull(np.zeros(5), 0.25, "merit", ""), True),
        (PermutationNull(np.ones(5), 0.25, "merit", ""), True),
        (PermutationNull(np.zeros(19), 0.25, "merit", ""), True),
        (PermutationNull(np.arange(19) / 19, 0.25, "merit", ""), False),
        (PermutationNull(np.zeros(99), 0.25, "merit", ""), True),
        (PermutationNull(np.ones(99), 0.25, "merit", ""), False),
    ],
)
def test_the_report_and_its_page_agree_on_chance(null, beats_chance):
    report = replace(REPORT, null=null)
    assert report.beats_chance is beats_chance
    assert ("finds as much on shuffled targets" in report.verdict) is not beats_chance
    assert ("finds as much on shuffled targets" in score_text.assessment_verdict(report)) is not beats_chance
    without = replace(report, nested=scores(0.5, 0.5, 0.5, 0.5))
    assert without.beats_baseline is False
    verdict = score_text.assessment_verdict(without)
    assert verdict.startswith("The selected columns show no gain over the baseline")
    assert ("finds as much on shuffled targets" in verdict) is not beats_chance


def test_where_the_share_of_a_class_hides_the_gain_from_accuracy_the_area_decides():
    assert IMBALANCED.deciding_score == "roc_auc"
    assert IMBALANCED.beats_baseline
    assert IMBALANCED.verdict == (
        "The selected columns predict better than none: roc_auc 0.82 (0.5 without any column) in nested cross-validation; "
        "accuracy 0.94 (0.95); balanced_accuracy 0.502 (0.5); 60 rows."
    )
    record = IMBALANCED.to_dict()
    assert (record["deciding_score"], record["beats_baseline"]) == ("roc_auc", True)
    assert [*record["other_scores"]] == ["roc_auc", "balanced_accuracy"]
    assert record["other_scores"]["roc_auc"]["nested"]["mean"] == pytest.approx(0.82)
    # Without ROC AUC it is balanced accuracy; a requested score other than accuracy always decides.
    beside = {"balanced_accuracy": IMBALANCED.other_scores["balanced_accuracy"]}
    assert replace(IMBALANCED, other_scores=beside).deciding_score == "balanced_accuracy"
    assert not replace(IMBALANCED, other_scores=beside).beats_baseline
    assert replace(REPORT, scoring="f1_macro", other_scores=IMBALANCED.other_scores).deciding_score == "f1_macro"
    assert replace(REPORT, other_scores={}).deciding_score == "accuracy"


def test_a_report_is_not_changed():
    with pytest.raises(FrozenInstanceError):
        REPORT.merit = 1.0


# What a selector calls its merit


@pytest.mark.parametrize(
    ("selector", "label", "merit_name", "unit"),
    [
        (SubsetSelector(CFS(), BestFirst()), "CFS by BestFirst", "CFS", ""),
        (
            RankSelector(InformationGain(), n_features=2),
            "ranking by InformationGain",
            "mean InformationGain of the selected columns",
            "bits",
        ),
        (
            RankSelector(Variance(), n_features=1),
            "ranking by Variance",
            "mean Variance of the selected columns",
            "unit²",
        ),
    ],
)
def test_the_merit_is_that_of_the_search_of_all_rows(selector, label, merit_name, unit):
    X, y = signal()
    report = selection_report(selector, X, y, n_splits=2, n_permutations=2)
    assert (report.selector, report.merit_name, report.unit) == (label, merit_name, unit)
    fitted = selector.fit(X, y)
    seen = fitted.merit_ if hasattr(fitted, "merit_") else fitted.scores_[fitted.get_support()].mean()
    assert report.merit == seen
    # A ranking that does not read the target is tested by its apparent score.
    assert report.null.statistic == ("apparent score" if label.endswith("Variance") else "merit")
    assert report.null.observed == (report.apparent.mean if label.endswith("Variance") else report.merit)
