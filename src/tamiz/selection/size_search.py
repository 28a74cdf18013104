"""The number of columns of a selection, chosen by cross-validation."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.utils import Tags, get_tags

from tamiz.criteria.cross_validated import CrossValidated
from tamiz.exceptions import DataError
from tamiz.models.backends import RefitBackend, choose_backend
from tamiz.models.estimators import check_metadata, requested_metadata
from tamiz.models.evaluator import WrapperEvaluator, stable_repr
from tamiz.models.task import make_task
from tamiz.runtime import parallel, progress
from tamiz.runtime.random import Seed, make_rng
from tamiz.runtime.user_warnings import capture_imputation_notes, capture_warnings, warn_user
from tamiz.runtime.validation import check_choice, check_integer
from tamiz.selection.rank_selector import RankSelector
from tamiz.selection.selector import Selector
from tamiz.selection.subset_selector import SubsetSelector
from tamiz.storage.invariants import InstanceOf, Integer, Invariants, OneOf
from tamiz.table.base import Table
from tamiz.table.factory import record_features
from tamiz.table.views import select_rows, with_metadata, without_target

_RULES = ("best", "one_standard_error")


class SizeSearchCV(Selector):
    """Choose the number of columns by cross-validation, with the selection inside every fold.

    In every fold the selector ranks or searches once on the training rows, which gives a set for each size. The estimator is fitted
    on each set and scored on the test rows. The number of columns with the best mean score is then selected on all rows.

    Parameters
    ----------
    selector : RankSelector or SubsetSelector
        The set of a size is the best columns of a ranking, or the best evaluated set of that size of a search. Its `n_features` is
        ignored. It is cloned.
    estimator : estimator or str
        The estimator, or the name of a model, as in `CrossValidated`; a table with text is encoded inside every fold for a
        scikit-learn estimator that accepts no text.
    sizes : list of int, default=None
        Numbers of columns to compare. None is every size from 1 to the number of columns that can be chosen; for a search, the
        sizes for which it evaluates a set in every fold.
    cv : int, splitter or iterable of (train, test), default=5
        Folds, as in `CrossValidated`: an integer makes stratified folds of shuffled rows, and folds of whole groups where there are
        groups. For scikit-learn's folds of consecutive rows, pass a splitter.
    scoring : str or callable, default=None
        As in `CrossValidated`: None is accuracy for a classifier and R2 for a regressor.
    rule : {"best", "one_standard_error"}, default="best"
        "best" is the smallest size with the best mean score. "one_standard_error" is the smallest size whose mean score is within
        one standard error of the best; the standard error is the standard deviation of the best size's fold scores (with n - 1),
        divided by the square root of the number of folds.
    random_state : int, Generator or RandomState, default=0
        Seed of the folds of an integer `cv`, and of an estimator without a seed of its own.
    n_jobs : int, default=None
        Number of threads; None uses the cores available to this process. The result does not depend on it.

    Attributes
    ----------
    n_features_ : int
        The chosen number of columns.
    cv_results_ : dict of str to ndarray
        By ascending size: "n_features", "mean_test_score", "std_test_score" (with n), and "split0_test_score" and so on for each
        fold. A size on whose set the estimator cannot be fitted has minus infinity.
    score_name_ : str
        Name of the score, such as "accuracy of GaussianNB".
    selector_ : RankSelector or SubsetSelector
        The selector, fitted with the chosen size on all rows.
    schema_ : Schema
        Names and kinds of the columns as they were used.

    Raises
    ------
    DataError
        When the table or a fold cannot be used, or a fold has no set of a requested size.
    ValueError
        When a parameter cannot be used.

    Notes
    -----
    The mean score of the chosen size is optimistic, because it is the best of several. `selection_report(SizeSearchCV(...), X, y)`
    estimates its optimism by nested cross-validation.

    Cost one ranking or search in each fold, one fit of the estimator for each fold and size, and one ranking or search on all rows.
    `GridSearchCV` over the size of a selector in a pipeline has the same scores, but ranks again for every size.

    References
    ----------
    Guyon, Weston, Barnhill and Vapnik (2002), Gene selection for cancer classification using support vector machines, Machine
    Learning 46.
    Ambroise and McLachlan (2002), Selection bias in gene extraction, PNAS 99: why the selection belongs inside the folds.
    Breiman, Friedman, Olshen and Stone (1984), Classification and Regression Trees, section 3.4.3: one standard error.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from tamiz import RankSelector, SizeSearchCV
    >>> from tamiz.criteria import InformationGain
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> sizes = [1, 2, 5, 10, 20, 30]
    >>> search = SizeSearchCV(RankSelector(InformationGain()), GaussianNB(), sizes=sizes).fit(X, y)
    >>> search.cv_results_["mean_test_score"].round(3)
    array([0.916, 0.912, 0.945, 0.924, 0.937, 0.94 ])
    >>> search.n_features_, search.transform(X).shape
    (5, (569, 5))
    """

    invariants: ClassVar[Invariants] = {
        "rule": OneOf(*_RULES),
        "n_features_": Integer(low=1),
        "selector_": InstanceOf(RankSelector, SubsetSelector),
        "cv_results_": InstanceOf(dict),
        "score_name_": InstanceOf(str),
    }
    # Not used: the selector and the estimator decide.
    _needs_target: ClassVar[bool] = False

    def __init__(
        self,
        selector: RankSelector | SubsetSelector,
        estimator: Any,
        *,
        sizes: Iterable[int] | None = None,
        cv: Any = 5,
        scoring: str | Callable[..., Any] | None = None,
        rule: str = "best",
        random_state: Seed = 0,
        n_jobs: int | None = None,
    ) -> None:
        self.selector = selector
        self.estimator = estimator
        self.sizes = sizes
        self.cv = cv
        self.scoring = scoring
        self.rule = rule
        self.random_state = random_state
        self.n_jobs = n_jobs

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = (
            get_tags(self._checked_selector()).target_tags.required or self._cross_validated().reads_target
        )
        tags.input_tags.allow_nan = tags.input_tags.allow_nan and self._cross_validated().allow_missing
        return tags

    @property
    def _reads_target(self) -> bool:
        return self._checked_selector()._reads_target or self._cross_validated().reads_target

    def _criterion(self) -> Any:
        return self._checked_selector()._criterion()

    def _metadata_readers(self) -> list[tuple[Any, str]]:
        return [(self.estimator, "fit"), (self.scoring, "score"), *self._checked_selector()._metadata_readers()]

    def _checked_selector(self) -> RankSelector | SubsetSelector:
        if not isinstance(self.selector, RankSelector | SubsetSelector):
            raise TypeError(
                "selector must be a RankSelector or a SubsetSelector, which have a set of columns for each size, got "
                f"{self.selector!r}."
            )
        return self.selector

    def _cross_validated(self) -> CrossValidated:
        """Return the merit of the estimator, which determines whether it reads a target and accepts missing values."""
        return CrossValidated(self.estimator, self.cv, self.scoring)

    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None, groups: Any = None, **params: Any) -> Self:
        """Choose the number of columns, and select that many on all rows.

        Parameters
        ----------
        X : array, data frame or Table
        y : array of shape (n_samples,), default=None
            Ignored where neither the selector nor the estimator needs a target.
        sample_weight : array of shape (n_samples,), default=None
            A row with weight 2 counts as two equal rows, in the selection, in the fits and in the score.
        groups : array of shape (n_samples,), default=None
            All rows of a group are in the same fold; the selector uses the groups as in its own `fit`.
        **params
            Further values of the rows, as for `SubsetSelector.fit`: for the estimator, its scorer and the selector's merit.
        """
        check_metadata(f"{type(self).__name__}.fit()", self._metadata_readers(), params)
        check_choice("rule", self.rule, _RULES)
        sizes = self._check_sizes()
        with parallel.thread_session(self.n_jobs):
            table = with_metadata(self._open_table(X, y, sample_weight, groups), params)
            if self._cross_validated().reads_target and table.schema.target is None:
                raise DataError("SizeSearchCV requires y to be passed, but the target y is None.")
            evaluator = self.make_evaluator(table)
            folds = range(len(evaluator.task.folds))
            scores = self._score_paths(table, evaluator, sizes)
            if scores is None:
                scores = [
                    self._score_fold(table, evaluator, fold, sizes)
                    for fold in progress.track_progress("Folds", folds, len(folds))
                ]
            self.cv_results_ = _make_cv_results(scores, sizes)
            self.n_features_ = self._choose_size(self.cv_results_)
            self.score_name_ = evaluator.info.name
            selector = clone(self.selector).set_params(n_features=self.n_features_)
            requested = requested_metadata(selector, "fit", params)
            # The estimator and the selector may impute the same columns.
            with capture_imputation_notes() as imputation_notes:
                warn_user(evaluator.notes())
                self.selector_ = selector.fit(X, y, sample_weight=sample_weight, groups=groups, **requested)
            warn_user(dict.fromkeys(imputation_notes))
        record_features(self, X)
        self.schema_ = self.selector_.schema_
        self._support = self.selector_.get_support()
        return self

    def make_evaluator(self, table: Table) -> WrapperEvaluator:
        """Return the evaluator that scores sets of columns on the folds of the search.

        Its scores of single sets, and of the empty set, the baseline, are comparable with those of `cv_results_`.

        Parameters
        ----------
        table : Table

        Notes
        -----
        It refits the estimator: there are few sets, most of them evaluated once. Naive Bayes on mixed columns is not refitted: its
        backend needs one pass for all sets.
        """
        wrapper = self._cross_validated()
        table = table if wrapper.reads_target else without_target(table)
        seed = int(make_rng(self.random_state).integers(2**31))
        model = wrapper.model(table.schema)
        task = make_task(model, table, cv=self.cv, scoring=self.scoring, seed=seed)
        if model.reads_table:
            return WrapperEvaluator(task, *choose_backend(task))
        return WrapperEvaluator(task, RefitBackend(task), RefitBackend.method)

    def _check_sizes(self) -> list[int] | None:
        if self.sizes is None:
            return None
        sizes = sorted({check_integer("a size", size, low=1) for size in self.sizes})
        if not sizes:
            raise ValueError("sizes is empty; pass at least one size, or None for all.")
        return sizes

    def _score_fold(
        self, table: Table, evaluator: WrapperEvaluator, fold: int, sizes: list[int] | None
    ) -> dict[int, float]:
        """Return the test score of each size in a fold, with the sets that the selector finds on the training rows."""
        task = evaluator.task
        # The task does not contain rows of weight 0 and rows that are in no fold.
        rows = np.searchsorted(table.row_numbers, task.table.row_numbers[task.folds[fold].train])
        where = f"Fold {fold + 1} of {len(task.folds)}"
        try:
            # Warnings and progress of the selection in a fold are suppressed; the selection on all rows reports them.
            with capture_warnings(), progress.use_listener(None):
                sets = self._checked_selector()._supports_by_size(select_rows(table, rows), sizes)
        except ValueError as error:
            raise DataError(f"{where}: {error}") from error
        _check_has_sizes(sets, sizes, where)
        found = evaluator.scores_in_fold(fold, np.array(list(sets.values())))
        return dict(zip(sets, found.tolist(), strict=True))

    def _score_paths(
        self, table: Table, evaluator: WrapperEvaluator, sizes: list[int] | None
    ) -> list[dict[int, float]] | None:
        """Return the test scores of recursive elimination whose importances are those of the estimator itself; None otherwise.

        Each fit then serves for the importances and for the score.
        """
        selector, own = self._checked_selector(), self._cross_validated()
        merit = selector.merit if isinstance(selector, SubsetSelector) else None
        if not (isinstance(selector, SubsetSelector) and isinstance(merit, CrossValidated)):
            return None
        if merit.encode != own.encode or stable_repr(merit.estimator) != stable_repr(own.estimator):
            return None
        found = selector._path_problem(table, sizes)
        if found is None or found[0].importance_getter == "permutation" or not own.reads_target:
            return None
        search, problem = found
        paths = [evaluator.fold_importances(fold) for fold in range(len(evaluator.task.folds))]
        if paths[0].importances(problem.largest_start, [], 1, search.importance_getter) is None:
            return None

        def of_fold(fold: int) -> dict[int, float]:
            path = paths[fold]
            sets = search.visited_by_size(replace(problem, evaluator=path), make_rng(0))
            sets = {size: sets[size] for size in (sizes or sets) if size in sets}
            _check_has_sizes(sets, sizes, f"Fold {fold + 1} of {len(paths)}")
            return {size: path.score(mask) for size, mask in sets.items()}

        with parallel.single_threaded() if evaluator.scorer.has_few_rows else nullcontext():
            scores = parallel.map_blocks(of_fold, range(len(paths)))
            return list(progress.track_progress("Folds", scores, len(paths)))

    def _choose_size(self, results: dict[str, NDArray[Any]]) -> int:
        means = results["mean_test_score"]
        best = int(np.argmax(means))
        if np.isneginf(means[best]):
            raise DataError("No size has a score in every fold: change the estimator, the selector or the folds.")
        min_score = means[best]
        if self.rule == "one_standard_error":
            fold_scores = np.array([values[best] for name, values in results.items() if name.startswith("split")])
            if len(fold_scores) < 2:
                raise ValueError(
                    "rule='one_standard_error' needs at least 2 folds, got 1; use more folds, or rule='best'."
                )
            min_score -= fold_scores.std(ddof=1) / np.sqrt(len(fold_scores))
        return int(results["n_features"][np.flatnonzero(means >= min_score)[0]])


def _check_has_sizes(sets: Mapping[int, object], sizes: Iterable[int] | None, where: str) -> None:
    for size in sizes or ():
        if size not in sets:
            raise DataError(
                f"{where}: the search evaluated no set of {size:,} column{'s' * (size > 1)}; use other sizes, or a search that "
                "visits every size, such as Forward."
            )


def _make_cv_results(scores: Sequence[dict[int, float]], sizes: list[int] | None) -> dict[str, NDArray[Any]]:
    """Return scikit-learn's `cv_results_` of the requested sizes, or of the sizes that all folds have in common."""
    shared = sorted(set.intersection(*map(set, scores))) if sizes is None else sizes
    if not shared:
        raise DataError("The folds have no size in common: use a search that visits every size, such as Forward.")
    values = np.array([[fold_scores[size] for fold_scores in scores] for size in shared])
    # The standard deviation of scores of minus infinity is NaN.
    with np.errstate(invalid="ignore"):
        deviations = values.std(axis=1)
    return {
        "n_features": np.array(shared),
        "mean_test_score": values.mean(axis=1),
        "std_test_score": deviations,
        **{f"split{fold}_test_score": values[:, fold].copy() for fold in range(len(scores))},
    }
