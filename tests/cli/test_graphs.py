"""`--graph` and `--t`: graphs by name; a graph that cannot be built is a one-sentence error."""

import json
import re
import subprocess
import sys
from collections.abc import Callable
from io import StringIO
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import Result
from sklearn.datasets import load_iris, make_blobs

from tamiz import RankSelector, open_table, study
from tamiz.criteria import LaplacianScore
from tamiz.graphs import Binary, ConnectedRadius, HeatKernel, KNearest, Radius, SameClass, registry
from tamiz.reduction import LocallyLinearEmbedding

NAMES = [entry.name.replace("_", "-") for entry in registry.of_kind("builder")]
FLOWER = ["sepal_length", "sepal_width", "petal_length", "petal_width"]


@pytest.fixture
def flowers(folder: Path) -> Path:
    """The flowers without their class."""
    pd.DataFrame(load_iris().data, columns=FLOWER).to_csv(folder / "flowers.csv", index=False)
    return folder / "flowers.csv"


@pytest.fixture
def twenty(folder: Path) -> Path:
    """Twenty flowers."""
    pd.DataFrame(load_iris().data[:20], columns=FLOWER).to_csv(folder / "twenty.csv", index=False)
    return folder / "twenty.csv"


def _scores(done: Result) -> dict[str, float]:
    assert done.exit_code == 0, done.stderr
    return {column["column"]: column["score"] for column in json.loads(done.stdout)["columns"]}


@pytest.mark.filterwarnings("ignore:.*The graph of 150 rows falls")
@pytest.mark.parametrize(
    ("options", "graph"),
    [
        ([], KNearest(15, weight=Binary(), metric="seuclidean")),
        (["--graph", "knn"], KNearest(15, weight=Binary(), metric="seuclidean")),
        (["--graph", "knn:5"], KNearest(5, weight=Binary(), metric="seuclidean")),
        (["--graph", "knn: 5"], KNearest(5, weight=Binary(), metric="seuclidean")),
        (["--graph", "knn:1e1"], KNearest(10, weight=Binary(), metric="seuclidean")),
        (["--graph", "radius:0.8"], Radius(0.8, weight=Binary(), metric="seuclidean")),
        (["--graph", "radius:2"], Radius(2.0, weight=Binary(), metric="seuclidean")),
        (["--graph", "connected-radius"], ConnectedRadius(weight=Binary(), metric="seuclidean")),
        (["--graph", "connected_radius"], ConnectedRadius(weight=Binary(), metric="seuclidean")),
        (["--t", "5"], KNearest(15, weight=HeatKernel(5.0), metric="seuclidean")),
        (["--graph", "knn:5", "--t", "inf"], KNearest(5, weight=HeatKernel(np.inf), metric="seuclidean")),
    ],
    ids=str,
)
def test_rank_scores_on_the_graph_that_is_named(
    tamiz: Callable[..., Result], flowers: Path, options: list[str], graph: KNearest
) -> None:
    done = tamiz("rank", flowers, "--relevance", "laplacian-score", *options, "--json", "-q")
    expected = RankSelector(LaplacianScore(graph=graph.build(open_table(flowers)))).fit(open_table(flowers)).scores_
    assert _scores(done) == dict(zip(FLOWER, expected.tolist(), strict=True))


def test_rank_on_the_classes_needs_a_target_and_ranks_as_fisher_does(tamiz: Callable[..., Result], iris: Path) -> None:
    by_class = _scores(
        tamiz("rank", iris, "-t", "species", "-r", "laplacian-score", "--graph", "same-class", "--json", "-q")
    )
    table = open_table(iris, "species")
    expected = RankSelector(LaplacianScore(graph=SameClass())).fit(table).scores_
    assert by_class == dict(zip(table.schema.names, expected.tolist(), strict=True))
    fisher = _scores(tamiz("rank", iris, "-t", "species", "-r", "fisher-score", "--json", "-q"))
    assert by_class == pytest.approx(fisher, rel=1e-12)


def test_a_graph_without_a_relevance_ranks_by_a_relevance_that_uses_graphs(
    tamiz: Callable[..., Result], iris: Path
) -> None:
    shown = json.loads(tamiz("rank", iris, "-t", "species", "--graph", "knn:5", "--json", "-q").stdout)
    assert shown["relevance"]["name"] == "laplacian-score"
    assert shown["columns"][0]["column"] == "petal_length"


def test_a_relevance_that_uses_no_graph_accepts_none(tamiz: Callable[..., Result], iris: Path) -> None:
    for option in (["--graph", "knn:5"], ["--t", "3"]):
        done = tamiz("rank", iris, "-t", "species", "-r", "information-gain", *option)
        assert done.exit_code == 2
        assert done.stderr.startswith("tamiz: Information gain uses no graph: leave out --graph and --t.")


