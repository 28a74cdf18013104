import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from zipfile import ZipFile

import numpy as np
import pandas as pd
import pytest
from click.testing import Result
from tests.sentences import sentences

from tamiz import RankSelector, SubsetSelector, load, open_table, save
from tamiz.criteria import CFS, InformationGain
from tamiz.graphs import KNearest
from tamiz.reduction import MDS, PCA, table_embedding
from tamiz.runtime.user_warnings import capture_warnings
from tamiz.search import Forward
from tamiz.table import column_storage

from .test_reduce import read_csv

MAPS = {
    "PCA": ["--method", "pca"],
    "PCA with gaps as its components fill them": ["--method", "pca", "--missing", "iterative"],
    "MDS": ["--method", "mds", "--map-rows", 50],
    "ordinal MDS by Gower": ["--method", "mds:ordinal", "--dissimilarity", "gower"],
    "classical MDS": ["--method", "classical-mds", "--dissimilarity", "cityblock"],
    "landmark MDS": ["--method", "landmark-mds"],
    "stochastic MDS": ["--method", "stochastic-mds"],
    "Isomap": ["--method", "isomap", "--graph", "knn:8"],
    "Laplacian eigenmaps": ["--method", "laplacian-eigenmaps", "--graph", "knn:8"],
}


def flowers() -> pd.DataFrame:
    """Numbers with gaps, categories, a date, an id and a target."""
    rng = np.random.default_rng(0)
    n = 90
    kind = np.arange(n) % 3
    return pd.DataFrame(
        {
            "key": [f"k{i}" for i in range(n)],
            "length": np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n) + 2 * kind).round(5),
            "width": (rng.normal(size=n) + kind).round(5),
            "colour": np.array(["red", "green", "blue"])[np.where(rng.random(n) < 0.2, rng.integers(0, 3, n), kind)],
            "plot": rng.choice(["007", "012", "100"], n),
            "picked": pd.date_range("2020-01-01", periods=n).strftime("%Y-%m-%d"),
            "kind": np.array(["a", "b", "c"])[kind],
        }
    )


@pytest.fixture
def table(write: Callable[..., Path]) -> Path:
    """The table of fit."""
    return write(flowers().to_csv(index=False), "fitted.csv")


@pytest.fixture
def new(write: Callable[..., Path]) -> Callable[[pd.DataFrame], Path]:
    """Write tomorrow's rows."""
    return lambda rows: write(rows.to_csv(index=False), "new.csv")


@pytest.fixture
def mapped(tamiz: Callable[..., Result], table: Path) -> Path:
    """A map of the table, and its coordinates in map.csv."""
    done = tamiz("reduce", table, "-t", "kind", "--model", "map.tamiz", "-o", "map.csv")
    assert done.exit_code == 0, done.stderr
    return Path("map.tamiz")


@pytest.fixture
def chosen(tamiz: Callable[..., Result], table: Path) -> Path:
    """A selection of three of its columns."""
    command = ["select", table, "-t", "kind", "--fixed", "length", "--fixed", "colour", "--fixed", "picked"]
    # As a number a date is one column, and its parts are not made.
    done = tamiz(*command, "--kinds", "picked=numeric", "-k", 3, "--model", "columns.tamiz")
    assert done.stdout.split() == ["length", "colour", "picked"], done.stderr
    return Path("columns.tamiz")


def output_lines(done: Result) -> list[str]:
    assert done.exit_code == 0, done.stderr
    return done.stdout.splitlines()


# Maps


