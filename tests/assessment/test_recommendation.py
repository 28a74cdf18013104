"""The recommended columns: the smallest selection as good as the best, with the scores of scikit-learn."""

import json
import math
import statistics

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_validate
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from tests.assessment.tables import noise, signal

from tamiz import RankSelector, SubsetSelector, open_table
from tamiz.assessment import recommend_columns
from tamiz.assessment.recommendation import _Pool, default_candidates
from tamiz.assessment.trials import SelectedColumns, SelectorAdapter
from tamiz.criteria import CFS, MRMR, CrossValidated, PermutationImportance
from tamiz.exceptions import DataError, TamizWarning
from tamiz.models.folds import draw_folds
from tamiz.search import BestFirst, Forward

SEARCHED = SubsetSelector(CFS(), BestFirst())
QUICK = {"models": ["logistic", "naive_bayes"], "n_splits": 3}


# The rule


def pool(scores, sizes, factor=0.45, perfect=1.0):
    """Sets of the first columns, with the scores of each in four folds; the first set is all columns."""
    supports = np.arange(max(sizes)) < np.array(sizes)[:, None]
    scores = np.array(scores, dtype=float)
    return _Pool(
        contenders={},
        names=["all_columns", *(f"set {k}" for k in range(1, len(sizes)))],
        supports=supports,
        fold_sets=np.repeat(supports[:, None], scores.shape[1], axis=1),
        model="ridge",
        scores=scores[None],
        variance_factor=factor,
        perfect=perfect,
        allowed=np.ones(len(sizes), dtype=bool),
    )


def plainly_chosen(scores, sizes, factor, perfect=1.0):
    """The rule, set by set: the smallest of those that lose at most the margin, a standard error added to the loss."""
    means = [statistics.mean(one) for one in scores]
    best = max(range(len(scores)), key=lambda k: means[k])
    gains = [one - other for one, other in zip(scores[best], scores[0], strict=True)]
    reference = best if statistics.mean(gains) > math.sqrt(factor * statistics.variance(gains)) else 0
    margin = max(0.05 * (perfect - means[reference]), 0.01)
    good = []
    for k, one in enumerate(scores):
        losses = [there - here for there, here in zip(scores[reference], one, strict=True)]
        if statistics.mean(losses) + math.sqrt(factor * statistics.variance(losses)) <= margin:
            good.append((sizes[k], -means[k], k))
    return min(good)[2] if good else 0


@pytest.mark.parametrize("spread", [0.001, 0.01, 0.05])
def test_the_smallest_set_is_chosen_of_which_a_larger_loss_than_the_margin_is_ruled_out(spread):
    rng = np.random.default_rng(0)
    chosen = set()
    for _ in range(60):
        sizes = [8, *rng.permutation(np.arange(1, 8))[:5].tolist()]
        scores = 0.8 - 0.01 * rng.exponential(size=6)[:, None] + spread * rng.normal(size=(6, 5))
        at = pool(scores, sizes).choose([])
        assert at == plainly_chosen(scores.tolist(), sizes, 0.45)
        chosen.add(sizes[at])
    assert len(chosen) > 2


def test_a_large_standard_error_keeps_more_columns_and_a_loss_in_every_fold_alike_has_none():
    folds = np.array([0.60, 0.70, 0.80, 0.70])
    # What the folds share is no uncertainty. All leave .3 unexplained, of which .05 is .015.
    assert pool([folds, folds - 0.014], [9, 3]).choose([]) == 1
    assert pool([folds, folds - 0.016], [9, 3]).choose([]) == 0
    uncertain = folds + np.array([0.05, -0.05, 0.05, -0.05])
    assert pool([folds, uncertain], [9, 3]).choose([]) == 0


def test_what_is_negligible_depends_on_what_is_left_unexplained():
    for score, margin in ((0.7, 0.015), (0.97, 0.01)):
        assert pool([[score] * 4], [9]).rate().margin == pytest.approx(margin)
    # Of an error of 8, for which 0 is perfect.
    assert pool([[-8.0] * 4], [9], perfect=0.0).rate().margin == pytest.approx(0.4)


