"""The section on reproduction: code as it is, and what the numbers depend on."""

from __future__ import annotations

import html
from typing import Any

from tamiz.report.table import collect_reproduction

from .reading import record_of, render
from .test_html import section, words


def test_the_code_is_in_the_page_unchanged(hostile: dict[str, Any]) -> None:
    hostile["reproduction"]["command"] = "tamiz study 'a && \"b\" <c>'"
    page = section(render(hostile), "reproduction")
    for name in ("command", "python"):
        code = page.split(f'id="reproduction-{name}"><code>')[1].split("</code>")[0]
        assert html.unescape(code) == hostile["reproduction"][name]


def test_versions_and_seed_are_shown(wine: dict[str, Any]) -> None:
    told = words(section(render(wine), "reproduction"))
    assert "Seed 0" in told
    assert "matplotlib 3.11.2, numpy 2.4.6, python 3.11.7, tamiz 0.1.0" in told
    assert "2 at the top of this page" in told


def test_a_study_in_python_has_no_command(wine: dict[str, Any]) -> None:
    wine["reproduction"] |= {"command": None, "placeholders": ["data", "target"]}
    shown = collect_reproduction(record_of(wine))
    assert shown["python_hint"] == "Replace data and target by the objects that were passed to the study."
    page = render(wine)
    assert 'id="reproduction-python"' in page
    assert 'id="reproduction-command"' not in page


def test_without_a_seed_fewer_guarantees_are_stated(wine: dict[str, Any]) -> None:
    wine["seed"] = None
    shown = collect_reproduction(record_of(wine))
    assert (
        shown["lead"]
        == "The code below repeats this study of wine.csv with other random draws, because it had no seed."
    )
    assert "Seed none" in words(section(render(wine), "reproduction"))


def test_only_a_limit_in_seconds_makes_the_numbers_depend_on_the_machine(wine: dict[str, Any]) -> None:
    slower = "unless steps are left out because another machine is slower"
    assert slower not in words(section(render(wine), "reproduction"))
    wine["reproduction"]["python"] = "result = study('wine.csv', max_seconds=60)"
    assert slower in words(section(render(wine), "reproduction"))


def test_it_is_the_last_open_section(wine: dict[str, Any]) -> None:
    opened = render(wine).split('<div id="details">')[0]
    assert opened.rindex("<section") == opened.index('<section id="reproduction"')
