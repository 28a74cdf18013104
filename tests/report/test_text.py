from __future__ import annotations

import json

import pytest

from tamiz.report import text

from . import sample


@pytest.mark.parametrize(
    ("value", "told"),
    [
        (0.0, "0"),
        (0.123456, "0.1235"),
        (-0.5, "−0.5"),
        (9.99996, "10"),
        (999.96, "1000"),
        (3750.4, "3,750"),
        (1234567.0, "1,234,567"),
        (1.5e-7, "1.5 × 10⁻⁷"),
        (-2e12, "−2 × 10¹²"),
        (9.9999e-6, "1 × 10⁻⁵"),
        (None, "–"),
    ],
)
def test_a_number_has_four_significant_digits(value: float | None, told: str) -> None:
    assert text.format_number(value) == told


@pytest.mark.parametrize(
    ("share", "told"), [(0.0, "0%"), (0.0004, "<0.1%"), (0.044, "4.4%"), (0.446, "45%"), (1.0, "100%")]
)
def test_a_share_has_no_more_digits_than_can_be_read(share: float, told: str) -> None:
    assert text.format_percent(share) == told


def test_a_count_agrees_with_its_noun() -> None:
    assert [text.count_with_noun(n, "row") for n in (0, 1, 1000)] == ["0 rows", "1 row", "1,000 rows"]
    assert text.count_with_noun(2, "class", "classes") == "2 classes"


def test_a_list_counts_what_it_does_not_name() -> None:
    assert text.join_names(["a"]) == "a"
    assert text.join_names(["a", "b", "c"]) == "a, b and c"
    assert text.join_names("abcdefgh", limit=4) == "a, b, c and 5 more"
    assert text.join_names([]) == ""
    assert text.join_column_names(["a", "b, c", ""]) == "a, 'b, c' and (empty)"
    assert text.join_column_names([f"{'x' * 50}, y"], width=20) == "'xxxxxxxxxxx…xxx, y'"


def test_a_long_name_keeps_its_head_and_tail() -> None:
    assert text.shorten("left\r\nwing", 20) == "left wing"
    short = text.shorten("measurement_of_the_left_wing_in_mm", 20)
    assert len(short) == 20
    assert short.startswith("measurement")
    assert short.endswith("_in_mm")


@pytest.mark.parametrize("name", sample.HOSTILE)
def test_json_in_a_script_gives_back_every_name_and_ends_no_element(name: str) -> None:
    packed = str(text.script_json({name: [name]}))
    assert not set("<>&\u2028\u2029") & set(packed)
    assert json.loads(packed) == {name: [name]}


@pytest.mark.parametrize("name", sample.HOSTILE)
def test_a_breakable_name_contains_no_tag_but_its_breaks(name: str) -> None:
    assert "<" not in str(text.breakable_name(name)).replace("<wbr>", "")


def test_json_in_a_script_refuses_a_number_that_json_does_not_have() -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        text.script_json([float("nan")])
