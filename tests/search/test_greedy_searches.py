"""Greedy, floating, best-first and beam search against the plain searches, on merits with many ties."""

from functools import cache
from itertools import combinations

import numpy as np
import pytest

from tamiz.search import Backward, Beam, BestFirst, Bidirectional, Forward

from ..reference import cfs as plain
from .merits import Quadratic, best_of, problem_of, search_in, sets_of

SEEDS = range(300)


def size_of(seed):
    return 3 + seed % 7


def smallest_of_equals(archive):
    """Of the sets with the best merit the smallest, then the one of earlier columns."""
    seen = zip(sets_of(archive), archive.merits, strict=True)
    equal = [subset for subset, merit in seen if merit == archive.best_merit]
    p = archive.n_columns
    return min(equal, key=lambda subset: (len(subset), [j not in subset for j in range(p)]))


def test_forward_chooses_what_the_plain_search_chooses():
    for seed in SEEDS[::3]:
        p, evaluator = size_of(seed), Quadratic(seed, size_of(seed))
        assert best_of(search_in(Forward(), evaluator, p)) == plain.greedy(cache(evaluator.merit), p, "forward"), seed


def test_backward_chooses_what_the_plain_search_chooses():
    for seed in SEEDS[::3]:
        p, evaluator = size_of(seed), Quadratic(seed, size_of(seed))
        # Among equal drops the last column is dropped: the reverse order of the plain search.
        expected = plain.greedy(cache(evaluator.merit), p, "backward", weka=True)
        assert best_of(search_in(Backward(), evaluator, p)) == expected, seed


@pytest.mark.parametrize("direction", ["forward", "backward", "bidirectional"])
@pytest.mark.parametrize("patience", [1, 2, 5])
def test_best_first_evaluates_what_the_plain_search_evaluates(direction, patience):
    different = 0
    for seed in SEEDS[::10]:
        p, evaluator = size_of(seed), Quadratic(seed, size_of(seed))
        archive = search_in(BestFirst(direction=direction, patience=patience), evaluator, p)
        expected, seen = plain.best_first_visits(cache(evaluator.merit), p, direction, patience)
        assert sets_of(archive) == seen, seed
        assert archive.best_merit == evaluator.merit(expected), seed
        # Among equal merits the plain search keeps the first; the archive the smaller, then the one of earlier columns.
        assert best_of(archive) == smallest_of_equals(archive), seed
        different += best_of(archive) != expected
    assert different < len(SEEDS) / 100


def test_best_first_with_patience_finds_the_best_of_all_subsets():
    for seed in range(10):
        evaluator = Quadratic(seed, 7)
        archive = search_in(BestFirst(patience=1000), evaluator, 7)
        assert len(archive) == 2**7
        assert archive.best_merit == evaluator.merit(plain.exhaustive(evaluator.merit, 7))
        assert archive.stop_reason == "every reachable set was expanded"


def test_a_gain_up_to_min_gain_is_none():
    class Creeping(Quadratic):
        def merit(self, subset):
            return len(subset) * 1e-3

    archive = search_in(BestFirst(min_gain=2e-3, patience=2), Creeping(0, 6), 6)
    # Two columns gain no more than 2e-3 over none; the third step gains 3e-3.
    assert archive.stop_reason == "no improvement in 2 consecutive steps"
    assert best_of(search_in(BestFirst(min_gain=2.5e-3, patience=3), Creeping(0, 5), 5)) == (0, 1, 2)


@pytest.mark.parametrize("direction", ["backward", "bidirectional"])
def test_best_first_crosses_a_plateau_of_more_equal_sets_than_it_has_patience(direction):
    class Useless(Quadratic):
        def merit(self, subset):
            return 1.0

    search = BestFirst(direction=direction, start=range(12) if direction == "bidirectional" else None)
    assert best_of(search_in(search, Useless(0, 12), 12)) == ()


def test_every_gain_of_a_drop_counts_and_an_addition_needs_min_gain():
    class Slightly(Quadratic):
        """A merit that falls by a millionth with every column that is not needed."""

        def merit(self, subset):
            return -1e-6 * len(subset)

    assert best_of(search_in(BestFirst(direction="backward"), Slightly(0, 9), 9)) == ()

    class Better(Quadratic):
        def merit(self, subset):
            return 1e-6 * len(subset)

    assert best_of(search_in(BestFirst(), Better(0, 9), 9)) == ()


RANGES = [None, 1, 3, (2, 4)]


def limits_of(n_features, p):
    """The smallest and the largest size for a plain search."""
    return (0, p) if n_features is None else n_features if isinstance(n_features, tuple) else (n_features,) * 2


@pytest.mark.parametrize("n_features", RANGES, ids=str)
def test_floating_search_evaluates_what_the_plain_search_evaluates(n_features):
    for seed in SEEDS[::5]:
        p, evaluator = 1 + size_of(seed), Quadratic(seed, 1 + size_of(seed))
        archive = search_in(Bidirectional(), evaluator, p, n_features=n_features)
        assert sets_of(archive) == plain.floating(cache(evaluator.merit), p, *limits_of(n_features, p)), seed