@pytest.mark.parametrize("table", ["twenty", "flowers"])
def test_a_study_takes_the_graph_that_is_named(
    tamiz: Callable[..., Result], request: pytest.FixtureRequest, table: str
) -> None:
    path = request.getfixturevalue(table)
    done = tamiz("study", path, "--graph", "knn:7", "--t", "0.5", "--json", "-", "-q")
    assert done.exit_code == 0, done.stderr
    graph = KNearest(7, weight=HeatKernel(0.5), metric="seuclidean")
    expected = study(str(path), graph=graph).to_dict()
    numbers = json.loads(done.stdout)
    for part in ("graph", "ranking", "maps"):
        assert numbers[part] == expected[part]


# What stands after the command, its exit status, and what the sentence says.
BAD = {
    "no neighbours": (
        ["--graph", "knn:0"],
        2,
        r"'knn:0': the value after the colon must be a number above 0, got '0'\.",
    ),
    "a word for a number": (
        ["--graph", "knn:abc"],
        2,
        r"'knn:abc': the value after the colon must be a number above 0, got 'abc'\.",
    ),
    "nothing after the colon": (
        ["--graph", "knn:"],
        2,
        r"'knn:': the value after the colon must be a number above 0, got ''\.",
    ),
    "half a neighbour": (["--graph", "knn:2.5"], 2, r"--graph knn requires a whole number, such as knn:15, got 2\.5\."),
    "more neighbours than rows": (
        ["--graph", "knn:1000"],
        1,
        r"n_neighbors must be below the number of rows = 20, got 1,000\.",
    ),
    "no radius": (["--graph", "radius"], 2, r"--graph radius needs a number after a colon, such as radius:0\.8\."),
    "a radius below 0": (
        ["--graph", "radius:-1"],
        2,
        r"'radius:-1': the value after the colon must be a number above 0, got '-1'\.",
    ),
    "a radius that is no number": (["--graph", "radius:nan"], 2, r"a number above 0, got 'nan'\."),
    "a radius without end": (["--graph", "radius:inf"], 2, r"a number above 0, got 'inf'\."),
    "a radius that joins nothing": (
        ["--graph", "radius:1e-9"],
        1,
        r"radius=1e-09 joins no two rows: the nearest two are 0\.\d+ apart\.",
    ),
    "a number where none is taken": (
        ["--graph", "connected-radius:3"],
        2,
        r"--graph connected-radius accepts no number\.",
    ),
    "classes without a target": (
        ["--graph", "same-class"],
        2,
        r"--graph same-class connects rows of one class: name its column with --target\.",
    ),
    "classes of a number": (
        ["--graph", "same-class", "--target", "petal_width", "--kinds", "petal_width=numeric"],
        1,
        r"SameClass joins rows of one class; .* on the command line, --kinds petal_width=categorical\.",
    ),
    "an unknown graph": (
        ["--graph", "kn:5"],
        2,
        r"'kn' is no graph \(did you mean 'knn'\?\); there are: knn, radius, connected-radius, same-",
    ),
    "a width of 0": (["--t", "0"], 2, r"t must be a number above 0, or inf for weights of 0 and 1, got '0'\."),
    "a width below 0": (["--t", "-3"], 2, r"t must be a number above 0, or inf for weights of 0 and 1, got '-3'\."),
    "a width that is no number": (["--t", "nan"], 2, r"t must be a number above 0, .*, got 'nan'\."),
    "a word for a width": (["--t", "wide"], 2, r"t must be a number above 0, .*, got 'wide'\."),
    "a width that leaves no edge": (
        ["--t", "1e-9"],
        1,
        r"t=1e-09 makes the weight of every edge 0: .* t=0\.\d+ or more keeps all weights above 0\.",
    ),
}


@pytest.mark.parametrize("command", ["study", "rank"])
@pytest.mark.parametrize("case", BAD)
def test_a_graph_that_cannot_be_built_is_an_error_of_one_sentence_without_a_file(
    tamiz: Callable[..., Result], folder: Path, twenty: Path, command: str, case: str
) -> None:
    options, status, sentence = BAD[case]
    more = ["-r", "laplacian-score"] if command == "rank" else ["-o", "r.html", "--json", "r.json"]
    done = tamiz(command, twenty, *more, *options)
    assert done.exit_code == status, done.stderr
    assert done.stdout == ""
    line, *rest = [line for line in done.stderr.splitlines() if "TZ103: The target" not in line]
    assert re.search(sentence, line)
    assert line.startswith("tamiz: ")
    assert rest == ([f"Try 'tamiz {command} -h' for help."] if status == 2 and rest else [])
    assert [path.name for path in folder.iterdir()] == ["twenty.csv"]


def test_equal_rows_are_an_error_if_a_graph_is_requested_and_a_note_otherwise(
    tamiz: Callable[..., Result], write: Callable[..., Path]
) -> None:
    path = write("a,b\n" + "1,2\n" * 20)
    for arguments in (["rank", path, "-r", "laplacian-score"], ["study", path, "--graph", "knn:5"]):
        done = tamiz(*arguments)
        assert (done.exit_code, done.stdout) == (1, "")
        assert done.stderr == "tamiz: All 20 rows are equal, so no row is nearer than another.\n"
    done = tamiz("study", path)
    assert done.exit_code == 0
    assert "note TZ503: The graph of the rows is left out: All 20 rows are equal" in done.stderr


