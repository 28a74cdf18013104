"""`tamiz select --method`: selections with error control on the command line."""

import json
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from click.testing import Result

import tamiz as library
from tamiz.criteria import FisherScore
from tamiz.error_control import BorutaSelector, KnockoffSelector, StabilitySelector

RELEVANT = [f"número {j}" for j in range(6)]
KNOCKOFFS = ("--method", "knockoffs", "--fdr", 0.3)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """250 rows: six relevant numbers, noise, a category, a constant, and a target with missing values."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(250, 10))
    frame = pd.DataFrame(X, columns=[*RELEVANT, *(f"noise, {k}" for k in range(4))])
    frame["a category"] = rng.choice(["u", "v", "w"], 250)
    frame["constant"] = 1
    frame["the class"] = np.where(X[:, :6].sum(axis=1) + 0.3 * rng.normal(size=250) > 0, "yes", "no")
    frame.loc[:4, "the class"] = None
    path = tmp_path_factory.mktemp("tables") / "table.csv"
    frame.to_csv(path, index=False)
    return path


@pytest.fixture
def select(tamiz: Callable[..., Result], table: Path) -> Callable[..., Result]:
    """Select columns of the table."""
    return lambda *arguments: tamiz("select", table, "-t", "the class", *arguments)


def shown(done: Result) -> dict[str, Any]:
    assert done.exit_code == 0, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    return found


@pytest.mark.filterwarnings("ignore::tamiz.exceptions.TamizWarning")
@pytest.mark.parametrize(
    ("arguments", "selector", "key", "attribute", "sentences"),
    [
        (
            ["--method", "boruta", "-r", "fisher", "--max-iter", 20],
            BorutaSelector(FisherScore(), max_iter=20, random_state=3),
            "hits",
            "hits_",
            ["Boruta with Fisher score: ", " confirmed, ", "at level 0.05 (Bonferroni)", "bounds neither the number"],
        ),
        (
            KNOCKOFFS,
            KnockoffSelector(fdr=0.3, random_state=3),
            "statistic",
            "statistics_",
            [
                "share of false columns among the selected ones is at most 0.3",
                "No check of these assumptions failed.",
            ],
        ),
        (
            ["--method", "stability", "-r", "fisher-score", "--max-false", 0.5, "-k", 2],
            StabilitySelector(FisherScore(), max_false=0.5, n_features=2, random_state=3),
            "frequency",
            "selection_frequencies_",
            [
                "2 columns from each of 100 halves of the rows: ",
                "The expected number of false selections is at most ",
            ],
        ),
    ],
    ids=["boruta", "knockoffs", "stability"],
)
def test_numbers_are_those_of_the_selector(
    select: Callable[..., Result],
    table: Path,
    arguments: list[object],
    selector: Any,
    key: str,
    attribute: str,
    sentences: list[str],
) -> None:
    fitted = selector.fit(library.open_table(table, "the class"))
    done = select(*arguments, "--seed", 3, "--json")
    found = shown(done)
    names = fitted.schema_.names
    assert found["method"] == arguments[1]
    assert found["columns"] == [names[j] for j in fitted.get_support(indices=True)]
    assert found["columns"]
    values = np.ravel(getattr(fitted, attribute))[fitted.schema_.used].tolist()
    assert [record[key] for record in found["all_columns"]] == values
    assert all(sentence in done.stderr for sentence in sentences), done.stderr


def test_the_selection_is_printed_written_saved_and_applied(
    select: Callable[..., Result], tamiz: Callable[..., Result], table: Path, folder: Path
) -> None:
    done = select("--method", "stability", "-r", "fisher-score", "-k", 6, "-o", "s.csv", "--model", "m.tamiz", "-q")
    names = done.stdout.splitlines()
    assert (names, done.stderr) == (RELEVANT, "")
    pd.testing.assert_frame_equal(pd.read_csv(folder / "s.csv"), pd.read_csv(table)[[*names, "the class"]])
    applied = tamiz("apply", "m.tamiz", table, "-o", "a.csv")
    assert applied.exit_code == 0, applied.stderr
    assert list(pd.read_csv(folder / "a.csv").columns) == [*names, "the class"]


def test_an_empty_selection_is_an_answer(select: Callable[..., Result]) -> None:
    done = select("--method", "knockoffs", "--fdr", 0.01)
    assert (done.exit_code, done.stdout) == (0, "")
    assert "to check TZ305: No column is selected at fdr=0.01" in done.stderr


@pytest.mark.parametrize(
    ("method", "module", "relevance"),
    [
        ("boruta", "tamiz.criteria.tree_importance", "TreeImportance"),
        ("knockoffs", "tamiz.error_control.knockoff_selector", "LassoCoefficient"),
    ],
)
def test_models_are_fitted_to_as_many_rows_as_in_a_study(
    select: Callable[..., Result], monkeypatch: pytest.MonkeyPatch, method: str, module: str, relevance: str
) -> None:
    monkeypatch.setattr(f"{module}.{relevance}.max_study_values", 100)
    monkeypatch.setattr("tamiz.criteria.model_relevance._MIN_ROWS", 60)
    options = ["--max-iter", 1] if method == "boruta" else []
    done = select("--method", method, *options)
    assert done.exit_code == 0, done.stderr
    assert done.stderr.count(f"note TZ502: {relevance} reads 60 of the 245 rows, drawn at random.") == 1


def test_methods_lists_the_selections(tamiz: Callable[..., Result]) -> None:
    listed = json.loads(tamiz("methods", "--json").stdout)
    assert [one["name"] for one in listed if one["kind"] == "selection"] == [
        "boruta",
        "knockoffs",
        "stability",
        "redundancy",
    ]


def test_an_empty_table_is_not_written(tamiz: Callable[..., Result], table: Path, folder: Path) -> None:
    done = tamiz("select", table, "--method", "stability", "-r", "entropy", "-k", 1, "--threshold", 1, "-o", "s.csv")
    assert (done.exit_code, done.stdout, list(folder.iterdir())) == (0, "", [])
    assert "note: No column is selected and the table has no target, so s.csv is not written." in done.stderr


@pytest.mark.slow
def test_an_assessment_is_that_of_any_selector(select: Callable[..., Result], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(import_module("tamiz.cli.select"), "_LONG_SECONDS", 0.0)
    arguments = ["--method", "stability", "-r", "fisher-score", "-k", 3, "--assess", "--scoring", "accuracy"]
    done = select(*arguments, "--json")
    assessment = shown(done)["assessment"]
    # 1 on all rows, 10 folds and 99 shuffled targets.
    assert "note: The assessment repeats the selection, which took " in done.stderr
    assert " seconds, 110 times: at most " in done.stderr
    assert assessment["scoring"] == "accuracy"
    assert assessment["selector"] == "StabilitySelector"
    assert assessment["null"]["p_value"] < 0.05


def test_ctrl_c_leaves_no_result(select: Callable[..., Result], folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("tamiz.error_control.boruta._Iterations.run", interrupt)
    done = select("--method", "boruta", "-r", "fisher-score", "-o", "s.csv")
    assert (done.exit_code, done.stdout, list(folder.iterdir())) == (130, "", [])
    assert "note: Interrupted before the selection was complete: no column is selected." in done.stderr


@pytest.mark.parametrize(
    ("arguments", "unit", "most"),
    [
        (["--method", "boruta", "--max-iter", 7], "iterations", 7),
        (["--method", "stability", "--n-pairs", 3], "pairs of halves", 3),
    ],
)
def test_a_dry_run_prints_the_repetitions_and_the_time_of_one(
    select: Callable[..., Result], arguments: list[object], unit: str, most: int
) -> None:
    done = select(*arguments, "-r", "fisher-score", "--dry-run")
    assert done.exit_code == 0, done.stderr
    assert done.stdout.startswith(f"Plan: at most {most} {unit}, ")
    plan = shown(select(*arguments, "-r", "fisher-score", "--dry-run", "--json"))
    assert (plan["unit"], plan["max_repetitions"]) == (unit, most)
    assert plan["estimated_seconds"] == pytest.approx(most * plan["seconds_per_repetition"])


@pytest.mark.parametrize("method", ["search", "boruta", "knockoffs", "stability", "redundancy"])
def test_every_method_has_a_plan_and_a_time_limit(select: Callable[..., Result], method: str) -> None:
    plan = shown(select("--method", method, "--dry-run", "--json"))
    assert plan["estimated_seconds"] > 0
    assert plan["max_bytes"] > 0
    done = select("--method", method, "--max-seconds", 1e-9)
    if method in ("knockoffs", "redundancy"):
        assert done.exit_code == 1
        assert "takes longer than max_seconds=1e-09 (--max-seconds)" in done.stderr
    else:
        assert done.exit_code == 0, done.stderr
        assert "1e-09" in done.stderr


def test_a_long_selection_is_announced_and_a_short_one_is_not(
    select: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    command = ["--method", "stability", "--n-pairs", 3, "-r", "fisher-score"]
    assert "Plan:" not in select(*command).stderr
    monkeypatch.setattr(import_module("tamiz.cli.select"), "_LONG_SECONDS", 0.0)
    assert "note: Plan: at most 3 pairs of halves, " in select(*command).stderr
    assert "Plan:" not in select(*KNOCKOFFS, "-r", "fisher-score").stderr


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ["--method", "boruta", "--merit", "cfs"],
            "--merit does not apply to --method boruta: leave it out, or use --method search.",
        ),
        (["--method", "knockoffs", "--max-iter", 3], "--max-iter does not apply to --method knockoffs"),
        (["--method", "boruta", "--n-pairs", 3], "--n-pairs does not apply to --method boruta"),
        (
            ["--method", "boruta", "-k", 3],
            "--n-features does not apply to --method boruta: leave it out, or use --method search or stability.",
        ),
        (
            ["--method", "boruta", "--fdr", 0.1],
            "--fdr does not apply to --method boruta: leave it out, or use --method knockoffs.",
        ),
        (["--relevance", "fisher-score"], "use --method boruta or knockoffs or stability or redundancy."),
        (["--method", "knockoffs", "--fdr", 1], "is not in the range 0<x<1"),
        (["--method", "knockoffs", "-r", "variance"], "needs a relevance that uses the target, and variance does not."),
        (["--method", "stability", "-k", "2-3"], "one number or share, not a range."),
        (["--method", "stability", "-k", 2, "--max-false", 1, "--threshold", 0.7], "cannot all be used"),
        (["--method", "boruta", "--scoring", "f1"], "--scoring applies to wrappers and assessments only"),
        (["--method", "lasso"], "'lasso' is not one of 'search', 'boruta', 'knockoffs', 'stability', 'redundancy'."),
    ],
)
def test_options_of_other_methods_are_refused(
    select: Callable[..., Result], arguments: list[object], sentence: str
) -> None:
    done = select(*arguments)
    assert (done.exit_code, done.stdout) == (2, "")
    assert sentence in done.stderr


def test_a_method_that_compares_with_noise_needs_a_target(tamiz: Callable[..., Result], table: Path) -> None:
    done = tamiz("select", table, "--method", "knockoffs")
    assert done.exit_code == 2
    assert "--method knockoffs needs a target: name its column with --target." in done.stderr


@pytest.mark.parametrize("relevance", [(), ("-r", "gain-ratio")])
def test_a_correction_without_p_values_is_a_wrong_command_line(
    tamiz: Callable[..., Result], table: Path, relevance: tuple[str, ...]
) -> None:
    done = tamiz("rank", table, "-t", "the class", *relevance, "--correction", "holm")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "--correction needs p-values, and " in done.stderr
    assert "use --relevance with independence-test." in done.stderr
    assert tamiz("rank", table, "-t", "the class", "--fdr", 0.1, "--correction", "holm").exit_code == 0
