"""The section of the columns: their order, what each row states, and the notes on the ranking."""

from __future__ import annotations

import base64
import gzip
import re
from typing import Any

import numpy as np
import pytest

from tamiz.assessment.findings import UncutColumns
from tamiz.report import columns
from tamiz.report.columns import collect_columns, ranking_notes, uncut_text
from tamiz.runtime.codec import from_json

from . import sample
from .reading import mark_places, record_of, render


def collected(result: dict[str, Any]) -> dict[str, Any]:
    """Return the notes on the ranking."""
    told = ranking_notes(record_of(result))
    assert told is not None
    return told


def rows(result: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the rows of the columns."""
    found: list[dict[str, Any]] = collect_columns(record_of(result))["rows"]
    return found


def facts(result: dict[str, Any], name: str) -> dict[str, str]:
    """Return the evidence of a column by its label."""
    return dict(next(row["facts"] for row in rows(result) if row["name"] == name))


def test_columns_are_sorted_by_their_mean_rank_with_the_unranked_last(wine: dict[str, Any]) -> None:
    found = rows(wine)
    ranks = [row["rank"] and row["rank"]["value"] for row in found]
    assert ranks[:14] == sorted(ranks[:14])
    assert ranks[14:] == [None, None]
    assert [row["name"] for row in found[-2:]] == ["country", "bottle"]
    assert [row["state"] for row in found[-2:]] == ["excluded"] * 2


def test_equal_ranks_are_sorted_by_score_then_by_the_order_of_the_table(wine: dict[str, Any]) -> None:
    wine["ranking"]["mean_rank"]["ranks"][:14] = [2.0] * 14
    assert [row["name"] for row in rows(wine)][:2] == ["flavanoids", "proline"]
    wine["ranking"]["scores"]["information_gain"][:14] = [0.25] * 14
    assert [row["name"] for row in rows(wine)] == wine["ranking"]["columns"]


def test_without_a_mean_rank_columns_are_sorted_by_the_first_criterion(wine: dict[str, Any]) -> None:
    wine["ranking"]["mean_rank"] = None
    gains = dict(zip(wine["ranking"]["columns"], wine["ranking"]["scores"]["information_gain"], strict=True))
    found = rows(wine)
    shown = [gains[row["name"]] for row in found[:14]]
    assert shown == sorted(shown, reverse=True)
    assert [row["rank"]["text"] for row in found[:3]] == ["1", "2", "3"]
    assert collected(wine)["lead"].startswith("flavanoids ")
    for fact in ("for class", "information gain 0.8718 bits", "the information gain of cellar is 0"):
        assert fact in collected(wine)["lead"]


def test_without_a_ranking_columns_stand_in_the_order_of_the_table(wine: dict[str, Any]) -> None:
    wine["ranking"] = None
    assert [row["name"] for row in rows(wine)] == [column["name"] for column in wine["table"]["columns"]]
    page = render(wine)
    assert "Mean rank" not in page.split('id="columns-table"')[1].split("</table>")[0]


def test_the_lead_states_the_first_column_its_rank_and_the_interval(wine: dict[str, Any]) -> None:
    facts = ("for class", "mean rank 1.0 over 3 criteria", "1 is the best", "the information gain of cellar is 0")
    lead = collected(wine)["lead"]
    assert lead.startswith("flavanoids ranks first ")
    for fact in (*facts, "95% bootstrap interval 1.0 to 3.0"):
        assert fact in lead
    wine["ranking"]["mean_rank"]["intervals"] = [None] * 16
    lead = collected(wine)["lead"]
    assert "interval" not in lead
    for fact in facts:
        assert fact in lead
    wine["table"]["target"] = None
    assert collected(wine)["lead"] == ""


def test_a_score_without_the_target_is_not_described_as_information_about_it(wine: dict[str, Any]) -> None:
    for one in wine["ranking"]["criteria"]:
        one["needs_target"] = one["id"] != "fisher_score"
    wine["ranking"]["mean_rank"]["criteria"] = ["fisher_score"]
    assert collected(wine)["lead"] == ("flavanoids ranks first: Fisher score 0.7278, which does not use class.")


def test_of_one_criterion_the_lead_states_the_score(wine: dict[str, Any]) -> None:
    wine["ranking"]["mean_rank"]["criteria"] = ["fisher_score"]
    told = collected(wine)
    assert told["lead"].startswith("flavanoids ranks first for class: Fisher score 0.7278")
    # What is counted stands first.
    assert [(one.id, one.id in told["mean_rank"].criteria) for one in told["criteria"]] == [
        ("fisher_score", True),
        ("information_gain", False),
        ("symmetric_uncertainty", False),
    ]


def test_scores_of_0_are_counted_and_are_no_evidence_of_absence(wine: dict[str, Any]) -> None:
    wine["ranking"]["scores"]["information_gain"][:14] = [0.0] * 14
    told = collected(wine)
    assert told["lead"].endswith(" and 12 more is 0.")
    wine["ranking"]["mean_rank"] = None
    lead = collected(wine)["lead"]
    assert lead.startswith("Every information gain is 0. ")
    assert "not evidence that the columns are unrelated to class" in lead


def test_few_columns_with_a_score_of_0_are_named(wine: dict[str, Any]) -> None:
    names, gains = wine["ranking"]["columns"], wine["ranking"]["scores"]["information_gain"]
    for zero in ("ash", "hue"):
        gains[names.index(zero)] = 0.0
    lead = collected(wine)["lead"]
    told = lead[lead.index("the information gain of ") :]
    assert all(name in told for name in ("ash", "hue", "cellar"))
    gains[names.index("proline")] = 0.0
    assert re.search("the information gain of .* and 2 more is 0", collected(wine)["lead"])


UNCUT: dict[str, Any] = {
    "rule": "mdl", "columns": ["ash", "hue", "proline"], "level": 0.05, "power": 0.8, "untestable_reason": "",
    "test": {
        "name": "anova", "n_tested": 13, "n_significant": 1, "n_rows": 178, "detectable": 0.0521, "detectable_adjusted": 0.0864,
    },
}  # fmt: skip


def uncut(n_significant: int = 1, **more: Any) -> str:
    test = {**UNCUT["test"], "n_significant": n_significant}
    return uncut_text(from_json(UncutColumns, {**UNCUT, "test": test, **more}), "class")


def test_columns_without_a_cut_point_are_tested_and_the_power_is_stated(wine: dict[str, Any]) -> None:
    sentence = uncut()
    for fact in (
        "MDL discretisation finds no cut point in 3 columns (ash, hue and proline)", "the information gain is 0",
        "not evidence of no information", "By an F test (one-way ANOVA), 1 of 3 columns is significantly related to class",
        "false discovery rate of 5%", "p-values adjusted for 13 tests by Benjamini-Hochberg",
        "178 rows", "5% level", "power of 80%",
        "Bonferroni's correction for 13 tests", "The test compares means", "MDL also finds classes that differ in spread or shape",
    ):  # fmt: skip
        assert fact in sentence
    # The stricter level needs the larger effect.
    assert (
        sentence.index("5% level") < sentence.index("5.2%") < sentence.index("8.6%") < sentence.index("for 13 tests)")
    )
    wine["ranking"]["uncut"] = UNCUT
    assert "MDL discretisation finds no cut point in 3 columns" in render(wine)


def test_the_number_of_significant_columns_is_stated() -> None:
    assert " 0 of 3 columns are significantly related" in uncut(n_significant=0)
    assert " 3 of 3 columns are significantly related" in uncut(n_significant=3)
    assert " 0 of 1 column is significantly related" in uncut(columns=["ash"], n_significant=0)
    assert "correction for 1 test)" in uncut(columns=["ash"], test={**UNCUT["test"], "n_tested": 1})


def test_a_numeric_target_is_tested_by_correlations() -> None:
    sentence = uncut(rule="equal_frequency", test={**UNCUT["test"], "name": "correlation"})
    assert sentence.startswith("Equal-frequency discretisation finds no cut point in 3 columns (ash, hue and proline)")
    assert "By a t test of Pearson's correlation, 1 of 3 columns" in sentence
    assert "explains 5.2% of the variance" in sentence


def test_without_a_valid_test_the_reason_is_given() -> None:
    assert uncut(test=None, untestable_reason="the rows have weights").endswith(
        "no information. No other test was made: the rows have weights."
    )


def with_tests(wine: dict[str, Any], **more: Any) -> dict[str, Any]:
    n = len(wine["ranking"]["columns"])
    p = [0.0, 3.2e-12, 0.0004, 0.03, *[0.5] * (n - 5), None]
    wine["ranking"]["tests"] = {
        "p_values": p, "adjusted": [one if one is None else min(2 * one, 1.0) for one in p],
        "methods": {"one-way ANOVA": n - 2, "Pearson's chi-squared test": 1}, "n_significant": 3, "level": 0.05,
        "few_expected": ["cellar"], "untestable_reason": "", **more,
    }  # fmt: skip
    return wine


def test_p_values_are_a_column_of_the_table_and_a_sentence_names_the_tests(wine: dict[str, Any]) -> None:
    n = len(wine["ranking"]["columns"])
    shown = collected(with_tests(wine))
    for fact in (
        f"3 of {n - 1} columns are significantly related to class at a false discovery rate of 5%", f"for {n - 1} tests by",
        f"one-way ANOVA for {n - 2} columns and Pearson's chi-squared test for 1 column", "The p-values of cellar are approximate",
    ):  # fmt: skip
        assert fact in shown["tests"]
    cells = {row["name"]: row for row in rows(wine)}
    names = wine["ranking"]["columns"]
    assert [cells[name]["p_value"] for name in names[:5]] == [0.0, 3.2e-12, 0.0004, 0.03, 0.5]
    assert [cells[name]["adjusted"] for name in names[:5]] == ["<1e−300", "6e−12", "8e−4", "0.060", "1.000"]
    assert [cells[name]["significant"] for name in names[:5]] == [True, True, True, False, False]
    assert [cells[names[-1]][part] for part in ("p_value", "adjusted", "significant")] == [None, "", False]
    assert facts(wine, names[3])["Independence test"] == "p-value 0.030, adjusted 0.060"
    page = render(wine)
    assert page.count('<td class="num p-value"') == n
    assert ">Adjusted p</button>" in page


def test_without_p_values_the_reason_is_stated_and_the_table_has_no_column(wine: dict[str, Any]) -> None:
    n = len(wine["ranking"]["columns"])
    nothing = {"p_values": [None] * n, "adjusted": [None] * n, "methods": {}, "n_significant": 0, "few_expected": []}
    with_tests(wine, **nothing, untestable_reason="the rows have weights")
    assert collected(wine)["tests"] == "The ranking has no p-values: the rows have weights."
    assert "Adjusted p" not in render(wine)


def test_constant_columns_are_named_apart(wine: dict[str, Any]) -> None:
    wine["ranking"]["constant"] = ["ash", "hue"]
    assert collected(wine)["constant"] == "Constant, with one value in all rows: ash and hue."
    assert collected(wine)["constant"] in render(wine)
    wine["ranking"]["constant"] = []
    assert collected(wine)["constant"] == ""


def test_columns_that_share_the_first_place_are_all_named(wine: dict[str, Any]) -> None:
    combined = wine["ranking"]["mean_rank"]
    ranks = combined["ranks"]
    first, second = sorted(range(14), key=lambda j: ranks[j])[:2]
    ranks[first] = ranks[second] = 1.5
    names = f"{wine['ranking']['columns'][first]} and {wine['ranking']['columns'][second]}"
    assert collected(wine)["lead"].startswith(f"{names} rank first for class: mean rank 1.5 over 3 ")
    wine["ranking"]["mean_rank"] = None
    assert collected(wine)["lead"].startswith("flavanoids ranks first for class: information gain 0.8718 bits; ")


def test_the_scale_goes_from_the_first_rank_to_the_last(wine: dict[str, Any]) -> None:
    wine["ranking"]["mean_rank"]["ranks"][:3] = [1.0, 14.0, 7.5]
    wine["ranking"]["mean_rank"]["intervals"][:3] = [[1.0, 1.0], [7.5, 14.0], None]
    shown = {row["name"]: row["rank"] for row in rows(wine)}
    first, last, middle = (mark_places(shown[name]["mark"]) for name in ("alcohol", "malic_acid", "ash"))
    assert first == (2.0, (2.0, 2.0))
    assert last == (98.0, (50.0, 98.0))
    assert middle == (50.0, None)
    assert [shown[name]["interval"] for name in ("alcohol", "ash")] == [(1.0, 1.0), None]


def test_the_evidence_of_a_column_states_its_scores_with_ranks_and_intervals(wine: dict[str, Any]) -> None:
    wine["ranking"]["mean_rank"]["criterion_intervals"] = {"fisher_score": [[1.0, 4.5], *[None] * 15]}
    name = wine["ranking"]["columns"][0]
    scores = facts(wine, name)["Scores"].split("; ")
    assert len(scores) == 3
    for stated, one in zip(scores, collected(wine)["criteria"], strict=True):
        values = [value for value in wine["ranking"]["scores"][one.id] if value is not None]
        rank = 1 + sum(value > values[0] for value in values)
        assert f" {values[0]:.4g}".rstrip("0") in stated
        assert f"rank {rank}" in stated
        assert ("(1 to 4.5)" in stated) == (one.id == "fisher_score")


def test_the_evidence_of_a_column_has_its_cut_points_values_folds_and_association(wine: dict[str, Any]) -> None:
    assert facts(wine, "ash")["Cut points"] == "none"
    assert "Cut points" not in facts(wine, "cellar")
    assert facts(wine, "magnesium")["Cut points"] == "88, 98, 107"
    told = facts(wine, "proline")
    assert told["Association"] == "Highest where class is 1 (eta 0.82, 0.76 to 0.86)."
    column = next(one for one in wine["table"]["columns"] if one["name"] == "proline")
    assert f"smallest {column['numbers']['min']:g}, mean" in told["Values"]
    j = wine["assessment"]["names"].index("proline")
    assert told["Chosen in the folds"] == f"{sum(row[j] == '1' for row in wine['assessment']['fold_sets'])} of 10"
    assert facts(wine, "bottle")["Excluded"].startswith("Every row has its own value")


@pytest.mark.parametrize(
    ("stated", "short"),
    [
        ("highest where class is 1 (eta 0.82, 0.76 to 0.86)", "highest where class is 1 (eta 0.82)"),
        ("higher where y is a (+1.07 standard deviations, 0.89 to 1.25)", "higher where y is a (+1.07 SD)"),
        ("y is b in 55% of Dream (43 to 67), Cramer's V 0.66, 0.62 to 0.70", "y is b in 55% of Dream, Cramer's V 0.66"),
        ("y falls with it (rank correlation -0.51, -0.60 to -0.41)", "y falls with it (rank correlation -0.51)"),
        ("direction uncertain; higher where y is a (+0.01 standard deviations, -0.1 to 0.2)", "no clear association"),
    ],
)
def test_a_row_states_direction_and_size_of_an_association_and_its_evidence_the_interval(
    stated: str, short: str, wine: dict[str, Any]
) -> None:
    wine["ranking"]["associations"] = {"ash": [stated]}
    assert next(row["association"] for row in rows(wine) if row["name"] == "ash") == short
    assert facts(wine, "ash")["Association"].lower() == f"{stated}.".lower()


def test_a_picture_shows_the_shares_of_every_class(wine: dict[str, Any]) -> None:
    row = next(row for row in rows(wine) if row["name"] == "proline")
    found = next(one for one in wine["distributions"]["columns"] if one["name"] == "proline")
    shares = np.array(found["counts"]) / np.sum(found["counts"], axis=1, keepdims=True)
    paths = re.findall(r'<path class="(\w+)" d="M0 24([^"]+)"', row["picture"])
    assert [color for color, _ in paths] == ["c0", "c1", "c2"]
    heights = [[24 - float(y) for y in re.findall(r"V([\d.]+)H", path)] for _, path in paths]
    np.testing.assert_allclose(np.array(heights) / 24, shares / shares.max(), atol=0.003)
    shown = collect_columns(record_of(wine))
    assert shown["groups"] == [("Barolo", "c0"), ("Grignolino", "c1"), ("Barbera", "c2")]


def test_without_distributions_there_are_no_pictures(wine: dict[str, Any]) -> None:
    wine["distributions"] = None
    assert {row["picture"] for row in rows(wine)} == {""}
    assert 'class="spread"' not in render(wine)


def test_levels_are_bars_and_a_column_without_values_has_no_picture(wine: dict[str, Any]) -> None:
    columns = wine["distributions"]["columns"]
    columns[0] |= {"edges": [], "levels": ["a", "b"], "counts": [[3.0, 1.0], [0.0, 4.0], [2.0, 2.0]]}
    columns[1] |= {"edges": [], "levels": [], "counts": []}
    pictures = {row["name"]: row["picture"] for row in rows(wine)}
    paths = re.findall(r'd="([^"]+)"', pictures[columns[0]["name"]])
    heights = [[float(h) for h in re.findall(r"v-([\d.]+)h", path)] for path in paths]
    assert heights == [[18.0, 6.0], [24.0], [12.0, 12.0]]
    assert pictures[columns[1]["name"]] == ""


def test_the_states_of_columns_are_counted_where_there_are_any(wine: dict[str, Any]) -> None:
    found = rows(wine)
    states = dict(collect_columns(record_of(wine))["states"])
    for code, label in states.items():
        assert label.endswith(f"({sum(row['state'] == code for row in found)})")
    assert {row["state"] for row in found} == set(states)
    assert {row["name"] for row in found if row["state"] == "kept"} == {row["name"] for row in found if row["kept"]}


def test_the_only_column_is_shown_at_the_start_of_the_scale(bare: dict[str, Any]) -> None:
    ranking = bare["ranking"]
    bare["table"]["target"] = "class"
    ranking["columns"], ranking["scores"] = ["alcohol"], {"variance": [0.5]}
    ranking["mean_rank"] = {
        "columns": ["alcohol"], "criteria": ["variance"], "ranks": [1.0], "intervals": [[1.0, 1.0]],
        "criterion_intervals": {}, "n_bootstrap": 60, "method": "H.",
    }  # fmt: skip
    assert mark_places(rows(bare)[0]["rank"]["mark"])[0] == 2.0


def test_two_thousand_columns_are_collected_at_once() -> None:
    result = sample.wine()
    n = 2000
    names = [f"x{j}" for j in range(n)]
    result["ranking"] |= {
        "columns": names,
        "cut_points": {},
        "scores": {one["id"]: [1 / (1 + (j * 7919 + k) % n) for j in range(n)] for k, one in
                   enumerate(result["ranking"]["criteria"])},
        "mean_rank": {"columns": [], "criteria": ["information_gain", "fisher_score"], "ranks": [float(j + 1) for j in range(n)],
                     "intervals": [None] * n, "criterion_intervals": {}, "n_bootstrap": 0, "method": "H."},
    }  # fmt: skip
    result["table"]["columns"] = [result["table"]["columns"][0] | {"name": name} for name in names]
    assert len(rows(result)) == n


@pytest.mark.slow
def test_very_many_columns_are_packed_beyond_sixty() -> None:
    page = render(sample.wide(400, 60))
    table = page.split('id="columns-table"')[1].split("</table>")[0]
    bodies = re.findall(r"<tbody[^>]*>", table)
    assert [" hidden" in body for body in bodies] == [False] * 25 + [True] * 35
    packed = re.findall(r'id="columns-rest">([^<]+)<', page)[0]
    rest = gzip.decompress(base64.b64decode(packed)).decode()
    assert rest.count("<tbody") == 340


@pytest.mark.parametrize("name", ["wine", "hostile", "bare", "digits"])
def test_the_section_is_drawn_of_every_sample(name: str) -> None:
    page = render(getattr(sample, name)())
    section = page.split('<section id="columns"')[1].split("</section>")[0]
    assert 'id="columns-table"' in section
    assert (">Mean rank</button>" in section) == (name != "bare")
    assert ("95% bootstrap interval" in section) == (name != "bare")


def test_the_mean_rank_is_defined_in_the_glossary(wine: dict[str, Any]) -> None:
    wine["ranking"]["mean_rank"] |= {
        "method": "<b>How</b> it was made.",
        "criteria": ["fisher_score", "information_gain"],
    }
    page = render(wine)
    assert "&lt;b&gt;How&lt;/b&gt; it was made." in page
    assert page.count("Not counted in the mean rank.") == 1


def test_the_readers_choice_begins_with_the_recommended_columns(wine: dict[str, Any]) -> None:
    subset = set(wine["subset"]["columns"])
    wine["recommendation"]["recommended"] = "knn"
    recommended = wine["recommendation"]["candidates"]["knn"]["columns"]
    assert set(recommended) != subset
    assert {row["name"] for row in rows(wine) if row["kept"]} == set(recommended)
    assert "initially those that are kept" in render(wine)
    wine["recommendation"] = None
    assert {row["name"] for row in rows(wine) if row["kept"]} == subset
    wine["subset"] = None
    assert "initially those that are kept" not in render(wine)


def test_of_very_many_columns_the_first_are_listed_and_it_is_stated_where_the_others_are(
    wine: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    first = [row["name"] for row in rows(wine)][:5]
    assert "columns are listed" not in render(wine)
    monkeypatch.setattr(columns, "_MAX_LISTED", 5)
    assert [row["name"] for row in rows(wine)] == first
    assert "The first 5 of 16 columns are listed; the files saved at the end of the report contain all." in render(wine)


def test_years_have_no_separator_of_thousands(wine: dict[str, Any]) -> None:
    name = next(name for name, cuts in wine["ranking"]["cut_points"].items() if cuts)
    (column,) = (one for one in wine["table"]["columns"] if one["name"] == name)
    wine["ranking"]["cut_points"][name] = [2007.5, 2008.5]
    for low, shown in ((1990.0, "2007.5, 2008.5"), (1990.5, "2,008, 2,008")):
        column["numbers"] = {"mean": 2000.0, "sd": 3.0, "min": low, "max": 2020.0}
        assert facts(wine, name)["Cut points"] == shown
