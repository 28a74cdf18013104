"""Mutual information by nearest neighbours: the plain reference, scikit-learn's values, closed forms, ties and limits."""

from itertools import permutations

import numpy as np
import pandas as pd
import pytest
from scipy.special import digamma
from sklearn.feature_selection import mutual_info_classif, mutual_info_regression
from tests.reference import mutual_information as plain

from tamiz import RankSelector, open_table
from tamiz.criteria import InformationGain, MutualInformation, conditional_mutual_information, mutual_information
from tamiz.criteria.neighbor_information import Variable, digamma_table, neighbor_information
from tamiz.exceptions import DataError, TamizWarning
from tamiz.kernels import mutual_information as kernels
from tamiz.runtime import parallel
from tamiz.table.views import select_rows

quiet = pytest.mark.filterwarnings("ignore::tamiz.exceptions.TamizWarning")
BITS = np.log(2)


def limited(nats, *labels):
    return min([max(nats, 0.0), *(plain.entropy(part) for part in labels)]) / BITS


def scaled(column):
    return column / column.std() if column.dtype.kind == "f" else column


def make_columns(seed, n=60):
    """Numbers without ties, decimal fractions, a mixture of zeros and numbers, and categories."""
    rng = np.random.default_rng(seed)
    base = rng.normal(size=n)
    return {
        "number": base + rng.normal(size=n),
        "rounded": (base + rng.normal(size=n)).round(1),
        "coarse": (base + rng.normal(size=n)).round(0) * 0.3,
        "mixture": np.where(rng.random(n) < 0.4, 0.0, base),
        "lattice": rng.permutation(n) * 0.1,
        "category": np.array([*"abc"])[rng.integers(0, 3, n)],
        "class": np.array([*"uvw"])[np.clip(np.round(base + 1), 0, 2).astype(int)],
    }


NAMES = list(make_columns(0))


@pytest.mark.parametrize("k", [1, 3, 7])
@pytest.mark.parametrize("second", NAMES)
@pytest.mark.parametrize("first", NAMES)
def test_pairs_have_the_plain_estimate(first, second, k):
    for seed in range(2):
        columns = make_columns(seed)
        x, y = columns[first], columns[second]
        expected = limited(
            plain.information([scaled(x)], [scaled(y)], k=k), *(c for c in (x, y) if c.dtype.kind != "f")
        )
        assert mutual_information(x, y, n_neighbors=k) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("names", [
    (["number"], ["rounded"], ["mixture"]), (["rounded"], ["class"], ["number"]), (["class"], ["category"], ["coarse"]),
    (["class"], ["coarse"], ["category"]), (["number", "class"], ["rounded", "coarse"], ["lattice"]),
    (["class"], ["category"], ["class"]), (["coarse"], ["rounded"], ["category", "mixture"]),
])  # fmt: skip
@quiet
def test_joint_and_conditional_information_is_the_plain_estimate(names):
    for seed in range(3):
        columns = make_columns(seed)
        x, y, z = ([columns[name] for name in part] for part in names)
        limits = [list(zip(*v, strict=True)) for v in (x, y) if all(c.dtype.kind != "f" for c in v)]
        frames = [pd.DataFrame(dict(enumerate(v))) for v in (x, y, z)]
        x, y, z = ([scaled(c) for c in v] for v in (x, y, z))
        expected = limited(plain.information(x, y, z), *limits)
        assert conditional_mutual_information(*frames) == pytest.approx(expected, abs=1e-12)
        expected = limited(plain.information([*x, *z], y), *limits[1:] if len(limits) > 1 else [])
        found = mutual_information(pd.concat([frames[0], frames[2]], axis=1, ignore_index=True), frames[1])
        if len(limits) == 0:
            assert found == pytest.approx(expected, abs=1e-12)


