"""A fitted selector returns the merit of any set, from its archive or newly evaluated."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.naive_bayes import GaussianNB

from tamiz import SubsetSelector, load, open_table, save
from tamiz.criteria import CFS, CrossValidated
from tamiz.search import Exhaustive, Forward, RandomSubsets

X, Y = load_iris(return_X_y=True, as_frame=True)
FOLDS = StratifiedKFold(5)
EVERY = (np.arange(16)[:, None] >> np.arange(4)) & 1 > 0


def test_merits_are_those_of_a_search_that_evaluates_every_set():
    few = SubsetSelector(CFS(), Forward(), n_features=1).fit(X, Y)
    every = SubsetSelector(CFS(), RandomSubsets(16), random_state=0).fit(X, Y)
    np.testing.assert_array_equal(few.merits(EVERY, X, Y), every.merits(EVERY, X, Y))
    np.testing.assert_array_equal(few.merits(every.archive_.masks, X, Y), every.archive_.merits)


def test_sets_in_the_archive_are_not_evaluated_again(monkeypatch):
    selector = SubsetSelector(CFS(), Forward()).fit(X, Y)
    monkeypatch.setattr(CFS, "bind", None)
    np.testing.assert_array_equal(selector.merits(selector.archive_.masks, X, Y), selector.archive_.merits)


def test_a_wrapper_scores_other_sets_on_the_same_folds():
    selector = SubsetSelector(CrossValidated(GaussianNB(), FOLDS), Forward(), n_features=1, random_state=0).fit(X, Y)
    names = X.columns[EVERY[11]]
    assert selector.merits(EVERY[11], X, Y)[0] == pytest.approx(
        cross_val_score(GaussianNB(), X[names], Y, cv=FOLDS).mean()
    )


def test_cv_results_are_the_fold_scores_of_every_evaluated_set(tmp_path):
    merit, path = CrossValidated(GaussianNB(), FOLDS), tmp_path / "search.journal"
    first = SubsetSelector(merit, Forward(), n_features=2, journal=path).fit(X, Y)
    for selector in (first, SubsetSelector(merit, Forward(), n_features=2).fit(X, Y)):
        results, merits = selector.cv_results_, selector.archive_.merits
        np.testing.assert_array_equal(results["support"], selector.archive_.masks)
        np.testing.assert_array_equal(results["n_features"], results["support"].sum(axis=1))
        splits = np.array([results[f"split{fold}_test_score"] for fold in range(5)])
        for support, scores in zip(results["support"], splits.T, strict=True):
            if support.any():
                theirs = cross_val_score(GaussianNB(), X[X.columns[support]], Y, cv=FOLDS)
                np.testing.assert_allclose(scores, theirs, rtol=1e-12)
        np.testing.assert_allclose(splits.mean(axis=0), merits, rtol=1e-12)
        np.testing.assert_array_equal(results["mean_test_score"], merits)
        np.testing.assert_allclose(results["std_test_score"], splits.std(axis=0), rtol=1e-12)
        np.testing.assert_array_equal(results["rank_test_score"], [1 + (merits > merit).sum() for merit in merits])
        assert "split5_test_score" not in results


def test_a_merit_without_fold_scores_has_no_cv_results(tmp_path):
    journaled = SubsetSelector("wrapper:gaussian-nb", Forward(), n_features=2, journal=tmp_path / "search.journal")
    save(clone(journaled).fit(X, Y), tmp_path / "fitted.tamiz")
    continued = clone(journaled).fit(X, Y)
    for selector in (continued, load(tmp_path / "fitted.tamiz"), SubsetSelector(CFS(), Forward()).fit(X, Y)):
        with pytest.raises(AttributeError, match=r"^cv_results_ exists only after fit with a merit that has folds"):
            selector.cv_results_  # noqa: B018
    with pytest.raises(NotFittedError):
        SubsetSelector().cv_results_  # noqa: B018


def test_merits_are_available_after_a_search_with_a_small_archive():
    selector = SubsetSelector(CFS(), Exhaustive()).fit(X, Y)
    assert len(selector.archive_) < 16
    assert selector.merits(EVERY, X, Y).max() == selector.merit_


def test_sets_of_another_shape_are_refused():
    selector = SubsetSelector(CFS(), Forward()).fit(X, Y)
    with pytest.raises(ValueError, match=r"of shape \(n_sets, 4\), got bool of shape \(1, 3\)"):
        selector.merits([True, False, True], X, Y)
    with pytest.raises(ValueError, match=r"True and False for each of the 4 columns, .* got int64"):
        selector.merits([[0, 1, 2, 3]], X, Y)


@pytest.mark.filterwarnings("ignore::tamiz.exceptions.TamizWarning")
def test_a_column_that_takes_no_part_is_in_no_set():
    table = open_table(X.assign(row=np.arange(150)), Y)
    selector = SubsetSelector(CFS(), Forward()).fit(table)
    with pytest.raises(ValueError, match=r"Column 'row' is excluded from this table \(it is a row number\)"):
        selector.merits(np.ones((1, 5), dtype=bool), table)


def test_a_selector_that_is_not_fitted_has_no_merits():
    with pytest.raises(NotFittedError):
        SubsetSelector(CFS(), Forward()).merits(EVERY, X, Y)
