import json
import re
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from click.testing import Result
from tests.sentences import sentences

from tamiz import load, open_table
from tamiz.cli import files
from tamiz.graphs import Binary, KNearest
from tamiz.graphs import row_graph as graph
from tamiz.reduction import MDS, PCA, ClassicalMDS, LaplacianEigenmaps, table_embedding
from tamiz.runtime.random import sample_rows
from tamiz.runtime.user_warnings import capture_warnings

from .test_bad_input import DATA

# Some versions of pandas read numbers to 15 digits by default.
read_csv = partial(pd.read_csv, float_precision="round_trip")
METHODS = ["pca", "mds", "mds:ordinal", "classical-mds", "landmark-mds", "stochastic-mds", "laplacian-eigenmaps"]


@pytest.fixture
def mixed(write: Callable[..., Path]) -> Path:
    """Numbers, a category with gaps, an id and a target that some rows lack."""
    rng = np.random.default_rng(0)
    n = 80
    table = pd.DataFrame(
        {
            "key": [f"k{i}" for i in range(n)],
            "u": rng.normal(size=n).round(6),
            "v": rng.normal(size=n).round(6),
            "c": [None if i % 9 == 0 else "pqr"[i % 3] for i in range(n)],
            "y": [None if i < 3 else "ab"[i % 2] for i in range(n)],
        }
    )
    return write(table.to_csv(index=False))


def shown(done: Result) -> pd.DataFrame:
    assert done.exit_code == 0, done.stderr
    lines = [line.split("\t") for line in done.stdout.splitlines()]
    return pd.DataFrame(lines[1:], columns=lines[0])


def numbers(done: Result) -> np.ndarray[Any, Any]:
    return shown(done).astype(float).to_numpy()


def test_every_row_has_exact_coordinates_in_a_pipe(tamiz: Callable[..., Result], iris: Path) -> None:
    done = tamiz("reduce", iris, "--target", "species")
    expected = PCA(2, standardize=True).fit(pd.read_csv(iris).drop(columns="species"))
    assert list(shown(done).columns) == ["pca0", "pca1"] == expected.get_feature_names_out().tolist()
    np.testing.assert_array_equal(numbers(done), expected.embedding_)
    assert "PCA. Share of the total variance: PC 1 0.7296, PC 2 0.2285." in done.stderr


def test_a_map_is_that_of_the_estimator(tamiz: Callable[..., Result], iris: Path) -> None:
    X = pd.read_csv(iris).drop(columns="species")
    command = ["reduce", iris, "-t", "species"]
    mds = MDS(3, kind="ordinal", dissimilarity="gower", random_state=5).fit(X)
    found = numbers(tamiz(*command, "--method", "mds:ordinal", "-k", 3, "--dissimilarity", "gower", "--seed", 5))
    np.testing.assert_array_equal(found, mds.embedding_)
    graph = (
        KNearest(7, metric="seuclidean", weight=Binary()).build(open_table(X), fill_missing=True).connect_components()
    )
    found = numbers(tamiz(*command, "--method", "laplacian", "--graph", "knn:7"))
    np.testing.assert_array_equal(found, LaplacianEigenmaps(2, graph=graph).fit(X).embedding_)


@pytest.mark.parametrize("missing", ["mean", "pairwise", "iterative"])
def test_missing_values_are_taken_by_the_rule_of_pca(
    tamiz: Callable[..., Result], write: Callable[..., Path], missing: str
) -> None:
    X = np.random.default_rng(1).normal(size=(40, 3)).round(5)
    X[::7, 1] = np.nan
    path = write(pd.DataFrame(X, columns=["a", "b", "c"]).to_csv(index=False))
    with capture_warnings():
        expected = PCA(2, standardize=True, missing=missing).fit(X)
    np.testing.assert_array_equal(numbers(tamiz("reduce", path, "--missing", missing)), expected.embedding_)


