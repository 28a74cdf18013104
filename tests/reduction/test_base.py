import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.spatial.distance import cdist
from sklearn.exceptions import NotFittedError

from tamiz import load, open_source, save
from tamiz.graphs import Graph, KNearest
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
    assert reducer.schema_ == open_source(table).schema
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


def test_facts_give_the_stress_of_maps_that_have_one():
    assert PCA(2).fit(X).facts().stress is None
    mds = MDS(random_state=0).fit(X)
    assert mds.facts().stress == mds.stress_
    landmark = LandmarkMDS(random_state=0).fit(X)
    assert landmark.facts().stress == landmark.sampled_stress_
