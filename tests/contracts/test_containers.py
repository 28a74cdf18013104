"""Every selector and every map with every type of table and every container of `set_output`."""

import os
import subprocess
import sys

import narwhals as nw
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import FeatureUnion
from sklearn.preprocessing import FunctionTransformer

from tamiz import MixedNB, RankSelector, RedundancyFilter, SubsetSelector, open_table
from tamiz.criteria import CFS, CrossValidated, FisherScore, InformationGain
from tamiz.error_control import BorutaSelector, KnockoffSelector, StabilitySelector
from tamiz.reduction import PCA, UMAP, Autoencoder, Isomap, LaplacianEigenmaps
from tamiz.reduction import registry as reduction
from tamiz.search import Forward

rng = np.random.default_rng(0)
X = rng.random((30, 4))
Y = np.repeat(["a", "b"], 15)
X[:, 2] += 3 * (Y == "a")
NAMES = ["p", "q", "r", "s"]


class Stream:
    """A table of which only its Arrow stream is known; it can be read again."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


TABLES = {
    "array": lambda: X,
    "list": lambda: X.tolist(),
    "pandas": lambda: pd.DataFrame(X, columns=NAMES, index=np.arange(100, 130)),
    "polars": lambda: pl.DataFrame(X, schema=NAMES),
    "lazy": lambda: pl.LazyFrame(X, schema=NAMES),
    "arrow": lambda: pa.table(dict(zip(NAMES, X.T, strict=True))),
    "record batch": lambda: TABLES["arrow"]().to_batches()[0],
    "reader": lambda: TABLES["arrow"]().to_reader(),
    "stream": lambda: Stream(TABLES["arrow"]()),
}
# Frames of polars before 2 have no rows without columns.
POLARS_ROWS = pl.DataFrame({"a": X[:, 0]}).drop("a").height
CONTAINERS = {"pandas": pd.DataFrame, "polars": pl.DataFrame}
MAPS = {
    **{entry.name: entry.load() for entry in reduction.of_kind("map")},
    "laplacian_eigenmaps": lambda: LaplacianEigenmaps(disconnected="connect"),
    "isomap": lambda: Isomap(disconnected="connect"),
    # The table has two groups of 15 rows.
    "umap": lambda: UMAP(n_neighbors=20),
    # A short training.
    "autoencoder": lambda: Autoencoder(hidden_sizes=(8,), max_epochs=10),
}
ESTIMATORS = {
    "rank": lambda: RankSelector(FisherScore(), n_features=2),
    "rank, none kept": lambda: RankSelector(FisherScore(), threshold=1e9),
    "search": lambda: SubsetSelector(CFS(), Forward()),
    "knockoffs": lambda: KnockoffSelector(fdr=0.5, offset=0, random_state=0),
    **MAPS,
}


# Both tamiz and scikit-learn warn of an empty selection; another test checks this.
none_kept = pytest.mark.filterwarnings("ignore:.*No column scores at least", "ignore:.*No features were selected")


@none_kept
@pytest.mark.filterwarnings("ignore:.*Autoencoder")
@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_every_kind_of_table_comes_out_in_the_container_asked_for(estimator, table, container):
    data = TABLES[table]()
    fitted = ESTIMATORS[estimator]().set_output(transform=container).fit(data, Y)
    out = fitted.transform(data)
    assert isinstance(out, CONTAINERS[container])
    n_columns = len(fitted.get_feature_names_out())
    assert out.shape == (
        30 if n_columns or "polars" not in (container, table.replace("lazy", "polars")) else POLARS_ROWS,
        n_columns,
    )
    assert list(out.columns) == fitted.get_feature_names_out().tolist()
    if container == table == "pandas":
        assert out.index.equals(data.index)


SELECTORS = {
    **{name: make for name, make in ESTIMATORS.items() if name not in MAPS and name != "rank, none kept"},
    "redundancy": RedundancyFilter,
    "stability": lambda: StabilitySelector(FisherScore(), n_features=2, threshold=0.6, n_pairs=2, random_state=0),
    "boruta": lambda: BorutaSelector(max_iter=15, random_state=0),
}
FRAMES = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "arrow": pa.table}


@pytest.mark.filterwarnings("ignore:.*The bound on false selections")
@pytest.mark.parametrize("frame", FRAMES)
@pytest.mark.parametrize("selector", SELECTORS)
@pytest.mark.parametrize("read", [lambda table: table, open_table], ids=["frame", "table"])
def test_names_of_every_form_are_those_of_the_selected_columns(selector, frame, read):
    names = np.array([" blank", "a, b", "", "column_0"])
    data = FRAMES[frame](dict(zip(names.tolist(), X.T, strict=True)))
    fitted = SELECTORS[selector]().fit(data, Y)
    out = fitted.transform(read(data))
    wanted = names[fitted.get_support()].tolist()
    assert "" in wanted
    assert fitted.get_feature_names_out().tolist() == wanted
    assert (out.column_names if frame == "arrow" else list(out.columns)) == wanted


@pytest.mark.parametrize("table", ["pandas", "polars", "lazy", "arrow"])
@pytest.mark.parametrize(
    "estimator", [MixedNB(), RankSelector(FisherScore()), PCA(), LaplacianEigenmaps(disconnected="connect")]
)
def test_names_are_read_from_every_frame_and_checked(estimator, table):
    data = TABLES[table]()
    fitted = clone(estimator).fit(data, Y)
    assert fitted.feature_names_in_.tolist() == NAMES
    with pytest.raises(ValueError, match="feature names"):
        getattr(fitted, "transform", getattr(fitted, "predict", None))(
            nw.from_native(data).select("q", "p", "r", "s").to_native()
        )


def test_a_container_keeps_the_types_of_the_columns():
    frame = pl.DataFrame({"level": pl.Series(list("ab") * 15, dtype=pl.Categorical), "number": X[:, 0]})
    selector = RankSelector(FisherScore()).set_output(transform="pandas").fit(frame, Y)
    assert selector.transform(frame).dtypes.astype(str).to_dict() == {"level": "category", "number": "float64"}


@none_kept
@pytest.mark.parametrize("table", [*TABLES, "csv", "arff", "parquet"])
def test_a_selection_of_no_column_keeps_the_rows(table, tmp_path):
    if table in TABLES:
        data = TABLES[table]()
        args = (data, Y)
    else:
        data = open_table(write(tmp_path / f"rows.{table}"), "y")
        args = (data,)
    selector = RankSelector(FisherScore(), threshold=1e9).fit(*args)
    assert selector.transform(data).shape == (POLARS_ROWS if table in ("polars", "lazy") else 30, 0)
    if table not in TABLES:
        assert selector.set_output(transform="pandas").transform(data).shape == (30, 0)


def write(path):
    frame = pd.DataFrame(X, columns=NAMES).assign(y=Y)
    if path.suffix == ".csv":
        frame.to_csv(path, index=False)
    elif path.suffix == ".parquet":
        frame.to_parquet(path)
    else:
        head = "".join(f"@attribute {name} numeric\n" for name in NAMES)
        path.write_text(f"@relation r\n{head}@attribute y {{a,b}}\n@data\n{frame.to_csv(index=False, header=False)}")
    return path


def reads_names(frame):
    """Return whether scikit-learn itself reads the names of the columns of a frame."""
    return hasattr(FunctionTransformer().fit(frame), "feature_names_in_")


@none_kept
@pytest.mark.parametrize("table", ["pandas", "polars"])
def test_an_empty_selection_is_joined_with_the_columns_of_another_transformer(table):
    data = TABLES[table]()
    if table == "polars" and not (POLARS_ROWS and reads_names(data)):
        pytest.skip("scikit-learn joins frames of polars without columns from scikit-learn 1.9 and polars 2 on")
    none = RankSelector(FisherScore(), threshold=1e9)
    both = FeatureUnion([("none", none), ("two", RankSelector(FisherScore(), n_features=2))])
    assert both.fit_transform(data, Y).shape == (30, 2)
    parts = ColumnTransformer([("none", none, ["p", "q"]), ("rest", "passthrough", ["r", "s"])])
    assert parts.set_output(transform=table).fit_transform(data, Y).shape == (30, 2)


class Tensor:
    """An array of a library that is not installed: without dtype.kind and numpy methods, readable by a protocol only."""

    def __init__(self, values):
        self.values = np.ascontiguousarray(values)
        self.shape, self.ndim, self.dtype = self.values.shape, self.values.ndim, object()

    def __len__(self):
        return len(self.values)

    def __getitem__(self, at):
        return type(self)(self.values[at])

    def __dlpack__(self, **options):
        return self.values.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.values.__dlpack_device__()


class WithArray(Tensor):
    def __array__(self, dtype=None, copy=None):
        return np.array(self.values, dtype=dtype)


class OnGpu(Tensor):
    def __array__(self, dtype=None, copy=None):
        raise TypeError("can't convert cuda:0 device type tensor to numpy.")

    def __dlpack_device__(self):
        return (2, 0)


class OnGpuByDlpack(Tensor):
    def __dlpack__(self, **options):
        raise BufferError("Unsupported device in DLTensor.")


ROWS = np.random.default_rng(0).normal(size=(40, 4))
LABELS = (ROWS[:, 0] > 0).astype(int)
USERS = [
    RankSelector(InformationGain(), n_features=2),
    SubsetSelector(CFS(), n_features=2),
    SubsetSelector(CrossValidated("gaussian_nb", cv=3), n_features=2),
    PCA(2),
    LaplacianEigenmaps(2),
]


@pytest.mark.filterwarnings("ignore:.*(the place in the table decided|is arbitrary)")
@pytest.mark.parametrize("array", [Tensor, WithArray])
@pytest.mark.parametrize("estimator", USERS, ids=repr)
def test_arrays_of_other_libraries_give_what_arrays_of_numpy_do(estimator, array):
    expected = clone(estimator).fit(ROWS, LABELS).transform(ROWS)
    found = clone(estimator).fit(array(ROWS), array(LABELS)).transform(array(ROWS))
    np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("array", [Tensor, WithArray])
def test_labels_weights_and_classes_may_be_arrays_of_other_libraries(array):
    def fit(of):
        X, y, weight, classes = of(ROWS), of(LABELS), of(np.arange(40.0) % 4), of(np.arange(2))
        batches = MixedNB().partial_fit(X, y, classes=classes, sample_weight=weight).partial_fit(X, y, classes=classes)
        return [model.predict_proba(X) for model in (batches, MixedNB().fit(X, y, sample_weight=weight))]

    np.testing.assert_array_equal(fit(array), fit(np.asarray))
    pca = PCA(2).fit(array(ROWS))
    np.testing.assert_array_equal(pca.inverse_transform(array(ROWS[:, :2])), pca.inverse_transform(ROWS[:, :2]))


ARRAY_API_DISPATCH = """
import array_api_strict as xp, numpy as np, sklearn
from tamiz import MixedNB, RankSelector, SubsetSelector
from tamiz.criteria import CrossValidated, InformationGain
from tamiz.reduction import PCA
rng = np.random.default_rng(0)
X = rng.normal(size=(40, 4))
sklearn.set_config(array_api_dispatch=True)
for labels in (X[:, 0] > 0, (X[:, 0] > 0).astype(int)):
    rows, y = xp.asarray(X), xp.asarray(labels)
    for selector in (RankSelector(InformationGain()), SubsetSelector(CrossValidated("gaussian_nb", cv=3))):
        assert selector.fit(rows, y).transform(rows).shape[0] == 40
    assert (MixedNB().fit(rows, y).predict(rows) == MixedNB().fit(X, labels).predict(X)).all()
