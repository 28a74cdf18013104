"""columns_to_drop: the curves equal those of quality and SizeSearchCV, and the recommendation on tables whose truth is known."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import Ridge
from sklearn.model_selection import KFold, cross_val_score

from tamiz import RankSelector, SizeSearchCV, open_table
from tamiz.comparison import columns_to_drop, kept_columns
from tamiz.comparison.kept_columns import ScoreCurve
from tamiz.criteria import FisherScore, InformationGain
from tamiz.exceptions import DataError, TamizWarning
from tamiz.graphs import KNearest
from tamiz.metrics import quality
from tamiz.reduction import MDS, PCA, LaplacianEigenmaps
from tamiz.runtime import parallel

WINE, CULTIVAR = load_wine(return_X_y=True, as_frame=True)
_DRAWS = np.random.default_rng(0)
NOISE = _DRAWS.normal(size=(200, 12))
COIN = _DRAWS.integers(0, 2, 200)
SUM = NOISE[:, :3].sum(axis=1) + 0.5 * _DRAWS.normal(size=200)


@pytest.fixture(autouse=True)
def one_session():
    with parallel.thread_session(1):
        yield


@pytest.fixture
def rng():
    return np.random.default_rng(7)


@pytest.fixture(scope="module")
def wine():
    return columns_to_drop(WINE, CULTIVAR, FisherScore(), numbers=[1, 3, 8], estimator="gaussian_nb")


@pytest.fixture(scope="module")
def informative():
    """The target depends on the first three of twelve independent columns."""
    return columns_to_drop(NOISE, SUM > 0, FisherScore(), numbers=[1, 2, 3, 4, 8])


def test_maps_of_the_kept_columns_are_evaluated_against_the_distances_of_all(wine):
    order = RankSelector(FisherScore()).fit(WINE, CULTIVAR).ranking_
    assert wine.columns == tuple(WINE.columns[order])
    assert wine.numbers == (1, 3, 8, 13)
    for at, number in enumerate(wine.numbers):
        kept = PCA(min(number, 2), standardize=True).fit(WINE.iloc[:, order[:number]])
        found = quality(WINE, kept.embedding_, metric="seuclidean")
        assert wine.trustworthiness[at] == pytest.approx(found["trustworthiness"].value, abs=1e-12)
        assert wine.stress[at] == pytest.approx(found["kruskal_stress"].value, abs=1e-12)
    assert (wine.n_samples, wine.n_mapped, wine.n_compared) == (178, 178, 178)
    assert not wine.trustworthiness_errors.any()
    assert not wine.stress_errors.any()


def test_scores_are_those_of_the_size_search(wine):
    search = SizeSearchCV(
        RankSelector(FisherScore()), "gaussian_nb", sizes=[1, 3, 8, 13], scoring="roc_auc_ovr_weighted"
    ).fit(WINE, CULTIVAR)
    np.testing.assert_allclose(wine.score.means, search.cv_results_["mean_test_score"], atol=1e-12)
    assert wine.score.baseline == 0.5
    assert wine.score.name == "weighted ROC AUC of Gaussian naive Bayes"
    assert wine.score.n_samples == 178


def test_score_and_baseline_of_a_numeric_target_are_those_of_scikit_learn():
    folds = KFold(4, shuffle=True, random_state=3)
    curves = columns_to_drop(NOISE, SUM, list(range(12)), estimator=Ridge(), numbers=[3], cv=folds)
    for at, number in enumerate((3, 12)):
        expected = cross_val_score(Ridge(), NOISE[:, :number], SUM, cv=folds)
        np.testing.assert_allclose(curves.score.fold_scores[at], expected)
    np.testing.assert_allclose(
        curves.score.baseline_fold_scores, cross_val_score(DummyRegressor(), NOISE, SUM, cv=folds)
    )
    deviation = curves.score.fold_scores[0].std(ddof=1)
    assert curves.score.errors[0] == pytest.approx(deviation * np.sqrt(1 / 4 + 50 / 150))
    assert "R2 of Ridge" in curves.score.name


def test_noise_columns_are_dropped_where_they_make_every_map_poor(informative):
    found = informative.droppable()
    assert found.n_kept == found.n_for_score == 3
    assert set(informative.columns[:3]) == {"x0", "x1", "x2"}
    assert found.columns == informative.columns[3:]
    assert not informative.map_decides
    assert "a random map has about 0.5" in found.reason
    assert repr(informative) == "<KeptColumnCurves: 12 columns ranked by FisherScore, 200 rows; keep 3>"


def test_of_columns_that_say_the_same_the_map_needs_few(rng):
    factors = rng.normal(size=(200, 2))
    X = np.hstack([factors] * 4) + 0.05 * rng.normal(size=(200, 8))
    curves = columns_to_drop(X, factors.sum(axis=1) > 0, [0, 1, 2, 3, 4, 5, 6, 7])
    assert curves.droppable().n_kept == 2
    assert curves.trustworthiness[1] > 0.98
    assert curves.trustworthiness[0] < 0.9


def test_nothing_is_recommended_for_pure_noise(rng):
    for target in (COIN, rng.normal(size=200)):
        curves = columns_to_drop(NOISE, target, numbers=[1, 4])
        found = curves.droppable()
        assert (found.n_kept, found.columns, found.n_for_score) == (None, (), None)
        assert found.finding == "No recommendation"
        assert f"{curves.score.baseline:.3f}" in found.reason
        assert "not above 0" in found.reason
        assert "200 rows" in found.reason


@pytest.mark.slow
@pytest.mark.parametrize(("n_rows", "n_columns"), [(150, 12), (60, 30)])
def test_few_tables_of_pure_noise_get_a_recommendation(n_rows, n_columns):
    recommended = 0
    for seed in range(40):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(n_rows, n_columns)), rng.integers(0, 2, n_rows)
        curves = columns_to_drop(X, y, "fisher-score", estimator="ridge", numbers=[1, 4])
        recommended += curves.score.beats_baseline
    assert recommended <= 4


def test_a_ranking_inside_the_folds_is_not_optimistic_and_a_fixed_one_is(rng):
    X, y = rng.normal(size=(120, 300)), np.arange(120) % 2
    options = {"numbers": [5], "estimator": "gaussian_nb"}
    inside = columns_to_drop(X, y, FisherScore(), **options)
    fixed = columns_to_drop(X, y, inside.columns, **options)
    assert fixed.columns == inside.columns
    assert inside.score.means[0] < 0.65
    assert fixed.score.means[0] > 0.7
    assert "fixed before the folds" in fixed.droppable().reason
    assert "fixed before the folds" not in inside.droppable().reason
    assert fixed.ranking == "the list passed as ranking"


def test_every_form_of_a_ranking_gives_the_same_curves(wine):
    selector = RankSelector(FisherScore(), n_features=2)
    forms = ["fisher-score", selector, selector.fit(WINE.iloc[:, :4], CULTIVAR)]
    for form in forms:
        curves = columns_to_drop(WINE, CULTIVAR, form, numbers=[1, 3, 8], estimator="gaussian_nb")
        np.testing.assert_array_equal(curves.score.fold_scores, wine.score.fold_scores)
        np.testing.assert_array_equal(curves.trustworthiness, wine.trustworthiness)
        assert curves.ranking == "FisherScore"


def test_the_default_ranking_depends_on_the_target():
    assert columns_to_drop(WINE, CULTIVAR, numbers=[2]).ranking == "InformationGain"
    alone = columns_to_drop(WINE, numbers=[2, 10])
    assert alone.ranking == "LaplacianScore"
    assert alone.score is None
    assert alone.droppable().n_kept == 10
    assert alone.droppable().n_for_score is None


def test_columns_without_a_target_and_with_a_poor_map_have_no_recommendation():
    found = columns_to_drop(NOISE, numbers=[6]).droppable()
    assert found.n_kept is None
    assert "there is no target" in found.reason


def test_duplicates_are_named():
    X = np.hstack([NOISE[:, :4], NOISE[:, [1, 0]]])
    curves = columns_to_drop(X, SUM > 0, numbers=[2])
    assert curves.duplicates == {"x4": "x1", "x5": "x0"}
    assert "'x4' duplicates 'x1' (and 1 more duplicates)" in str(curves.droppable())


def test_one_column_cannot_be_dropped():
    curves = columns_to_drop(NOISE[:, :1], SUM > 0)
    assert curves.numbers == (1,)
    assert str(curves.droppable()) == "No recommendation: the table has one column, 'x0'."
    assert curves.plot().axes


def test_rare_classes_are_scored_independently_of_their_frequency():
    rare = np.quantile(SUM, 0.92) < SUM
    curves = columns_to_drop(NOISE, rare, numbers=[1, 2, 3, 6])
    assert curves.score.name.startswith("ROC AUC")
    assert curves.score.means.max() > 0.9
    assert curves.droppable().n_kept == 3
    assert columns_to_drop(NOISE, rare, numbers=[3], scoring="accuracy").score.baseline == pytest.approx(0.92)


def test_a_fold_without_a_class_is_scored_by_balanced_accuracy():
    folds = [(np.arange(0, 178, 2), np.arange(1, 60, 2)), (np.arange(1, 178, 2), np.arange(0, 178, 2))]
    curves = columns_to_drop(WINE, CULTIVAR, numbers=[2], cv=iter(folds))
    assert curves.score.name == "balanced accuracy of logistic regression"


def test_sorted_rows_have_shuffled_folds(informative):
    order = np.argsort(SUM, kind="stable")
    found = columns_to_drop(NOISE[order], (SUM > 0)[order], FisherScore(), numbers=[1, 2, 3, 4, 8])
    np.testing.assert_allclose(found.score.means, informative.score.means, atol=0.03)
    np.testing.assert_allclose(found.trustworthiness, informative.trustworthiness, atol=1e-9)
    assert found.droppable().n_kept == 3


# scikit-learn before 1.8 makes folds that lack a class.
@pytest.mark.filterwarnings("ignore:.*TZ506")
def test_groups_of_a_table_stay_in_one_fold(rng):
    group = rng.permutation(np.repeat(np.arange(20), 10))
    X = rng.normal(size=(20, 6))[group] + 0.05 * rng.normal(size=(200, 6))
    target = rng.permutation(np.repeat([0, 1], 10))[group]
    options = {"numbers": [3], "estimator": "knn"}
    assert columns_to_drop(X, target, **options).score.means[-1] > 0.95
    grouped = columns_to_drop(open_table(X, target=target, groups=group), **options)
    assert not grouped.score.beats_baseline
    assert "whole groups" in grouped.droppable().reason


def test_more_columns_than_rows(rng):
    X = rng.normal(size=(40, 120))
    curves = columns_to_drop(X, X[:, 7] + 0.3 * rng.normal(size=40) > 0, FisherScore(), estimator="ridge")
    assert curves.numbers == (1, 2, 3, 5, 8, 14, 24, 41, 70, 120)
    assert curves.columns[0] == "x7"
    assert curves.droppable().n_for_score == 1


def test_mixed_columns_with_missing_values(rng):
    table = WINE[["proline", "flavanoids", "ash", "hue"]].copy()
    table.loc[::7, "hue"] = np.nan
    table["origin"] = np.where(CULTIVAR == 0, "hill", rng.choice(["hill", "plain", "coast"], 178))
    # In some folds the column has no value in the training rows.
    table["lab"] = np.nan
    table.loc[[3, 4], "lab"] = [1.0, 2.0]
    with pytest.warns(TamizWarning, match="missing values"):
        curves = columns_to_drop(table, CULTIVAR)
    assert curves.numbers == (1, 2, 3, 4, 5, 6)
    assert np.isfinite(curves.score.fold_scores).all()
    assert np.isfinite(curves.trustworthiness).all()
    assert curves.droppable().n_kept is not None


def test_excluded_columns_are_reported_once():
    table = WINE.iloc[:, :3].assign(number=np.arange(178))
    with pytest.warns(TamizWarning) as warned:
        columns_to_drop(table, CULTIVAR)
    assert len([one for one in warned if "excluded" in str(one.message)]) == 1


def test_a_warning_of_a_map_of_fewer_columns_names_their_number():
    with pytest.warns(TamizWarning) as warned:
        columns_to_drop(WINE.iloc[:60, :4], numbers=[2, 3], reducer=MDS(2, max_iter=2, dissimilarity="seuclidean"))
    texts = [one.message.args[0] for one in warned]
    assert len(texts) == 2
    assert texts[1].startswith("Map of 3 columns: ")
    assert texts[1].code == texts[0].code == "TZ501"


def test_many_rows_are_sampled(monkeypatch):
    monkeypatch.setattr(kept_columns, "_MAX_MAPPED_ROWS", 150)
    monkeypatch.setattr(kept_columns, "_MAX_QUADRATIC_ROWS", 60)
    monkeypatch.setattr(kept_columns, "_MAX_EXACT_ROWS", 100)
    monkeypatch.setattr(kept_columns, "_N_COMPARED", 50)
    curves = columns_to_drop(WINE, CULTIVAR, numbers=[2])
    assert (curves.n_samples, curves.n_mapped, curves.n_compared) == (178, 150, 50)
    assert (curves.trustworthiness_errors > 0).all()
    assert (curves.stress_errors > 0).all()
    assert curves.score.n_samples == 178
    reason = curves.droppable().reason
    assert "the map of 150 sampled rows, of which 50 were compared with all, has a trustworthiness of" in reason
    assert f"with a standard error of {curves.trustworthiness_errors[-1]:.3f} (with all" in reason
    again = columns_to_drop(WINE, CULTIVAR, numbers=[5])
    assert again.trustworthiness[-1] == curves.trustworthiness[-1]
    quadratic = columns_to_drop(WINE, numbers=[2], reducer=MDS(2, dissimilarity="seuclidean"))
    assert (quadratic.n_mapped, quadratic.n_compared) == (60, 60)


def test_the_reason_states_the_values_of_the_curves(wine):
    found = wine.droppable(0.03)
    at = wine.numbers.index(found.n_kept)
    numbers = [float(one) for one in re.findall(r"\d\.\d{3}\b", found.reason)]
    score = wine.score
    expected = [
        score.means[at],
        score.errors[at],
        score.means.max(),
        score.margin,
        score.baseline,
        wine.trustworthiness[at],
        wine.trustworthiness[-1],
    ]
    np.testing.assert_allclose(numbers, expected, atol=5e-4)
    assert score.means[at] >= score.means.max() - score.margin
    assert wine.trustworthiness[at] >= wine.trustworthiness[-1] - 0.03
    assert str(found).startswith(f"{found.n_kept} of 13 columns are enough: ")
    assert "178 rows" in found.reason
    # No smaller number satisfies both.
    for smaller in range(at):
        near = score.means[smaller] >= score.means.max() - score.margin
        assert not (near and wine.trustworthiness[smaller] >= wine.trustworthiness[-1] - 0.03)


def _score(*means, baseline=0.5):
    folds = np.array(means)[:, None] + [-0.01, 0.0, 0.01]
    return ScoreCurve("accuracy of a model", 0.0, "3 folds", 178, folds, np.full(3, baseline), 1 / 3 + 1 / 2, True)


def test_no_number_is_recommended_where_score_and_map_disagree(wine):
    found = replace(wine, score=_score(0.9, 0.7, 0.7, 0.7)).droppable()
    assert (found.n_kept, found.n_for_score) == (None, 1)
    assert "only with 1 column, and" in found.reason
    assert "only with 13 columns. Without columns" in found.reason


def test_all_columns_may_be_needed(wine):
    found = replace(wine, score=_score(0.6, 0.7, 0.8, 0.9)).droppable()
    assert (found.n_kept, found.columns) == (13, ())
    assert found.finding == "No column can be dropped"
    assert "For the score alone" not in found.reason


def test_a_number_without_a_score_is_not_recommended(wine):
    score = _score(0.9, 0.9, 0.9, 0.9)
    score.fold_scores[0, 1] = -np.inf
    curves = replace(wine, score=score, trustworthiness=np.full(4, 0.9))
    assert curves.droppable().n_kept == 3
    assert curves.plot().axes


def test_a_map_that_is_one_point_has_no_measures(rng, monkeypatch):
    monkeypatch.setattr(kept_columns, "_MAX_MAPPED_ROWS", 20)
    sampled = np.random.default_rng(0).choice(40, 20, replace=False)
    table = rng.normal(size=(40, 2))
    # Only a row that is not mapped has another value.
    table[:, 0] = np.arange(40) == np.setdiff1d(np.arange(40), sampled)[0]
    with pytest.warns(TamizWarning, match="constant"):
        curves = columns_to_drop(table, ranking=["x0", "x1"])
    assert np.isnan([curves.trustworthiness[0], curves.stress[0]]).all()
    assert curves.trustworthiness[1] == 1
    assert curves.droppable().n_kept == 2
    assert curves.plot().axes


def test_the_picture_marks_the_recommendation(wine):
    figure = wine.plot(0.03)
    assert len(figure.axes) == 3
    n_kept = wine.droppable(0.03).n_kept
    for panel in figure.axes:
        assert panel.get_xscale() == "log"
        assert panel.get_xlim() == figure.axes[0].get_xlim()
        assert any(list(line.get_xdata()) == [n_kept, n_kept] for line in panel.lines)
    score, trust, stress = figure.axes
    np.testing.assert_array_equal(score.lines[0].get_ydata(), wine.score.means)
    np.testing.assert_array_equal(trust.lines[0].get_ydata(), wine.trustworthiness)
    np.testing.assert_array_equal(stress.lines[0].get_ydata(), wine.stress)
    assert [tick.get_text() for tick in stress.get_xticklabels()] == ["1", "3", "8", "13"]
    assert score.get_title(loc="left").startswith(wine.droppable(0.03).finding)
    assert "without columns: 0.500" in [text.get_text() for text in score.get_legend().get_texts()]


def test_a_baseline_far_below_the_curve_is_stated_and_not_drawn(wine):
    panel = replace(wine, score=_score(0.95, 0.96, 0.97, 0.97)).plot().axes[0]
    assert "without columns: 0.500, below this panel" in [text.get_text() for text in panel.get_legend().get_texts()]
    assert panel.get_ylim()[0] > 0.8


def test_the_picture_states_that_a_poor_map_does_not_decide(informative, wine):
    def texts(curves):
        return [text.get_text() for text in curves.plot().axes[1].get_legend().get_texts()]

    assert texts(informative) == ["below 0.75 with all columns: does not decide"]
    assert texts(wine) == ["0.02 below that with all columns"]


def test_the_picture_without_recommendation_states_why():
    curves = columns_to_drop(NOISE, COIN, numbers=[1, 4])
    figure = curves.plot()
    assert "does not beat the baseline" in figure.axes[0].get_title(loc="left").replace("\n", " ")
    assert len(columns_to_drop(WINE, numbers=[2]).plot().axes) == 2


def test_the_picture_labels_few_of_many_numbers():
    X = load_breast_cancer().data[::4]
    curves = columns_to_drop(X, numbers=range(1, 31), metric="seuclidean")
    labels = [tick.get_text() for tick in curves.plot().axes[-1].get_xticklabels()]
    assert labels[0] == "1"
    assert labels[-1] == "30"
    assert len(labels) <= 12


def test_the_table_is_not_changed_and_curves_are_repeatable(wine):
    before = WINE.copy()
    again = columns_to_drop(WINE, CULTIVAR, FisherScore(), numbers=[8, 3, 1, 3], estimator="gaussian_nb")
    pd.testing.assert_frame_equal(WINE, before)
    np.testing.assert_array_equal(again.score.fold_scores, wine.score.fold_scores)
    np.testing.assert_array_equal(again.stress, wine.stress)


@pytest.mark.parametrize(
    ("error", "match", "arguments"),
    [
        (TypeError, "ranking must be a RankSelector", {"ranking": 3}),
        (TypeError, "column names or whole numbers", {"ranking": [1.5]}),
        (ValueError, "which is not a column", {"ranking": ["flavonoids"]}),
        (ValueError, "numbered from 0 to 12", {"ranking": [13]}),
        (ValueError, "contains column 'alcohol' twice", {"ranking": ["alcohol", 0]}),
        (ValueError, "lacks 11 of the 13 used columns, such as 'alcohol'", {"ranking": ["ash", "hue"]}),
        (TypeError, "reducer must be a map", {"reducer": "pca"}),
        (ValueError, "has no columns to drop", {"metric": "precomputed"}),
        (ValueError, "numbers must be from 1 to 13", {"numbers": [14]}),
        (ValueError, "numbers is an empty list", {"numbers": []}),
        (TypeError, "numbers must be a list", {"numbers": 3}),
        (ValueError, "at least 2 folds", {"cv": [(np.arange(0, 178, 2), np.arange(1, 178, 2))], "numbers": [2]}),
        (DataError, "requires y", {"y": None, "estimator": "ridge"}),
        (DataError, "requires y", {"y": None, "ranking": InformationGain()}),
        (DataError, "Map of 13 columns: ", {"reducer": LaplacianEigenmaps(2, graph=KNearest(200)), "numbers": [2]}),
    ],
)
def test_unusable_arguments(error, match, arguments):
    with pytest.raises(error, match=match):
        columns_to_drop(WINE, **({"y": CULTIVAR} | arguments))


def test_unusable_tables():
    with pytest.raises(DataError, match="2 rows"):
        columns_to_drop(NOISE[:2])
    with pytest.raises(DataError, match="All 20 rows are equal"):
        columns_to_drop(np.ones((20, 3)))
    with pytest.raises(DataError, match="not defined for weighted rows"):
        columns_to_drop(open_table(WINE, target=CULTIVAR, weight=np.full(178, 2.0)))
    with pytest.raises(DataError, match="No column"):
        columns_to_drop(pd.DataFrame({"empty": [np.nan] * 20}))
    with pytest.raises(ValueError, match="tolerance"):
        columns_to_drop(WINE, numbers=[2]).droppable(-1)
