"""MDS by majorisation: R's numbers, the plain iteration, decreasing stress, recovery, new rows, and errors."""

import json
import warnings

import numpy as np
import pytest
import sklearn.exceptions
from scipy import sparse
from scipy.spatial.distance import cdist, pdist, squareform
from sklearn.datasets import load_iris
from tests.reference import majorization as plain
from tests.reference.tables import HERE, shared

import tamiz
from tamiz import RankSelector, load, save
from tamiz.criteria import LinearCoefficient
from tamiz.exceptions import ConvergenceWarning, DataError, TamizWarning
from tamiz.reduction import MDS, ClassicalMDS, StochasticMDS
from tamiz.reduction.pairs import CondensedPairs
from tamiz.reduction.smacof import (
    ConjugateGradientSolver,
    EqualRows,
    StressFunction,
    create_transformation,
    make_weight_solver,
)
from tamiz.runtime import parallel, progress

R = json.loads((HERE / "r_smacof.json").read_text())
RULES = {
    "metric": ("metric", "primary"),
    "interval": ("interval", "primary"),
    "primary": ("ordinal", "primary"),
    "secondary": ("ordinal", "secondary"),
}


def scaled(D, k=2, *, weights=None, **given):
    return MDS(k, dissimilarity="precomputed", **given).fit(D, weights=weights)