assert RankSelector("independence-test").fit(rows, xp.asarray(X[:, 1])).ranking_[0] == 1
assert PCA(2).fit(rows).inverse_transform(rows[:, :2]).shape == (40, 4)
"""


@pytest.mark.slow
def test_arrays_of_the_standard_under_dispatch():
    pytest.importorskip("array_api_strict", reason="array_api_strict is not installed")
    # scipy reads the variable when it is imported.
    environment = {**os.environ, "SCIPY_ARRAY_API": "1"}
    done = subprocess.run([sys.executable, "-W", "ignore", "-c", ARRAY_API_DISPATCH], env=environment, check=False)
    assert done.returncode == 0


@pytest.mark.filterwarnings("ignore:.*(the place in the table decided|is arbitrary)")
@pytest.mark.parametrize("array", [OnGpu, OnGpuByDlpack])
@pytest.mark.parametrize("estimator", USERS, ids=repr)
def test_arrays_that_numpy_cannot_read_are_refused_with_the_way_out(estimator, array):
    sentence = r"^numpy cannot read this .*OnGpu\w*: .*\. Convert it to a numpy array, .*X\.detach\(\)\.cpu\(\)\.numpy"
    with pytest.raises(TypeError, match=sentence):
        clone(estimator).fit(array(ROWS), LABELS)
    with pytest.raises(TypeError, match=sentence):
        clone(estimator).fit(ROWS, LABELS).transform(array(ROWS))
