import csv
import json
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import Result
from sklearn.datasets import load_iris

from tamiz import RankSelector, open_table
from tamiz import rank as rank_columns
from tamiz.cli.rank import rank
from tamiz.criteria import FisherScore, GainRatio, InformationGain
from tamiz.criteria.base import columns_per_pass
from tamiz.statistics.independence import CORRECTIONS
from tamiz.table import column_storage
from tamiz.table.build import OpenOptions
from tamiz.table.preview import make_read_plan

ORDER = ["petal_width", "petal_length", "sepal_length", "sepal_width"]


def _iris_scores(relevance: object) -> dict[str, float]:
    X, y = load_iris(return_X_y=True)
    scores = RankSelector(relevance).fit(X, y).scores_
    return dict(zip(["sepal_length", "sepal_width", "petal_length", "petal_width"], scores.tolist(), strict=True))


def test_ranking_is_tab_separated_and_exact_in_a_pipe(tamiz: Callable[..., Result], iris: Path) -> None:
    done = tamiz("rank", iris, "--target", "species")
    assert done.exit_code == 0
    header, *rows = csv.reader(done.stdout.splitlines(), delimiter="\t")
    assert header == ["column", "score"]
    expected = _iris_scores(InformationGain())
    assert {name: float(score) for name, score in rows} == expected
    assert [name for name, _ in rows] == sorted(expected, key=expected.__getitem__, reverse=True)


@pytest.mark.parametrize("name", ["gain-ratio", "gain_ratio", "Gain-Ratio"])
def test_a_relevance_is_taken_with_dashes_and_underscores(tamiz: Callable[..., Result], iris: Path, name: str) -> None:
    done = tamiz("rank", iris, "--target", "species", "--relevance", name, "--json")
    shown = json.loads(done.stdout)
    assert shown["relevance"] == {"name": "gain-ratio", "label": "Gain ratio", "unit": GainRatio.unit}
    assert {column["column"]: column["score"] for column in shown["columns"]} == _iris_scores(GainRatio())


def test_top_keeps_the_best(tamiz: Callable[..., Result], iris: Path) -> None:
    lines = tamiz("rank", iris, "-t", "species", "--top", 2).stdout.splitlines()
    assert {line.split("\t")[0] for line in lines[1:]} == {"petal_width", "petal_length"}
    assert len(lines) == 3


def test_without_a_target_a_relevance_that_needs_none_is_taken(tamiz: Callable[..., Result], iris: Path) -> None:
    shown = json.loads(tamiz("rank", iris, "--json").stdout)
    assert shown["relevance"]["name"] == "laplacian-score"
    assert len(shown["columns"]) == 5


def test_a_numeric_target_is_ranked_too(tamiz: Callable[..., Result], iris: Path) -> None:
    shown = json.loads(tamiz("rank", iris, "-t", "petal_length", "-r", "information-gain", "--json").stdout)
    assert shown["columns"][0]["column"] in ("petal_width", "species")


def test_a_relevance_without_meaning_on_the_table_states_the_reason(tamiz: Callable[..., Result], iris: Path) -> None:
    done = tamiz("rank", iris, "-t", "petal_length", "-r", "fisher-score")
    assert done.exit_code == 1
    assert "FisherScore needs a target with classes; the target 'petal_length' is numeric." in done.stderr


def test_columns_left_out_are_noted_and_not_ranked(tamiz: Callable[..., Result], write: Callable[..., Path]) -> None:
    rows = "".join(f"{i},{i % 2},{'ab'[i % 2]}\n" for i in range(20))
    done = tamiz("rank", write(f"row_id,x,y\n{rows}"), "-t", "y")
    assert [line.split("\t")[0] for line in done.stdout.splitlines()] == ["column", "x"]
    assert "note TZ203: 1 of 2 columns is excluded: row_id (it is a row number)." in done.stderr


