"""A study issues one note on missing values, which states what each of its parts does with them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from tamiz import SubsetSelector, study
from tamiz.criteria import CrossValidated, FisherScore, InformationGain, TreeImportance
from tamiz.exceptions import TamizWarning
from tamiz.graphs import KNearest
from tamiz.reduction import PCA
from tamiz.runtime.user_warnings import ImputationNote, capture_imputation_notes, collect_warnings, warn_user
from tamiz.runtime.verdicts import Verdict
from tamiz.search import Forward

pytestmark = pytest.mark.filterwarnings("ignore::tamiz.exceptions.TamizWarning")

MEAN, LEVELS = "the mean of its column", "each indicator gets the share of its level"
PAIRS = "Two columns are compared for redundancy on the rows with both values."
DISTRIBUTED = (
    "Entropy-based scores divide each missing value among the observed values, in proportion to their frequencies."
)


def table(*incomplete: str, n: int = 60) -> pd.DataFrame:
    """Return two numeric and one categorical column and a target; the columns named lack every 20th value."""
    rng = np.random.default_rng(3)
    y = np.arange(n) % 2
    frame = pd.DataFrame(
        {
            "a": y + rng.normal(size=n),
            "b": rng.normal(size=n),
            "c": np.where(rng.random(n) < 0.3 + 0.4 * y, "u", "v"),
            "y": np.where(y == 1, "yes", "no"),
        }
    )
    frame.loc[::20, list(incomplete)] = np.nan
    return frame


def notes_of(frame: pd.DataFrame, **options: Any) -> list[str]:
    """Return the notes of a study on missing values."""
    target = options.pop("target", "y")
    found = study(frame, target, assess=False, random_state=0, **options).to_dict()["warnings"]
    return [note["sentence"] for note in found if note["code"] == "TZ207"]


def test_all_parts_of_a_study_share_one_note() -> None:
    assert notes_of(table("a", "c")) == [
        "The table has 6 missing values in 2 columns. For the distances of rows, the Laplacian score, criteria that fit a model "
        f"and PCA, each is replaced by {MEAN} (in a categorical column {LEVELS}). {DISTRIBUTED} {PAIRS}"
    ]


def test_a_table_without_missing_values_has_no_note() -> None:
    assert notes_of(table()) == []


@pytest.mark.parametrize(("column", "replacement"), [("a", MEAN), ("c", f"indicators: {LEVELS}")])
def test_the_replacement_is_that_of_the_kinds_of_the_incomplete_columns(column: str, replacement: str) -> None:
    (note,) = notes_of(table(column))
    assert note.startswith("The table has 3 missing values in 1 column. For ")
    assert f"each is replaced by {replacement}. " in note


def test_parts_that_a_study_does_not_compute_are_not_named() -> None:
    (note,) = notes_of(table("a"), relevances=[FisherScore(), InformationGain()], maps=["mds:metric"])
    assert note == (
        f"The table has 3 missing values in 1 column. For the distances of rows, each is replaced by {MEAN}. {DISTRIBUTED} {PAIRS}"
    )
    (note,) = notes_of(table("a"), relevances=[TreeImportance()], maps=["pca"])
    assert "For criteria that fit a model, PCA and the distances of rows, each is replaced" in note


def test_without_a_target_the_note_has_no_models() -> None:
    (note,) = notes_of(table("a").drop(columns="y"), target=None)
    assert note.startswith(
        "The table has 3 missing values in 1 column. For the distances of rows, the Laplacian score and PCA,"
    )


def test_missing_as_a_category_is_stated_for_entropies_and_for_models() -> None:
    (note,) = notes_of(table("a"), missing="category")
    assert "Entropy-based scores treat missing as a category of its own." in note
    assert "Criteria that fit a model replace missing values by the mean and add an indicator of them." in note
    assert DISTRIBUTED not in note


def test_a_sample_has_the_number_of_the_whole_table() -> None:
    (note,) = notes_of(table("a", n=400), maps=["mds:metric"], map_rows=50)
    assert note.startswith("The table has 20 missing values in 1 column. For the distances of rows")


def test_other_rules_of_pca_and_gower_are_stated() -> None:
    (note,) = notes_of(table("a"), maps=[PCA(2, missing="pairwise")], graph=KNearest(5, metric="gower"))
    assert "PCA excludes missing values pairwise: each covariance uses the rows with both values." in note
    assert "Gower's dissimilarity compares two rows in the columns in which both have a value." in note
    assert "PCA," not in note


def test_models_of_a_wrapper_use_the_training_rows_of_a_fold() -> None:
    (note,) = notes_of(table("a"), selector=SubsetSelector(CrossValidated("logistic", cv=3), Forward()), maps=["pca"])
    assert f"For models in cross-validation, each is replaced by {MEAN}, of the training rows of a fold." in note


def test_an_estimator_alone_issues_its_own_note() -> None:
    with collect_warnings() as messages:
        PCA(2).fit(table("a")[["a", "b"]])
        PCA(2).fit(table("a", "c")[["a", "c"]])
    assert messages == [
        "PCA: 3 missing values were imputed with the mean of the column.",
        "PCA: 6 missing values were imputed with the mean of the column (in a categorical column, each indicator with the "
        "share of its level).",
    ]


def test_notes_on_imputation_are_captured_apart_from_other_messages() -> None:
    note = ImputationNote("PCA: 3 missing values.", "PCA")
    with pytest.warns(TamizWarning, match="TZ502"), collect_warnings() as messages, capture_imputation_notes() as notes:
        warn_user([note, Verdict("TZ502", "Another message.")])
    assert (messages, notes) == (["Another message."], [note])
