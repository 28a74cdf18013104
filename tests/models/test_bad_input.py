"""Input that cannot be scored: errors name the column, the fold or the parameter, and the way out."""

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import KMeans
from sklearn.compose import make_column_transformer
from sklearn.datasets import load_iris
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import IsolationForest
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import LeaveOneGroupOut, StratifiedKFold
from sklearn.naive_bayes import BernoulliNB, CategoricalNB, GaussianNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from tamiz import MixedNB, RankSelector, SubsetSelector, load, open_table, save, study
from tamiz.criteria import CrossValidated, PermutationImportance
from tamiz.exceptions import DataError, TamizWarning
from tamiz.models.backends import RefitBackend
from tamiz.search import Exhaustive, Forward
from tamiz.search.base import Candidates
from tamiz.table.views import select_rows

from .error_checks import refused, scored
from .random_cases import evaluator_of

X, Y = load_iris(return_X_y=True)
TWO = X[:100], Y[:100]
LOGISTIC = LogisticRegression()
TREE = DecisionTreeClassifier(random_state=0)
WORDS = pd.DataFrame({"a": X[:, 0], "job": np.where(X[:, 1] > 3, "cook", "nurse"), "b": X[:, 2]})
GAPS = WORDS.assign(job=1.0, b=np.where(X[:, 2] > 5, np.nan, X[:, 2]))
LOGISTIC_PIPELINE = make_pipeline(StandardScaler(), LOGISTIC)


# Estimators


def test_a_class_is_no_estimator():
    refused("an object with fit and predict, such as GaussianNB()", GaussianNB, error=TypeError)


def test_an_object_without_predict_is_no_estimator():
    refused("an object with fit and predict", StandardScaler(), error=TypeError)


@pytest.mark.parametrize(("estimator", "what"), [(KMeans(2), "clusters"), (IsolationForest(), "outliers")])
def test_clusters_and_outliers_are_no_target(estimator, what):
    with pytest.raises(TypeError, match=f"finds {what} and predicts no target; pass a classifier or a regressor"):
        RankSelector(PermutationImportance(estimator)).fit(X, Y)


def test_a_classifier_needs_classes():
    refused("LogisticRegression predicts classes, and the target 'target' is a number", LOGISTIC, y=X[:, 0] + 0.01)


def test_a_regressor_needs_numbers():
    refused("Ridge predicts numbers, and the target 'target' is classes", Ridge(), y=np.array(list("abc"))[Y])


def test_a_subclass_of_a_fast_estimator_is_refitted():
    class Mine(GaussianNB):
        """Predicts the first class, whatever it is asked."""

        def predict(self, X):
            return np.full(len(X), self.classes_[0])

    assert evaluator_of(X, Y, Mine()).info.method.startswith("Mine is refitted")
    assert scored(Mine())[0] == pytest.approx(1 / 3)


def test_a_failed_fit_names_fold_columns_and_estimator():
    refused(
        "Fold 1 of 5, columns x0, x1, x2, x3, LogisticRegression: The 'C' parameter.*change the estimator",
        LogisticRegression(C=-1),
    )


# Columns


@pytest.mark.parametrize(
    ("estimator", "said"),
    [
        (GaussianNB(priors=[0.5, 0.5]), "Number of priors must match number of classes"),
        (GaussianNB(var_smoothing="a"), "The 'var_smoothing' parameter of GaussianNB must be"),
        (GaussianNB(var_smoothing=-1), "The 'var_smoothing' parameter of GaussianNB must be"),
        (BernoulliNB(alpha=-1), "The 'alpha' parameter of BernoulliNB must be"),
        (BernoulliNB(alpha="a", force_alpha=False), "The 'alpha' parameter of BernoulliNB must be"),
        (BernoulliNB(binarize="a"), "The 'binarize' parameter of BernoulliNB must be"),
        (MultinomialNB(class_prior=[0.5, 0.5]), "Number of priors must match number of classes"),
        (CategoricalNB(min_categories=-1), ""),
        (KNeighborsClassifier(n_neighbors=0), "The 'n_neighbors' parameter of KNeighborsClassifier must be"),
        (LinearDiscriminantAnalysis(tol=-1), "The 'tol' parameter of LinearDiscriminantAnalysis must be"),
    ],
    ids=repr,
)
def test_parameters_that_an_estimator_refuses_are_reported_by_its_refit(estimator, said):
    name = type(estimator).__name__
    refused(f"^Fold 1 of 5, columns x0, x1, x2, x3, {name}: {said}", estimator, table=np.floor(X))