def test_expected_digamma_is_the_mean_over_all_orders():
    psi = digamma_table(40)
    for n_own, n_ties, n_others, n_nearer in [(1, 1, 0, 2), (1, 1, 3, 0), (2, 3, 2, 5), (0, 2, 3, 1), (3, 3, 3, 4)]:
        for rank in range(1, n_ties + 1):
            # Points of the shell: both, only of all coordinates, only of the subspace.
            points = ["own"] * n_own + ["joint"] * (n_ties - n_own) + ["other"] * n_others
            values = []
            for order in permutations(points):
                at = [i for i, kind in enumerate(order) if kind != "other"][rank - 1]
                values.append(digamma(n_nearer + 1 + sum(kind != "joint" for kind in order[:at])))
            found = kernels.expected_digamma(n_nearer, n_ties, n_own, n_others, rank, psi)
            assert found == pytest.approx(np.mean(values), rel=1e-13)


def test_expected_digamma_of_large_shells_neither_overflows_nor_vanishes():
    psi = digamma_table(300_000)
    # One point of 200,000 in the shell is anywhere: the mean of psi is psi(n + 1) - 1.
    found = kernels.expected_digamma(0, 1, 1, 199_999, 1, psi)
    assert found == pytest.approx(digamma(200_001) - 1, rel=1e-12)
    for n_ties, n_others, rank in [(500, 200_000, 500), (400, 200_000, 200), (100_000, 100_000, 150)]:
        found = kernels.expected_digamma(0, n_ties, n_ties, n_others, rank, psi)
        exact = digamma(rank) + digamma(n_ties + n_others + 1) - digamma(n_ties + 1)
        assert found == pytest.approx(exact, rel=1e-11)


@pytest.mark.parametrize("k", [1, 3, 10])
def test_scores_of_columns_without_ties_are_those_of_scikit_learn(k):
    rng = np.random.default_rng(k)
    y = rng.integers(0, 4, 600)
    X = (
        rng.normal(size=(600, 6)) * [1, 1e-3, 1e3, 5, 1, 2]
        + y[:, None] * [0, 1e-3, 500, 1, 4, 0.5]
        + [0, 0, 0, 40, 0, 0]
    )
    found = RankSelector(MutualInformation(n_neighbors=k)).fit(X, y).scores_
    np.testing.assert_allclose(found, mutual_info_classif(X, y, n_neighbors=k, random_state=0) / BITS, atol=1e-6)
    target = X[:, 3] + X[:, 4] + rng.normal(size=600)
    found = RankSelector(MutualInformation(n_neighbors=k)).fit(X, target).scores_
    np.testing.assert_allclose(
        found, mutual_info_regression(X, target, n_neighbors=k, random_state=0) / BITS, atol=1e-6
    )
    labels = np.array([*"abcd"])[y]
    found = (
        RankSelector(MutualInformation(n_neighbors=k)).fit(pd.DataFrame({"y": labels, "x": X[:, 0]}), target).scores_
    )
    theirs = mutual_info_regression(y[:, None], target, discrete_features=True, n_neighbors=k, random_state=0)
    assert found[0] == pytest.approx(theirs[0] / BITS, abs=1e-6)


def test_the_scores_of_single_columns_are_those_of_the_function():
    columns = make_columns(3)
    frame = pd.DataFrame(columns).drop(columns="class")
    for target in (columns["class"], columns["number"], columns["coarse"]):
        scores = RankSelector(MutualInformation()).fit(frame, target).scores_
        np.testing.assert_allclose(scores, [mutual_information(frame[name], target) for name in frame], rtol=1e-12)


@pytest.mark.parametrize("r", [0.0, 0.6, 0.95])
@pytest.mark.parametrize("decimals", [None, 2, 1])
def test_a_bivariate_gaussian_has_its_information_also_when_rounded(r, decimals):
    rng = np.random.default_rng(5)
    x = rng.normal(size=4000)
    y = r * x + np.sqrt(1 - r**2) * rng.normal(size=4000)
    if decimals is not None:
        x, y = x.round(decimals), y.round(decimals)
    assert mutual_information(x, y) == pytest.approx(-np.log2(1 - r**2) / 2, abs=0.06)


def test_independent_columns_with_ties_have_almost_no_information():
    rng = np.random.default_rng(6)
    y = rng.integers(0, 3, 900)
    for decimals in (2, 1, 0):
        x = rng.normal(size=900).round(decimals)
        assert mutual_information(x, y) < 0.05
        assert mutual_information(x, rng.normal(size=900).round(1)) < 0.05


