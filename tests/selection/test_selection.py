"""The two selectors: equal results for every kind of table, and scikit-learn's conventions."""

import pickle
import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from tamiz import RankSelector, SubsetSelector, open_table
from tamiz.criteria import (
    CFS,
    JMI,
    MIM,
    MRMR,
    CrossValidated,
    Entropy,
    EqualFrequency,
    FisherScore,
    GainRatio,
    InformationGain,
    SymmetricUncertainty,
    Variance,
)
from tamiz.exceptions import DataError, TamizWarning
from tamiz.runtime.user_warnings import capture_warnings
from tamiz.search import Backward, Beam, BestFirst, Bidirectional, Evaluations, Forward, MinGain
from tamiz.selection import subset_selector

from ..reference.mdl import mdl_cuts
from ..statistics.mixed_tables import make_mixed

RELEVANCES = [InformationGain(), GainRatio(), SymmetricUncertainty(), FisherScore(), Entropy(), Variance()]
MIXED = make_mixed(11, n=80)
FRAME, Y = MIXED.frame(), MIXED.target()


def as_text(frame):
    """Categories as plain text, which every library has."""
    return frame.astype({name: object for name in frame.columns if name.startswith("level")}).where(frame.notna(), None)


def polars_frame():
    return pl.DataFrame({name: as_text(FRAME)[name].tolist() for name in FRAME}).with_columns(
        pl.col("^number.*$").cast(pl.Float64)
    )


TABLES = {
    "pandas": lambda: FRAME,
    "pandas, text": lambda: as_text(FRAME),
    "polars": polars_frame,
    "polars, categories": lambda: polars_frame().with_columns(pl.col("^level.*$").cast(pl.Categorical)),
    "arrow": lambda: pa.Table.from_pandas(FRAME),
    "array of objects": lambda: as_text(FRAME).to_numpy(dtype=object),
}


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("relevance", RELEVANCES, ids=repr)
def test_every_kind_of_table_scores_the_same_to_the_bit(relevance, table):
    expected = RankSelector(relevance).fit(FRAME, Y).scores_
    X = TABLES[table]()
    if table == "array of objects":
        # An object array says nothing of its columns' kinds.
        X = open_table(X, Y, kinds={f"x{j}": "numeric" for j in range(3)})
        np.testing.assert_array_equal(RankSelector(relevance).fit(X).scores_, expected)
    else:
        np.testing.assert_array_equal(RankSelector(relevance).fit(X, Y).scores_, expected)


@pytest.mark.parametrize("relevance", RELEVANCES, ids=repr)
def test_an_array_and_a_table_score_as_the_frame_does(relevance):
    X, y = load_iris(return_X_y=True)
    expected = RankSelector(relevance).fit(pd.DataFrame(X), y).scores_
    for order in ("C", "F"):
        np.testing.assert_array_equal(RankSelector(relevance).fit(np.asarray(X, order=order), y).scores_, expected)
    np.testing.assert_array_equal(RankSelector(relevance).fit(open_table(X, y)).scores_, expected)
    np.testing.assert_array_equal(RankSelector(relevance).fit(X.tolist(), y.tolist()).scores_, expected)


@pytest.mark.parametrize("table", ["pandas", "polars", "arrow"])
def test_every_kind_of_table_gives_the_same_search_to_the_bit(table):
    expected = SubsetSelector(CFS(), BestFirst()).fit(FRAME, Y)
    ours = SubsetSelector(CFS(), BestFirst()).fit(TABLES[table](), Y)
    np.testing.assert_array_equal(ours.archive_.merits, expected.archive_.merits)
    np.testing.assert_array_equal(ours.archive_.masks, expected.archive_.masks)
    np.testing.assert_array_equal(ours.support_, expected.support_)


