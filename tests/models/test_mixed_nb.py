import json

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.model_selection import KFold, LeaveOneOut, StratifiedKFold, cross_val_score
from sklearn.naive_bayes import CategoricalNB, GaussianNB
from sklearn.utils.estimator_checks import parametrize_with_checks
from tests.models.random_cases import drawn_folds, drawn_weight, evaluator_of, flipped
from tests.reference.naive_bayes import log_shares
from tests.reference.tables import shared

from tamiz import MixedNB, SubsetSelector, open_table
from tamiz.criteria import CrossValidated
from tamiz.exceptions import DataError, TamizWarning
from tamiz.models import backends, mixed_nb
from tamiz.runtime.user_warnings import capture_warnings
from tamiz.search import Exhaustive
from tamiz.search.base import Candidates
from tamiz.table.base import target_array
from tamiz.table.views import select_columns, select_rows

# The outlook and the humidity of 14 days, and whether one plays: Weka's weather.nominal.
WEATHER = """sunny high no;sunny high no;overcast high yes;rainy high yes;rainy normal yes;rainy normal no;overcast normal yes
sunny high no;sunny normal yes;rainy normal yes;sunny normal yes;overcast high yes;overcast normal yes;rainy high no"""


def mixed(seed, n=60):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    frame = pd.DataFrame(
        {
            "a": rng.normal(size=n) + y,
            "b": rng.integers(0, 3, n) * (y > 0),
            "same": 4.0,
            "colour": pd.Categorical.from_codes(rng.integers(0, 4, n), ["p", "q", "r", "s"]),
            "flag": rng.random(n) < 0.2 + 0.3 * y,
        }
    )
    frame.loc[rng.random(n) < 0.2, "a"] = np.nan
    frame.loc[rng.random(n) < 0.2, "colour"] = None
    return frame, y


@pytest.mark.filterwarnings("ignore::tamiz.exceptions.TamizWarning")
@parametrize_with_checks([MixedNB(alpha=0.5, var_smoothing=1e-6)])
def test_scikit_learns_check(estimator, check):
    check(estimator)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("weighted", [False, True])
def test_every_row_gets_the_probabilities_of_the_plain_version(seed, weighted):
    frame, y = mixed(seed)
    # One row of the last class only, and none of it in the rows learned from on even seeds.
    y[np.flatnonzero(y == 2)[seed % 2 :]] = 0
    weight = np.random.default_rng(9).integers(1, 4, len(y)) / 2 if weighted else np.ones(len(y))
    table = open_table(frame, y, weight=weight if weighted else None)
    numbers = frame[["a", "b", "same"]].to_numpy(float)
    codes = np.column_stack([frame["colour"].cat.codes, frame["flag"].astype(int)])
    model = MixedNB().fit(table)
    found = model.predict_proba(table)
    # Sampling weights sum to their effective size.
    weight = weight * weight.sum() / (weight @ weight)
    for row in range(len(y)):
        classes, told = log_shares(numbers, codes, [4, 2], target_array(table), weight, numbers[row], codes[row])
        share = np.exp(told - told.max())
        assert model.classes_.tolist() == classes
        np.testing.assert_allclose(found[row], share / share.sum(), rtol=1e-9, atol=1e-12)
    assert model.predict(table).tolist() == model.classes_[found.argmax(axis=1)].tolist()


def test_on_numbers_without_missing_values_it_is_gaussian():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], 50)
    X = rng.normal(size=(150, 5)) + y[:, None] * rng.normal(size=5)
    theirs = GaussianNB(var_smoothing=0).fit(X, y)
    # Equal classes have equal priors, with or without the count added.
    np.testing.assert_allclose(MixedNB().fit(X, y).predict_proba(X), theirs.predict_proba(X), rtol=1e-9, atol=1e-12)


def test_its_numbers_have_the_means_and_variances_of_gaussian_naive_bayes():
    rng = np.random.default_rng(1)
    y, weight = np.repeat([0, 1, 2], [30, 50, 20]), rng.integers(1, 4, 100)
    X = rng.normal(size=(100, 4)) + y[:, None]
    ours, theirs = MixedNB(alpha=1e-10).fit(X, y, weight), GaussianNB(var_smoothing=0).fit(X, y, weight)
    for name in ("theta_", "var_", "class_count_", "class_prior_"):
        np.testing.assert_allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-9, err_msg=name)
    np.testing.assert_allclose(ours.predict_joint_log_proba(X), theirs.predict_joint_log_proba(X), rtol=1e-9)


