"""Principal components against worked examples, R, scikit-learn and a plain version."""

import copy
import gc
import json
import pickle
import tracemalloc
import weakref

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn import decomposition
from sklearn.datasets import load_breast_cancer, load_iris, load_wine

from tamiz import load, open_table, save
from tamiz.exceptions import TamizWarning
from tamiz.reduction import PCA

from ..reference.pca import pca as plain_pca
from ..reference.tables import shared

TEN_POINTS = np.array(
    [[2.5, 2.4], [0.5, 0.7], [2.2, 2.9], [1.9, 2.2], [3.1, 3.0], [2.3, 2.7], [2, 1.6], [1, 1.1], [1.5, 1.6], [1.1, 0.9]]
)


def aligned(ours, theirs):
    """Rows of `ours` with the signs of `theirs`."""
    return ours * np.sign((ours * theirs).sum(axis=1))[:, None]


def mixed_frame(seed=0, n=60):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "length": np.where(rng.random(n) < 0.1, np.nan, rng.normal(3, 2, n)),
            "colour": [
                None if r < 0.1 else "red" if r < 0.5 else "green" if r < 0.8 else "blue" for r in rng.random(n)
            ],
            "width": rng.normal(size=n),
        }
    )


def test_the_worked_example_has_its_covariance_and_eigenvalues():
    pca = PCA(None).fit(TEN_POINTS)
    covariance = pca.components_.T @ np.diag(pca.explained_variance_) @ pca.components_
    np.testing.assert_allclose(covariance, [[0.616556, 0.615444], [0.615444, 0.716556]], atol=5e-7)
    np.testing.assert_allclose(pca.explained_variance_, [1.28402771, 0.0490834], atol=5e-9)


@pytest.mark.parametrize("standardize", [False, True])
@pytest.mark.parametrize("load", [load_iris, load_wine, load_breast_cancer])
def test_components_equal_the_plain_version_and_scikit_learns(load, standardize):
    X = load().data
    pca, plain = PCA(None, standardize=standardize).fit(X), plain_pca(X, standardize=standardize)
    theirs = decomposition.PCA(svd_solver="full").fit((X - plain.mean) / plain.scale)
    scale = plain.variances[0]
    np.testing.assert_allclose(pca.explained_variance_, plain.variances, atol=1e-12 * scale)
    np.testing.assert_allclose(pca.explained_variance_ratio_, theirs.explained_variance_ratio_, atol=1e-12)
    # Directions of nearly equal variance turn in their plane: the leading ones stand apart.
    np.testing.assert_allclose(aligned(pca.components_[:3], plain.axes.T[:3]), plain.axes.T[:3], atol=1e-9)
    np.testing.assert_allclose(aligned(pca.components_[:3], theirs.components_[:3]), theirs.components_[:3], atol=1e-9)
    np.testing.assert_allclose(np.abs(pca.embedding_[:, :3]), np.abs(plain.scores[:, :3]), atol=1e-9 * np.sqrt(scale))


def r_case(name):
    return json.loads(shared("reference/r.json").read_text())["cases"][name]["value"]


def usarrests():
    return np.genfromtxt(shared("data/USArrests.csv"), delimiter=",", skip_header=1)[:, 1:]


def test_standardised_usarrests_have_the_known_deviations():
    deviations = np.sqrt(PCA(None, standardize=True).fit(usarrests()).explained_variance_)
    np.testing.assert_allclose(deviations, [1.5749, 0.9949, 0.5971, 0.4164], atol=5e-5)