def test_sets_are_compared_with_a_smaller_one_that_is_better_than_all_columns():
    every, better, poor = [0.80] * 4, [0.85, 0.86, 0.84, 0.85], [0.80] * 4
    assert pool([every, better, poor], [9, 4, 2]).choose([]) == 1
    # It is none where the gain is within its standard error.
    perhaps = [0.70, 0.96, 0.70, 0.94]
    assert pool([every, perhaps, poor], [9, 4, 2]).choose([]) == 2


def test_all_columns_are_kept_where_every_selection_loses_unless_they_may_not_be():
    losing = pool([[0.9] * 4, [0.7] * 4, [0.8] * 4], [9, 2, 5])
    assert losing.choose([]) == 0
    smaller = losing.restrict(None, keep_all=False)
    assert smaller.choose([]) == 2
    assert smaller.choose([2]) == 1
    # A candidate that was asked for is chosen, whatever it loses.
    assert losing.restrict("set 1", keep_all=True).choose([]) == 1


def test_of_equal_sizes_the_better_is_recommended_and_of_equal_scores_the_smallest():
    every = [0.9] * 4
    assert pool([every, [0.896] * 4, every], [9, 3, 3]).choose([]) == 2
    assert pool([every, [0.896] * 4, every, [0.896] * 4], [9, 3, 3, 2]).choose([]) == 3
    assert pool([every, every, every], [9, 3, 3]).choose([]) == 1


def test_the_score_with_the_choice_is_that_of_the_set_that_the_other_folds_choose():
    rng = np.random.default_rng(1)
    scores, sizes = 0.8 + 0.03 * rng.normal(size=(8, 5)), [8, *range(1, 8)]
    expected = []
    for fold in range(5):
        others = np.delete(scores, fold, axis=1).tolist()
        expected.append(scores[plainly_chosen(others, sizes, 0.45 + 1 / 4 - 1 / 5), fold])
    found = pool(scores, sizes)
    assert scores[found.chosen_without_each_fold(1, []), range(5)].tolist() == expected
    assert len(set(expected) - set(scores[found.choose([])])) > 0


# The figures


class Standardized(TransformerMixin, BaseEstimator):
    """Columns divided by the root of their sum of squares over n - 1, as tamiz has them."""

    def fit(self, X, y=None):
        self.mean_, self.scale_ = X.mean(axis=0), X.std(axis=0, ddof=1)
        return self

    def transform(self, X):
        return (X - self.mean_) / self.scale_


def test_every_figure_is_that_of_cross_validate_with_a_pipeline_on_the_same_folds():
    X, y = load_breast_cancer(return_X_y=True)
    models = {"logistic": LogisticRegression(max_iter=1000), "knn": KNeighborsClassifier(5)}
    found = recommend_columns(X, y, candidates={"cfs": SEARCHED}, models=list(models), n_splits=3, random_state=2)
    assert found.scorings == ("roc_auc", "balanced_accuracy", "accuracy")
    parts = draw_folds(open_table(X, y), 3, np.random.default_rng(2))
    folds = [(fold.train, fold.test) for fold in parts]

    def cross_validated(*steps):
        return cross_validate(make_pipeline(*steps), X, y, cv=folds, scoring=list(found.scorings))

    nothing = cross_validated(DummyClassifier(strategy="prior"))
    for name, model in models.items():
        for one, steps in (("all_columns", ()), ("cfs", (SEARCHED,))):
            scores = cross_validated(*steps, Standardized(), model)
            for scoring in found.scorings:
                figures = found.candidates[one].scores[name, scoring].values
                np.testing.assert_allclose(figures, scores[f"test_{scoring}"], rtol=0, atol=1e-12)
                assert found.baseline[scoring].values.tolist() == nothing[f"test_{scoring}"].tolist()
    chosen = SEARCHED.fit(X, y)
    assert found.candidates["cfs"].columns == tuple(chosen.get_feature_names_out())
    sets = [SubsetSelector(CFS(), BestFirst()).fit(X[train], y[train]).support_ for train, _ in folds]
    assert found.candidates["cfs"].fold_sets.tolist() == [support.tolist() for support in sets]
    change = found.score_change("cfs", "knn", "accuracy")
    scores = [found.candidates[one].scores["knn", "accuracy"].values for one in ("cfs", "all_columns")]
    assert change.values.tolist() == (scores[0] - scores[1]).tolist()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.* is not recommended")
