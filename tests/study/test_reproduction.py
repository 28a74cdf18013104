"""The command and the script that a study prints are run, and give the same study."""

import json
import shlex
import shutil

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from tamiz import SubsetSelector, open_table, study
from tamiz.cli import main
from tamiz.criteria import CFS, JMI, CrossValidated, InformationGain, Variance
from tamiz.graphs import Binary, HeatKernel, KNearest, Radius, SameClass
from tamiz.search import (
    Beam,
    BestFirst,
    Evaluations,
    Forward,
    Genetic,
    MinGain,
    Patience,
    RandomSubsets,
    TargetMerit,
)

pytestmark = pytest.mark.filterwarnings("ignore::tamiz.exceptions.TamizWarning")

RNG = np.random.default_rng(5)
CODES = RNG.integers(0, 3, 90)
TABLE = pd.DataFrame(
    {
        "it's": CODES + RNG.normal(size=90),
        'say "a, b"': -CODES + RNG.normal(size=90),
        "two\nlines": RNG.integers(0, 4, 90),
        "-dash": np.array(["p", "q", None])[RNG.integers(0, 3, 90)],
        "rooms": RNG.integers(1, 6, 90),
        "patient": np.arange(90) // 3,
        "count": RNG.integers(1, 4, 90),
        "price": CODES * 10.0 + RNG.normal(size=90),
        "class": np.array(["a", "b", "c"])[CODES],
    }
)
BY_CLASS = {"target": "class", "kinds": {"price": "id", "patient": "id"}}
USUAL = {"metric": "seuclidean", "weight": Binary()}

STUDIES = {
    "the default scores": {"target": "class", "relevances": None},
    "no target": {},
    "a numeric target": {"target": "price", "kinds": {"class": "text"}},
    "kinds": {"target": "class", "kinds": {"rooms": "categorical", "two\nlines": "categorical", "patient": "id"}},
    "a wrapper and a genetic search": {
        **BY_CLASS, "selector": SubsetSelector(CrossValidated("gaussian_nb"), Genetic(), stop=Evaluations(60)),
    },
    "a wrapper by another score": {
        **BY_CLASS, "selector": SubsetSelector(CrossValidated("knn", 4, "f1_macro"), Forward(), n_features=2),
    },
    "sizes and sets": {
        **BY_CLASS,
        "selector": SubsetSelector(
            search=Beam(4, fixed=["it's"], excluded=["rooms"], column_groups=[['say "a, b"', "two\nlines"]], start=["-dash"]),
            n_features=(2, 5),
        ),
    },
    "columns by number": {
        **BY_CLASS, "selector": SubsetSelector(search=BestFirst(direction="backward", fixed=[1], column_groups=[[0, 2]])),
    },
    "rules": {
        **BY_CLASS, "max_seconds": 1000.5,
        "selector": SubsetSelector(search="backward", stop=Evaluations(50) | Patience(4) | MinGain(1e-7) | TargetMerit(3)),
    },
    "maps": {**BY_CLASS, "maps": ["pca", "mds:ordinal"], "dissimilarity": "gower", "map_rows": 60},
    "columns of maps": {**BY_CLASS, "maps": ["pca"], "map_columns": ["rooms", 'say "a, b"']},
    "all columns on maps": {**BY_CLASS, "maps": ["pca"], "map_columns": "all"},
    "a graph": {**BY_CLASS, "graph": KNearest(7, metric="seuclidean", weight=HeatKernel(2.5)), "maps": ["laplacian_eigenmaps"]},
    "a graph of classes": {**BY_CLASS, "graph": SameClass(), "maps": ["pca"]},
    "a radius": {**BY_CLASS, "graph": Radius(2.5, **USUAL), "maps": ["pca"]},
    "scores": {**BY_CLASS, "relevances": [Variance(), InformationGain(missing="category")], "missing": "category"},
    "groups and weights": {"target": "class", "groups": "patient", "weight": "count", "kinds": {"price": "id"}},
    "times": {"target": "class", "time": "patient", "selector": SubsetSelector(CrossValidated("naive_bayes", 3), Forward())},
    "corrected for chance": {
        **BY_CLASS, "missing": "category",
        "selector": SubsetSelector(JMI(correction="chance", missing="category"), Forward(), n_features=2),
    },
    "Weka's numbers": {**BY_CLASS, "selector": SubsetSelector(CFS(convention="weka"))},
    "a seed, no points": {**BY_CLASS, "random_state": 11, "points": False, "selector": SubsetSelector(search=RandomSubsets(20))},
    "few points": {**BY_CLASS, "points": 30, "maps": ["pca"]},
    "error rates": {**BY_CLASS, "selector": SubsetSelector("cfs"), "assess": True, "semi_synthetic": 2},
    "memory and threads": {**BY_CLASS, "memory": "8GB", "n_jobs": 1, "header": True},
}  # fmt: skip
# One map, one score, and no search inside folds where a study is not about these.
QUICK = {"maps": ["pca"], "relevances": [Variance()], "assess": False}
NAMES = ["table.csv", 'it\'s $HOME & "co".csv']


