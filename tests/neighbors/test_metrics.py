"""Every metric against its definition, and properties of all metrics."""

import datetime

import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import cdist

from tamiz import open_table
from tamiz.exceptions import DataError, TamizWarning
from tamiz.neighbors.points import CosinePoints, EuclideanPoints, GowerPoints
from tamiz.neighbors.precomputed import PrecomputedDistances
from tamiz.neighbors.sparse_points import SparsePoints
from tamiz.runtime import parallel

from ..reference import metrics as plain

N = 61


def numbers(seed=0, n=N, p=13, density=0.5):
    """Rows with zeros in them, none of zeros alone; row 7 is row 3, and row 50 row 12."""
    rng = np.random.default_rng(seed)
    rows = rng.normal(size=(n, p)) * (rng.random((n, p)) < density)
    rows[:, 0] = 0.5 + rng.random(n)
    rows[7], rows[50] = rows[3], rows[12]
    return rows


def mixed(seed=0, n=N, gaps=0.2):
    """A frame of numbers, dates and categories, with gaps; row 7 is row 3, and row 50 row 12."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "size": rng.normal(5, 2, n),
            "count": rng.integers(0, 9, n).astype(float),
            "same": 4.0,
            "colour": pd.Categorical.from_codes(rng.integers(0, 3, n), ["blue", "green", "red"]),
            "day": pd.to_datetime("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), unit="D"),
            "flag": rng.random(n) < 0.5,
            "kind": rng.choice(["a", "b"], n),
        }
    ).astype({"flag": object})
    for name in frame.columns:
        if name != "same":
            frame.loc[rng.random(n) < gaps, name] = None
    frame["kind"] = frame["kind"].fillna("a")
    frame.iloc[7], frame.iloc[50] = frame.iloc[3], frame.iloc[12]
    return frame


def gower_table(frame, fitted=None):
    """Gower's distances of a frame to the fitted one, from the definition."""
    fitted = frame if fitted is None else fitted
    ranges = []
    for name in fitted.columns:
        column = fitted[name].dropna()
        if name == "day":
            ranges.append((column.max() - column.min()).total_seconds())
        elif column.dtype == float:
            ranges.append(column.max() - column.min())
        else:
            ranges.append(None)

    def row(of):
        values = [None if pd.isna(value) else value for value in of]
        return [value.timestamp() if isinstance(value, datetime.datetime) else value for value in values]

    listed = [[row(of) for of in rows.itertuples(index=False)] for rows in (frame, fitted)]
    return plain.table(lambda x, y: plain.gower(x, y, ranges), *listed)


def points_of(name, seed=0):
    if name == "cosine":
        return CosinePoints(numbers(seed))
    if name in ("sparse euclidean", "sparse cosine"):
        return SparsePoints(numbers(seed), metric=name.split()[1])
    if name == "gower":
        return GowerPoints.from_table(open_table(mixed(seed, gaps=0.0)))
    if name == "gower with gaps":
        return GowerPoints.from_table(open_table(mixed(seed)))
    rows = numbers(seed)
    return PrecomputedDistances(cdist(rows, rows))


def expected_of(name, seed=0):
    rows = numbers(seed)
    if name in ("cosine", "sparse cosine"):
        return plain.table(plain.cosine, rows, rows)
    if name.startswith("gower"):
        return gower_table(mixed(seed, gaps=0.2 if "gaps" in name else 0.0))
    return plain.table(plain.euclidean, rows, rows)


NAMES = ["cosine", "sparse euclidean", "sparse cosine", "gower", "gower with gaps", "precomputed"]


@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize("name", NAMES)
def test_distances_are_those_of_the_definition(name, seed):
    points = points_of(name, seed)
    block = points.block(points, 0, N)
    np.testing.assert_allclose(block, expected_of(name, seed), rtol=1e-12, atol=1e-30)
    assert block.dtype == np.float64
    assert block.flags.c_contiguous
    assert points.n_samples == N


def test_the_plain_versions_are_scipys():
    rows = numbers()
    for name in ("euclidean", "cosine"):
        np.testing.assert_allclose(plain.table(getattr(plain, name), rows, rows), cdist(rows, rows, name), atol=1e-14)


@pytest.mark.parametrize("name", NAMES)
def test_a_pair_has_one_distance_whichever_of_the_two_asks(name):
    block = (points := points_of(name)).block(points, 0, N)
    assert (block == block.T).all()