@pytest.mark.parametrize(
    "command", [["rank"], ["select", "--method", "redundancy"], ["select", "--method", "stability", "--n-pairs", 1]]
)
def test_scores_of_a_long_table_read_the_rows_that_its_graph_joins(
    tamiz: Callable[..., Result], folder: Path, monkeypatch: pytest.MonkeyPatch, command: list[str]
) -> None:
    monkeypatch.setattr("tamiz.graphs.row_graph._MAX_GRAPH_ROWS", 2100)
    columns = np.random.default_rng(0).normal(size=(2500, 3))
    pd.DataFrame(columns, columns=["a", "b", "c"]).to_csv(folder / "long.csv", index=False)
    done = tamiz(*command, "long.csv", "-r", "laplacian-score")
    assert done.exit_code == 0
    assert "note TZ502: The graph joins 2,100 of the 2,500 rows, drawn at random." in done.stderr


def test_a_requested_graph_of_many_rows_is_announced_with_its_time(
    tamiz: Callable[..., Result], iris: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tamiz.graphs.row_graph._SECONDS_PER_PAIR", 0.01)
    monkeypatch.setattr("tamiz.graphs.row_graph._SECONDS_PER_ROW", 1.0)
    assert "joins all" not in tamiz("rank", iris, "-r", "laplacian-score").stderr
    done = tamiz("rank", iris, "-r", "laplacian-score", "--graph", "knn:5")
    assert (
        "--graph requests joins all 150 rows, each of 7 numbers: at least about 3 minutes on two cores." in done.stderr
    )


def test_a_graph_in_pieces_is_noted(tamiz: Callable[..., Result], folder: Path) -> None:
    X, _ = make_blobs([60, 40], centers=[[0, 0], [80, 80]], random_state=0)
    pd.DataFrame(X, columns=["a", "b"]).to_csv(folder / "data.csv", index=False)
    done = tamiz("rank", "data.csv", "-r", "laplacian-score")
    assert done.exit_code == 0
    assert "TZ401: The graph of 100 rows falls into 2 components of 60 and 40 rows." in done.stderr
    done = tamiz("study", "data.csv")
    assert "TZ401" not in done.stderr
    assert "join 100 rows, in 2 components" in done.stderr


def test_edges_are_added_for_maps_that_need_a_connected_graph_only(tamiz: Callable[..., Result], folder: Path) -> None:
    X, _ = make_blobs([60, 40], centers=[[0, 0], [80, 80]], random_state=0)
    pd.DataFrame(X, columns=["a", "b"]).to_csv(folder / "data.csv", index=False)
    command = ("reduce", "data.csv", "--graph", "radius:0.2", "--method")
    assert "1 edge of length" in tamiz(*command, "laplacian-eigenmaps").stderr
    done = tamiz(*command, "locally-linear-embedding")
    assert "added" not in done.stderr
    assert "The graph has 2 components, and each has coordinates of its own" in done.stderr
    graph = Radius(0.2, metric="seuclidean", weight=Binary())
    expected = LocallyLinearEmbedding(graph=graph, disconnected="per_component").fit(X).embedding_
    found = pd.read_csv(StringIO(done.stdout), sep="\t")
    np.testing.assert_allclose(found.iloc[:, -2:], expected, rtol=1e-12)


def test_missing_values_are_filled_and_noted(tamiz: Callable[..., Result], write: Callable[..., Path]) -> None:
    rows = "".join(f"{i * i % 17},{'' if i % 9 == 0 else i % 5}\n" for i in range(40))
    done = tamiz("study", write(f"a,b\n{rows}"))
    assert done.exit_code == 0, done.stderr
    assert "The table has 5 missing values in 1 column. For the distances of rows" in done.stderr


def test_help_names_every_graph(tamiz: Callable[..., Result]) -> None:
    for command in ("study", "rank"):
        shown = " ".join(tamiz(command, "--help").stdout.split()).replace("- ", "-")
        assert [name for name in NAMES if name not in shown] == []


def test_a_graph_is_read_without_importing_numpy() -> None:
    script = (
        "import sys\nfrom tamiz.cli.rank import rank\n"
        "graph = next(one.type for one in rank.params if one.name == 'graph')\n"
        "print(graph.convert('knn:7', None, None).number, 'numpy' in sys.modules, 'sklearn' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["7.0", "False", "False"]


def test_methods_lists_graphs_maps_and_clusterings(tamiz: Callable[..., Result]) -> None:
    listed = json.loads(tamiz("methods", "--json").stdout)
    names = {
        kind: [m["name"] for m in listed if m["kind"] == kind] for kind in ("graph", "map", "clustering", "relevance")
    }
    assert names["graph"] == NAMES
    assert {"pca", "laplacian-eigenmaps"} <= set(names["map"])
    assert names["clustering"] == ["spectral"]
    assert "laplacian-score" in names["relevance"]
    # A search is one of sets of columns here, and not one of neighbours.
    assert "descent" not in [m["name"] for m in listed]