def test_its_categories_have_the_likelihoods_of_categorical_naive_bayes():
    rng = np.random.default_rng(2)
    codes, y = rng.integers(0, 3, (60, 4)), np.tile([0, 1, 2], 20)
    ours = MixedNB(alpha=0.7).fit(codes.astype(str).astype(object), y)
    found = ours.predict_joint_log_proba(codes.astype(str).astype(object))
    np.testing.assert_allclose(found, CategoricalNB(alpha=0.7).fit(codes, y).predict_joint_log_proba(codes), rtol=1e-9)
    assert ours.theta_.shape == ours.var_.shape == (3, 0)


def test_moments_of_a_mixed_table_are_those_of_its_numbers_in_order():
    frame, y = mixed(7)
    model = MixedNB().fit(frame, y)
    assert model.theta_.shape == model.var_.shape == (3, 3)
    assert [model.schema_.names[j] for j in model.schema_.numeric] == ["a", "b", "same"]
    np.testing.assert_allclose(model.theta_[:, 0], frame["a"].groupby(y).mean())
    np.testing.assert_allclose(model.var_[:, 0], frame["a"].groupby(y).var(ddof=0))
    assert model.var_[:, 2].tolist() == [0, 0, 0]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("cuts", [[30], [1, 2, 40], [5, 6, 20, 59]])
def test_partial_fit_in_batches_equals_fit_on_the_whole_table(cuts, weighted):
    frame, y = mixed(3)
    frame["colour"] = frame["colour"].astype(object)
    # No value of a column in the first batch.
    frame.loc[: cuts[0] - 1, ["a", "colour"]] = [np.nan, None]
    weight = np.random.default_rng(0).integers(0, 4, len(y)) / 2 + 0.5 if weighted else None
    model = MixedNB()
    with capture_warnings():
        for rows in np.split(np.arange(len(y)), cuts):
            of_rows = None if weight is None else weight[rows]
            model.partial_fit(frame.iloc[rows], y[rows], classes=[0, 1, 2], sample_weight=of_rows)
    whole = MixedNB().fit(frame, y, weight)
    assert model.schema_.columns == whole.schema_.columns
    np.testing.assert_allclose(model.class_count_, whole.class_count_)
    np.testing.assert_allclose(model.var_, whole.var_, rtol=1e-9)
    np.testing.assert_allclose(
        model.predict_joint_log_proba(frame), whole.predict_joint_log_proba(frame), rtol=1e-9, atol=1e-12
    )


def test_partial_fit_continues_a_fitted_model():
    frame, y = mixed(9)
    model = MixedNB().fit(frame.iloc[:40], y[:40]).partial_fit(open_table(frame.iloc[40:], y[40:]))
    wanted = MixedNB().fit(frame, y).predict_proba(frame)
    np.testing.assert_allclose(model.predict_proba(frame), wanted, rtol=1e-9)


def test_batches_that_cannot_be_learned_from_are_refused():
    frame, y = mixed(0)
    with pytest.raises(ValueError, match="classes must be passed on the first call to partial_fit"):
        MixedNB().partial_fit(frame, y)
    model = MixedNB().partial_fit(frame, y, classes=[0, 1, 2])
    before = model.predict_proba(frame)
    with pytest.raises(DataError, match="class 5 of y is not among the classes"):
        model.partial_fit(frame, y + 5)
    with pytest.raises(ValueError, match=r"differs from earlier calls of partial_fit: it lacks the label 2;"):
        model.partial_fit(frame, y, classes=[0, 1])
    # However many classes there are, the sentence is one line.
    with pytest.raises(
        ValueError, match=r"^classes differs from earlier calls .*: it has the new label 3; leave it out\.$"
    ):
        model.partial_fit(frame, y, classes=np.arange(100))
    with pytest.raises(ValueError, match=r"the new label '0'"):
        model.partial_fit(frame, y, classes=["0", "1", "2"])
    with pytest.raises(DataError, match="column a"):
        model.partial_fit(frame.assign(a="word"), y)
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        model.partial_fit(frame, y[:-1])
    assert np.array_equal(model.predict_proba(frame), before)


def test_alpha_is_added_to_the_counts():
    X, y = np.array([["p"], ["p"], ["q"], ["q"]], dtype=object), ["a", "a", "a", "b"]
    found = MixedNB(alpha=0.5).fit(X, y).predict_proba(X[:1])[0]
    assert found[0] / found[1] == pytest.approx((3.5 / 1.5) * (2.5 / 4.0) / (0.5 / 2.0))