def test_a_target_that_may_be_a_number_is_noted_and_quiet_hides_it(
    tamiz: Callable[..., Result], write: Callable[..., Path]
) -> None:
    arguments = ["rank", write("x,y\n" + "".join(f"{k * k % 11},{k % 6}\n" for k in range(60))), "-t", "y"]
    assert "to check TZ103: The target 'y' has 6 whole numbers" in tamiz(*arguments).stderr
    quiet = tamiz(*arguments, "--quiet")
    assert quiet.stderr == ""
    assert quiet.stdout == tamiz(*arguments).stdout


def test_kinds_and_weight_are_handed_on(tamiz: Callable[..., Result], write: Callable[..., Path]) -> None:
    rng = np.random.default_rng(0)
    rows = "".join(f"{rng.integers(3)},{rng.integers(9)},{w},{'ab'[rng.integers(2)]}\n" for w in rng.integers(1, 4, 50))
    path = write(f"a=b,c,w,y\n{rows}")
    shown = json.loads(
        tamiz(
            "rank", path, "-t", "y", "--weight", "w", "--kinds", "a=b=categorical", "--kinds", "c=id", "--json"
        ).stdout
    )
    assert [column["column"] for column in shown["columns"]] == ["a=b"]


def test_a_name_with_a_tab_and_a_line_end_stays_one_field(
    tamiz: Callable[..., Result], write: Callable[..., Path]
) -> None:
    done = tamiz("rank", write('"a\tb\nc",d,y\n1,2,p\n2,2,q\n1,3,p\n'), "-t", "y")
    rows = list(csv.reader(done.stdout.splitlines(keepends=True), delimiter="\t"))
    assert {row[0] for row in rows} == {"column", "a\tb\nc", "d"}


def many_rows(write: Callable[..., Path]) -> Path:
    rows = "".join(f"{k % 97},{k % 89 / 8},{'ab'[k % 2]}\n" for k in range(120_000))
    return write("u,v,y\n" + rows)


@pytest.mark.slow
def test_passes_over_a_table_larger_than_memory_are_printed_before_it_is_read(tamiz, write, monkeypatch):
    monkeypatch.setattr(column_storage, "MAX_MEMORY_SHARE", 0.0)
    run = tamiz("rank", many_rows(write), "--target", "y", "--memory", "900GB")
    assert run.exit_code == 0
    first, *others = run.stderr.splitlines()
    assert re.fullmatch(
        r"Plan: parse data\.csv \(1\.\d+ MB, about 1\d\d,\d{3} rows of 2 columns\) once, into about \d\.\d+ MB of disk in \S+; "
        r"then 2 passes over [12]\.\d+ MB and [12]\.\d+ MB; at most 900 GB of memory\.",
        first,
    )
    assert others
    run = tamiz("rank", "data.csv", "--target", "y", "--relevance", "fisher-score")
    assert re.search(r"; then 1 pass over [12]\.\d+ MB\.$", run.stderr.splitlines()[0])
    assert tamiz("rank", "data.csv", "--target", "y", "--quiet").stderr == ""


def test_the_plan_of_a_table_sorted_by_class_states_the_same_passes(tamiz, write, monkeypatch):
    monkeypatch.setattr(column_storage, "MAX_MEMORY_SHARE", 0.0)
    rows = "".join(f"{k % 97},{k % 89 / 8},{'ab'[k // 120_000]}\n" for k in range(240_000))
    run = tamiz("rank", write("u,v,y\n" + rows), "--target", "y")
    assert run.exit_code == 0
    assert re.match(r"Plan: parse data\.csv .*; then 2 passes over \d\.\d+ MB and \d\.\d+ MB\.\n", run.stderr)


def test_the_plan_of_a_score_on_a_graph_has_no_number_of_passes(tamiz, write, monkeypatch):
    monkeypatch.setattr(column_storage, "MAX_MEMORY_SHARE", 0.0)
    monkeypatch.setattr(RankSelector, "fit", interrupted)
    run = tamiz("rank", many_rows(write), "--relevance", "laplacian-score")
    assert re.match(r"Plan: parse data\.csv .* of disk in \S+\.\n", run.stderr)


def interrupted(selector, table):
    raise KeyboardInterrupt


