"""Conditional importance: whether a column adds anything to the other columns, with a p-value, for any model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import narwhals as nw
import numpy as np
from scipy import sparse, stats

from tamiz.arrays import Floats, Indices
from tamiz.assessment.trials import ignore_known_warnings, model_seed, open_rows
from tamiz.exceptions import DataError
from tamiz.models.backends import FoldRows, RefitBackend
from tamiz.models.conditional_draws import ConditionalSampler
from tamiz.models.folds import Folds, draw_folds
from tamiz.models.named_models import resolve_model
from tamiz.models.task import CVTask, error_context, make_task
from tamiz.runtime import parallel, progress
from tamiz.runtime.codec import pop_rows, to_json
from tamiz.runtime.random import Seed, make_rng
from tamiz.runtime.user_warnings import warn_user
from tamiz.runtime.validation import check_choice, check_integer
from tamiz.runtime.verdicts import Verdict
from tamiz.search.base import Unit, column_mask
from tamiz.statistics.independence import Correction, adjust_p_values
from tamiz.table.base import Table
from tamiz.table.factory import as_table

ImportanceMethod: TypeAlias = Literal["cfi", "loco"]
METHODS: tuple[ImportanceMethod, ...] = ("cfi", "loco")
LossName: TypeAlias = Literal["log_loss", "brier", "zero_one", "squared_error", "absolute_error"]
_CLASS_LOSSES = ("log_loss", "brier", "zero_one")
_NUMBER_LOSSES = ("squared_error", "absolute_error")
_LABELS = {"cfi": "conditional feature importance", "loco": "leave-one-covariate-out"}
# Values that are predicted from at a time.
_VALUES_PER_BATCH = 2**21
# Regressions with more coefficients than the other rows are not corrected for in full, with a warning.
_MIN_FREE_SHARE = 0.5


# The fields that have an entry for every unit of columns, and their names in a row of JSON.
_UNIT_FIELDS = {"names": "name", "column_groups": "columns"} | {
    name: name for name in ("importance", "standard_error", "interval", "p_value", "adjusted_p_value")
}


@dataclass(frozen=True)
class ConditionalImportance:
    """What columns, or groups of columns, add to the others in a model: increases of its loss on test rows, with p-values.

    Attributes
    ----------
    names : tuple of str
        The columns; the names of a group of columns are joined by " + ".
    column_groups : tuple of tuple of str
        The columns of each.
    importance, standard_error : ndarray of shape (n_units,)
        Mean increase of the loss per test row, and its standard error. Larger is more important; 0 or less is nothing.
    interval : ndarray of shape (n_units, 2)
        The 95 % confidence interval of the importance in the fitted models, by Student's t.
    p_value, adjusted_p_value : ndarray of shape (n_units,)
        Of the hypothesis that the importance is at most 0; adjusted for the number of units by `correction`.
    method : {"cfi", "loco"}
    model, loss : str
        The label of the model, and the name of the loss: "log_loss" (in nats), "brier", "zero_one", "squared_error" or
        "absolute_error".
    model_loss, baseline_loss : float
        The mean loss on test rows of the model with all columns, and without any column.
    correction : str
    n_rows : int
        The number of test rows.
    folds_description : str
    n_repeats : int
        Draws per row; 1 for "loco".
    notes : tuple of str
    seed : int or None
    """

    names: tuple[str, ...]
    column_groups: tuple[tuple[str, ...], ...]
    importance: Floats
    standard_error: Floats
    interval: Floats
    p_value: Floats
    adjusted_p_value: Floats
    method: ImportanceMethod
    model: str
    loss: LossName
    model_loss: float
    baseline_loss: float
    correction: Correction
    n_rows: int
    folds_description: str
    n_repeats: int
    notes: tuple[str, ...]
    seed: int | None

    def selected(self, fdr: float = 0.1) -> tuple[str, ...]:
        """Return the names whose adjusted p-value is at most `fdr`: they add something to the others."""
        return tuple(name for name, p in zip(self.names, self.adjusted_p_value.tolist(), strict=True) if p <= fdr)

    def to_dict(self) -> dict[str, Any]:
        """Return the record as JSON types."""
        plain = to_json(self)
        plain["units"] = pop_rows(plain, _UNIT_FIELDS)
        plain["folds"] = plain.pop("folds_description")
        return plain

    def __repr__(self) -> str:
        loss = self.loss.replace("_", " ")
        head = (
            f"{self.model}, {loss} {self.model_loss:.4g} ({self.baseline_loss:.4g} without any column); "
            f"{_LABELS[self.method]}, {self.folds_description}, {self.n_rows:,} rows"
        )
        width = max(len("column"), *map(len, self.names))
        lines = [f"{'column':{width}}  {'increase':>9}  95% confidence interval        p  adjusted"]
        for k in np.argsort(-self.importance, kind="stable").tolist():
            low, high = self.interval[k]
            lines.append(
                f"{self.names[k]:{width}}  {self.importance[k]:9.3g}  {f'{low:.3g} to {high:.3g}':>23}  "
                f"{self.p_value[k]:7.2g}  {self.adjusted_p_value[k]:8.2g}"
            )
        return "\n".join([head, *lines, *self.notes])


def conditional_importance(
    X: Any,
    y: Any = None,
    *,
    groups: Any = None,
    time: Any = None,
    sample_weight: Any = None,
    model: Any = "gradient_boosting",
    method: ImportanceMethod = "cfi",
    column_groups: Sequence[Sequence[str | int]] | None = None,
    loss: LossName | None = None,
    n_splits: int = 5,
    n_repeats: int = 5,
    correction: Correction = "benjamini_hochberg",
    max_rows: int | None = 3000,
    random_state: Seed = 0,
    n_jobs: int | None = None,
) -> ConditionalImportance:
    """Return how much the loss of a model grows without the information that a column adds to the other columns.

    Parameters
    ----------
    X, y, groups, time, sample_weight
        As in `selection_report`.
    model : str or estimator, default="gradient_boosting"
        The name of a model, as in `CrossValidated`, or an estimator with fit and predict.
    method : {"cfi", "loco"}, default="cfi"
        "cfi", conditional feature importance: the column is replaced by draws from its distribution given the other columns.
        "loco", leave-one-covariate-out: the model is refitted without the column.
    column_groups : list of lists of column names or numbers, default=None
        Columns that are replaced, or left out, together. Other columns are by themselves.
    loss : {"log_loss", "brier", "zero_one", "squared_error", "absolute_error"}, default=None
        None is the log loss for classes ("zero_one" for a model without predict_proba) and the squared error for a numeric target.
        Probabilities below 1 / (2 n_train) count as that in the log loss.
    n_splits : int, default=5
        Folds. Importance is measured on test rows only; models and conditional distributions are fitted on training rows.
    n_repeats : int, default=5
        Draws for each test row.
    correction : {"benjamini_hochberg", "benjamini_yekutieli", "holm", "bonferroni"}, default="benjamini_hochberg"
        As in `adjust_p_values`.
    max_rows : int, default=3000
        A larger table is sampled to this number of rows; None uses all.
    random_state : int, default=0
        Seed of the sample, the folds, the draws and the model.
    n_jobs : int, default=None
        Threads; None uses all cores available to this process. The numbers do not depend on it.

    Returns
    -------
    ConditionalImportance

    Raises
    ------
    DataError
        When there is no target, the rows do not allow folds, or a fit fails.

    Notes
    -----
    For a test row i the difference is, with the loss l and the model f of its fold,

    .. math:: d_i = \\frac{1}{R} \\sum_{r=1}^R l(y_i, f(\\tilde x_i^{(r)})) - l(y_i, f(x_i))
        \\quad \\text{or} \\quad d_i = l(y_i, f_{-j}(x_i)) - l(y_i, f(x_i))

    and the importance is its mean over all test rows. In a linear model with coefficient b and squared error its expectation is
    :math:`2 b^2 Var(x_j \\mid x_{-j})` for "cfi" and half of that for "loco". The p-value is that of a one-sided t test of the
    differences, whose degrees of freedom are the effective number of rows :math:`(\\sum d^2)^2 / \\sum d^4` minus 1: where few rows
    differ, as with trees, the test is no more certain than they are. Rows of a group are one observation, and so are about
    :math:`n^{1/3}` neighbouring rows of a fold forward in time. For "cfi" the squared standard error has the factor
    :math:`n / (n - 1 - q)` for the q effective coefficients of the regression of the column on the others: their errors and those
    of the model shift all rows of a table alike, by an amount with about the share q / n of the variance.

    If the target is independent of a column given the others, draws cannot be distinguished from its values, and the expected
    difference is 0 for "cfi", whatever the model. How well this is kept depends on the draws (`tamiz.models.conditional_draws`);
    measured rates are on the page on error control. "loco" asks whether the column adds to this model: a model that cannot bend a
    column gains from a curve of it. Leaving out a column that adds nothing makes a model slightly better, by an amount of the size
    of its standard error: "loco" is then conservative, and finds less. Of columns that determine each other, each adds nothing to
    the other: pass them as a group.

    The interval is that of the models as fitted. In linear models of 400 rows and 10 columns it contains the mean importance of the
    five fitted models in 93 to 95 % of tables for "cfi", and that of the true coefficients, which differ, in 78 to 81 % ("loco" 90
    to 95 %).

    Cost: for "cfi" `n_splits` fits and 1 + p `n_repeats` predictions of all rows, and one inverse of the matrix of the encoded
    columns for each fold; for columns that depend on others nonlinearly also 40 small trees for each fold. For "loco" `n_splits`
    (1 + p) fits.

    References
    ----------
    Chamma, Engemann and Thirion (2023), Statistically valid variable importance assessment through conditional permutations,
    NeurIPS 36. Lei, G'Sell, Rinaldo, Tibshirani and Wasserman (2018), Distribution-free predictive inference for regression,
    Journal of the American Statistical Association 113. Williamson, Gilbert, Simon and Carone (2023), A general framework for
    inference on algorithm-agnostic variable importance, Journal of the American Statistical Association 118. Verdinelli and
    Wasserman (2024), Decorrelated variable importance, Journal of Machine Learning Research 25. Bayle, Bayle, Janson and Mackey
    (2020), Cross-validation confidence intervals for test error, NeurIPS 33.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from tamiz.assessment import conditional_importance
    >>> X, y = load_diabetes(return_X_y=True, as_frame=True)
    >>> found = conditional_importance(X, y, model="ridge")
    >>> found.selected(fdr=0.1)
    ('sex', 'bmi', 'bp', 's1', 's5')
    """
    rng = make_rng(random_state)
    check_choice("method", method, METHODS)
    check_integer("n_splits", n_splits, low=2)
    check_integer("n_repeats", n_repeats, low=1)
    if max_rows is not None:
        check_integer("max_rows", max_rows, low=2)
    with parallel.thread_session(n_jobs), ignore_known_warnings():
        table = as_table(X, y, sample_weight, groups=groups, time=time)
        opened, row_notes = open_rows("conditional_importance", table, max_rows, n_splits, rng)
        folds = draw_folds(opened, n_splits, rng)
        resolved = resolve_model(model, opened.schema, parameter="model")
        resolved.check(opened.schema)
        seed = model_seed(random_state, folds)
        task = make_task(resolved, opened, cv=folds, scoring=None, seed=seed)
        units = _resolve_units(column_groups, task.table)
        losses = _Losses(task, loss, units)
        if method == "cfi":
            differences, n_coefficients = losses.with_draws(n_repeats)
        else:
            differences, n_coefficients = losses.without_units(), [0.0] * len(units)
    tested = np.sort(task.test_rows)
    weight, clusters = task.weight_or_ones[tested], _row_clusters(task.table, task.folds, tested)
    is_frequency = task.table.schema.weight_kind == "frequency"
    found = [
        _test_mean(one[tested], weight, clusters, is_frequency=is_frequency, n_coefficients=n)
        for one, n in zip(differences, n_coefficients, strict=True)
    ]
    importance, error, low, high, p_value = np.array(found).reshape(-1, 5).T
    model_loss, baseline_loss = (
        float(np.average(one[tested], weights=weight)) for one in (losses.own, losses.baseline)
    )
    names = [[opened.schema.names[j] for j in unit.tolist()] for unit in units]
    n_units = weight.sum() if clusters is None else len(np.unique(clusters))
    notes = [
        *row_notes,
        *task.folds.fold_warnings,
        *task.fit_warnings.notes(task.label),
        *_doubts(losses, model_loss, baseline_loss, max(n_coefficients, default=0.0), n_units),
    ]
    warn_user(notes)
    return ConditionalImportance(
        names=tuple(map(" + ".join, names)),
        column_groups=tuple(map(tuple, names)),
        importance=importance,
        standard_error=error,
        interval=np.column_stack([low, high]),
        p_value=p_value,
        adjusted_p_value=adjust_p_values(p_value, correction),
        method=method,
        model=resolved.label,
        loss=losses.name,
        model_loss=model_loss,
        baseline_loss=baseline_loss,
        correction=correction,
        n_rows=len(tested),
        folds_description=folds.description,
        n_repeats=n_repeats if method == "cfi" else 1,
        notes=tuple(notes),
        seed=seed,
    )


def importance_work(
    table: Table, columns: Sequence[int], *, n_splits: int = 5, n_repeats: int = 5, max_rows: int = 3000
) -> float:
    """Return the work of `conditional_importance` of some columns, about 1e9 a second: products of regressions, and predictions."""
    n, p = min(max_rows, table.schema.n_rows), len(columns)
    width = sum(max(1, len(table.schema.columns[j].levels)) for j in columns)
    return n * width * (n_splits * width + 2 * p * p) + 1000 * n * (1 + p * n_repeats)


def _resolve_units(column_groups: Sequence[Sequence[str | int]] | None, table: Table) -> list[Unit]:
    """Return the groups and the other used columns, by their first column."""
    used = table.schema.used
    units: list[Unit] = []
    grouped = np.zeros(table.schema.n_columns, dtype=bool)
    for group in column_groups or ():
        mask = column_mask(group, table.schema.names, "column_groups")
        unused = np.setdiff1d(np.flatnonzero(mask), used)
        if not mask.any():
            raise ValueError("column_groups has a group without columns.")
        if len(unused):
            raise ValueError(f"Column {table.schema.names[unused[0]]!r} of a column group is not used in this table.")
        if (twice := np.flatnonzero(mask & grouped)).size:
            raise ValueError(f"Column {table.schema.names[twice[0]]!r} is in two column groups.")
        grouped |= mask
        units.append(np.flatnonzero(mask))
    units += [np.array([j]) for j in used.tolist() if not grouped[j]]
    return sorted(units, key=lambda unit: int(unit[0]))


class _Losses:
    """The loss of every row by the fold that tests it, and its increases without the information of every unit of columns.

    `own` and `baseline` are of the model with all columns, and of the class frequencies or the mean of the training rows.
    """

    def __init__(self, task: CVTask, name: LossName | None, units: Sequence[Unit]) -> None:
        self.task, self.units, self.used = task, units, task.table.schema.used
        self._backend = RefitBackend(task)
        if name is None:
            has_probabilities = hasattr(task.estimator, "predict_proba")
            name = ("log_loss" if has_probabilities else "zero_one") if task.has_classes else "squared_error"
        check_choice("loss", name, _CLASS_LOSSES if task.has_classes else _NUMBER_LOSSES)
        if name in ("log_loss", "brier") and not hasattr(task.estimator, "predict_proba"):
            raise DataError(f"The {task.label} provides no probabilities for loss={name!r}: use loss='zero_one'.")
        self.name: LossName = name
        self.own, self.baseline = np.zeros((2, len(task.target)))

    def of_rows(self, estimator: Any, rows: Any, fold: int) -> Floats:
        """Return the losses of copies of the test rows in one table, of shape (n_copies, n_test)."""
        part = self.task.folds[fold]
        if not self.task.has_classes:
            return self._of_numbers(
                np.asarray(estimator.predict(rows), dtype=np.float64).reshape(-1, len(part.test)), fold
            )
        classes = self.task.classes
        if self.name == "zero_one":
            predicted = np.asarray(estimator.predict(rows)).reshape(-1, len(part.test))
            return np.asarray(predicted != self.task.target[part.test], dtype=np.float64)
        found = np.asarray(estimator.predict_proba(rows), dtype=np.float64)
        probabilities = np.zeros((len(found), len(classes)))
        probabilities[:, np.searchsorted(classes, estimator.classes_)] = found
        return self._of_probabilities(probabilities.reshape(-1, len(part.test), len(classes)), fold)

    def _of_numbers(self, predicted: Floats, fold: int) -> Floats:
        error = self.task.target[self.task.folds[fold].test] - predicted
        return error**2 if self.name == "squared_error" else np.abs(error)

    def _of_probabilities(self, probabilities: Floats, fold: int) -> Floats:
        part = self.task.folds[fold]
        codes = self.task.codes[part.test]
        own = np.take_along_axis(probabilities, codes[None, :, None], axis=2)[:, :, 0]
        if self.name == "log_loss":
            return -np.log(np.maximum(own, 0.5 / len(part.train)))
        if self.name == "brier":
            return (probabilities**2).sum(axis=2) - 2 * own + 1
        return np.asarray(probabilities.argmax(axis=2) != codes, dtype=np.float64)

    def without_columns(self, fold: int) -> Floats:
        """Return the losses of predicting the class frequencies, or the mean, of the training rows."""
        task, part = self.task, self.task.folds[fold]
        weight = task.weight_or_ones[part.train]
        if not task.has_classes:
            y = task.target[part.train]
            order = np.argsort(y)
            middle = np.searchsorted(np.cumsum(weight[order]), weight.sum() / 2)
            constant = np.average(y, weights=weight) if self.name == "squared_error" else y[order][middle]
            return self._of_numbers(np.full((1, len(part.test)), constant), fold)[0]
        shares = np.bincount(task.codes[part.train], weight, len(task.classes)) / weight.sum()
        return self._of_probabilities(np.broadcast_to(shares, (1, len(part.test), len(shares))), fold)[0]

    def _refit(self, rows: FoldRows, columns: Indices, fold: int) -> Any:
        with self.task.fit_warnings.record_fit(), error_context(self.task, columns, fold, self.task.label):
            return rows.refit(self.task.estimator, columns).estimator

    def _begin_fold(self, fold: int) -> tuple[FoldRows, Any]:
        """Fit the model with all columns, and fill its losses."""
        rows, tested = self._backend.fold_rows(self.used, fold), self.task.folds[fold].test
        estimator = self._refit(rows, self.used, fold)
        self.own[tested] = self.of_rows(estimator, rows.test.select(self.used), fold)[0]
        self.baseline[tested] = self.without_columns(fold)
        return rows, estimator

    def without_units(self) -> Floats:
        """Return the increases where the model is refitted without each unit, of shape (n_units, n_rows)."""
        found = np.zeros((len(self.units), len(self.task.target)))
        for fold, part in progress.track_progress("Folds", enumerate(self.task.folds), len(self.task.folds)):
            with self.task.fit_warnings.capture():
                rows, _ = self._begin_fold(fold)

                def lose(unit: Unit, rows: FoldRows = rows, fold: int = fold) -> Floats:
                    columns = np.setdiff1d(self.used, unit)
                    if not len(columns):
                        return self.without_columns(fold)
                    estimator = self._refit(rows, columns, fold)
                    return self.of_rows(estimator, rows.test.select(columns), fold)[0]

                found[:, part.test] = list(parallel.map_blocks(lose, self.units))
            found[:, part.test] -= self.own[part.test]
        return found

    def with_draws(self, n_repeats: int) -> tuple[Floats, list[float]]:
        """Return the mean increases where each unit is drawn given the other columns, of shape (n_units, n_rows).

        The numbers are the effective coefficients of the regressions that the draws of each unit are made by.
        """
        task = self.task
        sampler = ConditionalSampler(task.table, task.folds, task.seed)
        regressions = list(parallel.map_blocks(sampler.prepare, self.units))
        positions = dict(zip(self.used.tolist(), task.column_positions(self.used), strict=True))
        found = np.zeros((len(self.units), len(task.target)))
        for fold, part in progress.track_progress("Folds", enumerate(task.folds), len(task.folds)):
            with task.fit_warnings.capture():
                rows, estimator = self._begin_fold(fold)
            train, test = rows.train.select(self.used), rows.test.select(self.used)
            # Rows that are not encoded are in the order of the splitter.
            place = np.arange(len(part.train)) if task.is_encoded else np.argsort(part.train_in_order, kind="stable")
            n_copies = max(1, _VALUES_PER_BATCH // max(1, int(np.prod(test.shape))))

            def lose(
                k: int, fold: int = fold, estimator: Any = estimator, train: Any = train, test: Any = test,
                place: Indices = place, n_copies: int = n_copies,
            ) -> Floats:  # fmt: skip
                rng = np.random.default_rng([task.seed, fold, *self.units[k].tolist()])
                drawn = sampler.draw(self.units[k], regressions[k], fold, n_repeats, rng)
                sources = {at: place[one] for j, one in drawn.items() for at in positions[j].tolist()}
                parts = []
                for start, stop in parallel.block_ranges(n_repeats, n_copies):
                    copies = replace_columns(test, train, {at: one[start:stop] for at, one in sources.items()})
                    parts.append(self.of_rows(estimator, copies, fold))
                return np.concatenate(parts).mean(axis=0)

            found[:, part.test] = list(parallel.map_blocks(lose, range(len(self.units))))
            found[:, part.test] -= self.own[part.test]
        return found, [max(one.n_coefficients for each in unit for one in each) for unit in regressions]


def _doubts(losses: _Losses, own: float, baseline: float, n_coefficients: float, n: float) -> list[Verdict]:
    """Return warnings of a model that is no better than no column, and of too few rows for regressions of columns on each other."""
    found = []
    if own >= baseline:
        sentence = (
            f"The {losses.name.replace('_', ' ')} of the {losses.task.label} is {own:.4g}, and {baseline:.4g} without any column: "
            "columns that this model does not learn from are not found. Use another model."
        )
        found.append(Verdict("TZ302", sentence))
    if n - 1 - n_coefficients < n * _MIN_FREE_SHARE:
        sentence = (
            f"There are {n:,.0f} independent rows for regressions of a column on the others with {n_coefficients:,.0f} "
            "coefficients: p-values are too small. Use more rows or fewer columns."
        )
        found.append(Verdict("TZ307", sentence))
    return found


def replace_columns(rows: Any, others: Any, sources: Mapping[int, Indices]) -> Any:
    """Return copies of rows (array, sparse matrix or frame), in one table, with columns from other rows of the same kind.

    `sources` are, by position of the column, the numbers of the other rows, of shape (n_copies, n_rows).
    """
    n_copies = len(next(iter(sources.values())))
    if sparse.issparse(rows):
        columns = [
            others[:, [k]].tocsr()[sources[k].ravel()] if k in sources else sparse.vstack([rows[:, [k]]] * n_copies)
            for k in range(rows.shape[1])
        ]
        return sparse.hstack(columns, format="csr")
    if isinstance(rows, np.ndarray):
        copies = np.tile(rows, (n_copies, 1))
        for k, at in sources.items():
            copies[:, k] = others[at.ravel(), k]
        return copies
    frame, donors = (nw.from_native(one, eager_only=True) for one in (rows, others))
    repeated = np.tile(np.arange(len(frame)), n_copies)
    drawn = (donors[:, k][at.ravel()].alias(frame.columns[k]) for k, at in sources.items())
    return frame[repeated, :].with_columns(*drawn).to_native()


def _row_clusters(table: Table, folds: Folds, rows: Indices) -> Indices | None:
    """Return the clusters of dependent rows that some rows are in, None where rows are independent."""
    if table.groups is not None:
        return np.asarray(table.groups, dtype=np.intp)[rows]
    if table.time is None:
        return None
    clusters = np.full(table.schema.n_rows, -1)
    done = 0
    for fold in folds:
        # Neighbouring rows of a test block, as in a block bootstrap.
        n = len(fold.test)
        order = fold.test[np.argsort(table.time[fold.test], kind="stable")]
        blocks = np.arange(n) // max(1, round(n ** (1 / 3)))
        clusters[order] = done + blocks
        done += int(blocks[-1]) + 1
    return clusters[rows]


def _test_mean(
    values: Floats, weight: Floats, clusters: Indices | None, *, is_frequency: bool, n_coefficients: float
) -> tuple[float, float, float, float, float]:
    """Return the mean of values of rows, its standard error, its 95 % confidence interval and the p-value that it is at most 0."""
    total = float(weight.sum())
    mean = float(weight @ values) / total
    # Sampling weights add up to their effective number of rows.
    parts, counts, n = weight * (values - mean), np.ones(len(values)), total
    if clusters is not None:
        parts = np.bincount(np.unique(clusters, return_inverse=True)[1], parts).astype(np.float64)
        counts, n = np.ones(len(parts)), float(len(parts))
    elif is_frequency:
        # A weight of w is w independent rows.
        parts, counts = values - mean, weight
    variance, fourth = float(counts @ parts**2), float(counts @ parts**4)
    if fourth <= 0 or n < 2:
        return mean, 0.0, mean, mean, 1.0
    error = float(np.sqrt(variance * n / max(n - 1 - n_coefficients, n * _MIN_FREE_SHARE))) / total
    freedom = max(1.0, variance**2 / fourth - 1)
    half = float(stats.t.ppf(0.975, freedom)) * error
    return mean, error, mean - half, mean + half, float(stats.t.sf(mean / error, freedom))
