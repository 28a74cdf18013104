"""A table has the same schema and the same numbers from every type of table."""

import csv
import datetime as dt
from contextlib import contextmanager, nullcontext

import distributed
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from sklearn.base import clone

from tamiz import RankSelector, RedundancyFilter, SubsetSelector, criteria, open_table, selection_report
from tamiz.criteria import MDL, InformationGain, MutualInformation
from tamiz.exceptions import TamizWarning
from tamiz.graphs import SameClass
from tamiz.graphs.row_graph import needs_graph
from tamiz.reduction import PCA, ClassicalMDS
from tamiz.reduction.table_embedding import embed_table
from tamiz.runtime.executors import open_executor
from tamiz.search import BestFirst, Forward
from tamiz.statistics.contingency import Coding, ContingencyTables
from tamiz.statistics.cuts import CutPoints
from tamiz.statistics.moments import ClassMoments
from tamiz.table import column_storage, worker_tasks
from tamiz.table.base import PIECE_ROWS
from tamiz.table.column_storage import FileColumn

N = 200


def make_columns():
    rng = np.random.default_rng(7)
    numbers = (rng.normal(size=N) * 10.0 ** rng.integers(-8, 9, N)).tolist()
    return {
        "number": [None if k % 17 == 3 else x for k, x in enumerate(numbers)],
        "whole": rng.integers(-5, 1000, N).tolist(),
        "colour": [None if k % 13 == 5 else ["red", "dark blue", "o'hara", "a,b"][k % 4] for k in range(N)],
        "grade": [str(k % 12) + "th" for k in range(N)],
        "flag": [None if k % 19 == 1 else bool(k % 3) for k in range(N)],
        "day": [None if k % 11 == 2 else dt.datetime(1969, 12, 1) + dt.timedelta(hours=7 * k) for k in range(N)],
        "constant": [2.5] * N,
        "empty": [None] * N,
        "code": [f"n{k}" for k in range(N)],
        "id": list(range(1, N + 1)),
        "class": [None if k == 50 else "pqr"[k % 3] for k in range(N)],
    }


COLUMNS = make_columns()
NUMBERS = ["number", "whole", "constant", "empty"]


def as_pandas(path):
    return pd.DataFrame(COLUMNS)


def as_polars(path):
    return pl.DataFrame(COLUMNS)


def as_arrow(path):
    return pa.table(COLUMNS)


def as_parquet(path):
    pq.write_table(pa.table(COLUMNS), path / "table.parquet", row_group_size=64)
    return path / "table.parquet"


def as_feather(path):
    pyarrow.feather.write_feather(pa.table(COLUMNS), path / "table.feather", chunksize=64)
    return path / "table.feather"


def as_text(path, name, delimiter):
    with (path / name).open("w", newline="") as file:
        writer = csv.writer(file, delimiter=delimiter)
        writer.writerow(COLUMNS)
        writer.writerows(zip(*COLUMNS.values(), strict=True))
    return path / name


def as_csv(path):
    return as_text(path, "table.csv", ",")


def as_tsv(path):
    return as_text(path, "table.tsv", "\t")


def as_arff(path):
    def word(value):
        if value is None:
            return "?"
        if isinstance(value, dt.datetime):
            return f"'{value:%Y-%m-%dT%H:%M:%S}'"
        return repr(value) if isinstance(value, int | float) else "'" + value.replace("'", "\\'") + "'"

    types = {
        "day": "date",
        "code": "string",
        "colour": "string",
        "grade": "string",
        "class": "{p,q,r}",
        "flag": "{False,True}",
    }
    lines = ["@relation same", *(f"@attribute {name} {types.get(name, 'numeric')}" for name in COLUMNS), "@data"]
    lines += [",".join(map(word, row)) for row in zip(*COLUMNS.values(), strict=True)]
    (path / "table.arff").write_text("\n".join(lines))
    return path / "table.arff"


WAYS = [as_polars, as_arrow, as_parquet, as_feather, as_csv, as_tsv, as_arff]


