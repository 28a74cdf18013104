"""Forward, backward and best-first against the plain searches, on merits with many ties."""

import numpy as np
import pytest

from tamiz.search import Backward, BestFirst, Forward

from ..reference import cfs as plain
from .merits import Quadratic, best_of, problem_of, search_in, sets_of

SEEDS = range(300)


def size_of(seed):
    return 3 + seed % 7


def smallest_of_equals(archive):
    """Of all sets of the best merit the smaller, then the one of earlier columns."""
    seen = zip(sets_of(archive), archive.merits, strict=True)
    equal = [subset for subset, merit in seen if merit == archive.best_merit]
    p = archive.n_columns
    return min(equal, key=lambda subset: (len(subset), [j not in subset for j in range(p)]))


def test_forward_chooses_what_the_plain_search_chooses():
    for seed in SEEDS:
        p, evaluator = size_of(seed), Quadratic(seed, size_of(seed))
        assert best_of(search_in(Forward(), evaluator, p)) == plain.greedy(evaluator.merit, p, "forward"), seed


def test_backward_chooses_what_the_plain_search_chooses():
    for seed in SEEDS:
        p, evaluator = size_of(seed), Quadratic(seed, size_of(seed))
        # Of equal drops the last column goes: the plain search's other order.
        expected = plain.greedy(evaluator.merit, p, "backward", weka=True)
        assert best_of(search_in(Backward(), evaluator, p)) == expected, seed


@pytest.mark.parametrize("stale", [1, 2, 5])
def test_best_first_reaches_what_the_plain_search_reaches(stale):
    different = 0
    for seed in SEEDS:
        p, evaluator = size_of(seed), Quadratic(seed, size_of(seed))
        archive = search_in(BestFirst(stale=stale), evaluator, p)
        expected = plain.best_first(evaluator.merit, p, patience=stale)
        assert archive.best_merit == evaluator.merit(expected), seed
        # The plain search keeps the first of equals; the archive the smaller, then the one of earlier columns.
        assert best_of(archive) == smallest_of_equals(archive), seed
        different += best_of(archive) != expected
    assert different < len(SEEDS) / 10


def test_best_first_with_patience_finds_the_best_of_all_subsets():
    for seed in range(60):
        evaluator = Quadratic(seed, 7)
        archive = search_in(BestFirst(stale=1000), evaluator, 7)
        assert len(archive) == 2**7
        assert archive.best_merit == evaluator.merit(plain.exhaustive(evaluator.merit, 7))
        assert archive.stopped == "every set within reach was expanded"


def test_a_gain_up_to_min_gain_is_none():
    class Creeping(Quadratic):
        def merit(self, subset):
            return len(subset) * 1e-3

    archive = search_in(BestFirst(min_gain=2e-3, stale=2), Creeping(0, 6), 6)
    # Two columns gain no more than 2e-3 over none; the third step gains 3e-3.
    assert archive.stopped == "2 expansions in a row without a gain"
    assert best_of(search_in(BestFirst(min_gain=2.5e-3, stale=3), Creeping(0, 5), 5)) == (0, 1, 2)


@pytest.mark.parametrize("search", [Forward(), Backward(), BestFirst()], ids=repr)
def test_no_set_is_evaluated_twice(search):
    for seed in range(60):
        p, evaluator = size_of(seed), Quadratic(seed, size_of(seed))
        archive = search_in(search, evaluator, p)
        assert len(set(evaluator.asked)) == len(evaluator.asked) == len(archive)
        assert sets_of(archive) == evaluator.asked


def plain_sized(merit_of, p, direction, least, most):
    """All sets that a greedy search evaluates on the way to a size, and beyond it while it gains."""
    current = () if direction == "forward" else tuple(range(p))
    seen = [current]
    while True:
        if direction == "forward":
            steps = plain.neighbours(current, p, "forward") if len(current) < most else []
        else:
            steps = plain.neighbours(current, p, "backward")[::-1] if len(current) > least else []
        if not steps:
            return seen
        seen += steps
        best = max(steps, key=merit_of)
        change = merit_of(best) - merit_of(current)
        forced = len(current) < least if direction == "forward" else len(current) > most
        if not forced and (change < 0 or (change == 0 and direction == "forward")):
            return seen
        current = best


@pytest.mark.parametrize("n_features", [1, 3, 5, (2, 4), (1, 5)])
@pytest.mark.parametrize(("search", "direction"), [(Forward(), "forward"), (Backward(), "backward")])
def test_a_size_asked_for_is_reached_even_where_the_merit_falls(search, direction, n_features):
    least, most = (n_features, n_features) if isinstance(n_features, int) else n_features
    for seed in range(60):
        evaluator = Quadratic(seed, 6)
        archive = search_in(search, evaluator, 6, n_features=n_features)
        seen = plain_sized(evaluator.merit, 6, direction, least, most)
        assert set(sets_of(archive)) == set(seen), seed
        allowed = [subset for subset in seen if least <= len(subset) <= most]
        assert archive.best_merit == max(map(evaluator.merit, allowed))
        assert least <= len(best_of(archive)) <= most