def test_an_error_of_a_score_is_not_taken_for_a_plan_without_passes(tamiz, write, monkeypatch):
    def broken(score, schema):
        raise TypeError("a mistake")

    monkeypatch.setattr(column_storage, "MAX_MEMORY_SHARE", 0.0)
    monkeypatch.setattr(FisherScore, "_statistics", broken)
    with pytest.raises(TypeError, match="a mistake"):
        make_read_plan(
            many_rows(write), OpenOptions("y"), None, lambda schema: columns_per_pass([FisherScore()], schema)
        )


def test_no_plan_is_printed_for_a_table_that_fits_in_memory(tamiz, write):
    assert "Plan" not in tamiz("rank", many_rows(write), "--target", "y").stderr


def test_memory_that_is_too_little_is_one_sentence(tamiz, iris):
    run = tamiz("rank", iris, "--target", "species", "--memory", "20MB")
    assert run.exit_code == 1
    assert re.fullmatch(r"tamiz: 20 MB of memory are too little .* at least .*\.\n", run.stderr)


@pytest.mark.parametrize("command", ["rank", "select", "study"])
def test_memory_that_is_no_size_is_a_wrong_command_line(tamiz, iris, command):
    run = tamiz(command, iris, "--target", "species", "--memory", "lots")
    assert run.exit_code == 2
    assert "memory must be a size such as 800MB, 1GB or 1.5GiB, got 'lots'." in run.stderr


def test_a_group_counts_as_one_row_in_a_ranking(tamiz: Callable[..., Result], write: Callable[..., Path]) -> None:
    rng = np.random.default_rng(0)
    who = np.arange(40).repeat(15)
    columns = [who, (rng.permutation(40) % 2)[who], rng.normal(size=40)[who] + 0.01 * rng.normal(size=600)]
    path = write("who,ill,noise\n" + "".join(f"p{w},{i},{x:.5f}\n" for w, i, x in zip(*columns, strict=True)))
    by_rows = json.loads(tamiz("rank", path, "-t", "ill", "--kinds", "who=id", "--json").stdout)
    done = tamiz("rank", path, "-t", "ill", "--group", "who", "--json")
    by_groups = json.loads(done.stdout)
    assert by_rows["columns"][0]["score"] > 0.1
    assert by_groups["columns"] == [{"column": "noise", "score": 0.0}]
    assert "each group counts once" in done.stderr


def test_fdr_prints_the_significant_columns_with_their_p_values(
    tamiz: Callable[..., Result], write: Callable[..., Path]
) -> None:
    rng = np.random.default_rng(0)
    rows = "".join(f"{i % 2 + rng.normal():.6f},{rng.normal():.6f},{'pq'[i % 2]}\n" for i in range(80))
    path = write(f"a,b,y\n{rows}")
    done = tamiz("rank", path, "-t", "y", "--fdr", 0.05)
    header, *printed = csv.reader(done.stdout.splitlines(), delimiter="\t")
    assert header == ["column", "score", "p_value", "adjusted_p_value"]
    ((name, score, p, adjusted),) = printed
    assert name == "a"
    assert float(score) == pytest.approx(-np.log10(float(p)))
    assert float(adjusted) == pytest.approx(2 * float(p))
    shown = json.loads(
        tamiz("rank", path, "-t", "y", "-r", "independence-test", "--correction", "holm", "--json").stdout
    )
    assert shown["correction"] == "holm"
    assert [sorted(column) for column in shown["columns"]] == [["adjusted_p_value", "column", "p_value", "score"]] * 2


def test_fdr_without_p_values_names_the_relevances_that_have_them(tamiz: Callable[..., Result], iris: Path) -> None:
    done = tamiz("rank", iris, "-t", "species", "-r", "entropy", "--fdr", 0.05)
    assert done.exit_code == 2
    assert "--fdr needs p-values, and entropy has none: use --relevance with independence-test." in done.stderr


def test_the_corrections_are_those_of_adjust_p_values() -> None:
    (option,) = (one for one in rank.params if one.name == "correction")
    assert [name.replace("-", "_") for name in option.type.choices] == list(CORRECTIONS)