def described(table, *, without_kind=()):
    return [
        (c.name, None if c.name in without_kind else c.kind, c.levels, c.n_missing, c.constant, c.exclusion_reason)
        for c in (*table.schema.columns, table.schema.target)
    ]


@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
def test_every_table_gives_the_same_schema_and_bits(way, tmp_path):
    expected = open_table(as_pandas(tmp_path), target="class")
    table = open_table(way(tmp_path), target="class")
    # ARFF has no booleans: they are nominal with the same levels.
    without_kind = ("flag",) if way is as_arff else ()
    assert described(table, without_kind=without_kind) == described(expected, without_kind=without_kind)
    assert (table.schema.n_rows, table.schema.n_dropped) == (N - 1, 1)
    (block,), (wanted,) = table.blocks(), expected.blocks()
    assert block.numeric_columns == wanted.numeric_columns
    assert block.numeric.tobytes() == wanted.numeric.tobytes()
    assert block.categorical_columns == wanted.categorical_columns
    assert np.array_equal(block.codes, wanted.codes)
    assert np.array_equal(block.y, wanted.y)


def test_an_array_gives_the_same_bits_as_a_frame():
    array = np.array([COLUMNS[name] for name in NUMBERS], dtype=float).T  # None becomes NaN
    table, expected = open_table(array), open_table(pd.DataFrame(COLUMNS)[NUMBERS])
    fingerprints = [
        [(c.kind, c.n_missing, c.constant, c.exclusion_reason) for c in s.schema.columns] for s in (table, expected)
    ]
    assert fingerprints[0] == fingerprints[1]
    (block,), (wanted,) = table.blocks(), expected.blocks()
    assert np.ascontiguousarray(block.numeric).tobytes() == np.ascontiguousarray(wanted.numeric).tobytes()


def test_the_table_has_what_the_comparison_is_about(tmp_path):
    schema = open_table(as_pandas(tmp_path), target="class").schema
    assert [c.kind for c in schema.columns] == [
        "numeric", "numeric", "categorical", "categorical", "boolean", "date", "numeric", "numeric", "id", "id",
    ]  # fmt: skip
    assert schema.target.levels == ("p", "q", "r")


# Files that are read in pieces

N_LARGE = 3 * PIECE_ROWS + 777


@pytest.fixture(scope="module")
def large():
    """More rows than one piece, with missing values, ties and categories."""
    rng = np.random.default_rng(11)
    y = rng.integers(0, 3, N_LARGE)
    normal = (rng.normal(size=(N_LARGE, 4)) + y[:, None] * [2.0, 1.0, 0.3, 0.0]).round(3)
    normal[rng.random((N_LARGE, 4)) < 0.03] = np.nan
    columns = {f"n{j}": normal[:, j] for j in range(4)}
    columns |= {
        "whole": rng.integers(0, 40, N_LARGE) + y,
        "colour": np.array(["red", "green", "blue"], dtype=object)[(y + (rng.random(N_LARGE) < 0.4)) % 3],
        "flag": rng.random(N_LARGE) < 0.3 + 0.1 * y,
        "weight": rng.integers(1, 4, N_LARGE) / 2,
        "y": np.array(["p", "q", "r"], dtype=object)[y],
    }
    frame = pd.DataFrame(columns)
    frame.loc[rng.random(N_LARGE) < 0.02, "colour"] = None
    frame.loc[rng.random(N_LARGE) < 0.01, "y"] = None
    return frame


def large_csv(frame, folder):
    frame.to_csv(folder / "large.csv", index=False)
    return folder / "large.csv"


def large_parquet(frame, folder):
    """A folder of seven files whose boundaries are not those of the pieces."""
    (folder / "parts").mkdir()
    for k, rows in enumerate(np.array_split(np.arange(N_LARGE), 7)):
        frame.iloc[rows].to_parquet(folder / "parts" / f"part-{k}.parquet", row_group_size=5000, index=False)
    return folder / "parts"


@contextmanager
def two_processes():
    with open_executor(2, None) as executor:
        yield executor


