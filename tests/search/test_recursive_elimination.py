"""Recursive elimination: the order of drops, and the same order in every run."""

from itertools import pairwise

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.linear_model import Ridge
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.naive_bayes import GaussianNB

from tamiz import SubsetSelector
from tamiz.criteria import CFS, CrossValidated
from tamiz.models import permutation_losses
from tamiz.search import Evaluations, RecursiveElimination
from tamiz.subsets.evaluator import Evaluator

from ..reference.importance import importances as plain
from ..reference.importance import orders
from .merits import best_of, problem_of, search_in, sets_of, subset_of

WORTH = [4.0, 1.0, 3.0, 1.0, 0.0, -2.0, 5.0]
P = len(WORTH)


class Additive(Evaluator):
    """Importances that add up; it records the units for which they were computed."""

    def __init__(self, worth=WORTH):
        self.worth = np.array(worth)
        self.asked = []

    def evaluate(self, candidates):
        return candidates.masks() @ self.worth

    def importances(self, mask, units, n_repeats):
        assert all(mask[unit].all() for unit in units)
        self.asked += [(subset_of(mask), [tuple(unit.tolist()) for unit in units], n_repeats)] * bool(units)
        return np.array([self.worth[unit].sum() for unit in units])


def path_of(search, n_features=None, evaluator=None):
    return sets_of(search_in(search, evaluator or Additive(), P, n_features=n_features))


def dropped(path):
    """The dropped columns, step by step."""
    return [tuple(sorted(set(more) - set(fewer))) for more, fewer in pairwise(path)]


def test_the_column_of_least_importance_is_dropped_and_the_last_of_equal_ones():
    path = path_of(RecursiveElimination())
    assert path[0] == tuple(range(P))
    assert dropped(path) == [(5,), (4,), (3,), (1,), (2,), (0,), (6,)]


def test_the_best_set_of_the_path_is_the_result_and_the_smaller_of_equal_ones():
    archive = search_in(RecursiveElimination(), Additive(), P)
    assert best_of(archive) == (0, 1, 2, 3, 6)
    assert archive.stop_reason == "no column is left to drop"


def test_it_ends_at_the_size_asked_for():
    assert [len(subset) for subset in path_of(RecursiveElimination(), 3)] == [7, 6, 5, 4, 3]
    archive = search_in(RecursiveElimination(), Additive(), P, n_features=(2, 4))
    assert len(sets_of(archive)[-1]) == 2
    assert best_of(archive) == (0, 1, 2, 6)
    assert archive.stop_reason == "the requested size is reached"


def test_several_columns_are_dropped_in_a_step_within_the_limit():
    assert dropped(path_of(RecursiveElimination(3))) == [(3, 4, 5), (0, 1, 2), (6,)]
    assert dropped(path_of(RecursiveElimination(3), 2)) == [(3, 4, 5), (1, 2)]
    assert dropped(path_of(RecursiveElimination(100), (2, 4))) == [(1, 2, 3, 4, 5)]


def test_a_share_is_of_those_that_are_left():
    assert [len(subset) for subset in path_of(RecursiveElimination(0.5))] == [7, 4, 2, 1, 0]
    assert [len(subset) for subset in path_of(RecursiveElimination(0.01), 4)] == [7, 6, 5, 4]
    assert [len(subset) for subset in path_of(RecursiveElimination(0.5, fixed=[4]))] == [7, 4, 3, 2, 1]


@pytest.mark.parametrize("step", [1, 2, 0.3, 0.5, 100])
@pytest.mark.parametrize("n_features", [None, 1, 3, (2, 4), P])
def test_the_number_of_evaluations_is_known_in_advance(step, n_features):
    search = RecursiveElimination(step)
    assert search.max_evaluations(problem_of(search, P, n_features)) == len(path_of(search, n_features))


def test_columns_of_a_group_are_scored_and_dropped_together():
    evaluator = Additive()
    path = path_of(RecursiveElimination(column_groups=[[6, 5], [1, 3]], n_repeats=8), evaluator=evaluator)
    assert dropped(path) == [(4,), (1, 3), (5, 6), (2,), (0,)]
    assert evaluator.asked[0] == (tuple(range(P)), [(0,), (1, 3), (2,), (4,), (5, 6)], 8)


def test_a_size_that_groups_allow_is_reached_though_single_columns_are_worth_less():
    # Of {0, 2, 6}, {1, 3} and {4, 5} two columns can be left only where the three go at once.
    groups = [[0, 2, 6], [1, 3], [4, 5]]
    assert path_of(RecursiveElimination(column_groups=groups), 2)[-1] == (1, 3)
    assert path_of(RecursiveElimination(column_groups=groups), 3)[-1] == (0, 2, 6)