@pytest.mark.parametrize(
    ("case", "table", "standardize"),
    [
        ("usarrests_prcomp", usarrests, False),
        ("usarrests_prcomp_scaled", usarrests, True),
        ("usarrests_princomp_cor", usarrests, True),
        ("iris_prcomp", lambda: load_iris().data, False),
        ("iris_prcomp_scaled", lambda: load_iris().data, True),
    ],
)
def test_components_equal_those_of_r(case, table, standardize):
    r, pca = r_case(case), PCA(None, standardize=standardize).fit(table())
    axes = np.array(r.get("rotation", r.get("loadings"))["rows"]).T
    np.testing.assert_allclose(np.sqrt(pca.explained_variance_), r["sdev"], rtol=1e-11)
    np.testing.assert_allclose(aligned(pca.components_, axes), axes, atol=1e-10)
    if "importance" in r:
        np.testing.assert_allclose(pca.explained_variance_ratio_, r["importance"]["rows"][1], atol=5e-6)
    if "scores_first5" in r:
        scores = np.array(r["scores_first5"]["rows"])
        np.testing.assert_allclose(aligned(pca.embedding_[:5].T, scores.T).T, scores, atol=1e-10)


def test_ratios_are_shares_of_the_total_variance_however_few_components_are_kept():
    X = load_wine().data
    few, all_ = PCA(2, standardize=True).fit(X), PCA(None, standardize=True).fit(X)
    np.testing.assert_allclose(few.explained_variance_ratio_, all_.explained_variance_ratio_[:2], rtol=1e-12)
    assert few.explained_variance_ratio_.sum() < 0.6
    assert all_.explained_variance_ratio_.sum() == pytest.approx(1, abs=1e-12)


def test_the_largest_entry_of_every_direction_is_positive():
    for seed in range(20):
        X = np.random.default_rng(seed).normal(size=(30, 6))
        for axis in PCA(None).fit(X).components_:
            assert axis[np.abs(axis).argmax()] > 0


def test_of_equally_large_entries_the_first_is_positive():
    x = np.arange(10.0)
    np.testing.assert_allclose(PCA(1).fit(np.column_stack([x, -x])).components_, [[0.5**0.5, -(0.5**0.5)]], atol=1e-12)


def test_directions_are_orthonormal_and_loadings_are_scaled_by_the_deviations():
    pca = PCA(None, standardize=True).fit(load_wine().data)
    np.testing.assert_allclose(pca.components_ @ pca.components_.T, np.eye(13), atol=1e-12)
    np.testing.assert_allclose(pca.loadings_.T, pca.components_ * np.sqrt(pca.explained_variance_)[:, None], atol=1e-14)
    # Of standardised columns the loadings are correlations: their squares add up to one.
    np.testing.assert_allclose((pca.loadings_**2).sum(axis=1), 1, atol=1e-12)


def test_variances_are_those_of_the_embedding():
    pca = PCA(3).fit(load_wine().data)
    np.testing.assert_allclose(pca.embedding_.var(axis=0, ddof=1), pca.explained_variance_, rtol=1e-10)


@pytest.mark.parametrize("standardize", [False, True])
def test_the_inverse_of_all_components_gives_the_table_back(standardize):
    X = load_wine().data
    pca = PCA(None, standardize=standardize).fit(X)
    np.testing.assert_allclose(pca.inverse_transform(pca.embedding_), X, rtol=1e-10, atol=1e-10)


@pytest.mark.filterwarnings("ignore::tamiz.exceptions.TamizWarning")
def test_the_inverse_of_a_mixed_table_gives_indicators_and_means_for_missing_values():
    frame = mixed_frame()
    pca = PCA(None, standardize=True).fit(frame)
    expected = np.column_stack([frame[["length", "width"]], pd.get_dummies(frame["colour"])[["blue", "green", "red"]]])
    expected = expected.astype(float)
    expected[frame["colour"].isna(), 2:] = np.nan
    means = np.nanmean(expected, axis=0)
    assert pca.coordinate_names_ == ["length", "width", "colour=blue", "colour=green", "colour=red"]
    np.testing.assert_allclose(
        pca.inverse_transform(pca.embedding_), np.where(np.isnan(expected), means, expected), atol=1e-10
    )