@pytest.mark.parametrize("method", MAPS)
def test_the_table_of_fit_has_the_places_of_fit_to_the_bit(
    tamiz: Callable[..., Result], folder: Path, table: Path, method: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = tamiz("reduce", table, "-t", "kind", *MAPS[method], "--model", "m.tamiz")
    assert output_lines(tamiz("apply", "m.tamiz", table)) == output_lines(done)
    monkeypatch.setattr(table_embedding, "_BLOCK_ROWS", 7)
    monkeypatch.setattr(column_storage, "MAX_MEMORY_SHARE", 0.0)
    assert output_lines(tamiz("apply", "m.tamiz", table, "-j", 1)) == output_lines(done)


@pytest.mark.parametrize("method", MAPS)
def test_a_row_alone_in_its_file_has_the_place_that_it_had(
    tamiz: Callable[..., Result], table: Path, new: Callable[[pd.DataFrame], Path], method: str
) -> None:
    done = tamiz("reduce", table, "-t", "kind", *MAPS[method], "--model", "m.tamiz")
    for row in (0, 44):
        found = output_lines(tamiz("apply", "m.tamiz", new(flowers().iloc[row : row + 1])))
        assert found == [output_lines(done)[0], output_lines(done)[1 + row]]


def test_columns_in_another_order_change_no_bit(
    tamiz: Callable[..., Result], mapped: Path, table: Path, new: Callable[[pd.DataFrame], Path]
) -> None:
    turned = flowers()[sorted(flowers().columns, reverse=True)]
    assert output_lines(tamiz("apply", mapped, new(turned))) == output_lines(tamiz("apply", mapped, table))


def test_columns_that_the_model_does_not_know_are_reported_in_one_note(
    tamiz: Callable[..., Result], mapped: Path, table: Path, new: Callable[[pd.DataFrame], Path]
) -> None:
    done = tamiz("apply", mapped, new(flowers().assign(extra=1, other="x")))
    assert output_lines(done) == output_lines(tamiz("apply", mapped, table))
    assert "note TZ203: 2 columns that the model does not know are not read: extra and other." in done.stderr


def test_the_target_and_ids_need_not_be_there(
    tamiz: Callable[..., Result], mapped: Path, table: Path, new: Callable[[pd.DataFrame], Path]
) -> None:
    done = tamiz("apply", mapped, new(flowers().drop(columns=["kind", "key"])))
    assert output_lines(done) == output_lines(tamiz("apply", mapped, table))
    assert "kind" not in done.stderr


def test_a_column_that_is_needed_and_not_there_is_named_with_the_nearest_and_the_way_out(
    tamiz: Callable[..., Result], folder: Path, mapped: Path, new: Callable[[pd.DataFrame], Path]
) -> None:
    done = tamiz("apply", mapped, new(flowers().rename(columns={"width": "widths"})), "-o", "out.csv")
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr == (
        "tamiz: There is no column 'width' (did you mean 'widths'?), which fit had. Columns are matched by name: rename columns "
        "with other names, or use --fill-missing to treat an absent column as missing in every row.\n"
    )
    assert not (folder / "out.csv").exists()


def test_a_column_that_is_not_there_may_count_as_missing(
    tamiz: Callable[..., Result], mapped: Path, new: Callable[[pd.DataFrame], Path]
) -> None:
    done = tamiz("apply", mapped, new(flowers().drop(columns=["width", "colour"])), "--fill-missing")
    empty = tamiz("apply", mapped, new(flowers().assign(width=None, colour=None)))
    assert output_lines(done) == output_lines(empty)
    assert (
        "to check TZ205: 2 columns are absent and filled with missing values in all 90 rows: 'width', 'colour'."
        in done.stderr
    )
    assert "missing values or unknown levels of new rows count as the mean of the column." in done.stderr


def test_new_levels_are_reported_and_count_as_missing(
    tamiz: Callable[..., Result], mapped: Path, new: Callable[[pd.DataFrame], Path]
) -> None:
    rows = flowers()
    rows.loc[:4, "colour"] = ["violet", "violet", "mauve", "red", None]
    done = tamiz("apply", mapped, new(rows))
    assert (
        "to check TZ205: Column colour: 2 levels in 3 rows were not present in fit: 'mauve', 'violet'; these values are "
        "treated as missing."
    ) in done.stderr
    rows.loc[:2, "colour"] = None
    assert output_lines(done) == output_lines(tamiz("apply", mapped, new(rows)))


def test_kinds_are_those_of_the_model_and_not_guessed_from_a_few_rows(
    tamiz: Callable[..., Result], mapped: Path, new: Callable[[pd.DataFrame], Path]
) -> None:
    rows = flowers().iloc[:2]
    whole = output_lines(tamiz("apply", mapped, new(rows)))
    # A constant column, whole numbers, digits alone and one level say something else of themselves.
    for column, values in {"plot": ["100", "100"], "length": [2, 2], "width": ["1e1", "10"]}.items():
        changed = rows.assign(**{column: values})
        found = tamiz("apply", mapped, new(changed))
        assert len(output_lines(found)) == 3
        assert found.stderr == ""
    assert output_lines(tamiz("apply", mapped, new(rows.assign(plot=[int(p) for p in rows["plot"]]))))[0] == whole[0]


@pytest.mark.parametrize(("column", "value"), [("length", "long"), ("width", "2020-01-01"), ("picked", "soon")])
def test_text_in_the_place_of_a_number_is_named_with_its_line(
    tamiz: Callable[..., Result], mapped: Path, new: Callable[[pd.DataFrame], Path], column: str, value: str
) -> None:
    rows = flowers().astype(object)
    rows.loc[7, column] = value
    done = tamiz("apply", mapped, new(rows))
    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr.startswith(f"tamiz: line 9, column {column}: {value!r} is not a ")


def test_numbers_beyond_those_of_fit_are_numbers(
    tamiz: Callable[..., Result], mapped: Path, new: Callable[[pd.DataFrame], Path]
) -> None:
    found = output_lines(tamiz("apply", mapped, new(flowers().iloc[:1].assign(width=1e9))))
    assert abs(float(found[1].split("\t")[0])) > 1e6


@pytest.mark.parametrize("method", MAPS)
def test_a_table_without_rows_gives_a_header(
    tamiz: Callable[..., Result], table: Path, new: Callable[[pd.DataFrame], Path], method: str
) -> None:
    done = tamiz("reduce", table, "-t", "kind", *MAPS[method], "--model", "m.tamiz")
    assert output_lines(tamiz("apply", "m.tamiz", new(flowers().iloc[:0]))) == output_lines(done)[:1]


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet", "arrow"])
def test_every_format_is_read_and_written(
    tamiz: Callable[..., Result], folder: Path, mapped: Path, table: Path, ending: str
) -> None:
    rows = flowers()
    writers = {
        "csv": lambda path: rows.to_csv(path, index=False),
        "tsv": lambda path: rows.to_csv(path, index=False, sep="\t"),
        "parquet": rows.to_parquet,
        "arrow": rows.to_feather,
    }
    writers[ending](f"t.{ending}")
    done = tamiz("apply", mapped, f"t.{ending}", "--keep", "key", "-o", f"o.{ending}")
    assert (done.exit_code, done.stdout) == (0, ""), done.stderr
    readers = {
        "csv": read_csv,
        "tsv": partial(read_csv, sep="\t"),
        "parquet": pd.read_parquet,
        "arrow": pd.read_feather,
    }
    found = readers[ending](folder / f"o.{ending}")
    expected = read_csv(folder / "map.csv")
    assert found["key"].tolist() == rows["key"].tolist()
    pd.testing.assert_frame_equal(found.drop(columns="key"), expected, check_exact=True)


def test_an_arff_file_is_read_by_its_own_columns(
    tamiz: Callable[..., Result], mapped: Path, table: Path, write: Callable[..., Path]
) -> None:
    columns = ["width", "length", "colour", "plot", "picked"]
    lines = [",".join("?" if v != v else str(v) for v in row) for row in flowers()[columns].to_numpy().tolist()]
    kinds = ["numeric", "numeric", "{blue,green,red,violet}", "{007,012,100}", 'date "yyyy-MM-dd"']
    head = "".join(f"@attribute {name} {kind}\n" for name, kind in zip(columns, kinds, strict=True))
    path = write(f"@relation r\n{head}@data\n" + "\n".join(lines) + "\n", "t.arff")
    assert output_lines(tamiz("apply", mapped, path)) == output_lines(tamiz("apply", mapped, table))
    path = write(f"@relation r\n{head}@data\n", "t.arff")
    assert output_lines(tamiz("apply", mapped, path)) == ["pca0\tpca1"]


def test_json_describes_the_run(
    tamiz: Callable[..., Result], mapped: Path, new: Callable[[pd.DataFrame], Path]
) -> None:
    done = tamiz("apply", mapped, new(flowers().assign(extra=1)), "--json", "-q")
    found = json.loads(done.stdout)
    assert (found["model"], found["table"], found["rows"]) == ("map.tamiz", "new.csv", 90)
    assert (found["map"], found["coordinates"]) == ("PCA", ["pca0", "pca1"])
    assert "1 column that the model does not know is not read: extra." in sentences(found)
    assert done.stderr == ""


def test_a_map_fitted_on_a_frame_in_python_is_applied(tamiz: Callable[..., Result], folder: Path, table: Path) -> None:
    X = flowers()[["width", "colour", "plot"]]
    for reducer in (PCA(2).fit(X), MDS(dissimilarity="gower", random_state=0).fit(X)):
        save(reducer, folder / "m.tamiz")
        found = np.array([line.split("\t") for line in output_lines(tamiz("apply", "m.tamiz", table))[1:]], dtype=float)
        np.testing.assert_array_equal(found, reducer.embedding_)


# Selections


def test_a_selection_writes_the_chosen_columns_and_the_target(
    tamiz: Callable[..., Result], folder: Path, chosen: Path, table: Path, new: Callable[[pd.DataFrame], Path]
) -> None:
    turned = flowers()[sorted(flowers().columns, reverse=True)]
    done = tamiz("apply", chosen, new(turned), "-o", "out.csv")
    assert (done.exit_code, done.stdout) == (0, ""), done.stderr
    written = pd.read_csv(folder / "out.csv")
    pd.testing.assert_frame_equal(written, flowers()[["length", "colour", "picked", "kind"]], check_dtype=False)
    assert tamiz("apply", chosen, table, "-o", "same.csv").exit_code == 0
    assert (folder / "same.csv").read_bytes() == (folder / "out.csv").read_bytes()


def test_columns_that_a_selection_does_not_keep_need_not_be_there(
    tamiz: Callable[..., Result], chosen: Path, new: Callable[[pd.DataFrame], Path]
) -> None:
    done = tamiz("apply", chosen, new(flowers().drop(columns=["kind", "plot", "key"])))
    assert output_lines(done)[0] == "length\tcolour\tpicked"
    assert "note TZ203: 1 column not in the table is not needed: plot." in done.stderr
    done = tamiz("apply", chosen, new(flowers().drop(columns=["colour"])))
    assert done.exit_code == 1
    assert "There is no column 'colour', which fit had." in done.stderr


def test_selected_columns_are_written_unchanged(
    tamiz: Callable[..., Result], table: Path, new: Callable[[pd.DataFrame], Path]
) -> None:
    done = tamiz("rank", table, "-t", "kind", "-k", 5, "--model", "c.tamiz", "-q")
    assert done.exit_code == 0
    rows = flowers().iloc[:2].assign(plot=["007", "7"], colour=["violet", ""], length=["3", None])
    done = tamiz("apply", "c.tamiz", new(rows))
    assert output_lines(done)[0] == "length\twidth\tcolour\tplot\tpicked (month)\tkind"
    first, second = (line.split("\t") for line in output_lines(done)[1:])
    assert (first[0], first[2], first[3], first[4]) == ("3", "violet", "007", "1")
    assert (second[0], second[2], second[3]) == ("", "", "7")
    assert (
        "Column colour: 1 level in 1 row was not present in fit: 'violet'; these values are written unchanged."
        in done.stderr
    )


def test_a_chosen_column_that_is_not_there_is_written_empty_where_that_is_asked_for(
    tamiz: Callable[..., Result], folder: Path, chosen: Path, new: Callable[[pd.DataFrame], Path]
) -> None:
    rows = new(flowers().drop(columns=["length", "colour", "kind"]))
    done = tamiz("apply", chosen, rows, "--fill-missing", "-o", "out.parquet")
    assert done.exit_code == 0, done.stderr
    written = pd.read_parquet(folder / "out.parquet")
    assert written.columns.tolist() == ["length", "colour", "picked"]
    assert written["length"].isna().all()
    assert written["length"].dtype == np.float64
    assert written["colour"].isna().all()


def test_a_selection_of_no_rows_has_its_columns(
    tamiz: Callable[..., Result], chosen: Path, new: Callable[[pd.DataFrame], Path]
) -> None:
    assert output_lines(tamiz("apply", chosen, new(flowers().iloc[:0]))) == ["length\tcolour\tpicked\tkind"]


def test_columns_are_kept_beside_once(
    tamiz: Callable[..., Result], chosen: Path, new: Callable[[pd.DataFrame], Path]
) -> None:
    done = tamiz(
        "apply", chosen, new(flowers().assign(extra=1)), "--keep", "extra", "--keep", "key", "--keep", "colour"
    )
    assert output_lines(done)[0] == "length\tcolour\tpicked\tkind\textra\tkey"
    assert "not read" not in done.stderr
    done = tamiz("apply", chosen, new(flowers()), "--keep", "keys")
    assert done.exit_code == 1
    assert "There is no column 'keys' to keep (did you mean 'key'?)." in done.stderr


def test_weights_and_groups_go_with_a_selection(
    tamiz: Callable[..., Result], write: Callable[..., Path], new: Callable[[pd.DataFrame], Path]
) -> None:
    rows = pd.DataFrame(
        {"x": [i % 2 for i in range(30)], "w": 1 + np.arange(30) % 3, "g": [f"p{i // 3}" for i in range(30)]}
    )
    rows = rows.assign(y=["ab"[i % 2] for i in range(30)])
    path = write(rows.to_csv(index=False))
    done = tamiz("select", path, "-t", "y", "--weight", "w", "--group", "g", "--model", "c.tamiz")
    assert done.exit_code == 0, done.stderr
    assert output_lines(tamiz("apply", "c.tamiz", path))[0] == "x\ty\tw\tg"
    assert output_lines(tamiz("apply", "c.tamiz", new(rows[["x"]])))[0] == "x"


def test_an_empty_selection_writes_rows_of_nothing(tamiz: Callable[..., Result], write: Callable[..., Path]) -> None:
    rows = "".join(f"{i // 2 % 2},{'ab'[i % 2]}\n" for i in range(40))
    path = write(f"x,y\n{rows}")
    assert tamiz("select", path, "-t", "y", "--model", "c.tamiz").exit_code == 0
    done = tamiz("apply", "c.tamiz", path)
    assert len(output_lines(done)) == 41
    done = tamiz("apply", "c.tamiz", write("x\n1\n2\n", "new.csv"))
    assert done.exit_code == 1
    assert (
        "c.tamiz selects no column, and new.csv contains neither its target nor a column named by --keep" in done.stderr
    )


# Models that cannot be applied


def test_a_model_that_is_neither_a_selection_nor_a_map_is_refused(
    tamiz: Callable[..., Result], folder: Path, table: Path
) -> None:
    X = np.random.default_rng(0).normal(size=(30, 3))
    things = {
        "neither a selection nor a map": KNearest(3).build(X),
        "contains a list, which is neither": [1, 2],
        "contains a PCA that was saved before it was fitted; fit it and save it again.": PCA(2),
        "contains a RankSelector that was saved before": RankSelector(InformationGain()),
        "contains a map that was not fitted on a table": MDS(dissimilarity="precomputed", random_state=0).fit(
            np.abs(X[:, :1] - X[:, 0])
        ),
        "on distances, sparse rows, a graph or a covariance": PCA(1).fit_covariance(np.eye(2), mean=[0, 0]),
    }
    for sentence, thing in things.items():
        save(thing, folder / "thing.tamiz")
        done = tamiz("apply", "thing.tamiz", table)
        assert (done.exit_code, done.stdout) == (1, "")
        assert sentence in done.stderr
        assert len(done.stderr.splitlines()) == 1


def test_a_file_that_is_no_model_is_refused(
    tamiz: Callable[..., Result], folder: Path, mapped: Path, table: Path
) -> None:
    whole = mapped.read_bytes()
    (folder / "cut.tamiz").write_bytes(whole[: len(whole) // 2])
    (folder / "text.tamiz").write_text("not a model")
    with ZipFile(folder / "later.tamiz", "w") as archive:
        archive.writestr("tamiz.json", json.dumps({"format": "tamiz file 2", "tamiz": "9.0", "content": None}))
    for name, sentence in {
        "cut.tamiz": "cut.tamiz is damaged or cut off",
        "text.tamiz": "text.tamiz is not a tamiz file",
        "later.tamiz": "later.tamiz was written by tamiz 9.0, format 2; this is tamiz",
        "absent.tamiz": "absent.tamiz cannot be read: No such file or directory.",
    }.items():
        done = tamiz("apply", name, table)
        assert (done.exit_code, done.stdout) == (1, "")
        assert sentence in done.stderr
        assert len(done.stderr.splitlines()) == 1


def test_a_table_that_cannot_be_read_is_refused(
    tamiz: Callable[..., Result], mapped: Path, write: Callable[..., Path]
) -> None:
    for text, sentence in {
        "": "is empty",
        "a,a\n1,2\n": "'a' occurs twice",
        "length,width\n1\n": "line 2 has 1 field",
    }.items():
        done = tamiz("apply", mapped, write(text))
        assert (done.exit_code, done.stdout) == (1, "")
        assert sentence in done.stderr
    assert "There is no file absent.csv." in tamiz("apply", mapped, "absent.csv").stderr


def test_output_paths_are_checked_before_the_work(tamiz: Callable[..., Result], mapped: Path, table: Path) -> None:
    assert "is the table itself" in tamiz("apply", mapped, table, "-o", table).stderr
    assert "is the model itself" in tamiz("apply", "m.csv", table, "-o", "m.csv").stderr
    done = tamiz("apply", mapped, table, "-o", "-")
    assert done.exit_code == 2
    assert "The rows are written to standard output by default" in done.stderr
    done = tamiz("apply", mapped, table, "-o", mapped)
    assert done.exit_code == 2
    assert "the extension of a table must be one of csv" in done.stderr
    assert tamiz("apply", mapped).exit_code == 2


@pytest.mark.skipif(os.name == "nt", reason="signals are sent otherwise there")
@pytest.mark.slow
def test_an_interrupted_program_leaves_nothing_half_written(
    tamiz: Callable[..., Result], folder: Path, mapped: Path, table: Path
) -> None:
    script = (
        "import os, signal, sys\nfrom pyarrow import csv\nfrom tamiz.cli import main\n"
        "def write(table, path, *_):\n    open(path, 'w').write('half')\n    os.kill(os.getpid(), signal.SIGINT)\n"
        f"csv.write_csv = write\nmain(['apply', '{mapped}', '{table.name}', '-o', 'out.csv'])"
    )
    before = sorted(path.name for path in folder.iterdir())
    done = subprocess.run([sys.executable, "-c", script], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 128 + signal.SIGINT
    assert done.stderr.splitlines()[-1] == "tamiz: interrupted."
    assert sorted(path.name for path in folder.iterdir()) == before


# From Python


def test_in_python_a_frame_in_another_order_is_refused_as_scikit_learn_does(
    folder: Path, mapped: Path, chosen: Path
) -> None:
    rows = flowers()
    turned = rows[sorted(rows.columns, reverse=True)]
    for model in (load(mapped), load(chosen)):
        columns = model.feature_names_in_.tolist()
        with pytest.raises(ValueError, match="The feature names should match those that were passed during fit"):
            model.transform(turned[sorted(columns, reverse=True)])
        table = open_table(turned, schema=model.schema_)
        with capture_warnings():
            found, expected = model.transform(table), model.transform(rows[columns])
        pd.testing.assert_frame_equal(pd.DataFrame(found), pd.DataFrame(expected), check_exact=True)


def test_in_python_a_selector_takes_a_file_by_name(
    folder: Path, table: Path, new: Callable[[pd.DataFrame], Path]
) -> None:
    with capture_warnings():
        selector = SubsetSelector(CFS(), Forward(), n_features=2).fit(open_table(table, "kind"))
    turned = new(flowers()[sorted(flowers().columns, reverse=True)])
    found = selector.transform(open_table(turned, schema=selector.schema_)).to_pandas()
    assert found.columns.tolist() == selector.get_feature_names_out().tolist()


@pytest.mark.parametrize("ending", ["csv", "tsv", "parquet"])
def test_long_codes_are_carried_with_every_digit(
    tamiz: Callable[..., Result], write: Callable[..., Path], folder: Path, ending: str
) -> None:
    codes = [10**18 + k % 6 for k in range(60)]
    rows = "".join(f"{code},{k * 7 % 11}.5,{k % 3}.5,{k % 2}\n" for k, code in enumerate(codes))
    path = write("code,a,b,y\n" + rows)
    out = f"out.{ending}"
    kind = ("--kinds", "code=id")

    def written() -> list[str]:
        readers = {"csv": pd.read_csv, "tsv": partial(pd.read_csv, sep="\t"), "parquet": pd.read_parquet}
        # Classes are text where they were read as such.
        return list(map(str, readers[ending](folder / out)["code"]))

    for command in (
        ("reduce", path, "-t", "y", *kind, "--keep", "code", "-o", out, "--model", "map.tamiz"),
        ("apply", "map.tamiz", path, "--keep", "code", "-o", out),
        ("select", path, "-t", "code", "-o", out, "--model", "columns.tamiz"),
        ("apply", "columns.tamiz", path, "-o", out),
    ):
        done = tamiz(*command)
        assert done.exit_code == 0, done.stderr
        assert written() == list(map(str, codes))
    for command in (("rank", path, "-t", "code"), ("rank", path, "-t", "y", *kind, "--group", "code")):
        done = tamiz(*command)
        assert done.exit_code == 0, done.stderr
        assert "has 6 whole numbers" in done.stderr or "6 groups" in done.stderr, done.stderr
    assert "code: its 6 different values become 1 as float64" in tamiz("rank", path, "-t", "y").stderr
