"""Memberships of UMAP: by definition and beside umap-learn's numbers, with targets; the curve and the initial layout."""

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_blobs

from tamiz.graphs import Binary, KNearest
from tamiz.reduction.graph_reducer import shortest_edges
from tamiz.reduction.neighbor_embedding import initial_layout
from tamiz.reduction.umap import INIT_CHOICES, fit_curve, intersect_target, joint_memberships

from ..reference import umap as reference

RNG = np.random.default_rng(0)
# Every 19th iris, and targets of these 8 rows.
IRIS = load_iris().data[::19]
SPECIES, SOME_SPECIES = np.array([0, 0, 0, 1, 1, 1, 2, 2]), np.array([0, -1, 0, 1, 1, 1, -1, 2])
NUMBERS = np.array([1.0, 2.5, 0.3, 4.1, 5.7, 3.2, 8.9, 7.4])
# The fuzzy graphs of umap-learn 0.5.12 with n_neighbors=4, the upper triangle row by row: `UMAP(transform_mode="graph").graph_`
# with target_metric="categorical" for classes and "l2" for numbers. Parameters, target, its weight, memberships.
UMAP_LEARN = [
    ({}, None, 0.5,
     "1 1 .6350102 0 0 0 0 .9293721 .332015 0 0 0 0 .6140427 0 0 0 0 0 1 0 0 .8017255 .7465138 1 .4727678 1 1"),
    ({"local_connectivity": 1.5, "mix_ratio": 0.25}, None, 0.5,
     "1 .8413517 .2240101 0 0 0 0 .7131315 .0650649 0 0 0 0 .2050992 0 0 0 0 0 .5335697 0 0 .4728883 .36574 1 .1123372 "
     ".5721875 .6778194"),
    ({}, SPECIES, 0.5,
     "1 1 .008539 0 0 0 0 .9950117 .0044692 0 0 0 0 .0082577 0 0 0 0 0 1 0 0 1 .0112723 .0150856 .0063608 .0134305 1"),
    ({}, SOME_SPECIES, 0.8,
     "1 1 .0000047 0 0 0 0 .9535196 .4136037 0 0 0 0 .0000046 0 0 0 0 0 1 0 0 1 .8333443 .0000148 .5644648 .0000139 1"),
    ({}, NUMBERS, 0.5,
     "1 1 .000127 0 .1029014 0 0 .5261208 .4211967 0 .4595317 0 0 .0001228 0 .0720453 0 0 .2676793 1 .0642257 .0291677 "
     ".1709718 .4577476 1 .000106 .0002243 1"),
    ({}, NUMBERS, 0.2,
     "1 1 .1229697 0 .2326545 0 0 .8273289 .5136747 0 .336481 0 0 .1190381 0 .1347402 0 0 .2894977 1 .1309251 .1074785 "
     ".5832897 .6871691 1 .0948366 .1950316 1"),
]  # fmt: skip


def memberships_of(X, n_neighbors, local_connectivity=1.0, mix_ratio=1.0):
    graph = KNearest(n_neighbors - 1, weight=Binary(), symmetry="directed").build_quietly(X)
    return joint_memberships(shortest_edges(graph, n_neighbors - 1), local_connectivity, mix_ratio)


@pytest.mark.parametrize(("parameters", "target", "weight", "wanted"), UMAP_LEARN)
def test_memberships_are_those_of_umap_learn(parameters, target, weight, wanted):
    found = memberships_of(IRIS, 4, **parameters)
    plain = reference.joint_memberships(IRIS, 4, **parameters)
    if target is NUMBERS:
        found = intersect_target(found, target, weight, 4)
        plain = reference.intersect_values(plain, target, weight, 4)
    elif target is not None:
        found = intersect_target(found, [None if c < 0 else "abc"[c] for c in target], weight, 4)
        plain = reference.intersect_classes(plain, target, weight)
    upper = np.triu_indices(8, 1)
    for dense in (found.toarray(), plain):
        np.testing.assert_array_equal(dense, dense.T)
        np.testing.assert_allclose(dense[upper], np.array(wanted.split(), dtype=float), atol=1e-5)


@pytest.mark.parametrize(("connectivity", "mix_ratio"), [(0, 1), (0.4, 0.3), (1, 1), (2.7, 0), (30, 0.5)])
def test_memberships_are_those_of_the_definition(connectivity, mix_ratio):
    X = RNG.normal(size=(60, 4))
    # Rows all of whose neighbours are equal to them, and rows some of whose neighbours are equal to them and some very near.
    X[:14], X[14:18] = X[0], X[18]
    X[19:25] = X[18] + 1e-3 * X[19:25]
    found = memberships_of(X, 10, connectivity, mix_ratio).toarray()
    np.testing.assert_allclose(found, reference.joint_memberships(X, 10, connectivity, mix_ratio), atol=2e-5)


@pytest.mark.parametrize("weight", [0, 0.3, 0.9, 1])
def test_targets_with_missing_values_change_memberships_as_defined(weight):
    X, values = RNG.normal(size=(60, 4)), RNG.normal(size=60)
    values[::7] = np.nan
    before = memberships_of(X, 8)
    plain = before.toarray().astype(np.float64)
    wanted = reference.intersect_values(plain, values, weight, 8)
    np.testing.assert_allclose(intersect_target(before, values, weight, 8).toarray(), wanted, atol=2e-5)
    classes = np.where(np.isnan(values), -1, values > 0)
    found = intersect_target(before, [None if c < 0 else "ab"[c] for c in classes], weight, 8).toarray()
    np.testing.assert_allclose(found, reference.intersect_classes(plain, classes, weight), atol=2e-5)


def test_the_curve_is_fitted_to_the_distances_on_the_map():
    # Those of umap-learn 0.5.12.
    assert fit_curve(0.1, 1.0) == pytest.approx((1.576943, 0.895061), abs=1e-6)
    assert fit_curve(0.5, 2.0) == pytest.approx((0.258879, 1.057500), abs=1e-6)
    assert fit_curve(0.3, 0.7) == pytest.approx(tuple(reference.fit_curve(0.3, 0.7)), rel=1e-4)
    # The unit of the map scales a alone.
    a, b = fit_curve(0.1, 1.0)
    for spread in (1e-3, 0.1, 30.0, 1e6):
        assert fit_curve(0.1 * spread, spread) == pytest.approx((a / spread ** (2 * b), b))
        assert np.isfinite(fit_curve(spread, spread)).all()


def test_the_eigenvectors_of_separate_components_are_side_by_side():
    X, y = make_blobs(300, centers=3, random_state=0)
    graph = KNearest(14, weight=Binary(), symmetry="directed").build_quietly(X + 1e4 * y[:, None])
    memberships = joint_memberships(graph.edges, 1.0, 1.0)
    points = initial_layout("spectral", INIT_CHOICES, graph, memberships, 2, np.random.default_rng(0), (0.0, 1.0))
    low, high = (np.array([f(points[y == c], axis=0) for c in range(3)]) for f in (np.min, np.max))
    assert (high - low).min() > 0.1
    for c, d in ((0, 1), (0, 2), (1, 2)):
        assert (low[c] > high[d]).any() or (low[d] > high[c]).any()