@pytest.mark.parametrize("target", ["classes", "number"])
@pytest.mark.parametrize("convention", ["hall", "weka"])
def test_one_thread_and_two_give_the_same_bits(convention, target, monkeypatch):
    # Small blocks, so that there are several for the threads.
    monkeypatch.setattr("tamiz.table.base.PIECE_ROWS", 64)
    monkeypatch.setattr("tamiz.criteria.information._BLOCK_PAIR_ROWS", 256)
    X, y = load_breast_cancer(return_X_y=True)
    y = y if target == "classes" else X[:, 3] + 0.5 * X[:, 0]
    one, two = (
        SubsetSelector(CFS(convention=convention), BestFirst(), n_jobs=n).fit(
            X, y, sample_weight=np.linspace(0.1, 1, len(y))
        )
        for n in (1, 2)
    )
    np.testing.assert_array_equal(one.archive_.merits, two.archive_.merits)
    np.testing.assert_array_equal(one.archive_.masks, two.archive_.masks)
    assert one.merit_ == two.merit_


@pytest.mark.parametrize("relevance", RELEVANCES, ids=repr)
def test_a_ranking_is_the_same_on_one_core_and_on_two(relevance, monkeypatch):
    monkeypatch.setattr("tamiz.table.base.PIECE_ROWS", 64)
    X, y = load_breast_cancer(return_X_y=True)
    scores = []
    for cores in ("1", "2"):
        monkeypatch.setenv("OMP_NUM_THREADS", cores)
        scores.append(RankSelector(relevance).fit(X, y).scores_)
    np.testing.assert_array_equal(*scores)


def test_a_frame_stays_a_frame_of_its_library_with_its_dtypes():
    frame = FRAME.assign(whole=np.arange(80, dtype=np.int16) % 5, flag=np.arange(80) % 2 == 0)
    selector = RankSelector(InformationGain(), n_features=6).fit(frame, Y)
    kept = selector.transform(frame)
    assert isinstance(kept, pd.DataFrame)
    pd.testing.assert_frame_equal(kept, frame[list(selector.get_feature_names_out())])
    table = polars_frame().with_columns(pl.col("^level.*$").cast(pl.Categorical))
    selector.fit(table, Y)
    kept = selector.transform(table)
    assert isinstance(kept, pl.DataFrame)
    assert kept.equals(table[list(selector.get_feature_names_out())])
    assert kept.schema == {name: table.schema[name] for name in kept.columns}
    arrow = pa.Table.from_pandas(FRAME)
    kept = RankSelector(InformationGain(), n_features=2).fit(arrow, Y).transform(arrow)
    assert isinstance(kept, pa.Table)
    assert kept.num_columns == 2


def test_a_table_gives_the_users_columns_back():
    table = open_table(FRAME.assign(cls=Y), "cls")
    selector = SubsetSelector(CFS(), BestFirst()).fit(table)
    pd.testing.assert_frame_equal(selector.transform(table), FRAME[list(selector.get_feature_names_out())])


def test_an_array_stays_an_array_of_its_dtype():
    X, y = load_iris(return_X_y=True)
    kept = RankSelector(InformationGain(), n_features=2).fit(X.astype(np.float32), y).transform(X.astype(np.float32))
    assert kept.dtype == np.float32
    np.testing.assert_array_equal(kept, X[:, [2, 3]].astype(np.float32))


def test_set_output_gives_a_frame_for_an_array():
    X, y = load_iris(return_X_y=True)
    for container, cls in (("pandas", pd.DataFrame), ("polars", pl.DataFrame)):
        selector = RankSelector(InformationGain(), n_features=2).set_output(transform=container).fit(X, y)
        kept = selector.transform(X)
        assert isinstance(kept, cls)
        assert list(kept.columns) == ["x2", "x3"]


def test_names_of_the_chosen_columns():
    selector = SubsetSelector(CFS(), BestFirst()).fit(load_iris(as_frame=True).data, load_iris().target)
    assert selector.get_feature_names_out().tolist() == ["petal length (cm)", "petal width (cm)"]
    assert selector.get_support(indices=True).tolist() == [2, 3]
    assert selector.n_features_in_ == 4


