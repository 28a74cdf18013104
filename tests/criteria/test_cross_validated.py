"""The merit of a set is the score of scikit-learn's cross-validation on its columns, for any estimator, score and folds."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import make_scorer, mean_absolute_error
from sklearn.model_selection import GroupKFold, KFold, LeaveOneGroupOut, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder, StandardScaler
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from tamiz import SubsetSelector, open_table
from tamiz.criteria import CrossValidated
from tamiz.exceptions import TamizWarning
from tamiz.models.folds import make_folds
from tamiz.runtime import parallel
from tamiz.search import Forward
from tamiz.search.base import Candidates

from ..models.random_cases import evaluator_of, refitted

CANCER = load_breast_cancer(return_X_y=True)
CANCER = (CANCER[0][::3, :8], CANCER[1][::3])
WINE = load_wine(return_X_y=True)
DIABETES = load_diabetes(return_X_y=True)


def subsets(p, n=4):
    masks = np.random.default_rng(p).random((n, p)) < 0.5
    masks[0] = True
    return masks[masks.any(axis=1)]


def ours(evaluator, masks):
    with parallel.thread_session(2):
        return evaluator.evaluate(Candidates.from_masks(masks))


def theirs(estimator, parts, y, **given):
    """Return scikit-learn's scores, on one thread: on busy cores its own threads wait for each other."""
    with parallel.thread_session(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [cross_val_score(estimator, part, y, **{"cv": 5, **given}).mean() for part in parts]


def mixed(n=160):
    """Numbers and categories with missing values, and truth values, as a frame."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "a": rng.normal(size=n),
            "b": rng.normal(size=n),
            "job": pd.Categorical(rng.choice(["cook", "nurse", "smith"], n)),
            "flag": rng.random(n) < 0.5,
        }
    )
    y = np.where(frame["a"] + (frame["job"] == "cook") + rng.normal(size=n) > 0.5, "yes", "no")
    frame.loc[rng.random(n) < 0.1, "b"] = np.nan
    frame.loc[rng.random(n) < 0.1, "job"] = None
    return frame, y


BOOSTING = HistGradientBoostingClassifier(categorical_features="from_dtype", max_iter=5, random_state=0)
ENCODING = make_pipeline(
    make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore"), make_column_selector(dtype_include=["category", "bool"])),
        (make_pipeline(SimpleImputer(), StandardScaler()), make_column_selector(dtype_include="number")),
    ),
    LogisticRegression(),
)
CLASSIFIERS = [
    make_pipeline(StandardScaler(), LogisticRegression()),
    DecisionTreeClassifier(random_state=0),
    make_pipeline(StandardScaler(), SVC()),
]


@pytest.mark.parametrize("estimator", CLASSIFIERS, ids=["logistic", "tree", "svc"])
@pytest.mark.parametrize("scoring", ["accuracy", "f1", "roc_auc", "balanced_accuracy"])
def test_scores_of_classes_are_scikit_learns(estimator, scoring):
    X, y = CANCER
    masks = subsets(X.shape[1])
    found = ours(evaluator_of(X, y, estimator, scoring=scoring), masks)
    expected = theirs(estimator, [X[:, mask] for mask in masks], y, scoring=scoring)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("estimator", CLASSIFIERS[:2], ids=["logistic", "tree"])
def test_log_loss_of_three_classes_is_scikit_learns(estimator):
    X, y = WINE
    masks = subsets(X.shape[1])
    found = ours(evaluator_of(X, y, estimator, scoring="neg_log_loss"), masks)
    expected = theirs(estimator, [X[:, mask] for mask in masks], y, scoring="neg_log_loss")
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def test_a_decision_function_is_enough_for_auc():
    X, y = CANCER
    estimator = make_pipeline(StandardScaler(), LinearSVC(random_state=0))
    found = ours(evaluator_of(X, y, estimator, scoring="roc_auc"), np.ones((1, X.shape[1]), dtype=bool))
    np.testing.assert_allclose(found, theirs(estimator, [X], y, scoring="roc_auc"), rtol=1e-12)


def worst(y, predicted):
    return -np.abs(y - predicted).max()


@pytest.mark.parametrize(
    "scoring", ["r2", "neg_mean_absolute_error", make_scorer(worst)], ids=["r2", "mae", "callable"]
)
@pytest.mark.parametrize(
    "estimator", [Ridge(), DecisionTreeRegressor(max_depth=3, random_state=0)], ids=["ridge", "tree"]
)
def test_scores_of_numbers_are_scikit_learns(estimator, scoring):
    X, y = DIABETES
    masks = subsets(X.shape[1])
    found = ours(evaluator_of(X, y, estimator, scoring=scoring), masks)
    expected = theirs(estimator, [X[:, mask] for mask in masks], y, scoring=scoring)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


def plain_score(estimator, X, y):
    return -mean_absolute_error(y, estimator.predict(X))


def test_a_function_of_estimator_rows_and_target_is_a_score():
    X, y = DIABETES
    masks = subsets(X.shape[1])
    found = ours(evaluator_of(X, y, Ridge(), scoring=plain_score), masks)
    expected = theirs(Ridge(), [X[:, mask] for mask in masks], y, scoring=plain_score)
    np.testing.assert_allclose(found, expected, rtol=1e-9)


@pytest.mark.parametrize("estimator", [BOOSTING, ENCODING], ids=["boosting", "pipeline"])
def test_frames_are_handed_on_with_their_categories_and_missing_values(estimator):
    X, y = mixed()
    masks = subsets(X.shape[1])
    found = ours(evaluator_of(X, y, estimator), masks)
    expected = theirs(estimator, [X.loc[:, mask] for mask in masks], y)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


def test_a_frame_of_polars_stays_one():
    X, y = mixed()
    frame = pl.from_pandas(X)
    if not hasattr(FunctionTransformer().fit(frame), "feature_names_in_"):
        pytest.skip("scikit-learn before 1.9 does not read frames of polars 2")
    masks = subsets(X.shape[1])
    found = ours(evaluator_of(frame, y, BOOSTING), masks)
    names = np.array(frame.columns)
    expected = theirs(BOOSTING, [frame.select(names[mask].tolist()) for mask in masks], y)
    np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize(
    ("estimator", "ending"),
    [
        (BOOSTING, "csv"),
        pytest.param(BOOSTING, "parquet", marks=pytest.mark.slow),
        pytest.param(ENCODING, "csv", marks=pytest.mark.slow),
        pytest.param(ENCODING, "parquet", marks=pytest.mark.slow),
    ],
)
def test_a_file_scores_as_the_frame_that_was_written(estimator, ending, tmp_path):
    X, y = mixed()
    path = tmp_path / f"table.{ending}"
    table = X.assign(y=y)
    table.to_csv(path, index=False) if ending == "csv" else table.to_parquet(path, index=False)
    opened = open_table(path, "y")
    merit = CrossValidated(estimator, cv=StratifiedKFold(5))
    masks = subsets(X.shape[1])
    from_file = ours(merit.bind(opened, np.random.default_rng(0)), masks)
    np.testing.assert_array_equal(from_file, ours(evaluator_of(X, y, estimator), masks))


def test_weights_count_in_the_fit_and_in_the_score():
    X, y = CANCER
    weight = np.random.default_rng(0).integers(0, 4, len(y)).astype(float)
    kept = weight > 0
    tree = DecisionTreeClassifier(max_depth=3, random_state=0)
    folds = list(StratifiedKFold(4).split(X[kept], y[kept]))
    for scoring in ("accuracy", "roc_auc"):
        found = ours(
            evaluator_of(X, y, tree, cv=4, scoring=scoring, weight=weight), np.ones((1, X.shape[1]), dtype=bool)
        )
        expected = refitted(tree, X[kept], y[kept], folds, scoring, weight[kept]).mean()
        np.testing.assert_allclose(found, expected, rtol=1e-12)


@pytest.mark.parametrize("cv", [GroupKFold(4), LeaveOneGroupOut()], ids=["group_folds", "one_group_out"])
def test_groups_are_given_to_splitters(cv):
    X, y = CANCER
    groups = np.arange(len(y)) % 7
    tree = DecisionTreeClassifier(random_state=0)
    found = ours(evaluator_of(X, y, tree, cv=cv, groups=groups), np.ones((1, X.shape[1]), dtype=bool))
    np.testing.assert_allclose(found, theirs(tree, [X], y, cv=cv, groups=groups), rtol=1e-12)


def test_a_number_of_folds_goes_forward_where_the_table_has_times(tmp_path):
    X, y = DIABETES
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])]).assign(y=y, when=np.arange(len(y))[::-1])
    path = tmp_path / "times.csv"
    frame.to_csv(path, index=False)
    table = open_table(path, "y", time="when")
    merit = CrossValidated(Ridge(), cv=4)
    found = ours(
        merit.bind(table, np.random.default_rng(0)),
        np.ones((1, X.shape[1]), dtype=bool),
    )
    parts = make_folds(table, 4, 0).splits
    assert all(fold.train.min() > fold.test.max() for fold in parts)
    expected = cross_val_score(Ridge(), frame[table.schema.names].to_numpy(), y, cv=[(f.train, f.test) for f in parts])
    np.testing.assert_allclose(found, expected.mean(), rtol=1e-9)


def test_forward_selection_takes_scikit_learns_path():
    X, y = WINE
    tree = DecisionTreeClassifier(max_depth=3, random_state=0)
    selector = SubsetSelector(
        CrossValidated(tree, cv=KFold(3, shuffle=True, random_state=0)), Forward(), n_features=3
    ).fit(X, y)
    chosen: list[int] = []
    for _ in range(3):
        rest = [j for j in range(X.shape[1]) if j not in chosen]
        folds = KFold(3, shuffle=True, random_state=0)
        scores = [cross_val_score(tree, X[:, sorted([*chosen, j])], y, cv=folds).mean() for j in rest]
        chosen.append(rest[int(np.argmax(scores))])
    assert selector.get_support(indices=True).tolist() == sorted(chosen)


def test_a_model_that_does_not_converge_is_reported_once_with_the_number_of_fits():
    X, y = CANCER
    merit = CrossValidated(LogisticRegression(max_iter=2), cv=3)
    for n_jobs in (1, 2):
        with pytest.warns(TamizWarning, match="LogisticRegression warned in") as recorded:
            selector = SubsetSelector(merit, Forward(), n_features=2, random_state=0, n_jobs=n_jobs).fit(X, y)
        (sentence,) = [str(one.message) for one in recorded]
        n_fits = 3 * (selector.n_evaluations_ - 1)
        assert f"of {n_fits:,} fits: ConvergenceWarning: lbfgs failed to converge" in sentence


def test_warnings_that_the_user_ignores_are_not_reported():
    X, y = CANCER
    with warnings.catch_warnings(record=True) as recorded:
        warnings.simplefilter("always")
        warnings.filterwarnings("ignore", message="lbfgs failed to converge")
        SubsetSelector(CrossValidated(LogisticRegression(max_iter=2), cv=3), Forward(), n_features=1).fit(X, y)
        assert not recorded
