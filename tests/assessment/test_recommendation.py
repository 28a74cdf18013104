"""The recommended columns: the smallest selection as good as the best, with the scores of scikit-learn."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_validate
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from tests.assessment.tables import noise, signal

from tamiz import RankSelector, SizeSearchCV, SubsetSelector, open_source
from tamiz.assessment import recommend_columns
from tamiz.assessment.candidate_selections import CandidateSelection, default_candidates
from tamiz.assessment.fold_scores import FoldScores
from tamiz.assessment.recommendation import LARGEST_LOSS, NEGLIGIBLE_LOSS, choose_candidate
from tamiz.assessment.selector_adapters import SelectedColumns, SelectorAdapter
from tamiz.criteria import CFS, MRMR, IndependenceTest
from tamiz.exceptions import DataError, TamizWarning
from tamiz.models.folds import draw_folds
from tamiz.search import BestFirst, Forward

from ..reference.mdl import mdl_cuts

SEARCHED = SubsetSelector(CFS(), BestFirst())
QUICK = {"models": ["logistic", "naive_bayes"], "n_splits": 3}


# The rule


def candidate(n_columns, *models, other=0.0):
    """A selection of some columns with the fold scores of each model by "auc", and by a score that does not decide."""
    scores = {}
    for k, folds in enumerate(models):
        scores[f"model {k}", "auc"] = FoldScores(np.array(folds, dtype=float), 0.45)
        scores[f"model {k}", "accuracy"] = FoldScores(np.full(len(folds), other), 0.45)
    return CandidateSelection(
        "", tuple(f"x{j}" for j in range(n_columns)), np.ones((len(models[0]), n_columns), bool), scores
    )


def recommended(keep_all=True, **candidates):
    return choose_candidate(candidates, "auc", keep_all=keep_all)


def test_a_smaller_selection_within_one_standard_error_of_the_best_is_recommended():
    best = [0.90, 0.90, 0.90, 0.90]
    # Behind by .02 on average; its standard error is .0155 where the folds agree and .031 where they do not.
    near, far = [0.86, 0.94, 0.84, 0.88], [0.86, 0.90, 0.86, 0.90]
    every = candidate(9, best)
    for folds, name in ((near, "small"), (far, "all_columns")):
        behind = FoldScores(np.subtract(best, folds), 0.45)
        assert behind.mean == pytest.approx(0.02)
        assert (behind.mean <= behind.standard_error) == (name == "small")
        assert recommended(all_columns=every, small=candidate(3, folds)) == name


def test_a_loss_of_a_hundredth_is_none_however_sure_the_folds_are():
    every = candidate(9, [0.9] * 4)
    assert recommended(all_columns=every, small=candidate(3, [0.891] * 4)) == "small"
    assert recommended(all_columns=every, small=candidate(3, [0.889] * 4)) == "all_columns"


def test_the_difference_counts_fold_by_fold_and_not_the_spread_of_the_scores():
    # The folds differ by far more than the candidates, which differ by the same in each.
    folds = np.array([0.6, 0.7, 0.8, 0.9])
    assert recommended(all_columns=candidate(9, folds), small=candidate(3, folds - 0.02)) == "all_columns"


def test_a_model_that_loses_much_rules_a_selection_out_though_the_mean_over_the_models_is_best():
    every = candidate(9, [0.9] * 4, [0.8] * 4)
    assert recommended(all_columns=every, small=candidate(3, [0.86] * 4, [0.95] * 4)) == "all_columns"
    assert recommended(all_columns=every, small=candidate(3, [0.871] * 4, [0.95] * 4)) == "small"
    # A loss in another score is none of the rule's.
    every = candidate(9, [0.9] * 4, other=1.0)
    assert recommended(all_columns=every, small=candidate(3, [0.9] * 4, other=0.5)) == "small"


def test_all_columns_are_kept_where_every_selection_loses_unless_they_may_not_be():
    candidates = {
        "all_columns": candidate(9, [0.9] * 4),
        "small": candidate(2, [0.7] * 4),
        "large": candidate(5, [0.8] * 4),
    }
    assert recommended(**candidates) == "all_columns"
    assert recommended(**candidates, keep_all=False) == "large"


def test_of_equal_sizes_the_better_is_recommended_and_of_equal_scores_the_smallest():
    every = candidate(9, [0.9] * 4)
    better, worse, smaller = candidate(3, [0.9] * 4), candidate(3, [0.895] * 4), candidate(2, [0.895] * 4)
    assert recommended(all_columns=every, worse=worse, better=better) == "better"
    assert recommended(all_columns=every, worse=worse, better=better, smaller=smaller) == "smaller"
    assert recommended(all_columns=every, b=better, a=better) == "a"


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
    parts = draw_folds(open_source(X, y), 3, np.random.default_rng(2))
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
def test_the_numbers_do_not_depend_on_the_number_of_threads():
    X, y = signal()
    found = {
        repr(recommend_columns(X, y, models=["logistic", "forest"], n_splits=2, n_jobs=n_jobs).to_dict())
        for n_jobs in (1, 2)
    }
    assert len(found) == 1


# What is recommended


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


def test_of_copies_and_noise_a_few_columns_with_all_that_is_known_are_recommended():
    rng = np.random.default_rng(1)
    y = rng.permutation(np.arange(300) % 2)
    a, b = rng.normal(size=(2, 300)) + 1.2 * y
    copies = {f"copy {k}": a + 0.1 * rng.normal(size=300) for k in range(4)}
    others = {f"noise {k}": rng.normal(size=300) for k in range(8)}
    found = recommend_columns(pd.DataFrame({"a": a, "b": b, **copies, **others}), y, **QUICK)
    assert found.recommended != "all_columns"
    assert "b" in found.columns
    assert {"a", *copies} & set(found.columns)
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

    def select(self, source, seed):
        return SelectedColumns(np.arange(source.schema.n_columns) == (1 if source.schema.n_rows == 80 else 0), None)


def test_a_selection_whose_columns_of_all_rows_lose_much_is_refused_with_a_note():
    X, y = signal(p=4)
    table = np.column_stack([X[:, 0] + 2 * y, X[:, 1]])
    with pytest.warns(TamizWarning, match="^fickle is not recommended: the columns that it selects on all rows differ"):
        found = recommend_columns(table, y, candidates={"fickle": Fickle()}, **QUICK)
    assert (found.recommended, found.rejected) == ("all_columns", ("fickle",))
    # Where all columns are no answer, there is no other.
    found = recommend_columns(table, y, candidates={"fickle": Fickle()}, keep_all=False, **QUICK)
    assert (found.recommended, found.rejected) == ("fickle", ())


# What is compared


def test_the_usual_candidates_suit_the_target():
    X, y = signal(n=40, p=4)
    weighted = open_source(X, y, weight=np.arange(40) + 1.0).schema
    wide = open_source(np.random.default_rng(0).normal(size=(20, 1001)), y[:20]).schema
    of_classes = ["cfs", "naive_bayes", "ridge", "knn", "mrmr"]
    cases = {
        "two": (open_source(X, y).schema, [*of_classes, "tests"]),
        "three": (open_source(X, np.arange(40) % 3).schema, [*of_classes, "tests"]),
        "number": (open_source(X, X[:, 0] / 3).schema, ["cfs", "ridge", "knn", "mrmr", "tests"]),
        "weights": (weighted, ["cfs", "naive_bayes", "ridge", "mrmr", "tests"]),
        "groups": (open_source(X, y, groups=np.arange(40) // 4).schema, of_classes),
        "time": (open_source(X, y, time=np.arange(40)).schema, of_classes),
        "wide": (wide, ["cfs", "naive_bayes", "mrmr", "tests"]),
    }
    for schema, names in cases.values():
        assert list(default_candidates(schema)) == names
    scorings = {case: default_candidates(cases[case][0])["naive_bayes"].merit.scoring for case in ("two", "three")}
    assert scorings == {"two": "roc_auc", "three": "balanced_accuracy"}
    free = default_candidates(cases["two"][0], column_options={"start": None, "fixed": None})
    assert list(free) == cases["two"][1]
    bound = default_candidates(cases["two"][0], n_features=2, column_options={"fixed": ["x1"]})
    # Those that choose the number of columns among all columns are no candidates.
    assert list(bound) == ["cfs", "naive_bayes", "ridge", "knn"]
    for name in ("cfs", "naive_bayes", "ridge"):
        assert (bound[name].n_features, bound[name].search.fixed) == (2, ["x1"])


def test_a_number_is_compared_by_r2():
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    found = recommend_columns(X, y, models=["ridge"], n_splits=3)
    assert found.scorings == ("r2",)
    assert list(found.candidates) == ["all_columns", "cfs", "ridge", "knn", "mrmr", "tests"]
    assert {"bmi", "s5"} <= set(found.columns)
    assert -0.05 < found.baseline["r2"].mean < 0


def test_a_candidate_that_fails_is_left_out_with_a_note():
    X, y = signal()
    bad = SubsetSelector(CFS(), Forward(fixed=["nowhere"]))
    with pytest.warns(TamizWarning, match="^CFS by Forward is left out of the comparison: All rows: .*'nowhere'"):
        found = recommend_columns(X, y, candidates={"cfs": SEARCHED, "bad": bad}, **QUICK)
    assert list(found.candidates) == ["all_columns", "cfs"]
    assert "left out of the comparison" in found.notes[-1]


def test_a_wrapper_that_is_not_done_in_time_is_left_out_with_a_note():
    X, y = signal()
    with pytest.warns(TamizWarning) as warned:
        found = recommend_columns(X, y, max_seconds=1e-9, **QUICK)
    assert [str(one.message) for one in warned] == list(found.notes)
    # The filters CFS and tests have no limit.
    assert list(found.candidates) == ["all_columns", "cfs", "tests"]
    assert [note.split(" is left")[0] for note in found.notes] == [
        "Naive Bayes wrapper",
        "Ridge wrapper",
        "Nearest neighbours wrapper",
        "MRMR",
    ]
    by_clock = "is left out of the comparison: All rows: its search takes longer than max_seconds."
    assert all(note.endswith(by_clock) for note in found.notes[:-1])
    # An estimate, which is the same on every machine.
    assert found.notes[-1].endswith("its search on all rows takes about 0.077 s, more than 1e-09 s.")


@pytest.mark.filterwarnings("ignore:.*(the place in the table decided|is arbitrary)")
@pytest.mark.parametrize("kind", ["classes", "number"])
def test_mrmr_and_tests_select_on_the_training_rows_of_each_fold_as_their_selectors_do(kind):
    X, y = signal(n=120, p=5)
    if kind == "number":
        y = X[:, 0] + X[:, 1] + 0.5 * np.random.default_rng(3).normal(size=120)
    model, scoring = ("naive_bayes", "roc_auc") if kind == "classes" else ("ridge", "r2")
    by_size = SizeSearchCV(SubsetSelector(MRMR(), Forward()), model, sizes=range(1, 6), scoring=scoring)
    selectors = {"mrmr": by_size, "tests": RankSelector(IndependenceTest(), fdr=0.05)}
    candidates = {name: one for name, one in default_candidates(open_source(X, y).schema).items() if name in selectors}
    assert list(candidates) == list(selectors)
    found = recommend_columns(X, y, candidates=candidates, models=[model], n_splits=2, random_state=1)
    folds = draw_folds(open_source(X, y), 2, np.random.default_rng(1))

    def select(name, rows):
        """Without columns in which MDL finds no cut point between the classes, a forward search adds them by their place."""
        support = clone(selectors[name]).fit(X[rows], y[rows]).get_support().tolist()
        if name == "mrmr" and kind == "classes":
            return [kept and len(mdl_cuts(X[rows, j], y[rows])) > 0 for j, kept in enumerate(support)]
        return support

    dropped = 0
    for name, selector in selectors.items():
        parts = [fold.train for fold in folds]
        assert found.candidates[name].fold_sets.tolist() == [select(name, rows) for rows in parts]
        kept = select(name, np.arange(len(y)))
        assert found.candidates[name].columns == tuple(np.array(open_source(X, y).schema.names[:5])[kept])
        dropped += sum(clone(selector).fit(X[rows], y[rows]).get_support().sum() for rows in parts)
        dropped -= int(found.candidates[name].fold_sets.sum())
    assert (dropped > 0) == (kind == "classes")


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::tamiz.exceptions.TamizWarning")
def test_more_candidates_do_not_make_recommendations_of_pure_noise_claim_more():
    few, claims = ["all_columns", "cfs", "naive_bayes", "ridge", "knn"], {"few": 0, "all": 0}
    for seed in range(20):
        X, y = noise(seed, n=100, p=10)
        found = recommend_columns(X, y, models=["logistic", "naive_bayes"])
        of_few = choose_candidate({name: found.candidates[name] for name in few}, "roc_auc")
        for key, name in (("few", of_few), ("all", found.recommended)):
            one = found.candidates[name]
            claims[key] += any(one.scores[model, "roc_auc"].interval[0] > 0.5 for model in found.models)
    assert claims["all"] <= claims["few"] + 1
    # An interval of 95 % is above the baseline in one of 40 tables if there were no choice.
    assert claims["all"] <= 3


def test_weights_groups_and_samples_of_rows_are_respected():
    X, y = signal(n=120)
    same = {"candidates": {"cfs": SEARCHED}, "n_splits": 3}
    weight = np.ones(120)
    weight[:10] = 0
    with pytest.warns(TamizWarning) as told:
        found = recommend_columns(X, y, sample_weight=weight, **same)
    assert list(found.models) == ["logistic", "naive_bayes", "forest"]
    assert found.n_samples == 110
    assert {str(one.message) for one in told} == set(found.notes)
    groups = np.arange(120) // 4
    assert recommend_columns(X, y, groups=groups, models=["naive_bayes"], **same).folds_description == (
        "3 folds of whole groups (group)"
    )
    with pytest.warns(TamizWarning, match=r"^60 of 120 rows, drawn at random\.$"):
        assert recommend_columns(X, y, max_rows=60, models=["naive_bayes"], **same).n_samples == 60


def test_a_recommendation_is_printed_as_json_and_as_a_table():
    X, y = signal()
    found = recommend_columns(X, y, candidates={"cfs": SEARCHED}, **QUICK)
    told = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert told["columns"] == list(found.columns)
    assert (told["largest_loss"], told["negligible_loss"]) == (LARGEST_LOSS, NEGLIGIBLE_LOSS)
    one = next(one for one in told["candidates"] if one["id"] == "cfs")
    for k, scoring in enumerate(found.scorings):
        for m, model in enumerate(found.models):
            assert one["scores"][k][m]["folds"] == found.candidates["cfs"].scores[model, scoring].values.tolist()
            assert one["changes"][k][m]["mean"] == found.score_change("cfs", model, scoring).mean
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