def test_the_numbers_do_not_depend_on_the_number_of_threads():
    X, y = signal()
    found = {
        repr(recommend_columns(X, y, models=["logistic", "forest"], n_splits=2, n_jobs=n_jobs).to_dict())
        for n_jobs in (1, 2)
    }
    assert len(found) == 1


# What is recommended


@pytest.mark.slow
def test_of_a_rare_class_the_area_decides_where_accuracy_is_that_of_no_column():
    rng = np.random.default_rng(0)
    y = np.arange(600) % 20 == 0
    X = pd.DataFrame(rng.normal(size=(600, 6)), columns=list("abcdef"))
    X["a"] += 1.0 * y
    X["b"] -= 1.0 * y
    found = recommend_columns(X, y, **QUICK)
    assert found.scorings[0] == "roc_auc"
    assert found.baseline["accuracy"].mean == pytest.approx(0.95)
    assert set(found.columns) >= {"a", "b"}
    assert len(found.columns) <= 4
    one = found.candidates[found.recommended]
    for model in found.models:
        assert one.scores[model, "roc_auc"].interval[0] > 0.6
        # By accuracy alone, nothing would be worth having.
        assert one.scores[model, "accuracy"].mean < found.baseline["accuracy"].mean + 0.01


@pytest.mark.slow
def test_of_copies_and_noise_a_few_columns_with_all_that_is_known_are_recommended():
    rng = np.random.default_rng(1)
    y = rng.permutation(np.arange(300) % 2)
    a, b = rng.normal(size=(2, 300)) + 1.2 * y
    copies = {f"copy {k}": a + 0.1 * rng.normal(size=300) for k in range(4)}
    others = {f"noise {k}": rng.normal(size=300) for k in range(8)}
    found = recommend_columns(pd.DataFrame({"a": a, "b": b, **copies, **others}), y, **QUICK)
    assert "'copy 3' is equivalent to 'a'" in found.notes[-1]
    assert found.recommended != "all_columns"
    assert {"a", "b"} <= set(found.columns)
    assert len(found.columns) <= 4
    # All but nothing is lost.
    assert all(found.score_change(found.recommended, model).mean > -0.03 for model in found.models)


def test_of_noise_no_column_need_be_kept():
    X, y = noise(2, n=60, p=3)
    found = recommend_columns(X, y, candidates={"cfs": SEARCHED}, **QUICK)
    assert (found.recommended, found.columns) == ("cfs", ())
    assert found.candidates["cfs"].scores["logistic", "roc_auc"].values.tolist() == [0.5] * 3
    assert repr(found).splitlines()[-1].startswith("* recommended: no column")


class Fickle(SelectorAdapter):
    """With all rows it chooses a column of noise, with those of a fold the best."""

    label = "fickle"

    def select(self, table, seed):
        return SelectedColumns(np.arange(table.schema.n_columns) == (1 if table.schema.n_rows == 80 else 0), None)


def test_a_selection_whose_columns_of_all_rows_lose_much_is_refused_with_a_note():
    X, y = signal(p=4)
    table = np.column_stack([X[:, 0] + 4 * y, X[:, 1]])
    with pytest.warns(
        TamizWarning, match="fickle with 1 column is not recommended: the columns that it selects on all rows"
    ):
        found = recommend_columns(table, y, candidates={"fickle": Fickle()}, **QUICK)
    assert found.recommended == "all_columns"
    # Where all columns are no answer, there is no other.
    assert recommend_columns(table, y, candidates={"fickle": Fickle()}, keep_all=False, **QUICK).recommended == "fickle"


# What is compared