@pytest.mark.parametrize("n_features", [1, 4, 6, (3, 5)])
def test_best_first_reaches_the_size_asked_for(n_features):
    least, most = (n_features, n_features) if isinstance(n_features, int) else n_features
    for seed in range(60):
        archive = search_in(BestFirst(stale=1), Quadratic(seed, 6), 6, n_features=n_features)
        assert least <= len(best_of(archive)) <= most
        assert archive.sizes.max() <= most


@pytest.mark.parametrize("search", [Forward, Backward, BestFirst])
def test_fixed_columns_are_in_every_set_and_excluded_ones_in_none(search):
    for seed in range(20):
        archive = search_in(search(fixed=["x1", 3], excluded=[0]), Quadratic(seed, 6), 6)
        assert archive.masks[:, [1, 3]].all()
        assert not archive.masks[:, 0].any()


@pytest.mark.parametrize("search", [Forward, Backward, BestFirst])
def test_a_search_begins_at_its_start(search):
    archive = search_in(search(start=[1], fixed=[4], excluded=[2]), Quadratic(0, 6), 6)
    assert sets_of(archive)[0] == (1, 4)


@pytest.mark.parametrize("search", [Forward, Backward, BestFirst])
def test_a_start_that_takes_no_part_is_refused(search):
    with pytest.raises(ValueError, match="Column 'x2' is to start with, but takes no part"):
        search_in(search(start=[1, 2], excluded=[2]), Quadratic(0, 6), 6)


@pytest.mark.parametrize("search", [Forward, Backward, BestFirst])
def test_columns_of_a_group_move_together(search):
    for seed in range(20):
        archive = search_in(search(groups=[[0, "x2"], [3, 4, 5]]), Quadratic(seed, 7), 7)
        masks = archive.masks
        assert (masks[:, 0] == masks[:, 2]).all()
        assert (masks[:, 3] == masks[:, 4]).all()
        assert (masks[:, 3] == masks[:, 5]).all()
        assert len(np.unique(masks[:, 1])) == 2


def test_a_group_too_large_for_the_size_stays_out():
    archive = search_in(Forward(groups=[[0, 1, 2]]), Quadratic(1, 5), 5, n_features=2)
    assert not archive.masks[:, :3].any()


def test_a_search_changes_neither_its_start_nor_itself():
    search = Forward(start=[1])
    problem = problem_of(search, 4)
    before = repr(search)
    walk = search.walk(problem, np.random.default_rng(0))
    candidates = next(walk)
    while True:
        try:
            candidates = walk.send(np.arange(1.0, len(candidates) + 1) + len(candidates.parents[0].nonzero()[0]))
        except StopIteration:
            break
    assert problem.start.tolist() == [False, True, False, False]
    assert repr(search) == before


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"fixed": ["x9"]}, ValueError, "fixed names 'x9', which is no column"),
        ({"fixed": ["xx1"]}, ValueError, r"\(did you mean 'x1'\?\)"),
        ({"excluded": [4]}, ValueError, "excluded has column 4; columns are numbered from 0 to 3"),
        ({"start": [-1]}, ValueError, "start has column -1; columns are numbered from 0 to 3"),
        ({"fixed": "x1"}, TypeError, "fixed must be a list of columns, got the text 'x1'"),
        ({"fixed": [1], "excluded": ["x1"]}, ValueError, "Column 'x1' is both fixed and excluded"),
        ({"groups": [[0, 1], [1, 2]]}, ValueError, "Column 'x1' is in two groups"),
        ({"groups": [[0, 1]], "fixed": [1]}, ValueError, "The group of 'x0' is fixed or left out only in part"),
    ],
)
@pytest.mark.parametrize("search", [Forward, Backward, BestFirst])
def test_columns_that_cannot_be_are_refused(search, parameters, error, message):
    with pytest.raises(error, match=message):
        problem_of(search(**parameters), 4)


def test_a_fixed_column_that_takes_no_part_is_refused():
    with pytest.raises(ValueError, match="Column 'b' is fixed, but takes no part in this table"):
        Forward(fixed=["b"]).problem(["a", "b"], np.array([0]), None)


@pytest.mark.parametrize(
    ("n_features", "message"),
    [
        (5, "n_features=5 exceeds the 4 columns of the table; ask for at most 4"),
        ((2, 5), r"n_features=\(2, 5\) exceeds the 4 columns"),
        (0, r"n_features must be at least 1, or a pair \(least, most\), got 0"),
        ((3, 2), r"n_features must be at least 1, or a pair \(least, most\), got \(3, 2\)"),
    ],
)
def test_a_size_that_cannot_be_is_refused(n_features, message):
    with pytest.raises(ValueError, match=message):
        problem_of(Forward(), 4, n_features)


def test_a_size_above_the_columns_that_can_be_chosen_is_refused():
    with pytest.raises(
        ValueError, match="exceeds the 4 columns of the table, of which 3 can be chosen; ask for at most 3"
    ):
        problem_of(Forward(excluded=[0]), 4, 4)