@pytest.mark.parametrize("name", NAMES)
def test_a_pair_has_one_distance_whatever_comes_with_it(name):
    points = points_of(name)
    whole = points.block(points, 0, N)
    for start, stop in ((0, 1), (5, 8), (60, 61)):
        assert (points.block(points, start, stop) == whole[start:stop]).all()
    rng = np.random.default_rng(1)
    for size in (1, 2, 3, 5, 17, 30):
        some, others = rng.permutation(N)[:size], rng.permutation(N)[: size + 1]
        assert (points.take(others).block(points.take(some), 0, size) == whole[np.ix_(some, others)]).all()
        again = points.take(others).take(np.arange(size, -1, -1))
        assert (again.block(points.take(some), 0, size) == whole[np.ix_(some, others[::-1])]).all()


@pytest.mark.parametrize("name", NAMES)
def test_equal_rows_are_at_exactly_zero_and_found_as_equal(name):
    points = points_of(name)
    block = points.block(points, 0, N)
    assert not block.diagonal().any()
    assert block[3, 7] == block[12, 50] == 0.0
    first = np.arange(N)
    first[7], first[50] = 3, 12
    np.testing.assert_array_equal(points.first_occurrences(), first)
    keys = points.row_keys(np.array([7, 3, 4, 50]))
    assert keys[0] == keys[1]
    assert len(set(keys)) == 3
    assert points.take(np.array([50, 3, 12])).first_occurrences().tolist() == [0, 1, 0]


@pytest.mark.parametrize("name", NAMES)
def test_training_rows_that_come_again_as_new_rows_are_where_they_were(name):
    points = points_of(name)
    some = np.array([50, 3, 4])
    if name == "precomputed":
        new = points.new_points(expected_rows(points)[some])
    elif name.startswith("gower"):
        new = points.new_points(mixed(gaps=0.2 if "gaps" in name else 0.0).iloc[some])
    else:
        new = points.new_points(numbers()[some])
    assert (points.block(new, 0, 3) == points.block(points, 0, N)[some]).all()
    assert (points.take(some).block(new, 1, 3) == points.block(points, 0, N)[some][1:, some]).all()
    assert new.row_keys(np.arange(3)) == points.row_keys(some)


@pytest.mark.parametrize("name", NAMES)
def test_new_rows_that_are_equal_to_a_point_are_found_with_the_lowest_of_these(name):
    points = points_of(name)
    asked = np.array([7, 20, 50, 7])
    if name == "precomputed":
        new = expected_rows(points)[asked]
        new[1] += 1.0
        new = points.new_points(new)
    elif name.startswith("gower"):
        frame = mixed(gaps=0.2 if "gaps" in name else 0.0).iloc[asked].reset_index(drop=True)
        frame.loc[1, "size"] = 1.25
        new = points.new_points(frame)
    else:
        changed = numbers()[asked]
        changed[1, 0] += 1e-9
        new = points.new_points(changed)
    equal, found = points.match_rows(new)
    assert equal.tolist() == [0, 2, 3]
    assert found.tolist() == [3, 12, 3]
    equal, found = points.take(np.array([50, 12, 7])).match_rows(new)
    assert (equal.tolist(), found.tolist()) == ([0, 2, 3], [2, 0, 2])
    equal, found = points.match_rows(points)
    assert equal.tolist() == list(range(N))
    assert (found == points.first_occurrences()).all()
    assert [part.tolist() for part in points.match_rows(new.take(np.arange(1, 2)))] == [[], []]