def test_the_mixtures_of_gao_have_their_information():
    rng = np.random.default_rng(7)
    n, m = 5000, 5
    # A level from 0 to m - 1 and a number uniform from it to 2 above it; log m - (m - 1) log(2) / m.
    x = rng.integers(0, m, n).astype(float) * 0.5
    y = 2 * x + 2 * rng.random(n)
    assert mutual_information(x, y) == pytest.approx((np.log(m) - (m - 1) * np.log(2) / m) / BITS, abs=0.05)
    # Zero with probability 0.15, otherwise a Poisson number of an exponential rate, as in section 5 of the paper.
    rate = rng.exponential(size=n)
    y = np.where(rng.random(n) < 0.15, 0, rng.poisson(rate)) * 0.5
    euler, series = 0.5772156649, sum(np.log(k) * 2.0**-k for k in range(1, 60))
    assert mutual_information(rate, y) == pytest.approx(0.85 * (2 * np.log(2) - euler - series) / BITS, abs=0.06)


def test_conditional_information_of_gaussians():
    rng = np.random.default_rng(8)
    z = rng.normal(size=4000)
    x, y = z + rng.normal(size=4000), z + rng.normal(size=4000)
    assert mutual_information(x, y) == pytest.approx(-np.log2(1 - 0.25) / 2, abs=0.05)
    assert conditional_mutual_information(x, y, z) < 0.05
    # Given their sum, independent columns are dependent; the partial correlation is -1/2.
    total = x + y + np.sqrt(2) * rng.normal(size=4000)
    a, b = rng.normal(size=(2, 4000))
    total = a + b + rng.normal(size=4000)
    assert conditional_mutual_information(a, b, total) == pytest.approx(-np.log2(1 - 0.25) / 2, abs=0.05)


def test_categories_have_the_information_gain():
    columns = make_columns(4)
    frame = pd.DataFrame({"a": columns["category"], "b": columns["class"]})
    ours, gains = (
        RankSelector(relevance).fit(frame, columns["class"]).scores_
        for relevance in (MutualInformation(), InformationGain())
    )
    np.testing.assert_allclose(ours, gains, rtol=1e-12, atol=1e-15)
    assert mutual_information(columns["class"], columns["class"]) == pytest.approx(
        plain.entropy(columns["class"]) / BITS
    )


@quiet
def test_information_is_symmetric_and_does_not_depend_on_the_unit():
    columns = make_columns(5)
    for name in NAMES[:5]:
        x, y = columns[name], columns["number"]
        value = mutual_information(x, y)
        assert mutual_information(y, x) == pytest.approx(value, rel=1e-12)
        for factor in (1e-290, 1e-6, 7.0, 1e9):
            assert mutual_information(x * factor, y) == pytest.approx(value, rel=1e-9)
            assert mutual_information(x * factor, columns["class"]) == pytest.approx(
                mutual_information(x, columns["class"]), rel=1e-9
            )
        assert mutual_information(x + 1000, y) == pytest.approx(value, rel=1e-9)


def test_decimal_ties_are_ties_whatever_their_rounding():
    rng = np.random.default_rng(9)
    whole = rng.integers(0, 40, 300) * 1.0
    whole[0] = 0.5
    y = np.array([*"ab"])[(whole + rng.normal(size=300) * 10 > 20).astype(int)]
    assert mutual_information(whole * 0.1, y) == pytest.approx(mutual_information(whole, y), rel=1e-12)
    assert mutual_information(whole * 0.1, whole * 0.7) == pytest.approx(mutual_information(whole, whole), rel=1e-12)


def test_missing_values_are_left_out_or_a_category():
    rng = np.random.default_rng(10)
    n = 300
    y = np.array([*"ab"])[rng.integers(0, 2, n)]
    x = rng.normal(size=n) + (y == "a")
    missing = rng.random(n) < np.where(y == "a", 0.5, 0.1)
    frame = pd.DataFrame({"x": np.where(missing, np.nan, x), "c": np.where(missing, None, np.where(x > 0, "p", "q"))})
    share = 1 - missing.mean()
    inner = [mutual_information(x[~missing], y[~missing]), mutual_information((x > 0)[~missing], y[~missing])]
    left_out = RankSelector(MutualInformation()).fit(frame, y).scores_
    np.testing.assert_allclose(left_out, share * np.array(inner), rtol=1e-12)
    category = RankSelector(MutualInformation(missing="category")).fit(frame, y).scores_
    np.testing.assert_allclose(category, left_out + mutual_information(missing, y), rtol=1e-12)
    assert mutual_information(frame["x"], y) == pytest.approx(inner[0], rel=1e-12)
    assert category[1] == pytest.approx(mutual_information(frame["c"].fillna("none"), y), rel=1e-12)