def without_repeat(result):
    numbers = json.loads(json.dumps(result))
    return {name: value for name, value in numbers.items() if name != "reproduction"}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


# The others take a minute.
QUICKLY_REPEATED = ("sizes and sets", "groups and weights")
ALL_STUDIES = [
    pytest.param(name, marks=() if name in QUICKLY_REPEATED else pytest.mark.slow, id=name) for name in STUDIES
]


@pytest.fixture(scope="module", params=ALL_STUDIES)
def done(request, tmp_path_factory):
    """A study of a file in another folder, and the file."""
    asked = {**QUICK, **STUDIES[request.param]}
    file = tmp_path_factory.mktemp("elsewhere") / NAMES[len(request.param) % 2]
    TABLE.to_csv(file, index=False)
    return study(file, **asked).to_dict(), file


@pytest.fixture
def studied(done, folder):
    """The study, and this folder with a file of the same name."""
    result, file = done
    shutil.copy(file, folder / file.name)
    return result


def test_the_script_runs_and_chooses_the_same_columns(studied, folder, capsys):
    repeat = studied["reproduction"]
    assert repeat["placeholders"] == []
    made = {}
    exec(repeat["python"], made)
    assert without_repeat(made["result"].to_dict()) == without_repeat(studied)
    printed = capsys.readouterr().out.splitlines()
    assert printed == [str(studied["subset"]["columns"])] * len(printed) if studied["subset"] else not printed
    assert list(folder.glob("*-report.html"))


COMMANDS = {
    "defaults": [],
    "options that are given twice": ["--kinds", "price=id", "--kinds=two\nlines=categorical", "--fixed=-dash"],
    "flags": ["--no-points", "--allow-duplicates", "--keep-leaks", "--exclude", "price", "--mute", "tz203"],
    "names and numbers": [
        "--search", "beam:4", "-k", "2-4", "--column-group", "it's,rooms", "--max-evaluations", "40", "--min-gain=-0.01",
        "--memory", "8GB", "--graph", "knn:7", "--t", "2.5", "--map-columns", "rooms,it's", "--seed", "3", "-j", "1",
    ],
}  # fmt: skip


@pytest.mark.parametrize(
    "options",
    [pytest.param(words, id=name, marks=pytest.mark.slow) for name, words in COMMANDS.items()],
)
@pytest.mark.parametrize("from_file", [pytest.param(False, marks=pytest.mark.slow), True])
def test_the_command_and_its_script_run_and_give_the_same_numbers(folder, options, from_file):
    (folder / "elsewhere").mkdir()
    for file in (folder / "elsewhere" / "-t.csv", folder / "-t.csv"):
        TABLE.to_csv(file, index=False)
    (folder / "quick.toml").write_text('reduce = ["pca"]\nrelevance = ["variance"]\nassess = false\n')
    quick = ["--reduce", "pca", "--relevance", "variance", "--no-assess"]

    def run(words):
        done = CliRunner().invoke(main, [*words, "--json", "r.json", "-q"])
        assert done.exit_code == 0, done.stderr
        return json.loads((folder / "r.json").read_text())

    found = run(
        ["study", "elsewhere/-t.csv", "-t", "class", *options, *(["--config", "quick.toml"] if from_file else quick)]
    )
    words = shlex.split(found["reproduction"]["command"])
    assert words[:3] == ["tamiz", "study", "./-t.csv"]
    (folder / "quick.toml").unlink()
    again = run(words[1:])
    assert without_repeat(again) == without_repeat(found)
    assert again["reproduction"]["command"] == found["reproduction"]["command"]
    made = {}
    exec(found["reproduction"]["python"], made)
    assert without_repeat(json.loads(json.dumps(made["result"].to_dict()))) == without_repeat(found)


def test_no_path_of_a_folder_is_printed(studied, folder):
    told = json.dumps(studied["reproduction"])
    assert "elsewhere0" not in told
    assert str(folder) not in told