def test_many_new_rows_are_compared_a_part_at_a_time():
    rows = np.repeat(np.random.default_rng(0).normal(size=(1500, 2)), 2, axis=0)
    equal, found = EuclideanPoints(rows).match_rows(EuclideanPoints(rows[::-1]))
    assert (equal == np.arange(3000)).all()
    assert (found == np.arange(3000)[::-1] // 2 * 2).all()


def test_rows_at_distance_zero_are_not_taken_for_equal_where_what_is_missing_differs():
    points = GowerPoints.from_table(open_table(np.array([[1.0, np.nan], [1.0, 2.0], [3.0, 5.0], [1.0, 0.0]])))
    new = points.new_points(np.array([[1.0, 2.0], [1.0, np.nan], [np.nan, 2.0], [1.0, 1e150]]))
    assert points.block(new, 0, 1)[0, :2].tolist() == [0.0, 0.0]
    assert [part.tolist() for part in points.match_rows(new)] == [[0, 1], [1, 0]]


def test_a_difference_whose_square_vanishes_is_a_difference():
    points = EuclideanPoints(np.array([[0.0, 1.0], [1e-200, 1.0]]))
    assert points.block(points, 0, 1)[0, 1] == 0.0
    assert [
        part.tolist()
        for part in points.match_rows(EuclideanPoints(np.array([[1e-200, 1.0], [-0.0, 1.0], [2e-200, 1.0]])))
    ] == [
        [0, 1],
        [1, 0],
    ]


@pytest.mark.filterwarnings("ignore:.*the values differ by less than 1e-150")
def test_new_rows_beyond_every_number_are_equal_to_none():
    points = GowerPoints.from_table(open_table(np.array([[0.0, 0.0], [5e-324, 1e-323], [1e-323, 5e-324]])))
    new = points.new_points(np.array([[1e150, -1e150], [5e-324, 1e-323]]))
    assert [part.tolist() for part in points.match_rows(new)] == [[1], [1]]


def expected_rows(points):
    return points.block(points, 0, N)


@pytest.mark.parametrize("name", NAMES)
def test_blocks_have_the_same_bits_at_any_number_of_threads(name):
    def whole(n_jobs):
        with parallel.thread_session(n_jobs):
            points = points_of(name)
            spans = parallel.block_ranges(N, 8)
            return np.concatenate(list(parallel.map_blocks(lambda span: points.block(points, *span), spans)))

    assert (whole(1) == whole(2)).all()


# Cosine


def test_the_cosine_distances_of_a_right_and_of_a_straight_angle_are_1_and_2():
    points = CosinePoints(np.array([[2.0, 0.0], [0.0, 5.0], [-3.0, 0.0], [1.0, 1.0]]))
    expected = [[0, 1, 2, 1 - np.sqrt(0.5)], [1, 0, 1, 1 - np.sqrt(0.5)], [2, 1, 0, 1 + np.sqrt(0.5)]]
    np.testing.assert_allclose(points.block(points, 0, 3), expected, rtol=1e-15)


def test_a_small_angle_keeps_its_digits():
    angle = 1e-6
    points = CosinePoints(np.array([[3.0, 0.0], [7 * np.cos(angle), 7 * np.sin(angle)]]))
    assert points.block(points, 0, 1)[0, 1] == pytest.approx(2 * np.sin(angle / 2) ** 2, rel=1e-9)


@pytest.mark.parametrize(
    "make", [CosinePoints, lambda rows: SparsePoints(rows, metric="cosine")], ids=["dense", "sparse"]
)
def test_directions_of_huge_and_of_tiny_rows_are_measured_alike(make):
    rows = np.array([[3e300, 4e300], [3e-310, 4e-310], [3.0, -4.0], [1.7e308, 0.0], [5e-324, 0.0]])
    points = make(rows)
    block = points.block(points, 0, 5)
    cosines = [[1, 1, -0.28, 0.6, 0.6], [1, 1, -0.28, 0.6, 0.6], [-0.28, -0.28, 1, 0.6, 0.6]]
    np.testing.assert_allclose(block[:3], 1 - np.array(cosines), rtol=1e-12, atol=1e-15)
    assert block[3, 4] == 0.0


def test_distances_of_the_unit_rows_represent_cosine_distances_to_the_bit():
    points = CosinePoints(numbers())
    between = cdist(points.euclidean_values(), points.euclidean_values())
    assert (points.from_euclidean(between) == points.block(points, 0, N)).all()
    assert points.from_euclidean(np.array([2.0000000000000004])) == 2.0
    for distance in (0.0, 0.125, 1.0, 2.0):
        assert points.from_euclidean(np.array(points.to_euclidean(distance))) == pytest.approx(distance, rel=1e-15)


@pytest.mark.parametrize(
    "make", [CosinePoints, lambda rows: SparsePoints(rows, metric="cosine")], ids=["dense", "sparse"]
)
def test_a_row_without_a_direction_is_named(make):
    rows = numbers()
    rows[4] = 0.0
    with pytest.raises(
        DataError,
        match=r"^Row 4 has only zeros and so no direction, .* Leave such rows out, or use the Euclidean distance\.$",
    ):
        make(rows)
    rows[20:28] = 0.0
    with pytest.raises(DataError, match=r"^Rows 4, 20, 21, 22, 23 and 4 more have only zeros"):
        make(rows)
    rows = numbers()
    rows[6, 2], rows[9, 1] = np.nan, np.inf
    with pytest.raises(DataError, match=r"^Rows 6, 9 have a NaN or an infinite value; .* Fill such values in or leave"):
        make(rows)


def test_new_rows_of_other_columns_are_refused():
    for points in (CosinePoints(numbers()), SparsePoints(numbers())):
        with pytest.raises(DataError, match=r"^X has 12 features, but fit had 13\.$"):
            points.new_points(numbers()[:, :12])


# Gower


def test_gowers_distance_of_a_table_worked_by_hand():
    frame = pd.DataFrame({"age": [20.0, 30, 40], "sex": ["m", "f", "f"], "income": [10.0, np.nan, 30]})
    points = GowerPoints.from_table(open_table(frame))
    expected = [[0, (1 / 2 + 1) / 2, 1], [3 / 4, 0, (1 / 2 + 0) / 2], [1, 1 / 4, 0]]
    np.testing.assert_allclose(points.block(points, 0, 3), expected, rtol=1e-15)
    np.testing.assert_allclose(gower_table(frame), expected, rtol=1e-15)


def test_rows_without_a_column_in_common_are_at_the_largest_distance():
    points = GowerPoints.from_table(open_table(np.array([[1.0, np.nan], [np.nan, 1.0], [2.0, 2.0], [2.0, 5.0]])))
    block = points.block(points, 0, 4)
    assert block[0, 1] == block[1, 0] == 1.0
    assert block[0].tolist() == [0.0, 1.0, 1.0, 1.0]


def test_a_column_that_does_not_vary_counts_nowhere():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"x": rng.random(12), "y": rng.choice(["a", "b"], 12)})
    wider = frame.assign(one=3.0, gappy=[1.0, np.nan] * 6, word="same")
    narrow, wide = (GowerPoints.from_table(open_table(f)) for f in (frame, wider))
    assert (narrow.block(narrow, 0, 12) == wide.block(wide, 0, 12)).all()