@pytest.mark.parametrize(
    "estimator",
    [
        GaussianNB(priors=[0.2, 0.3, 0.5]),
        BernoulliNB(alpha=0.5, binarize=3.0),
        MultinomialNB(alpha=2.0),
        CategoricalNB(min_categories=9),
        KNeighborsClassifier(7),
        LinearDiscriminantAnalysis(priors=[0.2, 0.3, 0.5]),
        MixedNB(alpha=0.5),
        Ridge(2.0),
    ],
    ids=repr,
)
def test_valid_parameters_keep_the_fold_backend_of_an_estimator(estimator):
    y = X[:, 0] if isinstance(estimator, Ridge) else Y
    assert not isinstance(evaluator_of(np.floor(X), y, estimator).backend, RefitBackend)


def test_a_class_that_a_later_fold_lacks_is_reported_by_its_refit():
    folds = [(np.arange(150), np.arange(9)), (np.arange(100), np.arange(9))]
    priors = GaussianNB(priors=[0.2, 0.3, 0.5])
    refused("^Fold 2 of 2, .*GaussianNB: Number of priors must match number of classes", priors, cv=folds)


def test_a_set_with_a_column_that_is_constant_in_a_fold_has_no_score_and_the_others_do():
    table = X.copy()
    table[::2, 3] = 2.0
    folds = [(np.arange(0, 150, 2), np.arange(1, 150, 2)), (np.arange(1, 150, 2), np.arange(0, 150, 2))]
    merit = CrossValidated(LinearDiscriminantAnalysis(), folds)
    sentence = (
        r"1 set has no score and cannot be selected\. Fold 1 of 2, column x3, LinearDiscriminantAnalysis: IndexError: .*\. Column "
        r"x3 is constant in the training rows of the fold: leave it out \(excluded=, --exclude\)\.$"
    )
    with pytest.warns(TamizWarning, match=sentence):
        found = SubsetSelector(merit, Exhaustive()).fit(table, Y)
    without = SubsetSelector(merit, Exhaustive(excluded=[3])).fit(table, Y)
    assert found.merit_ == without.merit_
    results, unscored = found.cv_results_, np.isneginf(found.archive_.merits)
    for name in ("split0_test_score", "split1_test_score", "mean_test_score"):
        np.testing.assert_array_equal(np.isneginf(results[name]), unscored)
    np.testing.assert_array_equal(np.isnan(results["std_test_score"]), unscored)
    assert results["rank_test_score"][unscored] == len(unscored)
    np.testing.assert_array_equal(
        found.archive_.masks[np.isneginf(found.archive_.merits)], [[False, False, False, True]]
    )
    with (
        pytest.warns(TamizWarning, match="no score"),
        pytest.raises(DataError, match=r"^No .*set.* has a score\. 1 set has no"),
    ):
        SubsetSelector(merit, Exhaustive(), n_features=1).fit(table[:, 3:], Y)


@pytest.mark.filterwarnings("ignore:.*1 set has no score")
def test_a_set_without_a_score_is_kept_in_files(tmp_path):
    table = X.copy()
    table[::2, 3] = 2.0
    merit = CrossValidated(LinearDiscriminantAnalysis(), [(np.arange(0, 150, 2), np.arange(1, 150, 2))])
    found = SubsetSelector(merit, Exhaustive(), journal=tmp_path / "sets.journal").fit(table, Y)
    merits = found.archive_.merits
    assert np.isneginf(merits).sum() == 1
    save(found.archive_, tmp_path / "sets.tamiz")
    np.testing.assert_array_equal(load(tmp_path / "sets.tamiz").merits, merits)
    again = SubsetSelector(merit, Exhaustive(), journal=tmp_path / "sets.journal").fit(table, Y)
    np.testing.assert_array_equal(again.archive_.merits, merits)


def test_a_report_leaves_a_set_without_a_score_out():
    table = X.copy()
    table[::2, 3] = 2.0
    merit = CrossValidated(LinearDiscriminantAnalysis(), [(np.arange(0, 150, 2), np.arange(1, 150, 2))])
    result = study(table, Y, selector=SubsetSelector(merit, Exhaustive()), assess=False, maps=[])
    assert any("no score and cannot be selected" in one for one in result.record.warnings)
    assert np.isfinite(result.to_dict()["subset"]["points"]["merits"]).all()
    assert all(np.isfinite(one["merit"]) for one in result.to_dict()["subset"]["frontier"])


def test_text_is_named_before_anything_is_fitted():
    refused(
        "Column 'job' contains text, and LogisticRegression accepts only numbers: pass encode=True", LOGISTIC, WORDS
    )


