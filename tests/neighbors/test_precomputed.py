"""Precomputed distances: stored, returned, or refused with an error."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist

from tamiz import open_table
from tamiz.exceptions import DataError
from tamiz.neighbors.precomputed import PrecomputedDistances

N = 61


def distances(n=N, seed=0):
    rows = np.random.default_rng(seed).normal(size=(n, 4))
    return cdist(rows, rows)


def test_distances_are_kept_without_a_copy_and_given_out_as_one():
    for dtype in (np.float64, np.float32):
        matrix = distances().astype(dtype)
        points = PrecomputedDistances(matrix)
        block = points.block(points, 0, 3)
        assert (block == matrix[:3]).all()
        block[:] = -1.0
        assert (matrix >= 0).all()
        assert points._distances is matrix
    assert PrecomputedDistances(np.array([[0, 2], [2, 0]])).n_samples == 2


def test_input_that_is_no_matrix_of_distances_is_refused_by_name():
    def refused(change, sentence, n=N):
        matrix = distances(n)
        change(matrix)
        with pytest.raises(DataError, match=sentence):
            PrecomputedDistances(matrix)

    def put(*entries):
        def change(matrix):
            for i, j, value in entries:
                matrix[i, j] = value

        return change

    refused(put((3, 5, np.nan)), r"^Row 3, column 5 is nan; a distance must be a finite number\. Replace it")
    refused(put((5, 3, np.inf), (3, 5, np.inf)), r"^Row 3, column 5 is inf; a distance must be a finite number\.")
    refused(put((3, 5, -0.5), (7, 2, -2.5)), r"^Row 7, column 2 is -2\.5; a distance must be at least 0\.$")
    refused(
        put((3, 5, 1e160), (5, 3, 1e160), (2, 1, 1e155)),
        r"^Row 3, column 5 is 1e\+160; a distance above 1e\+150 is too large to be squared\. Change the unit\.$",
    )
    refused(
        put((6, 6, 0.25), (8, 8, 1.0)), r"^Row 8 is at 1 from itself; the diagonal must be 0\. Convert similarities"
    )
    refused(
        put((1, 2, 1.0), (2, 1, 1.25), (3, 4, 1.0), (4, 3, 1.0625)),
        r"^Precomputed distances must be symmetric: row 1, column 2 is 1 and row 2, column 1 is 1\.25, a difference of "
        r"0\.25\. \(D \+ D\.T\) / 2 is symmetric\.$",
    )
    # The same beyond the first tile, and where each kind hides another.
    refused(put((3, 1090, -1.0), (1091, 3, np.nan)), r"^Row 1091, column 3 is nan", n=1100)
    refused(put((1090, 3, np.nan), (2, 3, -1.0)), r"^Row 1090, column 3 is nan", n=1100)
    refused(put((1090, 600, -1.0), (5, 5, 1.0)), r"^Row 1090, column 600 is -1;", n=1100)
    refused(put((1099, 1099, 2.0), (5, 6, 50.0)), r"^Row 1099 is at 2 from itself", n=1100)
    refused(put((1090, 3, 50.0), (700, 800, 20.0)), r"symmetric: row 3, column 1090 is .* is 50, a diff", n=1100)


def test_symmetric_is_what_rounding_makes_symmetric():
    matrix = distances()
    matrix[np.triu_indices(N, 1)] *= 1 + 5e-11
    PrecomputedDistances(matrix)
    PrecomputedDistances((matrix * (1 + 1e-6 * np.triu(np.ones((N, N)), 1))).astype(np.float32))
    matrix[np.triu_indices(N, 1)] *= 1 + 1e-9
    with pytest.raises(DataError, match=r"^Precomputed distances must be symmetric"):
        PrecomputedDistances(matrix)


def test_distances_that_are_no_square_matrix_of_numbers_are_refused():
    with pytest.raises(DataError, match=r"square matrix, every row to every row, got 3 rows and 61 columns\.$"):
        PrecomputedDistances(distances()[:3])
    with pytest.raises(ValueError, match=r"^Expected 2D array, got 1D array instead: shape \(61,\)\."):
        PrecomputedDistances(distances()[0])
    with pytest.raises(TypeError, match=r"^Precomputed distances must be real numbers, got <U32\.$"):
        PrecomputedDistances(distances().astype(str))
    with pytest.raises(DataError, match=r"^Row 2, column 3 is nan; a distance must be a finite number\."):
        PrecomputedDistances(np.ma.masked_equal(distances(), distances()[2, 3]))
    with pytest.raises(TypeError, match=r"dense array: in a sparse one, distance 0 and no distance look the same\."):
        PrecomputedDistances(sparse.csr_array(distances()))


def test_new_rows_come_with_their_distances_to_the_training_rows():
    points = PrecomputedDistances(distances())
    with pytest.raises(DataError, match=r"distances to the 61 training rows, got 60 columns\.$"):
        points.new_points(distances()[:3, :60])
    bad = distances()[:3].copy()
    bad[1, 4] = -3.0
    with pytest.raises(DataError, match=r"^Row 1, column 4 is -3; a distance must be at least 0\.$"):
        points.new_points(bad)
    new = points.new_points(distances()[:3])
    with pytest.raises(ValueError, match=r"^New rows have distances to the training rows only"):
        new.block(points, 0, 3)
    assert (points.block(new.take(np.array([2, 0])), 0, 2) == distances()[[2, 0]]).all()


def test_new_rows_too_far_to_be_squared_are_refused():
    new = distances()[:2].copy()
    new[1, 7] = 1e151
    with pytest.raises(DataError, match=r"^Row 1, column 7 is 1e\+151; a distance above 1e\+150 is too large"):
        PrecomputedDistances(distances()).new_points(new)


def test_a_zero_off_the_diagonal_makes_rows_near_and_not_equal():
    matrix = np.array([[0.0, 0.0, 1.0], [0.0, 0.0, 2.0], [1.0, 2.0, 0.0]])
    points = PrecomputedDistances(matrix)
    assert points.first_occurrences().tolist() == [0, 1, 2]
    new = np.array([[0.0, 0.0, 2.0], [0.0, 0.0, 1.5], [1.0, 2.0, 0.0], [0.0, 0.0, 1.0]])
    for dtype in (np.float64, np.float32):
        assert [part.tolist() for part in points.match_rows(points.new_points(new.astype(dtype)))] == [
            [0, 2, 3],
            [1, 2, 0],
        ]


def test_distances_come_in_an_array_or_a_frame_and_not_in_a_table():
    matrix = distances()
    points = PrecomputedDistances(matrix)
    for frame in (pd.DataFrame(matrix), pl.DataFrame(matrix), pl.LazyFrame(matrix)):
        given = PrecomputedDistances(frame)
        assert (given.block(given, 0, N) == matrix).all()
    sentence = r"^metric='precomputed' requires an array of distances, got a Table of 61 rows and 61 columns\. Its frame\(\) is"
    for read in (PrecomputedDistances, points.new_points):
        with pytest.raises(TypeError, match=sentence):
            read(open_table(matrix))


@pytest.mark.parametrize(("dtype", "share"), [(np.float64, 9e-11), (np.float32, 9e-6)])
def test_rows_are_equal_where_their_distances_differ_by_accepted_rounding(dtype, share):
    matrix = distances()
    matrix[[20, 40]] = matrix[7]
    matrix[:, [20, 40]] = matrix[:, [7]]
    rounding = 1 + share * np.triu(np.random.default_rng(1).random((N, N)))
    rounded = (matrix * rounding).astype(dtype)
    points = PrecomputedDistances(rounded)
    expected = np.arange(N)
    expected[[20, 40]] = 7
    assert points.first_occurrences().tolist() == expected.tolist()
    for given in (rounded, rounded.T, matrix.astype(dtype)):
        equal, found = points.match_rows(points.new_points(given))
        assert equal.tolist() == list(range(N))
        assert expected[found].tolist() == expected.tolist()
    some = np.array([33, 40, 5])
    assert [part.tolist() for part in points.take(some).match_rows(points.new_points(rounded.T[some]))] == [
        [0, 1, 2],
        [0, 1, 2],
    ]
    far = rounded[:3].copy()
    far[1, 30] *= 1 + 4 * share
    assert points.match_rows(points.new_points(far))[0].tolist() == [0, 2]
