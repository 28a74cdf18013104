"""The page of two tables: whole without scripts and requests, numbers of the record, and names that are no markup."""

import re
from html import unescape

import numpy as np
import pandas as pd
import pytest

from tamiz import compare_tables

HOSTILE = "<script>alert(1)</script>\x1b[31m"


@pytest.fixture(scope="module")
def found():
    rng = np.random.default_rng(0)
    first = pd.DataFrame(rng.normal(size=(150, 4)), columns=["a", "b", HOSTILE, "year"])
    first["year"] = rng.integers(2007, 2010, 150)
    first["city"] = rng.choice(["Rome", "Oslo"], 150)
    first["y"] = np.where(first["a"] + rng.normal(size=150) > 0, "yes", "no")
    second = first.sample(100, random_state=1, replace=True).assign(b=first["b"] * 8)
    second[HOSTILE] += rng.normal(2, 1, 100)
    second.iloc[:20, second.columns.get_loc("city")] = "Paris & <b>"
    return compare_tables(first, second, "y")


@pytest.fixture(scope="module")
def page(found):
    return found.page()


def visible(page):
    body = re.sub(r"<style>.*?</style>|<svg.*?</svg>|<details.*?</details>", " ", page, flags=re.DOTALL)
    return unescape(re.sub(r"<[^>]+>", " ", body))


def test_the_page_has_no_script_and_requests_nothing(page):
    assert "<script" not in page
    assert "default-src 'none'" in page
    assert not re.search(r'(?:src|href)="(?!#|data:)', page)
    assert "http" not in re.sub(r"http-equiv", "", page)


def test_names_and_levels_are_text(page):
    assert "&lt;script&gt;" in page
    assert '<b>"' not in page
    assert "Paris &amp; &lt;b&gt;" in page


def test_the_first_screen_states_the_verdict_with_pictures_of_both_tables(found, page):
    text = visible(page)
    assert f"{len(found.changed)} of 6 columns have changed" in text
    assert "150 rows, 6 columns" in text
    assert page.count('class="spread"') >= 6 + 5
    assert page.count('<path class="c0"') >= 6
    assert page.count('<path class="c1"') >= 6
    points = re.search(r'<svg class="points".*?</svg>', page, re.DOTALL)[0]
    assert len(re.findall(r"M\d+ \d+h0", points)) == len(found.new_rows.points)


def test_the_numbers_of_the_page_are_those_of_the_record(found, page):
    text = " ".join(visible(page).split())
    for one in found.columns:
        assert f"{one.psi:.2f}".removeprefix("0") + " (" + f"{one.expected_psi:.2f}".removeprefix("0") in text
    assert f"{found.membership.auc:.2f}".replace("0.", ".") in text
    assert "2008." in text
    assert "2,00" not in text


def test_the_page_of_a_small_table_is_short(page):
    assert len(visible(page).split()) <= 600


def test_every_verdict_is_on_the_page_with_its_code(found, page):
    assert {one.code for one in found.warnings} >= {"TZ212", "TZ214"}
    for one in found.warnings:
        assert f"<strong>{one.code} {one.label}</strong>" in page


def test_the_page_is_the_same_for_the_same_result_and_shown_in_a_notebook(found, page, tmp_path):
    assert found.to_html(tmp_path / "page.html").read_text(encoding="utf-8") == page == found.page()
    assert found._repr_html_().startswith("<iframe srcdoc=")


def test_the_printed_verdict_is_short_and_names_what_has_changed(found):
    lines = repr(found).splitlines()
    assert len(lines) <= 18
    assert lines[2].startswith(f"  {len(found.changed)} of 6 columns have changed: ")
