"""The codes of warnings: each has a section, is used, reaches Python, JSON, terminal and page, and can be muted."""

import json
import pickle
import re
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

import tamiz
from tamiz import RankSelector, open_table, study
from tamiz.cli import main
from tamiz.criteria import InformationGain
from tamiz.exceptions import ConvergenceWarning, TamizWarning
from tamiz.report import Result
from tamiz.runtime.user_warnings import ImputationNote, warn
from tamiz.runtime.verdicts import CODES, Verdict, check_codes, explain_code

PACKAGE = Path(tamiz.__file__).parent


@pytest.fixture
def sorted_table(tmp_path):
    """A table that is sorted by a column, with a leak and a column without values."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 120)
    table = pd.DataFrame({
        "step": np.arange(120) + rng.uniform(size=120),
        "x": rng.normal(size=120) + y,
        "copy": np.where(y == 1, "yes", "no"),
        "empty": np.nan,
        "y": np.where(y == 1, "b", "a"),
    })  # fmt: skip
    table.to_csv(tmp_path / "table.csv", index=False)
    return tmp_path / "table.csv"


def test_each_code_has_a_section_with_its_label_and_severity():
    text = (PACKAGE / "verdicts.md").read_text(encoding="utf-8")
    headings = re.findall(r"^## (TZ\d+) (.*) \((.*)\)$", text, re.MULTILINE)
    assert headings == [(code, one.label, one.severity) for code, one in CODES.items()]
    assert text.count("\n## ") == len(CODES)


def test_each_code_is_used_and_each_use_has_a_code():
    files = [path for path in PACKAGE.rglob("*.py") if path.name != "verdicts.py"]
    assert {code for path in files for code in re.findall(r'"(TZ\d+)"', path.read_text("utf-8"))} == set(CODES)


def test_a_warning_has_code_columns_and_severity():
    with pytest.warns(TamizWarning) as caught:
        open_table(pd.DataFrame({"a": [1.0, 1 + 1e-200 * 0, 2.0], "b": [1e-200, 2e-200, 3e-200]}))
    verdict = caught[0].message.args[0]
    assert (verdict.code, verdict.severity, verdict.columns) == ("TZ211", "to check", ("b",))
    assert str(caught[0].message) == f"TZ211: {verdict}"
    assert verdict.to_dict() == {"code": "TZ211", "severity": "to check", "columns": ["b"], "sentence": str(verdict)}


def test_a_python_filter_mutes_a_code():
    table = pd.DataFrame({"a": [1e-200, 2e-200, 3e-200]})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "TZ211")
        open_table(table)
        warnings.filterwarnings("error", "TZ211")
        with pytest.raises(TamizWarning):
            open_table(table)


def test_only_what_has_not_converged_is_a_convergence_warning():
    with pytest.warns(ConvergenceWarning, match=r"^TZ501: It stopped\.$"):
        warn("TZ501", "It stopped.")
    with pytest.warns(TamizWarning) as caught:
        warn("TZ502", "It is a sample.")
    assert not isinstance(caught[0].message, ConvergenceWarning)


@pytest.mark.parametrize("verdict", [Verdict("TZ101", "A leak.", ["a", 2]), ImputationNote("Replaced.", "PCA")])
def test_a_verdict_survives_a_process(verdict):
    copied = pickle.loads(pickle.dumps(verdict))
    assert type(copied) is type(verdict)
    assert copied == verdict
    assert vars(copied) == vars(verdict)
    changed = verdict.with_sentence("Another.")
    assert (type(changed), changed, vars(changed)) == (type(verdict), "Another.", vars(verdict))


def test_an_unknown_code_is_an_error_with_the_closest_one():
    assert check_codes([" tz204", "TZ101"]) == {"TZ204", "TZ101"}
    with pytest.raises(ValueError, match=r"^There is no code 'TZ3O4' \(did you mean 'TZ304'\?\)"):
        check_codes("TZ3O4")
    with pytest.raises(ValueError, match="There is no code 'leaks'"):
        study(pd.DataFrame({"a": [1.0, 2, 3]}), mute="leaks")


def test_a_study_mutes_codes_and_nothing_else_changes(sorted_table):
    options = {"target": "y", "maps": [], "assess": False}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        whole = study(sorted_table, **options).to_dict()
    codes = [one["code"] for one in whole["warnings"]]
    assert {str(one.message)[:5] for one in caught} <= set(codes)
    assert {"TZ101", "TZ203", "TZ204"} <= set(codes)
    order = ["problem", "to check", "note"]
    severities = [order.index(one["severity"]) for one in whole["warnings"]]
    assert severities == sorted(severities)
    (leak,) = [one for one in whole["warnings"] if one["code"] == "TZ101"]
    assert leak["columns"] == ["copy"]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        muted = study(sorted_table, **options, mute=["tz204", "TZ203"]).to_dict()
    assert not [one for one in caught if str(one.message).startswith(("TZ203", "TZ204"))]
    assert [one["code"] for one in muted["warnings"]] == [code for code in codes if code not in ("TZ203", "TZ204")]
    del whole["warnings"], muted["warnings"], whole["reproduction"]
    assert 'mute=["tz204", "TZ203"]' in muted.pop("reproduction")["python"].replace("'", '"')
    assert muted == whole


@pytest.mark.filterwarnings("ignore::tamiz.exceptions.TamizWarning")
def test_a_muted_study_is_written_and_read_again(sorted_table, tmp_path):
    result = study(sorted_table, target="y", maps=[], assess=False)
    path = result.to_json(tmp_path / "result.json")
    again = Result.from_json(path)
    assert again.record.warnings == result.record.warnings
    assert [one.columns for one in again.record.warnings] == [one.columns for one in result.record.warnings]
    page = result.page()
    for one in result.record.warnings:
        assert f"<strong>{one.code} {one.label}</strong>" in page


def test_the_terminal_shows_the_same_codes_and_mutes_them(sorted_table):
    def stderr(*options):
        done = CliRunner().invoke(
            main, ["rank", str(sorted_table), "--target", "y", "--relevance", "information-gain", *options]
        )
        assert done.exit_code == 0, done.output
        return done.stderr

    assert "to check TZ204: The rows are sorted by 'step'" in stderr()
    assert "note TZ203: 1 of 4 columns is excluded" in stderr()
    muted = stderr("--mute", "TZ204")
    assert "TZ204" not in muted
    assert "TZ203" in muted
    done = CliRunner().invoke(main, ["rank", str(sorted_table), "--target", "y", "--mute", "TZ999"])
    assert done.exit_code == 1
    assert "There is no code 'TZ999'" in done.stderr


def test_explain_prints_the_section_of_a_code():
    done = CliRunner().invoke(main, ["explain", "tz101"])
    assert done.output.startswith("TZ101 possible leak (problem)\n")
    assert "TZ102" not in done.output
    listed = json.loads(CliRunner().invoke(main, ["explain", "--json"]).output)
    assert [one["code"] for one in listed] == list(CODES)
    assert CliRunner().invoke(main, ["explain", "TZ000"]).exit_code == 1
    assert explain_code("TZ506").startswith("TZ506")


def test_a_note_on_missing_values_of_a_selector_has_a_code():
    table = pd.DataFrame({"a": [1.0, 2, 3, 4] * 10, "gone": [np.nan] * 40})
    with pytest.warns(TamizWarning) as caught:
        RankSelector(InformationGain()).fit(table, [0, 1] * 20)
    assert any(one.message.args[0].columns == ("gone",) for one in caught)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::tamiz.exceptions.TamizWarning")
def test_a_muted_code_is_in_no_section_report_or_command(sorted_table, tmp_path):
    table = pd.read_csv(sorted_table)
    table["x in mm"] = 10 * table["x"]
    found = study(table, target="y", maps=[], relevances=[InformationGain()], mute="TZ301")
    assert "TZ301" not in [one.code for one in found.record.warnings]
    assert not [note for note in found.record.recommendation.notes if "equivalent" in note]
    usual = study(sorted_table, target="y", maps=[], assess=False)
    usual.to_json(tmp_path / "r.json")
    arguments = ["report", str(tmp_path / "r.json"), "-o", str(tmp_path / "r.html"), "--mute", "TZ204"]
    assert CliRunner().invoke(main, arguments).exit_code == 0
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    assert "TZ203" in page
    assert "TZ204" not in page
    muted = study(sorted_table, target="y", maps=[], assess=False, mute=["tz204", "TZ203"])
    assert "mute=['tz204', 'TZ203']" in muted.record.reproduction.python


def test_the_json_of_a_command_has_no_muted_warning(sorted_table):
    arguments = [
        "compare",
        str(sorted_table),
        "-t",
        "y",
        "--reduce",
        "pca",
        "--json",
        "--seed",
        "1",
        "--map-rows",
        "50",
    ]
    for muted in ((), ("--mute", "TZ502")):
        done = CliRunner().invoke(main, [*arguments, *muted])
        assert done.exit_code == 0, done.stderr
        assert ("TZ502" in {one["code"] for one in json.loads(done.stdout)["warnings"]}) is (not muted)


@pytest.mark.parametrize("mute", [None, 5])
def test_what_is_no_code_is_named(mute):
    with pytest.raises(TypeError, match="mute must be a code such as 'TZ204', or a list of codes"):
        study(pd.DataFrame({"a": [1.0, 2, 3]}), mute=mute)