def problem(seed, n=None, missing=0.2):
    """Dissimilarities with ties, weights, some pairs missing, and a start."""
    rng = np.random.default_rng(seed)
    n = n or int(rng.integers(6, 25))
    delta = rng.integers(1, 9, n * (n - 1) // 2) * 1.0
    weights = rng.uniform(0.2, 3.0, len(delta))
    weights[rng.uniform(size=len(delta)) < missing] = 0.0
    weights[np.flatnonzero(np.triu_indices(n, 1)[0] == 0)] = 1.0  # row 0 keeps all in one piece
    return delta, weights, rng.normal(size=(n, 2))


def pairs_of(delta, weights, dtype=np.float64):
    n = round((1 + np.sqrt(1 + 8 * len(delta))) / 2)
    return CondensedPairs(n, delta, weights.astype(dtype), 1.0, np.dtype(dtype))


def problem_of(pairs, rule):
    return StressFunction(create_transformation(*RULES[rule], pairs), EqualRows(np.arange(pairs.n)))


def up_to_rotation(A, B):
    """The distance of two centred configurations after the best rotation."""
    u, _, vt = np.linalg.svd(B.T @ A)
    return np.abs(B @ (u @ vt) - A).max()


@pytest.mark.parametrize(
    ("name", "kind", "ties"),
    [
        *((f"{table}_{rule}", *RULES[rule]) for table in ("ekm", "kin", "wis") for rule in ("primary", "secondary")),
        *((f"{table}_ratio", *RULES["metric"]) for table in ("ekm", "kin", "wis")),
        ("wis_interval", *RULES["interval"]),
        ("ekm_three", *RULES["primary"]),
    ],
)  # fmt: skip
def test_the_stress_is_that_of_smacof_in_r(name, kind, ties):
    D = squareform(R["data"][name.partition("_")[0]]["pairs"])
    mds = scaled(D, 3 if "three" in name else 2, kind=kind, ties=ties, tol=1e-12, max_iter=5000)
    assert mds.stress_ == pytest.approx(R["cases"][name]["stress"], abs=1e-9)
    assert mds.n_iter_ < R["cases"][name]["n_iter"]


def test_an_interval_map_is_no_worse_than_that_of_smacof_in_r():
    D = squareform(R["data"]["kin"]["pairs"])
    assert scaled(D, kind="interval", tol=1e-12).stress_ <= R["cases"]["kin_interval"]["stress"] + 1e-9


@pytest.mark.parametrize(("how", "rule"), [("weighted", "primary"), ("weighted", "secondary"), ("missing", "primary")])
def test_weights_and_missing_pairs_reach_what_r_reaches(how, rule):
    D = squareform(R["data"]["kin"]["pairs"]).astype(float)
    i = np.arange(1, 16)
    weights = 1.0 + np.outer(i, i) % 3 if how == "weighted" else None
    if how == "missing":
        D[(i[:, None] + i) % 4 == 0] = np.nan
    kind, ties = RULES[rule]
    mds = scaled(D, kind=kind, ties=ties, weights=weights, n_init=10, random_state=0, tol=1e-9)
    assert mds.stress_ < R["cases"][f"kin_{how}_{rule}"]["stress"] + (0.007 if how == "missing" else 1e-9)


def test_eurodist_has_the_stress_that_is_known():
    D = squareform(np.loadtxt(shared("data/eurodist.csv"), delimiter=",", skiprows=1)[:, 1])
    assert scaled(D).stress_ <= 0.0721613
    ordinal = scaled(D, kind="ordinal")
    assert ordinal.stress_ <= 0.0580070
    share = ordinal.stress_per_point_**2 * _squares(ordinal.embedding_)
    expected = np.array(R["cases"]["eurodist_primary"]["stress_per_point"])
    np.testing.assert_allclose(share / share.sum(), expected, atol=2e-5)


def _squares(embedding):
    return squareform(pdist(embedding) ** 2).sum(axis=1)


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("seed", range(4))
def test_a_step_is_that_of_the_plain_iteration(rule, seed):
    delta, weights, X = problem(seed)
    now = problem_of(pairs_of(delta, weights), rule).evaluate(X.T)
    X = now.points.T
    d = plain.distances(X)
    dhat = plain.disparities(delta, d, weights, rule)
    np.testing.assert_allclose(now.guttman_transform.T, plain.guttman_transform(X, dhat, weights), atol=1e-10)
    assert np.sqrt(now.stress) == pytest.approx(plain.kruskal(dhat, d, weights), rel=1e-12)
    assert np.sqrt(now.stress) == pytest.approx(plain.normalized(dhat, d, weights), rel=1e-12)
    # The slope is V (X - G), half the derivative.
    pull = plain.laplacian(plain.of_points(weights, len(X))) @ (X - now.guttman_transform.T)
    np.testing.assert_allclose(now.gradient.T, pull, atol=1e-9)


@pytest.mark.parametrize("rule", RULES)
def test_pairs_that_all_count_once_take_the_same_step(rule):
    delta, weights, X = problem(5, missing=0.0)
    once = np.ones_like(weights)
    short = problem_of(pairs_of(delta, np.empty(0)), rule).evaluate(X.T)
    long = problem_of(pairs_of(delta, once), rule).evaluate(X.T)
    assert short.stress == pytest.approx(long.stress, rel=1e-12)
    np.testing.assert_allclose(short.guttman_transform, long.guttman_transform, atol=1e-12)
    np.testing.assert_allclose(short.gradient, long.gradient, atol=1e-10)


@pytest.mark.parametrize("m", [1, 3, 5])
def test_a_step_in_other_dimensions_is_that_of_the_plain_iteration(m):
    delta, weights, _ = problem(2)
    X = np.random.default_rng(1).normal(size=(round((1 + np.sqrt(1 + 8 * len(delta))) / 2), m))
    now = problem_of(pairs_of(delta, weights), "metric").evaluate(X.T)
    np.testing.assert_allclose(
        now.guttman_transform.T, plain.guttman_transform(now.points.T, delta, weights), atol=1e-10
    )


@pytest.mark.parametrize("shared", [False, True])
def test_conjugate_gradients_divide_as_the_factored_matrix_does(shared, monkeypatch):
    delta, weights, X = problem(3, n=60)
    pairs = pairs_of(delta, weights)
    sums = np.random.default_rng(0).normal(size=(2, 60))
    sums -= sums.mean(axis=1, keepdims=True)
    first = np.arange(60)
    first[40:] = first[:20]
    groups = EqualRows(first if shared else np.arange(60))
    exact = make_weight_solver(pairs, groups)(sums, X.T)
    monkeypatch.setattr("tamiz.reduction.smacof._CG_TOLERANCE", 1e-12)
    start = groups.means(X.T - X.T.mean(axis=1, keepdims=True))
    np.testing.assert_allclose(ConjugateGradientSolver(pairs, groups)(sums, start), exact, atol=1e-10)


@pytest.mark.parametrize("rule", RULES)
def test_the_stress_never_rises_and_is_the_one_that_is_reported(rule):
    kind, ties = RULES[rule]
    for seed in range(50):
        delta, weights, start = problem(seed)
        n = len(start)
        D, W = plain.of_points(delta, n), plain.of_points(weights, n)
        D[(W == 0) & ~np.eye(n, dtype=bool)] = np.nan
        with warnings.catch_warnings(action="ignore", category=TamizWarning):
            mds = scaled(D, kind=kind, ties=ties, init=start, weights=W, max_iter=60)
        assert (np.diff(mds.stress_history_) < 0).all()
        d, dhat = plain.distances(mds.embedding_), np.nan_to_num(mds.disparities_)
        expected = plain.disparities(delta, d, weights, rule)
        np.testing.assert_allclose(dhat, expected, atol=1e-9)
        assert mds.stress_ == pytest.approx(plain.kruskal(expected, d, weights), abs=1e-12)
        assert mds.stress_ <= plain.smacof(delta, start, rule, weights, n_steps=3).stress[-1] + 1e-12


def test_the_disparities_of_a_metric_map_are_the_dissimilarities():
    X = load_iris().data[::5]
    mds = MDS().fit(X)
    np.testing.assert_allclose(mds.disparities_, pdist(X), rtol=1e-15)
    per_point = ((squareform(mds.disparities_) - cdist(mds.embedding_, mds.embedding_)) ** 2).sum(axis=1)
    distinct = np.sqrt(per_point / _squares(mds.embedding_))
    np.testing.assert_allclose(mds.stress_per_point_, distinct, rtol=1e-9)


def test_the_pairs_of_a_shepard_diagram_are_those_of_the_rows():
    X = load_iris().data[::5]
    mds = MDS(kind="ordinal").fit(X)
    found = mds.shepard()
    np.testing.assert_allclose(found.dissimilarities, pdist(X), rtol=1e-12)
    np.testing.assert_allclose(found.distances, pdist(mds.embedding_), rtol=1e-12)
    np.testing.assert_array_equal(found.disparities, mds.disparities_)
    some = mds.shepard(10, random_state=1)
    assert len(some.distances) == 45
    np.testing.assert_array_equal(np.isin(some.disparities, mds.disparities_), True)


@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("m", [2, 3])
def test_a_known_configuration_is_recovered(missing, m):
    rng = np.random.default_rng(4)
    X = rng.normal(size=(80, m))
    D = cdist(X, X)
    gone = np.triu(rng.uniform(size=D.shape) < missing, 1)
    D[gone | gone.T] = np.nan
    mds = scaled(D, m)
    assert mds.stress_ < 1e-7
    assert up_to_rotation(X - X.mean(axis=0), mds.embedding_) < 1e-6


def test_a_missing_pair_is_a_pair_of_weight_zero():
    delta, _, start = problem(1, n=12)
    D = plain.of_points(delta, 12)
    gaps, weights = D.copy(), np.ones_like(D)
    for i, j in ((0, 3), (2, 7), (4, 5)):
        gaps[i, j] = gaps[j, i] = np.nan
        weights[i, j] = weights[j, i] = 0.0
    expected = scaled(D, init=start, weights=weights).embedding_
    np.testing.assert_allclose(scaled(gaps, init=start).embedding_, expected, atol=1e-10)


def test_of_a_pair_that_is_there_once_the_one_number_is_taken():
    D = cdist(load_iris().data[::10], load_iris().data[::10])
    half = D.copy()
    half[3, 5] = np.nan
    np.testing.assert_array_equal(scaled(half).embedding_, scaled(D).embedding_)


def test_weights_that_are_all_equal_weigh_nothing():
    D = cdist(load_iris().data[::10], load_iris().data[::10])
    np.testing.assert_array_equal(scaled(D, weights=np.full_like(D, 7.0)).embedding_, scaled(D).embedding_)


def test_zero_means_zero():
    D = np.array([[0, 0, 3, 4.0], [0, 0, 3, 4], [3, 3, 0, 5], [4, 4, 5, 0]])
    mds = scaled(D)
    np.testing.assert_array_equal(mds.embedding_[0], mds.embedding_[1])
    assert mds.stress_ == pytest.approx(0.0, abs=1e-9)


@pytest.mark.parametrize("kind", ["metric", "interval", "ordinal"])
def test_the_unit_of_the_distances_is_that_of_the_map(kind):
    D = cdist(load_iris().data[::6], load_iris().data[::6])
    mds = scaled(D, kind=kind)
    for unit in (2.0**400, 2.0**-400):
        other = scaled(D * unit, kind=kind)
        np.testing.assert_array_equal(other.embedding_, mds.embedding_ * unit)
        assert other.stress_ == mds.stress_


@pytest.mark.parametrize("kind", ["metric", "ordinal"])
def test_many_pairs_are_stored_as_float32_at_nearly_the_same_stress(kind, monkeypatch):
    X = np.random.default_rng(2).normal(size=(600, 5))
    short = MDS(kind=kind, tol=1e-8).fit(X)
    monkeypatch.setattr("tamiz.reduction.pairs.MAX_FLOAT64_ROWS", 1000)
    assert short.stress_ == pytest.approx(MDS(kind=kind, tol=1e-8).fit(X).stress_, rel=1e-4)


@pytest.mark.parametrize("kind", ["metric", "interval", "ordinal"])
def test_threads_change_no_bit(kind, monkeypatch):
    for name in ("pairs._PAIRS_PER_TASK", "pairs._ENTRIES_PER_TASK"):
        monkeypatch.setattr(f"tamiz.reduction.{name}", 2**12)
    X = np.random.default_rng(3).normal(size=(300, 4)).round(1)
    maps = []
    for n_jobs in (1, 2):
        with parallel.thread_session(n_jobs), warnings.catch_warnings(action="ignore", category=TamizWarning):
            maps.append(MDS(kind=kind, max_iter=5).fit(X))
    np.testing.assert_array_equal(maps[0].embedding_, maps[1].embedding_)
    np.testing.assert_array_equal(maps[0].stress_per_point_, maps[1].stress_per_point_)


def test_the_best_of_several_starts_is_kept():
    D = squareform(R["data"]["kin"]["pairs"])
    given = {"kind": "ordinal", "ties": "secondary"}
    one, many = scaled(D, **given), scaled(D, n_init=20, random_state=0, **given)
    assert many.stress_ < one.stress_ - 0.001
    np.testing.assert_array_equal(many.embedding_, scaled(D, n_init=20, random_state=0, **given).embedding_)
    assert scaled(D, init="random", random_state=3).stress_ != one.stress_


def test_a_start_that_is_given_keeps_its_orientation():
    X = np.random.default_rng(6).normal(size=(30, 2))
    mds = MDS(init=X).fit(X)
    np.testing.assert_allclose(mds.embedding_, X - X.mean(axis=0), atol=1e-9)


def test_a_flat_start_is_left_for_all_dimensions():
    # All but two rows are at 1 from each other: classical scaling has one coordinate and little beside it.
    D = cdist(*[np.arange(6.0)[:, None]] * 2)
    D[0, 5] = D[5, 0] = 3.0
    assert scaled(D).stress_ < scaled(D, 1).stress_


@pytest.mark.parametrize("dissimilarity", ["euclidean", "seuclidean", "cityblock", "cosine"])
def test_rows_are_scaled_by_their_distances(dissimilarity):
    X = load_iris().data[::4]
    distances = {
        "euclidean": lambda: pdist(X),
        "seuclidean": lambda: pdist((X - X.mean(axis=0)) / X.std(axis=0, ddof=1)),
        "cityblock": lambda: pdist(X, "cityblock"),
        "cosine": lambda: pdist(X, "cosine"),
    }[dissimilarity]()
    rows = MDS(dissimilarity=dissimilarity).fit(X)
    np.testing.assert_allclose(rows.disparities_, distances, rtol=1e-9, atol=1e-14)
    assert rows.stress_ == pytest.approx(scaled(squareform(distances)).stress_, rel=1e-3)


def test_mixed_columns_with_missing_values_are_scaled_by_gowers_distance():
    import pandas as pd

    rng = np.random.default_rng(8)
    table = pd.DataFrame({"size": rng.normal(size=40), "colour": rng.choice(["red", "blue"], 40)})
    table.loc[::7, "size"] = np.nan
    with warnings.catch_warnings(action="ignore", category=TamizWarning):
        mds = MDS(kind="ordinal", dissimilarity="gower").fit(table)
        np.testing.assert_array_equal(mds.transform(table), mds.embedding_)


def test_similarities_are_turned_into_distances():
    X = load_iris().data[::6]
    rows, similar = MDS().fit(X), MDS(dissimilarity="similarity").fit(X @ X.T)
    assert similar.stress_ == pytest.approx(rows.stress_, rel=1e-6)
    np.testing.assert_array_equal(similar.transform(X[:4] @ X.T), similar.embedding_[:4])
    with pytest.raises(DataError, match=r"^Row 1 is equal to no row of the fit, and its distances are undefined"):
        similar.transform(np.stack([X[0] @ X.T, 1.1 * X[0] @ X.T]))


@pytest.mark.parametrize("kind", ["metric", "interval", "ordinal"])
def test_rows_are_placed_one_by_one_and_rows_of_fit_where_they_are(kind):
    X = load_iris().data
    mds = MDS(kind=kind).fit(X[::2])
    np.testing.assert_array_equal(mds.transform(X[::2]), mds.embedding_)
    together = mds.transform(X[1::2])
    for row in (0, 7, 40):
        np.testing.assert_array_equal(mds.transform(X[1::2][[row]])[0], together[row])
    placed = mds.map_rows(X[1::2])
    np.testing.assert_array_equal(placed.embedding, together)
    # Rows of the same flowers are placed about as well as those of fit.
    assert np.median(placed.stress) < 1.3 * np.median(mds.stress_per_point_)
    assert 0.3 < np.median(placed.reliability) < 0.7


def test_a_row_unlike_the_training_rows_has_a_low_reliability():
    rng = np.random.default_rng(9)
    plane = np.column_stack([rng.normal(size=(100, 2)), 0.01 * rng.normal(size=(100, 2))])
    mds = MDS().fit(plane)
    placed = mds.map_rows(np.array([[0.1, 0.2, 0.0, 0.0], [0.1, 0.2, 5.0, 5.0]]))
    assert placed.reliability[0] > 0.05
    assert placed.reliability[1] == 0.0


def test_new_rows_are_placed_by_distances_some_of_them_missing():
    X = np.random.default_rng(10).normal(size=(60, 2))
    D = cdist(X, X)
    gaps = D.copy()
    gaps[2, 9] = gaps[9, 2] = np.nan
    mds = scaled(gaps[:50, :50])
    new = D[50:, :50].copy()
    new[0, ::3] = np.nan
    places = mds.transform(new)
    np.testing.assert_allclose(cdist(places, mds.embedding_), D[50:, :50], atol=1e-6)
    np.testing.assert_allclose(scaled(D[:50, :50]).map_rows(new).stress, 0.0, atol=1e-6)
    new[7] = np.nan
    with pytest.raises(
        DataError,
        match=r"^Row 7 has no distance to any row of the fit, so that its position is undefined\. Add one, or remove",
    ):
        mds.transform(new)
    np.testing.assert_array_equal(mds.transform(gaps[:50, :50]), mds.embedding_)


@pytest.mark.parametrize("kind", ["metric", "interval", "ordinal"])
@pytest.mark.parametrize("start", ["classical", "random"])
def test_equal_rows_share_coordinates_in_every_iteration(kind, start):
    X = np.random.default_rng(11).normal(size=(30, 4))
    X[20:] = X[:10]
    D, weights = cdist(X, X) ** 2, squareform(10 ** np.random.default_rng(0).uniform(-2, 2, 435))
    for given in (None, weights):
        mds = scaled(D, weights=given, kind=kind, init=start, random_state=0, max_iter=3000)
        np.testing.assert_array_equal(mds.embedding_[20:], mds.embedding_[:10])
        np.testing.assert_array_equal(mds.transform(D), mds.embedding_)
        assert mds.stress_ == pytest.approx(mds.stress_history_[-1], rel=1e-9)
        assert mds.converged_


def test_a_start_that_puts_equal_rows_and_so_all_points_together_is_refused():
    X = [[0.0], [0.0], [1.0], [3.0]]
    with pytest.raises(DataError, match=r"^All points of init coincide"):
        MDS(1, init=[[0.0], [5.0], [0.0], [0.0]]).fit(X)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["interval", "ordinal"])