@pytest.mark.filterwarnings("ignore::tamiz.exceptions.TamizWarning")
@pytest.mark.parametrize(("categories", "divisor"), [("famd", 1), ("balanced", 2)])
def test_mixed_columns_are_standardised_numbers_and_weighted_indicators(categories, divisor):
    frame = mixed_frame()
    points = []
    for name in ("length", "width"):
        column = frame[name].to_numpy()
        points.append((column - np.nanmean(column)) / np.nanstd(column, ddof=1))
    present = frame["colour"].notna().to_numpy()
    for level in ("blue", "green", "red"):
        indicator = np.where(present, frame["colour"] == level, np.nan).astype(float)
        share = np.nanmean(indicator)
        points.append((indicator - share) / np.nanstd(indicator, ddof=1) * np.sqrt((1 - share) / divisor))
    Z = np.nan_to_num(np.column_stack(points))
    plain = plain_pca(Z)
    pca = PCA(None, standardize=True, categories=categories).fit(frame)
    np.testing.assert_allclose(pca.explained_variance_, plain.variances, atol=1e-12)
    np.testing.assert_allclose(np.abs(pca.embedding_[:, :4]), np.abs(plain.scores[:, :4]), atol=1e-10)


def small_mixed_table():
    return pd.DataFrame(
        {
            "age": [23.0, 31, 38, 45, 52, 29, 61, 34, 47, 55, 26, 40],
            "income": [21.0, 35, 30, 52, 48, 26, 60, 39, 41, 66, 24, 37],
            "region": list("abcabdcabdca"),
            "owner": ["no", "no", "yes", "yes", "yes", "no", "yes", "no", "yes", "yes", "no", "no"],
        }
    )


def test_famd_has_the_eigenvalues_and_coordinates_of_prince():
    # prince 0.23.0, FAMD(n_components=6, engine="scipy"); its rows are standardised with n, ours with n - 1.
    eigenvalues = [2.75300876, 1.07315558, 1.00020687, 0.89996012, 0.22917178, 0.04449689]
    rows = [[2.5131971068, 0.2283031599], [0.9702633728, 0.3018840529], [0.1463091767, 1.6179990689]]
    pca = PCA(6, standardize=True, categories="famd").fit(small_mixed_table())
    np.testing.assert_allclose(pca.explained_variance_, eigenvalues, atol=1e-8)
    np.testing.assert_allclose(np.abs(pca.embedding_[:3, :2]) * np.sqrt(12 / 11), rows, atol=1e-8)
    np.testing.assert_allclose(pca.explained_variance_ratio_, np.array(eigenvalues) / 6, atol=1e-8)


def test_balanced_categories_have_the_total_variance_of_one_number_however_many_levels():
    rng = np.random.default_rng(0)
    x = rng.normal(size=600)
    # A declared level without rows is not counted.
    city = pd.Categorical(rng.integers(0, 80, 600), categories=range(81))
    frame = pd.DataFrame({"x": x, "y": x + rng.normal(size=600), "city": city, "up": np.where(x > 0, "yes", "no")})
    balanced = PCA(None, standardize=True).fit(frame)
    famd = PCA(None, standardize=True, categories="famd").fit(frame)
    for pca, totals in ((balanced, [1, 1, 1, 1]), (famd, [1, 1, 79, 1])):
        columns = [name.split("=")[0] for name in pca.coordinate_names_]
        variances = pd.Series((pca.loadings_**2).sum(axis=1)).groupby(columns, sort=False).sum()
        np.testing.assert_allclose(variances, totals, rtol=1e-9)
        assert pca.explained_variance_.sum() == pytest.approx(sum(totals))
    assert balanced.explained_variance_ratio_[0] > 0.5
    assert famd.explained_variance_ratio_[0] < 0.05


