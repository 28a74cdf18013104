import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.datasets import load_iris
from sklearn.exceptions import NotFittedError
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline

from tamiz import load, open_table, save
from tamiz.graphs import ConnectedRadius, Graph, KNearest, Radius
from tamiz.reduction import MDS, PCA, ClassicalMDS, LandmarkMDS, LaplacianEigenmaps, StochasticMDS

X = np.random.default_rng(0).normal(size=(60, 3)).round(3)
MAPS = [
    PCA(2),
    PCA(2, missing="pairwise"),
    MDS(random_state=0),
    MDS(dissimilarity="gower", random_state=0),
    ClassicalMDS(2),
    LandmarkMDS(random_state=0),
    StochasticMDS(random_state=0, tol=1.0),
    LaplacianEigenmaps(2, graph=KNearest(10)),
]


@pytest.mark.parametrize("reducer", MAPS, ids=repr)
def test_a_map_knows_the_columns_that_it_was_fitted_on_also_after_loading(reducer, tmp_path):
    table = pd.DataFrame(X, columns=["a", "b", "c"]).assign(d=np.tile(["p", "q", "r"], 20))
    reducer.fit(table)
    assert reducer.schema_ == open_table(table).schema
    assert load(save(reducer, tmp_path / "m.tamiz")).schema_ == reducer.schema_


@pytest.mark.parametrize(
    "reducer",
    [
        PCA(2).fit(sparse.csr_array(X)),
        PCA(2).fit_covariance(np.cov(X.T)),
        MDS(dissimilarity="precomputed", random_state=0).fit(cdist(X, X)),
        ClassicalMDS(dissimilarity="similarity").fit(X @ X.T),
        LaplacianEigenmaps(1, graph=Graph.from_edges([0, 1], [1, 2])).fit(X[:3]),
    ],
    ids=repr,
)
def test_rows_that_are_no_table_have_no_columns(reducer):
    assert reducer.schema_ is None


def test_before_fit_there_are_none():
    with pytest.raises(NotFittedError):
        _ = PCA(2).schema_
    with pytest.raises(NotFittedError):
        _ = LaplacianEigenmaps(2).schema_


def test_coordinates_have_names_and_only_maps_of_pixels_have_images():
    assert MDS(3, random_state=0).fit(X).axis_names_ == ["Coordinate 1", "Coordinate 2", "Coordinate 3"]
    assert PCA(2).fit_covariance(np.cov(X.T)).axis_names_ == ["PC 1", "PC 2"]
    mapped = LaplacianEigenmaps(2, graph=KNearest(10)).fit(X)
    assert mapped.axis_names_ == ["Eigenvector 1", "Eigenvector 2"]
    assert mapped.image_sets() == PCA(2).fit(X).image_sets() == []


def test_maps_of_all_pairs_of_rows_have_quadratic_cost():
    assert all(reducer.quadratic_cost for reducer in (MDS(), ClassicalMDS(dissimilarity="gower")))
    assert not any(reducer.quadratic_cost for reducer in (PCA(), ClassicalMDS(), LandmarkMDS(), StochasticMDS()))


@pytest.mark.parametrize("given", [np.asarray, pd.DataFrame, lambda rows: open_table(pd.DataFrame(rows))])
@pytest.mark.parametrize("reducer", MAPS, ids=repr)
def test_float32_rows_have_float32_places_which_transform_returns(reducer, given):
    single = X.astype(np.float32)
    fine = reducer.fit_transform(single.astype(np.float64))
    assert fine.dtype == np.float64
    places = reducer.fit_transform(given(single))
    assert places.dtype == reducer.embedding_.dtype == reducer.transform(given(single[:5])).dtype == np.float32
    np.testing.assert_allclose(places, fine, atol=1e-4 * np.abs(fine).max())
    np.testing.assert_array_equal(reducer.transform(given(single)), places)
    assert reducer.transform(given(single.astype(np.float64))).dtype == np.float64


def test_sparse_rows_and_distances_of_float32_have_float32_places():
    single = X.astype(np.float32)
    for reducer in (PCA(2), ClassicalMDS(2), LaplacianEigenmaps(2, graph=KNearest(10))):
        assert reducer.fit_transform(sparse.csr_array(single)).dtype == np.float32
    distances = cdist(single, single).astype(np.float32)
    for reducer in (ClassicalMDS(dissimilarity="precomputed"), MDS(dissimilarity="precomputed", random_state=0)):
        assert reducer.fit_transform(distances).dtype == reducer.transform(distances[:3]).dtype == np.float32


PAIRWISE = [
    *(cls(dissimilarity=name) for cls in (ClassicalMDS, LandmarkMDS) for name in ("precomputed", "similarity")),
    MDS(dissimilarity="precomputed", random_state=0),
    LaplacianEigenmaps(graph=KNearest(7, metric="precomputed"), disconnected="connect"),
    LaplacianEigenmaps(graph=Radius(1.0, metric="precomputed"), disconnected="connect"),
    LaplacianEigenmaps(graph=ConnectedRadius(metric="precomputed")),
]


@pytest.mark.filterwarnings("ignore::tamiz.exceptions.TamizWarning")
@pytest.mark.parametrize("reducer", PAIRWISE, ids=repr)
def test_distances_are_cut_in_rows_and_columns_by_cross_validation(reducer):
    rows, classes = load_iris(return_X_y=True)
    given = rows @ rows.T if reducer.get_params().get("dissimilarity") == "similarity" else cdist(rows, rows)
    model = make_pipeline(reducer, KNeighborsClassifier(3))
    scores = cross_val_score(model, given, classes, cv=3, error_score="raise")
    assert scores.min() > 0.85
    train, test = next(StratifiedKFold(3).split(given, classes))
    model.fit(given[np.ix_(train, train)], classes[train])
    assert model.score(given[np.ix_(test, train)], classes[test]) == scores[0]


def test_distances_of_objects_are_read_as_numbers_or_refused():
    distances = cdist(X, X).astype(object)
    places = ClassicalMDS(dissimilarity="precomputed").fit_transform(distances)
    np.testing.assert_array_equal(places, ClassicalMDS(dissimilarity="precomputed").fit_transform(cdist(X, X)))
    distances[3, 4] = "far"
    with pytest.raises(TypeError, match=r"Precomputed distances must be real numbers: .*'far'"):
        ClassicalMDS(dissimilarity="precomputed").fit(distances)
