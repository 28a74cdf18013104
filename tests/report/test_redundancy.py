from __future__ import annotations

import base64
import itertools
from typing import Any

import numpy as np
import pytest

from tamiz.report.redundancy import collect_redundancy, matrix_chart
from tamiz.report.text import shorten

from . import sample
from .reading import panel_of, record_of, render


def collected(result: dict[str, Any]) -> dict[str, Any]:
    shown = collect_redundancy(record_of(result))
    assert shown is not None
    return shown


def found(names: list[str], shares: list[float], *groups: list[str], **more: Any) -> dict[str, Any]:
    """A wine with another finding: what the pairs of its columns share, by steps of 1 / 255."""
    result = sample.wine()
    result["redundancy"] |= {
        "columns": names,
        "pair_steps": base64.b64encode(np.round(255 * np.array(shares)).astype(np.uint8).tobytes()).decode(),
        "measures": ["|r|", "V"],
        "pair_measures": base64.b64encode(bytes(len(shares))).decode(),
        "groups": [{"columns": group, "keep": group[0], "min_value": 0.95, "measure": "V"} for group in groups],
        "n_columns": len(names),
        "threshold": 0.9,
        **more,
    }
    return result


def test_nothing_compared_is_no_section(wine: dict[str, Any]) -> None:
    wine["redundancy"] = None
    assert collect_redundancy(record_of(wine)) is None


@pytest.mark.parametrize(
    ("groups", "lead"),
    [
        ([["ash", "hue"]], "1 group of redundant columns (2 of 4 columns), such as ash and hue."),
        ([["ash", "hue", "proline"]], "1 group of redundant columns (3 of 4 columns), such as ash, hue and proline."),
        ([["ash", "hue"], ["proline", "alcohol"]], "2 groups of redundant columns (4 of 4 columns), such as ash and hue."),
    ],
)  # fmt: skip
def test_the_lead_names_the_largest_group_and_counts_the_rest(groups: list[list[str]], lead: str) -> None:
    result = found(["ash", "hue", "proline", "alcohol"], [0.95, 0.1, 0, 0.2, 0, 0], *groups)
    assert collected(result)["lead"] == lead


def test_without_a_group_the_lead_states_the_threshold_and_the_most_similar_pair() -> None:
    lead = collected(found(["ash", "hue", "proline", "alcohol"], [0.6, 0.1, 0, 0.2, 0, 0]))["lead"]
    assert lead == (
        "No two of the 4 columns are called redundant: the strongest pair is ash and hue (|r| 0.60), below the threshold of 0.9."
    )


def test_a_pair_with_all_information_shared_outside_a_group_is_not_called_different() -> None:
    lead = collected(found(["ash", "hue"], [1.0]))["lead"]
    assert lead == (
        "No two of the 2 columns are called redundant: the strongest pair is ash and hue (|r| 1.00), "
        "on too few rows with both values."
    )


def test_a_constant_column_is_neither_kept_nor_counted() -> None:
    result = found(["ash", "hue", "proline"], [0.95, 0.1, 0.1], ["ash", "hue"])
    for column in result["table"]["columns"]:
        column["exclusion"] = None
        column["constant"] = column["name"] not in ("ash", "hue", "proline")
    told = collected(result)
    assert told["choice"]["others"] == ["proline"]
    assert (told["n_kept"], told["n_columns"]) == (2, result["redundancy"]["n_columns"])


def test_a_group_states_its_weakest_pair_with_the_measure_and_sums_are_sentences() -> None:
    result = found(["ash", "hue"], [0.95], ["ash", "hue"], sums=["ash = hue + proline, exactly."])
    told = collected(result)
    assert [weakest for _, weakest in told["groups"]] == ["V 0.95"]
    page = render(result)
    assert "weakest pair V 0.95" in page
    assert "<li>ash = hue + proline, exactly.</li>" in page


def test_a_measure_that_is_not_named_is_refused() -> None:
    with pytest.raises(ValueError, match="unknown measure"):
        record_of(found(["ash", "hue"], [0.95], measures=[]))