def test_stability_prints_the_interval_of_the_rank_and_the_share_of_the_samples(
    tamiz: Callable[..., Result], iris: Path
) -> None:
    result = tamiz("rank", iris, "-t", "species", "-r", "fisher-score", "--top", 2, "--stability", 20)
    header, *rows = [line.split("\t") for line in result.stdout.splitlines()]
    assert header == ["column", "score", "rank", "rank_low", "rank_high", "top_share"]
    assert [row[2] for row in rows] == ["1.0", "2.0"]
    assert all(float(low) <= float(rank) <= float(high) for _, _, rank, low, high, _ in rows)
    assert "(bootstrap: 150 rows drawn with replacement)" in result.stderr
    shown = json.loads(tamiz("rank", iris, "-t", "species", "--stability", 20, "--json").stdout)
    assert shown["stability"]["n_bootstrap"] == 20
    assert len(shown["columns"]) == 4
    assert shown["columns"][0]["top_share"] >= shown["columns"][3]["top_share"]


def test_top_of_fewer_columns_prints_all(tamiz: Callable[..., Result], iris: Path) -> None:
    done = tamiz("rank", iris, "-t", "species", "--top", 10)
    assert (done.exit_code, done.stdout) == (0, tamiz("rank", iris, "-t", "species").stdout)
    shown = json.loads(tamiz("rank", iris, "-t", "species", "--top", 10, "--stability", 4, "--json").stdout)
    assert (len(shown["columns"]), shown["stability"]["top"]) == (4, 4)


@pytest.mark.parametrize("number", [0, -1])
def test_top_of_no_columns_is_a_wrong_command_line(tamiz: Callable[..., Result], iris: Path, number: int) -> None:
    done = tamiz("rank", iris, "-t", "species", f"--top={number}")
    assert (done.exit_code, done.stdout) == (2, "")
    assert f"{number} is not in the range x>=1" in done.stderr


def test_excluded_columns_are_noted_once(tamiz: Callable[..., Result], write: Callable[..., Path]) -> None:
    rows = "".join(f"{i},{i % 2},{'ab'[i % 2]}\n" for i in range(20))
    table = write(f"row_id,x,y\n{rows}")
    for command in (["rank", "--top", 1, "-r", "information-gain"], ["select"], ["select", "--method", "redundancy"]):
        assert tamiz(*command, table, "-t", "y").stderr.count("row_id") == 1


def test_a_ranking_at_chance_level_names_a_command_with_the_correction(
    tamiz: Callable[..., Result], write: Callable[..., Path]
) -> None:
    rng = np.random.default_rng(0)
    rows = "".join(f"v{rng.integers(20)},{k % 3},{'ab'[k % 2]}\n" for k in range(60))
    done = tamiz("rank", write(f"level,x,y\n{rows}"), "-t", "y", "-r", "information-gain", "--top", 1)
    assert "(tamiz select --merit mim --correction chance)." in done.stderr


def test_the_command_prints_what_the_function_returns(tamiz: Callable[..., Result], iris: Path) -> None:
    shown = tamiz("rank", iris, "-t", "species", "--fdr", 0.01, "--top", 3, "--stability", 10, "--json").stdout
    found = rank_columns(open_table(iris, "species"), fdr=0.01, n_features=3, n_bootstrap=10).to_dict()
    kept = [{name: one[name] for name in one if name != "kept"} for one in found["columns"] if one["kept"]]
    assert len(kept) == 3
    assert json.loads(shown) == {"table": "iris.csv", "target": "species", **found, "columns": kept}


def test_a_table_without_a_usable_column_has_an_empty_ranking(tamiz: Callable[..., Result], tmp_path: Path) -> None:
    path = tmp_path / "ids.csv"
    path.write_text("id,name,y\n" + "".join(f"{i},k{i},{'ab'[i % 2]}\n" for i in range(30)), encoding="utf-8")
    done = tamiz("rank", path, "--target", "y")
    assert (done.exit_code, done.stdout) == (0, "column\tscore\n")
    assert "2 of 2 columns are excluded: id (it is a row number), name (all values are distinct)." in done.stderr