def test_categories_are_weighted_as_asked(tamiz: Callable[..., Result], write: Callable[..., Path]) -> None:
    rng = np.random.default_rng(1)
    frame = pd.DataFrame({"a": rng.normal(size=60), "kind": rng.choice(list("pqrs"), 60)})
    path = write(frame.to_csv(index=False))
    for asked, categories in (((), "balanced"), (("--categories", "famd"), "famd")):
        expected = PCA(2, standardize=True, categories=categories).fit(read_csv(path)).embedding_
        np.testing.assert_array_equal(numbers(tamiz("reduce", path, *asked)), expected)
    assert tamiz("reduce", path, "--method", "mds", "--categories", "famd").exit_code == 2


def test_rows_without_a_target_have_a_place_and_the_target_no_part(tamiz: Callable[..., Result], mixed: Path) -> None:
    done = tamiz("reduce", mixed, "-t", "y")
    assert len(shown(done)) == 80
    assert "2 of 5 columns are excluded: key (all values are distinct), y (it is the target)." in done.stderr
    table = pd.read_csv(mixed).drop(columns="y")
    np.testing.assert_array_equal(numbers(done), numbers(tamiz("reduce", mixed, "--kinds", "y=id")))
    assert len(table) == 80


def test_independent_components_have_two_coordinates_unless_asked_for_more(
    tamiz: Callable[..., Result], mixed: Path
) -> None:
    for options, n in (((), 2), (("-k", "3"), 3)):
        done = tamiz("reduce", mixed, "-t", "y", "--method", "ica", *options)
        assert done.exit_code == 0
        assert list(shown(done).columns) == [f"ica{k}" for k in range(n)]


def test_columns_are_carried_along(tamiz: Callable[..., Result], folder: Path, mixed: Path) -> None:
    done = tamiz("reduce", mixed, "-t", "y", "--keep", "key", "--keep", "y", "-o", "map.csv")
    assert (done.exit_code, done.stdout) == (0, "")
    assert "Written: map.csv" in done.stderr
    written = pd.read_csv(folder / "map.csv")
    assert list(written.columns) == ["key", "y", "pca0", "pca1"]
    pd.testing.assert_frame_equal(written[["key", "y"]], pd.read_csv(mixed)[["key", "y"]])


@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("m.csv", read_csv),
        ("m.tsv", partial(read_csv, sep="\t")),
        ("m.parquet", pd.read_parquet),
        ("m.arrow", pd.read_feather),
    ],
)
def test_output_is_written_by_its_ending(
    tamiz: Callable[..., Result], folder: Path, iris: Path, name: str, read: Callable[[Path], pd.DataFrame]
) -> None:
    assert tamiz("reduce", iris, "-t", "species", "-o", name).exit_code == 0
    np.testing.assert_array_equal(read(folder / name).to_numpy(), numbers(tamiz("reduce", iris, "-t", "species")))
    assert [path.name for path in folder.iterdir()] == [name]