def test_integer_weights_are_rows_repeated():
    frame, y = mixed(1)
    weight = np.random.default_rng(2).integers(1, 4, len(y))
    again = np.repeat(np.arange(len(y)), weight)
    weighted, repeated = MixedNB().fit(frame, y, weight), MixedNB().fit(frame.iloc[again], y[again])
    np.testing.assert_allclose(weighted.predict_proba(frame), repeated.predict_proba(frame), rtol=1e-9)


def test_learning_and_predicting_in_batches_gives_the_same_probabilities(monkeypatch):
    frame, y = mixed(3)
    whole = MixedNB().fit(frame, y).predict_proba(frame)
    monkeypatch.setattr(mixed_nb, "_VALUES_PER_BATCH", 35)
    assert np.array_equal(MixedNB().fit(frame, y).predict_proba(frame), whole)


def test_a_class_without_variance_has_probabilities_and_a_constant_column_changes_none():
    table = np.array([[0.0, 7.0, 1.0], [0.0, 7.0, 2.0], [1e6, 7.0, 3.0], [5e5, 7.0, np.nan]])
    shares = MixedNB().fit(table, ["a", "a", "b", "b"]).predict_proba(table)
    assert shares[:, 0].round(3).tolist() == [1, 1, 0, 0]
    constant = MixedNB().fit(table[:, 1:2], ["a", "b", "b", "b"]).predict_proba(table[:, 1:2] * 3)
    np.testing.assert_allclose(constant[:, 0], 2 / 6)


def test_arrays_and_frames_of_the_same_values_are_one_table():
    frame, y = mixed(4)
    shares = MixedNB().fit(frame, y).predict_proba(frame)
    for same in (pl.from_pandas(frame), frame.astype(object).where(frame.notna(), None).to_numpy()):
        np.testing.assert_allclose(MixedNB().fit(same, y).predict_proba(same), shares, rtol=1e-12)


@pytest.mark.parametrize("labels", [["1", "2"], [1.0, 2.0], [False, True], ["no", "yes"]])
def test_classes_stay_as_the_user_wrote_them(labels):
    frame, y = mixed(5)
    named = np.array(labels)[(y > 1).astype(int)]
    model = MixedNB().fit(frame, named)
    assert model.classes_.dtype == named.dtype
    assert set(model.predict(frame)) == set(labels)


def test_a_level_that_was_not_learned_is_missing_and_reported():
    frame, y = mixed(6)
    model = MixedNB().fit(frame, y)
    other = frame.assign(colour=["new"] * 30 + [None] * 30)
    with pytest.warns(
        TamizWarning, match="Column colour: 1 level in 30 rows was not present in fit: 'new'; these values"
    ):
        found = model.predict_proba(other)
    assert np.array_equal(found, model.predict_proba(other.assign(colour=pd.Series([None] * 60, dtype=object))))


@pytest.mark.parametrize(
    ("given", "what"),
    [
        ({"alpha": 0.0}, "alpha must be at least 1e-10"),
        ({"var_smoothing": -1.0}, "var_smoothing must be at least"),
    ],
)
def test_a_parameter_that_leaves_no_number_is_refused(given, what):
    with pytest.raises(ValueError, match=what):
        MixedNB(**given).fit(*mixed(0))


def test_a_target_that_cannot_be_learned_is_named():
    frame, y = mixed(0)
    with pytest.raises(DataError, match="y has no class in row 7"):
        MixedNB().fit(frame, np.where(np.arange(60) == 7, np.nan, y))
    with pytest.raises(DataError, match="y has 1 class, 4, in all 60 rows"):
        MixedNB().fit(frame, np.full(60, 4))
    with pytest.raises(DataError, match="MixedNB predicts classes"):
        MixedNB().fit(open_table(frame, np.random.default_rng(0).random(60)))


# Without refits.


def views_refitted(table, columns, cv, weight):
    """The accuracy in every fold of a model fitted to a view of the table."""
    y, scores = table.target_values(), []
    splits = StratifiedKFold(cv).split(y, y) if isinstance(cv, int) else cv.split(y, y) if hasattr(cv, "split") else cv
    for train, test in splits:
        with capture_warnings():
            model = MixedNB().fit(select_columns(select_rows(table, np.sort(train)), columns))
        right = model.predict(select_rows(table, np.sort(test))) == y[np.sort(test)]
        scores.append(np.average(right, weights=None if weight is None else weight[np.sort(test)]))
    return scores


