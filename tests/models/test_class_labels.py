"""Scorers, predictors and selectors receive the class labels that the user passed."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.feature_selection import SelectFromModel
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import make_scorer, recall_score
from sklearn.model_selection import cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from tests.assessment.tables import signal

from tamiz import MixedNB, RankSelector, SubsetSelector, open_table, selection_report
from tamiz.criteria import CrossValidated, FisherScore
from tamiz.models.folds import make_folds
from tamiz.search import Exhaustive
from tamiz.table import split_dates
from tamiz.table.views import select_columns, select_rows, with_target

ALL = RankSelector(FisherScore(), n_features=4)


def rare(labels, n=150):
    """Rows of which a fifth are of the first label."""
    rng = np.random.default_rng(0)
    second = (rng.random(n) > 0.2).astype(int)
    X = rng.normal(size=(n, 4))
    X[:, 0] -= 1.2 * second
    return X, np.array(labels)[second]


def beside(X, y, predictor, scoring):
    """The report's honest scores, and those of scikit-learn on the same folds."""
    report = selection_report(ALL, X, y, model=predictor, scoring=scoring, n_splits=4, n_permutations=0)
    seed = np.random.default_rng(0).integers(0, 2**31, 2).tolist()[0]
    cv = [(fold.train, fold.test) for fold in make_folds(open_table(X, y), 4, seed).splits]
    return report.nested.values.tolist(), cross_val_score(predictor, X, y, scoring=scoring, cv=cv).tolist()


@pytest.mark.parametrize("labels", [[1, 2], [2, 1], [0, 1], [False, True], [-1, 1], [1.0, 2.0]])
def test_f1_is_that_of_the_class_1(labels):
    ours, theirs = beside(*rare(labels), GaussianNB(), "f1")
    assert ours == theirs


@pytest.mark.parametrize("labels", [[1, 2], [0, 1], [False, True], ["rare", "often"]])
def test_the_positive_label_is_the_one_that_is_named(labels):
    X, y = rare(labels)
    ours, theirs = beside(X, y, GaussianNB(), make_scorer(recall_score, pos_label=labels[0]))
    assert ours == theirs
    other, _ = beside(X, y, GaussianNB(), make_scorer(recall_score, pos_label=labels[1]))
    assert other != ours


@pytest.mark.parametrize("labels", [[1, 2], [2, 1], [False, True], ["rare", "often"]])
def test_weights_are_those_of_the_classes_that_are_named(labels):
    X, y = rare(labels)
    predictor = LogisticRegression(class_weight={labels[0]: 50, labels[1]: 1})
    ours, theirs = beside(X, y, predictor, "accuracy")
    assert ours == theirs
    assert np.mean(ours) < 0.7
    selector = SelectFromModel(predictor)
    report = selection_report(selector, X, y, n_splits=2, n_permutations=0)
    assert report.support.tolist() == selector.fit(X, y).get_support().tolist()


@pytest.mark.parametrize("predictor", ["naive_bayes", "knn", "tree"])
@pytest.mark.parametrize("scoring", ["roc_auc", make_scorer(recall_score, pos_label=2)], ids=["area", "recall"])
def test_named_models_predict_the_labels_of_the_user(predictor, scoring):
    X, y = signal()
    found = selection_report(ALL, X, y + 1, model=predictor, scoring=scoring, n_splits=3, n_permutations=0)
    assert found.nested.mean > 0.7
    if scoring == "roc_auc":
        assert found.baseline.mean == 0.5


def test_an_unknown_label_is_an_error_that_lists_the_known_ones():
    X, y = rare(["rare", "often"])
    with pytest.raises(
        ValueError, match=r"^Fold 1 of 10, .*f1: pos_label=1 is not a valid label: .*\['often' 'rare'\]"
    ):
        selection_report(ALL, X, y, scoring="f1", n_permutations=0)


class Word(str):
    """Text of a class of its own."""

    __slots__ = ()