@pytest.mark.filterwarnings("ignore::tamiz.exceptions.TamizWarning")
@pytest.mark.parametrize("missing", ["mean", "pairwise", "iterative"])
@pytest.mark.parametrize("categories", ["balanced", "famd"])
def test_weighted_categories_are_undone_and_read_alike_by_every_solver_file_and_reload(tmp_path, categories, missing):
    frame = mixed_frame()
    parameters = {"standardize": True, "categories": categories, "missing": missing}
    pca = PCA(2, **parameters).fit(frame)
    np.testing.assert_allclose(
        (pca.inverse_transform(pca.embedding_) - pca.mean_) / pca.scale_, pca.embedding_ @ pca.components_, atol=1e-9
    )
    frame.to_csv(tmp_path / "table.csv", index=False)
    stored = PCA(2, **parameters).fit(open_table(tmp_path / "table.csv", memory="2 GB"))
    np.testing.assert_allclose(stored.embedding_, pca.embedding_, atol=1e-9)
    loaded = load(save(pca, tmp_path / "map.tamiz"))
    assert loaded.categories == categories
    np.testing.assert_array_equal(loaded.transform(frame), pca.embedding_)
    if missing == "mean":
        by_svd = PCA(2, solver="svd", **parameters).fit(frame)
        np.testing.assert_allclose(by_svd.explained_variance_, pca.explained_variance_, rtol=1e-10)


def test_a_weight_of_categories_that_does_not_exist_is_refused():
    with pytest.raises(ValueError, match="balanced"):
        PCA(1, categories="mfa").fit(small_mixed_table())


def test_missing_values_count_as_the_mean_and_a_warning_states_how_many():
    X = load_wine().data.copy()
    X[np.random.default_rng(0).random(X.shape) < 0.1] = np.nan
    filled = np.where(np.isnan(X), np.nanmean(X, axis=0), X)
    with pytest.warns(
        TamizWarning, match=f"{np.isnan(X).sum()} missing values were imputed with the mean of the column"
    ):
        pca = PCA(2).fit(X)
    np.testing.assert_allclose(pca.embedding_, PCA(2).fit(filled).embedding_, atol=1e-9)


@pytest.mark.parametrize("box", [np.asarray, sparse.csr_array])
def test_only_proportions_matter_of_weights_that_sum_to_1(box):
    rng = np.random.default_rng(2)
    X, weight = rng.normal(size=(40, 5)), rng.uniform(0.5, 2, 40)
    one, mean = (PCA(3).fit(box(X), sample_weight=weight / by) for by in (weight.sum(), weight.mean()))
    np.testing.assert_allclose(one.explained_variance_, mean.explained_variance_, rtol=1e-9)
    np.testing.assert_allclose(np.abs(one.components_), np.abs(mean.components_), atol=1e-9)


@pytest.mark.filterwarnings("ignore::tamiz.exceptions.TamizWarning")
@pytest.mark.parametrize("standardize", [False, True])
def test_integer_weights_count_as_repeated_rows(standardize):
    frame = mixed_frame()
    weight = np.random.default_rng(1).integers(0, 4, len(frame))
    weighted = PCA(3, standardize=standardize).fit(frame, sample_weight=weight)
    repeated = PCA(3, standardize=standardize).fit(frame.loc[frame.index.repeat(weight)].reset_index(drop=True))
    for name in ("mean_", "scale_", "explained_variance_", "explained_variance_ratio_", "components_"):
        np.testing.assert_allclose(
            getattr(weighted, name), getattr(repeated, name), rtol=1e-10, atol=1e-12, err_msg=name
        )
    np.testing.assert_allclose(weighted.embedding_.repeat(weight, axis=0), repeated.embedding_, atol=1e-10)


@pytest.mark.filterwarnings("ignore::tamiz.exceptions.TamizWarning")
def test_rows_alone_are_placed_where_they_are_placed_together():
    frame = mixed_frame()
    pca = PCA(3, standardize=True).fit(frame)
    together = pca.transform(frame)
    np.testing.assert_array_equal(together, pca.embedding_)
    for row in range(0, len(frame), 7):
        np.testing.assert_allclose(pca.transform(frame.iloc[[row]])[0], together[row], rtol=0, atol=1e-12)


