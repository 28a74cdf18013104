"""Selectors and linear maps as ONNX: the output of onnxruntime is that of transform."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import tamiz
from tamiz import RankSelector, RedundancyFilter, SizeSearchCV, SubsetSelector, error_control
from tamiz.criteria import CFS, FisherScore
from tamiz.error_control import BorutaSelector, KnockoffSelector, StabilitySelector
from tamiz.exceptions import DataError
from tamiz.reduction import ICA, PCA
from tamiz.search import Forward

skl2onnx = pytest.importorskip("skl2onnx", reason="skl2onnx is not installed")
runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")

X, Y = load_wine(return_X_y=True)
NAMED = load_wine(as_frame=True).data
SELECTORS = [
    RankSelector(FisherScore(), n_features=1),
    SubsetSelector(CFS(), Forward(), n_features=4),
    SizeSearchCV(RankSelector(FisherScore()), LogisticRegression(max_iter=5), sizes=[2, 3], cv=2),
    RedundancyFilter(),
    BorutaSelector(max_iter=20, random_state=0),
    KnockoffSelector(fdr=0.5, random_state=0),
    StabilitySelector(n_pairs=3, random_state=0),
]


@pytest.fixture(autouse=True, scope="module")
def registered():
    tamiz.register_onnx_converters()


def outputs(model, rows):
    """The output of the model as ONNX, for rows in one tensor or a tensor for each column."""
    onnx = skl2onnx.to_onnx(model, rows[:1])
    session = runtime.InferenceSession(onnx.SerializeToString(), providers=["CPUExecutionProvider"])
    if isinstance(rows, pd.DataFrame):
        # skl2onnx replaces characters of names.
        given = {one.name: rows.iloc[:, [j]].to_numpy() for j, one in enumerate(session.get_inputs())}
    else:
        given = {session.get_inputs()[0].name: rows}
    return session.run(None, given)


def test_every_selector_is_tested():
    known = {entry.load() for each in (tamiz.registry, error_control.registry) for entry in each.of_kind("selector")}
    assert known == set(map(type, SELECTORS))
    assert set(tamiz.register_onnx_converters()) == {*known, PCA, ICA}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("selector", SELECTORS, ids=lambda one: type(one).__name__)
def test_a_selector_gathers_columns_of_any_type(selector):
    selector.fit(X, Y)
    for rows in (X, X.astype(np.float32), X.astype(np.int64)):
        (found,) = outputs(selector, rows)
        assert found.dtype == rows.dtype
        np.testing.assert_array_equal(found, rows[:, selector.get_support()])


def test_the_first_column_alone_is_selected():
    assert RankSelector(FisherScore(), n_features=1).fit(X[:, [6, 0, 1]], Y).get_support().tolist() == [
        True,
        False,
        False,
    ]
    selector = RankSelector(FisherScore(), n_features=1).fit(X[:, [6, 0, 1]], Y)
    np.testing.assert_array_equal(outputs(selector, X[:, [6, 0, 1]])[0], X[:, [6]])


def test_a_selector_of_a_frame_gathers_its_columns():
    selector = SubsetSelector(CFS(), Forward(), n_features=4).fit(NAMED, Y)
    np.testing.assert_array_equal(outputs(selector, NAMED)[0], NAMED.loc[:, selector.get_support()].to_numpy())


@pytest.mark.filterwarnings("ignore:.*(ICA|PCA)")
@pytest.mark.parametrize(
    "estimator",
    [PCA(3), PCA(3, standardize=True), PCA(2, whiten=True), PCA(2, missing="pairwise"), ICA(3, random_state=0)],
    ids=["pca", "standardized", "whitened", "pairwise", "ica"],
)
def test_a_linear_map_is_a_product(estimator):
    estimator.fit(X)
    (found,) = outputs(estimator, X)
    np.testing.assert_allclose(found, estimator.transform(X), rtol=1e-9, atol=1e-9 * np.ptp(found))
    (single,) = outputs(estimator, X.astype(np.float32))
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, found, rtol=1e-3, atol=1e-4 * np.ptp(found))
    named = clone(estimator).fit(NAMED)
    np.testing.assert_allclose(outputs(named, NAMED)[0], found, rtol=1e-9, atol=1e-9 * np.ptp(found))
    gaps = np.where(np.arange(X.size).reshape(X.shape) % 11 == 0, np.nan, X)
    if getattr(estimator, "missing", "mean") == "mean":
        np.testing.assert_allclose(outputs(estimator, gaps)[0], estimator.transform(gaps), atol=1e-9 * np.ptp(found))
    else:
        assert np.isnan(outputs(estimator, gaps)[0]).all(axis=1).tolist() == np.isnan(gaps).any(axis=1).tolist()


def test_a_pipeline_predicts_the_same_classes():
    pipeline = make_pipeline(
        StandardScaler(), RankSelector(FisherScore(), n_features=6), PCA(3), LogisticRegression()
    ).fit(X, Y)
    labels, _ = outputs(pipeline, X.astype(np.float32))
    assert labels.tolist() == pipeline.predict(X).tolist()


def test_what_cannot_be_converted_is_named():
    mixed = NAMED.assign(kind=pd.Categorical(np.where(Y == 0, "a", "b")))
    with pytest.raises(DataError, match=r"^PCA cannot be converted.*column 'kind' is categorical.*Encode it"):
        outputs(PCA(2).fit(mixed), mixed)
    selector = RankSelector(FisherScore(), n_features=2).fit(NAMED, Y)
    rows = NAMED.astype({"ash": np.float32, "hue": np.int64})
    with pytest.raises(DataError, match=r"^RankSelector cannot be converted.*types double, float, int64, because"):
        outputs(selector, rows)
    with pytest.warns(tamiz.exceptions.TamizWarning):
        empty = RankSelector(FisherScore(), threshold=1e9).fit(X, Y)
    with pytest.raises(DataError, match="selects no column"):
        outputs(empty, X)
