"""The permutation null of a study's assessment, or one of a few shuffled targets, decides whether the subset may be chance."""

from types import SimpleNamespace

import numpy as np
import pytest

import tamiz
from tamiz import SubsetSelector, open_table
from tamiz._study.run import StudyRun
from tamiz.assessment.findings import FoldScores
from tamiz.assessment.score_report import Recommendation
from tamiz.criteria import CFS, Variance
from tamiz.exceptions import TamizWarning
from tamiz.search import BestFirst
from tamiz.selection.subset_record import PermutationNull


def test_the_permutation_null_of_the_assessment_is_the_one_that_is_stated():
    rng = np.random.default_rng(3)
    table = open_table(rng.normal(size=(60, 200)), rng.permutation(np.arange(60) % 2).astype(str))
    selector = SubsetSelector().fit(table)
    subset = SimpleNamespace(columns=("x1",))

    def find(merits, **more):
        assessed = None
        if merits is not None:
            assessed = SimpleNamespace(null=PermutationNull(np.array(merits), 0.5, "merit", "shuffled among all rows"))
        described = SimpleNamespace(leaking=frozenset())
        record = SimpleNamespace(table=described, subset=more.get("subset", subset), assessment=assessed)
        run = SimpleNamespace(record=record, selector=selector, steps=SimpleNamespace(interruption_note=None))
        return StudyRun._find_chance(run, table)

    with pytest.warns(TamizWarning, match="may be chance. 1 of 19 searches on targets shuffled among all rows reaches"):
        assert find((0.5, *[0.1] * 18)).startswith("1 of 19 searches")
    assert find((0.1,) * 19) == ""
    assert find((0.5, *[0.1] * 98)) == ""
    # Without an assessment, the search is repeated here.
    with pytest.warns(TamizWarning, match="may be chance"):
        assert find(None)
    assert find(None, subset=SimpleNamespace(columns=())) == ""


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::tamiz.exceptions.TamizWarning")
@pytest.mark.parametrize(("low", "withheld"), [(-0.1, True), (0.1, False)])
def test_the_warning_and_the_recommendation_are_one_decision(monkeypatch, low, withheld):
    # The gain decides, also where the baseline varies so much that the score is above its mean.
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 4)), rng.normal(size=80) + np.linspace(0, 30, 80)
    X[:, 0] = y + 8 * rng.normal(size=80)
    monkeypatch.setattr(FoldScores, "interval", property(lambda scores: (scores.mean + low, scores.mean + 1.0)))
    monkeypatch.setattr(Recommendation, "gain", property(lambda found: FoldScores(np.zeros(5), 1.0)))
    record = tamiz.study(X, y, time=np.arange(80.0), relevances=[Variance()], maps=[]).record
    assert record.recommendation.score.mean - 0.1 > record.recommendation.baseline["r2"].mean
    warned = [str(one) for one in record.warnings if one.code == "TZ302"]
    assert bool(warned) == bool(record.recommendation.chance) == withheld
    assert all("no column can be tested, because rows in time are not independent" in one for one in warned)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::tamiz.exceptions.TamizWarning")
@pytest.mark.parametrize(("low", "withheld"), [(-0.1, True), (0.1, False)])
def test_a_requested_search_that_may_be_chance_is_recommended_if_its_score_is_evidence(monkeypatch, low, withheld):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 4)), np.arange(80) % 2
    X[:, 0] += y
    monkeypatch.setattr(StudyRun, "_find_chance", lambda *_: "By chance.")
    monkeypatch.setattr(FoldScores, "interval", property(lambda scores: (scores.mean + low, scores.mean + 1.0)))
    monkeypatch.setattr(Recommendation, "gain", property(lambda found: FoldScores(np.zeros(5), 1.0)))
    asked = {"selector": SubsetSelector(CFS(), BestFirst()), "relevances": [Variance()], "maps": []}
    assert bool(tamiz.study(X, y, **asked).record.recommendation.chance) == withheld