@pytest.mark.parametrize("n", [60, 530])
def test_a_common_factor_of_all_dissimilarities_changes_nothing(kind, n):
    X = np.random.default_rng(12).normal(size=(n, 3))
    D, off = cdist(X, X), 1.0 - np.eye(n)
    plain_map = scaled(D, kind=kind, init=X[:, :2])
    # Relative differences below 7.5e-9 are ties of an order.
    for added in (1e4, 1e8) if kind == "interval" else (1e2, 1e4):
        assert scaled(D + added * off, kind=kind, init=X[:, :2]).stress_ == pytest.approx(plain_map.stress_, rel=2e-3)
    if kind == "ordinal":
        like_p_values = 10.0 ** (-300 * (1 - D / D.max()))
        np.fill_diagonal(like_p_values, 0.0)
        # Two searches of one order end where their last steps gain less than tol, by way of other roundings.
        assert scaled(like_p_values, kind=kind, init=X[:, :2]).stress_ == pytest.approx(plain_map.stress_, rel=5e-5)


def test_more_dimensions_than_the_rows_have_stay_empty():
    mds = MDS(5).fit(load_iris().data)
    assert mds.stress_ < 1e-6
    assert mds.n_iter_ < 10


@pytest.mark.parametrize("kind", ["metric", "interval", "ordinal"])
def test_a_stored_map_places_rows_as_before(kind, tmp_path):
    X = load_iris().data
    mds = MDS(kind=kind).fit(X[::3])
    save(mds, tmp_path / "map.tamiz")
    again = load(tmp_path / "map.tamiz")
    np.testing.assert_array_equal(again.transform(X), mds.transform(X))
    np.testing.assert_array_equal(again.disparities_, mds.disparities_)