def test_a_name_with_a_slash_at_its_end_is_a_new_folder_of_parquet_files(
    tamiz: Callable[..., Result], folder: Path, iris: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(files, "_PART_ROWS", 60)
    assert tamiz("reduce", iris, "-t", "species", "--keep", "species", "-o", "map/").exit_code == 0
    assert sorted(path.name for path in (folder / "map").iterdir()) == [f"part-0000{k}.parquet" for k in range(3)]
    assert [path.name for path in folder.iterdir()] == ["map"]
    expected = numbers(tamiz("reduce", iris, "-t", "species"))
    np.testing.assert_array_equal(pd.read_parquet(folder / "map")[["pca0", "pca1"]].to_numpy(), expected)
    done = tamiz("reduce", iris, "-o", "map/")
    assert (done.exit_code, done.stderr) == (1, "tamiz: map is a folder; name a file in it.\n")


def test_json_describes_the_map(tamiz: Callable[..., Result], iris: Path) -> None:
    found = json.loads(tamiz("reduce", iris, "-t", "species", "--json", "-q").stdout)
    assert found["method"] == {"name": "pca", "label": "PCA"}
    assert (found["rows"], found["fitted_rows"], found["target"]) == (150, 150, "species")
    assert (found["coordinates"], found["axes"]) == (["pca0", "pca1"], ["PC 1", "PC 2"])
    assert found["spectrum"]["cumulative"] == pytest.approx([0.729624, 0.958132], abs=1e-6)
    assert found["stress"] is None
    assert "1 of 5 columns is excluded: species (it is the target)." in sentences(found)
    found = json.loads(tamiz("reduce", iris, "-t", "species", "--method", "mds", "--json", "-q").stdout)
    X = pd.read_csv(iris).drop(columns="species")
    assert found["stress"] == MDS(dissimilarity="seuclidean", random_state=0).fit(X).stress_
    assert found["spectrum"]["values"] == []


@pytest.mark.parametrize("method", ["pca", "mds", "classical-mds", "laplacian-eigenmaps"])
def test_the_model_is_the_fitted_map(tamiz: Callable[..., Result], folder: Path, iris: Path, method: str) -> None:
    done = tamiz("reduce", iris, "-t", "species", "--method", method, "--model", "map.tamiz")
    assert "Written: map.tamiz" in done.stderr
    reducer = load(folder / "map.tamiz")
    np.testing.assert_array_equal(reducer.embedding_, numbers(done))
    assert reducer.schema_.names == pd.read_csv(iris).columns.tolist()
    np.testing.assert_array_equal(reducer.transform(pd.read_csv(iris).iloc[3:5]), numbers(done)[3:5])


@pytest.mark.parametrize("method", ["mds", "mds:ordinal", "classical-mds"])
def test_a_large_table_is_fitted_on_a_sample_and_the_others_placed(
    tamiz: Callable[..., Result], folder: Path, iris: Path, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ["reduce", iris, "-t", "species", "--method", method, "--map-rows", 40, "--seed", 3]
    done = tamiz(*command, "--model", "m.tamiz")
    assert (
        "Fitted on 40 of the 150 rows, drawn at random; the other 110 rows were mapped by the out-of-sample extension."
        in done.stderr
    )
    reducer = load(folder / "m.tamiz")
    assert len(reducer.embedding_) == 40
    np.testing.assert_array_equal(numbers(done), reducer.transform(pd.read_csv(iris)))
    # However many rows are placed at a time, and on however many threads.
    monkeypatch.setattr(table_embedding, "_BLOCK_ROWS", 7)
    assert tamiz(*command, "-j", 1).stdout == done.stdout
    assert tamiz(*command, "--seed", 4).stdout != done.stdout


def test_a_column_without_a_value_in_the_sample_is_no_trouble(
    tamiz: Callable[..., Result], write: Callable[..., Path]
) -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(200, 2)).round(5), columns=["a", "b"]).assign(rare=None)
    drawn = sample_rows(200, 30, np.random.default_rng(0))
    table.loc[np.setdiff1d(np.arange(200), drawn)[0], "rare"] = 7.0
    path = write(table.to_csv(index=False))
    done = tamiz("reduce", path, "--method", "mds", "--map-rows", 30)
    assert "rare (no value is present)" in done.stderr
    without = write(table.drop(columns="rare").to_csv(index=False), "without.csv")
    np.testing.assert_array_equal(numbers(done), numbers(tamiz("reduce", without, "--method", "mds", "--map-rows", 30)))


