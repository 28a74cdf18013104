"""The redundancy of the columns of a study: groups of synthetic redundant columns, the kept ones, and the drawn pairs."""

import base64
import itertools

import numpy as np
import pandas as pd
import pytest
from scipy.cluster.hierarchy import fcluster, linkage
from scipy.spatial.distance import squareform
from sklearn.datasets import load_breast_cancer

from tamiz import RankSelector, open_table
from tamiz._study import ranking
from tamiz._study.ranking import (
    find_redundancy,
    redundant_pair_notes,
)
from tamiz.criteria import SymmetricUncertainty
from tamiz.criteria.column_associations import associate_columns, complete_linkage_groups, leaf_order
from tamiz.exceptions import TamizWarning
from tamiz.report.records import RankingRecord
from tamiz.runtime import parallel
from tamiz.runtime.codec import to_json


def described(*data, scored=None, missing="distribute", **more):
    table = open_table(*data, **more)
    ranking = None
    if scored is not None:
        names = table.schema.names
        ranking = RankingRecord(
            criteria=(),
            columns=tuple(names),
            scores=scored,
            cut_points={},
            uncut=None,
            constant=(),
            mean_rank=None,
            tests=None,
        )
    found = find_redundancy(table, ranking, missing)
    return found and to_json(found)


def groups(found):
    return {frozenset(group["columns"]) for group in found["groups"]}


def shares(found):
    """Every pair drawn with what it shares, to a step of 1 / 255."""
    values = np.frombuffer(base64.b64decode(found["pair_steps"]), dtype=np.uint8) / 255
    return {frozenset(pair): v for pair, v in zip(itertools.combinations(found["columns"], 2), values, strict=True)}


def mixed(n=600, seed=0):
    rng = np.random.default_rng(seed)
    a, b = rng.normal(size=(2, n))
    a[rng.random(n) < 0.1] = np.nan
    colour = rng.choice(["red", "green", "blue"], n, p=[0.5, 0.3, 0.2]).astype(object)
    colour[rng.random(n) < 0.1] = None
    return pd.DataFrame({
        "a": a,
        "twice a": 2 * a + 1,
        "near a": a + 0.01 * rng.normal(size=n),
        "b": b,
        "b falling": -(b**3),
        "colour": colour,
        "farbe": pd.Series(colour).map({"red": "rot", "green": "gruen", "blue": "blau"}),
        "noise": rng.normal(size=n),
    })  # fmt: skip


def test_the_matrix_shows_the_associations_with_their_measures():
    frame = mixed()
    table = open_table(frame)
    found, associations = described(frame), associate_columns(table, range(8))
    drawn = shares(found)
    codes = base64.b64decode(found["pair_measures"])
    for pair, code in zip(itertools.combinations(found["columns"], 2), codes, strict=True):
        i, j = (list(frame).index(name) for name in pair)
        assert drawn[frozenset(pair)] == pytest.approx(associations.values[i, j], abs=0.5 / 255 + 1e-12)
        assert found["measures"][code] == associations.measure(i, j)


@pytest.mark.parametrize("target", ["classes", "number", None])
def test_copies_are_groups_whatever_the_target_is(target):
    frame = mixed()
    y = {"classes": np.where(frame["noise"] > 0, "p", "q"), "number": frame["noise"] ** 2, None: None}[target]
    found = described(frame, y)
    assert groups(found) == {
        frozenset({"a", "twice a", "near a"}),
        frozenset({"b", "b falling"}),
        frozenset({"colour", "farbe"}),
    }
    by_first = {group["columns"][0]: group for group in found["groups"]}
    assert by_first["b"]["min_value"] == pytest.approx(1, abs=0.02)
    assert by_first["colour"]["min_value"] == pytest.approx(1, abs=1e-12)
    assert 0.99 <= by_first["a"]["min_value"] < 1
    assert (found["n_columns"], found["n_rows"], found["n_not_compared"]) == (8, 600, 0)
    assert [len(group["columns"]) for group in found["groups"]] == [3, 2, 2]


