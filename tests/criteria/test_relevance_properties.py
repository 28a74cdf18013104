"""Properties of every relevance: weights as repetitions, invariance to order and names, finite scores."""

import numpy as np
import pandas as pd
import pytest

from tamiz import RankSelector
from tamiz.criteria import (
    Completeness,
    EqualFrequency,
    EqualWidth,
    GainRatio,
    IndependenceTest,
    InformationGain,
    SymmetricUncertainty,
    registry,
)
from tamiz.criteria.base import gather_statistics
from tamiz.runtime import parallel

from ..statistics.mixed_tables import make_mixed

# The Laplacian score, MCFS, SPEC, mutual information and the Relief algorithms compare rows with rows: their laws are in
# test_laplacian.py, test_spectral_selection.py, test_mutual_information.py and test_relief.py, and those of models of all rows in
# test_model_laws.py. Of models fitted to rows by folds, most of these laws are not true: rows in another order are in other folds.
BY_ROWS = [
    "laplacian_score",
    "mcfs",
    "spec",
    "mutual_information",
    "relieff",
    "multisurf",
    "permutation_importance",
    "tree_importance",
    "linear_coefficient",
]
EVERY = [entry.load()() for entry in registry.of_kind("relevance") if entry.name not in BY_ROWS]
RELEVANCES = EVERY + [
    relevance(missing=missing, discretization=rule)
    for relevance in (InformationGain, GainRatio, SymmetricUncertainty)
    for missing, rule in (("category", None), ("distribute", EqualFrequency(4)), ("category", EqualWidth(5)))
]
RELEVANCES += [IndependenceTest(test="welch", missing="category"), IndependenceTest(test="rank")]
SEEDS = range(6)


@pytest.fixture(autouse=True)
def one_session():
    """Hundreds of small fits: opening threads for each would take longer than they do."""
    with parallel.thread_session(1):
        yield


# Small tables have rare levels, and fractional weights have no p-values.
pytestmark = [
    pytest.mark.parametrize("relevance", RELEVANCES, ids=repr),
    pytest.mark.filterwarnings("ignore:.*IndependenceTest"),
]


def scores_of(relevance, table):
    return relevance.scores(gather_statistics([relevance], table.reduce, table.schema), table.schema)


def assert_alike(ours, theirs, seed):
    np.testing.assert_allclose(ours, theirs, rtol=1e-11, atol=1e-12, err_msg=f"seed {seed}")


def test_integer_weights_are_repeated_rows(relevance):
    for seed in SEEDS:
        table = make_mixed(seed)
        weighted = scores_of(relevance, table.table(weighted=True))
        assert_alike(weighted, scores_of(relevance, table.repeated().table()), seed)


def test_weights_of_one_change_no_bit_but_the_last(relevance):
    for seed in SEEDS:
        table = make_mixed(seed)
        table = table._replace(weight=np.ones(len(table.classes), dtype=int))
        assert_alike(scores_of(relevance, table.table(weighted=True)), scores_of(relevance, table.table()), seed)


def test_the_order_of_rows_does_not_matter(relevance):
    for seed in SEEDS:
        table = make_mixed(seed)
        order = np.random.default_rng(seed).permutation(len(table.classes))
        assert_alike(scores_of(relevance, table.rows(order).table()), scores_of(relevance, table.table()), seed)


def test_the_names_of_levels_do_not_matter(relevance):
    for seed in SEEDS:
        table = make_mixed(seed)
        rng = np.random.default_rng(seed)
        # Other codes are other names: a permutation of them, and new ones in the same order.
        permuted = np.where(table.codes < 0, -1, rng.permutation(20)[table.codes])
        shifted = np.where(table.codes < 0, -1, 2 * table.codes + 3)
        expected = scores_of(relevance, table.table())
        for codes in (permuted, shifted):
            assert_alike(scores_of(relevance, table._replace(codes=codes).table()), expected, seed)


def test_the_names_of_classes_do_not_matter(relevance):
    if not relevance.needs_target:
        pytest.skip("it reads no target")
    for seed in SEEDS:
        table = make_mixed(seed)
        renamed = np.random.default_rng(seed).permutation([*"abcdef"])[table.classes]
        ours = scores_of(relevance, table.table(target=renamed))
        assert_alike(ours, scores_of(relevance, table.table()), seed)


def test_the_order_of_columns_only_moves_the_scores(relevance):
    for seed in SEEDS:
        table = make_mixed(seed)
        frame, y = table.frame(), table.target()
        ours = RankSelector(relevance).fit(frame[frame.columns[::-1]], y).scores_
        np.testing.assert_array_equal(ours[::-1], RankSelector(relevance).fit(frame, y).scores_)