def test_other_columns_than_those_of_fit_are_refused():
    selector = RankSelector(InformationGain(), n_features=2).fit(FRAME, Y)
    with pytest.raises(ValueError, match="feature names"):
        selector.transform(FRAME.rename(columns={"number 0": "other"}))


def test_a_pipeline_selects_in_every_fold():
    X, y = load_breast_cancer(return_X_y=True)
    model = make_pipeline(SubsetSelector(CFS(), Forward()), StandardScaler(), LogisticRegression())
    scores = cross_val_score(model, X, y, cv=3)
    assert scores.min() > 0.9


def test_a_grid_search_reaches_the_parts_by_name():
    X, y = load_breast_cancer(return_X_y=True)
    model = make_pipeline(SubsetSelector(CFS(), Forward()), StandardScaler(), LogisticRegression())
    grid = {"subsetselector__merit__convention": ["hall", "weka"], "subsetselector__n_features": [None, 3]}
    search = GridSearchCV(model, grid, cv=2).fit(X, y)
    assert len(search.cv_results_["params"]) == 4
    assert search.best_score_ > 0.9


def test_fit_changes_neither_parameters_nor_parts():
    merit, search, stop = CFS(), BestFirst(start=["number 0"]), Evaluations(30)
    selector = SubsetSelector(merit, search, stop=stop, random_state=3)
    before = [repr(part) for part in (selector, merit, search, stop)]
    selector.fit(FRAME, Y)
    assert [repr(part) for part in (selector, merit, search, stop)] == before
    assert selector.merit is merit
    assert selector.search is search
    ranker = RankSelector(SymmetricUncertainty())
    before = repr(ranker), dict(vars(ranker.relevance))
    ranker.fit(FRAME, Y)
    assert (repr(ranker), vars(ranker.relevance)) == before


def test_fit_does_not_touch_the_table():
    frame, y = FRAME.copy(), Y.copy()
    RankSelector(InformationGain()).fit(frame, y, sample_weight=MIXED.weight)
    SubsetSelector(CFS(), BestFirst()).fit(frame, y)
    pd.testing.assert_frame_equal(frame, FRAME)
    np.testing.assert_array_equal(y, Y)


def test_a_clone_has_parts_of_its_own_and_leaves_the_first_alone():
    selector = SubsetSelector(CFS(), BestFirst(patience=3)).fit(FRAME, Y)
    copy = clone(selector)
    assert copy.search is not selector.search
    assert not hasattr(copy, "support_")
    copy.set_params(search__patience=1, merit__convention="weka")
    assert selector.search.patience == 3
    assert selector.merit.convention == "hall"


def test_a_fitted_selector_comes_back_from_pickle():
    for selector in (RankSelector(InformationGain(), n_features=2), SubsetSelector(CFS(), BestFirst())):
        selector.fit(FRAME, Y)
        again = pickle.loads(pickle.dumps(selector))
        pd.testing.assert_frame_equal(again.transform(FRAME), selector.transform(FRAME))
        assert again.schema_ == selector.schema_
    np.testing.assert_array_equal(again.archive_.masks, selector.archive_.masks)
    assert again.archive_.best == selector.archive_.best


def test_the_ranking_is_by_score_then_column_with_constants_and_left_out_columns_last():
    y = np.repeat([0, 1], 10)
    frame = pd.DataFrame(
        {
            "constant": [3.0] * 20,
            "noise": np.tile(["a", "b"], 10),
            "name": [f"n{k}" for k in range(20)],
            "good": y.astype(str),
            "noise again": np.tile(["a", "b"], 10),
            "good again": y.astype(str),
            "empty": [np.nan] * 20,
        }
    )
    with pytest.warns(TamizWarning, match="2 of 7 columns are excluded: name .*, empty"):
        selector = RankSelector(InformationGain()).fit(frame, y)
    assert [frame.columns[j] for j in selector.ranking_] == [
        "good", "good again", "noise", "noise again", "constant", "name", "empty",
    ]  # fmt: skip
    assert selector.scores_.tolist() == [0, 0, 0, 1, 0, 1, 0]
    assert [frame.columns[j] for j in selector.get_support(indices=True)] == [
        c for c in frame.columns if c not in ("name", "empty")
    ]
    with (
        pytest.warns(TamizWarning),
        pytest.raises(ValueError, match="n_features=6 exceeds the 5 used columns"),
    ):
        RankSelector(InformationGain(), n_features=6).fit(frame, y)


