"""Procrustes alignment of maps: closed forms, the numbers of SciPy and R, and the permutation test."""

import json
from itertools import permutations
from math import factorial

import numpy as np
import pytest
from scipy.spatial import procrustes as scipy_procrustes
from scipy.stats import ortho_group, special_ortho_group
from tests.reference.tables import HERE, shared

from tamiz.comparison import procrustes, procrustes_test
from tamiz.comparison.alignment import procrustes_distances
from tamiz.exceptions import DataError
from tamiz.runtime import parallel

RNG = np.random.default_rng(0)
X, Y = RNG.normal(size=(30, 3)), RNG.normal(size=(30, 3)) @ np.diag([3.0, 1.0, 0.2]) + 7.0
R = json.loads((HERE / "r_smacof.json").read_text())["procrustes"]


def arrests():
    table = np.genfromtxt(shared("data/USArrests.csv"), delimiter=",", skip_header=1)[:20, 1:]
    return table[:, :2], table[:, 2:]


@pytest.mark.parametrize("seed", range(5))
def test_a_map_that_was_turned_mirrored_scaled_and_shifted_comes_back(seed):
    rng = np.random.default_rng(seed)
    turn, scale, shift = ortho_group.rvs(3, random_state=rng), rng.uniform(0.1, 9.0), rng.normal(size=3)
    moved = procrustes(X, scale * X @ turn + shift)
    np.testing.assert_allclose(moved.aligned, X, atol=1e-12)
    np.testing.assert_allclose(moved.rotation, turn.T, atol=1e-12)
    np.testing.assert_allclose(moved.scale, 1 / scale, rtol=1e-12)
    assert moved.statistic < 1e-28
    assert moved.correlation == 1.0
    assert moved.residuals.max() < 1e-12


def test_the_record_contains_the_map_that_its_numbers_describe():
    for scale in (True, False):
        moved = procrustes(X, Y, scale=scale)
        np.testing.assert_allclose(moved.aligned, moved.scale * Y @ moved.rotation + moved.translation, atol=1e-12)
        np.testing.assert_allclose(moved.rotation @ moved.rotation.T, np.eye(3), atol=1e-13)
        np.testing.assert_allclose(moved.residuals, np.linalg.norm(X - moved.aligned, axis=1), rtol=1e-13)
        np.testing.assert_array_equal(moved.transform(Y), moved.aligned)
        assert (moved.scale == 1.0) == (not scale)


def test_the_statistic_is_scipys_and_the_same_in_both_directions_at_any_scale():
    disparity = scipy_procrustes(X, Y)[2]
    for moved in (procrustes(X, Y), procrustes(Y, X), procrustes(X, Y, scale=False), procrustes(1e-3 * X + 5, Y)):
        assert moved.statistic == pytest.approx(disparity, rel=1e-12)
        assert moved.correlation == pytest.approx(np.sqrt(1 - disparity), rel=1e-12)


def test_the_statistic_is_the_share_of_the_squares_of_the_reference_that_is_left():
    moved = procrustes(X, Y)
    assert (moved.residuals**2).sum() / ((X - X.mean(axis=0)) ** 2).sum() == pytest.approx(moved.statistic, rel=1e-12)


def test_no_other_turn_scale_or_shift_is_nearer():
    for scale, reflect in [(True, True), (False, True), (True, False)]:
        moved = procrustes(X, Y, scale=scale, reflect=reflect)
        least = (moved.residuals**2).sum()
        rng = np.random.default_rng(1)
        for _ in range(200):
            small = special_ortho_group.rvs(3, random_state=rng)
            turn = np.linalg.qr(np.eye(3) + 0.1 * (small - small.T))[0]
            turn *= np.sign(np.linalg.det(turn))
            factor = moved.scale * (rng.uniform(0.9, 1.1) if scale else 1.0)
            tried = factor * Y @ moved.rotation @ turn + moved.translation
            tried += (X - tried).mean(axis=0)
            assert ((X - tried) ** 2).sum() >= least - 1e-9


def test_r_gives_the_same():
    ours = procrustes(*arrests())
    assert (ours.residuals**2).sum() == pytest.approx(R["ss"], rel=1e-12)
    assert ours.statistic == pytest.approx(R["m2"], rel=1e-12)
    assert ours.correlation == pytest.approx(R["correlation"], rel=1e-12)
    assert ours.scale == pytest.approx(R["scale"], rel=1e-12)
    np.testing.assert_allclose(ours.rotation, R["rotation"], atol=1e-12)
    np.testing.assert_allclose(ours.translation, R["translation"], rtol=1e-12)
    np.testing.assert_allclose(ours.residuals, R["residuals"], rtol=1e-11)
    unscaled = procrustes(*arrests(), scale=False)
    assert (unscaled.residuals**2).sum() == pytest.approx(R["ss_unscaled"], rel=1e-12)


