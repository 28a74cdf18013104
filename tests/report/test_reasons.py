"""The sentence on why each column is selected or dropped follows from the numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tamiz.report.columns import reason_sentence
from tamiz.report.subset import discretization_note

from . import sample
from .reading import record_of, render, subset_of
from .test_html import section, words

if TYPE_CHECKING:
    from collections.abc import Mapping


def reason_text(subset: Mapping[str, Any] | None = None, **reason: Any) -> str:
    one = {
        "name": "age", "chosen": False, "role": None, "same_as": None, "group": [],
        "alternative_merit": 0.4, "alternative_size": 3, "relevance": 0.2,
        "similar": [{"name": "weight", "uncertainty": 0.81}, {"name": "height", "uncertainty": 0.3}],
    }  # fmt: skip
    changed = {"value": 0.5, "sizes": None, "min_gain": 1e-5, **(subset or {}), "reasons": [{**one, **reason}]}
    made = subset_of({**sample.wine()["subset"], **changed})
    return reason_sentence(made.reasons[0], made)


@pytest.mark.parametrize(
    ("reason", "sentence"),
    [
        ({}, "More similar to weight (0.81) than to the target (0.2); adding it would change the merit by −0.1."),
        (
            {"relevance": 0.9},
            "Adds less than it costs, with a symmetric uncertainty of 0.9 with the target; "
            "adding it would change the merit by −0.1.",
        ),
        ({"relevance": 0.0}, "Almost unrelated to the target (symmetric uncertainty 0); adding it would change the merit by −0.1."),
        (
            {"relevance": 0.004},
            "Almost unrelated to the target (symmetric uncertainty 0.004); adding it would change the merit by −0.1.",
        ),
        ({"relevance": None, "similar": []}, "Adds less than it costs; adding it would change the merit by −0.1."),
        ({"alternative_merit": 0.5}, "Adding it would change the merit by 0, and of equal subsets the smaller is kept."),
        ({"alternative_merit": 0.5 + 1e-17}, "Adding it would change the merit by 0, and of equal subsets the smaller is kept."),
        (
            {"alternative_merit": 0.500005},
            "Adding it would change the merit by +5 × 10⁻⁶, less than the search counts as a gain.",
        ),
        ({"alternative_merit": 0.6}, "Adding it would change the merit by +0.1: the search did not evaluate that subset."),
        ({"alternative_merit": None}, "The merit after adding it was not computed."),
        ({"chosen": True}, "Removing it would change the merit by −0.1."),
        ({"chosen": True, "group": ["b", "c"]}, "Removing it, b and c would change the merit by −0.1."),
        ({"chosen": True, "role": "fixed", "alternative_merit": 0.6}, "Fixed by you; removing it would change the merit by +0.1."),
        ({"role": "excluded"}, "Excluded by you; adding it would change the merit by −0.1."),
        ({"same_as": "years"},
         "Equivalent to years (an association of at least 0.99), so not searched; adding it would change the merit by −0.1."),
        ({"same_as": "years", "alternative_merit": None},
         "Equivalent to years (an association of at least 0.99), so not searched; the merit after adding it was not computed."),
        ({"role": "excluded", "alternative_merit": None}, "Excluded by you; the merit after adding it was not computed."),
    ],
)  # fmt: skip
def test_each_sentence_follows_from_the_numbers(reason: dict[str, Any], sentence: str) -> None:
    assert reason_text(**reason) == sentence


def test_a_size_that_was_asked_for_is_the_reason() -> None:
    assert reason_text({"sizes": [2, 2]}, alternative_merit=0.6) == (
        "There would be 3 columns (requested: 2); adding it would change the merit by +0.1."
    )
    assert reason_text({"sizes": [2, 4]}, chosen=True, alternative_size=1) == (
        "There would be 1 column (requested: 2 to 4); removing it would change the merit by −0.1."
    )
    assert reason_text({"sizes": [1, 1]}, alternative_size=2, alternative_merit=None) == (
        "There would be 2 columns (requested: 1); the merit after adding it was not computed."
    )


def test_the_discretization_of_numbers_is_stated_beside_the_table(wine: dict[str, Any]) -> None:
    assert discretization_note(record_of(wine)) == "Numbers are discretised by MDL, which uses the target."
    assert discretization_note(record_of(wine)) in words(section(render(wine), "subset"))
    for column in wine["table"]["columns"]:
        column["kind"] = "categorical"
    assert discretization_note(record_of(wine)) == ""
    wine["table"]["classes"] = []
    assert (
        discretization_note(record_of(wine))
        == "Numbers, including the target, are cut into 10 intervals of equal frequency."
    )
    wine["table"]["target"] = None
    assert discretization_note(record_of(wine)) == ""


def test_without_a_recommendation_the_sentence_is_the_evidence_of_each_column(wine: dict[str, Any]) -> None:
    wine |= {"recommendation": None, "decisions": []}
    page = words(section(render(wine), "columns"))
    subset = subset_of(wine["subset"])
    for reason in subset.reasons:
        assert reason_sentence(reason, subset) in page