@pytest.mark.parametrize("n_features", RANGES, ids=str)
def test_floating_search_is_never_worse_than_forward_selection_with_which_it_begins(n_features):
    better = 0
    for seed in SEEDS[::6]:
        p = 1 + size_of(seed)
        floating, forward = (
            search_in(search, Quadratic(seed, p), p, n_features=n_features) for search in (Bidirectional(), Forward())
        )
        assert sets_of(floating)[: len(forward)] == sets_of(forward), seed
        assert floating.best_merit >= forward.best_merit, seed
        better += floating.best_merit > forward.best_merit
    assert better > 0 or n_features in (1, 3)


@pytest.mark.parametrize("n_features", RANGES, ids=str)
@pytest.mark.parametrize("width", [1, 2, 5])
def test_beam_search_evaluates_what_the_plain_search_evaluates(width, n_features):
    for seed in SEEDS[::10]:
        p, evaluator = 1 + size_of(seed), Quadratic(seed, 1 + size_of(seed))
        archive = search_in(Beam(width), evaluator, p, n_features=n_features)
        assert sets_of(archive) == plain.beam(cache(evaluator.merit), p, width, *limits_of(n_features, p)), seed


@pytest.mark.parametrize("n_features", RANGES, ids=str)
@pytest.mark.parametrize(
    "parameters", [{}, {"column_groups": [[0, 3], [1, 4, 5]]}, {"start": [2], "excluded": [0]}], ids=str
)
def test_a_beam_of_one_is_forward_selection(n_features, parameters):
    for seed in range(15):
        beam, forward = (
            search_in(search, Quadratic(seed, 7), 7, n_features=n_features)
            for search in (Beam(1, **parameters), Forward(**parameters))
        )
        assert sets_of(beam) == sets_of(forward)
        assert (beam.best, beam.improvements, beam.stop_reason) == (
            forward.best,
            forward.improvements,
            forward.stop_reason,
        )


def test_a_beam_as_wide_as_a_step_finds_the_best_of_a_size():
    for seed in range(40):
        evaluator = Quadratic(seed, 6)
        archive = search_in(Beam(20), evaluator, 6, n_features=4)
        assert archive.best_merit == max(map(evaluator.merit, combinations(range(6), 4)))


@pytest.mark.parametrize("search", [Forward(), Backward(), Beam(3)], ids=repr)
def test_the_limit_of_evaluations_that_a_search_states_can_be_reached(search):
    class Growing(Quadratic):
        """Every addition raises the merit and every drop leaves it; merits are equal only at equal sizes."""

        def merit(self, subset):
            return float(len(subset)) if not isinstance(search, Backward) else -float(len(subset))

    for n_features in (None, 3, (2, 5)):
        archive = search_in(search, Growing(0, 7), 7, n_features=n_features)
        most = search.max_evaluations(problem_of(search, 7, n_features))
        assert len(archive) == most if not isinstance(search, Beam) else 0.5 * most < len(archive) <= most


def plain_sized(merit_of, p, direction, least, most):
    """All sets that a greedy search evaluates over a range of sizes."""
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
        current = max(steps, key=merit_of)


@pytest.mark.parametrize("n_features", [1, 3, 5, (2, 4), (1, 5)])
@pytest.mark.parametrize(("search", "direction"), [(Forward(), "forward"), (Backward(), "backward")])
def test_a_size_asked_for_is_reached_even_where_the_merit_falls(search, direction, n_features):
    least, most = (n_features, n_features) if isinstance(n_features, int) else n_features
    for seed in range(25):
        evaluator = Quadratic(seed, 6)
        archive = search_in(search, evaluator, 6, n_features=n_features)
        seen = plain_sized(cache(evaluator.merit), 6, direction, least, most)
        assert set(sets_of(archive)) == set(seen), seed
        allowed = [subset for subset in seen if least <= len(subset) <= most]
        assert archive.best_merit == max(map(evaluator.merit, allowed))
        assert least <= len(best_of(archive)) <= most


@pytest.mark.parametrize("n_features", [1, 4, 6, (3, 5)])
@pytest.mark.parametrize("direction", ["forward", "backward", "bidirectional"])
def test_best_first_goes_straight_on_to_the_size_asked_for(direction, n_features):
    least, most = limits_of(n_features, 6)
    for seed in range(25):
        archive = search_in(BestFirst(direction=direction, patience=1), Quadratic(seed, 6), 6, n_features=n_features)
        assert least <= len(best_of(archive)) <= most
        # The search does not leave the range of sizes on the other side.
        assert archive.sizes.min() >= least if direction == "backward" else archive.sizes.max() <= most


