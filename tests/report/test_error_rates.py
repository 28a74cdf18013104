"""The sentences on error rates: their numbers are those of the draws, counted one by one, and their words agree with them."""

from __future__ import annotations

import collections
import math
import re
import statistics
from typing import Any

import numpy as np
import pytest
from tests.reference.error_rates import error_rates as rates_of_draw

from tamiz.assessment.findings import SelectionErrorRates
from tamiz.report.score_text import collect_error_rates, error_rates_design, error_rates_text
from tamiz.report.text import join_names
from tamiz.runtime.codec import to_json

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
    text = error_rates_text(found)
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


def drawn(true: int = 4, columns: int = 10, n_draws: int = 20, **more: Any) -> SelectionErrorRates:
    """Return draws with the same true columns, of which some are selected, with as many false ones as each draw has."""
    sets: dict[str, Any] = {name: np.zeros((n_draws, columns), dtype=bool) for name in ("true_sets", "selected_sets")}
    sets["true_sets"][:, :true] = True
    sets["selected_sets"][:, 0] = True
    for draw, n_false in enumerate(more.pop("n_false", [0] * n_draws)):
        sets["selected_sets"][draw, true : true + n_false] = True
        sets["selected_sets"][draw, 0] = n_false < columns - true
    sets |= {"proxy_sets": np.zeros_like(sets["true_sets"]), "covered_sets": sets["true_sets"] & sets["selected_sets"]}
    names = tuple(f"x{j}" for j in range(columns))
    known = {"names": names, "n_samples": 178, "candidate_mask": np.ones(columns, dtype=bool), "target_kind": "classes"}
    return simulated(0, **sets | known | {"signal": 0.609375} | more)


def test_two_sentences_state_rows_targets_and_rates() -> None:
    # Of 20 draws, 10 have a false column beside the true one, and in 5 of these it is a proxy.
    found = drawn(n_false=[1] * 10 + [0] * 10)
    found.proxy_sets[:5, 4] = True
    assert error_rates_text(found) == (
        "On 20 semi-synthetic targets of 178 rows, the search finds 25% ± 0% of the true columns (mean and standard error; as many "
        "columns drawn at random: 15%), and 25% ± 5.7% of the columns that it selects are false (12% ± 5% if columns that nearly "
        "equal a true one are not counted)."
    )
    assert error_rates_design(found, has_gain=True) == (
        "Each target is computed from noise and 4 random columns of 10, which the search should find. The explained share of the "
        "variance of the latent variable behind the classes is 61%: a signal as strong as the one estimated for the real target."
    )
    assert error_rates_design(found, has_gain=False).endswith(" estimated for the real target, which may be none.")
    one = error_rates_design(
        drawn(true=1, target_kind="number", signal=0.1, signal_strength="stronger"), has_gain=False
    )
    assert one == (
        "Each target is computed from noise and 1 random column of 10, which the search should find. The explained share of the "
        "variance of the target is 10%: a stronger signal than that of the real target."
    )
    assert error_rates_design(drawn(signal_strength=None), has_gain=True).endswith(": as requested.")


@pytest.mark.parametrize(
    ("n_false", "words"),
    [
        ([0] * 20, "and 0% ± 0% of the columns"),
        ([6] * 20, "and 100% ± 0% of the columns"),
        ([1, 1] + [0] * 18, "and 5% ± 3.4% of the columns"),
        ([3, *[2] * 19], "and 67% ± 0.4% of the columns"),
    ],
)  # fmt: skip
def test_small_rates_have_a_decimal_and_none_is_rounded_to_0(n_false: list[int], words: str) -> None:
    wine = sample.wine() | {"error_rates": to_json(drawn(n_false=n_false))}
    shown = collect_error_rates(record_of(wine))
    assert shown is not None
    assert words in shown["finding"]
    assert "nearly equal" not in shown["finding"]


def test_the_section_names_the_columns_that_are_often_false_and_repeats_no_note(wine: dict[str, Any]) -> None:
    found = wine["error_rates"]
    found["notes"] = [
        wine["warnings"][0]["sentence"],
        "5 folds in place of 10.",
        "Some targets have fewer true columns.",
    ]
    wine["assessment"]["notes"] = ["5 folds in place of 10."]
    shown = collect_error_rates(record_of(wine))
    assert shown is not None
    counts = collections.Counter[str]()
    for true, selected in zip(found["true_sets"], found["selected_sets"], strict=True):
        counts.update(name for name, t, s in zip(found["names"], true, selected, strict=True) if (t, s) == ("0", "1"))
    (first, n), *others = sorted(counts.items(), key=lambda one: (-one[1], found["names"].index(one[0])))
    listed = [f"{first} (for {n / 20:.0%} of the targets)", *(f"{name} ({m / 20:.0%})" for name, m in others)]
    assert len(listed) > 1
    assert shown["often"] == f"Most often selected without being true: {join_names(listed, width=80)}."
    assert shown["notes"] == ["Some targets have fewer true columns."]
    page = render(wine)
    # A mean and its standard error stay on one line.
    assert shown["finding"].replace(" ± ", "\u00a0±\u00a0") in page
    assert shown["design"] in page
    assert f"Error rates: {shown['finding']} {shown['design']}" in summary(result_of(wine))
    found["selected_sets"] = found["true_sets"]
    assert "Most often selected" not in render(wine)


def test_without_error_rates_the_page_has_none(wine: dict[str, Any]) -> None:
    wine["error_rates"] = None
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
