"""The error rates of a study: the numbers of `selection_error_rates`, and what is refused, left out, interrupted and repeated."""

import re

import numpy as np
import pandas as pd
import pytest
from tests.sentences import sentences

import tamiz
from tamiz import SubsetSelector
from tamiz._study import models
from tamiz._study.budget import DEFAULT_BUDGET
from tamiz._study.estimates import StudyExtent, estimate_steps
from tamiz._study.run import StudyRun
from tamiz.assessment import selection_error_rates
from tamiz.assessment.semi_synthetic import count_searches
from tamiz.criteria import CFS
from tamiz.exceptions import DataError
from tamiz.report import Result
from tamiz.report.score_text import collect_error_rates
from tamiz.search import BestFirst, Evaluations
from tamiz.table.factory import open_table

pytestmark = [
    pytest.mark.usefixtures("few_models"),
    pytest.mark.filterwarnings("ignore::tamiz.exceptions.TamizWarning"),
]


@pytest.fixture(scope="module", autouse=True)
def few_searches():
    """Few folds and shuffled targets, and no other evaluation."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(models, "_FOLDS", 3)
        patched.setattr("tamiz.selection.permutation_null._DEFAULT_PERMUTATIONS", 2)
        patched.setattr(StudyRun, "_compare", lambda *_, **__: None)
        patched.setattr(models.ModelEvaluation, "run_noise_experiment", lambda *_: None)
        yield


def study(*data, **more):
    usual = {"selector": SubsetSelector(CFS()), "relevances": [], "maps": [], "points": False}
    return tamiz.study(*data, **usual | more)


def table(n=60, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    X = pd.DataFrame(rng.normal(size=(n, 4)) + y[:, None] * [1.5, 1.0, 0.0, 0.0], columns=list("abcd"))
    return X, np.where(y, "ill", "well")


@pytest.fixture(scope="module")
def studied(few_models, few_searches):
    return study(*table(), semi_synthetic=5, random_state=4)


def test_the_rates_of_a_study_are_those_of_the_function(studied):
    selector = SubsetSelector(CFS(), BestFirst(), random_state=4)
    expected = selection_error_rates(selector, open_table(*table()), n_draws=5, random_state=4).to_dict()
    found = studied.to_dict()["error_rates"]
    assert found["n_draws"] == 5
    assert found == expected


def test_a_study_with_rates_is_read_as_it_was_written(studied, tmp_path):
    again = Result.from_json(studied.to_json(tmp_path / "a.json"))
    assert again.to_dict() == studied.to_dict()
    assert again.page() == studied.page()
    assert collect_error_rates(again.record)["finding"] in again.page().replace("\u00a0", " ")


def test_the_study_states_the_option_and_the_time_of_the_step(studied):
    assert "semi_synthetic=5" in studied.record.reproduction.python
    (step,) = [one for one in studied.timings if one.step == "error rates"]
    assert step.seconds > 0
    assert step.estimated_seconds > 0.5


def test_nothing_else_changes_and_none_is_the_default(studied):
    usual = study(*table(), random_state=4)
    assert usual.record.error_rates is None
    assert not any(step.step == "error rates" for step in usual.timings)
    before, after = usual.to_dict(), studied.to_dict()
    after["error_rates"] = None
    assert {**before, "reproduction": None} == {**after, "reproduction": None}


def test_the_script_repeats_it(tmp_path):
    X, y = table()
    X.assign(state=y).to_csv(tmp_path / "t.csv", index=False)
    found = study(tmp_path / "t.csv", "state", semi_synthetic=2, selector=SubsetSelector(CFS(), stop=Evaluations(3)))
    assert "semi_synthetic=2" in found.record.reproduction.python


def test_the_estimate_counts_every_search(monkeypatch):
    X, y = table()
    calls, fit = [], SubsetSelector.fit
    monkeypatch.setattr(SubsetSelector, "fit", lambda *arguments: (calls.append(1), fit(*arguments))[1])
    selection_error_rates(SubsetSelector(CFS(), BestFirst()), X, y, n_draws=3)
    assert len(calls) == count_searches(3)
    assert f"their signal {count_searches(0)} more" in " ".join((tamiz.study.__doc__ or "").split())
    monkeypatch.setattr("tamiz.assessment.semi_synthetic.N_SIGNAL_SELECTIONS", 500)
    schema = open_table(X, y).schema
    steps = [
        estimate_steps(
            schema,
            DEFAULT_BUDGET,
            StudyExtent(n_shown=60, n_maps=0, sample_graph=True, searched=(CFS(), BestFirst()), semi_synthetic=n),
        )
        for n in (0, 20, 96)
    ]
    assert "error rates" not in steps[0]
    few, many = (one["error rates"].seconds - 0.2 for one in steps[1:])
    assert many / few == pytest.approx(count_searches(96) / count_searches(20))


@pytest.mark.parametrize(
    ("asked", "error", "message"),
    [
        ({"semi_synthetic": 1}, ValueError, "semi_synthetic must be at least 2, got 1"),
        ({"semi_synthetic": -3}, ValueError, "semi_synthetic must be at least 2, got -3"),
        ({"semi_synthetic": 2.5}, TypeError, r"semi_synthetic must be a whole number, got 2\.5"),
        ({"semi_synthetic": True}, TypeError, "semi_synthetic must be a whole number, got True"),
        (
            {"semi_synthetic": 20, "assess": False},
            ValueError,
            "semi_synthetic=20 is part of the evaluation that assess=False",
        ),
    ],
)
def test_invalid_numbers_of_targets_are_refused(asked, error, message):
    with pytest.raises(error, match=message):
        study(*table(), **asked)


def test_without_a_target_there_are_no_rates():
    with pytest.raises(
        DataError, match=r"^semi_synthetic=20 repeats the search .* the table has no target; pass target=\."
    ):
        study(table()[0], semi_synthetic=20)


def test_rates_are_left_out_with_the_assessment_and_a_warning_states_it(monkeypatch):
    monkeypatch.setattr(models.ModelEvaluation, "assess", lambda *_: None)
    found = study(*table(), semi_synthetic=2)
    assert found.record.assessment is None
    assert (
        "The estimate of error rates on semi-synthetic targets is left out: It needs the reliability of the selection."
        in found.record.warnings
    )


@pytest.mark.slow
def test_an_interruption_keeps_the_assessment(monkeypatch, studied):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("tamiz.assessment.semi_synthetic.simulate_error_rates", interrupt)
    found = study(*table(), semi_synthetic=5, random_state=4).to_dict()
    assert found["interruption"] == "Interrupted in the step 'error rates'; what was found until then is shown."
    assert found["assessment"] == studied.to_dict()["assessment"]
    assert found["error_rates"] is None
    monkeypatch.setattr("tamiz.assessment.nested_cv.selection_report", interrupt)
    found = study(*table(), semi_synthetic=5).to_dict()
    assert found["assessment"] is None
    assert not any("error rates" in warning for warning in sentences(found))


def test_rates_that_do_not_fit_the_seconds_are_left_out_with_the_reason():
    found = study(*table(), semi_synthetic=10**9, max_seconds=600)
    assert found.record.assessment is not None
    assert found.record.error_rates is None
    (note,) = [one for one in found.record.warnings if one.startswith("Left out")]
    assert (
        "the 600 seconds of max_seconds (--max-seconds) are over, or too few are left: the estimate of error rates"
        in note
    )


# Known truths: the sentences of the report, and the section around them


def sections(found):
    return collect_error_rates(found.record), found.page()


def percent(pattern, text):
    return float(re.search(pattern, text)[1])


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["number", "classes"])
def test_a_search_that_finds_orthogonal_columns_is_described_so(kind):
    rng = np.random.default_rng(0)
    X = np.linalg.qr(rng.normal(size=(400, 8)))[0] * 20
    latent = X[:, 0] + X[:, 1] - X[:, 2] + 0.2 * rng.normal(size=400)
    y = latent if kind == "number" else np.where(latent > 0, "high", "low")
    found = study(X, y, semi_synthetic=12)
    shown, _ = sections(found)
    assert percent(r"finds ([\d.]+)%", shown["finding"]) >= 90
    assert percent(r"and ([\d.]+)% ±", shown["finding"]) <= 25
    what = "target" if kind == "number" else "latent variable behind the classes"
    assert f"of the variance of the {what} is " in shown["design"]


@pytest.mark.slow
def test_near_copies_of_every_column_are_described_as_such():
    X, y = table(200)
    copies = X + 0.01 * np.random.default_rng(1).normal(size=X.shape)
    found = study(
        pd.concat([X, copies.add_suffix("_again")], axis=1),
        y,
        semi_synthetic=12,
        selector=SubsetSelector(CFS(), allow_duplicates=True),
    )
    shown, _ = sections(found)
    false, strict = re.search(r"and ([\d.]+)% ± [\d.]+% .* \(([\d.]+)% ± [\d.]+% if columns", shown["finding"]).groups()
    assert float(false) > float(strict)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(4))
def test_of_noise_the_section_claims_no_signal_of_the_real_target(seed):
    rng = np.random.default_rng(seed)
    found = study(rng.normal(size=(150, 6)), rng.normal(size=150), semi_synthetic=4)
    shown, page = sections(found)
    assert not found.record.assessment.beats_baseline
    assert "The selected columns show no gain over the baseline" in page
    rates = found.record.error_rates
    if rates.signal_strength == "stronger":
        assert (
            "of the variance of the target is 10%: a stronger signal than that of the real target." in shown["design"]
        )
        assert shown["notes"][0].startswith("The linear signal of the real target is below 3% of the variance (R2 ")
    else:
        assert rates.signal < 0.3
        assert shown["design"].endswith("as strong as the one estimated for the real target, which may be none.")


def test_a_study_of_constant_columns_is_complete_but_for_the_error_rates():
    X, y = table()
    found = study(X * 0.0, y, semi_synthetic=2)
    assert found.record.error_rates is None
    sentence = "The estimate of error rates on semi-synthetic targets is left out: Every column is constant"
    assert any(note.startswith(sentence) for note in found.record.warnings)