def test_the_column_with_the_most_information_on_the_target_is_kept_else_the_first():
    frame = mixed()
    y = np.where(frame["near a"] > 0, "p", "q")
    told = {"symmetric_uncertainty": (0.1, 0.2, 0.3, 0.0, 0.0, 0.5, 0.5, None)}
    kept = {group["keep"] for group in described(frame, y, scored=told)["groups"]}
    assert kept == {"near a", "b", "colour"}
    # Without the ranking's scores they are counted.
    counted = RankSelector(SymmetricUncertainty()).fit(frame, y).scores_
    best = max(("a", "twice a", "near a"), key=lambda name: counted[list(frame).index(name)])
    assert best in {group["keep"] for group in described(frame, y, scored={})["groups"]}
    assert {group["keep"] for group in described(frame)["groups"]} == {"a", "b", "colour"}


def test_columns_in_another_order_give_the_same_groups_and_the_same_matrix():
    data = load_breast_cancer(as_frame=True)
    shuffled = data.data.iloc[:, np.random.default_rng(0).permutation(30)]
    one, other = described(data.data, data.target), described(shuffled, data.target)
    assert groups(one) == groups(other)
    assert {group["keep"] for group in one["groups"]} == {group["keep"] for group in other["groups"]}
    assert (one["columns"], one["pair_steps"]) == (other["columns"], other["pair_steps"])


def test_radius_perimeter_and_area_of_a_nucleus_are_redundant():
    data = load_breast_cancer(as_frame=True)
    found = described(data.data, data.target)
    sizes = ("radius", "perimeter", "area")
    assert frozenset(f"{which} {size}" for size in sizes for which in ("mean", "worst")) in groups(found)
    # Columns of a group stand side by side.
    places = sorted(found["columns"].index(f"{which} {size}") for size in sizes for which in ("mean", "worst"))
    assert places == list(range(places[0], places[0] + 6))