def test_a_mirror_is_used_only_where_it_may_be():
    mirrored = X * [1, 1, -1]
    assert np.linalg.det(procrustes(X, mirrored).rotation) == pytest.approx(-1.0)
    turned = procrustes(X, mirrored, reflect=False)
    assert np.linalg.det(turned.rotation) == pytest.approx(1.0)
    # The axis with the least in common is the one that is given up.
    centred = X - X.mean(axis=0)
    values = np.linalg.svd(centred.T @ (centred * [1, 1, -1]), compute_uv=False) / (centred**2).sum()
    assert turned.statistic == pytest.approx(1 - (values[0] + values[1] - values[2]) ** 2, rel=1e-12)
    np.testing.assert_array_equal(
        procrustes(X, Y @ procrustes(X, Y).rotation, reflect=False).rotation.round(9) + 0.0, np.eye(3)
    )


def test_on_one_coordinate_a_mirror_is_a_change_of_sign_and_without_it_the_rows_fall_on_their_mean():
    line = np.array([[0.0], [1.0], [5.0]])
    np.testing.assert_allclose(procrustes(line, -line).aligned, line, atol=1e-14)
    turned = procrustes(line, -line, reflect=False)
    assert (turned.scale, turned.statistic) == (0.0, 1.0)
    np.testing.assert_allclose(turned.aligned, np.full((3, 1), 2.0), atol=1e-14)


def test_the_narrower_map_gets_columns_of_zeros():
    flat = procrustes(X, Y[:, :2])
    padded = procrustes(X, np.column_stack([Y[:, :2], np.zeros(30)]))
    np.testing.assert_array_equal(flat.aligned, padded.aligned)
    np.testing.assert_array_equal(flat.transform(Y[:, :2]), flat.aligned)
    into = procrustes(X[:, :2], Y)
    np.testing.assert_array_equal(into.reference, np.column_stack([X[:, :2], np.zeros(30)]))
    assert into.aligned.shape == (30, 3)
    assert into.statistic == pytest.approx(procrustes(Y, X[:, :2]).statistic, rel=1e-12)


@pytest.mark.parametrize("unit", [1e-150, 1e150])
def test_any_unit_will_do(unit):
    moved = procrustes(X, unit * Y)
    plain = procrustes(X, Y)
    np.testing.assert_allclose(moved.aligned, plain.aligned, rtol=1e-9, atol=1e-12)
    assert moved.statistic == pytest.approx(plain.statistic, rel=1e-9)
    large = procrustes(unit * X, Y)
    np.testing.assert_allclose(large.residuals / unit, plain.residuals, rtol=1e-9)


def test_input_maps_are_neither_changed_nor_stored():
    ours = X.copy()
    moved = procrustes(ours, Y)
    ours += 1.0
    np.testing.assert_array_equal(moved.reference, X)


def test_the_record_prints_its_numbers():
    assert repr(procrustes(X, 2 * X)) == "<Procrustes of 30 rows in 3 coordinates: m2=0.0000, correlation=1.0000>"


def test_distances_between_maps_are_symmetric_and_undefined_for_a_map_without_extent():
    found = procrustes_distances([X, Y, np.full((30, 2), 0.1)])
    between = procrustes(X, Y).statistic
    np.testing.assert_allclose(
        found, [[0.0, between, np.nan], [between, 0.0, np.nan], [np.nan, np.nan, 0.0]], rtol=1e-12
    )


@pytest.mark.parametrize(
    ("maps", "sentence"),
    [
        ((X, Y[:29]), r"^The reference has 30 rows and the embedding 29; pass maps of the same rows\.$"),
        (
            (X, np.full((30, 2), 0.1)),
            r"^All 30 points of the embedding coincide; a map without extent has no direction\.$",
        ),
        ((np.zeros((30, 2)), Y), r"^All 30 points of the reference coincide"),
        ((X, np.where(Y > 8, np.nan, Y)), r"^Input embedding contains NaN"),
    ],
)
def test_maps_that_cannot_be_moved_are_refused(maps, sentence):
    for function in (procrustes, procrustes_test):
        with pytest.raises(ValueError, match=sentence):
            function(*maps)


def test_points_of_another_map_are_not_moved():
    with pytest.raises(DataError, match=r"^The aligned map has 2 columns, got points with 3\.$"):
        procrustes(X, Y[:, :2]).transform(Y)