def test_a_constant_column_scores_0(relevance):
    for seed in SEEDS:
        table = make_mixed(seed)
        frame = table.frame().assign(number=4.2, level="same", flag=True)
        weight = np.random.default_rng(seed).random(len(frame)) + 0.1
        for sample_weight in (None, weight):
            scores = RankSelector(relevance).fit(frame, table.target(), sample_weight=sample_weight).scores_
            assert scores[-3:].tolist() == [0, 0, 0]


def test_a_column_of_one_value_and_missing_ones_scores_0_unless_missing_is_a_value(relevance):
    if getattr(relevance, "missing", "distribute") == "category":
        pytest.skip("missing is a value of its own here")
    if isinstance(relevance, Completeness):
        pytest.skip("it scores the share of missing values itself")
    for seed in SEEDS:
        table = make_mixed(seed)
        n = len(table.classes)
        missing = np.random.default_rng(seed).random(n) < 0.4
        missing[0] = False
        frame = table.frame().assign(number=np.where(missing, np.nan, 0.1), level=np.where(missing, None, "same"))
        weight = np.random.default_rng(seed).random(n) + 0.1
        for sample_weight in (None, weight):
            scores = RankSelector(relevance).fit(frame, table.target(), sample_weight=sample_weight).scores_
            assert scores[-2:].tolist() == [0, 0]


def test_equal_columns_score_equally(relevance):
    for seed in SEEDS:
        table = make_mixed(seed)
        frame = table.frame()
        twice = pd.concat([frame, frame.add_suffix(" again")], axis=1)
        scores = RankSelector(relevance).fit(twice, table.target()).scores_
        np.testing.assert_array_equal(scores[: len(frame.columns)], scores[len(frame.columns) :])


DEGENERATE = {
    "a column of missing values only": (pd.DataFrame({"x": [np.nan] * 6, "y": [1.0, 2, 3, 4, 5, 6]}), [*"aabbab"]),
    "columns of missing values only": (pd.DataFrame({"x": [np.nan] * 4, "y": [None] * 4}), [*"abab"]),
    "one class but for one row": (pd.DataFrame({"x": np.arange(50) % 7, "y": [*"pq"] * 25}), ["a"] * 49 + ["b"]),
    "a class for every row": (pd.DataFrame({"x": [1.0, 2, 3, 4], "y": [*"ppqq"]}), [*"abcd"]),
    "two rows": (pd.DataFrame({"x": [1.0, 2.0], "y": [*"pq"]}), [*"ab"]),
    "two equal rows": (pd.DataFrame({"x": [1.0, 1.0], "y": [*"pp"]}), [*"ab"]),
    "one value present": (pd.DataFrame({"x": [np.nan, 1.0, np.nan], "y": [None, "p", None]}), [*"aba"]),
    "tiny numbers": (pd.DataFrame({"x": [1e-300, 2e-300, 3e-300, 5e-300]}), [*"aabb"]),
    "huge numbers": (pd.DataFrame({"x": [1e149, -1e149, 2e149, 5e149]}), [*"aabb"]),
}


@pytest.mark.filterwarnings("ignore:.*the values differ by less than 1e-150")
@pytest.mark.filterwarnings("ignore:.* excluded: ")
@pytest.mark.parametrize("name", DEGENERATE)
def test_scores_of_degenerate_tables_are_finite(relevance, name):
    frame, y = DEGENERATE[name]
    for sample_weight in (None, np.linspace(0, 2, len(y))):
        scores = RankSelector(relevance).fit(frame, y, sample_weight=sample_weight).scores_
        assert scores.shape == (frame.shape[1],)
        assert np.isfinite(scores).all()
        assert (scores >= 0).all()


def test_pieces_of_rows_give_the_scores_of_one_piece(relevance, monkeypatch):
    tables = [make_mixed(seed, n=90) for seed in range(5)]
    whole = [scores_of(relevance, table.table(weighted=True)) for table in tables]
    monkeypatch.setattr("tamiz.table.base.PIECE_ROWS", 7)
    for seed, (table, expected) in enumerate(zip(tables, whole, strict=True)):
        assert_alike(scores_of(relevance, table.table(weighted=True)), expected, seed)


def test_scores_do_not_depend_on_what_other_criteria_asked_for(relevance):
    table = make_mixed(3)
    opened = table.table()
    known = gather_statistics([*EVERY, relevance], opened.reduce, opened.schema)
    np.testing.assert_array_equal(relevance.scores(known, opened.schema), scores_of(relevance, opened))


def test_scoring_leaves_the_statistics_as_they_were(relevance):
    table = make_mixed(4).table()
    known = gather_statistics([relevance], table.reduce, table.schema)
    first = relevance.scores(known, table.schema)
    np.testing.assert_array_equal(relevance.scores(known, table.schema), first)