def test_every_pair_of_a_group_is_alike_and_groups_are_those_of_complete_linkage():
    rng = np.random.default_rng(0)
    n = 40
    values = rng.random(n * (n - 1) // 2)
    square = squareform(values)
    found = complete_linkage_groups(square, 0.5)
    labels = fcluster(linkage(1 - values, "complete"), 0.5, "distance")
    assert {tuple(group) for group in found} == {
        tuple(np.flatnonzero(labels == label)) for label in np.unique(labels) if (labels == label).sum() > 1
    }
    assert all(square[i, j] >= 0.5 for group in found for i, j in itertools.combinations(group, 2))


def test_pairs_exactly_at_the_threshold_are_alike():
    # The pairs of columns 0, 1 and 2.
    ((*group,),) = complete_linkage_groups(squareform([0.9, 0.9, 0.1, 0.9, 0.1, 0.1]), 0.9)
    assert group == [0, 1, 2]


def test_similar_columns_are_adjacent():
    # Three blocks of two.
    square = np.full((6, 6), 0.1)
    for i, j in ((0, 5), (1, 3), (2, 4)):
        square[i, j] = square[j, i] = 0.9
    np.fill_diagonal(square, 0.0)
    order = leaf_order(square, 100).tolist()
    assert {frozenset(order[k : k + 2]) for k in (0, 2, 4)} == {frozenset({0, 5}), frozenset({1, 3}), frozenset({2, 4})}
    square[0, 5] = square[5, 0] = 0.2
    assert set(leaf_order(square, 4).tolist()) == {1, 2, 3, 4}


def test_columns_of_many_values_are_not_alike_by_chance():
    rng = np.random.default_rng(0)
    n = 1000
    ticket, cabin = rng.integers(0, 450, (2, n))
    frame = pd.DataFrame({
        "ticket": [f"t{k}" for k in ticket], "cabin": [f"c{k}" for k in cabin], "booking": [f"b{k}" for k in ticket],
        "x": rng.normal(size=n),
    })  # fmt: skip
    kinds = dict.fromkeys(["ticket", "cabin", "booking"], "categorical")
    found = described(frame, kinds=kinds)
    assert shares(found)[frozenset({"ticket", "cabin"})] < 0.3
    assert groups(found) == {frozenset({"ticket", "booking"})}


def test_few_rows_are_not_redundant_by_chance():
    assert all(described(np.random.default_rng(k).normal(size=(14, 40)))["groups"] == [] for k in range(20))


def test_the_finer_of_a_town_and_its_country_is_kept_and_a_sum_is_stated():
    rng = np.random.default_rng(0)
    town = rng.integers(0, 12, 500)
    frame = pd.DataFrame({"country": [f"c{k // 4}" for k in town], "town": [f"t{k}" for k in town]})
    frame["casual"], frame["registered"] = rng.poisson([40, 90], (500, 2)).T
    frame["rides"] = frame["casual"] + frame["registered"]
    # The target is the country.
    found = described(frame, frame["country"] == "c0")
    ((group,), (sentence,)) = found["groups"], found["sums"]
    assert (group["columns"], group["keep"], group["measure"]) == (["country", "town"], "town", "V")
    assert sentence == "rides = casual + registered, exactly."


def test_constant_columns_are_not_compared():
    x = np.random.default_rng(0).normal(size=(50, 3))
    x[:, 1] = 4.0
    assert described(x)["columns"] == ["x0", "x2"]
    x[:, 2] = 1.0
    assert described(x) is None
    assert described(x[:, :1]) is None


def test_of_very_many_columns_the_most_relevant_are_compared_with_a_note(monkeypatch):
    monkeypatch.setattr(ranking, "_MAX_COMPARED_COLUMNS", 4)
    frame = mixed()
    told = {"symmetric_uncertainty": (0.1, 0.2, 0.3, 0.0, 0.1, 0.5, 0.5, None)}
    with pytest.warns(
        TamizWarning, match="Of 8 columns, redundancy was computed among the 4 most relevant for 'target'"
    ):
        found = described(frame, np.where(frame["noise"] > 0, "p", "q"), scored=told)
    assert set(found["columns"]) == {"twice a", "near a", "colour", "farbe"}
    assert found["n_not_compared"] == 4
    with pytest.warns(TamizWarning, match="Of 8 columns, redundancy was computed among the first 4"):
        assert set(described(frame)["columns"]) == {"a", "twice a", "near a", "b"}


def test_of_many_rows_a_sample_is_compared_that_is_always_the_same(monkeypatch):
    monkeypatch.setattr(ranking, "_MAX_WORK", 28 * 200)
    monkeypatch.setattr(ranking, "_MIN_COMPARED_ROWS", 100)
    first, second = described(mixed()), described(mixed())
    assert first == second
    assert first["n_rows"] == 200
    assert groups(first) == groups(described(mixed()))


def test_columns_that_need_too_much_memory_are_left_out_with_a_note(monkeypatch):
    def refuse(*_):
        raise MemoryError("too many pairs")

    monkeypatch.setattr(ranking, "associate_columns", refuse)
    with pytest.warns(TamizWarning, match="The redundancy of the columns is left out: too many pairs"):
        assert described(mixed()) is None


def test_threads_change_nothing():
    data = load_breast_cancer(as_frame=True)
    made = []
    for n_jobs in (1, 2):
        with parallel.thread_session(n_jobs):
            made.append(described(data.data, data.target))
    assert made[0] == made[1]


def test_chosen_columns_that_share_much_are_named_with_what_they_share():
    table = mixed()
    opened = open_table(table.assign(y=np.arange(600) % 2), "y")
    found = redundant_pair_notes(opened, ["a", "near a", "b", "b falling", "noise"])
    (sentence,) = found
    assert "2 pairs" in sentence
    assert "'b' and 'b falling' (|rho| 1.00)" in sentence
    assert "'a' and 'near a' (|r| 1.00)" in sentence
    assert redundant_pair_notes(opened, ["a", "b", "noise"]) == []
    assert redundant_pair_notes(opened, ["a"]) == []
    (few,) = redundant_pair_notes(opened, ["a", "twice a", "near a", "b", "b falling"])
    assert few.count(" and '") == 3
    assert ", and 1 more" in few


def test_missing_values_do_not_hide_groups_and_the_rows_of_the_pairs_are_stated():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=2000), "b": rng.normal(size=2000)})
    frame["copy"] = 3 * frame["a"]
    frame = frame.mask(rng.random(frame.shape) < 0.3)
    frame["c"] = rng.normal(size=2000)
    found = described(frame)
    assert groups(found) == {frozenset({"a", "copy"})}
    least = min((frame[i].notna() & frame[j].notna()).sum() for i, j in itertools.combinations(frame, 2))
    assert f"compared on the {least:,} to 2,000 rows with both values" in found["method"]
    # Copies with few rows in common are none.
    frame["a"], frame["copy"] = frame["c"].where(frame.index < 100), frame["c"].where(frame.index > 92)
    ((pair),) = groups(described(frame))
    assert pair in ({"c", "copy"}, {"c", "a"})
