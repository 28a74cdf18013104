"""The encoded design matrix: fitted on the training rows of each fold, with coordinates for every level of the table."""

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from tamiz import SubsetSelector
from tamiz.criteria import CrossValidated
from tamiz.exceptions import DataError, TamizWarning
from tamiz.models.design_matrix import EncodedMatrix
from tamiz.models.folds import Fold
from tamiz.runtime import parallel
from tamiz.search import Forward
from tamiz.search.base import Candidates
from tamiz.table.encode import Encoding
from tamiz.table.factory import as_table
from tamiz.table.views import select_rows

from .random_cases import evaluator_of


def table(n=60):
    """Numbers and categories with gaps, in no order of kinds."""
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(
        {
            "job": pd.Categorical(rng.choice(["cook", "nurse", "smith"], n)),
            "a": rng.normal(5.0, 2.0, n),
            "town": pd.Categorical(rng.choice(["ash", "birch"], n)),
            "b": rng.normal(size=n),
        }
    )
    frame.loc[rng.random(n) < 0.1, "a"] = np.nan
    frame.loc[rng.random(n) < 0.1, "job"] = None
    return frame, rng.permutation(np.arange(n) % 2)


def halves(n):
    return [Fold(np.arange(n // 2), np.arange(n // 2, n)), Fold(np.arange(n // 2, n), np.arange(n // 2))]


def by_hand(train, rows, weight):
    """Return rows as points, column by column, as the words of the encoding say."""
    numbers, levels = [], []
    for name in train:
        if train[name].dtype == float:
            here = train[name].notna()
            w, x = weight[here], train[name][here]
            mean = np.average(x, weights=w)
            spread = np.sqrt(np.sum(w * (x - mean) ** 2) / (w.sum() - 1))
            numbers.append((rows[name].fillna(mean) - mean) / spread)
    for name in train:
        if train[name].dtype == "category":
            here = train[name].notna()
            for level in train[name].cat.categories:
                share = np.average(train[name][here] == level, weights=weight[here])
                value = (rows[name] == level).astype(float).where(rows[name].notna(), share)
                levels.append((value - share) / np.sqrt(share) if share else 0 * value)
    return np.column_stack([*numbers, *levels])


@pytest.mark.parametrize("weighted", [False, True])
def test_points_are_what_the_rows_learned_from_make_of_them(weighted):
    frame, y = table()
    weight = np.random.default_rng(0).integers(1, 4, len(y)).astype(float) if weighted else np.ones(len(y))
    folds = halves(len(y))
    points = EncodedMatrix(as_table(frame, y, weight if weighted else None), folds)
    for fold in folds:
        train = frame.iloc[fold.train]
        for rows, found in ((fold.train, points.train_rows(fold)), (fold.test, points.test_rows(fold))):
            np.testing.assert_allclose(found, by_hand(train, frame.iloc[rows], weight[fold.train]), atol=1e-12)


def test_points_are_those_of_the_encoding_that_maps_use():
    frame, y = table()
    opened, folds = as_table(frame, y), halves(len(y))
    points = EncodedMatrix(opened, folds)
    view = select_rows(opened, folds[0].train)
    encoding = Encoding.fit(view, standardize=True)
    expected = np.concatenate([encoding.transform(block) for block in view.blocks()])
    np.testing.assert_allclose(points.train_rows(folds[0]), expected, atol=1e-12)


def test_a_level_that_a_fold_does_not_learn_of_is_0_in_all_its_rows():
    frame, y = table()
    frame["town"] = pd.Categorical(["ash"] * 30 + ["birch"] * 30)
    folds = halves(len(y))
    points = EncodedMatrix(as_table(frame, y), folds)
    ash, birch = points.coordinates[2].tolist()
    assert not points.train_rows(folds[0])[:, birch].any()
    assert not points.test_rows(folds[0])[:, birch].any()
    # The only level learned of is the same in every row.
    assert np.ptp(points.train_rows(folds[0])[:, ash]) == 0


def test_a_column_without_a_value_to_learn_from_is_0_in_all_its_rows():
    frame, y = table()
    frame.loc[:29, "b"] = np.nan
    folds = halves(len(y))
    points = EncodedMatrix(as_table(frame, y), folds)
    (at,) = points.coordinates[3].tolist()
    assert not points.train_rows(folds[0])[:, at].any()
    assert not points.test_rows(folds[0])[:, at].any()
    assert points.train_rows(folds[1])[:, at].any()


def test_a_column_of_one_value_is_0_and_not_what_rounding_left_of_it():
    frame, y = table()
    frame["b"] = np.where(np.arange(len(y)) < 30, 0.1, 7.0)
    folds = halves(len(y))
    points = EncodedMatrix(as_table(frame, y), folds)
    assert not points.train_rows(folds[0])[:, points.coordinates[3]].any()


def test_sets_of_columns_are_sets_of_their_coordinates():
    frame, y = table()
    points = EncodedMatrix(as_table(frame, y), halves(len(y)))
    # Numbers come first: a, b, then the levels of job and town.
    assert [own.tolist() for own in points.coordinates] == [[2, 3, 4], [0], [5, 6], [1]]
    parent = np.array([True, False, False, True])
    part = points.to_coordinates(
        Candidates.from_flips(parent, [np.array([0]), np.array([1, 2]), np.array([], dtype=np.intp)])
    )
    expected = [[1], [0, 1, 2, 3, 4, 5, 6], [1, 2, 3, 4]]
    assert [np.flatnonzero(mask).tolist() for mask in part.masks()] == expected


def test_some_coordinates_are_those_of_all():
    frame, y = table()
    folds = halves(len(y))
    opened = as_table(frame, y)
    at = np.array([4, 0, 5])
    for points in (EncodedMatrix(opened, folds), EncodedMatrix(as_table(frame[["a", "b"]].to_numpy(), y), (), "none")):
        chosen = at[at < points.n_coordinates]
        np.testing.assert_array_equal(points.train_rows(folds[0], chosen), points.train_rows(folds[0])[:, chosen])
        np.testing.assert_array_equal(points.test_rows(folds[1], chosen), points.test_rows(folds[1])[:, chosen])


def test_points_are_copies():
    frame, y = table()
    folds = halves(len(y))
    for points in (
        EncodedMatrix(as_table(frame, y), folds),
        EncodedMatrix(as_table(np.ones((60, 2)) * np.arange(60)[:, None], y), (), "none"),
    ):
        before = points.train_rows(folds[0])
        points.train_rows(folds[0])[:] = -1.0
        np.testing.assert_array_equal(points.train_rows(folds[0]), before)


@pytest.mark.parametrize("estimator", [LogisticRegression(), KNeighborsClassifier(3)], ids=["logistic", "knn"])
def test_an_estimator_scores_on_points_as_on_those_made_by_hand(estimator):
    frame, y = table(120)
    folds = halves(len(y))
    evaluator = evaluator_of(frame, y, estimator, cv=[(fold.train, fold.test) for fold in folds], encode=True)
    masks = np.array([[1, 0, 0, 0], [0, 1, 1, 0], [1, 1, 1, 1]], dtype=bool)
    with parallel.thread_session(2):
        found = evaluator.evaluate(Candidates.from_masks(masks))
    for mask, score in zip(masks, found, strict=True):
        scores = []
        for fold in folds:
            train, test = frame.loc[fold.train, frame.columns[mask]], frame.loc[fold.test, frame.columns[mask]]
            weight = np.ones(len(train))
            estimator.fit(by_hand(train, train, weight), y[fold.train])
            scores.append(estimator.score(by_hand(train, test, weight), y[fold.test]))
        assert score == pytest.approx(np.mean(scores), abs=1e-12)


@pytest.mark.parametrize(
    ("kinds", "how"),
    [
        (["number"], "as the mean of the column"),
        (["object", "category", "string"], "as every level in its share"),
        (["number", "object", "category", "string"], "as the mean of the column, or as every level in its share,"),
    ],
)
def test_missing_values_replaced_by_the_mean_are_reported_once(kinds, how):
    frame, y = table()
    gaps = [name for name in frame.select_dtypes(kinds) if frame[name].isna().any()]
    frame = frame[[*gaps, *(name for name in frame if not frame[name].isna().any())]]
    n_missing = int(frame.isna().sum().sum())
    assert n_missing > 1
    with pytest.warns(TamizWarning, match="missing values count as") as told:
        SubsetSelector(CrossValidated(LogisticRegression(), cv=3, encode=True), Forward(), n_features=2).fit(frame, y)
    assert [one.message.args[0] for one in told if "may be chance" not in str(one.message)] == [
        f"{n_missing} missing values count {how} in the training rows of a fold."
    ]


@pytest.mark.filterwarnings("ignore::tamiz.exceptions.TamizWarning")
@pytest.mark.parametrize("estimator", [LogisticRegression(), KNeighborsClassifier(), GaussianNB()])
def test_a_table_with_text_is_encoded_for_an_estimator_that_accepts_none(estimator):
    frame, y = table()
    merits = [
        SubsetSelector(CrossValidated(estimator, 4, encode=encode), Forward()).fit(frame, y).archive_.merits
        for encode in ("auto", True)
    ]
    assert np.array_equal(*merits)


def test_tables_of_numbers_and_pipelines_are_not_encoded():
    frame, y = table()
    numbers = as_table(frame[["b"]], y).schema
    assert CrossValidated(LogisticRegression()).model(numbers).encoding == "none"
    mixed = as_table(frame, y).schema
    assert CrossValidated(make_pipeline(StandardScaler(), LogisticRegression())).model(mixed).encoding == "none"
    assert CrossValidated(HistGradientBoostingClassifier()).model(mixed).encoding == "none"
    with pytest.raises(DataError, match="contains text, and LogisticRegression accepts only numbers: pass encode=True"):
        SubsetSelector(CrossValidated(LogisticRegression(), encode=False), Forward()).fit(frame, y)
    with pytest.raises(ValueError, match="encode must be True, False or 'auto', got 'yes'"):
        SubsetSelector(CrossValidated(LogisticRegression(), encode="yes"), Forward()).fit(frame, y)


def test_an_estimator_that_accepts_missing_values_gets_them():
    frame, y = table()
    tree = DecisionTreeClassifier(random_state=0)
    evaluator = evaluator_of(frame, y, tree, StratifiedKFold(4), encode=True)
    points = evaluator.task.matrix
    a = points.coordinates[1]
    assert np.isnan(points.train_rows(evaluator.task.folds[0])[:, a[0]]).any()
    assert not any("missing" in note for note in evaluator.notes())
    wanted = cross_val_score(tree, frame[["a"]], y, cv=StratifiedKFold(4))
    found = evaluator.fold_scores(Candidates.from_masks(np.array([False, True, False, False])))[0]
    # A tree does not see that numbers are standardised.
    np.testing.assert_allclose(found, wanted)
    assert np.isfinite(evaluator.evaluate(Candidates.from_masks(np.array([True, False, False, False])))).all()


def test_folds_may_repeat_rows():
    frame, y = table()
    rows = np.sort(np.random.default_rng(0).integers(0, 60, 60))
    fold = Fold(rows, np.setdiff1d(np.arange(60), rows))
    numbers = frame[["b"]].to_numpy()
    points = EncodedMatrix(as_table(numbers, y), [fold])
    scaler = StandardScaler().fit(numbers[rows])
    # A spread about the mean is divided by one row less.
    expected = scaler.transform(numbers[fold.test]) * np.sqrt((len(rows) - 1) / len(rows))
    np.testing.assert_allclose(points.test_rows(fold), expected, atol=1e-12)


def test_text_that_writes_numbers_is_these_numbers():
    frame = pd.DataFrame({"size": pd.Categorical(["10", "2", None, "10"]), "on": [True, False, True, True]})
    points = EncodedMatrix(as_table(frame, np.array([0, 1, 0, 1])), (), "none")
    fold = Fold(np.arange(4), np.arange(4))
    np.testing.assert_array_equal(points.train_rows(fold), [[10.0, 1.0], [2.0, 0.0], [np.nan, 1.0], [10.0, 1.0]])


def test_points_that_do_not_fit_into_memory_are_refused(monkeypatch):
    frame, y = table()
    monkeypatch.setattr("tamiz.runtime.validation.free_memory", lambda: 1000.0)
    with pytest.raises(MemoryError, match="An encoded matrix of 60 rows and 7 coordinates needs"):
        EncodedMatrix(as_table(frame, y), halves(60))
    with pytest.raises(MemoryError, match="A matrix of 60 rows and 2 columns"):
        EncodedMatrix(as_table(frame[["a", "b"]], y), (), "none")


def test_text_as_it_is_has_no_numbers():
    frame, y = table()
    with pytest.raises(
        DataError, match="Column 'job' contains text, and GaussianNB accepts only numbers: pass encode=True"
    ):
        evaluator_of(frame, y, GaussianNB())


def test_indicators_are_numbers_before_a_column_for_each_level_with_missing_values_as_nan():
    frame = pd.DataFrame({"kind": ["v", None, "u", "v"], "a": [1.0, 2.0, np.nan, 4.0]})
    table = as_table(frame, np.array([0, 1, 0, 1]))
    points = EncodedMatrix(table, folds := halves(4), "indicators")
    assert [own.tolist() for own in points.coordinates] == [[1, 2], [0]]
    expected = np.array([[1, 0, 1], [2, np.nan, np.nan], [np.nan, 1, 0], [4, 0, 1]])
    for fold in folds:
        np.testing.assert_array_equal(points.train_rows(fold), expected[fold.train])
        np.testing.assert_array_equal(points.test_rows(fold, np.array([2])), expected[np.ix_(fold.test, [2])])