def test_constant_columns_score_0():
    rng = np.random.default_rng(11)
    frame = pd.DataFrame({"number": 4.2, "level": "same", "nearly": np.r_[np.full(29, 4.2), np.nan]}, index=range(30))
    for target in (np.arange(30) % 2, rng.normal(size=30)):
        for missing in ("distribute", "category"):
            scores = RankSelector(MutualInformation(missing=missing)).fit(frame, target).scores_
            assert scores[:2].tolist() == [0, 0]
            assert missing == "category" or scores[2] == 0


def test_the_number_of_threads_and_of_columns_read_at_once_changes_no_bit(monkeypatch):
    rng = np.random.default_rng(12)
    X = rng.normal(size=(3000, 12)).round(2)
    y = X[:, 0] + rng.normal(size=3000)
    scores = []
    for n_jobs, block in ((1, 2**23), (2, 2**23), (2, 1)):
        monkeypatch.setattr("tamiz.criteria.neighbor_information._BLOCK_VALUES", block)
        with parallel.thread_session(n_jobs):
            targets = (y, (y > 0).astype(int))
            scores += [RankSelector(MutualInformation()).fit(X, target).scores_.tobytes() for target in targets]
    assert scores[:2] == scores[2:4] == scores[4:]


def test_small_classes_use_fewer_neighbours_with_a_warning():
    rng = np.random.default_rng(13)
    y = np.array(["a"] * 30 + ["b"] * 30 + ["c"] * 3 + ["d"])
    X = rng.normal(size=(64, 2)) + (y == "b")[:, None]
    with pytest.warns(TamizWarning, match=r"in columns x0, x1, classes of the target with at most n_neighbors=3 rows"):
        found = RankSelector(MutualInformation()).fit(X, y).scores_
    theirs = mutual_info_classif(X, y, random_state=0) / BITS
    np.testing.assert_allclose(found, theirs, atol=1e-6)
    with pytest.warns(TamizWarning, match="in column x, levels of the column with at most n_neighbors=3"):
        RankSelector(MutualInformation()).fit(pd.DataFrame({"x": y}), X[:, 0])
    with pytest.warns(TamizWarning, match="mutual_information: categories or combinations"):
        mutual_information(X[:, 0], y)


def test_tables_of_numbers_with_fewer_rows_than_neighbours_are_warned_of():
    X = np.random.default_rng(17).normal(size=(3, 2))
    with pytest.warns(TamizWarning, match="MutualInformation: column x0 with at most n_neighbors=3 values: each row"):
        RankSelector(MutualInformation()).fit(X[:, :1], X[:, 1])
    with pytest.warns(TamizWarning, match="mutual_information: with n_neighbors=3 each of the 3 rows has all others"):
        mutual_information(*X.T)


def test_an_estimate_above_the_entropy_is_limited_to_it_with_a_warning():
    y = np.repeat([*"abcdefgh"], 4)
    X = np.repeat(np.arange(8.0), 4)[:, None] * 100 + np.random.default_rng(14).random((32, 1))
    with pytest.warns(TamizWarning, match="the estimates of column x0 exceed the entropy"):
        assert RankSelector(MutualInformation()).fit(X, y).scores_[0] == pytest.approx(3.0)
    with pytest.warns(TamizWarning, match="the estimate exceeds the entropy of 3 bits"):
        assert mutual_information(X[:, 0], y) == pytest.approx(3.0)
    # Of many rows the excess is too small for a warning.
    y = np.repeat([*"ab"], 500)
    assert mutual_information((y == "b") * 10 + np.random.default_rng(0).random(1000), y) == pytest.approx(1.0)


