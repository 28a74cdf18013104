"""The autoencoder: errors beside those of PCA, columns and rows that are lost, new rows, reconstructions, and bad input."""

import re
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

from tamiz import load, open_table, save
from tamiz.exceptions import ConvergenceWarning, DataError, TamizWarning
from tamiz.reduction import PCA, Autoencoder
from tamiz.runtime.progress import use_listener

from ..storage.files import parts_of, put_together

RNG = np.random.default_rng(0)
# A curve in five columns, and a column of noise.
T = RNG.uniform(-2, 2, size=400)
CURVE = np.column_stack([T, T**2, np.sin(2 * T), np.cos(2 * T), np.exp(T)])
CURVE = np.column_stack([CURVE + 0.05 * RNG.normal(size=CURVE.shape), RNG.normal(size=400)])
NEW = CURVE[:30] + 0.01
SMALL = {"hidden_sizes": (16, 8), "learning_rate": 0.01, "random_state": 0}


def quietly(autoencoder, X):
    """Fit without warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TamizWarning)
        return autoencoder.fit(X)


def mixed_table(n=300):
    rng = np.random.default_rng(1)
    t = rng.normal(size=n)
    table = pd.DataFrame(
        {
            "size": t + 0.1 * rng.normal(size=n),
            "level": np.select([t < -0.5, t < 0.5], ["low", "middle"], "high"),
            "square": t**2,
            "noise": rng.normal(size=n),
            "large": t > 1,
        }
    )
    table.loc[::6, "size"] = np.nan
    table.loc[::7, "level"] = None
    return table


@pytest.fixture(scope="module")
def curve():
    return Autoencoder(1, **SMALL).fit(CURVE)


@pytest.fixture(scope="module")
def mixed():
    return Autoencoder(1, **SMALL).fit(mixed_table())


def test_one_coordinate_of_a_curve_loses_less_than_one_principal_component(curve):
    assert curve.error_ < 0.7 * curve.pca_error_
    assert curve.converged_
    assert curve.n_validation_ == 40


def test_the_columns_that_the_code_loses_are_named(curve):
    assert curve.column_errors_[:5].max() < 0.3
    assert curve.column_errors_[5] > 0.5
    assert curve.column_errors_.mean() == pytest.approx(curve.error_, rel=0.1)


def test_errors_are_those_of_the_reconstructions(curve):
    rows = CURVE[:50]
    reconstructed = curve.inverse_transform(curve.transform(rows))
    scaled = (reconstructed - rows) / CURVE.std(axis=0)
    np.testing.assert_allclose(curve.reconstruction_error(rows), (scaled**2).mean(axis=1), rtol=1e-9)


def test_the_error_of_pca_is_that_of_the_same_rows():
    fitted = quietly(Autoencoder(2, validation_share=0.0, **SMALL), CURVE)
    assert fitted.n_validation_ == 0
    pca = PCA(2, standardize=True).fit(CURVE)
    assert fitted.pca_error_ == pytest.approx(1 - pca.explained_variance_ratio_.sum(), rel=1e-6)
    raw = quietly(Autoencoder(2, validation_share=0.0, standardize=False, **SMALL), CURVE)
    lost = ((PCA(2).fit(CURVE).reconstruct(CURVE) - CURVE) ** 2).sum() / CURVE.var(axis=0).sum() / 400
    assert raw.pca_error_ == pytest.approx(lost, rel=1e-6)


def test_the_errors_are_shares_of_the_variance_of_few_rows():
    X = CURVE[:12]
    fitted = quietly(Autoencoder(1, validation_share=0.0, max_epochs=1, **SMALL), X)
    lost = ((fitted.inverse_transform(fitted.transform(X)) - X) ** 2).sum(axis=0) / ((X - X.mean(axis=0)) ** 2).sum(
        axis=0
    )
    np.testing.assert_allclose(fitted.column_errors_, lost, rtol=1e-4)
    assert fitted.error_ == pytest.approx(lost.mean(), rel=1e-4)


def test_pca_of_many_coordinates_loses_as_much_as_by_the_covariance(monkeypatch):
    def fit():
        return quietly(Autoencoder(2, max_epochs=1, **SMALL), mixed_table()).pca_error_

    by_covariance = fit()
    monkeypatch.setattr("tamiz.reduction.autoencoder.MAX_COVARIANCE", 3)
    assert fit() == pytest.approx(by_covariance, rel=1e-5)


def test_rows_unlike_those_of_the_fit_have_large_errors(curve):
    # Every column is that of the table, but the values of a row do not belong together.
    strange = np.column_stack([RNG.permutation(column) for column in CURVE.T])
    of_strange, of_table = (np.median(curve.reconstruction_error(rows)) for rows in (strange, CURVE))
    assert of_strange > 3 * of_table


def test_linear_layers_span_the_subspace_of_pca():
    X = RNG.normal(size=(500, 8)) @ RNG.normal(size=(8, 8))
    fitted = Autoencoder(3, hidden_sizes=(), standardize=False, validation_share=0.0, random_state=0).fit(X)
    assert fitted.error_ == pytest.approx(fitted.pca_error_, rel=0.01)
    spanned = np.linalg.qr((fitted.embedding_.T @ (X - X.mean(axis=0))).T)[0]
    decoded = np.linalg.qr((fitted.inverse_transform(np.eye(3)) - fitted.inverse_transform(np.zeros((3, 3)))).T)[0]
    components = PCA(3).fit(X).components_
    for basis in (spanned, decoded):
        assert np.linalg.svd(components @ basis, compute_uv=False).min() > 0.98


def test_coordinates_are_centred_uncorrelated_and_in_the_order_of_their_variances():
    found = quietly(Autoencoder(3, **SMALL), CURVE).embedding_
    np.testing.assert_allclose(found.mean(axis=0), 0, atol=1e-5)
    covariance = np.cov(found.T)
    np.testing.assert_allclose(covariance, np.diag(np.diag(covariance)), atol=1e-5 * covariance.max())
    assert (np.diff(np.diag(covariance)) < 0).all()


def test_every_new_row_is_mapped_alone(curve, mixed):
    for fitted, table in ((curve, pd.DataFrame(CURVE)), (mixed, mixed_table())):
        rows = table if fitted is mixed else CURVE
        every = fitted.transform(rows)
        np.testing.assert_array_equal(every, fitted.embedding_)
        errors = fitted.reconstruction_error(rows)
        for row in (0, 7, 42):
            np.testing.assert_array_equal(fitted.transform(rows[row : row + 1]), every[row : row + 1])
            np.testing.assert_array_equal(fitted.reconstruction_error(rows[row : row + 1]), errors[row : row + 1])
        np.testing.assert_array_equal(fitted.transform(rows[::-1])[::-1], every)


# The minibatches have several blocks.
def test_blocks_of_a_minibatch_add_to_its_gradient(monkeypatch):
    whole = quietly(Autoencoder(max_epochs=2, batch_size=200, **SMALL), CURVE)
    monkeypatch.setattr("tamiz.reduction.autoencoder_network._PRODUCTS_PER_TASK", 1)
    parts = quietly(Autoencoder(max_epochs=2, batch_size=200, **SMALL), CURVE)
    np.testing.assert_allclose(parts.training_curve_, whole.training_curve_, rtol=1e-4)


def test_missing_values_have_no_loss_and_count_as_the_mean(mixed):
    table = mixed_table()
    filled = table.assign(size=table["size"].fillna(table["size"].mean()))
    np.testing.assert_allclose(mixed.transform(filled), mixed.embedding_, atol=1e-12)
    row = table.iloc[[1]].copy()
    full = mixed.reconstruction_error(row)
    row["noise"] = np.nan
    assert mixed.reconstruction_error(row) != full
    empty = row.assign(size=np.nan, level=None, square=np.nan, large=None)
    assert np.isnan(mixed.reconstruction_error(empty)).all()


def test_the_loss_of_a_category_is_small_where_a_coordinate_determines_it(mixed):
    errors = dict(zip(mixed.feature_names_in_, mixed.column_errors_, strict=True))
    assert errors["level"] < 0.3
    assert errors["large"] < 0.3
    assert max(errors, key=errors.get) == "noise"
    table = mixed_table()
    present = table["level"].notna()
    found = mixed.inverse_transform(mixed.embedding_)
    assert (found[present, 1] == table["level"][present]).mean() > 0.8


def test_reconstructions_are_rows_of_the_table(mixed, curve):
    table = mixed_table()
    points = mixed.embedding_[:5]
    found = mixed.inverse_transform(points)
    assert found.shape == (5, 5)
    assert found.dtype == object
    for frame in (pd.DataFrame(points, columns=["autoencoder0"]), pl.DataFrame({"autoencoder0": points[:, 0]})):
        back = mixed.inverse_transform(frame)
        assert type(back) is type(frame)
        assert list(back.columns) == list(table.columns)
        assert back["level"].to_list() == found[:, 1].tolist()
        assert back["size"].to_list() == found[:, 0].tolist()
    single = curve.inverse_transform(curve.embedding_[:5].astype(np.float32))
    assert single.dtype == np.float32
    with pytest.raises(ValueError, match="X has 2 columns, but 1 components were fitted"):
        curve.inverse_transform(np.zeros((3, 2)))


def test_sparse_rows_sources_and_float32_are_accepted():
    def fit(X):
        return quietly(Autoencoder(1, max_epochs=3, **SMALL), X)

    wanted = fit(CURVE).embedding_
    for X in (sparse.csr_array(CURVE), open_table(CURVE), pl.DataFrame(CURVE)):
        np.testing.assert_array_equal(fit(X).embedding_, wanted)
    single = fit(CURVE.astype(np.float32))
    assert single.embedding_.dtype == single.transform(NEW.astype(np.float32)).dtype == np.float32
    with pytest.raises(DataError, match="Autoencoder does not support sample weights, and the table has the weights"):
        Autoencoder().fit(open_table(CURVE, weight=np.arange(400) + 1.0))


@pytest.mark.parametrize("name", ["curve", "mixed"])
def test_a_loaded_map_is_the_same_to_the_bit(name, request, tmp_path):
    fitted, new = request.getfixturevalue(name), NEW if name == "curve" else mixed_table(40)
    path = save(fitted, tmp_path / "map.tamiz")
    loaded = load(path)
    np.testing.assert_array_equal(loaded.transform(new), fitted.transform(new))
    np.testing.assert_array_equal(loaded.reconstruction_error(new), fitted.reconstruction_error(new))
    np.testing.assert_array_equal(
        loaded.inverse_transform(loaded.embedding_), fitted.inverse_transform(fitted.embedding_)
    )
    assert loaded.training_curve_.tolist() == fitted.training_curve_.tolist()
    assert loaded.schema_ == fitted.schema_
    assert save(loaded, tmp_path / "again.tamiz").read_bytes() == path.read_bytes()
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DataError, match=r"map\.tamiz is damaged or cut off"):
        load(path)
    parts = parts_of(tmp_path / "again.tamiz")
    later = {**parts, "tamiz.json": parts["tamiz.json"].replace(b'"tamiz file 1"', b'"tamiz file 2"')}
    with pytest.raises(DataError, match=r"later\.tamiz was written by .* format 2.*Update tamiz"):
        load(put_together(tmp_path / "later.tamiz", later))


@pytest.mark.filterwarnings("ignore:.*TZ402")
def test_the_training_curve_has_a_row_for_each_epoch(curve):
    assert curve.training_curve_.shape == (curve.n_epochs_, 2)
    assert curve.training_curve_[0, 1] > 2 * curve.training_curve_[-1, 1]
    with pytest.warns(
        ConvergenceWarning, match=r"not converged after 3 epochs.*Raise the number of epochs \(max_epochs\)"
    ):
        short = Autoencoder(2, max_epochs=3, **SMALL).fit(CURVE)
    assert short.n_epochs_ == 3
    assert not short.converged_


def test_the_parameters_of_the_smallest_loss_are_kept():
    # Few rows, which the network soon reconstructs too well.
    X = RNG.normal(size=(60, 10))
    fitted = quietly(
        Autoencoder(3, hidden_sizes=(64,), swap_noise=0.0, learning_rate=0.01, max_epochs=45, random_state=0), X
    )
    of_validation = fitted.training_curve_[:, 1]
    assert of_validation[-1] > 1.05 * of_validation.min()
    assert fitted.n_validation_ == 6
    # For numbers the loss is the error, in float32.
    assert fitted.error_ == pytest.approx(of_validation.min(), rel=1e-4)


def test_an_interrupt_keeps_the_best_parameters():
    def interrupt(label, done, total):
        if label.startswith("Training") and done == 4:
            raise KeyboardInterrupt

    mapped = Autoencoder(1, **SMALL)
    with use_listener(interrupt), pytest.raises(KeyboardInterrupt):
        mapped.fit(CURVE)
    assert mapped.n_epochs_ == 3
    assert not mapped.converged_
    np.testing.assert_array_equal(mapped.embedding_, quietly(Autoencoder(1, max_epochs=3, **SMALL), CURVE).embedding_)
    unfitted = Autoencoder(1, **SMALL)
    with use_listener(lambda label, done, total: interrupt(label, 4, total)), pytest.raises(KeyboardInterrupt):
        unfitted.fit(CURVE)
    assert not hasattr(unfitted, "embedding_")


@pytest.mark.filterwarnings("ignore:.*TZ501")
def test_independent_columns_are_better_described_by_pca_and_a_warning_reports_it():
    with pytest.warns(
        TamizWarning,
        match=r"it loses .*% of the variance of 6 held-out rows, and PCA .*Prefer PCA.*units per hidden layer \(hidden_sizes\)",
    ):
        fitted = Autoencoder(9, hidden_sizes=(4,), max_epochs=200, random_state=0).fit(RNG.normal(size=(60, 10)))
    assert fitted.error_ > fitted.pca_error_


def test_a_learning_rate_that_diverges_is_refused_or_lowered():
    with pytest.raises(ValueError, match=r"diverged in each of .* learning_rate = 1e\+06.*Lower learning_rate"):
        Autoencoder(1, **{**SMALL, "learning_rate": 1e6}).fit(CURVE)
    with pytest.warns(
        ConvergenceWarning,
        match=r"diverged in \d+ of .*smaller learning rate.*Lower the learning rate 2\S* \(learning_rate\)",
    ):
        fitted = Autoencoder(1, **{**SMALL, "learning_rate": 2.0}).fit(CURVE)
    assert fitted.error_ < 1


def test_constant_columns_do_not_matter():
    X = np.column_stack([CURVE[:, :3], np.full(400, 7.0)])
    fitted = Autoencoder(1, **SMALL).fit(X)
    assert fitted.column_errors_[3] == 0.0
    assert (fitted.inverse_transform(fitted.embedding_)[:, 3] == 7.0).all()
    changed = X.copy()
    changed[:, 3] = RNG.normal(size=400)
    np.testing.assert_array_equal(fitted.transform(changed), fitted.embedding_)


def test_equal_rows_have_equal_coordinates():
    X = np.repeat(CURVE[:10], 300, axis=0)
    fitted = quietly(Autoencoder(2, max_epochs=5, **SMALL), X)
    assert len(np.unique(fitted.embedding_, axis=0)) == 10


def test_columns_without_values_are_excluded_and_named():
    table = pd.DataFrame(CURVE[:, :3], columns=["a", "b", "c"]).assign(empty=np.nan)
    with pytest.warns(TamizWarning, match=r"excluded: empty \(no value is present\)"):
        fitted = Autoencoder(1, **SMALL).fit(table)
    assert np.isnan(fitted.column_errors_[3])
    assert fitted.inverse_transform(fitted.embedding_).shape == (400, 3)


def test_thousands_of_levels_are_merged_to_64():
    table = pd.DataFrame({"text": RNG.integers(0, 3000, 6000).astype(str), "x": RNG.normal(size=6000)})
    table["text"] = ("v" + table["text"]).astype("category")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fitted = Autoencoder(1, hidden_sizes=(8,), max_epochs=1, random_state=0).fit(table)
    assert any(
        re.search(r"the rarest levels are merged: \d,\d+ of \d,\d+ levels of text", str(one.message)) for one in caught
    )
    assert fitted._network.biases[-1].shape == (65,)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"n_components": 7}, "n_components must be from 1 to 6, got 7"),
        ({"n_components": 0}, "n_components must be from 1 to 6, got 0"),
        ({"hidden_sizes": (4, 0)}, "a size in hidden_sizes must be at least 1, got 0"),
        ({"swap_noise": 1.0}, "swap_noise must be below 1, got 1"),
        ({"swap_noise": -0.1}, "swap_noise must be at least 0.0, got -0.1"),
        ({"max_epochs": 0}, "max_epochs must be at least 1, got 0"),
        ({"batch_size": 0}, "batch_size must be at least 1, got 0"),
        ({"learning_rate": 0.0}, "learning_rate must be above 0 and finite, got 0.0"),
        ({"validation_share": 0.6}, "validation_share must be .*at most 0.5, got 0.6"),
    ],
)
def test_parameters_out_of_range_are_refused_in_one_sentence(parameters, message):
    with pytest.raises(ValueError, match=message):
        Autoencoder(**parameters).fit(CURVE)


@pytest.mark.parametrize("parameters", [{"hidden_sizes": 8}, {"hidden_sizes": "8"}, {"standardize": 1}])
def test_parameters_of_another_type_are_refused(parameters):
    with pytest.raises(TypeError, match=f"{next(iter(parameters))} must be"):
        Autoencoder(**parameters).fit(CURVE)


def test_bad_rows_are_refused_in_one_sentence():
    with pytest.raises(DataError, match=r"The table has 1 sample \(row\); at least 2 are needed"):
        Autoencoder().fit(CURVE[:1])
    with pytest.raises(DataError, match="All columns are constant"):
        Autoencoder().fit(np.ones((40, 3)))
    for n in (2, 3, 12):
        assert quietly(Autoencoder(2, max_epochs=5), CURVE[:n]).embedding_.shape == (n, 2)


@pytest.mark.slow
def test_digits_are_reconstructed_better_than_by_as_many_components():
    train, test = train_test_split(load_digits().data, test_size=360, random_state=0)
    for k, most in ((2, 11.2), (5, 7.2), (10, 4.1)):
        linear, curved = (
            Autoencoder(k, standardize=False, hidden_sizes=sizes, random_state=0).fit(train) for sizes in ((), None)
        )
        of_pca, of_linear, of_curved = (
            np.mean((model.inverse_transform(model.transform(test)) - test) ** 2)
            for model in (PCA(k).fit(train), linear, curved)
        )
        assert of_curved < most
        assert of_linear < 1.02 * of_pca
        assert curved.error_ < curved.pca_error_