HALVES = np.arange(40) % 2
GIVEN = {
    "digits in text": np.array(["1", "2"])[HALVES],
    "truth in text": np.array(["False", "True"])[HALVES],
    "zeros in front": np.array(["01", "1"])[HALVES],
    "objects": np.array(["1", "2"], dtype=object)[HALVES],
    "text of a class": np.array([Word("2"), Word("10")], dtype=object)[HALVES],
    "whole floats": np.array([1.0, 2.0])[HALVES],
    "float32": np.array([0.0, 1.0], dtype=np.float32)[HALVES],
    "booleans": np.array([True, False])[HALVES],
    "int8": np.array([-1, 1], dtype=np.int8)[HALVES],
    "uint64": np.array([2**63 + 1, 2**63 + 2], dtype=np.uint64)[HALVES],
    "lists": np.array([3, 7])[HALVES].tolist(),
    "categories of text": pd.Series(np.array(["10", "9"])[HALVES], dtype="category"),
    "categories of integers": pd.Series(np.array([10, 9])[HALVES], dtype="category"),
    "pandas' integers": pd.Series(np.array([1, 2])[HALVES], dtype="Int64"),
    "pandas' booleans": pd.Series(np.array([True, False])[HALVES], dtype="boolean"),
    "pandas' text": pd.Series(np.array(["1", "2"])[HALVES], dtype="string"),
    "polars' text": pl.Series(["1", "2"] * 20),
    "polars' int16": pl.Series([1, 2] * 20, dtype=pl.Int16),
    "polars' enum": pl.Series(["low", "high"] * 20, dtype=pl.Enum(["low", "mid", "high"])),
    "arrow's text": pa.array(["1", "2"] * 20),
}


@pytest.mark.parametrize("y", GIVEN.values(), ids=GIVEN)
def test_a_table_hands_on_the_labels_that_scikit_learn_sees(y):
    X = np.random.default_rng(0).normal(size=(40, 2)) + 9 * HALVES[:, None]
    known = LogisticRegression().fit(X, y).classes_
    table = open_table(X, y)
    fitted = MixedNB().fit(table)
    for found in (fitted.classes_, np.unique(table.target_values()), np.unique(fitted.predict(table))):
        assert found.dtype == known.dtype
        assert found.tolist() == known.tolist()
        assert list(map(type, found.tolist())) == list(map(type, known.tolist()))
    assert fitted.predict(table).tolist() == MixedNB().fit(X, y).predict(X).tolist() == np.asarray(y).tolist()


