"""Reasons for selecting or dropping each column: merits equal those of sets evaluated alone."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_wine

from tamiz import SubsetSelector, open_table, study
from tamiz.criteria import CFS, CrossValidated, EqualFrequency, SymmetricUncertainty, symmetric_uncertainty
from tamiz.exceptions import DataError, TamizWarning
from tamiz.runtime.codec import to_json
from tamiz.search import Backward, BestFirst, Evaluations, Exhaustive, Forward, Genetic
from tamiz.selection import subset_report
from tamiz.selection.subset_report import describe_reasons, describe_subset

WINE = load_wine(as_frame=True)
NAMES = list(WINE.data.columns)
TABLE = WINE.data.assign(wine=np.array(["a", "b", "c"])[WINE.target])


def reasons_of(selector, table=TABLE, target="wine", **more):
    opened = open_table(table, target, **more)
    fitted = selector.fit(opened)
    return fitted, {reason.name: to_json(reason) for reason in describe_reasons(fitted, opened)}


@pytest.mark.parametrize("search", [Forward(), Backward(), BestFirst(), Genetic(population=8)], ids=repr)
def test_the_merit_of_each_flip_is_that_of_the_set_evaluated_alone(search):
    selector, told = reasons_of(SubsetSelector(CFS(), search, random_state=0))
    for j, name in enumerate(NAMES):
        flipped = selector.support_.copy()
        flipped[j] ^= True
        names = [other for other, taken in zip(NAMES, flipped, strict=True) if taken]
        alone = SubsetSelector(CFS(), Forward(start=names, fixed=names), n_features=len(names) or None)
        if names:
            assert told[name]["alternative_merit"] == alone.fit(TABLE[NAMES], TABLE["wine"]).merit_
        assert told[name]["chosen"] == selector.support_[j]
        assert told[name]["alternative_size"] == len(names)


def test_a_wrapper_is_evaluated_on_the_folds_of_its_search():
    selector, told = reasons_of(SubsetSelector(CrossValidated("gaussian_nb", 5), Genetic(population=6), random_state=3))
    every = SubsetSelector(CrossValidated("gaussian_nb", 5), Exhaustive(), n_features=(1, 2), random_state=3)
    assert set(told) == set(NAMES)
    again = every.fit(TABLE[NAMES], TABLE["wine"])
    masks = np.eye(len(NAMES), dtype=bool)
    found = selector.merits(masks, TABLE[NAMES], TABLE["wine"])
    np.testing.assert_array_equal(found, again.merits(masks, TABLE[NAMES], TABLE["wine"]))


def test_the_redundancy_of_a_column_is_with_the_most_similar_selected_one():
    classes = (
        pd.DataFrame({name: pd.qcut(WINE.data[name], 4, labels=False) for name in NAMES}).astype(str).astype("category")
    )
    selector, told = reasons_of(SubsetSelector(CFS(), BestFirst()), classes.assign(wine=TABLE["wine"]))
    kept = [name for name, taken in zip(NAMES, selector.support_, strict=True) if taken]
    for name in NAMES:
        shared = {other: symmetric_uncertainty(classes[name], classes[other]) for other in kept if other != name}
        nearest = sorted(shared, key=lambda other: -shared[other])[: 1 if name in kept else 2]
        similar = told[name]["similar"]
        assert [other["name"] for other in similar] == nearest
        np.testing.assert_allclose([other["uncertainty"] for other in similar], [shared[other] for other in nearest])
        assert told[name]["relevance"] == pytest.approx(symmetric_uncertainty(classes[name], TABLE["wine"]))


def test_with_a_numeric_target_columns_are_cut_as_cfs_cuts_them():
    table = WINE.data
    _, told = reasons_of(SubsetSelector(CFS(), BestFirst()), table, "alcohol")
    opened = open_table(table, "alcohol")
    pairs = SymmetricUncertainty(discretization=EqualFrequency(10)).pairwise(opened.reduce, opened.schema)
    with_target = pairs.associations(np.arange(12), np.full(12, 12))
    assert [told[name]["relevance"] for name in NAMES[1:]] == with_target.tolist()


def test_fixed_excluded_and_grouped_columns_have_that_reason():
    search = BestFirst(fixed=["ash"], excluded=["proline"], column_groups=[["hue", "flavanoids"]])
    selector, told = reasons_of(SubsetSelector(CFS(), search))
    assert {name: reason["role"] for name, reason in told.items() if reason["role"]} == {
        "ash": "fixed",
        "proline": "excluded",
    }
    assert told["hue"]["group"] == ["flavanoids"]
    assert told["hue"]["alternative_merit"] == told["flavanoids"]["alternative_merit"]
    assert abs(told["hue"]["alternative_size"] - selector.support_.sum()) == 2
    flipped = selector.support_.copy()
    flipped[[NAMES.index("hue"), NAMES.index("flavanoids")]] ^= True
    assert told["hue"]["alternative_merit"] == selector.merits(flipped, TABLE[NAMES], TABLE["wine"])[0]


@pytest.mark.filterwarnings("ignore::tamiz.exceptions.TamizWarning")
def test_columns_that_take_no_part_have_no_reason():
    _, told = reasons_of(SubsetSelector(CFS(), BestFirst()), TABLE.assign(row=np.arange(len(TABLE))))
    assert set(told) == set(NAMES)


def test_an_empty_selection_is_reported_too():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"a": rng.integers(0, 2, 40).astype(str), "b": ["x"] * 40, "y": ["p", "q"] * 20})
    with pytest.warns(TamizWarning, match="no column worth keeping"):
        _, told = reasons_of(SubsetSelector(CFS(), Forward(excluded=["a"])), table, "y")
    assert told["b"] | {"relevance": None} == {
        "name": "b", "chosen": False, "role": None, "same_as": None, "group": [],
        "alternative_merit": 0.0, "alternative_size": 1, "relevance": None,
        "similar": [],
    }  # fmt: skip


def test_costly_reasons_are_skipped_with_a_note(monkeypatch):
    monkeypatch.setattr(subset_report, "_MAX_EFFORT", 3.0)
    table = open_table(TABLE, "wine")
    selector = SubsetSelector(CFS(), Genetic(population=4), stop=Evaluations(4), random_state=0).fit(table)
    with pytest.warns(TamizWarning, match="Of 13 sets of one column more or less, the merits of 10 were not computed"):
        told = describe_reasons(selector, table)
    known = [reason.name for reason in told if reason.alternative_merit is not None]
    assert len(known) == 3
    assert all(reason.chosen for reason in told if reason.name in known)


def test_masks_of_very_many_columns_are_never_in_memory_at_once(monkeypatch):
    table = open_table(TABLE, "wine")
    selector = SubsetSelector(CFS(), Genetic(population=4), stop=Evaluations(4), random_state=0).fit(table)
    monkeypatch.setattr(subset_report, "_MAX_BYTES", 5 * table.schema.n_columns)
    with pytest.warns(TamizWarning, match="Of 13 sets of one column more or less, the merits of 8 were not computed"):
        told = describe_reasons(selector, table)
    assert sum(reason.alternative_merit is not None for reason in told) == 5


def test_a_set_without_a_merit_is_reported_and_the_study_goes_on(monkeypatch):
    table = open_table(TABLE, "wine")
    selector = SubsetSelector(CFS(), Genetic(population=4), stop=Evaluations(4), random_state=0).fit(table)

    def fail(*arguments, **named):
        raise DataError("Fold 3 of 10: no.")

    monkeypatch.setattr(SubsetSelector, "merits", fail)
    with pytest.warns(TamizWarning, match="have no merit: Fold 3 of 10: no"):
        told = describe_reasons(selector, table)
    assert all(reason.alternative_merit is None for reason in told)


def test_long_tables_are_counted_by_evenly_spaced_rows(monkeypatch):
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    table = X.assign(y=y.astype(str))
    _, whole = reasons_of(SubsetSelector(CFS(), BestFirst()), table, "y")
    monkeypatch.setattr(subset_report, "_MAX_ROWS", 300)
    monkeypatch.setattr(subset_report, "_MIN_ROWS", 300)
    with pytest.warns(TamizWarning, match="on 300 of the 569 rows, evenly spaced"):
        _, some = reasons_of(SubsetSelector(CFS(), BestFirst()), table, "y")
    assert [some[name]["alternative_merit"] for name in some] == [whole[name]["alternative_merit"] for name in whole]
    shared = np.array(
        [
            [max((other["uncertainty"] for other in told[name]["similar"]), default=0.0) for name in X]
            for told in (whole, some)
        ]
    )
    assert np.abs(shared[0] - shared[1]).mean() < 0.1


@pytest.mark.filterwarnings("ignore::tamiz.exceptions.TamizWarning")
def test_a_table_of_which_no_column_takes_part_has_no_reasons():
    empty = pd.DataFrame({"gaps": [None] * 20, "y": ["p", "q"] * 10})
    subset = study(empty, "y", maps=[], relevances=[], assess=False).to_dict()["subset"]
    assert (subset["columns"], subset["reasons"], subset["lattice"]) == ([], [], None)


@pytest.mark.filterwarnings("ignore::tamiz.exceptions.TamizWarning")
def test_results_are_kept_when_the_reasons_are_interrupted(monkeypatch):
    def interrupt(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("tamiz._study.run.describe_reasons", interrupt)
    found = study(TABLE, "wine", maps=[], relevances=[], assess=False).to_dict()
    assert found["subset"]["columns"]
    assert (found["subset"]["reasons"], found["subset"]["lattice"]) == ([], None)
    assert "'reasons'" in found["interruption"]


@pytest.mark.filterwarnings("ignore::tamiz.exceptions.TamizWarning")
def test_a_copy_is_not_searched_and_has_the_reason_that_it_is_equivalent():
    names = NAMES[:3]
    table = TABLE[[*names, "wine"]].assign(twice=2 * TABLE[names[0]] + 1)
    subset = study(
        table, "wine", selector=SubsetSelector(CFS(), Exhaustive()), maps=[], relevances=[], assess=False
    ).record.subset
    assert subset.n_evaluations == 2**3
    (copy,) = [one for one in subset.reasons if one.name == "twice"]
    assert (copy.chosen, copy.same_as) == (False, names[0])


def test_the_record_of_a_subset_has_the_best_of_every_size():
    table = open_table(TABLE, "wine")
    selector = SubsetSelector(CFS(), BestFirst(), n_features=3).fit(table)
    found = describe_subset(selector)
    assert (found.columns, found.value, found.sizes) == (
        tuple(selector.get_feature_names_out()),
        selector.merit_,
        (3, 3),
    )
    assert [best.merit for best in found.frontier] == [
        selector.archive_.merits[selector.archive_.sizes == best.size].max() for best in found.frontier
    ]