def test_a_search_that_is_cut_off_is_reported():
    with pytest.warns(TamizWarning, match=r"MDS: not converged after 2 iterations; the last one lowered .*\. Raise"):
        mds = MDS(max_iter=2, init="random", random_state=0).fit(load_iris().data)
    assert not mds.converged_


def test_a_degenerate_ordinal_map_is_reported():
    # Two clusters, every distance between them above every one within: two places keep that order.
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(size=(10, 3)), 100 + rng.normal(size=(10, 3))])
    with pytest.warns(TamizWarning, match="MDS: the ordinal map is degenerate: its 20 points coincide with 2 places"):
        scaled(cdist(X, X), kind="ordinal", max_iter=5000, tol=1e-15)


def test_an_interrupted_fit_keeps_its_map():
    X = np.random.default_rng(12).normal(size=(200, 5))

    def interrupt(label, done, total):
        if label == "SMACOF" and done == 4:
            raise KeyboardInterrupt

    mds = MDS(init="random", random_state=0)
    with pytest.raises(KeyboardInterrupt), progress.use_listener(interrupt):
        mds.fit(X)
    assert mds.n_iter_ == 4
    assert not mds.converged_
    assert mds.stress_ == pytest.approx(mds.stress_history_[-1], rel=1e-9)


def refused(sentence, X, error=DataError, weights=None, **given):
    with pytest.raises(error) as raised:
        MDS(**{"dissimilarity": "precomputed", **given}).fit(X, weights=weights)
    assert str(raised.value) == sentence