def test_text_in_a_pipeline_is_named_by_the_fit_that_fails():
    refused(
        "Fold 1 of 5, columns a, job, b, Pipeline: .*Column 'job' contains text: pass encode=True",
        LOGISTIC_PIPELINE,
        WORDS,
    )


def test_missing_values_are_counted_for_an_estimator_that_does_not_accept_them():
    n = int(GAPS["b"].isna().sum())
    refused(
        rf"Column 'b' has {n} missing values, and LogisticRegression accepts none \(NaN\): pass encode=True",
        LOGISTIC,
        GAPS,
    )


def test_missing_values_in_a_pipeline_are_named_by_the_fit_that_fails():
    n = int(GAPS["b"].isna().sum())
    refused(f"Fold 1 of 5.*Pipeline: .*Column 'b' has {n} missing values", LOGISTIC_PIPELINE, GAPS)


def test_missing_values_are_no_error_where_the_estimator_accepts_them():
    assert 0.5 < scored(TREE, GAPS)[0] < 1
    assert 0.5 < scored(make_pipeline(SimpleImputer(), LOGISTIC), GAPS)[0] < 1


def test_dates_of_a_frame_are_no_numbers_to_an_estimator():
    table = WORDS.drop(columns="job").assign(when=pd.date_range("2020-01-01", periods=len(Y)))
    refused(
        "Column 'when' contains dates, and LogisticRegression accepts only numbers: pass encode=True", LOGISTIC, table
    )
    assert scored(LOGISTIC, table, encode=True).shape == (1,)


def test_a_pipeline_that_names_columns_is_not_asked_about_sets_without_them():
    named = make_pipeline(make_column_transformer((OneHotEncoder(), ["job"]), remainder="passthrough"), LOGISTIC)
    assert scored(named, WORDS)[0] > 0.5
    refused(
        r"columns a, b, Pipeline: .*requires the column 'job' by name.*make_column_selector",
        named,
        WORDS,
        columns=[0, 2],
    )


def test_a_pipeline_that_counts_columns_is_refused():
    for places in ([1], slice(0, 2), np.array([True, False, True])):
        counted = make_pipeline(make_column_transformer((OneHotEncoder(), places)), LOGISTIC)
        refused("selects columns by position, and positions differ between column sets", counted, WORDS)


def test_masked_values_of_an_array_are_missing():
    table = np.ma.masked_array(X, mask=X > 5)
    refused("Column 'x0' has .* missing values.*LogisticRegression accepts none", LOGISTIC, table)
    expected = scored(TREE, np.where(X > 5, np.nan, X))
    np.testing.assert_array_equal(scored(TREE, table), expected)


def test_a_table_larger_than_memory_is_refused_before_work(monkeypatch):
    monkeypatch.setattr("tamiz.runtime.validation.free_memory", lambda: 1000.0)
    with pytest.raises(MemoryError, match="Rows of 3 folds for an estimator needs"):
        evaluator_of(X, Y, LOGISTIC)


# Folds


@pytest.mark.parametrize("cv", [1, 0, -3])
def test_fewer_than_2_folds_are_an_error(cv):
    refused(f"cv must be at least 2, got {cv}", LOGISTIC, cv=cv, error=ValueError)


@pytest.mark.parametrize("cv", [True, False])
def test_a_boolean_is_no_number_of_folds(cv):
    refused(f"cv must be a number of folds.*got {cv}", LOGISTIC, cv=cv, error=TypeError)


@pytest.mark.parametrize("cv", ["five", 2.5, object()])
def test_an_object_that_makes_no_folds_is_named(cv):
    refused("cv=.* cannot split this table", LOGISTIC, cv=cv)


def test_no_folds_are_distinguished_from_a_generator_that_is_used_up():
    refused("cv contains no folds; a generator is exhausted", LOGISTIC, cv=[])


def test_more_folds_than_rows_of_every_class():
    refused("cv=StratifiedKFold.* cannot split this table.*members in each class", LOGISTIC, cv=StratifiedKFold(60))


def test_a_class_with_fewer_rows_than_folds_is_reported():
    y = np.where(np.arange(150) < 3, 5, Y)
    notes = evaluator_of(X, y, TREE, cv=StratifiedKFold(5)).notes()
    assert [note for note in notes if "The least populated class in y has only 3 members" in note]


