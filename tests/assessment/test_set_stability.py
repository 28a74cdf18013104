import numpy as np
import pytest

from tamiz.assessment import stability


def plain(sets):
    """The estimate from all pairs: one less the mean disagreement over that of chance."""
    m, d = sets.shape
    shared = [np.sum(a * b) for i, a in enumerate(sets) for b in sets[i + 1 :]]
    mean = sets.sum() / m
    # The mean intersection of pairs, corrected for chance (the paper's first form).
    return (np.mean(shared) - mean**2 / d) / (mean - mean**2 / d) if (sets.sum(axis=1) == mean).all() else None


@pytest.mark.parametrize("seed", range(5))
def test_sets_of_one_size_have_the_mean_of_the_corrected_intersections(seed):
    rng = np.random.default_rng(seed)
    sets = np.zeros((6, 15), dtype=int)
    for row in sets:
        row[rng.choice(15, 4, replace=False)] = 1
    assert stability(sets).estimate == pytest.approx(plain(sets), rel=1e-12)


# Computed with the authors' own program (JMLR2018, python/stability).
def test_estimate_variance_and_interval_are_those_of_the_authors_program():
    found = stability([[1, 0, 0, 0, 0], [0, 1, 0, 0, 0], [1, 0, 0, 0, 0], [1, 1, 0, 0, 0]])
    assert found.estimate == pytest.approx(0.3777777777777779, rel=1e-12)
    assert found.variance == pytest.approx(0.024026337448559677, rel=1e-12)
    assert (found.low, found.high) == pytest.approx((0.07397490432075615, 0.6815806512347996), rel=1e-12)
    assert (found.n_sets, found.n_columns) == (4, 5)


def test_sets_drawn_at_random_are_about_0():
    sets = np.random.default_rng(0).random((200, 40)) < 0.2
    assert abs(stability(sets).estimate) < 0.01


@pytest.mark.parametrize("held", [[1, 0, 1], [0, 0, 0], [1, 1, 1]])
def test_sets_that_are_all_the_same_are_1_also_without_and_with_every_column(held):
    found = stability([held] * 5)
    assert (found.estimate, found.variance, found.low, found.high) == (1, 0, 1, 1)
    what = "all 5 folds select the same columns" if any(held) else "none of the 5 folds selects a column"
    assert found.sentence == f"1.00 (95% interval 1.00 to 1.00): {what}."
    assert found.mean_size == sum(held)


def test_the_interval_ends_at_1():
    sets = np.zeros((10, 30), dtype=bool)
    sets[:, :5] = True
    sets[0, 5] = True
    found = stability(sets)
    assert found.high == 1
    assert 0.9 < found.low < found.estimate < 1


@pytest.mark.parametrize(
    ("sets", "message"),
    [
        ([[1, 0, 1]], r"^Stability compares sets of columns: at least 2 are needed, got 1\.$"),
        ([1, 0, 1], r"^sets must be a matrix of 0 and 1, .* got shape \(3,\)\.$"),
        ([[1, 2], [0, 1]], r"^sets must be a matrix of 0 and 1"),
        (np.zeros((3, 0)), r"^sets must be a matrix of 0 and 1"),
    ],
)
def test_input_that_is_no_collection_of_sets_is_refused(sets, message):
    with pytest.raises(ValueError, match=message):
        stability(sets)