@pytest.mark.parametrize("name", ["polars' int16", "pandas' integers", "categories of integers", "booleans"])
def test_labels_of_a_column_by_name_are_those_of_the_values_beside_the_table(name):
    X, y = np.random.default_rng(0).normal(size=(40, 2)), GIVEN[name]
    library = pl if isinstance(y, pl.Series) else pd
    beside, among = open_table(X, y), open_table(library.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": y}), "y")
    assert among.class_labels.dtype == beside.class_labels.dtype
    assert among.class_labels.tolist() == beside.class_labels.tolist()


def test_rows_without_a_label_do_not_change_the_type_of_the_others():
    X = np.random.default_rng(0).normal(size=(6, 2))
    for y, labels in [
        (pl.Series([1, 2, None, 2, 1, 1], dtype=pl.Int8), [1, 2]),
        (np.ma.masked_equal(np.array([1, 2, 9, 2, 1, 1]), 9), [1, 2]),
        ([True, False, None, True, True, True], [False, True]),
        (np.array(["1", None, "2", "1", "2", "1"], dtype=object), ["1", "2"]),
        ([1, None, 2, 1, 1, 1], [1, 2]),
    ]:
        found = open_table(X, y).class_labels.tolist()
        assert (found, list(map(type, found))) == (labels, list(map(type, labels)))


def test_objects_of_several_types_are_text():
    table = open_table(np.arange(8.0)[:, None], np.array([1, "a"] * 4, dtype=object))
    assert table.class_labels.tolist() == ["1", "a"]


def test_numbers_declared_as_classes_keep_their_type():
    table = open_table(
        np.arange(8.0)[:, None], np.array([1.0, 2.5] * 4, dtype=np.float32), kinds={"target": "categorical"}
    )
    assert table.class_labels.tolist() == [1.0, 2.5]
    assert table.class_labels.dtype == np.float32


@pytest.mark.parametrize(
    ("written", "labels"),
    [
        (["9", "10"], [9, 10]),
        (["0", "-1"], [-1, 0]),
        (["0.5", "1"], [0.5, 1.0]),
        (["1e-5", "2"], [1e-5, 2.0]),
        (["01", "02"], ["01", "02"]),
        (["1.50", "x"], ["1.50", "x"]),
        (["true", "false"], [False, True]),
    ],
)
def test_labels_of_separated_values_are_what_the_column_reads_as(written, labels, tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("a,y\n" + "".join(f"{k},{written[k % 2]}\n" for k in range(20)))
    found = open_table(path, "y", kinds={"y": "categorical"}).class_labels.tolist()
    assert (found, list(map(type, found))) == (labels, list(map(type, labels)))


@pytest.mark.parametrize(
    "y", [np.array([1, 2], dtype=np.int8), np.array([1.0, 2.0]), np.array(["1", "2"]), np.array([False, True])], ids=str
)
def test_labels_of_parquet_have_the_type_of_the_column(y, tmp_path):
    path = tmp_path / "table.parquet"
    pd.DataFrame({"a": np.arange(40.0), "y": y[HALVES]}).to_parquet(path)
    found = open_table(path, "y").class_labels
    assert found.dtype.kind == y.dtype.kind
    assert found.tolist() == y.tolist()


def test_nominal_labels_of_arff_are_text(tmp_path):
    path = tmp_path / "table.arff"
    rows = "".join(f"{k},{k % 2}\n" for k in range(8))
    path.write_text("@relation r\n@attribute a numeric\n@attribute y {0,1}\n@data\n" + rows)
    assert open_table(path, "y").class_labels.tolist() == ["0", "1"]


def test_parts_of_dates_and_other_columns_keep_the_labels():
    frame = pd.DataFrame({"day": pd.date_range("2024-01-30", periods=40), "y": np.array(["1", "2"])[HALVES]})
    table = open_table(frame, "y")
    for seen in (split_dates(table), select_columns(split_dates(table), [1])):
        assert seen.target_values().tolist() == frame["y"].tolist()


def test_labels_follow_rows_and_shuffled_targets():
    X, y = rare([3, 7], n=20)
    table = open_table(X, y)
    assert table.target_values().tolist() == y.tolist()
    assert select_rows(table, np.arange(5, 9)).target_values().tolist() == y[5:9].tolist()
    assert with_target(table, np.zeros(20, dtype=np.int32)).target_values().tolist() == [3] * 20
    assert open_table(X, X[:, 0]).target_values().tolist() == X[:, 0].tolist()


@pytest.mark.parametrize(
    "model", [MixedNB(), GaussianNB(), KNeighborsClassifier(1), LinearDiscriminantAnalysis()], ids=str
)
@pytest.mark.parametrize("scoring", ["accuracy", "f1_macro", "roc_auc_ovr"])
def test_scores_do_not_depend_on_the_order_of_the_classes(model, scoring):
    rng = np.random.default_rng(4)
    codes = rng.integers(0, 3, 90)
    X = rng.normal(size=(90, 3)) + codes[:, None] * [1.0, 0.5, 0.0]
    words = np.array(["9", "10", "low"])
    declared = pd.Series(pd.Categorical(words[codes], ["low", "9", "10"], ordered=True))
    masks = np.array([[True, False, False], [True, True, False], [True, True, True]])
    folds = [(np.flatnonzero(np.arange(90) % 3 != f), np.flatnonzero(np.arange(90) % 3 == f)) for f in range(3)]
    sought = SubsetSelector(CrossValidated(model, cv=folds, scoring=scoring), Exhaustive())
    known, *others = (sought.fit(X, y).merits(masks, X, y).tolist() for y in (codes, words[codes], declared))
    for found in others:
        assert found == pytest.approx(known, abs=1e-12)