@pytest.mark.parametrize(
    ("fold", "sentence"),
    [
        (
            (np.arange(100), np.arange(100, 151)),
            "Fold 2 of cv has row 150, and the rows of the table are numbered from 0 to 149",
        ),
        ((np.arange(-1, 50), np.arange(50, 60)), "Fold 2 of cv must consist of lists of row numbers, counted from 0"),
        ((np.arange(50.0), np.arange(50, 60)), "Fold 2 of cv must consist of lists of row numbers"),
        ((np.ones(9, dtype=bool), np.arange(3)), "Fold 2 of cv is a mask of 9 rows, and the table has 150"),
        (np.arange(3), "Fold 2 of cv is not a pair"),
        (([], np.arange(3)), "Fold 2 of 2 has no training rows"),
        ((np.arange(3), []), "Fold 2 of 2 has no test rows"),
    ],
)
def test_an_invalid_list_of_folds_is_an_error_that_names_the_fold(fold, sentence):
    refused(sentence, LOGISTIC, cv=[(np.arange(0, 150, 2), np.arange(1, 150, 2)), fold])


def test_one_class_to_learn_from_names_the_fold():
    refused(
        "Fold 1 of 3 has training rows of class '0' only",
        LOGISTIC,
        *TWO,
        cv=[(np.arange(40), np.arange(40, 90))] * 3,
    )


def test_rows_tested_and_learned_from_are_reported():
    merit = CrossValidated(TREE, cv=[(np.arange(150), np.arange(0, 150, 3)), (np.arange(9, 150), np.arange(9))])
    with pytest.warns(TamizWarning, match=r"1 of 2 folds .* also training rows \(fold 1 has 50\)"):
        SubsetSelector(merit, Forward(), n_features=1).fit(X, Y)


def test_groups_that_a_splitter_needs_are_asked_for():
    refused("LeaveOneGroupOut.* cannot split this table.*pass the rows' groups to fit", LOGISTIC, cv=LeaveOneGroupOut())


def test_listed_folds_count_the_rows_of_the_users_table():
    y = Y.astype(float)
    y[[3, 77]] = np.nan
    kept = ~np.isnan(y)
    folds = [(np.arange(0, 150, 2), np.arange(1, 150, 2)), (np.arange(1, 150, 2), np.arange(0, 150, 2))]
    among = [tuple(np.searchsorted(np.flatnonzero(kept), rows[kept[rows]]) for rows in fold) for fold in folds]
    table = open_table(X, y)
    model = DecisionTreeRegressor(random_state=0)
    merit = CrossValidated(model, cv=folds)
    found = merit.bind(table, np.random.default_rng(0))
    expected = evaluator_of(X[kept], y[kept], model, cv=among)
    everything = Candidates.from_masks(np.ones(4, dtype=bool))
    np.testing.assert_array_equal(found.evaluate(everything), expected.evaluate(everything))


def test_listed_folds_may_contain_rows_that_a_view_excludes():
    table = open_table(X, Y)
    mask = np.arange(150) % 2 == 0
    folds = [(np.flatnonzero(mask), np.flatnonzero(~mask)), (~mask, mask)]
    part = select_rows(table, np.setdiff1d(np.arange(0, 120), [3, 77]))
    merit = CrossValidated(TREE, cv=folds)
    task = merit.bind(part, np.random.default_rng(0)).task
    shown = part.row_numbers
    for fold, train in zip(task.folds, (mask, ~mask), strict=True):
        assert shown[fold.train].tolist() == shown[train[shown]].tolist()
        assert shown[fold.test].tolist() == shown[~train[shown]].tolist()
    beyond = CrossValidated(TREE, cv=[(np.arange(100), np.arange(100, 151))])
    with pytest.raises(
        DataError, match="Fold 1 of cv has row 150, and the rows of the table are numbered from 0 to 149"
    ):
        beyond.bind(part, np.random.default_rng(0))


def test_one_group_makes_no_folds_of_whole_groups():
    with pytest.raises(DataError, match=r"^All rows are in one group, '0' in 'group'; at least 2 groups are needed"):
        evaluator_of(X, Y, LOGISTIC, cv=3, groups=np.zeros(150, dtype=int))


# Weights


def test_rows_of_weight_0_are_not_there():
    weight = np.ones(150)
    weight[::5] = 0
    kept = weight > 0
    folds = [(np.arange(0, 150, 2), np.arange(1, 150, 2))]
    among = [tuple(np.searchsorted(np.flatnonzero(kept), rows[kept[rows]]) for rows in fold) for fold in folds]
    found = scored(TREE, cv=folds, weight=weight)
    np.testing.assert_array_equal(found, scored(TREE, X[kept], Y[kept], cv=among, weight=weight[kept]))


def test_weights_that_neither_estimator_nor_scorer_accepts_are_refused():
    refused("KNeighborsClassifier accepts no sample_weight in fit", KNeighborsClassifier(), weight=np.ones(150))
    refused(
        r"Pipeline\(StandardScaler, LogisticRegression\) accepts no sample_weight",
        LOGISTIC_PIPELINE,
        weight=np.ones(150),
    )