def test_input_without_a_map_is_an_error_of_one_sentence():
    X = load_iris().data[::15]
    D = cdist(X, X)
    n = len(D)
    refused(
        "All dissimilarities are 0, so that all rows coincide. Check the input.",
        np.zeros((4, 4)),
    )
    equal = 3.0 * (1 - np.eye(4))
    for kind in ("interval", "ordinal"):
        sentence = f"All dissimilarities are equal, 3, so that kind='{kind}' is undefined. Use kind='metric' or other "
        refused(sentence + "dissimilarities.", equal, kind=kind)
    with pytest.warns(
        TamizWarning, match="MDS: All dissimilarities are equal, 3, so that the positions on the map have no meaning"
    ):
        scaled(equal)
    gone = D.copy()
    gone[4] = gone[:, 4] = np.nan
    alone = "Row 4 has no dissimilarity with a weight above 0, so that its position is undefined. Remove it or add a dissimilarity."
    refused(alone, gone)
    refused(alone, gone, weights=np.ones_like(D))
    weights = np.ones_like(D)
    weights[6] = weights[:, 6] = 0.0
    sentence = (
        "Row 6 has weight 0 with every other row, so that its position is undefined. Remove it or add a dissimilarity."
    )
    refused(sentence, D, weights=weights)
    apart = D.copy()
    apart[:3, 3:] = apart[3:, :3] = np.nan
    refused(
        "The known pairs form 2 components of 7 and 3 rows without a pair between them, so that the position of rows 0, 1, 2 "
        "relative to the others is undefined. Add a dissimilarity between them, or fit each component separately.",
        apart,
    )
    refused("n_components must be below the number of rows = 10, got 10.", D, ValueError, n_components=10)
    two = "kind='ordinal' needs several dissimilarities, and two rows have only one. Pass more rows."
    refused(two, D[:2, :2], kind="ordinal", n_components=1)
    expected = "weights must be an array of 10 x 10 numbers, one for every pair of rows, got "
    refused(f"{expected}4 x 4.", D, weights=np.ones((4, 4)))
    pairs = f"{expected}1 dimensions. scipy.spatial.distance.squareform converts condensed pairs."
    refused(pairs, D, weights=np.ones(45))
    sentence = f"{expected}a sparse matrix. Pass weights.toarray(); missing entries get weight 0."
    refused(sentence, D, TypeError, weights=sparse.eye_array(10))
    bad = np.ones_like(D)
    bad[2, 5] = -1.0
    refused("The weight of rows 2 and 5 is -1; a weight must be at least 0.", D, weights=bad)
    bad[2, 5] = 2.0
    differs = "The weight of rows 2 and 5 is 2, and differs in the other order. Pass (W + W.T) / 2."
    refused(differs, D, weights=bad)
    bad[2, 5] = bad[5, 2] = 1e-13
    small = "The weight of rows 2 and 5 is 1e-13 beside the largest, 1; a weight must be 0 or at least 1e-12 of that."
    refused(small, D, weights=bad)
    bad[2, 5] = bad[5, 2] = np.nan
    refused("The weight of rows 2 and 5 is nan; a weight must be a number up to 1e+150.", D, weights=bad)
    refused(
        "init must be 'classical', 'random' or an array of 10 rows and 2 columns, got the shape (3, 2).",
        D,
        init=X[:3, :2],
    )
    refused(
        "All points of init coincide, and the optimisation cannot separate them. Use distinct points.",
        D,
        init=np.ones((n, 2)),
    )
    text = "init must be 'classical', 'random' or an array of 10 rows and 2 columns, got <U1 instead of numbers."
    refused(text, D, TypeError, init=[["a", "b"]] * n)
    missing = np.ones((n, 2))
    missing[3, 1] = np.inf
    refused("init contains a NaN or an infinite value in row 3.", D, init=missing)
    sentence = "kind must be one of 'metric', 'interval', 'ordinal', got 'euclid'."
    refused(sentence, D, ValueError, kind="euclid")