@pytest.mark.filterwarnings("ignore::tamiz.exceptions.TamizWarning")
def test_a_level_that_fit_never_saw_counts_as_missing():
    frame = mixed_frame()
    pca = PCA(3).fit(frame)
    known, unknown = frame.iloc[:2].copy(), frame.iloc[:2].copy()
    known["colour"] = [None, "red"]
    unknown["colour"] = ["ultraviolet", "red"]
    np.testing.assert_array_equal(pca.transform(unknown), pca.transform(known))


@pytest.mark.filterwarnings("ignore::tamiz.exceptions.TamizWarning")
def test_many_pieces_of_rows_give_the_numbers_of_one(monkeypatch):
    frame = mixed_frame(n=500)
    whole = PCA(3, standardize=True).fit(frame)
    monkeypatch.setattr("tamiz.table.base.PIECE_ROWS", 37)
    monkeypatch.setattr("tamiz.table.encode._VALUES_PER_TASK", 37 * 5)
    pieces = PCA(3, standardize=True).fit(frame)
    for name in ("mean_", "scale_", "explained_variance_", "components_", "embedding_"):
        np.testing.assert_allclose(getattr(pieces, name), getattr(whole, name), rtol=0, atol=1e-10, err_msg=name)


def test_a_column_far_from_zero_keeps_its_variance():
    X = TEN_POINTS + 1e8
    np.testing.assert_allclose(PCA(None).fit(X).explained_variance_, [1.28402771, 0.0490834], atol=1e-6)


def test_a_constant_column_is_a_coordinate_without_weight():
    X = np.column_stack([TEN_POINTS, np.full(10, 7.0)])
    with pytest.warns(TamizWarning, match="PCA: x2 is constant and cannot be standardised; the coordinates are 0"):
        pca = PCA(2, standardize=True).fit(X)
    np.testing.assert_array_equal(pca.components_[:, 2], 0)
    assert np.isfinite(pca.embedding_).all()


def test_a_table_of_one_point_repeated_has_no_variance_to_share():
    with pytest.warns(TamizWarning, match="all columns are constant"):
        pca = PCA(1).fit(np.ones((5, 2)))
    assert pca.explained_variance_ratio_.tolist() == [0.0]
    assert pca.embedding_.tolist() == [[0.0]] * 5


def test_more_columns_than_rows_give_as_many_components_as_rows():
    X = np.random.default_rng(0).normal(size=(5, 12))
    pca = PCA(None).fit(X)
    assert pca.components_.shape == (5, 12)
    np.testing.assert_allclose(pca.explained_variance_[:4], plain_pca(X).variances[:4], rtol=1e-10)
    np.testing.assert_allclose(pca.explained_variance_[4], 0, atol=1e-12)


@pytest.mark.parametrize(
    ("n_components", "error", "message"),
    [
        (0, ValueError, "n_components must be from 1 to 2, got 0"),
        (3, ValueError, "n_components must be from 1 to 2, got 3"),
        (
            1.5,
            ValueError,
            "n_components must be a whole number from 1 to 2, or a share of the variance above 0 and up to 1.0, got 1.5",
        ),
        (0.0, ValueError, "a share of the variance above 0 and up to 1.0, got 0.0"),
        (float("nan"), ValueError, "a share of the variance above 0 and up to 1.0, got nan"),
        (True, TypeError, r"n_components must be a whole number, a share of the variance .*, or None, got True\.$"),
        ("mle", TypeError, r"a share of the variance .*, or None, got 'mle'\. To estimate .* parallel_analysis\(\)\.$"),
    ],
)
def test_a_number_of_components_out_of_range_is_refused(n_components, error, message):
    with pytest.raises(error, match=message):
        PCA(n_components).fit(TEN_POINTS)


def test_one_row_is_refused():
    with pytest.raises(ValueError, match=r"1 sample .*; at least 2 are needed"):
        PCA(1).fit(TEN_POINTS[:1])


def test_a_table_without_a_usable_column_is_refused_with_the_reason():
    with pytest.raises(ValueError, match="No column can be used: name: all values are distinct"):
        PCA(1).fit(pd.DataFrame({"name": [f"n{k}" for k in range(20)]}))