def test_new_rows_beyond_the_range_are_capped_and_unknown_levels_missing():
    train = pd.DataFrame({"x": [0.0, 1.0, 4.0], "c": ["a", "b", "b"]})
    points = GowerPoints.from_table(open_table(train))
    with pytest.warns(TamizWarning, match="Column c: 1 level in 1 row was not present in fit: 'unheard'"):
        new = points.new_points(pd.DataFrame({"x": [100.0, 2.0, np.nan], "c": ["b", "unheard", "a"]}))
    expected = [[1, 1 / 2, 1 / 2], [1 / 2, 1 / 4, 1 / 2], [0, 1, 1]]
    np.testing.assert_allclose(points.block(new, 0, 3), expected, rtol=1e-15)


@pytest.mark.filterwarnings("ignore:.*the values differ by less than 1e-150")
def test_the_unit_of_a_number_does_not_matter():
    rows = np.random.default_rng(0).normal(size=(40, 3))
    rows[3, 1] = np.nan
    points = GowerPoints.from_table(open_table(rows))
    expected = points.block(points, 0, 40)
    for unit in (1e140, 1e-300, 1e-140):
        other = GowerPoints.from_table(open_table(rows * unit))
        np.testing.assert_allclose(other.block(other, 0, 40), expected, rtol=1e-12)
    tiny = GowerPoints.from_table(open_table(np.array([[0.0], [5e-324], [1e-323]])))
    assert tiny.block(tiny, 0, 1).tolist() == [[0.0, 0.5, 1.0]]
    assert tiny.block(tiny.new_points(np.array([[1e150], [-1e150]])), 0, 2).tolist() == [[1.0] * 3] * 2


def test_the_square_root_of_gowers_distance_is_euclidean_where_nothing_is_missing():
    points = GowerPoints.from_table(open_table(mixed(gaps=0.0)))
    squared = points.block(points, 0, N)
    centre = np.eye(N) - 1 / N
    assert np.linalg.eigvalsh(-0.5 * centre @ squared @ centre).min() > -1e-12


def test_gowers_distance_passes_through_tiles_of_points_without_a_seam():
    frame = mixed(n=1100)
    points = GowerPoints.from_table(open_table(frame))
    some = np.array([0, 3, 511, 512, 1024, 1099])
    np.testing.assert_allclose(
        points.block(points.take(some), 0, 6), gower_table(frame.iloc[some], frame), rtol=1e-12, atol=1e-30
    )


def test_a_row_without_any_value_is_named_as_in_the_users_table():
    rows = np.random.default_rng(0).normal(size=(10, 2))
    rows[6] = np.nan
    with pytest.raises(
        DataError,
        match=r"^Row 6 has no value in any column that varies, and so no distance to others\. Leave such rows out\.$",
    ):
        GowerPoints.from_table(open_table(rows))
    # Row 2 has no target and is dropped; the numbers stay those of the table.
    target = np.array(["a", "b"] * 5, dtype=object)
    target[2] = None
    with pytest.raises(DataError, match=r"^Row 6 has no value"):
        GowerPoints.from_table(open_table(rows, target))
    points = GowerPoints.from_table(open_table(rows[:6]))
    with pytest.raises(DataError, match=r"^Rows 1, 2 have no value"):
        points.new_points(np.array([[1.0, 2.0], [np.nan] * 2, [np.nan] * 2]))


def test_a_table_in_which_no_column_varies_has_no_gower_distance():
    with pytest.raises(
        DataError, match=r"^Gower's distance requires a column that varies; none of the 2 columns does\."
    ):
        GowerPoints.from_table(open_table(np.array([[1.0, 2.0], [1.0, 2.0], [1.0, np.nan]])))