def test_n_features_and_threshold_keep_what_passes_both():
    X, y = load_iris(return_X_y=True)
    scores = RankSelector(InformationGain()).fit(X, y).scores_
    assert RankSelector(InformationGain(), n_features=3).fit(X, y).get_support(indices=True).tolist() == [0, 2, 3]
    kept = RankSelector(InformationGain(), threshold=scores[0]).fit(X, y)
    assert kept.get_support(indices=True).tolist() == [0, 2, 3]
    kept = RankSelector(InformationGain(), threshold=scores[0], n_features=1).fit(X, y)
    assert kept.get_support(indices=True).tolist() == [2]


@pytest.mark.parametrize("library", ["numpy", "pandas", "polars", "table"])
def test_a_threshold_that_no_column_reaches_is_warned_of(library):
    X, y = load_iris(return_X_y=True)
    names = [f"x{j}" for j in range(4)]
    frames = {"pandas": pd.DataFrame(X, columns=names), "polars": pl.DataFrame(X, schema=names)}
    selector = RankSelector(Variance(), threshold=3.2)
    # The largest variance is that of the third column.
    best = f"{np.var(X[:, 2], ddof=1):.6g}"
    with pytest.warns(TamizWarning, match=rf"No column scores at least threshold=3\.2: the highest score is {best}\."):
        selector.fit(frames.get(library, X))
    with pytest.warns(UserWarning, match="No features were selected"):
        chosen = selector.transform({"numpy": X, "table": open_table(X, y), **frames}[library])
    assert chosen.shape[1] == 0


@pytest.mark.parametrize(
    ("parameters", "error", "message"),
    [
        ({"n_features": 5}, ValueError, "n_features=5 exceeds the 4 columns of the table; ask for at most 4"),
        ({"n_features": 0}, ValueError, "n_features must be at least 1, got 0"),
        (
            {"n_features": 1.5},
            ValueError,
            "n_features must be a whole number, or a share above 0 and at most 1, got 1.5",
        ),
        ({"threshold": "high"}, TypeError, "threshold must be a number, got 'high'"),
        ({"threshold": float("nan")}, ValueError, "threshold must be a number, got nan"),
    ],
)
def test_an_invalid_number_of_features_is_refused(parameters, error, message):
    with pytest.raises(error, match=message):
        RankSelector(InformationGain(), **parameters).fit(*load_iris(return_X_y=True))


@pytest.mark.parametrize("search", [Forward(), Backward(), BestFirst()], ids=repr)
def test_a_subset_has_the_size_asked_for(search):
    X, y = load_breast_cancer(return_X_y=True)
    for n_features, allowed in ((5, {5}), ((2, 4), {2, 3, 4})):
        selector = SubsetSelector(CFS(), search, n_features=n_features).fit(X[:, :12], y)
        assert selector.support_.sum() in allowed
        sized = np.isin(selector.archive_.sizes, list(allowed))
        assert selector.merit_ == selector.archive_.merits[sized].max()


def test_a_search_stopped_before_the_size_is_refused_with_the_way_out():
    X, y = load_iris(return_X_y=True)
    with pytest.raises(ValueError, match=r"No set of an allowed size was evaluated before the search stopped \(2 eval"):
        SubsetSelector(CFS(), Forward(), n_features=3, stop=Evaluations(2)).fit(X, y)


