"""Error rates on semi-synthetic targets: known truths, the targets themselves, and their signal."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy import stats
from sklearn.feature_selection import SelectKBest, f_classif, f_regression
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tests.reference.error_rates import error_rates

from tamiz import RankSelector, SizeSearchCV, SubsetSelector, load, open_table, save, selection_report
from tamiz.assessment import SelectionErrorRates, selection_error_rates
from tamiz.assessment.semi_synthetic import SyntheticTargets, choose_fold, pooled_r2, prediction_errors
from tamiz.criteria import CFS, CrossValidated, FisherScore, InformationGain, Variance, symmetric_uncertainty
from tamiz.exceptions import DataError, TamizWarning
from tamiz.models.folds import Fold, Folds, make_folds
from tamiz.search import BestFirst, Forward
from tamiz.table.views import with_target

SEARCHED = SubsetSelector(CFS(), Forward())


def orthogonal(n=200, p=12, seed=0):
    """Orthogonal columns: a normal matrix after Gram-Schmidt."""
    X = np.random.default_rng(seed).normal(size=(n, p))
    return np.linalg.qr(X - X.mean(axis=0))[0]


def targets(kind, n=200):
    rows = np.arange(n)
    return {"number": np.exp(rows / n), "binary": rows % 2, "four": np.sort(rows % 4)}[kind]


def mean(rates, name):
    return getattr(rates, name).mean


# Known truths


@pytest.mark.parametrize("kind", ["number", "binary", "four"])
def test_orthogonal_columns_with_a_strong_signal_are_found_without_false_ones(kind):
    ranked = SelectKBest(f_regression if kind == "number" else f_classif, k=3)
    rates = selection_error_rates(ranked, orthogonal(400), targets(kind, 400), n_true=3, signal=1.0, n_draws=10)
    assert mean(rates, "true_positive_rate") >= 0.95
    assert mean(rates, "false_discovery_proportion") <= 0.05
    assert not rates.proxy_sets.any()
    assert (rates.true_sets.sum(axis=1) == 3).all()
    # The truths differ between draws.
    assert len(np.unique(rates.true_sets, axis=0)) > 5


@pytest.mark.parametrize("kind", ["number", "binary", "four"])
def test_a_search_finds_orthogonal_columns(kind):
    rates = selection_error_rates(SEARCHED, orthogonal(400), targets(kind, 400), n_true=3, signal=0.95, n_draws=8)
    assert mean(rates, "true_positive_rate") >= 0.9
    assert mean(rates, "false_discovery_proportion") <= 0.25


def test_without_signal_the_rates_are_those_of_random_columns():
    X = np.random.default_rng(0).normal(size=(60, 40))
    rates = selection_error_rates(
        RankSelector(FisherScore(), n_features=10), X, targets("binary", 60), n_true=8, signal=0.0, n_draws=60
    )
    # 480 true columns of the draws, each found with probability 1/4: the standard error is 0.02.
    assert mean(rates, "chance_true_positive_rate") == 0.25
    assert abs(mean(rates, "true_positive_rate") - 0.25) < 0.06
    assert abs(mean(rates, "false_positive_rate") - 0.25) < 0.02
    assert abs(mean(rates, "false_discovery_proportion") - 0.8) < 0.05


def test_more_signal_finds_more_columns():
    X = np.random.default_rng(1).normal(size=(100, 30))
    ranked = RankSelector(FisherScore(), n_features=5)
    found = [
        mean(selection_error_rates(ranked, X, targets("binary", 100), signal=signal), "true_positive_rate")
        for signal in (0.1, 0.4, 0.9)
    ]
    assert found[0] + 0.15 < found[1]
    assert found[1] + 0.1 < found[2]


def test_in_a_wide_table_a_ranking_of_k_columns_has_k_true_and_false_positives():
    X = np.random.default_rng(2).normal(size=(60, 300))
    rates = selection_error_rates(
        RankSelector(FisherScore(), n_features=7), X, targets("binary", 60), n_true=4, signal=0.6, n_draws=10
    )
    n_false = rates.false_positive_rate.values * (300 - 4)
    assert rates.true_positive_rate.values * 4 + n_false == pytest.approx(np.full(10, 7))
    assert rates.false_discovery_proportion.values * 7 == pytest.approx(n_false)
    assert mean(rates, "true_positive_rate") > 0.3


def test_near_copies_are_proxies_and_never_true_together():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(300, 6))
    # Column 6 + k is nearly the negative of column k.
    X = np.column_stack([X, -X + 0.1 * rng.normal(size=X.shape)])
    rates = selection_error_rates(
        SelectKBest(f_regression, k=6), X, targets("number", 300), n_true=3, signal=0.9, n_draws=10
    )
    assert not (rates.true_sets[:, :6] & rates.true_sets[:, 6:]).any()
    # The copy of a true column is as strongly associated with the target as the column, so both are selected.
    assert mean(rates, "true_positive_rate") > 0.9
    assert mean(rates, "false_discovery_proportion") > 0.4
    assert mean(rates, "strict_false_discovery_proportion") < 0.1
    assert "if proxies of true columns are not counted)" in rates.verdict


def test_a_copy_that_is_selected_in_place_of_a_column_covers_it():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(200, 4))
    # Of identical columns a search selects the first only.
    rates = selection_error_rates(
        SEARCHED, np.column_stack([X, X]), targets("number"), n_true=2, signal=0.9, n_draws=12
    )
    assert 0 < mean(rates, "true_positive_rate") < 0.8
    assert mean(rates, "proxy_true_positive_rate") > 0.95


def test_the_selected_columns_as_truth_are_the_same_in_every_draw():
    X = np.random.default_rng(4).normal(size=(150, 10))
    y = X[:, 2] + X[:, 5] + 0.5 * np.random.default_rng(5).normal(size=150)
    chosen = SelectKBest(f_regression, k=2)
    rates = selection_error_rates(chosen, X, y, truth="selected", n_draws=6)
    assert rates.truth == "selected"
    assert (rates.true_sets == rates.true_sets[0]).all()
    assert np.flatnonzero(rates.true_sets[0]).tolist() == [2, 5]
    assert list(rates.detection_frequencies) == ["x2", "x5"]
    assert min(rates.detection_frequencies.values()) > 0.8


def test_effects_of_opposite_signs_do_not_cancel():
    x = np.random.default_rng(0).normal(size=200)
    X = np.column_stack([x, -x, *np.random.default_rng(1).normal(size=(8, 200))])
    table = open_table(X, x)
    made, rng = SyntheticTargets(table), np.random.default_rng(0)
    for _ in range(20):
        drawn = made.draw_target(np.array([0, 1]), 1.0, rng)
        assert abs(stats.spearmanr(drawn, x)[0]) == pytest.approx(1)


# The rates


def test_the_rates_are_those_of_the_definition():
    rng = np.random.default_rng(6)
    base = rng.normal(size=(120, 5))
    table = pd.DataFrame(base, columns=list("abcde"))
    table["a2"] = table["a"] * 3 + 0.2 * rng.normal(size=120)
    table["b2"] = 1 - table["b"]
    table["level"] = np.where(table["c"] > 0, "high", "low")
    table["same"] = table["level"].map({"high": "h", "low": "l"})
    table.loc[::9, "d"] = np.nan
    y = targets("four", 120)
    rates = selection_error_rates(
        RankSelector(InformationGain(), n_features=5), table, y, n_true=3, signal=0.8, n_draws=15
    )
    filled = table.assign(d=table["d"].fillna(table["d"].mean()))
    associations = {}
    for one in table:
        for other in table:
            numbers = {one, other} <= {*"abcde", "a2", "b2"}
            associations[one, other] = (
                abs(np.corrcoef(filled[one], filled[other])[0, 1])
                if numbers
                else symmetric_uncertainty(tenths(table[one]), tenths(table[other]))
            )
    names = np.array(table.columns)
    for at in range(15):
        expected = error_rates(
            names, set(names[rates.true_sets[at]]), set(names[rates.selected_sets[at]]), associations
        )
        for name, value in expected.items():
            assert getattr(rates, name).values[at] == pytest.approx(value), name
    assert rates.proxy_sets.any()
    assert rates.true_positive_rate.standard_error == pytest.approx(stats.sem(rates.true_positive_rate.values))


def tenths(column):
    return pd.qcut(column, 10, labels=False) if column.dtype.kind == "f" else column


def test_columns_that_are_often_false_are_listed_first():
    masks = np.zeros((4, 8), dtype=bool)
    true, selected = masks.copy(), masks.copy()
    true[:, 0] = selected[:, 0] = True
    selected[:3, 2] = selected[:2, 1] = selected[0, 3:] = True
    rates = SelectionErrorRates(
        "CFS",
        "random",
        tuple("abcd<fgh"),
        50,
        ~masks[0],
        true,
        selected,
        masks,
        true,
        0.5,
        "as requested",
        "number",
        (),
        0,
    )
    assert rates.false_selection_frequencies == {"c": 0.75, "b": 0.5, "d": 0.25, "<": 0.25, "f": 0.25}
    assert rates.detection_frequencies == {"a": 1.0}
    page = rates._repr_html_()
    assert "&lt; 25%" in page
    assert rates.verdict in page
    assert rates.verdict == (
        "If 1 true column of 8 explains 50% of the variance of the target, the selection finds 100% of the true columns, and "
        "51% of the selected columns are false: means of 4 semi-synthetic targets of 50 rows."
    )
    assert json.loads(json.dumps(rates.to_dict(), allow_nan=False))["true_positive_rate"]["mean"] == 1
    assert "falsely selected      c 75%, b 50%, d 25%" in repr(rates)


# The targets


@pytest.mark.parametrize("signal", [0.0, 0.5, 1.0])
def test_a_target_has_the_values_of_the_real_one_whatever_the_order_of_the_rows(signal):
    X, rng = np.random.default_rng(0).normal(size=(500, 6)), np.random.default_rng(1)
    rare = np.arange(500) >= 485
    for y in (
        rare,
        np.sort(np.arange(500) % 7 == 0),
        np.repeat(np.arange(4), [300, 150, 45, 5]),
        np.arange(500.0) ** 3,
    ):
        made = SyntheticTargets(open_table(X, y))
        for _ in range(3):
            drawn = made.draw_target(np.array([1, 4]), signal, rng)
            assert np.sort(with_target(made.table, drawn).target_values()).tolist() == np.sort(y).tolist()
            # A sorted table must not lead to a sorted target.
            assert abs(stats.spearmanr(np.arange(500), drawn)[0]) < 0.25


def test_true_columns_explain_the_requested_share_of_the_variance():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 4))
    made = SyntheticTargets(open_table(X, rng.normal(size=20_000)))
    for signal in (0.1, 0.5, 0.9):
        drawn = made.draw_target(np.array([0, 2]), signal, rng)
        coefficients, squares, *_ = np.linalg.lstsq(np.column_stack([X, np.ones(20_000)]), drawn)
        assert 1 - squares[0] / drawn.var() / 20_000 == pytest.approx(signal, abs=0.02)
        # Effects of equal size.
        assert abs(coefficients[0]) == pytest.approx(abs(coefficients[2]), rel=0.1)
        assert np.abs(coefficients[[1, 3]]).max() < 0.03


def test_a_missing_value_has_the_effect_of_the_mean():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.lognormal(size=300), "level": rng.choice(list("abcd"), 300)})
    missing = rng.random((2, 300)) < 0.2
    table.loc[missing[0], "x"], table.loc[missing[1], "level"] = np.nan, None
    made = SyntheticTargets(open_table(table, rng.normal(size=300)))
    drawn = made.draw_target(np.array([0]), 1.0, rng)
    x, sign = table["x"], np.sign(drawn[table["x"].argmax()] - drawn[table["x"].argmin()])
    above, below = (sign * drawn)[x > x.mean()], (sign * drawn)[x < x.mean()]
    assert below.max() < (sign * drawn)[missing[0]].min()
    assert (sign * drawn)[missing[0]].max() < above.min()
    # The levels are cut from one order, and rows without a level are between those with effects below and above 0.
    drawn = pd.Series(made.draw_target(np.array([1]), 1.0, rng)).groupby(table["level"].fillna("none"))
    ends = pd.DataFrame({"low": drawn.min(), "high": drawn.max()}).sort_values("low")
    assert (ends["high"].to_numpy()[:-1] <= ends["low"].to_numpy()[1:]).all()
    assert 0 < list(ends.index).index("none") < 4


def test_a_target_is_constant_in_groups_if_the_real_one_is():
    rng = np.random.default_rng(0)
    group = rng.permutation(np.repeat(np.arange(40), 5))
    X = rng.normal(size=(40, 5))[group]
    y = (np.arange(40) % 4 == 0)[group]
    made = SyntheticTargets(open_table(X, y, groups=group))
    drawn = made.draw_target(np.array([1]), 0.9, rng)
    assert made.by_group
    assert [len(np.unique(drawn[group == g])) for g in range(40)] == [1] * 40
    assert sum(drawn[group == g][0] for g in range(40)) == 10
    assert not SyntheticTargets(open_table(X, rng.permutation(y), groups=group)).by_group
    rates = selection_error_rates(
        RankSelector(FisherScore(), n_features=1), X, y, groups=group, n_true=1, signal=1.0, n_draws=5
    )
    assert "Every semi-synthetic target is constant in each group, as the real one." in rates.notes
    assert mean(rates, "true_positive_rate") == 1


def test_columns_without_two_values_are_never_true():
    X = np.random.default_rng(0).normal(size=(50, 5))
    X[:, 1] = 3
    X[:, 3] = np.where(np.arange(50) < 10, np.nan, 2)
    rates = selection_error_rates(
        RankSelector(Variance(), n_features=2), X, targets("binary", 50), n_true=4, signal=0.5, n_draws=3
    )
    assert rates.true_sets.tolist() == [[True, False, True, False, True]] * 3
    assert rates.notes[0] == ("Some targets have 3 true columns in place of 4: the others are proxies or constant.")
    with pytest.raises(DataError, match="Every column is constant or excluded"):
        SyntheticTargets(open_table(X[:, [1, 3]], targets("binary", 50)))


# The signal


@pytest.mark.slow
def test_the_signal_of_the_real_target_is_estimated_without_selection_bias():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 20))
    y = X[:, 0] - X[:, 1] + rng.normal(size=300)
    rates = selection_error_rates(SelectKBest(f_regression, k=2), X, y, n_draws=2)
    # Two of three parts of the variance; the interval is halved five times.
    assert rates.signal == pytest.approx(2 / 3, abs=0.1)
    assert rates.signal * 64 % 2 == 1
    assert rates.n_true == 2
    assert rates.signal_description.startswith("as strong as the real one: R2 0.6")
    assert rates.signal_strength == "equal"
    # The apparent score of columns selected from noise would be far above the baseline.
    noise = selection_error_rates(RankSelector(FisherScore(), n_features=10), X, targets("binary", 300), n_draws=2)
    assert noise.signal < 0.2


@pytest.mark.slow
def test_the_signal_includes_what_the_selection_misses():
    # In few rows the selection misses columns, so that the R2 on new rows is far below the signal: about 0.2.
    signals = []
    for seed in range(2):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(80, 60))
        y = np.sqrt(0.6 / 5) * X[:, :5].sum(axis=1) + np.sqrt(0.4) * rng.normal(size=80)
        rates = selection_error_rates(SelectKBest(f_regression, k=5), X, y, n_draws=2)
        signals.append(rates.signal)
    assert np.mean(signals) == pytest.approx(0.6, abs=0.15)


@pytest.mark.parametrize("kind", ["number", "four"])
def test_prediction_errors_are_those_of_ridge_regression(kind):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 4)), targets(kind, 60)
    weight = rng.integers(1, 4, 60).astype(float)
    table = open_table(X, y, weight=weight)
    fold = make_folds(table, 3, 0)[1]
    outputs = (y[:, None] == np.arange(4)) * 1.0 if kind == "four" else y[:, None] / y.max()
    mean = np.average(outputs[fold.train], axis=0, weights=weight[fold.train])
    # The mean and the standard deviation of weighted rows, as of repeated ones.
    repeated = np.repeat(fold.train, weight[fold.train].astype(int))
    scale = X[repeated][:, [0, 3]].std(axis=0, ddof=1)
    Z = (X[:, [0, 3]] - X[repeated][:, [0, 3]].mean(axis=0)) / scale
    model = Ridge().fit(Z[repeated], outputs[repeated])
    rest = [outputs[fold.test] - model.predict(Z[fold.test]).reshape(len(fold.test), -1), outputs[fold.test] - mean]
    expected = [float(weight[fold.test] @ (part**2).sum(axis=1)) for part in rest]
    assert prediction_errors(table, fold, np.array([True, False, False, True])).tolist() == pytest.approx(expected)
    none = prediction_errors(table, fold, np.zeros(4, dtype=bool))
    assert none[0] == none[1]
    assert pooled_r2([np.array([1.0, 4.0]), np.array([2.0, 2.0])]) == 0.5


def test_a_table_without_signal_gets_a_weak_one_and_a_note():
    rng = np.random.default_rng(3)
    rates = selection_error_rates(
        SelectKBest(f_regression, k=5), rng.normal(size=(100, 50)), rng.normal(size=100), n_draws=2
    )
    assert (rates.signal, rates.signal_strength) == (0.1, "stronger")
    assert rates.signal_description == "stronger than the real one, which is weak"
    assert rates.notes[0].startswith("The linear signal of the real target is below 3% of the variance (R2 -0.")


def test_a_signal_without_noise_is_noted():
    X = np.random.default_rng(0).normal(size=(100, 4))
    rates = selection_error_rates(SelectKBest(f_regression, k=1), X, X[:, 0] + 0.01 * X[:, 1], n_draws=2)
    assert rates.signal == 63 / 64
    assert rates.notes[0].startswith(
        "Targets almost without noise (98%) are predicted no better than the real one (R2 1 of ridge"
    )


def test_folds_without_a_class_have_a_signal():
    # Every group has one class, so a fold of one group has no test rows of the other.
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(8), 25)
    X = rng.normal(size=(200, 5))
    X[:, 0] += group % 2
    rates = selection_error_rates(RankSelector(FisherScore(), n_features=1), X, group % 2, groups=group, n_draws=2)
    assert 0 < rates.signal < 1


def test_the_signal_is_measured_in_a_fold_whose_training_rows_have_two_values():
    rows = np.arange(6)
    folds = Folds(tuple(Fold(np.delete(rows, [k, k + 3]), np.array([k, k + 3])) for k in range(3)), "3 folds")
    y = np.array([0, 1, 0, 0, 1, 0])
    assert choose_fold(folds, 4, y) is folds[2]
    assert choose_fold(folds, 1, y) is folds[2]
    assert choose_fold(folds, 1, np.zeros(6)) is folds[1]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "n", "p", "signal"), [("number", 200, 50, 0.5), ("binary", 200, 50, 0.5), ("number", 60, 300, 0.6)]
)
def test_the_rates_are_those_of_tables_with_a_known_truth(kind, n, p, signal):
    real, estimated = [], []
    for seed in range(25):
        rng = np.random.default_rng(seed)
        X = rng.normal(size=(n, p))
        y = np.sqrt(signal / 5) * X[:, :5] @ rng.choice([-1, 1], 5) + np.sqrt(1 - signal) * rng.normal(size=n)
        y = y if kind == "number" else (y > np.quantile(y, 0.8)).astype(int)
        chosen = SelectKBest(f_regression if kind == "number" else f_classif, k=5)
        rates = selection_error_rates(chosen, X, y, n_draws=10, random_state=seed)
        real.append(chosen.fit(X, y).get_support()[:5].mean())
        estimated.append(mean(rates, "true_positive_rate"))
    # Means over 25 tables; their standard errors are up to 0.04.
    assert np.mean(estimated) == pytest.approx(np.mean(real), abs=0.1)


# Selectors, threads, options


@pytest.mark.parametrize(
    "selector",
    [
        SubsetSelector(CFS(), BestFirst()),
        SubsetSelector(CrossValidated("ridge", cv=3), Forward()),
        SizeSearchCV(RankSelector(Variance()), "ridge", cv=3),
        make_pipeline(StandardScaler(), SelectKBest(f_regression, k=2)),
    ],
    ids=["filter", "wrapper", "size", "pipeline"],
)
def test_every_kind_of_selector_has_rates(selector):
    X = orthogonal(80, 5)
    y = X[:, 0] + X[:, 1]
    rates = selection_error_rates(selector, X, y, signal=0.8, n_draws=3)
    assert rates.selected_sets.shape == (3, 5)
    assert (rates.true_sets.sum(axis=1) == rates.n_true).all()
    assert rates.selected_sets.any()


@pytest.mark.slow
def test_the_numbers_do_not_depend_on_the_number_of_threads():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(90, 6)), columns=list("abcdef"))
    table["level"] = rng.choice(["u", "v", None], 90)
    one, two = (
        selection_error_rates(SEARCHED, table, targets("four", 90), n_draws=2, n_jobs=n_jobs).to_dict()
        for n_jobs in (1, 2)
    )
    assert one == two
    other = selection_error_rates(SEARCHED, table, targets("four", 90), signal=0.5, n_draws=2, random_state=1)
    assert (one["seed"], other.seed) == (0, 1)
    assert other.to_dict()["true_positive_rate"] != one["true_positive_rate"]


def test_a_large_table_is_sampled_and_weights_of_0_are_left_out():
    X, y = orthogonal(200, 5), targets("binary")
    weight = np.where(np.arange(200) < 20, 0.0, 1.0)
    ranked = RankSelector(FisherScore(), n_features=2)
    with pytest.warns(TamizWarning) as warned:
        rates = selection_error_rates(ranked, X, y, sample_weight=weight, max_rows=60, signal=0.5, n_draws=2)
    assert rates.n_samples == 60
    assert rates.notes[:2] == (
        "20 rows of weight 0 left out where models are scored.",
        "60 of 180 rows, drawn at random.",
    )
    assert tuple(one.message.args[0] for one in warned) == rates.notes[:2]


def test_targets_for_which_nothing_is_selected_are_counted():
    X = np.random.default_rng(0).normal(size=(40, 3))
    rates = selection_error_rates(SEARCHED, X, targets("binary", 40), n_true=1, signal=0.0, n_draws=4)
    n_empty = int((~rates.selected_sets.any(axis=1)).sum())
    assert n_empty > 0
    assert f"For {n_empty} of 4 targets no column was selected." in rates.notes


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"truth": "all"}, r"^truth must be one of 'random', 'selected', got 'all'"),
        ({"truth": "selected", "n_true": 2}, r"^n_true applies to truth='random' only"),
        ({"truth": "selected", "signal": 0.5}, r"^No column that varies is selected for the real target"),
        ({"n_true": 0}, r"^n_true must be at least 1, got 0\.$"),
        ({"signal": 1.5}, r"^signal must be at least 0\.0 and at most 1\.0, got 1\.5\.$"),
        ({"n_draws": 1}, r"^n_draws must be at least 2, got 1\.$"),
        ({"max_rows": 2}, r"^max_rows must be at least 4, got 2\.$"),
    ],
)
@pytest.mark.filterwarnings("ignore::tamiz.exceptions.TamizWarning")
def test_bad_options_are_one_sentence(options, message):
    X = np.column_stack([np.arange(20.0) % 2, np.arange(20.0) // 10])
    with pytest.raises(ValueError, match=message):
        selection_error_rates(SEARCHED, X, np.arange(20) // 2 % 2, **options)


def test_a_table_without_a_target_is_refused():
    with pytest.raises(DataError, match=r"^selection_error_rates requires a target"):
        selection_error_rates(RankSelector(Variance()), np.eye(5))


def test_an_error_names_its_target():
    class Fails(SelectKBest):
        def fit(self, X, y=None):
            if y[0] != 0:
                raise ValueError("no")
            return super().fit(X, y)

    with pytest.raises(ValueError, match=r"^Semi-synthetic target \d of 5: no"):
        selection_error_rates(Fails(f_regression, k=1), orthogonal(50, 3), np.arange(50.0), signal=0.5, n_draws=5)


# In a report


def test_a_selection_report_contains_the_rates_and_its_other_numbers_remain(tmp_path):
    X = orthogonal(100, 6)
    y = X[:, 0] + 0.02 * np.random.default_rng(0).normal(size=100) > 0
    options = {"n_splits": 3, "n_permutations": 2}
    plain = selection_report(SEARCHED, X, y, **options).to_dict()
    report = selection_report(SEARCHED, X, y, semi_synthetic=4, **options)
    record = report.to_dict()
    rates = record.pop("error_rates")
    assert plain.pop("error_rates") is None
    assert record == plain
    assert rates == json.loads(json.dumps(report.error_rates.to_dict()))
    assert (rates["n_draws"], rates["truth"], rates["n_true"]) == (4, "random", max(1, len(report.columns)))
    for text in (repr(report), report._repr_html_()):
        assert report.error_rates.verdict in text
    assert "\ntrue positive rate" in repr(report)
    save(report, tmp_path / "report.tamiz")
    assert load(tmp_path / "report.tamiz").to_dict() == report.to_dict()
    with pytest.raises(ValueError, match=r"^semi_synthetic must be at least 2, got 1\.$"):
        selection_report(SEARCHED, X, y, semi_synthetic=1)
