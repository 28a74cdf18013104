"""Synthetic target leakage is found, and columns that are only good predictors are not reported."""

import re
import warnings
from importlib.resources import files

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine, make_blobs
from sklearn.metrics import adjusted_mutual_info_score, balanced_accuracy_score, r2_score, roc_auc_score
from sklearn.naive_bayes import GaussianNB
from tests.report.reading import summary

from tamiz import SubsetSelector, open_table, study
from tamiz._study.models import prepare_evaluation
from tamiz._study.ranking import find_redundancy
from tamiz._study.table import exclude_leaks, leakage_warnings, summarize_table
from tamiz.assessment import find_leaks, recommend_columns
from tamiz.assessment.findings import Coverage
from tamiz.assessment.leaks import ClassScorer, NumericScorer, stratified_folds
from tamiz.criteria import CFS, SymmetricUncertainty
from tamiz.exceptions import TamizWarning
from tamiz.models.folds import draw_folds
from tamiz.search import BestFirst
from tamiz.table import column_storage, duplicate_detection
from tamiz.table.views import select_columns

PENGUINS = files("tamiz.datasets") / "penguins.csv"


def leaks_in(*data, **more):
    return {leak.name: leak.predictor for leak in find_leaks(open_table(*data, **more))}


def table_without_leakage(seed=0, n=600):
    """Two informative columns, a slightly informative category, and noise."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    frame = pd.DataFrame({
        "good": rng.normal(size=n) + 1.5 * y,
        "fair": rng.normal(size=n) + 0.7 * y,
        "word": np.where(rng.random(n) < 0.3, rng.choice(["a", "b"], n), np.where(y, "a", "b")),
        "noise": rng.normal(size=n),
    })  # fmt: skip
    return frame, y, rng


@pytest.mark.parametrize("load", [load_iris, load_breast_cancer, load_wine, load_digits, load_diabetes])
def test_real_tables_have_no_target_leakage(load):
    data = load(as_frame=True)
    assert leaks_in(data.data, data.target) == {}


def test_petal_width_is_a_good_predictor_and_no_leakage():
    iris = load_iris(as_frame=True)
    assert leaks_in(iris.data[["petal width (cm)", "sepal width (cm)"]], iris.target) == {}


def test_a_row_number_of_a_table_sorted_by_its_target_is_one_that_takes_no_part():
    frame = pd.read_csv(str(PENGUINS)).sort_values("species").assign(row=np.arange(1, 345))
    table = open_table(frame, "species")
    (leak,) = find_leaks(table)
    assert (leak.name, leak.score_name) == ("row", "balanced accuracy")
    assert leak.score > 0.98
    assert leak.baseline == pytest.approx(1 / 3)
    # It can do no harm, so nobody is warned.
    assert leakage_warnings([leak], table.schema) == []
    mixed_up = frame.drop(columns="row").sample(frac=1, random_state=0).assign(row=np.arange(1, 345))
    assert leaks_in(mixed_up, "species") == {}


def test_an_id_by_its_name_is_checked_for_leakage(tmp_path):
    frame, y, _ = table_without_leakage()
    frame = frame.assign(patient_id=1000 + np.argsort(np.argsort(y, kind="stable")), y=y)
    frame.to_csv(tmp_path / "table.csv", index=False)
    table = open_table(tmp_path / "table.csv", "y")
    assert table.schema.columns[4].kind == "id"
    assert [leak.name for leak in find_leaks(table)] == ["patient_id"]


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda y, rng: np.where(y, "paid", "unpaid"), id="another name"),
        pytest.param(lambda y, rng: y + rng.normal(0, 0.05, len(y)), id="a number near the class"),
        pytest.param(lambda y, rng: np.where(rng.random(len(y)) < 0.01, 1 - y, y), id="all but a few"),
        pytest.param(lambda y, rng: rng.integers(0, 50, len(y)) + 500 * y, id="ranges"),
        pytest.param(lambda y, rng: np.where(y, rng.choice(["a", "b", "c"], len(y)), rng.choice(["d", "e"], len(y))), id="finer"),
    ],
)  # fmt: skip
def test_a_copy_of_the_target_is_found(make):
    frame, y, rng = table_without_leakage()
    frame["leak"] = make(y, rng)
    assert leaks_in(frame, y) == {"leak": "values"}


def test_a_code_that_is_finer_than_the_classes_is_found_as_text_and_as_a_number():
    frame, y, _ = table_without_leakage()
    # 60 codes in no order, of which one occurs once: its row is not decided.
    code = np.where(y, 2, 3) + 2 * (np.arange(len(y)) % 30)
    code[0] = 1000 + y[0]
    code = code * 7919 % 6007
    for values in (code, np.char.add("D", code.astype(str))):
        (leak,) = find_leaks(open_table(frame.assign(code=values), y))
        assert (leak.name, leak.predictor, leak.score) == ("code", "values", 1.0)
        assert leak.decided == pytest.approx(599 / 600)


def test_a_column_that_decides_all_but_a_small_class_is_found_with_the_share_of_the_rows():
    frame, y, rng = table_without_leakage()
    y = np.where(np.arange(len(y)) % 50 == 0, 2, y)
    test = np.where(y == 2, rng.integers(0, 2, len(y)), y)
    table = open_table(frame.assign(test=np.where(test, "pos", "neg")), pd.Series(y, name="ill"))
    (leak,) = find_leaks(table)
    assert (leak.name, leak.score, leak.baseline, leak.decided) == ("test", 1.0, 0.5, pytest.approx(0.98))
    (sentence,) = leakage_warnings([leak], table.schema)
    assert "predicts 'ill' for 98% of the rows with a balanced accuracy of 100% (50% by guessing)" in sentence
    # Of 12 % of the rows it is no leak.
    y = np.where(np.arange(len(y)) % 8 == 0, 2, y)
    assert leaks_in(frame.assign(test=np.where(y == 2, rng.integers(0, 2, len(y)), y)), y) == {}


@pytest.mark.parametrize("values", [lambda n: np.arange(n) * 0.37, lambda n: np.array(["settled"] * n)])
def test_a_column_filled_in_after_the_event_is_found_by_its_missing_values(values):
    frame, y, rng = table_without_leakage()
    frame["closed"] = pd.Series(values(len(y))[rng.permutation(len(y))]).where(y == 1)
    assert leaks_in(frame, y) == {"closed": "missing"}


def test_two_columns_of_leakage_do_not_hide_each_other():
    frame, y, _ = table_without_leakage()
    frame = frame.assign(one=np.where(y, "p", "q"), two=np.where(y, "q", "r"))
    assert leaks_in(frame, y) == {"one": "values", "two": "values"}


def test_where_other_columns_are_as_good_the_target_is_easy():
    # Blobs that overlap by a hair in each of three columns.
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 2000)
    frame = pd.DataFrame({f"x{k}": rng.normal(size=2000) + spread * y for k, spread in enumerate((4.2, 4.0, 3.9))})
    assert leaks_in(frame, y) == {}


def test_a_good_predictor_is_no_leakage_beside_better_ones():
    # Three sides of a stone, of which each nearly determines its weight.
    rng = np.random.default_rng(0)
    size = rng.normal(size=1000)
    frame = pd.DataFrame({f"x{k}": size + noise * rng.normal(size=1000) for k, noise in enumerate((0.08, 0.09, 0.13))})
    assert leaks_in(frame.assign(n=rng.normal(size=1000)), size) == {}


def test_rare_classes_must_be_predicted_too():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], [2000, 40])
    right = np.where(rng.random(2040) < 0.5, y, 0)
    frame = pd.DataFrame({"half": right, "noise": rng.normal(size=2040)})
    # 99% of the rows, and half of the class that matters.
    assert leaks_in(frame, np.where(y, "ill", "well")) == {}
    assert leaks_in(frame.assign(all=y), np.where(y, "ill", "well")) == {"all": "values"}


def test_a_class_of_fewer_rows_than_folds_is_no_excuse():
    frame, y, _ = table_without_leakage()
    y = np.where(np.arange(len(y)) < 3, 2, y)
    assert leaks_in(frame.assign(leak=np.array(["a", "b", "c"])[y]), y) == {"leak": "values"}


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda y, rng: 3 - 2 * y, id="a line"),
        pytest.param(np.exp, id="a curve"),
        pytest.param(lambda y, rng: np.round(y, 1), id="rounded"),
        pytest.param(lambda y, rng: y + rng.normal(0, 0.03, len(y)), id="with noise"),
        pytest.param(lambda y, rng: y + rng.normal(0, 0.2, len(y)), id="with an R2 of 0.98"),
    ],
)
def test_a_numeric_target_under_another_unit_is_found(make):
    rng = np.random.default_rng(0)
    x = rng.normal(size=800)
    y = x + rng.normal(size=800)
    made = make(y, rng) if make is not np.exp else np.exp(y)
    assert leaks_in(pd.DataFrame({"x": x, "leak": made}), y) == {"leak": "values"}


def test_a_good_predictor_of_a_numeric_target_is_no_leakage():
    rng = np.random.default_rng(0)
    x = rng.normal(size=800)
    y = x + 0.2 * rng.normal(size=800)
    assert leaks_in(pd.DataFrame({"x": x, "noise": rng.normal(size=800)}), y) == {}


@pytest.mark.parametrize("n", [2, 3, 14])
def test_few_rows_give_no_evidence_of_leakage(n):
    y = np.arange(n) % 2
    assert leaks_in(pd.DataFrame({"a": y, "b": np.arange(n)}), y) == {}


def test_without_a_target_there_is_no_leakage():
    assert leaks_in(load_iris().data) == {}


def test_weights_of_zero_are_no_rows_and_weights_count():
    frame, y, _ = table_without_leakage()
    wrong = np.where(np.arange(len(y)) % 5 == 0, 1 - y, y)
    weight = np.where(wrong == y, 2.0, 0.0)
    assert leaks_in(frame.assign(leak=wrong), y) == {}
    assert leaks_in(frame.assign(leak=wrong), y, weight=weight) == {"leak": "values"}
    # In the rows of positive weight the target is the sum of two columns.
    total = leaks_in(frame.assign(leak=wrong), 1.0 * y + frame["noise"], weight=weight)
    assert total == {"noise and leak": "formula"}


def test_the_sentence_names_the_column_and_the_way_out():
    frame, y, _ = table_without_leakage()
    table = open_table(frame.assign(leak=y, closed=np.where(y, 1.0, np.nan)), pd.Series(y, name="bought"))
    (sentence,) = leakage_warnings(find_leaks(table), table.schema)
    assert sentence == (
        "Possible target leakage: column 'leak' alone predicts 'bought' with a balanced accuracy of 100% (50% by guessing) in "
        "5-fold cross-validation on 600 rows. The same check names 'closed'. If its values are not known before the target, "
        "exclude it: kinds={'leak': 'id'} (--kinds leak=id)."
    )


def test_columns_of_a_formula_are_named_with_it_and_excluded_together():
    frame, _, rng = table_without_leakage()
    frame = frame.assign(casual=rng.poisson(30, len(frame)), registered=rng.poisson(90, len(frame)))
    table = open_table(frame, pd.Series(frame["casual"] + frame["registered"], name="total"))
    (leak,) = find_leaks(table)
    assert (leak.columns, leak.formula, leak.score) == (("casual", "registered"), "casual + registered", 1.0)
    (sentence,) = leakage_warnings([leak], table.schema)
    assert sentence.startswith(
        "Possible target leakage: columns 'casual' and 'registered' together determine 'total': casual + registered has an R² of 1 "
        "on 240 rows that were not used to find it (at most 0."
    )
    assert sentence.endswith(
        "If their values are not known before the target, exclude them: kinds={'casual': 'id', 'registered': 'id'} "
        "(--kinds casual=id --kinds registered=id)."
    )
    limit = open_table(
        frame, pd.Series(np.where(2 * frame["casual"] > frame["registered"] - 30, "a", "b"), name="side")
    )
    (sentence,) = leakage_warnings(find_leaks(limit), limit.schema)
    assert "columns 'casual' and 'registered' together" in sentence
    assert "with the limits " in sentence


def crowd(seed=0, n=120, n_rare=40):
    """Two classes of 20 rows, and as many rare ones as make up the rest two by two."""
    rng = np.random.default_rng(seed)
    species = np.concatenate([np.repeat([0, 1], 20), 2 + np.repeat(np.arange(n_rare), 2)])
    return rng.permutation(species[:n]), rng


def test_a_column_that_separates_two_large_classes_is_not_reported_for_all_classes():
    species, rng = crowd()
    # Right in the 40 rows of the 2 classes that have five rows or more, and the same anywhere else.
    sex = np.where(species == 1, "none", "male")
    names = np.array([f"species {k}" for k in species])
    assert leaks_in(pd.DataFrame({"sex": sex, "noise": rng.normal(size=120)}), names) == {}


def test_a_prediction_names_the_classes_and_rows_that_it_was_scored_on():
    frame, y, _ = table_without_leakage()
    y = np.where(np.arange(len(y)) < 3, 2, y)
    table = open_table(frame.assign(leak=np.array(["a", "b", "c"])[y]), pd.Series(y, name="grade"))
    (leak,) = find_leaks(table)
    assert (leak.n_rows, leak.coverage) == (597, Coverage(min_rows=5, n_classes=2, of_classes=3, of_rows=600))
    (sentence,) = leakage_warnings([leak], table.schema)
    assert "on 597 rows: the 2 of 3 classes with at least 5 rows, which contain 597 of 600 rows" in sentence


@pytest.mark.parametrize("n_errors", [0, 1, 2])
@pytest.mark.parametrize("kind", ["numeric", "categorical"])
def test_a_recoding_of_many_rare_classes_is_found(n_errors, kind):
    species, rng = crowd()
    code = rng.permutation(42)[species]
    code[rng.choice(120, n_errors, replace=False)] = rng.integers(0, 42, n_errors)
    frame = pd.DataFrame(
        {"code": code if kind == "numeric" else np.char.add("s", code.astype(str)), "noise": rng.normal(size=120)}
    )
    names = np.array([f"species {k}" for k in species])
    (leak,) = find_leaks(open_table(frame, names))
    assert (leak.name, leak.score_name, leak.n_rows) == ("code", "adjusted mutual information", 120)
    assert leak.score == pytest.approx(adjusted_mutual_info_score(species, code), abs=1e-12)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("n", "n_classes"), [(20, 2), (20, 8), (20, 18), (120, 42), (400, 150), (2000, 700)])
def test_random_columns_of_any_number_of_values_are_no_recodings(n, n_classes, seed):
    rng = np.random.default_rng(seed)
    # Few values, as many as classes, nearly as many as rows; in the order of the target as well.
    sizes = (2, n_classes, 2 * n_classes, n // 2, n)
    frame = pd.DataFrame(
        {f"c{k}": np.char.add("v", rng.integers(0, size, n).astype(str)) for k, size in enumerate(sizes)}
    )
    for k, size in enumerate(sizes):
        frame[f"x{k}"] = rng.integers(0, size, n).astype(float)
    y = np.char.add("class ", rng.integers(0, n_classes, n).astype(str))
    found = [leak for leak in find_leaks(open_table(frame, y)) if leak.score_name != "balanced accuracy"]
    assert found == []
    order = np.argsort(y, kind="stable")
    assert find_leaks(open_table(frame.iloc[order], y[order])) == []


def test_a_column_of_one_row_is_no_recoding_of_a_class_of_one_row():
    # Among 300 columns that are 1 in one row of 200 some are 1 in the row of the rare class.
    rng = np.random.default_rng(0)
    at = rng.integers(0, 200, 300)
    frame = pd.DataFrame((np.arange(200)[:, None] == at).astype(int)).add_prefix("word ")
    y = np.where(np.arange(200) == at[7], "spam", "ham")
    assert leaks_in(frame, y) == {}


def test_numbers_of_a_table_with_repeated_rows_are_no_recodings():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 3))
    X, y = np.vstack([X, X[:30]]), np.concatenate([np.arange(100), np.arange(30)])
    assert leaks_in(pd.DataFrame(X), np.char.add("row ", y.astype(str))) == {}
    assert leaks_in(pd.DataFrame(X), 1000 * np.sin(y)) == {}


def test_columns_of_groups_do_not_leak_where_groups_are_declared():
    # 60 patients of 6 rows: a ward of one's own, and an illness that has nothing to do with it.
    rng = np.random.default_rng(0)
    patient = np.repeat(np.arange(60), 6)
    ward, age = rng.permutation(60)[patient], rng.normal(size=60)[patient]
    frame = pd.DataFrame({"ward": np.char.add("w", ward.astype(str)), "age": age})
    for illness in (rng.integers(0, 2, 60)[patient], rng.integers(0, 25, 60)[patient]):
        names = np.char.add("ill ", illness.astype(str))
        assert leaks_in(frame, names, groups=patient) == {}
        told = leaks_in(frame.assign(code=np.char.add("k", illness.astype(str))), names, groups=patient)
        assert told == {"code": "values"}
    # Undeclared, rows of a patient are learned from and tested.
    assert "ward" in leaks_in(frame, np.char.add("ill ", rng.integers(0, 2, 60)[patient].astype(str)))


def test_a_category_that_determines_a_number_by_rare_levels_is_found():
    rng = np.random.default_rng(0)
    tariff = rng.permutation(np.concatenate([np.repeat(np.arange(30), 3), np.arange(30, 40).repeat(1)]))
    price = rng.normal(size=40)[tariff]
    frame = pd.DataFrame({"tariff": np.char.add("t", tariff.astype(str)), "noise": rng.normal(size=100)})
    (leak,) = find_leaks(open_table(frame, price))
    assert (leak.name, leak.score) == ("tariff", 1.0)


def test_scores_are_those_of_scikit_learn_on_the_same_folds():
    frame, y, rng = table_without_leakage()
    folds = stratified_folds(y, 5, rng)
    assert np.ptp([np.bincount(y[folds == f])[1] for f in range(5)]) <= 1
    codes = np.where(frame["word"] == "a", 0, 1).astype(np.int32)
    told = np.empty_like(y)
    for f in range(5):
        for level in (0, 1):
            here = (folds != f) & (codes == level)
            shares = np.bincount(y[here], minlength=2) / np.bincount(y[folds != f])
            told[(folds == f) & (codes == level)] = shares.argmax()
    score = ClassScorer(y.astype(np.int32), None, folds).score_levels(codes, 2).value
    assert score == pytest.approx(balanced_accuracy_score(y, told), abs=1e-12)

    target = frame["good"].to_numpy()
    means = np.empty(len(y))
    for f in range(5):
        for level in (0, 1):
            means[(folds == f) & (codes == level)] = target[(folds != f) & (codes == level)].mean()
    score = NumericScorer(target, None, folds).score_levels(codes, 2).value
    assert score == pytest.approx(r2_score(target, means), abs=1e-12)


def test_integer_weights_are_repeated_rows_where_these_stay_in_one_fold():
    frame, y, rng = table_without_leakage(n=200)
    folds, times = stratified_folds(y, 5, rng), rng.integers(1, 4, 200)
    values = frame["good"].to_numpy()
    for task, target in ((ClassScorer, y.astype(np.int32)), (NumericScorer, frame["fair"].to_numpy())):
        ours = task(target, times.astype(float), folds)
        theirs = task(target.repeat(times), None, folds.repeat(times))
        codes = (values > 0.5).astype(np.int32)
        assert ours.score_levels(codes, 2).value == pytest.approx(
            theirs.score_levels(codes.repeat(times), 2).value, abs=1e-12
        )
    ours, theirs = (
        ClassScorer(y.astype(np.int32), times.astype(float), folds),
        ClassScorer(y.repeat(times).astype(np.int32), None, folds.repeat(times)),
    )
    ours.min_score = theirs.min_score = 0.0
    assert ours.score_numbers(values).value == pytest.approx(
        theirs.score_numbers(values.repeat(times)).value, abs=1e-12
    )


def test_well_separated_blobs_are_predicted_by_one_column_and_reported():
    X, y = make_blobs(300, centers=[[0, 0], [20, 0]], random_state=0)
    assert leaks_in(pd.DataFrame(X, columns=["apart", "not"]), y) == {"apart": "values"}


def test_many_rows_are_scored_by_a_fixed_sample():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 30_000)
    frame = pd.DataFrame({"noise": rng.normal(size=30_000), "leak": y + rng.normal(0, 0.15, 30_000)})
    first, second = (find_leaks(open_table(frame, y)) for _ in range(2))
    assert first == second
    assert [leak.name for leak in first] == ["leak"]


def study_of(frame, y, **more):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TamizWarning)
        return study(frame, y, maps=[], relevances=[SymmetricUncertainty()], **more).record


def test_a_study_sets_leaks_aside_and_warns_of_them_once():
    frame, y, rng = table_without_leakage()
    frame = frame.assign(leak=np.where(y, "paid", "open"), again=3 * y + rng.normal(0, 0.05, len(y)))
    told = (
        "Possible target leakage: column 'leak' alone predicts 'target' with a balanced accuracy of 100% .* The same check names "
        r"'again'\. The columns 'leak' and 'again' are set aside; keep_leaks=True \(--keep-leaks\) uses them\.$"
    )
    with pytest.warns(TamizWarning, match=told):
        result = study(frame, y, maps=[], assess=False, relevances=[SymmetricUncertainty()])
    record = result.record
    assert sum("leak" in warning for warning in record.warnings) == 1
    assert record.leakage_exclusion.columns == ("leak", "again")
    assert [leak.name for leak in record.table.leakage] == ["leak", "again"]
    assert [column.exclusion for column in record.table.columns][-2:] == ["possible target leakage"] * 2
    assert record.ranking.scores["symmetric_uncertainty"][-2:] == (None, None)
    assert not {"leak", "again"} & {*record.subset.columns, *(reason.name for reason in record.subset.reasons)}
    assert "2 possible leaks set aside: leak and again; keep_leaks=True (--keep-leaks) uses them." in summary(result)
    assert "again</b> alone predicts target" in result.page()


def test_leaks_are_used_where_the_user_asks_for_it():
    frame, y, _ = table_without_leakage()
    record = study_of(frame.assign(leak=y), y, assess=False, keep_leaks=True)
    assert record.leakage_exclusion is None
    assert record.subset.columns == ("leak",)
    assert any("exclude it: kinds={'leak': 'id'}" in warning for warning in record.warnings)


def excluded_columns(frame, y, **search):
    table = open_table(frame, y)
    problem = BestFirst(**search).make_problem(table.schema.names, table.schema.used, None)
    kept, exclusion = exclude_leaks(table, find_leaks(table), problem)
    assert {*table.schema.names} - {kept.schema.names[j] for j in kept.schema.used} == {
        *(exclusion.columns if exclusion else ())
    }
    return exclusion and exclusion.columns


def test_required_leaks_remain_and_column_groups_are_set_aside_as_a_whole():
    frame, y, rng = table_without_leakage()
    frame = frame.assign(one=np.where(y, "p", "q"), two=np.where(y, "q", "r"))
    assert excluded_columns(frame, y) == ("one", "two")
    assert excluded_columns(frame, y, fixed=["one"]) == ("two",)
    assert excluded_columns(frame, y, start=["two", "good"]) == ("one",)
    assert excluded_columns(frame, y, column_groups=[["fair", "two"]]) == ("fair", "one", "two")
    assert excluded_columns(frame, y, excluded=["one"]) == ("one", "two")
    # Without any other column, there would be nothing to study.
    assert excluded_columns(frame[["one", "two"]], y) is None
    parts = frame[["good", "noise"]].assign(casual=rng.poisson(30, len(y)), registered=rng.poisson(90, len(y)))
    total = parts["casual"] + parts["registered"]
    assert excluded_columns(parts, total) == ("casual", "registered")
    assert excluded_columns(parts, total, fixed=["registered"]) == ("casual",)


def test_the_score_with_leaks_is_that_of_scikit_learn_in_the_same_folds():
    frame, y, rng = table_without_leakage(n=150)
    frame = frame[["good", "noise"]].assign(leak=y + rng.normal(0, 0.3, len(y)))
    whole = open_table(frame, y)
    evaluation = prepare_evaluation(select_columns(whole, [0, 1]), None, 3, assess=True)
    found = recommend_columns(
        evaluation.table, candidates={}, models=["naive_bayes"], scoring=["roc_auc"], n_splits=5, random_state=3
    )
    scores = evaluation.score_with_leaks(whole, found)
    folds = draw_folds(evaluation.table, 5, np.random.default_rng(3))
    expected = [
        np.mean([
            roc_auc_score(y[fold.test], GaussianNB().fit(X[fold.train], y[fold.train]).predict_proba(X[fold.test])[:, 1])
            for fold in folds
        ])
        for X in (frame.to_numpy(), frame[["good", "noise"]].to_numpy())
    ]  # fmt: skip
    assert [scores["with_leaks"], scores["without_leaks"]] == pytest.approx(expected, abs=1e-9)
    assert (scores["model"], scores["scoring"]) == ("naive Bayes", "roc_auc")


@pytest.mark.slow
def test_the_scores_with_leaks_and_without_are_those_of_the_best_model_in_the_same_folds():
    frame, y, _ = table_without_leakage(n=150)
    frame = frame[["good", "noise"]].assign(leak=np.where(y, "paid", "open"))
    record = study_of(frame, y, selector=SubsetSelector(CFS()))
    found, recommended = record.leakage_exclusion, record.recommendation
    assert (found.columns, found.scoring, found.with_leaks) == (("leak",), "roc_auc", 1.0)
    scores = recommended.all_columns.scores
    assert found.without_leaks == max(scores[model, "roc_auc"].mean for model in recommended.models) < 0.95
    assert "leak" not in recommended.columns
    assert re.search(r"'leak' is set aside \(AUC 1\.000 with it, 0\.\d{3} without\)", " ".join(record.warnings))
    assert record.recommendation.n_columns == 2
    script = record.reproduction.python
    assert "excluded=['leak']" in script


def test_leakage_in_a_file_is_reported_as_in_memory(tmp_path, monkeypatch):
    frame, y, rng = table_without_leakage(n=3000)
    frame = frame.round(2).assign(leak=y + rng.normal(0, 0.05, 3000), again=frame["good"].round(2), y=y)
    frame.loc[::7, "fair"] = np.nan
    frame = pd.concat([frame, frame.iloc[:40]])
    frame.to_csv(tmp_path / "table.csv", index=False)
    monkeypatch.setattr(duplicate_detection, "PIECE_ROWS", 512)
    found = []
    for share in (0.25, 0.0):
        monkeypatch.setattr(column_storage, "MAX_MEMORY_SHARE", share)
        opened = open_table(tmp_path / "table.csv", "y")
        with pytest.warns(TamizWarning):
            found.append((summarize_table(opened), find_redundancy(opened, None, "distribute")))
    assert found[0] == found[1]
    table, redundancy = found[0]
    assert table.duplicate_rows.n == 40
    assert table.columns[5].same_as == "good"
    assert [group.columns for group in redundancy.groups] == [("good", "again")]


def test_a_part_of_a_date_that_gives_the_target_away_is_excluded_with_its_date():
    from tamiz.table import split_dates

    hours = np.random.default_rng(0).integers(0, 24, 300)
    frame = pd.DataFrame(
        {"seen": pd.Timestamp("2024-03-04") + pd.to_timedelta(hours, unit="h"), "x": np.arange(300.0) % 7}
    )
    table = split_dates(open_table(frame, np.where(hours < 12, "am", "pm")))
    (sentence,) = leakage_warnings(find_leaks(table), table.schema)
    assert "'seen (hour)'" in sentence
    assert "kinds={'seen': 'id'}" in sentence


def test_arrays_have_the_leaks_of_their_table():
    frame, y, _ = table_without_leakage()
    frame = frame.assign(leak=np.where(y, "paid", "open"))
    (leak,) = find_leaks(frame, y)
    assert [leak] == find_leaks(open_table(frame, y))
    assert leak.to_dict()["name"] == leak.names[0] == "leak"
    with pytest.raises(TypeError, match="A Table has its own target"):
        find_leaks(open_table(frame, y), y)