def test_an_empty_subset_is_reported():
    y = np.repeat([0, 1], 8)
    X = pd.DataFrame({"a": np.tile([*"pq"], 8), "b": np.tile([*"ppqq"], 4)})
    with pytest.warns(TamizWarning, match="CFS finds no column worth keeping: the best set is the empty one"):
        selector = SubsetSelector(CFS(), BestFirst()).fit(X, y)
    assert selector.merit_ == 0
    assert selector.archive_.mask(selector.archive_.best).sum() == 0


def test_rows_without_a_target_are_dropped_and_reported():
    y = Y.astype(object)
    y[[3, 5]] = None
    kept = np.delete(np.arange(80), [3, 5])
    for selector in (RankSelector(InformationGain()), SubsetSelector(CFS(), BestFirst())):
        with pytest.warns(TamizWarning, match="2 rows without a target were left out"):
            selector.fit(FRAME, y)
    expected = RankSelector(InformationGain()).fit(FRAME.iloc[kept].reset_index(drop=True), Y[kept])
    with pytest.warns(TamizWarning):
        ours = RankSelector(InformationGain()).fit(FRAME, y)
    np.testing.assert_array_equal(ours.scores_, expected.scores_)


def test_integer_weights_count_as_repeated_rows():
    repeated = MIXED.repeated()
    ours = SubsetSelector(CFS(), BestFirst()).fit(FRAME, Y, sample_weight=MIXED.weight)
    theirs = SubsetSelector(CFS(), BestFirst()).fit(repeated.frame(), repeated.target())
    assert ours.merit_ == pytest.approx(theirs.merit_, abs=1e-12)
    np.testing.assert_array_equal(ours.support_, theirs.support_)


@pytest.mark.parametrize("selector", [RankSelector(FisherScore()), SubsetSelector(CFS(), BestFirst())])
def test_only_proportions_matter_of_weights_that_sum_to_1(selector):
    weight = np.random.default_rng(5).uniform(0.5, 2, len(Y))
    one, mean = (clone(selector).fit(FRAME, Y, sample_weight=weight / by) for by in (weight.sum(), weight.mean()))
    np.testing.assert_array_equal(one.get_support(), mean.get_support())
    found = [s.scores_ if isinstance(s, RankSelector) else s.archive_.merits for s in (one, mean)]
    np.testing.assert_allclose(found[0], found[1], rtol=1e-9)


@pytest.mark.parametrize(
    ("weight", "message"),
    [
        ([-1.0] + [1.0] * 79, "the weight -1.0 is not a number of at least 0"),
        ([0.0] * 80, "Every weight is zero"),
        ([1.0] * 79, "The weight has 79 values and the table 80 rows"),
    ],
)
def test_invalid_weights_are_refused(weight, message):
    with pytest.raises(ValueError, match=message):
        RankSelector(Variance()).fit(FRAME, sample_weight=weight)


def test_a_table_does_not_take_a_target_or_weights_twice():
    with pytest.raises(TypeError, match="A Table has its own target and weights: pass them to open_table"):
        RankSelector(InformationGain()).fit(open_table(FRAME, Y), Y)


def test_a_relevance_of_a_numeric_target_needs_the_rule_named():
    y = np.random.default_rng(0).normal(size=80) + MIXED.classes
    with pytest.raises(ValueError, match="cuts numeric columns by MDL"):
        RankSelector(InformationGain()).fit(FRAME, y)
    assert RankSelector(InformationGain(discretization=EqualFrequency(5))).fit(FRAME, y).scores_.max() > 0


def test_control_c_leaves_the_best_set_found_and_goes_on_to_the_caller(monkeypatch):
    from tamiz.criteria import cfs

    whole = SubsetSelector(CFS(), BestFirst()).fit(FRAME, Y)
    evaluate, calls = cfs._CFSEvaluator.evaluate, []

    def interrupted(self, candidates):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return evaluate(self, candidates)

    monkeypatch.setattr(cfs._CFSEvaluator, "evaluate", interrupted)
    selector = SubsetSelector(CFS(), BestFirst())
    with pytest.raises(KeyboardInterrupt):
        selector.fit(FRAME, Y)
    assert selector.n_evaluations_ == 7
    assert selector.archive_.interrupted
    np.testing.assert_array_equal(selector.archive_.merits, whole.archive_.merits[:7])
    assert selector.support_.sum() == 1