def test_the_usual_candidates_suit_the_target():
    X, y = signal(n=40, p=4)
    weighted = open_table(X, y, weight=np.arange(40) + 1.0).schema
    wide = open_table(np.random.default_rng(0).normal(size=(20, 1001)), y[:20]).schema
    usual = ["mrmr", "wrapper", "importance"]
    cases = {
        "two": (open_table(X, y).schema, usual),
        "three": (open_table(X, np.arange(40) % 3).schema, usual),
        "number": (open_table(X, X[:, 0] / 3).schema, usual),
        "weights": (weighted, usual),
        "wide": (wide, usual),
        # A search by ridge regression is slow.
        "wide number": (open_table(np.eye(20, 1001), np.arange(20) / 3).schema, ["mrmr", "importance"]),
    }
    for schema, names in cases.values():
        assert list(default_candidates(schema)) == names
    bound = default_candidates(cases["two"][0], n_features=2, column_options={"fixed": ["x1"]})
    # A ranking has no fixed columns.
    assert list(bound) == ["mrmr", "wrapper"]
    for one in bound.values():
        (sets,) = one.select_by_size(open_table(X, y), 0).values()
        assert sets.sum() == 2
        assert sets[1]


@pytest.mark.filterwarnings("ignore:.*(the place in the table decided|is arbitrary|is not recommended)")
@pytest.mark.parametrize("kind", ["classes", "number"])
def test_the_sets_of_a_path_are_those_of_their_selectors_on_the_training_rows_of_each_fold(kind):
    X, y = signal(n=120, p=5)
    if kind == "number":
        y = X[:, 0] + X[:, 1] + 0.5 * np.random.default_rng(3).normal(size=120)
    model, scoring = ("naive_bayes", "roc_auc") if kind == "classes" else ("ridge", "r2")
    found = recommend_columns(X, y, models=[model], n_splits=2, random_state=1)
    folds = draw_folds(open_table(X, y), 2, np.random.default_rng(1))

    def selector(name, size):
        if name == "importance":
            by_boosting = PermutationImportance("gradient_boosting", cv=3, scoring=scoring, n_repeats=1)
            return RankSelector(by_boosting, n_features=size)
        merit = MRMR() if name == "mrmr" else CrossValidated(model, cv=5, scoring=scoring)
        return SubsetSelector(merit, Forward(), n_features=size, random_state=0)

    for name, path in found.paths.items():
        for columns in path.columns:
            fitted = selector(name, len(columns)).fit(X, y)
            assert columns == tuple(fitted.get_feature_names_out())
        shown = found.candidates[name]
        for fold, chosen in zip(folds, shown.fold_sets, strict=True):
            fitted = selector(name, len(shown.columns)).fit(X[fold.train], y[fold.train])
            assert fitted.get_support().tolist() == chosen.tolist()
        at = path.columns.index(shown.columns)
        assert path.scores[at].values.tolist() == shown.scores[model, scoring].values.tolist()
        assert path.changes[at].mean == pytest.approx(found.score_change(name, model).mean)


def test_columns_that_matter_only_together_are_recommended():
    rng = np.random.default_rng(4)
    X = pd.DataFrame(rng.normal(size=(400, 8)), columns=list("abcdefgh"))
    found = recommend_columns(
        X, (X["c"] * X["f"] > 0).astype(int), models=["logistic", "gradient_boosting"], n_splits=3
    )
    assert found.deciding_model == "gradient_boosting"
    assert found.recommended == "importance"
    assert {"c", "f"} <= set(found.columns)
    assert len(found.columns) <= 3


def test_a_number_is_compared_by_r2():
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    found = recommend_columns(X, y, models=["ridge"], n_splits=3)
    assert found.scorings == ("r2",)
    assert list(found.candidates) == ["all_columns", "mrmr", "wrapper", "importance"]
    assert {"bmi", "s5"} <= set(found.columns)
    assert -0.05 < found.baseline["r2"].mean < 0