@pytest.mark.parametrize("search", [Forward, Backward, BestFirst])
def test_a_start_that_takes_no_part_is_refused(search):
    with pytest.raises(ValueError, match="Column 'x2' is in start, but is excluded or not used"):
        search_in(search(start=[1, 2], excluded=[2]), Quadratic(0, 6), 6)


def test_a_group_too_large_for_the_size_stays_out():
    archive = search_in(Forward(column_groups=[[0, 1, 2]]), Quadratic(1, 5), 5, n_features=2)
    assert not archive.masks[:, :3].any()


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"fixed": ["x9"]}, ValueError, "fixed contains 'x9', which is not a column"),
        ({"fixed": ["xx1"]}, ValueError, r"\(did you mean 'x1'\?\)"),
        ({"excluded": [4]}, ValueError, "excluded contains column 4; columns are numbered from 0 to 3"),
        ({"start": [-1]}, ValueError, "start contains column -1; columns are numbered from 0 to 3"),
        ({"fixed": "x1"}, TypeError, "fixed must be a list of columns, got the text 'x1'"),
        ({"fixed": [1], "excluded": ["x1"]}, ValueError, "Column 'x1' is both fixed and excluded"),
        ({"column_groups": [[0, 1], [1, 2]]}, ValueError, "Column 'x1' is in two column groups"),
        (
            {"column_groups": [[0, 1]], "fixed": [1]},
            ValueError,
            "Only a part of the column group of 'x0' is fixed or excluded",
        ),
        (
            {"column_groups": [[0, 1]], "start": [1]},
            ValueError,
            "start contains only a part of the column group of 'x0'",
        ),
    ],
)
@pytest.mark.parametrize("search", [Forward, Backward, BestFirst])
def test_invalid_columns_are_refused(search, parameters, error, message):
    with pytest.raises(error, match=message):
        problem_of(search(**parameters), 4)


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"direction": "sideways"}, ValueError, "direction must be one of 'forward', 'backward', 'bidirectional'"),
        ({"patience": 0}, ValueError, "patience must be at least 1, got 0"),
        ({"min_gain": -1.0}, ValueError, "min_gain must be at least 0, got -1.0"),
    ],
)
def test_best_first_refuses_what_it_cannot_do(parameters, error, message):
    with pytest.raises(error, match=message):
        search_in(BestFirst(**parameters), Quadratic(0, 4), 4)


def test_a_beam_of_no_width_is_refused():
    with pytest.raises(ValueError, match="width must be at least 1, got 0"):
        search_in(Beam(0), Quadratic(0, 4), 4)


@pytest.mark.parametrize(
    ("groups", "n_features", "near"),
    [
        ([[0, 1, 2], [3, 4, 5]], 4, "3 or 6"),
        ([[0, 1], [2, 3, 4, 5]], (1, 1), "2"),
        ([[0, 1, 2, 3], [4, 5]], 5, "4 or 6"),
    ],
)
def test_a_size_that_groups_cannot_have_is_refused_with_the_nearest_that_they_can(groups, n_features, near):
    with pytest.raises(ValueError, match=rf"because column groups are selected as a whole; ask for {near}\."):
        problem_of(Forward(column_groups=groups), 6, n_features)


def test_a_greedy_search_adds_no_group_that_leaves_no_way_to_the_size():
    class Tempting(Quadratic):
        """The pair of columns 0 and 1 is better than all else, and no set of three columns contains it."""

        def merit(self, subset):
            return 10.0 * (0 in subset) + len(subset)

    archive = search_in(Forward(column_groups=[[0, 1], [2, 3, 4]]), Tempting(0, 5), 5, n_features=3)
    assert best_of(archive) == (2, 3, 4)


def test_a_fixed_column_that_takes_no_part_is_refused():
    with pytest.raises(ValueError, match="Column 'b' is fixed, but is not used in this table"):
        Forward(fixed=["b"]).make_problem(["a", "b"], np.array([0]), None)


@pytest.mark.parametrize(
    ("n_features", "message"),
    [
        (5, "n_features=5 exceeds the 4 columns of the table; ask for at most 4"),
        ((2, 5), r"n_features=\(2, 5\) exceeds the 4 columns"),
        (0, "n_features must be at least 1, got 0"),
        ((3, 2), r"n_features must be at least 1, or a pair \(smallest, largest\), got \(3, 2\)"),
    ],
)
def test_an_invalid_size_is_refused(n_features, message):
    with pytest.raises(ValueError, match=message):
        problem_of(Forward(), 4, n_features)


def test_a_size_above_the_columns_that_can_be_chosen_is_refused():
    with pytest.raises(
        ValueError, match="exceeds the 4 columns of the table, of which 3 can be chosen; ask for at most 3"
    ):
        problem_of(Forward(excluded=[0]), 4, 4)


def test_a_size_where_no_column_can_be_chosen_is_refused():
    with pytest.raises(ValueError, match=r"^No column can be chosen: each is excluded, or not used in this table\.$"):
        problem_of(Forward(excluded=[0, 1]), 2, 1)