def test_control_c_before_any_set_has_a_score_is_not_reported_as_an_error_of_the_data(monkeypatch):
    from tamiz.criteria import cfs

    calls = []

    def interrupted(self, candidates):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return np.full(len(candidates), -np.inf)

    monkeypatch.setattr(cfs._CFSEvaluator, "evaluate", interrupted)
    with pytest.raises(KeyboardInterrupt):
        SubsetSelector(CFS(), BestFirst()).fit(FRAME, Y)


def test_the_archive_contains_the_merit_and_the_support():
    selector = SubsetSelector(CFS(), BestFirst()).fit(FRAME, Y)
    best = selector.archive_.best
    assert selector.merit_ == selector.archive_.merits[best]
    np.testing.assert_array_equal(selector.support_, selector.archive_.masks[best])
    assert selector.n_evaluations_ == len(selector.archive_)
    assert selector.certificate_ is None


def test_frames_whose_columns_are_called_by_numbers_keep_them():
    frame = pd.DataFrame(np.column_stack([np.tile([0.0, 1.0], 10), np.repeat([0.0, 1.0], 10)]))
    selector = RankSelector(InformationGain(), n_features=1).fit(frame, np.repeat([0, 1], 10))
    assert selector.transform(frame).columns.tolist() == [1]


@pytest.mark.parametrize(
    ("selector", "sentence"),
    [
        (RankSelector(CFS()), r"RankSelector: relevance must be one such as InformationGain\(\), got CFS\(\)"),
        (
            SubsetSelector(InformationGain(), BestFirst()),
            r"SubsetSelector: merit must be one such as CFS\(\), got Info",
        ),
        (SubsetSelector(CFS(), BestFirst), r"search must be one such as BestFirst\(\), got <class"),
        (
            SubsetSelector(CFS(), BestFirst(), stop=3),
            r"stop must be a stopping rule such as Evaluations\(1000\), got 3",
        ),
        (SubsetSelector(CFS(association=3), BestFirst()), "association must be an Association such as Symm.*, got 3"),
        (
            RankSelector(InformationGain(discretization="mdl")),
            "InformationGain: discretization must be one such as MDL",
        ),
        (
            SubsetSelector(CFS(), BestFirst(), n_features="1"),
            "n_features must be a whole number, a share or a pair .*, got '1'",
        ),
        (SubsetSelector(CFS(), BestFirst(fixed=[True])), "fixed must contain column names or whole numbers, got True"),
    ],
)
def test_a_part_of_another_kind_is_refused_in_one_sentence(selector, sentence):
    with pytest.raises(TypeError, match=sentence):
        selector.fit(np.eye(4), [0, 1, 0, 1])


def test_more_fixed_columns_than_asked_for_are_refused():
    selector = SubsetSelector(CFS(), Forward(fixed=[0, 1]), n_features=1)
    with pytest.raises(ValueError, match="2 columns are fixed, but n_features=1; ask for at least 2"):
        selector.fit(np.eye(4), [0, 1, 0, 1])


def test_mdl_cuts_columns_of_very_many_classes():
    X = np.linspace(0, 1, 2800)[:, None]
    y = np.floor(700 * X[:, 0]).astype(int).astype(str)
    assert RankSelector(InformationGain()).fit(X, y).scores_[0] > 5


def test_tables_that_do_not_fit_are_refused_before_they_are_counted(monkeypatch):
    frame = pd.DataFrame({"a": pd.Categorical([*"pqrs"] * 5)})
    table = open_table(frame, np.tile(["u", "v"], 10))
    monkeypatch.setattr("tamiz.runtime.validation.free_memory", lambda: 10.0)
    # The free memory is not checked for tables as small as these.
    monkeypatch.setattr("tamiz.criteria.entropies._UNCHECKED_BYTES", 0)
    with pytest.raises(MemoryError, match=r"Counting 2 classes in each of 1 columns needs .* 10 B are free"):
        RankSelector(InformationGain()).fit(table)