def test_columns_that_take_no_part_are_passed_over_and_reported():
    frame = pd.DataFrame(TEN_POINTS, columns=["x", "y"]).assign(name=[f"n{k}" for k in range(10)])
    with pytest.warns(TamizWarning, match="1 of 3 columns is excluded: name"):
        wide = PCA(2).fit(frame)
    np.testing.assert_array_equal(wide.embedding_, PCA(2).fit(frame[["x", "y"]]).embedding_)


def test_rows_alone_and_together_are_placed_alike_to_the_bit():
    X = np.random.default_rng(0).normal(size=(300, 200))
    pca = PCA(2).fit(X)
    together = pca.transform(X)
    np.testing.assert_array_equal(together, pca.embedding_)
    for size in (1, 7, 100):
        np.testing.assert_array_equal(pca.transform(X[:size]), together[:size])


def test_a_large_common_part_costs_no_digits():
    X = np.random.default_rng(0).normal(size=(2000, 3))
    exact = PCA(3).fit(X).explained_variance_
    np.testing.assert_allclose(PCA(3).fit(X + 1e8).explained_variance_, exact, rtol=1e-6)


def test_another_table_is_compared_by_its_names():
    frame = pd.DataFrame(TEN_POINTS, columns=["x", "y"])
    pca = PCA(2).fit(open_table(frame))
    with pytest.raises(ValueError, match="Column 0 of the table is 'y', but in fit it was 'x'"):
        pca.transform(open_table(frame[["y", "x"]]))


def test_a_table_keeps_its_target_and_weight_out_of_the_map():
    frame = pd.DataFrame(TEN_POINTS, columns=["x", "y"]).assign(kind=list("ababababab"), times=[1, 2] * 5)
    pca = PCA(2).fit(open_table(frame, "kind", weight="times"))
    assert pca.coordinate_names_ == ["x", "y"]
    repeated = PCA(2).fit(TEN_POINTS.repeat([1, 2] * 5, axis=0))
    np.testing.assert_allclose(pca.explained_variance_, repeated.explained_variance_, rtol=1e-12)


def test_values_of_new_rows_that_fit_does_not_know_are_reported():
    frame = mixed_frame().dropna()
    pca = PCA(2).fit(frame)
    with (
        pytest.warns(
            TamizWarning, match=r"PCA: 4 missing values or unknown levels of new rows count as the mean of the column\."
        ),
        pytest.warns(
            TamizWarning, match=r"Column colour: 1 level in 4 rows was not present in fit: 'violet'; these values"
        ),
    ):
        pca.transform(frame.head(4).assign(colour="violet"))


@pytest.mark.parametrize("standardize", ["no", 2.5, None])
def test_standardize_is_true_or_false(standardize):
    with pytest.raises(TypeError, match="standardize must be True or False, got"):
        PCA(2, standardize=standardize).fit(TEN_POINTS)


@pytest.mark.filterwarnings("ignore::tamiz.exceptions.TamizWarning")
@pytest.mark.parametrize("whiten", [False, True])
@pytest.mark.parametrize("missing", ["mean", "pairwise", "iterative"])
def test_the_embedding_is_computed_when_it_is_first_read(missing, whiten):
    frame = mixed_frame()
    pca = PCA(2, missing=missing, whiten=whiten).fit(frame)
    # Projections of incomplete rows have other moments than the components, so that a change of the rows would not be recognised.
    assert ("embedding_" in vars(pca)) == (missing != "mean")
    np.testing.assert_array_equal(pca.embedding_, pca.transform(frame))
    assert pca.embedding_ is pca.embedding_


@pytest.mark.parametrize("as_table", [np.asarray, pd.DataFrame, sparse.csr_array, open_table])
def test_copies_and_files_of_an_estimator_contain_its_embedding_instead_of_the_rows(tmp_path, as_table):
    X = np.random.default_rng(0).normal(size=(40, 5)).astype(np.float32)
    expected = PCA(2).fit_transform(as_table(X))
    for copied in (
        lambda pca: pickle.loads(pickle.dumps(pca)),
        copy.deepcopy,
        lambda pca: load(save(pca, tmp_path / "map.tamiz")),
    ):
        again = copied(PCA(2).fit(as_table(X)))
        assert "embedding_" in vars(again)
        assert "_unread_rows" not in vars(again)
        np.testing.assert_array_equal(again.embedding_, expected)
        assert again.embedding_.dtype == expected.dtype