def test_a_graph_of_a_sample_places_the_other_rows(
    tamiz: Callable[..., Result], folder: Path, iris: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(graph, "_MAX_GRAPH_ROWS", 60)
    done = tamiz("reduce", iris, "-t", "species", "--method", "laplacian", "--model", "m.tamiz")
    assert "The graph joins 60 of the 150 rows, drawn at random" in done.stderr
    assert (
        "Fitted on 60 of the 150 rows, drawn at random; the other 90 rows were mapped by the out-of-sample extension."
        in done.stderr
    )
    reducer = load(folder / "m.tamiz")
    assert reducer.graph_.n_samples == 60
    rows = pd.read_csv(iris)
    # Of equal rows the graph's neighbours differ, and a new row is placed where the first of them is.
    first = ~rows.duplicated().to_numpy()
    np.testing.assert_array_equal(numbers(done)[first], reducer.transform(rows)[first])


@pytest.mark.slow
def test_a_method_that_is_named_imports_no_other(iris: Path) -> None:
    script = (
        f"import sys\nfrom tamiz.cli import main\ntry:\n    main(['reduce', '{iris}', '-q'])\nfinally:\n"
        "    print([m for m in sys.modules if m.startswith('tamiz.reduction.m')], file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert done.stderr.splitlines()[-1] == "[]"


def test_classes_join_the_rows_that_have_one(tamiz: Callable[..., Result], mixed: Path) -> None:
    done = tamiz("reduce", mixed, "-t", "y", "--method", "laplacian", "--graph", "same-class")
    assert done.exit_code == 1
    assert "tamiz: The same-class graph falls into" in done.stderr
    assert "3 rows without a target were left out." in done.stderr


@pytest.mark.parametrize("n", [1, 2, 5])
def test_small_tables_have_as_many_coordinates_as_there_can_be(
    tamiz: Callable[..., Result], write: Callable[..., Path], n: int
) -> None:
    rows = "".join(f"{i * i},{i}.5\n" for i in range(n))
    for method in METHODS:
        done = tamiz("reduce", write(f"a,b\n{rows}"), "--method", method)
        if n == 1:
            assert done.exit_code == 1
            assert "The table has 1 sample (row); at least 2 are needed." in done.stderr
        elif done.exit_code:
            # Two rows have one distance, in whose order there is nothing.
            assert (n, method, done.exit_code) == (2, "mds:ordinal", 1)
        else:
            assert shown(done).shape[1] == (1 if n == 2 and method != "pca" else 2)


def test_a_table_of_one_column_has_one_coordinate(tamiz: Callable[..., Result], write: Callable[..., Path]) -> None:
    path = write("a\n1\n2\n4\n")
    assert shown(tamiz("reduce", path)).shape == (3, 1)
    done = tamiz("reduce", path, "-k", 2)
    assert done.exit_code == 1
    assert "n_components" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--method", "pcaa"], "'pcaa' is no map (did you mean 'pca'?); there are: "),
        (["--method", "mds:nominal"], "--method: 'mds:nominal' is no map"),
        (["--components", "0"], "0 is not in the range x>=1"),
        (["--dissimilarity", "gower"], "PCA has no option --dissimilarity; leave it out."),
        (["--method", "mds", "--missing", "mean"], "Metric MDS has no option --missing; leave it out."),
        (["--method", "mds", "--graph", "knn:5"], "Metric MDS uses no graph: leave out --graph and --t."),
        (
            ["--method", "laplacian", "--graph", "same-class"],
            "connects rows of one class: name its column with --target.",
        ),
        (["--model", "-"], "a model is written to a file; name one."),
        (["-o", "-"], "The coordinates are written to standard output by default; name a file with --output."),
        (
            ["-o", "map.xlsx"],
            "map.xlsx: the extension of a table must be one of csv, tsv, txt, parquet, arrow, feather",
        ),
    ],
)
def test_a_wrong_command_line_is_an_error(
    tamiz: Callable[..., Result], folder: Path, iris: Path, arguments: list[str], sentence: str
) -> None:
    done = tamiz("reduce", iris, *arguments)
    assert (done.exit_code, done.stdout) == (2, "")
    assert sentence in done.stderr
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--keep", "specie"], "There is no column 'specie' to keep (did you mean 'species'?)."),
        (["-t", "specie"], "There is no column 'specie' for the target (did you mean 'species'?)."),
        (["-t", "species", "-k", "9"], "n_components"),
        (["--method", "mds", "-k", "150"], "n_components must be below the number of rows = 150, got 150."),
        (["--model", "nowhere/m.tamiz"], "There is no folder nowhere; create it, or write m.tamiz elsewhere."),
        (["-o", "m.csv", "--model", "m.csv"], "m.csv is already the name of another output"),
        (["--method", "mds", "--weight", "petal_width"], "does not support sample weights"),
    ],
)
def test_impossible_requests_are_an_error_of_one_sentence_without_a_file(
    tamiz: Callable[..., Result], folder: Path, iris: Path, arguments: list[str], sentence: str
) -> None:
    done = tamiz("reduce", iris, "-q", *arguments)
    assert (done.exit_code, done.stdout) == (1, "")
    assert sentence in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize("case", [case for case in DATA if "target" not in case and case != "one row"])