@pytest.mark.parametrize("search", [BestFirst(direction="backward"), BestFirst(), Forward(), Backward()], ids=repr)
def test_columns_of_chance_are_dropped_by_every_search(search):
    X, y = np.random.default_rng(0).random((50, 12)), list("ab") * 25
    with pytest.warns(TamizWarning, match="no column worth keeping"):
        selector = SubsetSelector(CFS(), search).fit(X, y)
    assert selector.n_features_in_ == 12
    assert not selector.support_.any()


@pytest.mark.parametrize(("share", "n"), [(0.5, 15), (0.29, 8), (1.0, 30), (0.001, 1)])
def test_a_share_of_the_columns_is_a_number_of_them(share, n):
    X, y = load_breast_cancer(return_X_y=True)
    assert RankSelector(FisherScore(), n_features=share).fit(X, y).get_support().sum() == n
    assert SubsetSelector(CFS(), Forward(), n_features=share).fit(X, y).support_.sum() == n


def test_a_share_is_a_share_of_the_used_columns():
    X, y = load_iris(return_X_y=True, as_frame=True)
    noted = X.assign(note=[f"row {i} says so" for i in range(len(X))], number=np.arange(len(X)).astype(str))
    with pytest.warns(TamizWarning, match="are excluded"):
        ranked = RankSelector(FisherScore(), n_features=0.5).fit(noted, y)
    assert ranked.get_support().sum() == len(ranked.schema_.used) // 2
    excluded = SubsetSelector(CFS(), Forward(excluded=[0, 1]), n_features=0.5).fit(X, y)
    assert excluded.support_.sum() == 1


@pytest.mark.parametrize("share", [0.0, -0.5, 1.5, float("nan")])
def test_a_share_beyond_all_columns_is_refused(share):
    X, y = load_iris(return_X_y=True)
    for selector in (RankSelector(FisherScore(), n_features=share), SubsetSelector(CFS(), n_features=share)):
        with pytest.raises(ValueError, match="a share above 0 and at most 1, got"):
            selector.fit(X, y)


@pytest.mark.parametrize("search", [Forward(), Bidirectional(), Backward(), Beam(1)], ids=repr)
def test_a_range_of_sizes_is_walked_to_its_end(search):
    X, y = load_iris(return_X_y=True)
    folds = StratifiedKFold(10)
    selector = SubsetSelector(CrossValidated(KNeighborsClassifier(5), folds), search, n_features=(1, 3)).fit(X, y)
    assert set(range(1, 4)) <= set(selector.archive_.sizes.tolist())
    # The best of one column reaches .960, and no second column adds to it.
    assert selector.merit_ == pytest.approx(0.9667, abs=1e-4)


def test_a_tolerated_loss_keeps_fewer_columns():
    X, y = load_breast_cancer(return_X_y=True)
    merit = CrossValidated(GaussianNB(), cv=5)
    best = SubsetSelector(merit, Backward()).fit(X, y)
    for loss in (0.01, 0.03):
        fewer = SubsetSelector(merit, Backward(), stop=MinGain(-loss)).fit(X, y)
        assert fewer.support_.sum() < best.support_.sum()
        assert best.merit_ - loss <= fewer.merit_ == fewer.archive_.best_merit
        # No smaller evaluated set is within the tolerated loss.
        within = fewer.archive_.merits >= fewer.archive_.merits.max() - loss
        assert fewer.archive_.sizes[within].min() == fewer.support_.sum()
    assert fewer.archive_.stop_reason == "a step lost more than 0.03"
    again = pickle.loads(pickle.dumps(fewer))
    assert again.archive_.mask(again.archive_.best).tolist() == fewer.support_.tolist()