def test_a_sample_of_rows_is_drawn_with_a_warning():
    rng = np.random.default_rng(15)
    X, y = rng.normal(size=(500, 2)), rng.integers(0, 2, 500)
    with pytest.warns(TamizWarning, match="MutualInformation reads 100 of the 500 rows, drawn at random"):
        first, again = (RankSelector(MutualInformation(max_rows=100)).fit(X, y).scores_ for _ in range(2))
    np.testing.assert_array_equal(first, again)


def clustered(n):
    """Points with atoms, lines and clusters of very different widths."""
    rng = np.random.default_rng(16)
    return {
        "atoms": np.repeat(rng.normal(size=(n // 500, 2)), 500, axis=0),
        "line": np.column_stack([np.zeros(n), rng.normal(size=n)]),
        "lattice": rng.integers(0, 20, (n, 2)).astype(float),
        "heavy tails": np.exp(8 * rng.normal(size=(n, 2))),
        "nested": rng.normal(size=(n, 2)) * 10.0 ** -rng.integers(0, 5, n)[:, None],
        "sorted": np.column_stack([np.arange(n), np.arange(n)[::-1]]) * 1.0,
    }


@pytest.mark.slow
@pytest.mark.parametrize("kind", clustered(1000))
def test_the_tree_finds_the_neighbours_of_clustered_points(kind):
    x, y = clustered(1000)[kind].T
    zeros = np.zeros(1000, dtype=np.int64)
    of_x, of_y = (Variable(c[:, None].copy(), zeros) for c in (x, y))
    found = neighbor_information(of_x, of_y, None, 3, digamma_table(1000)).bits
    assert found == pytest.approx(max(plain.information([x], [y]) / BITS, 0), abs=1e-9)


def test_input_that_cannot_be_used_is_refused():
    x, y = np.arange(6.0) / 3, np.array([*"ababab"])
    with pytest.raises(
        DataError, match=r"MutualInformation counts neighbours, and no .* for sampling weights such as 'weight'"
    ):
        RankSelector(MutualInformation()).fit(open_table(x[:, None], y, weight=[0, 1, 3.5, 1, 1, 1]))
    with pytest.raises(DataError, match="MutualInformation requires y"):
        RankSelector(MutualInformation()).fit(x[:, None])
    with pytest.raises(ValueError, match="n_neighbors must be at least 1, got 0"):
        RankSelector(MutualInformation(n_neighbors=0)).fit(x[:, None], y)
    with pytest.raises(ValueError, match="missing must be one of"):
        RankSelector(MutualInformation(missing="mean")).fit(x[:, None], y)
    with pytest.raises(DataError, match="x has 6 rows, y has 5 rows; the numbers must be equal"):
        mutual_information(x, y[:5])
    with pytest.raises(DataError, match="needs at least 2 rows without missing values, got 0 of 6"):
        mutual_information(np.full(6, np.nan), y)
    with pytest.raises(ValueError, match="n_neighbors must be at least 1"):
        conditional_mutual_information(x, y, x, n_neighbors=0)


def test_whole_weights_repeat_rows_and_rows_of_weight_0_are_left_out():
    rng = np.random.default_rng(17)
    X, y, weight = rng.normal(size=(80, 2)), rng.integers(0, 2, 80), rng.integers(0, 4, 80)
    weighted = RankSelector(MutualInformation()).fit(X, y, sample_weight=weight).scores_
    repeated = RankSelector(MutualInformation()).fit(X.repeat(weight, axis=0), y.repeat(weight)).scores_
    np.testing.assert_array_equal(weighted, repeated)
    assert weighted.min() > 0


@quiet
def test_a_view_of_rows_scores_as_the_table_of_those_rows():
    frame, y = pd.DataFrame(make_columns(18, n=120)), np.arange(120) % 3
    rows = np.flatnonzero(np.arange(120) % 4)
    view = RankSelector(MutualInformation()).fit(select_rows(open_table(frame, y), rows)).scores_
    table = RankSelector(MutualInformation()).fit(frame.iloc[rows].reset_index(drop=True), y[rows]).scores_
    np.testing.assert_allclose(view, table, rtol=1e-12)