def test_both_maps_are_drawn_with_a_line_for_every_row():
    moved = procrustes(X, Y)
    panel = moved.plot(moved.residuals, color_label="residual", components=(0, 2))
    _, bar = panel.figure.axes
    lines = next(drawn for drawn in panel.collections if hasattr(drawn, "get_segments"))
    segments = np.array(lines.get_segments())
    np.testing.assert_array_equal(segments[:, 0], moved.aligned[:, [0, 2]])
    np.testing.assert_array_equal(segments[:, 1], X[:, [0, 2]])
    assert bar.get_ylabel() == "residual"
    assert panel.get_title(loc="left") == f"○ reference   ● aligned map   m² = {moved.statistic:.3g}"
    low, high = panel.get_xlim()
    assert low < min(X[:, 0].min(), moved.aligned[:, 0].min())
    assert high > max(X[:, 0].max(), moved.aligned[:, 0].max())


def test_lines_of_one_coordinate_are_drawn_row_by_row():
    moved = procrustes(X[:, :1], Y[:, :1])
    lines = next(drawn for drawn in moved.plot().collections if hasattr(drawn, "get_segments"))
    np.testing.assert_array_equal(
        np.array(lines.get_segments())[:, :, 1], np.repeat(np.arange(30.0)[:, None], 2, axis=1)
    )


def test_the_test_agrees_with_all_orders_of_few_rows():
    rng = np.random.default_rng(2)
    A, B = rng.normal(size=(6, 2)), rng.normal(size=(6, 2))
    B += 0.5 * A
    found = procrustes(A, B).correlation
    all_orders = np.array([procrustes(A, B[list(order)]).correlation for order in permutations(range(6))])
    exact = np.mean(all_orders >= found * (1 - 1e-10))
    tested = procrustes_test(A, B, n_permutations=20_000, random_state=0)
    assert len(all_orders) == factorial(6)
    assert tested.p_value == pytest.approx(exact, abs=4 * np.sqrt(exact * (1 - exact) / 20_000))
    assert np.isin(tested.null_correlations.round(9), all_orders.round(9)).all()


def test_the_p_value_is_that_of_r():
    tested = procrustes_test(*arrests(), n_permutations=20_000, random_state=0)
    assert tested.correlation == pytest.approx(R["correlation"], rel=1e-12)
    assert tested.p_value == pytest.approx(R["p"], abs=4 * np.sqrt(R["p"] / 20_000))


def test_maps_that_agree_get_the_least_p_value_that_there_is():
    tested = procrustes_test(X, X @ ortho_group.rvs(3, random_state=1), n_permutations=199, random_state=0)
    assert tested.p_value == 1 / 200
    assert tested.alignment.statistic < 1e-28
    # Two points always agree.
    assert procrustes_test(X[:2], Y[:2], n_permutations=9, random_state=0).p_value == 1.0


def test_independent_maps_have_p_values_of_every_size():
    rng = np.random.default_rng(3)
    found = [
        procrustes_test(rng.normal(size=(12, 2)), rng.normal(size=(12, 2)), n_permutations=99, random_state=k).p_value
        for k in range(200)
    ]
    assert np.mean(found) == pytest.approx(0.5, abs=0.06)
    assert np.mean(np.array(found) <= 0.1) == pytest.approx(0.1, abs=0.06)


def test_a_seed_gives_the_same_permutations_at_any_number_of_threads():
    rng = np.random.default_rng(4)
    A, B = rng.normal(size=(9000, 2)), rng.normal(size=(9000, 2))
    with parallel.thread_session(1):
        one = procrustes_test(A, B, n_permutations=40, random_state=5)
    with parallel.thread_session(2):
        two = procrustes_test(A, B, n_permutations=40, random_state=5)
    np.testing.assert_array_equal(one.null_correlations, two.null_correlations)
    assert len(np.unique(one.null_correlations)) == 40


def test_the_test_is_drawn_with_what_was_found():
    tested = procrustes_test(X, X + 0.1 * Y, n_permutations=49, random_state=0)
    panel = tested.plot()
    assert panel.get_title(loc="left") == "p = 0.02"
    assert panel.lines[0].get_xdata()[0] == tested.correlation
    assert sum(bar.get_height() for bar in panel.patches) == 49
    assert repr(tested) == (
        f"<ProcrustesTest: correlation={tested.correlation:.4f}, p=0.02, 49 permutations up to "
        f"{tested.null_correlations.max():.4f}>"
    )


def test_there_must_be_a_permutation():
    with pytest.raises(ValueError, match=r"^n_permutations must be at least 1, got 0\.$"):
        procrustes_test(X, Y, n_permutations=0)
