import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine, make_classification, make_regression
from sklearn.feature_selection import SequentialFeatureSelector
from sklearn.model_selection import GroupKFold, LeaveOneOut, StratifiedKFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from tests.models.random_cases import drawn_folds, evaluator_of, flipped, refitted
from tests.reference import subset_neighbors as reference
from threadpoolctl import threadpool_limits

from tamiz import SubsetSelector
from tamiz.criteria import CrossValidated
from tamiz.exceptions import DataError
from tamiz.models.backends import RefitBackend
from tamiz.models.knn import KNeighborsClassifierBackend, KNeighborsRegressorBackend
from tamiz.runtime import parallel
from tamiz.search import Backward, Forward
from tamiz.search.base import Candidates

CLASSIFIER, REGRESSOR = KNeighborsClassifier, KNeighborsRegressor


def drawn_table(rng):
    """Rows whose distances are equal often, nearly equal in other orders of summing, and of very different sizes.

    Of many rows, only the nearer part is put in order at first.
    """
    n, p = int(rng.choice([40, 150, 2500])), int(rng.integers(1, 14))
    kind = rng.integers(6)
    if kind == 0:
        X = rng.normal(size=(n, p))
    elif kind == 1:
        X = rng.integers(0, 4, (n, p)).astype(float)
    elif kind == 2:
        X = rng.integers(0, 30, (n, p)) / 10
    elif kind == 3:
        X = rng.normal(size=(n, p)) * 10.0 ** rng.integers(-9, 9, p)
    elif kind == 4:
        X = rng.normal(size=(n // 3, p))[rng.integers(0, n // 3, n)]
    else:
        X = np.where(rng.random(p) < 0.5, rng.integers(0, 2, (n, p)) / np.sqrt(0.3), rng.integers(0, 2, (n, p)))
    X[0], X[1] = X.min(axis=0) - 1, X.max(axis=0) + 1
    return X


def drawn_sets(rng, p, n_sets):
    """Sets as a search may ask for them: flips of one parent, of several, with several columns at once, and as they are."""
    parts = []
    for _ in range(3):
        parent = rng.random(p) < rng.random()
        units = [np.sort(rng.choice(p, int(rng.integers(1, min(p, 3) + 1)), replace=False)) for _ in range(n_sets)]
        parts.append(Candidates.from_flips(parent, units))
        parts.append(Candidates.from_flips(parent, [np.array([j]) for j in range(p)]))
    parts.append(Candidates.from_masks(rng.random((n_sets, p)) < rng.random()))
    sets = Candidates.concatenate(parts)
    return sets[np.flatnonzero(sets.sizes() > 0)]


def of_reference(task, mask, fold):
    """Neighbours, weights and ties of the rows that a fold tests, plainly."""
    part, values = task.folds[fold], task.matrix.transposed_values()[mask].T
    rows, squares, tied = reference.neighbors(values[part.train], values[part.test], task.estimator.n_neighbors)
    return rows, reference.weights(squares, task.estimator.weights), tied


@pytest.mark.parametrize("seed", [0, 1, *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(2, 8))])
def test_predictions_of_any_sets_are_those_of_the_plain_reference(seed):
    rng = np.random.default_rng(seed)
    for how in ("uniform", "distance"):
        X = drawn_table(rng)
        k = int(rng.integers(1, 9))
        y = rng.integers(0, 4, len(X))
        estimator = CLASSIFIER(k, weights=how)
        evaluator = evaluator_of(X, y, estimator, [drawn_split(rng, len(X)) for _ in range(2)])
        way, task = evaluator.backend, evaluator.task
        sets = drawn_sets(rng, X.shape[1], 6)
        counts = way.confusion_counts(sets)
        for c, mask in enumerate(sets.masks()):
            for f, fold in enumerate(task.folds):
                rows, weight, _ = of_reference(task, mask, f)
                predicted = reference.votes(rows, weight, task.codes[fold.train], 4).argmax(axis=1)
                expected = np.zeros((4, 4))
                np.add.at(expected, (task.codes[fold.test], predicted), 1)
                np.testing.assert_array_equal(counts[c, f], expected)


def test_categories_and_missing_values_are_compared_like_their_coordinates():
    """Columns of few and of very many levels, a level that only test rows have, and whole numbers with many ties."""
    rng = np.random.default_rng(5)
    n = 450
    frame = pd.DataFrame({f"c{k}": rng.integers(0, k, n).astype(str) for k in (2, 3, 7, 40, 400)})
    frame["x"], frame["i"] = rng.normal(size=n), rng.integers(0, 3, n)
    frame = frame.mask(rng.random(frame.shape) < 0.05)
    frame.loc[0, "c3"] = "once"
    y, folds = rng.integers(0, 3, n), [(np.arange(40, n), np.arange(40)), (np.arange(n - 40), np.arange(n - 40, n))]
    evaluator = evaluator_of(frame, y, CLASSIFIER(4), folds, encode=True)
    way, task = evaluator.backend, evaluator.task
    sets = drawn_sets(rng, frame.shape[1], 4)
    counts = way.confusion_counts(sets)
    for c, mask in enumerate(sets.masks()):
        at = task.matrix.coordinates_of(np.flatnonzero(mask))
        for f, fold in enumerate(task.folds):
            rows = task.matrix.train_rows(fold, at), task.matrix.test_rows(fold, at)
            nearest, squares, _ = reference.neighbors(*rows, 4)
            predicted = reference.votes(nearest, reference.weights(squares, "uniform"), task.codes[fold.train], 3)
            expected = np.zeros((3, 3))
            np.add.at(expected, (task.codes[fold.test], predicted.argmax(axis=1)), 1)
            np.testing.assert_array_equal(counts[c, f], expected)


def drawn_split(rng, n):
    rows = rng.permutation(n)
    return rows[: n - 12], rows[n - 12 :]


@pytest.mark.parametrize("seed", range(8))
def test_means_of_neighbours_are_those_of_the_plain_reference(seed):
    rng = np.random.default_rng(100 + seed)
    for how in ("uniform", "distance"):
        X = drawn_table(rng)
        y = rng.normal(size=len(X))
        evaluator = evaluator_of(X, y, REGRESSOR(int(rng.integers(1, 9)), weights=how), [drawn_split(rng, len(X))])
        task, sets = evaluator.task, drawn_sets(rng, X.shape[1], 6)
        squares = evaluator.backend.squared_errors(sets)
        for c, mask in enumerate(sets.masks()):
            rows, weight, _ = of_reference(task, mask, 0)
            errors = task.target[task.folds[0].test] - reference.means(rows, weight, task.target[task.folds[0].train])
            np.testing.assert_allclose(squares[c, 0], (errors**2).sum(), rtol=1e-12)


@pytest.mark.parametrize("seed", range(10))
def test_the_share_of_tied_queries_is_that_of_the_plain_reference(seed):
    rng = np.random.default_rng(200 + seed)
    X = drawn_table(rng)
    evaluator = evaluator_of(X, rng.integers(0, 2, len(X)), CLASSIFIER(3), [drawn_split(rng, len(X)) for _ in range(3)])
    for mask in drawn_sets(rng, X.shape[1], 2).masks():
        tied = np.concatenate([of_reference(evaluator.task, mask, f)[2] for f in range(3)])
        assert evaluator.backend.tie_share(np.flatnonzero(mask)) == tied.mean()


@pytest.mark.parametrize("kind", [CLASSIFIER, REGRESSOR])
def test_any_set_under_any_folds_has_the_score_of_its_refits(kind):
    rng = np.random.default_rng(3)
    tables = [load_wine(return_X_y=True), make_classification(150, 20, n_informative=5, n_classes=3, random_state=1)]
    if kind is REGRESSOR:
        tables = [make_regression(120, 9, noise=9.0, random_state=0), make_regression(90, 18, random_state=1)]
    tables = [(X + 1e-7 * rng.normal(size=X.shape), y) for X, y in tables]
    for _ in range(35):
        X, y = tables[int(rng.integers(2))]
        mask = rng.random(X.shape[1]) < rng.random()
        mask[rng.integers(X.shape[1])] = True
        estimator = kind(
            int(rng.integers(1, 20)),
            weights=str(rng.choice(["uniform", "distance"])),
            algorithm=str(rng.choice(["auto", "brute", "kd_tree", "ball_tree"])),
            metric=str(rng.choice(["minkowski", "euclidean"])),
        )
        cv = drawn_folds(rng, estimator, y)
        evaluator = evaluator_of(X, y, estimator, cv)
        assert isinstance(evaluator.backend, KNeighborsClassifierBackend | KNeighborsRegressorBackend)
        assert evaluator.backend.tie_share(np.flatnonzero(mask)) == 0
        # Its own threads, beside others', would take most of the time.
        with threadpool_limits(1):
            expected = refitted(estimator, X[:, mask], y, cv)
        np.testing.assert_allclose(evaluator.fold_scores(flipped(rng, mask))[0], expected, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("scoring", ["balanced_accuracy", "f1", "roc_auc", "neg_log_loss", "average_precision"])
@pytest.mark.parametrize("weights", ["uniform", "distance"])
def test_other_scores_are_those_of_refits(scoring, weights):
    rng = np.random.default_rng(4)
    X, y = load_breast_cancer(return_X_y=True)
    estimator = CLASSIFIER(7, weights=weights)
    evaluator = evaluator_of(X, y, estimator, 4, scoring)
    for _ in range(4):
        mask = rng.random(X.shape[1]) < 0.4
        mask[3] = True
        expected = cross_val_score(estimator, X[:, mask], y, cv=4, scoring=scoring)
        np.testing.assert_allclose(evaluator.fold_scores(Candidates.from_masks(mask))[0], expected, rtol=1e-9)


@pytest.mark.parametrize("scoring", ["neg_mean_absolute_error", "neg_mean_squared_error", "explained_variance"])
def test_other_scores_of_means_are_those_of_refits(scoring):
    X, y = make_regression(100, 5, noise=3.0, random_state=3)
    evaluator = evaluator_of(X, y, REGRESSOR(4, weights="distance"), 5, scoring)
    expected = cross_val_score(REGRESSOR(4, weights="distance"), X[:, 1:4], y, cv=5, scoring=scoring)
    mask = np.array([False, True, True, True, False])
    np.testing.assert_allclose(evaluator.fold_scores(Candidates.from_masks(mask))[0], expected, rtol=1e-9)


def test_labels_of_a_fold_that_lacks_a_class_are_those_it_learned():
    X, y = load_iris(return_X_y=True)
    X = X + 1e-6 * np.random.default_rng(0).normal(size=X.shape)
    labels = np.array(["setosa", "versicolor", "virginica"])[y]
    train, test = np.arange(0, 100, 2), np.arange(1, 150, 2)
    evaluator = evaluator_of(X, labels, CLASSIFIER(5), [(train, test)])
    fitted = evaluator.backend.fit_fold(np.array([0, 2]), 0)
    refit = CLASSIFIER(5).fit(X[train][:, [0, 2]], labels[train])
    np.testing.assert_array_equal(fitted.estimator.classes_, refit.classes_)
    np.testing.assert_array_equal(fitted.estimator.predict(fitted.test_rows), refit.predict(X[test][:, [0, 2]]))
    np.testing.assert_allclose(
        fitted.estimator.predict_proba(fitted.test_rows), refit.predict_proba(X[test][:, [0, 2]])
    )


def test_neighbours_by_encoded_columns_are_those_of_the_plain_reference_in_every_fold():
    rng = np.random.default_rng(6)
    levels = np.array(["a", "b", "c"])[rng.integers(0, 3, (90, 3))]
    frame = pd.DataFrame({"u": levels[:, 0], "x": rng.normal(size=90), "v": levels[:, 1], "w": levels[:, 2]})
    evaluator = evaluator_of(frame, rng.integers(0, 2, 90), CLASSIFIER(4), 3, encode=True)
    points = evaluator.task.matrix
    for columns in ([0], [1], [0, 2], [0, 2, 3], [0, 1, 3]):
        at = np.sort(points.coordinates_of(np.array(columns)))
        for f, fold in enumerate(evaluator.task.folds):
            rows, _, _ = reference.neighbors(points.train_rows(fold)[:, at], points.test_rows(fold)[:, at], 4)
            found, _ = evaluator.backend.neighbors(np.array(columns), f)
            np.testing.assert_array_equal(np.sort(found, axis=1), np.sort(rows, axis=1))


@pytest.mark.parametrize("kind", [CLASSIFIER, REGRESSOR])
def test_scores_are_the_same_to_the_bit_at_any_number_of_threads_and_from_any_parent(kind, monkeypatch):
    monkeypatch.setattr("tamiz.models.knn._PAIRS_PER_THREAD", 0)
    monkeypatch.setattr("tamiz.models.knn._TEST_ROWS_PER_BATCH", 16)
    rng = np.random.default_rng(5)
    X = rng.integers(0, 9, (300, 10)) / 10
    y = X[:, 0] + rng.normal(size=300) if kind is REGRESSOR else rng.integers(0, 3, 300)
    way = evaluator_of(X, y, kind(6, weights="distance"), 3).backend
    score = way.squared_errors if kind is REGRESSOR else way.confusion_counts
    sets = drawn_sets(rng, 10, 20)
    found = []
    for n_jobs in (1, 2, 3):
        with parallel.thread_session(n_jobs):
            found.append(score(sets))
    one_by_one = np.concatenate([score(Candidates.from_masks(mask)) for mask in sets.masks()])
    monkeypatch.setattr("tamiz.models.knn._NEIGHBORS_PER_BATCH", 300)
    for other in (*found[1:], one_by_one, score(Candidates.from_masks(sets.masks()))):
        np.testing.assert_array_equal(found[0], other)


@pytest.mark.slow
def test_a_forward_search_takes_the_path_of_scikit_learns():
    X, y = load_wine(return_X_y=True)
    selector = SubsetSelector(CrossValidated(CLASSIFIER(5), cv=StratifiedKFold(4)), Forward(), n_features=5).fit(X, y)
    with threadpool_limits(1):
        peer = SequentialFeatureSelector(CLASSIFIER(5), n_features_to_select=5, cv=4).fit(X, y)
    np.testing.assert_array_equal(selector.get_support(), peer.get_support())


@pytest.mark.parametrize("search", [Forward(), Backward()])
def test_searches_over_distances_that_tie_find_what_plain_counting_finds(search):
    X, y = load_digits(return_X_y=True)
    X, y = X[:150, 18:30], y[:150]
    merit = CrossValidated(CLASSIFIER(3), cv=StratifiedKFold(3))
    archive = SubsetSelector(merit, search, n_features=6).fit(X, y).archive_
    task = evaluator_of(X, y, CLASSIFIER(3), 3).task
    for mask, found in zip(*merits_of(archive), strict=True):
        if mask.any():
            hits = []
            for f, fold in enumerate(task.folds):
                rows, weight, _ = of_reference(task, mask, f)
                votes = reference.votes(rows, weight, task.codes[fold.train], len(task.classes))
                hits.append(np.mean(votes.argmax(axis=1) == task.codes[fold.test]))
            assert found == pytest.approx(np.mean(hits), abs=1e-12)


def merits_of(archive):
    return archive.masks[::5], archive.merits[::5]


def test_every_row_but_one_may_be_learned_from():
    X, y = load_iris(return_X_y=True)
    X = X + 1e-6 * np.random.default_rng(0).normal(size=X.shape)
    evaluator = evaluator_of(X, y, CLASSIFIER(3), LeaveOneOut())
    expected = cross_val_score(CLASSIFIER(3), X[:, 2:], y, cv=LeaveOneOut())
    np.testing.assert_array_equal(evaluator.fold_scores(Candidates.from_masks(np.arange(4) > 1))[0], expected)


def test_as_many_neighbours_as_a_fold_has_rows_are_all_of_them():
    X, y = np.arange(6.0)[:, None] ** 2, np.array([0.0, 1.5, 0.5, 3.0, 1.0, 7.0])
    way = evaluator_of(X, y, REGRESSOR(3), 2).backend
    np.testing.assert_array_equal(np.sort(way.neighbors(np.array([0]), 0)[0]), [[0, 1, 2]] * 3)
    assert way.tie_share(np.array([0])) == 0


def test_more_neighbours_than_a_fold_has_rows_are_refused_by_the_fold():
    X, y = load_iris(return_X_y=True)
    groups = np.repeat([0, 1, 2], [130, 16, 4])
    with pytest.raises(DataError, match=r"Fold 1 of 3 has 20 training rows, and .* needs 21; lower n_neighbors"):
        evaluator_of(X, y, REGRESSOR(21), GroupKFold(3), groups=groups)


@pytest.mark.parametrize(
    ("estimator", "why"),
    [
        (CLASSIFIER(metric="manhattan"), "only Euclidean distances"),
        (CLASSIFIER(p=1), "p is 1"),
        (CLASSIFIER(metric="minkowski", metric_params={"w": [1.0, 2, 3, 4]}), "only Euclidean distances"),
        (REGRESSOR(weights=np.exp), "its weights are a function"),
    ],
)
def test_neighbours_of_another_kind_are_refitted(estimator, why):
    X, y = load_iris(return_X_y=True)
    evaluator = evaluator_of(X, y, estimator)
    assert isinstance(evaluator.backend, RefitBackend)
    assert why in evaluator.info.method


def test_the_share_of_rows_with_tied_neighbours_is_reported_with_the_score():
    X, y = load_iris(return_X_y=True)
    merit = CrossValidated(KNeighborsClassifier(), StratifiedKFold(10))
    tied = SubsetSelector(merit, Forward(), n_features=2).fit(X, y)
    share = evaluator_of(X, y, KNeighborsClassifier(), 10).backend.tie_share(tied.get_support(indices=True))
    assert share > 0.1
    assert f"{share:.1%} of the test rows have other rows at the distance of the last of their 5" in tied.merit_method_
    apart = X + np.random.default_rng(0).normal(size=X.shape)
    alone = SubsetSelector(merit, Forward(), n_features=2).fit(apart, y)
    assert "as near as" not in alone.merit_method_