def test_the_rows_are_kept_until_the_embedding_is_read():
    X = np.random.default_rng(0).normal(size=(40, 5))
    pca, rows = PCA(2).fit(X), weakref.ref(X)
    expected = pca.transform(X)
    del X
    gc.collect()
    assert rows() is not None
    np.testing.assert_array_equal(pca.embedding_, expected)
    gc.collect()
    assert rows() is None


def test_another_fit_replaces_an_embedding_that_was_read_or_not():
    first, second = np.random.default_rng(0).normal(size=(2, 30, 4))
    for read_first in (False, True):
        pca = PCA(2).fit(first)
        if read_first:
            assert pca.embedding_.shape == (30, 2)
        np.testing.assert_array_equal(pca.fit(second).embedding_, PCA(2).fit_transform(second))
        pca.fit(first).fit_covariance(np.cov(second.T))
        with pytest.raises(AttributeError, match="PCA was fitted on a covariance: pass rows to transform"):
            _ = pca.embedding_
    with pytest.raises(AttributeError, match="not fitted"):
        _ = PCA().embedding_


def test_a_fit_of_many_float32_rows_needs_less_memory_than_their_coordinates():
    X = np.random.default_rng(0).standard_normal((200_000, 20), dtype=np.float32)
    PCA(20).fit(X[:1000])
    tracemalloc.start()
    pca = PCA(20).fit(X)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < pca.embedding_.nbytes / 2


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64])
def test_a_change_of_the_rows_before_their_coordinates_are_read_is_reported(dtype):
    X = np.random.default_rng(0).integers(0, 99, (40, 5)).astype(dtype)
    expected = PCA(2).fit_transform(X)
    pca = PCA(2).fit(X)
    X *= 2
    if dtype == np.int64:
        np.testing.assert_array_equal(pca.embedding_, expected)
        return
    with pytest.warns(TamizWarning, match="PCA: X was changed after fit, .* Read embedding_ before X is changed"):
        np.testing.assert_array_equal(pca.embedding_, pca.transform(X))


@pytest.mark.parametrize(("dtype", "change"), [(np.float32, 1.0), (np.float64, 1e-5)])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("whiten", [False, True])
def test_a_change_of_any_row_before_its_coordinates_are_read_is_reported(dtype, change, weighted, whiten):
    rng = np.random.default_rng(0)
    X = (rng.normal(size=(2000, 6)) * [1, 2, 3, 4, 5, 6] + 5).astype(dtype)
    weight = rng.integers(1, 4, len(X)) if weighted else None
    for row in (0, 777, 1999):
        pca = PCA(3, whiten=whiten).fit(X, sample_weight=weight)
        X[row] += 1000 * change
        with pytest.warns(TamizWarning, match="PCA: X was changed after fit"):
            _ = pca.embedding_


@pytest.mark.parametrize("solver", ["covariance", "svd", "randomized"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("as_table", [np.asarray, sparse.csr_array])
def test_rounding_is_no_change_of_the_rows(recwarn, solver, dtype, as_table):
    rng = np.random.default_rng(0)
    for n in (3, 40, 1500):
        rows = np.sort(np.exp(rng.normal(size=(n, 8)) * 3), axis=0) + 10.0 ** np.arange(-4, 4)
        for whiten, standardize in ((False, False), (True, True)):
            pca = PCA(2, solver=solver, whiten=whiten, standardize=standardize)
            assert pca.fit_transform(as_table(rows.astype(dtype)), sample_weight=np.arange(1, n + 1)).shape == (n, 2)
    assert not [warning for warning in recwarn if "was changed" in str(warning.message)]