@contextmanager
def dask_cluster():
    """Two processes of Dask, each a scheduler's worker with one thread."""
    with (
        distributed.LocalCluster(
            n_workers=2, threads_per_worker=1, dashboard_address=None, worker_dashboard_address=None
        ) as cluster,
        distributed.Client(cluster, set_as_default=False) as client,
    ):
        yield client.get_executor(pure=False)


@pytest.fixture(
    scope="module",
    params=[
        (large_csv, nullcontext),
        (large_parquet, nullcontext),
        pytest.param((large_parquet, two_processes), marks=pytest.mark.slow),
        pytest.param((large_parquet, dask_cluster), marks=pytest.mark.slow),
    ],
    ids=["csv", "parquet in 7 pieces", "processes", "dask"],
)
def both(request, large, tmp_path_factory):
    """The table in memory, and the same table from a file, with its columns stored on disk or read by workers."""
    write, make_executor = request.param
    path = write(large, tmp_path_factory.mktemp("large"))
    with pytest.MonkeyPatch.context() as patch, make_executor() as executor:
        patch.setattr(column_storage, "MAX_MEMORY_SHARE", 0.0)
        patch.setattr(worker_tasks, "MIN_WORKER_VALUES", 0)
        pairs = [
            (open_table(large, "y", weight=weight), open_table(path, "y", weight=weight, executor=executor))
            for weight in (None, "weight")
        ]
        for _, table in pairs:
            (block,) = table.blocks()
            assert all(isinstance(values, FileColumn) for values in block.values.values())
        yield pairs
        # Each of the tests has sent tasks.
        assert executor is None or all(table.workers.moved.n_tasks for _, table in pairs)


def relevances():
    """Every relevance without a graph, with each of its rules for missing values; relevances of models are slow."""
    # As few fits as possible.
    few_of = {
        "permutation_importance": {"cv": 2, "n_repeats": 1},
        "tree_importance": {"n_rounds": 1},
        "linear_coefficient": {"max_rows": 2000},
        "relieff": {"max_rows": 1000},
        "multisurf": {"max_rows": 1000},
    }
    for entry in criteria.registry.of_kind("relevance"):
        part = entry.load()()
        if needs_graph(part):
            continue
        for missing in ("distribute", "category") if "missing" in part.get_params() else ("",):
            few = few_of.get(entry.name, {})
            marks = pytest.mark.slow if few else ()
            yield pytest.param(
                clone(part).with_missing(missing).set_params(**few), id=f"{entry.name} {missing}".strip(), marks=marks
            )


@pytest.mark.filterwarnings(
    "ignore:.*Criteria that fit a model",
    "ignore:.*(LinearCoefficient|ReliefF|MultiSURF) reads [12],000 of",
    "ignore:.*IndependenceTest",
)
@pytest.mark.parametrize("relevance", list(relevances()))
def test_every_relevance_scores_a_file_piece_by_piece_as_the_table_in_memory(both, relevance):
    for expected, table in both:
        if table.schema.weight is not None and isinstance(relevance, MutualInformation):
            # It refuses sampling weights.
            continue
        with pytest.warns(TamizWarning, match="without a target were left out"):
            scores = [RankSelector(relevance).fit(given).scores_ for given in (table, expected)]
        np.testing.assert_array_equal(*scores)
        assert np.count_nonzero(scores[0]) >= 5


def test_counts_cuts_and_class_moments_of_a_file_are_those_of_the_table_in_memory(both):
    for expected, table in both:
        schema = table.schema
        (cuts,) = table.reduce(CutPoints(schema.numeric, MDL(), schema.n_classes))
        sizes = {**schema.n_levels, schema.n_columns: schema.n_classes}
        coding = Coding({**sizes, **{j: len(edges) + 1 for j, edges in cuts.edges.items()}}, cuts.edges)
        wanted = [
            CutPoints(schema.numeric, MDL(), schema.n_classes),
            ContingencyTables([(int(j), schema.n_columns) for j in schema.used], coding),
            ClassMoments(schema.numeric, schema.n_classes),
        ]
        found, reference = table.reduce(*wanted), expected.reduce(*wanted)
        assert {j: edges.tolist() for j, edges in found[0].edges.items()} == {
            j: edges.tolist() for j, edges in reference[0].edges.items()
        }
        assert sum(map(len, found[0].edges.values())) >= 5
        for a, b in zip(found[1].tables, reference[1].tables, strict=True):
            np.testing.assert_array_equal(a, b)
        for fact in ("weight", "mean", "squared_deviations", "minimum", "maximum"):
            np.testing.assert_array_equal(getattr(found[2], fact), getattr(reference[2], fact))