@pytest.mark.parametrize("n_draws", [15, pytest.param(50, marks=pytest.mark.slow)])
@pytest.mark.parametrize("seed", range(4))
def test_any_draw_has_the_accuracy_of_refits_in_every_fold(seed, n_draws):
    rng = np.random.default_rng(seed)
    frame, y = mixed(seed, 80)
    frame.loc[rng.permutation(80)[:77], "b"] = np.nan
    for _ in range(n_draws):
        mask = rng.random(5) < 0.6
        mask[rng.integers(5)] = True
        cv, weight = drawn_folds(rng, MixedNB(), y), drawn_weight(rng, len(y))
        found = evaluator_of(frame, y, MixedNB(), cv, "accuracy", weight)
        wanted = views_refitted(open_table(frame, y, weight=weight), np.flatnonzero(mask), cv, weight)
        np.testing.assert_allclose(found.fold_scores(flipped(rng, mask))[0], wanted, rtol=0, atol=1e-12)


@pytest.mark.parametrize("scoring", ["accuracy", "neg_log_loss", "roc_auc", "roc_auc_ovr"])
def test_where_every_fold_has_all_levels_it_is_the_score_of_cross_validation(scoring):
    frame, y = mixed(8, 120)
    y = y == y[0] if scoring == "roc_auc" else y
    found = evaluator_of(frame, y, MixedNB(), StratifiedKFold(4), scoring)
    assert ("is not refitted" in found.info.method) == (scoring != "roc_auc_ovr")
    masks = np.random.default_rng(0).random((8, 5)) < 0.6
    masks[:, 0] = True
    for mask, scores in zip(masks, found.fold_scores(Candidates.from_masks(masks)), strict=True):
        wanted = cross_val_score(MixedNB(), frame.loc[:, mask], y, cv=StratifiedKFold(4), scoring=scoring)
        np.testing.assert_allclose(scores, wanted, rtol=1e-9, atol=1e-12)


def test_no_fold_is_ever_refitted_and_ties_are_those_of_refits(monkeypatch):
    monkeypatch.setattr(backends, "_refit_sums", None)
    rng = np.random.default_rng(0)
    table, y = np.array(["p", "q"], dtype=object)[rng.integers(0, 2, (24, 4))], np.tile([0, 1, 2], 8)
    masks = (np.arange(1, 16)[:, None] >> np.arange(4) & 1).astype(bool)
    found = evaluator_of(table, y, MixedNB(), KFold(8)).fold_scores(Candidates.from_masks(masks))
    for mask, scores in zip(masks, found, strict=True):
        assert scores.tolist() == views_refitted(open_table(table, y), np.flatnonzero(mask), KFold(8), None)


def test_the_weather_left_one_out_through_the_selector():
    table = np.array([row.split() for row in WEATHER.replace("\n", ";").split(";")], dtype=object)
    merit = CrossValidated(MixedNB(), cv=LeaveOneOut())
    selector = SubsetSelector(merit, Exhaustive()).fit(table[:, :2], table[:, 2])
    assert selector.support_.tolist() == [True, True]
    assert selector.merit_ == pytest.approx(0.785714, abs=1e-6)
    ours = evaluator_of(table[:, :2], table[:, 2], MixedNB(), LeaveOneOut())
    assert ours.evaluate(Candidates.from_masks(np.zeros((1, 2), dtype=bool)))[0] == pytest.approx(0.642857, abs=1e-6)


# Of two classes as probable Weka takes the one that its table names first.
IN_WEKAS_ORDER = {"weather.nominal": ["yes", "no"], "contact-lenses": ["soft", "hard", "none"]}


@pytest.mark.parametrize("name", IN_WEKAS_ORDER)
def test_every_set_of_categories_has_wekas_merit(name):
    weka = json.loads(shared("reference/weka.json").read_text())["datasets"][name]
    table = open_table(shared(f"data/{name}.arff"), weka["class"])
    y = [f"{IN_WEKAS_ORDER[name].index(label)} {label}" for label in table.target_values()]
    theirs = weka["wrapper_nb_loo_subset_merits"]
    masks = np.zeros((len(theirs), table.schema.n_columns), dtype=bool)
    for mask, columns in zip(masks, theirs, strict=True):
        mask[list(map(int, columns.split(",")))] = True
    ours = evaluator_of(table.frame(), y, MixedNB(), LeaveOneOut()).evaluate(Candidates.from_masks(masks))
    np.testing.assert_allclose(ours, list(theirs.values()), rtol=0, atol=1e-9)
