"""Every selector and every map on every kind of table, with every container that `set_output` offers."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import FeatureUnion

from tamiz import RankSelector, SubsetSelector, open_source
from tamiz.criteria import CFS, FisherScore
from tamiz.reduction import LaplacianEigenmaps
from tamiz.reduction import registry as reduction
from tamiz.search import Forward

rng = np.random.default_rng(0)
X = rng.random((30, 4))
Y = np.repeat(["a", "b"], 15)
X[:, 2] += 3 * (Y == "a")
NAMES = ["p", "q", "r", "s"]
TABLES = {
    "array": lambda: X,
    "list": lambda: X.tolist(),
    "pandas": lambda: pd.DataFrame(X, columns=NAMES, index=np.arange(100, 130)),
    "polars": lambda: pl.DataFrame(X, schema=NAMES),
    "lazy": lambda: pl.LazyFrame(X, schema=NAMES),
    "arrow": lambda: pa.table(dict(zip(NAMES, X.T, strict=True))),
}
CONTAINERS = {"pandas": pd.DataFrame, "polars": pl.DataFrame}
MAPS = {
    **{entry.name: entry.load() for entry in reduction.of_kind("map")},
    "laplacian_eigenmaps": lambda: LaplacianEigenmaps(disconnected="connect"),
}
ESTIMATORS = {
    "rank": lambda: RankSelector(FisherScore(), n_features=2),
    "rank, none kept": lambda: RankSelector(FisherScore(), threshold=1e9),
    "search": lambda: SubsetSelector(CFS(), Forward()),
    **MAPS,
}


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_every_kind_of_table_comes_out_in_the_container_asked_for(estimator, table, container):
    given = TABLES[table]()
    fitted = ESTIMATORS[estimator]().set_output(transform=container).fit(given, Y)
    out = fitted.transform(given)
    assert isinstance(out, CONTAINERS[container])
    assert out.shape == (30, len(fitted.get_feature_names_out()))
    assert list(out.columns) == fitted.get_feature_names_out().tolist()
    if container == table == "pandas":
        assert out.index.equals(given.index)


def test_a_container_keeps_the_types_of_the_columns():
    frame = pl.DataFrame({"level": pl.Series(list("ab") * 15, dtype=pl.Categorical), "number": X[:, 0]})
    selector = RankSelector(FisherScore()).set_output(transform="pandas").fit(frame, Y)
    assert selector.transform(frame).dtypes.astype(str).to_dict() == {"level": "category", "number": "float64"}


@pytest.mark.parametrize("table", [*TABLES, "csv", "arff", "parquet"])
def test_a_selection_of_no_column_keeps_the_rows(table, tmp_path):
    if table in TABLES:
        given = TABLES[table]()
        args = (given, Y)
    else:
        given = open_source(write(tmp_path / f"rows.{table}"), "y")
        args = (given,)
    selector = RankSelector(FisherScore(), threshold=1e9).fit(*args)
    assert selector.transform(given).shape == (30, 0)
    if table not in TABLES:
        assert selector.set_output(transform="pandas").transform(given).shape == (30, 0)


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


@pytest.mark.parametrize("table", ["pandas", "polars"])
def test_no_column_stands_beside_those_of_another_transformer(table):
    given = TABLES[table]()
    none = RankSelector(FisherScore(), threshold=1e9)
    both = FeatureUnion([("none", none), ("two", RankSelector(FisherScore(), n_features=2))])
    assert both.fit_transform(given, Y).shape == (30, 2)
    parts = ColumnTransformer([("none", none, ["p", "q"]), ("rest", "passthrough", ["r", "s"])])
    assert parts.set_output(transform=table).fit_transform(given, Y).shape == (30, 2)
