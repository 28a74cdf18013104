"""The sentences on error rates: their numbers are those of the draws, counted one by one, and their words agree with them."""

from __future__ import annotations

import math
import re
import statistics
from typing import Any

import numpy as np
import pytest
from tests.reference.error_rates import error_rates as rates_of_draw

from tamiz._study.model_descriptions import describe_error_rates
from tamiz.assessment.error_rates import SelectionErrorRates
from tamiz.report.error_rates import collect_error_rates, error_rates_design, error_rates_text
from tamiz.report.records.codec import from_json
from tamiz.report.records.models import ErrorRatesRecord

from . import sample
from .reading import record_of, render, result_of, summary

NAMES = tuple("abcdefghij")


def simulated(seed: int, n_draws: int = 6, **more: Any) -> SelectionErrorRates:
    """Return random true and selected columns; column j is a proxy of column i if both are even."""
    rng = np.random.default_rng(seed)
    true = np.argsort(rng.random((n_draws, 10)), axis=1) < 3
    selected = rng.random((n_draws, 10)) < rng.random()
    even = np.arange(10) % 2 == 0
    has_even = (true & even).any(axis=1)[:, None]
    proxies = selected & ~true & even & has_even
    covered = true & (selected | (even & proxies.any(axis=1)[:, None]))
    values: dict[str, Any] = {
        "selector": "CFS", "truth": "random", "names": NAMES, "n_samples": 90, "candidate_mask": np.ones(10, dtype=bool),
        "true_sets": true, "selected_sets": selected, "proxy_sets": proxies, "covered_sets": covered, "signal": 0.4,
        "signal_description": "", "signal_strength": "equal", "target_kind": "number", "notes": (), "seed": 0,
    }  # fmt: skip
    return SelectionErrorRates(**values | more)


def counted(found: SelectionErrorRates) -> dict[str, list[float]]:
    """Return the rates of every draw, from sets of names."""
    draws = []
    associations = {
        (a, b): float(a == b or not (NAMES.index(a) % 2 or NAMES.index(b) % 2)) for a in NAMES for b in NAMES
    }
    for true, selected in zip(found.true_sets, found.selected_sets, strict=True):
        sets = ({name for name, here in zip(NAMES, mask, strict=True) if here} for mask in (true, selected))
        draws.append(rates_of_draw(NAMES, *sets, associations))
    return {name: [draw[name] for draw in draws] for name in draws[0]}


@pytest.mark.parametrize("seed", range(12))
def test_the_percentages_of_the_sentence_are_those_of_the_draws(seed: int) -> None:
    found = simulated(seed)
    expected = counted(found)
    text = error_rates_text(describe_error_rates(found))
    pairs = [(float(mean), float(error)) for mean, error in re.findall(r"([\d.]+)% ± ([\d.]+)%", text)]
    names = ["true_positive_rate", "false_discovery_proportion", "strict_false_discovery_proportion"]
    if statistics.mean(expected[names[1]]) == statistics.mean(expected[names[2]]):
        names.pop()
    assert len(pairs) == len(names)
    for (mean, error), name in zip(pairs, names, strict=True):
        values = expected[name]
        assert mean == pytest.approx(100 * statistics.mean(values), abs=0.5001)
        assert error == pytest.approx(100 * statistics.stdev(values) / math.sqrt(len(values)), abs=0.5001)
    by_chance = re.search(r"drawn at random: ([\d.]+)%", text)
    assert by_chance is not None
    assert float(by_chance[1]) == pytest.approx(
        100 * statistics.mean(expected["chance_true_positive_rate"]), abs=0.5001
    )


def test_the_record_has_the_rates_of_the_draws() -> None:
    found = simulated(3)
    record, expected = describe_error_rates(found), counted(found)
    for name in ("true_positive_rate", "chance_true_positive_rate", "false_positive_rate"):
        assert getattr(record, name).mean == pytest.approx(statistics.mean(expected[name]))
    shares = (found.selected_sets & ~found.true_sets).mean(axis=0)
    assert record.falsely_selected[0].share == shares.max()
    assert (record.n_true, record.n_columns, record.n_draws, record.n_samples) == (3, 10, 6, 90)


def rates(**more: Any) -> ErrorRatesRecord:
    return from_json(ErrorRatesRecord, sample.error_rates(list(NAMES), 4) | more)