def test_defaults_are_not_written(folder):
    TABLE.to_csv("t.csv", index=False)
    asked = {"points": True, "random_state": 0, "assess": False}
    repeat = study("t.csv", "class", **asked).to_dict()["reproduction"]
    assert "\nresult = study('t.csv', target='class', assess=False)\n" in repeat["python"]


def test_the_script_is_as_a_user_would_write_it(folder):
    TABLE[["it's", "rooms", "class"]].to_csv("t.csv", index=False)
    assert study("t.csv", "class", assess=False).to_dict()["reproduction"]["python"] == (
        "from sklearn.pipeline import make_pipeline\n"
        "from tamiz import MixedNB, SubsetSelector, open_table, study\n"
        "from tamiz.criteria import CFS\n"
        "from tamiz.search import BestFirst\n"
        "\n"
        "result = study('t.csv', target='class', assess=False)\n"
        "result.to_html('t-report.html')\n"
        "\n"
        "# Only the selection of the section Subset.\n"
        "table = open_table('t.csv', target='class')\n"
        "selector = SubsetSelector(CFS(), BestFirst(), random_state=0).fit(table)\n"
        "print(selector.get_feature_names_out().tolist())\n"
        "\n"
        "# As a step of a scikit-learn pipeline: every fit selects the columns again.\n"
        "table = open_table('t.csv').frame()\n"
        "X, y = table.drop_columns(['class']), table['class']\n"
        "pipeline = make_pipeline(SubsetSelector(CFS(), BestFirst(), random_state=0), MixedNB())\n"
        "pipeline.fit(X, y)\n"
        "print(pipeline[0].get_feature_names_out().tolist())\n"
    )


def test_a_table_in_memory_has_a_script_with_a_place_for_it_and_none_of_its_values(folder):
    frame = TABLE.rename(columns={"it's": "secret 4711"})
    repeat = study(frame, frame["class"].rename("kind"), kinds={"class": "id"}, **QUICK).to_dict()["reproduction"]
    assert repeat["command"] is None
    assert repeat["placeholders"] == ["data", "target"]
    assert "data = ...  # pandas DataFrame\ntarget = ...  # pandas Series\n" in repeat["python"]
    script = repeat["python"].replace("data = ...", "data = frame").replace("target = ...", "target = frame['class']")
    made = {"frame": frame}
    exec(script, made)
    assert (folder / "report.html").exists()
    assert (
        made["selector"].get_feature_names_out().tolist()
        == study(frame, frame["class"], kinds={"class": "id"}, **QUICK).to_dict()["subset"]["columns"]
    )


def test_a_table_is_named_as_one():
    repeat = study(open_table(TABLE, "class"), **QUICK).to_dict()["reproduction"]
    assert "\ndata = ...  # tamiz EncodedTable\n" in repeat["python"]
    assert (
        "\ntable = data\nselector = SubsetSelector(CFS(), BestFirst(excluded=['price']), random_state=0).fit(table)\n"
        in repeat["python"]
    )


def test_a_graph_that_was_built_is_a_place_in_the_script(folder):
    TABLE[["it's", "rooms", "class"]].to_csv("t.csv", index=False)
    graph = KNearest(5).build(TABLE[["it's", "rooms"]].to_numpy())
    repeat = study("t.csv", "class", graph=graph, **QUICK).to_dict()["reproduction"]
    assert repeat["placeholders"] == ["graph"]


def test_without_a_seed_the_script_contains_the_drawn_seed(folder):
    TABLE.to_csv("t.csv", index=False)
    result = study(
        "t.csv",
        "class",
        selector=SubsetSelector(search=RandomSubsets(6)),
        kinds={"price": "id"},
        random_state=None,
        **QUICK,
    ).to_dict()
    made = {}
    script = result["reproduction"]["python"]
    exec(script[script.index("# Only the selection") :], _imports(script, made))
    assert made["selector"].get_feature_names_out().tolist() == result["subset"]["columns"]


def _imports(script, made):
    exec("\n".join(line for line in script.splitlines() if line.startswith("from ")), made)
    return made


def test_a_journal_is_named_without_its_folder(folder):
    TABLE.to_csv("t.csv", index=False)
    repeat = study("t.csv", "class", selector=SubsetSelector(journal=folder / "search.journal"), **QUICK).to_dict()[
        "reproduction"
    ]
    assert "journal='search.journal'" in repeat["python"]
    assert str(folder) not in json.dumps(repeat)