def table_with_noise(order=None, positive=0.5, n=300):
    """Return two associated columns, four of noise in which MDL finds no cut point, and a constant."""
    rng = np.random.default_rng(11)
    y = (np.arange(n) < positive * n).astype(int)
    noise = [column for column in rng.normal(size=(40, n)) if not len(mdl_cuts(column, y))][:4]
    X = np.column_stack([*noise[:2], y + rng.normal(size=n), *noise[2:], y - rng.normal(size=n), np.ones(n)])
    rows = np.arange(n) if order == "sorted" else rng.permutation(n)
    return pd.DataFrame(X[rows], columns=["n0", "n1", "a", "n2", "n3", "b", "one"]), np.array(["no", "yes"])[y[rows]]


TABLES_WITH_NOISE = [
    {},
    *(pytest.param(options, marks=pytest.mark.slow) for options in ({"positive": 0.1, "n": 600}, {"order": "sorted"})),
]


@pytest.mark.parametrize("options", TABLES_WITH_NOISE)
@pytest.mark.parametrize(
    "merit",
    [
        CFS(),
        JMI(),
        pytest.param(MRMR(), marks=pytest.mark.slow),
        pytest.param(MIM(correction="chance"), marks=pytest.mark.slow),
    ],
)
def test_a_choice_among_columns_without_association_is_named_as_arbitrary(merit, options, monkeypatch):
    # Searches on shuffled targets are not of interest here.
    monkeypatch.setattr(subset_selector, "search_null", lambda *_: None)
    X, y = table_with_noise(**options)
    selector = SubsetSelector(merit, Forward(), n_features=4)
    sentence = (
        "finds no association of 'n0', 'n1' with the target, 2 of 4 selected columns, nor of 2 others: the choice among them is "
        "arbitrary. Select at most 2 columns."
    )
    with pytest.warns(TamizWarning, match=re.escape(sentence)):
        assert selector.fit(X, y).get_feature_names_out().tolist() == ["n0", "n1", "a", "b"]
    # Two have an association, with all six there is no choice, and here the user chose.
    for n_features in (2, 6):
        selector.set_params(n_features=n_features).fit(X, y)
    SubsetSelector(merit, Forward(fixed=["n0"], excluded=["n1", "n2", "n3"]), n_features=3).fit(X, y)


@pytest.mark.parametrize("options", TABLES_WITH_NOISE)
def test_a_ranking_that_is_cut_among_equal_scores_warns(options):
    X, y = table_with_noise(**options)
    selector = RankSelector(InformationGain(), n_features=3)
    sentence = (
        "InformationGain: 'n0' and 3 columns that are not selected have the same score, 0: only the place in the table decided. "
        "Select 2 or 6 columns, or use another relevance."
    )
    with pytest.warns(TamizWarning, match=re.escape(sentence)):
        assert selector.fit(X, y).get_feature_names_out().tolist() == ["n0", "a", "b"]
    for without in ({"n_features": 2}, {"n_features": 6}, {"n_features": 3, "threshold": 1e-9}):
        RankSelector(InformationGain(), **without).fit(X, y)


def test_errors_of_sizes_and_constant_targets_are_in_plain_words():
    X, y = np.arange(12.0)[:, None], np.arange(12) % 2
    for selector in (RankSelector(InformationGain(), n_features=2), SubsetSelector(MRMR(), Forward(), n_features=2)):
        with pytest.raises(ValueError, match="n_features=2 exceeds the 1 column of the table; ask for at most 1"):
            selector.fit(X, y)
    with pytest.raises(ValueError, match="No column can be selected: each is excluded"), capture_warnings():
        RankSelector(InformationGain(), n_features=2).fit(np.full((12, 1), np.nan), y)
    with pytest.raises(DataError, match=r"Target 'target' is constant: 1\.5 in all 12 rows"):
        RankSelector(FisherScore()).fit(X, np.full(12, 1.5))
