"""Views of some rows or columns or with another target are equal to tables opened from these data."""

import numpy as np
import pandas as pd
import pytest

from tamiz import RankSelector, SubsetSelector, criteria, open_table
from tamiz.criteria import CFS
from tamiz.exceptions import TamizWarning
from tamiz.graphs.row_graph import needs_graph
from tamiz.search import BestFirst
from tamiz.table import column_storage, views
from tamiz.table.base import target_array, weight_array
from tamiz.table.column_storage import RowSubsetColumn
from tamiz.table.factory import as_table
from tamiz.table.views import as_training_table, merge_rare_levels, select_columns, select_rows, with_target

N = 400
# The table has groups and times, but folds cannot use both; and sampling weights.
OF_FOLDS = ["permutation_importance"]
REFUSED = [*OF_FOLDS, "mutual_information"]
RELEVANCES = [
    entry.name
    for entry in criteria.registry.of_kind("relevance")
    if entry.name not in REFUSED and not needs_graph(entry.load()())
]


def make_frame():
    rng = np.random.default_rng(3)
    y = rng.integers(0, 3, N)
    frame = pd.DataFrame(
        {
            "n0": (rng.normal(size=N) + y).round(2),
            "n1": rng.normal(size=N),
            "half": np.where(np.arange(N) < N // 2, 7.0, rng.normal(size=N)),
            "late": np.where(np.arange(N) < N // 2, np.nan, rng.normal(size=N)),
            "colour": np.array(["red", "green", "blue"], dtype=object)[(y + (rng.random(N) < 0.4)) % 3],
            "one": np.where(np.arange(N) < N // 2, "a", np.array(["a", "b"], dtype=object)[rng.integers(0, 2, N)]),
            "weight": rng.integers(1, 4, N) / 2,
            "ward": rng.integers(0, 9, N),
            "day": np.arange(N)[::-1],
            "y": np.array(["p", "q", "r"], dtype=object)[y],
        }
    )
    frame.loc[rng.random(N) < 0.1, "n1"] = np.nan
    frame.loc[rng.random(N) < 0.1, "colour"] = None
    return frame


FRAME = make_frame()
ROLES = {"weight": "weight", "groups": "ward", "time": "day"}
# Some of the first half of the rows, in which one column is constant and one is empty.
ROWS = np.flatnonzero((np.arange(N) < N // 2) & (np.random.default_rng(1).random(N) < 0.9))


@pytest.fixture(params=["in memory", "lazy", "on disk"])
def table(request, monkeypatch, tmp_path):
    if request.param != "in memory":
        monkeypatch.setattr(views, "_MAX_MEMORY_BYTES", 0)
    if request.param != "on disk":
        return open_table(FRAME, "y", **ROLES)
    monkeypatch.setattr(column_storage, "MAX_MEMORY_SHARE", 0.0)
    FRAME.to_parquet(tmp_path / "a.parquet")
    return open_table(tmp_path / "a.parquet", "y", **ROLES)


@pytest.fixture
def fresh():
    return open_table(FRAME.iloc[ROWS], "y", **ROLES)


def test_a_view_describes_its_rows(table, fresh):
    view = select_rows(table, ROWS)

    def described(schema):
        return [(c.name, c.n_missing, c.constant, c.exclusion_reason) for c in schema.columns]

    assert described(view.schema) == described(fresh.schema)
    assert [c.constant for c in view.schema.columns] == [False, False, True, True, False, True]
    assert view.schema.columns[3].exclusion_reason == "no value is present"
    # Kinds and levels are those of the whole table.
    assert [c.levels for c in view.schema.columns] == [c.levels for c in table.schema.columns]
    assert view.schema.target == table.schema.target
    assert view.schema.n_rows == len(ROWS)
    assert view.schema.n_effective == pytest.approx(fresh.schema.n_effective)
    assert view.row_numbers.tolist() == ROWS.tolist()
    assert view.groups.tolist() == table.groups[ROWS].tolist()
    assert view.time.tolist() == table.time[ROWS].tolist()
    assert target_array(view).tolist() == target_array(table)[ROWS].tolist()
    np.testing.assert_allclose(weight_array(view), weight_array(fresh), rtol=1e-12)


def test_a_view_gives_the_rows_of_the_frame(table):
    view = select_rows(table, ROWS)
    frame = view.frame([0, 4], np.array([3, 5]))
    expected = FRAME.iloc[ROWS[[3, 5]]]
    assert np.asarray(frame["n0"]).tolist() == expected["n0"].tolist()
    assert len(view.frame([1])) == len(ROWS)


@pytest.mark.parametrize("rows", [ROWS, np.arange(20, 90)], ids=["apart", "in a row"])
def test_a_view_of_a_view_is_the_view_of_those_rows(table, rows):
    once = select_rows(table, rows[5:50:3])
    twice = select_rows(select_rows(table, rows), np.arange(5, 50, 3))
    assert once.fingerprint() == twice.fingerprint()
    assert once.fingerprint() != select_rows(table, rows[5:47:3]).fingerprint()
    assert twice.row_numbers.tolist() == rows[5:50:3].tolist()


@pytest.mark.filterwarnings("ignore:.*Criteria that fit a model", "ignore:.*IndependenceTest")
@pytest.mark.parametrize("name", RELEVANCES)
def test_every_relevance_scores_a_view_as_the_table_of_those_rows(table, fresh, name):
    relevance = next(e for e in criteria.registry.of_kind("relevance") if e.name == name).load()()
    with pytest.warns(TamizWarning, match="late"):
        ours, expected = (RankSelector(relevance).fit(given) for given in (select_rows(table, ROWS), fresh))
    np.testing.assert_allclose(ours.scores_, expected.scores_, rtol=1e-12, atol=1e-12)
    assert ours.ranking_.tolist() == expected.ranking_.tolist()


@pytest.mark.parametrize("missing", ["distribute", "category"])
def test_a_set_is_chosen_in_a_view_as_in_the_table_of_those_rows(table, fresh, missing):
    with pytest.warns(TamizWarning, match="late"):
        ours, expected = (
            SubsetSelector(CFS(missing=missing), BestFirst()).fit(given) for given in (select_rows(table, ROWS), fresh)
        )
    assert ours.support_.tolist() == expected.support_.tolist()
    assert ours.merit_ == pytest.approx(expected.merit_, rel=1e-12)


@pytest.mark.filterwarnings("ignore:.*Criteria that fit a model", "ignore:.*IndependenceTest")
def test_a_class_that_no_row_of_a_view_is_of_changes_no_score():
    rows = np.flatnonzero(FRAME["y"].to_numpy() != "q")
    view = select_rows(open_table(FRAME, "y", **ROLES), rows)
    fresh = open_table(FRAME.iloc[rows], "y", **ROLES)
    for name in RELEVANCES:
        relevance = next(e for e in criteria.registry.of_kind("relevance") if e.name == name).load()()
        np.testing.assert_allclose(
            RankSelector(relevance).fit(view).scores_,
            RankSelector(relevance).fit(fresh).scores_,
            rtol=1e-12,
            atol=1e-12,
        )


def test_the_rows_of_a_matrix_stay_a_matrix():
    table = np.random.default_rng(0).normal(size=(30, 4))
    opened = open_table(table)
    (block,) = select_rows(opened, np.arange(5, 25)).blocks()
    assert np.shares_memory(block.numeric_matrix, table)
    (block,) = select_rows(opened, np.arange(0, 30, 2)).blocks()
    assert np.array_equal(block.numeric_matrix, table[::2])
    assert all(np.shares_memory(block.values[j], block.numeric_matrix) for j in range(4))
    (block,) = select_rows(opened, np.arange(0, 30, 2)).blocks([1, 3])
    assert np.array_equal(block.numeric, table[::2][:, [1, 3]])


def test_a_view_with_other_values_of_the_target(table):
    y = np.roll(target_array(table), 1)
    view = with_target(table, y)
    assert target_array(view).tolist() == y.tolist()
    assert target_array(select_rows(view, ROWS)).tolist() == y[ROWS].tolist()
    assert view.schema == table.schema
    assert view.fingerprint() != table.fingerprint()
    assert view.fingerprint() == with_target(table, y.copy()).fingerprint()


def test_a_view_of_some_columns(table):
    view = select_columns(table, [4, 0])
    assert view.schema.used.tolist() == [0, 4]
    assert [c.exclusion_reason for c in view.schema.columns[1:4]] == ["it is not selected"] * 3
    (block,) = view.blocks()
    assert sorted(block.values) == [0, 4]
    assert view.schema.n_columns == table.schema.n_columns


def test_a_kept_column_is_read_between_its_first_and_last_row():
    asked = []

    class Watched:
        dtype = np.dtype(float)

        def __getitem__(self, rows):
            asked.append((rows.start, rows.stop))
            return np.arange(100.0)[rows]

    column = RowSubsetColumn(Watched(), np.array([7, 9, 12, 40]))
    assert np.asarray(column[:3]).tolist() == [7, 9, 12]
    assert asked == [(7, 13)]
    assert np.asarray(column[2:2]).tolist() == []
    assert (column + 1).tolist() == [8, 10, 13, 41]


@pytest.mark.parametrize(
    ("y", "rows", "message"),
    [
        (["a", "b", "b", "b"], [1, 2, 3], r"^The target 'target' is of class 'b' in all 3 training rows\.$"),
        ([1.5, 2.0, 2.0, 2.5], [1, 2], r"^The target 'target' is 2 in all 2 training rows\.$"),
        (["a", "b", "b", "b"], [1], r"^The table has 1 sample"),
    ],
)
def test_rows_of_which_nothing_can_be_learned_are_refused(y, rows, message):
    view = select_rows(open_table(np.eye(4), y), np.array(rows))
    with pytest.raises(ValueError, match=message):
        as_training_table(view)


def test_rows_without_weight_are_nothing_to_learn_from():
    view = select_rows(open_table(np.eye(4), ["a", "b", "a", "b"], weight=[0, 0, 3, 1]), np.array([0, 1]))
    with pytest.raises(ValueError, match=r"^Every weight is zero; at least one must be positive\.$"):
        as_training_table(view)


def test_some_rows_have_their_own_effective_size():
    table = open_table(np.eye(4), ["a", "b", "a", "b"], weight=[9, 0.1, 0.2, 0.3])
    view = select_rows(table, np.array([1, 2, 3]))
    fresh = open_table(np.eye(4)[1:], ["b", "a", "b"], weight=[0.1, 0.2, 0.3])
    np.testing.assert_allclose(weight_array(view), weight_array(fresh), rtol=1e-12)
    assert view.schema.n_effective == pytest.approx(fresh.schema.n_effective)
    assert as_training_table(view) is view


def test_rows_that_are_asked_for_twice_come_twice():
    X = np.arange(8.0).reshape(4, 2)
    (block,) = select_rows(as_table(X), np.array([0, 0, 2])).blocks()
    np.testing.assert_array_equal(block.numeric, X[[0, 0, 2]])


@pytest.mark.parametrize("kind", ["pandas", "csv", "parquet"])
def test_as_many_rows_as_there_are_in_another_order_are_not_all_rows(tmp_path, kind):
    frame, rows = pd.DataFrame({"a": [1.0, 2.0, 3.0]}), np.array([2, 0, 0])
    if kind != "pandas":
        getattr(frame, f"to_{kind}")(tmp_path / f"table.{kind}", index=False)
    table = open_table(frame if kind == "pandas" else tmp_path / f"table.{kind}", kinds="numeric")
    given = table.frame([0], rows)
    assert (given["a"].tolist() if kind == "pandas" else [float(a) for a in given["a"].to_pylist()]) == [3.0, 1.0, 1.0]


def test_repeated_rows_are_distinguished_from_a_range_of_rows():
    frame = pd.DataFrame({"number": np.arange(5.0), "level": [*"abcab"]})
    view = select_rows(open_table(frame), np.array([0, 0, 2, 4, 4]))
    assert view.frame()["number"].tolist() == [0, 0, 2, 4, 4]
    (block,) = view.blocks()
    assert block.column(0).tolist() == [0, 0, 2, 4, 4]
    assert block.column(1).tolist() == [0, 0, 2, 1, 1]


def test_rare_levels_are_merged_by_weight_and_missing_values_are_kept():
    levels = ["a", "b", "c", "d", None, "other levels"]
    frame = pd.DataFrame({"x": np.arange(6.0), "k": pd.Categorical(levels)})
    weight = np.array([1.0, 5.0, 1.0, 3.0, 9.0, 4.0])
    table = merge_rare_levels(open_table(frame, weight=weight), 4)
    column = table.schema.columns[1]
    assert column.levels == ("b", "d", "other levels", "other levels'")
    codes = np.concatenate([block.column(1) for block in table.blocks()])
    assert codes.tolist() == [3, 0, 3, 1, -1, 2]
    assert merge_rare_levels(table, 4) is table
