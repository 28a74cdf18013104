"""Nested cross-validation and the permutation null separate real effects from chance; the apparent score does not."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from scipy.io import loadmat
from sklearn.feature_selection import SelectFromModel
from sklearn.linear_model import LogisticRegression, RidgeClassifier
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import cross_val_score
from tests.assessment.tables import noise, signal
from tests.reference.tables import shared

from tamiz import RankSelector, SubsetSelector, load, open_table, save, selection_report
from tamiz.assessment import trials
from tamiz.criteria import CFS, CrossValidated, FisherScore, InformationGain, Variance
from tamiz.exceptions import TamizWarning
from tamiz.models import design_matrix
from tamiz.models.folds import make_folds
from tamiz.runtime import progress
from tamiz.search import BestFirst, Evaluations, Forward, Seconds
from tamiz.table import views

RANKED = RankSelector(FisherScore(), n_features=20)
SEARCHED = SubsetSelector(CFS(), BestFirst())


def one_number(report):
    return str({name: value for name, value in report.to_dict().items() if name != "notes"})


# The law


@pytest.mark.parametrize(("seed", "predictor"), [(0, "naive_bayes"), (2, "naive_bayes"), (3, "knn")])
def test_noise_has_a_nested_score_at_the_baseline_and_within_the_permutation_null(seed, predictor):
    X, y = noise(seed)
    report = selection_report(RANKED, X, y, model=predictor, scoring="accuracy", n_permutations=19, n_splits=5)
    assert report.baseline.mean == 0.5
    # Margins: the honest score within 0.1 of what no column scores, the optimistic one 0.25 or more above that.
    assert abs(report.nested.mean - 0.5) <= 0.1
    assert report.apparent.mean >= 0.75
    assert report.optimism > 0.2
    assert report.null.p_value > 0.1
    assert report.verdict.startswith(
        "The selected columns show no gain over the baseline, and the search finds as much on shuffled targets: roc_auc 0."
    )


def test_a_real_effect_has_both_scores_above_the_baseline_and_the_permutation_null():
    X, y = signal()
    report = selection_report(SEARCHED, X, y, n_permutations=19, n_splits=5)
    assert set(report.columns) >= {"x0", "x3"}
    assert report.nested.mean > 0.75
    assert abs(report.optimism) < 0.1
    assert report.null.p_value == 0.05
    assert report.verdict.startswith("The selected columns predict better than none: roc_auc 0.")
    assert report.frequencies[[0, 3]].tolist() == [1, 1]


def test_p_values_of_noise_are_spread_between_0_and_1():
    found = [
        selection_report(RANKED, *noise(seed, n=40, p=60), n_permutations=19, n_splits=2).null.p_value
        for seed in range(12)
    ]
    # The mean of 8 numbers drawn between 0 and 1 lies within 0.25 of the middle in 98 of 100 cases.
    assert abs(np.mean(found) - 0.5) < 0.25
    assert np.ptp(found) > 0.5


def test_a_target_that_is_a_number_is_scored_by_the_variance_explained():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 5))
    report = selection_report(SEARCHED, X, X[:, 0] + 0.3 * rng.normal(size=100), n_permutations=0)
    assert (report.scoring, report.model) == ("r2", "5 nearest neighbours")
    assert "x0" in report.columns
    assert report.baseline.mean < 0 < 0.5 < report.nested.mean
    assert report.null is None


# What the numbers are


def test_the_scores_are_those_of_the_predictor_fitted_anew_in_every_fold():
    X, y = signal(p=5)
    report = selection_report(SEARCHED, X, y, model=LogisticRegression(), n_splits=3, n_permutations=0)
    table = open_table(X, y)
    folds = make_folds(table, 3, np.random.default_rng(0).integers(0, 2**31, 2).tolist()[0])
    cv = [(fold.train, fold.test) for fold in folds.splits]
    whole = SubsetSelector(CFS(), BestFirst()).fit(X, y).support_
    assert report.support.tolist() == whole.tolist()
    assert report.scoring == "roc_auc"
    for scoring in ("roc_auc", "balanced_accuracy", "accuracy"):
        found = report.scores_of(scoring)
        every = cross_val_score(LogisticRegression(), X, y, cv=cv, scoring=scoring)
        assert found.all_columns.values.tolist() == every.tolist()
        once = cross_val_score(LogisticRegression(), X[:, whole], y, cv=cv, scoring=scoring)
        assert found.apparent.values.tolist() == once.tolist()
    for k, fold in enumerate(folds.splits):
        chosen = SubsetSelector(CFS(), BestFirst()).fit(X[fold.train], y[fold.train]).support_
        assert report.fold_sets[k].tolist() == chosen.tolist()
        model = LogisticRegression().fit(X[fold.train][:, chosen], y[fold.train])
        tested = X[fold.test][:, chosen]
        assert report.nested.values[k] == roc_auc_score(y[fold.test], model.decision_function(tested))
        assert report.other_scores["accuracy"].nested.values[k] == model.score(tested, y[fold.test])


def test_a_score_that_was_asked_for_or_that_the_merit_was_given_decides_with_the_usual_ones_beside():
    X, y = signal(n=60, p=4)
    asked = selection_report(SEARCHED, X, y, scoring="f1", n_splits=2, n_permutations=0)
    assert (asked.scoring, asked.deciding_score) == ("f1", "f1")
    assert list(asked.other_scores) == ["roc_auc", "balanced_accuracy", "accuracy"]
    merit = CrossValidated("gaussian_nb", cv=2, scoring="balanced_accuracy")
    given = selection_report(SubsetSelector(merit, Forward()), X, y, n_splits=2, n_permutations=0)
    assert (given.scoring, list(given.other_scores)) == ("balanced_accuracy", ["roc_auc", "accuracy"])
    plain = selection_report(
        SubsetSelector(CrossValidated("gaussian_nb", cv=2), Forward()), X, y, n_splits=2, n_permutations=0
    )
    assert (plain.scoring, plain.model) == ("roc_auc", "Gaussian naive Bayes")


def test_a_fold_without_a_class_and_a_predictor_without_probabilities_have_no_area():
    X, y = signal(n=60)
    two = RankSelector(FisherScore(), n_features=2)
    ordered = np.argsort(y, kind="stable")
    # Whole groups of one class each, one of them a fold.
    groups = np.empty(60, dtype=int)
    groups[ordered] = np.arange(60) // 15
    with pytest.warns(
        TamizWarning, match="The area under the ROC curve is left out: fold 1 has no training rows, or no test rows"
    ) as told:
        report = selection_report(two, X, y, groups=groups, n_splits=4, n_permutations=0)
    assert (report.scoring, list(report.other_scores)) == ("balanced_accuracy", ["accuracy"])
    # scikit-learn's own warning, that a class is predicted which is not tested, does not reach the user.
    assert {one.category for one in told} == {TamizWarning}
    three = np.arange(60) % 3
    with pytest.warns(TamizWarning, match="left out: RidgeClassifier provides no probabilities"):
        report = selection_report(
            RankSelector(FisherScore(), n_features=2),
            X,
            three,
            model=RidgeClassifier(),
            n_splits=2,
            n_permutations=0,
        )
    assert report.scoring == "balanced_accuracy"


def test_a_fold_that_chooses_nothing_scores_as_no_column():
    X, y = noise(2, n=40, p=3)
    with pytest.warns(TamizWarning, match="finds no column worth keeping"):
        report = selection_report(SEARCHED, X, y, n_splits=4, n_permutations=3)
    assert not report.support.any()
    assert not report.fold_sets.any()
    assert report.nested.values.tolist() == report.apparent.values.tolist() == report.baseline.values.tolist()
    assert report.stability.estimate == 1
    assert report.null.p_value == 1
    assert repr(report).splitlines()[1].split() == ["selected", "no", "column", "on", "all", "rows"]
    # What the folds told was told of the whole table already.
    assert [note[:30] for note in report.notes] == ["CFS finds no column worth keepi"[:30]]


def test_the_standard_error_is_corrected_for_shared_rows():
    X, y = signal()
    scores = selection_report(SEARCHED, X, y, n_splits=5, n_permutations=0).nested
    assert scores.standard_error == pytest.approx(np.sqrt((1 / 5 + 1 / 4) * scores.values.var(ddof=1)))
    low, high = scores.interval
    # Student's t with 4 degrees of freedom.
    assert (high - low) / 2 == pytest.approx(2.776445105 * scores.standard_error)
    assert low + high == pytest.approx(2 * scores.mean)


def test_the_numbers_do_not_depend_on_the_number_of_threads_nor_on_how_rows_are_stored(monkeypatch):
    X, y = signal()
    table = pd.DataFrame(X, columns=list("abcdefgh"))
    table["kind"] = np.where(np.random.default_rng(0).random(80) < 0.3, None, np.where(y > 0, "u", "v"))
    told = {
        one_number(selection_report(SEARCHED, table, y, n_permutations=3, n_splits=3, n_jobs=n_jobs))
        for n_jobs in (1, 2)
    }
    monkeypatch.setattr(views, "_MAX_MEMORY_BYTES", 0)
    monkeypatch.setattr(trials, "_SMALL_BYTES", 0)
    told.add(one_number(selection_report(SEARCHED, table, y, n_permutations=3, n_splits=3)))
    assert len(told) == 1


def test_another_seed_makes_other_folds():
    X, y = signal()
    one, other = (selection_report(SEARCHED, X, y, n_permutations=0, n_splits=3, random_state=seed) for seed in (0, 1))
    assert (one.seed, other.seed) == (0, 1)
    assert selection_report(SEARCHED, X, y, n_permutations=0, n_splits=2, random_state=np.int64(3)).seed == 3
    assert one.baseline.values.tolist() == other.baseline.values.tolist()
    assert one.nested.values.tolist() != other.nested.values.tolist()


def test_a_table_brings_its_roles_and_gives_the_same_as_values_beside_a_table():
    X, y = signal()
    ward = np.arange(80) // 4
    beside = selection_report(SEARCHED, X, y, groups=ward, n_permutations=2, n_splits=3)
    table = open_table(np.column_stack([X, ward, y]), "x9", groups="x8")
    inside = selection_report(SEARCHED, table, n_permutations=2, n_splits=3)
    assert inside.folds_description == "3 folds of whole groups (x8)"
    assert inside.null.description == "shuffled within groups"
    assert inside.nested.values.tolist() == beside.nested.values.tolist()
    assert inside.null.null_values.tolist() == beside.null.null_values.tolist()


def test_rows_of_no_weight_and_without_a_target_take_no_part_and_are_reported():
    X, y = signal()
    weight = np.ones(80)
    weight[::7] = 0
    left = weight > 0
    missing = np.where(np.arange(80) == 1, np.nan, y)
    with pytest.warns(TamizWarning) as told:
        weighted = selection_report(
            SelectFromModel(LogisticRegression()), X, missing, sample_weight=weight, n_permutations=2, n_splits=3
        )
    assert weighted.notes == (
        "1 row without a target was left out.",
        "12 rows of weight 0 left out where models are scored.",
    )
    assert tuple(one.message.args[0] for one in told) == weighted.notes
    left[1] = False
    without = selection_report(SelectFromModel(LogisticRegression()), X[left], y[left], n_permutations=2, n_splits=3)
    assert weighted.n_samples == left.sum()
    assert weighted.nested.values.tolist() == without.nested.values.tolist()
    assert weighted.null.null_values.tolist() == pytest.approx(without.null.null_values.tolist())


def test_a_selector_stays_as_it_is_and_its_journal_is_for_the_whole_table(tmp_path):
    X, y = signal()
    selector = SubsetSelector(CFS(), BestFirst(), journal=tmp_path / "search.journal")
    report = selection_report(selector, X, y, n_permutations=1, n_splits=2)
    assert "support_" not in vars(selector)
    written = (tmp_path / "search.journal").read_text()
    selector.fit(X, y)
    assert selector.support_.tolist() == report.support.tolist()
    assert (tmp_path / "search.journal").read_text() == written


# Groups and time


def test_rows_of_one_group_doubled_leak_without_groups_and_not_with_them():
    X, y = noise(7, n=40, p=200)
    # Every row eight times, nearly: who looks for the nearest rows finds its doubles.
    again = np.tile(np.arange(40), 8)
    X = X[again] + 0.01 * np.random.default_rng(1).normal(size=(320, 200))
    leaking, honest = (
        selection_report(RANKED, X, y[again], groups=groups, model="knn", n_splits=5, n_permutations=19)
        for groups in (None, again)
    )
    assert leaking.nested.mean > 0.95
    assert leaking.null.p_value == 0.05
    assert abs(honest.nested.mean - 0.5) < 0.15
    assert honest.null.description == "exchanged among whole groups"
    assert honest.null.p_value > 0.1


def test_with_times_test_rows_come_after_training_rows():
    rng = np.random.default_rng(0)
    when = np.arange(120)
    y = (np.sin(when / 6) > 0).astype(int)
    # A clock: in folds at random the nearest times tell the class, forward in time they do not.
    X = np.column_stack([when + rng.normal(size=120), *rng.normal(size=(2, 120))])
    keep_all = RankSelector(Variance())
    at_random = selection_report(keep_all, X, y, model="tree", n_permutations=0)
    forward = selection_report(keep_all, X, y, time=when, model="tree", n_splits=5, n_permutations=0)
    assert at_random.nested.mean > 0.8
    assert forward.nested.mean < 0.65
    assert forward.folds_description == "5 folds forward in time (time)"


def test_with_times_a_search_reads_no_later_row(monkeypatch):
    seen = []

    class Watched(RankSelector):
        def fit(self, X, y=None, **more):
            seen.append(X.time.copy())
            return super().fit(X, y, **more)

    X, y = signal()
    when = np.random.default_rng(3).permutation(80) // 2
    report = selection_report(
        Watched(FisherScore(), n_features=2), X, y, time=when, n_splits=4, n_permutations=0, n_jobs=1
    )
    assert len(report.fold_sets) == 4
    assert len(seen) == 5
    for before, after in pairwise(seen[1:]):
        assert set(before) < set(after)
        assert min(set(after) - set(before)) > max(before)


def test_an_estimator_gets_encoded_columns_of_a_table_with_text_and_none_that_is_excluded():
    X, y = signal()
    table = pd.DataFrame(X, columns=list("abcdefgh"))
    table["kind"] = np.where(np.random.default_rng(0).random(80) < 0.3, None, np.where(y > 0, "u", "v"))
    table["id"] = [f"row {k}" for k in range(80)]
    with pytest.warns(TamizWarning, match="excluded: id"):
        own, named = (
            selection_report(SEARCHED, table, y, model=model, n_splits=3, n_permutations=0)
            for model in (LogisticRegression(max_iter=1000), "logistic")
        )
    assert (own.model, named.model) == ("LogisticRegression", "logistic regression")
    for role in ("nested", "apparent", "all_columns"):
        assert getattr(own, role).values.tolist() == getattr(named, role).values.tolist()


def test_warnings_of_fits_are_notes_with_their_number():
    X, y = signal()
    with pytest.warns(TamizWarning, match=r"LogisticRegression warned in \d+ of \d+ fits: ConvergenceWarning"):
        report = selection_report(SEARCHED, X, y, model=LogisticRegression(max_iter=1), n_splits=2, n_permutations=0)
    assert any("ConvergenceWarning" in note for note in report.notes)


# What cannot be done


def rows(y, p=3):
    return np.random.default_rng(0).normal(size=(len(y), p)), y


@pytest.mark.parametrize(
    ("y", "options", "message"),
    [
        ([0] * 20 + [1], {}, r"^Class '1' has 1 row; every class needs at least 2"),
        ([0, 1] * 10, {"groups": [7] * 20}, r"^All rows are in one group, '7' in 'group'"),
        (
            [0] * 10 + [1] * 10,
            {"groups": [0] * 10 + [1] * 10},
            r"^Fold 1 of 2: The target 'target' is of class '[01]' in all 10 training rows\.$",
        ),
        (
            [0] * 10 + [1] * 10,
            {"time": range(20)},
            r"^Fold 1 of 10: The target 'target' is of class '0' in all 2 training rows\.$",
        ),
        ([0, 1] * 10, {"groups": [1, 2, 3]}, r"^The group has 3 values and the table 20 rows"),
        ([0, 1] * 10, {"time": [1.0] * 19 + [np.nan]}, r"^row 19: the time is missing"),
        (
            [0, 1] * 10,
            {"groups": [1] * 10 + [2] * 10, "time": range(20)},
            r"^Groups \('group'\) and time \('time'\) cannot be combined",
        ),
        ([0, 1] * 10, {"n_splits": 1}, r"^n_splits must be at least 2, got 1\.$"),
        ([0, 1] * 10, {"n_permutations": -1}, r"^n_permutations must be at least 0, got -1\.$"),
        (
            [0, 1] * 10,
            {"model": "naive"},
            r"^model must be one of 'gaussian_nb', 'naive_bayes', 'knn', .*'gradient_boosting', got 'naive'",
        ),
        ([0, 1] * 10, {"scoring": "acuracy"}, r"^scoring must be .*, got 'acuracy' \(did you mean 'accuracy'\?\)\.$"),
        (
            np.arange(20) / 7,
            {"model": "naive_bayes"},
            r"^Naive Bayes needs classes, and the target 'target' is a number",
        ),
        ([0, 1] * 10, {"model": "knn", "sample_weight": np.full(20, 2.0)}, r"^Nearest neighbours accept no weights;"),
        (
            [0, 1] * 10,
            {"scoring": lambda *_: np.nan},
            r"^Fold 1 of 10, no column, <lambda>: <lambda> is nan on the 2 test rows;",
        ),
        (None, {}, r"^selection_report requires a target, but the target y is None\.$"),
    ],
)
def test_bad_input_is_one_sentence(y, options, message):
    X, y = rows(y) if y is not None else (np.eye(20), None)
    with pytest.raises(ValueError, match=message):
        selection_report(RankSelector(InformationGain() if y is not None else Variance()), X, y, **options)


@pytest.mark.filterwarnings("ignore:invalid value encountered in cast")
def test_an_error_in_a_fold_names_the_fold():
    class Fails(LogisticRegression):
        def predict(self, X):
            return np.full(len(X), np.nan)

    X, y = signal()
    with pytest.raises(ValueError, match=r"^Fold 1 of 3, .*NaN"):
        selection_report(RANKED.set_params(n_features=2), X, y, model=Fails(), n_splits=3)


def test_a_search_of_a_fold_that_cannot_be_made_is_named():
    X, y = signal(n=20)
    X = pd.DataFrame(X)
    X.columns = list("abcdefgh")
    # The rows without a gap are all in one block of time.
    X.loc[5:, "h"] = np.nan
    X.loc[:4, "g"] = np.nan
    selector = SubsetSelector(CFS(), Forward(fixed=["g"]))
    with pytest.raises(ValueError, match=r"^Fold 1 of 3: Column 'g' is fixed, but is not used in this table\."):
        selection_report(selector, X, y, time=np.arange(20), n_splits=3, n_permutations=0)


def test_fewer_folds_and_empty_sets_are_reported():
    X, y = noise(0, n=30, p=3)
    y = np.arange(30) < 4
    with pytest.warns(TamizWarning, match=r"4 folds in place of 10: class 'True' has 4 rows\.$"):
        report = selection_report(RankSelector(FisherScore(), n_features=1), X, y, n_permutations=0)
    assert report.notes == ("4 folds in place of 10: class 'True' has 4 rows.",)


def test_a_search_stopped_by_the_clock_is_reported_as_such():
    X, y = signal()
    selector = SubsetSelector(CFS(), BestFirst(), stop=Seconds(60) | Evaluations(5))
    report = selection_report(selector, X, y, n_splits=2, n_permutations=0)
    assert report.notes == ("The search has a time limit: another run, or another machine, may select other columns.",)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_folds_model_scores_and_shuffled_targets_are_counted_as_they_are_done(n_jobs):
    told = []
    with progress.use_listener(lambda *step: told.append(step)):
        selection_report(RANKED, *noise(0, p=30), n_splits=3, n_permutations=2, n_jobs=n_jobs)
    assert [step for step in told if step[0] in ("Folds", "Model scores", "Shuffled targets")] == [
        *(("Folds", done, 3) for done in range(4)),
        *(("Model scores", done, 2) for done in range(3)),
        *(("Shuffled targets", done, 2) for done in range(3)),
    ]
    # What happens inside a fold, or inside the scores of a model, is not reported.
    begun = told.index(("Folds", 0, 3))
    assert {step[0] for step in told[begun:]} == {"Folds", "Model scores", "Shuffled targets"}


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_control_c_ends_the_assessment(n_jobs):
    class Interrupted(RankSelector):
        def fit(self, X, y=None, **more):
            if X.schema.n_rows < 80:
                raise KeyboardInterrupt
            return super().fit(X, y, **more)

    X, y = signal()
    with pytest.raises(KeyboardInterrupt):
        selection_report(Interrupted(FisherScore(), n_features=2), X, y, n_jobs=n_jobs)


def test_a_report_is_stored_and_read_again(tmp_path):
    X, y = signal()
    report = selection_report(SEARCHED, X, y, n_splits=2, n_permutations=2)
    save(report, tmp_path / "report.tamiz")
    assert load(tmp_path / "report.tamiz").to_dict() == report.to_dict()


def test_the_default_number_of_permutations_is_reported():
    X, y = signal(n=40, p=4)
    report = selection_report(RankSelector(FisherScore(), n_features=1), X, y, n_splits=2)
    assert len(report.null.null_values) == 99
    assert report.notes == (
        "99 shuffled targets, by the size of the table; n_permutations of selection_report sets another number.",
    )


def test_all_columns_that_do_not_fit_in_memory_are_left_out_and_reported(monkeypatch):
    def refuse(n_bytes, what, way_out):
        if n_bytes > 40_000:
            raise MemoryError("too much")

    monkeypatch.setattr(design_matrix, "check_memory", refuse)
    X, y = noise(0, n=60, p=60)
    report = selection_report(RankSelector(FisherScore(), n_features=1), X, y, model="knn", n_permutations=0)
    assert report.all_columns is None
    assert report.notes == ("The score on all columns was not computed: the rows do not fit in memory.",)
    (line,) = (line for line in repr(report).splitlines() if line.startswith("roc_auc, all"))
    assert line.split() == ["roc_auc,", "all", "columns", "not", "computed", "no", "selection"]


@pytest.mark.slow
def test_madelon_has_an_apparent_a_nested_and_a_null_score():
    table = loadmat(shared("data/madelon.mat"))
    report = selection_report(SEARCHED, table["X"].astype(float), table["Y"].ravel(), model="knn")
    assert report.baseline.mean == pytest.approx(0.5)
    assert report.nested.mean > 0.75
    assert report.all_columns.mean < 0.6
    assert report.null.p_value == 0.05
