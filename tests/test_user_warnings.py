"""Names in lists of messages, which are unambiguous."""

import warnings

import numpy as np
import pandas as pd
import pytest

from tamiz import open_table
from tamiz.error_control import BorutaSelector
from tamiz.exceptions import DataError
from tamiz.runtime.user_warnings import capture_warnings, collect_warnings, list_names, quote_name, warn_user
from tamiz.runtime.verdicts import Verdict


@pytest.mark.parametrize("name", ["a, b", " a", "a ", "a\nb", 'a"', "d'or", "", " ", "a\tb", "a\u00a0b", "a,b"])
def test_names_that_make_a_list_ambiguous_are_quoted(name):
    assert quote_name(name) == repr(name)
    assert list_names([name, "c"]) == f"{name!r}, c"


@pytest.mark.parametrize("name", ["a", "sepal length (cm)", "año", "高さ", "a.b", "a-b; c", 7, 1.5])
def test_ordinary_names_are_not_quoted(name):
    assert list_names([name, "c"]) == f"{name}, c"


def test_names_that_are_quoted_are_quoted_once():
    assert list_names(["a, b"], as_text=repr) == "'a, b'"


def test_the_columns_of_a_table_are_listed_without_ambiguity():
    table = pd.DataFrame({"a, b": range(12), "c": np.arange(12) ** 2})
    (note,) = open_table(table, kinds={"a, b": "id", "c": "text"}).schema.excluded_column_notes
    assert note == "2 of 2 columns are excluded: 'a, b' (declared as id), c (declared as text)."
    with pytest.raises(DataError, match=r"columns: 'a, b', c\.$"):
        open_table(table, target="d")


def test_tentative_columns_are_listed_without_ambiguity():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"a, b": rng.normal(size=60), "c": rng.normal(size=60)})
    with capture_warnings() as messages:
        BorutaSelector(max_iter=1, random_state=0).fit(table, rng.integers(2, size=60))
    assert any("not selected: 'a, b', c." in message for message in messages)


@pytest.mark.parametrize("warn_notes", [True, False])
def test_a_collection_warns_of_each_verdict_once_and_may_keep_notes_silent(warn_notes):
    check, note = Verdict("TZ204", "Rows are sorted."), Verdict("TZ203", "A column is excluded.")
    with warnings.catch_warnings(record=True) as told, collect_warnings(warn_notes=warn_notes) as collected:
        warnings.simplefilter("always")
        warn_user([check, note, check])
        warn_user([note, check])
    assert collected == [check, note]
    assert [str(one.message) for one in told] == [f"{one.code}: {one}" for one in collected[: 1 + warn_notes]]