def test_a_candidate_that_fails_is_left_out_with_a_note():
    X, y = signal()
    bad = SubsetSelector(CFS(), Forward(fixed=["nowhere"]))
    with pytest.warns(TamizWarning, match="CFS by Forward is left out of the comparison: All rows: .*'nowhere'"):
        found = recommend_columns(X, y, candidates={"cfs": SEARCHED, "bad": bad}, **QUICK)
    assert list(found.candidates) == ["all_columns", "cfs"]
    assert "left out of the comparison" in found.notes[-1]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::tamiz.exceptions.TamizWarning")
def test_of_pure_noise_the_score_with_the_choice_claims_nothing():
    claims = 0
    for seed in range(30):
        X, y = noise(seed, n=100, p=10)
        found = recommend_columns(X, y, models=["logistic", "naive_bayes"])
        claims += found.score.interval[0] > 0.5
    # An interval of 95 % is above the baseline in one of 40 tables: more than 3 of 30 have a probability of .6 %.
    assert claims <= 3


def test_weights_groups_and_samples_of_rows_are_respected():
    X, y = signal(n=120)
    same = {"candidates": {"cfs": SEARCHED}, "n_splits": 3}
    weight = np.ones(120)
    weight[:10] = 0
    with pytest.warns(TamizWarning) as told:
        found = recommend_columns(X, y, sample_weight=weight, **same)
    assert list(found.models) == ["logistic", "naive_bayes", "forest", "gradient_boosting"]
    assert found.n_samples == 110
    assert {one.message.args[0] for one in told} == set(found.notes)
    groups = np.arange(120) // 4
    assert recommend_columns(X, y, groups=groups, models=["naive_bayes"], **same).folds_description == (
        "3 folds of whole groups (group)"
    )
    with pytest.warns(TamizWarning, match=r"60 of 120 rows, drawn at random\.$"):
        assert recommend_columns(X, y, max_rows=60, models=["naive_bayes"], **same).n_samples == 60


def test_a_recommendation_is_printed_as_json_and_as_a_table():
    X, y = signal()
    found = recommend_columns(X, y, candidates={"cfs": SEARCHED}, **QUICK)
    told = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert told["columns"] == list(found.columns)
    assert (told["margin"], told["deciding_model"]) == (found.margin, found.deciding_model)
    one, changes = told["candidates"]["cfs"], told["changes"]["cfs"]
    for scoring in found.scorings:
        for model in found.models:
            values = found.candidates["cfs"].scores[model, scoring].values
            assert one["scores"][model][scoring]["values"] == values.tolist()
            every = found.candidates["all_columns"].scores[model, scoring].values
            assert changes[model][scoring]["mean"] == (values - every).mean()
    head, names, *rows, last = repr(found).splitlines()
    assert head.startswith("roc_auc of 80 rows, 3 stratified folds; without any column 0.500")
    assert names.split("  ")[-1].strip() == "naive Bayes"
    assert [row[0] for row in rows] == ["*" if name == found.recommended else " " for name in found.candidates]
    assert last == f"* recommended: {', '.join(found.columns)}"


@pytest.mark.parametrize(
    ("y", "options", "error", "sentence"),
    [
        (None, {}, DataError, r"^recommend_columns requires a target, but the target y is None\.$"),
        ([0, 1] * 10, {"n_splits": 1}, ValueError, r"^n_splits must be at least 2, got 1\.$"),
        ([0, 1] * 10, {"max_rows": 1}, ValueError, r"^max_rows must be at least 2, got 1\.$"),
        ([0, 1] * 10, {"models": ["trees"]}, ValueError, r"^model must be one of .* got 'trees'"),
        ([0, 1, 2, 2] * 5, {"scoring": ["roc_auc"]}, DataError, r"^roc_auc scores two classes, and .* has 3"),
        ([0, 1] * 10, {"candidates": {"one": 5}}, TypeError, r"^selector must be a selector such as SubsetSelector"),
        (
            [0, 1] * 10,
            {"candidates": {"all_columns": SEARCHED}},
            ValueError,
            r"^candidates must not name 'all_columns'",
        ),
    ],
)
def test_bad_input_is_one_sentence(y, options, error, sentence):
    with pytest.raises(error, match=sentence):
        recommend_columns(np.random.default_rng(0).normal(size=(20, 2)), y, **options)