def test_it_begins_at_its_start():
    assert path_of(RecursiveElimination(start=[1, 5, 6], fixed=[1]))[:2] == [(1, 5, 6), (1, 6)]


def test_fixed_columns_are_not_scored():
    evaluator = Additive()
    path_of(RecursiveElimination(fixed=[5]), evaluator=evaluator)
    assert all((5,) not in units for _, units, _ in evaluator.asked)


def test_a_merit_without_column_importances_is_refused():
    X, y = load_wine(return_X_y=True)
    sentence = r"^RecursiveElimination needs a merit that provides the importance of each column; CFS does not\. Use Backward\.$"
    with pytest.raises(ValueError, match=sentence):
        SubsetSelector(CFS(), RecursiveElimination()).fit(X, y)


@pytest.mark.parametrize(
    ("parameters", "kind", "sentence"),
    [
        ({"step": 0}, ValueError, "step must be at least 1, got 0"),
        (
            {"step": 1.5},
            ValueError,
            r"step must be a whole number of at least 1, or a share .* between 0 and 1, got 1\.5",
        ),
        ({"step": 0.0}, ValueError, r"or a share of the columns between 0 and 1, got 0\.0"),
        ({"step": "half"}, TypeError, "step must be a number, got 'half'"),
        ({"step": True}, TypeError, "step must be a whole number, got True"),
        ({"n_repeats": 0}, ValueError, "n_repeats must be at least 1, got 0"),
    ],
)
def test_parameters_out_of_range_are_refused(parameters, kind, sentence):
    with pytest.raises(kind, match=sentence):
        path_of(RecursiveElimination(**parameters))


@pytest.mark.slow
def test_the_path_follows_scikit_learns_importances_and_the_merits_are_those_of_its_folds(monkeypatch):
    monkeypatch.setattr(
        permutation_losses,
        "_draw_permutations",
        lambda task, columns, fold, n_repeats: orders(len(task.folds[fold].test), fold, n_repeats),
    )
    X, y = load_wine(return_X_y=True)
    folds = list(StratifiedKFold(4).split(X, y))
    columns, way, merits = np.arange(X.shape[1]), [], []
    while len(columns):
        way.append(tuple(columns.tolist()))
        merits.append(cross_val_score(GaussianNB(), X[:, columns], y, cv=folds).mean())
        worth = plain(GaussianNB(), X[:, columns], y, folds, "accuracy", 2)
        # Equal importances differ in their last bits when they are summed in another order.
        worth = (worth / np.abs(worth).max()).round(12)
        columns = np.delete(columns, np.flatnonzero(worth == worth.min())[-1])
    merit = CrossValidated(GaussianNB(), cv=folds)
    archive = SubsetSelector(merit, RecursiveElimination(n_repeats=2)).fit(X, y).archive_
    # The empty set is the last.
    assert sets_of(archive)[:-1] == way
    np.testing.assert_allclose(archive.merits[:-1], merits, rtol=0, atol=1e-12)


def noisy_table(n_noise=12):
    rng = np.random.default_rng(3)
    signal = rng.normal(size=(150, 3))
    y = signal @ [2.0, -1.0, 1.5] + 0.3 * rng.normal(size=150)
    return np.hstack([rng.normal(size=(150, n_noise)), signal]), y


def test_columns_that_a_model_needs_are_found_among_noise():
    X, y = noisy_table()
    selector = SubsetSelector(CrossValidated(Ridge(), cv=5), RecursiveElimination(0.25), n_features=3, random_state=0)
    assert selector.fit(X, y).get_support(indices=True).tolist() == [12, 13, 14]
    assert selector.n_evaluations_ < 10


def test_threads_and_a_journal_change_no_bit(tmp_path):
    X, y = noisy_table(5)

    def searched(**more):
        merit, search = CrossValidated(Ridge(), cv=5), RecursiveElimination(n_repeats=2)
        return SubsetSelector(merit, search, random_state=7, **more).fit(X, y).archive_

    whole = searched(n_jobs=1)
    cut = searched(n_jobs=2, journal=tmp_path / "journal", stop=Evaluations(4))
    assert sets_of(cut) == sets_of(whole)[:4]
    for again in (searched(n_jobs=2), searched(journal=tmp_path / "journal")):
        np.testing.assert_array_equal(again.masks, whole.masks)
        np.testing.assert_array_equal(again.merits, whole.merits)