def test_the_strongest_pairs_come_first_and_ties_keep_their_order() -> None:
    told = collected(found(["ash", "hue", "proline"], [0.2, 0.8, 0.2]))
    assert [(names, share) for share, names, _ in told["pairs"]] == [
        (("ash", "proline"), 0.8),
        (("ash", "hue"), 0.2),
        (("hue", "proline"), 0.2),
    ]


def test_a_choice_keeps_one_of_each_group_and_every_other_column_that_takes_part(wine: dict[str, Any]) -> None:
    told = collected(wine)
    groups = wine["redundancy"]["groups"]
    used = [column["name"] for column in wine["table"]["columns"] if not column["exclusion"]]
    members = [name for group in told["choice"]["groups"] for name in group["columns"]]
    assert sorted(members + told["choice"]["others"]) == sorted(used)
    recommended = wine["recommendation"]["candidates"]["cfs"]["columns"]
    expected = [next((name for name in g["columns"] if name in recommended), g["keep"]) for g in groups]
    assert [group["columns"][group["keep"]] for group in told["choice"]["groups"]] == expected
    assert expected != [g["keep"] for g in groups]
    assert (told["n_kept"], told["n_columns"]) == (len(groups) + len(told["choice"]["others"]), len(used))


def test_columns_excluded_from_the_comparison_are_reported() -> None:
    result = found(["ash", "hue"], [0.1], n_columns=2000, n_not_compared=1000, n_rows=50, method="Numbers are cut.")
    told = collected(result)
    assert told["method"] == (
        "Measure: correlation, Cramer's V or eta, on a sample of 50 rows. Numbers are cut. 1,000 "
        "columns more were not compared because "
        "of the cost, and are kept."
    )
    assert told["lead"].startswith("No two of the 2,000 columns that were compared (of 3,000) are called redundant")
    assert "The matrix shows the 2 of 2,000 columns with the largest values." in render(result)


def test_the_matrix_is_symmetric_with_ones_on_its_diagonal_and_frames_adjacent_groups() -> None:
    names = ["a", "b", "c", "d", "e"]
    shares = [0.9, 0.1, 0.2, 0.3, 0.15, 0.25, 0.35, 0.45, 0.8, 0.55]
    chart = matrix_chart(names, shares, [["b", "a"], ["e", "c"]])
    panel = panel_of(chart)
    # The opacity is .06 to 1.
    cells = (panel.images[0].get_array()[..., 3] - 0.06) / 0.94
    np.testing.assert_array_equal(cells, cells.T)
    np.testing.assert_allclose(np.diag(cells), 1)
    for (i, j), share in zip(itertools.combinations(range(5), 2), shares, strict=True):
        assert cells[i, j] == pytest.approx(share, abs=0.005)
    # c and e do not stand side by side.
    assert [(min(line.get_xdata()), max(line.get_xdata())) for line in panel.lines] == [(-0.5, 1.5)]


@pytest.mark.parametrize(
    "names",
    [[f"{'x' * 40}{k}{'y' * 40}" for k in range(3)], ["1", "10", "2"], ["2020-01-01", "2021", "2022-05"],
     ["constructor", "toString", "__proto__"]],
)  # fmt: skip
def test_whatever_its_name_a_column_is_a_row_of_its_own(names: list[str]) -> None:
    panel = panel_of(matrix_chart(names, [0.1, 0.2, 0.3], []))
    assert [label.get_text().strip() for label in panel.get_yticklabels()] == [shorten(name, 24) for name in names]
    assert list(panel.get_yticks()) == [0, 1, 2]


def test_many_columns_have_no_names_at_the_side() -> None:
    few, many = (matrix_chart([f"c{k}" for k in range(n)], [0.1] * (n * (n - 1) // 2), []) for n in (40, 41))
    assert len(panel_of(few).get_yticklabels()) == 40
    assert not panel_of(many).get_yticklabels()
    assert many.height <= 800


def test_a_page_of_hostile_names_contains_them_as_text(hostile: dict[str, Any]) -> None:
    page = render(hostile)
    section = page[page.index('<section id="redundancy"') :]
    section = section[: section.index("</section>")]
    assert "<script>alert" not in section
    assert "&lt;/script&gt;&lt;script&gt;alert(1)" in section
    assert section.count('type="radio"') == len(sample.HOSTILE)