def test_bad_data_end_in_one_sentence_and_no_file(
    tamiz: Callable[..., Result], folder: Path, write: Callable[..., Path], case: str
) -> None:
    text, arguments, sentence = DATA[case]
    if text is not None:
        write(text)
    before = list(folder.iterdir())
    done = tamiz("reduce", "data.csv", "-t", "y", *arguments, "-o", "map.csv", "--model", "map.tamiz")
    assert (done.exit_code, done.stdout) == (1, "")
    (line,) = done.stderr.splitlines()
    assert re.search(sentence, line)
    assert list(folder.iterdir()) == before


def test_a_column_to_keep_may_not_be_called_as_a_coordinate(
    tamiz: Callable[..., Result], write: Callable[..., Path]
) -> None:
    done = tamiz("reduce", write("pca0,b\n1,2\n2,5\n4,1\n"), "--keep", "pca0")
    assert done.exit_code == 1
    assert "The column 'pca0' to keep has the name of a coordinate; rename it in the table." in done.stderr


def test_an_interrupted_map_leaves_nothing(
    tamiz: Callable[..., Result], folder: Path, iris: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("pyarrow.csv.write_csv", interrupt)
    done = tamiz("reduce", iris, "-t", "species", "-o", "map.csv")
    assert (done.exit_code, done.stdout) == (130, "")
    assert list(folder.iterdir()) == []


def test_weights_count_in_pca(tamiz: Callable[..., Result], write: Callable[..., Path]) -> None:
    X = np.random.default_rng(0).normal(size=(30, 3)).round(4)
    weight = np.arange(30) % 4
    path = write(pd.DataFrame(X, columns=["a", "b", "c"]).assign(w=weight).to_csv(index=False))
    done = tamiz("reduce", path, "--weight", "w")
    np.testing.assert_array_equal(numbers(done), PCA(2, standardize=True).fit(X, sample_weight=weight).embedding_)


# Models of selections


def test_a_ranking_keeps_its_best_columns_in_a_model(tamiz: Callable[..., Result], folder: Path, iris: Path) -> None:
    done = tamiz("rank", iris, "-t", "species", "--top", 2, "--model", "best.tamiz")
    assert "Written: best.tamiz" in done.stderr
    kept = load(folder / "best.tamiz").transform(pd.read_csv(iris).drop(columns="species"))
    assert sorted(kept.columns) == sorted(shown(done)["column"])
    done = tamiz("rank", iris, "-t", "species", "--model", "all.tamiz")
    assert done.exit_code == 2
    assert "--model needs the number of columns to keep, set with --top, or --fdr." in done.stderr


@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
@pytest.mark.parametrize(
    "how",
    [
        ["--merit", "cfs", "--search", "genetic", "--max-evaluations", 30, "--journal", "search.journal"],
        ["--merit", "wrapper:gaussian_nb", "--scoring", "f1_macro", "--folds", 3],
        ["--merit", "wrapper:tree", "--search", "recursive", "-k", 2],
        ["--merit", "cfs", "--search", "branch-and-bound", "--patience", 99],
    ],
    ids=lambda how: how[1],
)
def test_a_selection_is_kept_in_a_model_whatever_its_merit_and_search(
    tamiz: Callable[..., Result], folder: Path, iris: Path, how: list[object]
) -> None:
    done = tamiz("select", iris, "-t", "species", *how, "--model", "columns.tamiz", "--json", "-q")
    assert done.exit_code == 0, done.stderr
    selector = load(folder / "columns.tamiz")
    X = pd.read_csv(iris).drop(columns="species")
    assert selector.transform(X).columns.tolist() == json.loads(done.stdout)["columns"]
    assert selector.transform(X.to_numpy()).shape[1] == len(json.loads(done.stdout)["columns"])
    assert selector.merit_ == json.loads(done.stdout)["merit"]


def test_classical_mds_of_numbers_alone_is_pca(tamiz: Callable[..., Result], iris: Path) -> None:
    classical = numbers(tamiz("reduce", iris, "-t", "species", "--method", "classical-mds"))
    X = pd.read_csv(iris).drop(columns="species")
    np.testing.assert_array_equal(classical, ClassicalMDS(2, dissimilarity="seuclidean").fit(X).embedding_)
    axes = numbers(tamiz("reduce", iris, "-t", "species"))
    np.testing.assert_allclose(np.abs(classical), np.abs(axes), atol=1e-9)


def test_float32_keeps_its_digits(tamiz: Callable[..., Result], folder: Path) -> None:
    X = np.random.default_rng(0).normal(size=(20, 3)).astype(np.float32)
    pd.DataFrame(X, columns=["a", "b", "c"]).to_parquet("t.parquet")
    done = tamiz("reduce", "t.parquet", "-o", "m.parquet")
    assert done.exit_code == 0, done.stderr
    assert pa.parquet.read_schema("m.parquet").types == [pa.float32(), pa.float32()]
    text = shown(tamiz("reduce", "t.parquet"))
    np.testing.assert_array_equal(text.astype(np.float32).to_numpy(), pd.read_parquet("m.parquet").to_numpy())
    assert text.map(len).to_numpy().max() < 16


def test_text_that_a_spreadsheet_would_run_is_escaped_where_that_is_asked_for(
    tamiz: Callable[..., Result], folder: Path, write: Callable[..., Path]
) -> None:
    texts = ["=HYPERLINK(1)", "+cmd", "-2.5", "@x", "plain", "a=b", "-x", "+1e3"]
    table = write("=id,a,b\n" + "".join(f"{text},{k},{k * k % 7}\n" for k, text in enumerate(texts)))
    keep = ["--keep", "=id", "--method", "pca"]
    assert tamiz("reduce", table, *keep, "-o", "raw.csv").exit_code == 0
    assert tamiz("reduce", table, *keep, "--escape-formulas", "-o", "safe.tsv").exit_code == 0
    raw, safe = pd.read_csv(folder / "raw.csv"), pd.read_csv(folder / "safe.tsv", sep="\t")
    assert raw["=id"].tolist() == texts
    assert safe["'=id"].tolist() == ["'=HYPERLINK(1)", "'+cmd", "-2.5", "'@x", "plain", "a=b", "'-x", "+1e3"]
    np.testing.assert_array_equal(raw.iloc[:, 1:], safe.iloc[:, 1:])
    shown = tamiz("reduce", table, *keep, "--escape-formulas").stdout
    assert shown.splitlines()[1].startswith("'=HYPERLINK(1)\t")


def test_a_full_disk_is_an_error_that_names_the_file(
    tamiz: Callable[..., Result], folder: Path, iris: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(table: object, path: str) -> None:
        Path(path).write_text("half")
        raise OSError(28, "No space left on device")

    monkeypatch.setitem(files._WRITERS, "csv", full)
    done = tamiz("reduce", iris, "--method", "pca", "-o", "map.csv")
    assert (done.exit_code, list(folder.iterdir())) == (1, [])
    assert done.stderr.splitlines()[-1] == "tamiz: map.csv cannot be written: No space left on device."
