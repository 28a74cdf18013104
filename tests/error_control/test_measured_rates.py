"""The simulation of error control: its counts and truths, and that the documentation shows its results."""

import json
from pathlib import Path

import numpy as np
import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


@pytest.fixture
def simulation(monkeypatch):
    monkeypatch.syspath_prepend(BENCHMARKS)
    return pytest.importorskip("error_control", reason="the folder of benchmarks is absent")


def test_the_documentation_shows_the_results(simulation):
    summary = json.loads(simulation.SUMMARY.read_text(encoding="utf-8"))
    page = simulation.PAGE.read_text(encoding="utf-8")
    assert simulation.page_with_rates(page, summary) == page


def test_rates_are_those_of_the_statements(simulation):
    record = {"selected": 4, "marginal": 1, "conditional": 2}
    assert simulation.rate(record, "marginal", "fdr") == 0.25
    assert simulation.rate(record, "conditional", "fdr") == 0.5
    assert simulation.rate(record, "conditional", "fwer") == 1
    assert simulation.rate(record, "conditional", "count") == 2
    assert simulation.rate({"selected": 0, "marginal": 0}, "marginal", "fdr") == 0


def test_designs_repeat_their_draws_and_separate_the_truths(simulation):
    for design in simulation.available():
        first, same, other = design.sample(7), design.sample(7), design.sample(8)
        np.testing.assert_array_equal(first.y, same.y)
        assert not np.array_equal(first.y, other.y)
        relevant, marginally_false = first.truth
        assert len(relevant) == len(marginally_false) == first.X.shape[1]
        assert marginally_false.any()
        assert not (relevant & marginally_false).any()


def test_an_interrupted_run_is_continued(simulation, tmp_path):
    records = tmp_path / "records.jsonl"
    designs = [design for design in simulation.available() if design.name == "independent"]
    procedures = [p for p in simulation.PROCEDURES if p.name in ("BH 0.1", "Bonferroni 0.1")]
    simulation.run(records, designs, procedures, 0.004)
    whole = records.read_text()
    records.write_text("".join(whole.splitlines(keepends=True)[:2]))
    simulation.run(records, designs, procedures, 0.004)
    counts = [
        [{k: v for k, v in json.loads(line).items() if k != "seconds"} for line in text.splitlines()]
        for text in (whole, records.read_text())
    ]
    assert counts[0] == counts[1]
    assert len(counts[0]) == 4