def test_the_classical_start_is_the_map_of_classical_scaling():
    D = cdist(load_iris().data[::6], load_iris().data[::6])
    with warnings.catch_warnings(action="ignore", category=TamizWarning):
        classical = ClassicalMDS(dissimilarity="precomputed").fit(D).embedding_
        assert MDS(dissimilarity="precomputed", max_iter=1).fit(D).stress_history_[0] == pytest.approx(
            plain.kruskal(plain.of_pairs(D), plain.distances(classical), 1.0), rel=1e-9
        )


def test_too_many_pairs_are_refused_before_any_work(monkeypatch):
    monkeypatch.setattr("tamiz.runtime.validation.free_memory", lambda: 1e6)
    sentence = r"The scaling of 499,500 pairs of 1,000 rows needs 3\.5 MB of memory and 1 MB are free\. Fit on a sample of rows"
    with pytest.raises(MemoryError, match=sentence):
        MDS().fit(np.random.default_rng(0).normal(size=(1000, 3)))


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("decimals", [0, 2, 12])
def test_rounding_that_makes_given_distances_asymmetric_does_not_move_the_map(rule, decimals):
    kind, ties = RULES[rule]
    rng = np.random.default_rng(decimals)
    X = rng.integers(0, 5, (30, 3)) + 0.1
    D = cdist(X, X, "cityblock" if decimals < 12 else "euclidean").round(decimals)
    noise = rng.normal(size=D.shape) * 1e-12
    noisy = np.maximum(D + np.where(D > 0, noise - noise.T, 0), 0)
    assert (noisy != noisy.T).any()
    model = MDS(dissimilarity="precomputed", kind=kind, ties=ties, max_iter=300, random_state=0)
    with warnings.catch_warnings(action="ignore", category=TamizWarning):
        expected, found = model.fit(D).embedding_, model.fit(noisy).embedding_
    np.testing.assert_allclose(found, expected, atol=1e-6)


@pytest.mark.parametrize(
    "model",
    [MDS(max_iter=2), StochasticMDS(n_rounds=2, tol=1e-9), RankSelector(LinearCoefficient(max_iter=1))],
    ids=lambda model: type(model).__name__,
)
def test_a_search_that_did_not_converge_is_warned_of_in_scikit_learns_category_too(model):
    X = np.random.default_rng(0).normal(size=(60, 5))
    y = np.arange(60) % 2
    for category in (sklearn.exceptions.ConvergenceWarning, ConvergenceWarning, TamizWarning):
        with pytest.warns(category, match=r"not converged|did not converge"):
            model.fit(X, y)
    # As filters of scikit-learn are written.
    with warnings.catch_warnings(action="ignore", category=sklearn.exceptions.ConvergenceWarning):
        model.fit(X, y)


def test_the_category_is_the_same_each_time_and_no_other_name_is_found():
    assert tamiz.exceptions.ConvergenceWarning is ConvergenceWarning
    with pytest.raises(AttributeError, match=r"module 'tamiz\.exceptions' has no attribute 'Convergence'"):
        tamiz.exceptions.Convergence  # noqa: B018 - the access is the test