def test_pca_of_a_file_is_that_of_the_table_in_memory(both):
    for expected, table in both:
        with pytest.warns(TamizWarning):
            found, reference = PCA(3).fit(table), PCA(3).fit(expected)
        for fact in ("explained_variance_", "components_", "mean_", "embedding_"):
            np.testing.assert_allclose(getattr(found, fact), getattr(reference, fact), rtol=1e-10, atol=1e-10)


@pytest.mark.filterwarnings("ignore::tamiz.exceptions.TamizWarning")
@pytest.mark.parametrize(
    "merit",
    [
        pytest.param(entry.load()(), marks=() if entry.name == "cfs" else pytest.mark.slow)
        for entry in criteria.registry.of_kind("merit")
    ],
    ids=lambda merit: type(merit).__name__,
)
def test_a_choice_of_columns_from_a_file_is_that_from_memory(both, merit):
    search = BestFirst() if isinstance(merit, criteria.CFS) else Forward()
    for expected, table in both:
        chosen = [SubsetSelector(clone(merit), search, n_features=3).fit(given) for given in (table, expected)]
        assert chosen[0].merit_ == chosen[1].merit_
        assert chosen[0].get_support().tolist() == chosen[1].get_support().tolist()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::tamiz.exceptions.TamizWarning")
@pytest.mark.parametrize("model", ["naive_bayes", "linear", "ridge"])
def test_a_model_chooses_from_a_file_what_it_chooses_from_memory(both, model):
    # Discriminant analysis accepts no weights.
    for expected, table in both[: 1 + (model != "linear")]:
        merit = criteria.CrossValidated(model, cv=3)
        chosen = [SubsetSelector(merit, Forward(), n_features=3).fit(given) for given in (table, expected)]
        np.testing.assert_allclose(chosen[0].merit_, chosen[1].merit_, rtol=1e-9)
        assert chosen[0].get_support().tolist() == chosen[1].get_support().tolist()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::tamiz.exceptions.TamizWarning")
def test_laplacian_scores_and_redundant_columns_of_a_file_are_those_of_the_table_in_memory(both):
    for expected, table in both:
        graph = SameClass()
        scores = [RankSelector(criteria.LaplacianScore(graph=graph)).fit(given).scores_ for given in (table, expected)]
        np.testing.assert_allclose(*scores, rtol=1e-12)
        for measure in ("kinds", "symmetric_uncertainty"):
            kept = [RedundancyFilter(measure, threshold=0.5).fit(given).get_support() for given in (table, expected)]
            assert kept[0].tolist() == kept[1].tolist()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::tamiz.exceptions.TamizWarning")
def test_the_nested_score_of_a_selection_in_a_file_is_that_in_memory(both):
    ranking = RankSelector(InformationGain(), n_features=2)
    (expected, table), _ = both
    reports = [
        selection_report(ranking, given, n_splits=3, n_permutations=0, random_state=0) for given in (table, expected)
    ]
    assert reports[0].to_dict() == reports[1].to_dict()


@pytest.mark.filterwarnings("ignore::tamiz.exceptions.TamizWarning")
@pytest.mark.parametrize("reducer", [PCA(2), ClassicalMDS(2)], ids=lambda one: type(one).__name__)
def test_a_map_of_a_sample_maps_the_other_rows_of_a_file_to_the_same_places(both, reducer):
    for expected, table in both[:1]:
        found, reference = (embed_table(clone(reducer), given, None, 300, 0) for given in (table, expected))
        np.testing.assert_array_equal(found.embedding, reference.embedding)
        assert found.n_fitted == reference.n_fitted