def rate(mean: float, error: float = 0.0) -> dict[str, float]:
    return {"mean": mean, "standard_error": error}


def test_two_sentences_state_rows_targets_and_rates() -> None:
    assert error_rates_text(rates()) == (
        "On 20 semi-synthetic targets of 178 rows, the search finds 62% ± 3% of the true columns (mean and standard error; as many "
        "columns drawn at random: 26%), and 31% ± 4% of the columns that it selects are false (25% ± 4% if columns that nearly "
        "equal a true one are not counted)."
    )
    assert error_rates_design(rates(), has_gain=True) == (
        "Each target is computed from 4 random columns of 10, the true ones, and noise: they explain 61% of the variance of the "
        "latent variable behind the classes, a signal as strong as the one estimated for the real target."
    )
    assert error_rates_design(rates(), has_gain=False).endswith(" estimated for the real target, which may be none.")
    one = error_rates_design(
        rates(n_true=1, target_kind="number", signal=0.1, signal_strength="stronger"), has_gain=False
    )
    assert one == (
        "Each target is computed from 1 random column of 10, the true one, and noise: it explains 10% of the variance of the "
        "target, a stronger signal than that of the real target."
    )


@pytest.mark.parametrize(
    ("false", "title", "words"),
    [
        (rate(0.0), "no selected column is false", "and 0% ± 0% of the columns"),
        (rate(1.0), "100% of the selected columns are false", "and 100% ± 0% of the columns"),
        (rate(0.042, 0.011), "4.2% of the selected columns are false", "and 4.2% ± 1.1% of the columns"),
        (rate(0.3, 0.004), "30% of the selected columns are false", "and 30.0% ± 0.4% of the columns"),
    ],
)  # fmt: skip
def test_small_rates_have_a_decimal_and_none_is_rounded_to_0(false: dict[str, float], title: str, words: str) -> None:
    wine = sample.wine()
    strict = {"strict_false_discovery_proportion": false}
    wine["assessment"]["error_rates"] |= {"false_discovery_proportion": false, **strict}
    shown = collect_error_rates(record_of(wine))
    assert shown is not None
    assert shown["title"] == f"On targets with known true columns, {title}"
    assert words in shown["finding"]
    assert "nearly equal" not in shown["finding"]


def test_the_section_names_the_columns_that_are_often_false_and_repeats_no_note(wine: dict[str, Any]) -> None:
    found = wine["assessment"]["error_rates"]
    found["notes"] = [
        wine["warnings"][0]["sentence"],
        "5 folds in place of 10.",
        "Some targets have fewer true columns.",
    ]
    wine["assessment"]["notes"] = ["5 folds in place of 10."]
    shown = collect_error_rates(record_of(wine))
    assert shown is not None
    first = found["falsely_selected"][0]["name"]
    second, third = (one["name"] for one in found["falsely_selected"][1:])
    assert shown["often"] == (
        f"Most often selected without being true: {first} (for 40% of the targets), {second} (25%) and {third} (10%)."
    )
    assert shown["notes"] == ["Some targets have fewer true columns."]
    page = render(wine)
    # A mean and its standard error stay on one line.
    assert shown["finding"].replace(" ± ", "\u00a0±\u00a0") in page
    assert shown["design"] in page
    assert f"Error rates: {shown['finding']} {shown['design']}" in summary(result_of(wine))
    found["falsely_selected"] = []
    assert "Most often selected" not in render(wine)


def test_a_result_of_an_earlier_version_has_no_error_rates(wine: dict[str, Any]) -> None:
    del wine["assessment"]["error_rates"]
    assert record_of(wine).assessment.error_rates is None  # type: ignore[union-attr]
    assert collect_error_rates(record_of(wine)) is None
    assert 'id="error-rates"' not in render(wine)
    assert "Error rates" not in summary(result_of(wine))


@pytest.mark.slow
@pytest.mark.parametrize("width", [390, 1400])
def test_the_error_rates_fit_the_width_of_the_page(read: Any, width: int) -> None:
    for name in ("wine", "hostile"):
        reader = read(name, width=width)
        block = reader.page.locator("#error-rates")
        block.scroll_into_view_if_needed()
        assert block.is_visible()
        box = block.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
        assert reader.page.evaluate("document.documentElement.scrollWidth") <= width
