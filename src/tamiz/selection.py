"""Selectors: where a criterion meets a search, as full scikit-learn transformers."""

from __future__ import annotations

import os
from abc import abstractmethod
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, MetaEstimatorMixin
from sklearn.feature_selection import SelectorMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from tamiz import parallel
from tamiz.criteria.base import Merit, Relevance, complete
from tamiz.evaluator import Evaluator
from tamiz.random import Seed, generator
from tamiz.search.archive import Archive
from tamiz.search.base import Search
from tamiz.search.journal import Journal
from tamiz.search.run import run
from tamiz.search.stopping import Stopping
from tamiz.sources.base import Source
from tamiz.sources.features import compare, mixed_table_tags, remember
from tamiz.sources.memory import eager_frame, is_frame
from tamiz.sources.open import as_source
from tamiz.validation import check_integer, check_real
from tamiz.warn import tell


class _Selector(SelectorMixin, MetaEstimatorMixin, BaseEstimator):
    """What both selectors share: the tags, and frames that stay frames."""

    def __sklearn_tags__(self) -> Tags:
        tags = mixed_table_tags(super().__sklearn_tags__())
        tags.target_tags.required = self._criterion().needs_target
        return tags

    @abstractmethod
    def _criterion(self) -> Any:
        """Return the part that scores."""

    def _get_support_mask(self) -> NDArray[np.bool_]:
        check_is_fitted(self)
        return self._support

    def transform(self, X: Any) -> Any:
        """Return the chosen columns: of a data frame, a frame of the same library with its dtypes."""
        check_is_fitted(self)
        if isinstance(X, Source):
            compare(self, X)
            return X.frame(np.flatnonzero(self._support).tolist())
        if not is_frame(X):
            return super().transform(X)
        compare(self, X)
        frame = eager_frame(X)
        chosen = np.flatnonzero(self._support).tolist()
        return (frame[:, chosen] if chosen else frame.select([])).to_native()


def _check_part(owner: str, role: str, part: Any, kind: type, example: str) -> None:
    if not isinstance(part, kind):
        raise TypeError(f"{owner} takes a {role} such as {example}, got {part!r}.")


class RankSelector(_Selector):
    """Keep the columns that score best one by one.

    Parameters
    ----------
    relevance : Relevance
        The score, such as `InformationGain()`.
    n_features : int, default=None
        Keep this many.
    threshold : float, default=None
        Keep those that score at least this. With neither, all are kept; with both, a column must pass both.

    Attributes
    ----------
    scores_ : ndarray of shape (n_columns,)
        Larger is better.
    ranking_ : ndarray of shape (n_columns,)
        Column numbers, best first; equal scores in column order, constant and left-out columns last.
    schema_ : Schema
        The columns as they were taken.

    Raises
    ------
    ValueError
        When the table or a parameter cannot be used.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tamiz import RankSelector
    >>> from tamiz.criteria import InformationGain
    >>> iris = load_iris(as_frame=True)
    >>> selector = RankSelector(InformationGain(), n_features=2).fit(iris.data, iris.target)
    >>> selector.transform(iris.data).columns.tolist()
    ['petal length (cm)', 'petal width (cm)']
    """

    def __init__(self, relevance: Relevance, *, n_features: int | None = None, threshold: float | None = None) -> None:
        self.relevance = relevance
        self.n_features = n_features
        self.threshold = threshold

    def _criterion(self) -> Relevance:
        return self.relevance

    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None, groups: Any = None) -> Self:  # noqa: ARG002
        """Score the columns.

        Parameters
        ----------
        X : array, data frame or Source
        y : array of shape (n_samples,), default=None
            Not read by a relevance that needs no target.
        sample_weight : array of shape (n_samples,), default=None
            A weight of 2 counts as the row twice.
        groups : ignored
            A ranking is made without folds.
        """
        _check_part("RankSelector", "relevance", self.relevance, Relevance, "InformationGain()")
        with parallel.session():
            source = as_source(X, y if self.relevance.needs_target or isinstance(X, Source) else None, sample_weight)
            self.relevance.check(source.schema)
            relevance = self.relevance.ready(source)
            known = complete([relevance], source.reduce, source.schema)
            self.scores_ = relevance.scores(known, source.schema)
        remember(self, X)
        self.schema_ = source.schema
        tell([*source.schema.dropped, *source.schema.left_out])
        last = np.array([c.left_out is not None or c.constant for c in source.schema.columns])
        self.ranking_ = np.lexsort((-self.scores_, last))
        self._support = self._kept(source.schema.n_columns)
        return self

    def _kept(self, n_columns: int) -> NDArray[np.bool_]:
        kept = np.ones(n_columns, dtype=bool)
        if self.n_features is not None:
            n = check_integer("n_features", self.n_features, low=1)
            if n > n_columns:
                raise ValueError(
                    f"n_features={n} exceeds the {n_columns} columns of the table; ask for at most {n_columns}."
                )
            kept[self.ranking_[n:]] = False
        if self.threshold is not None:
            kept &= self.scores_ >= check_real("threshold", self.threshold)
        return kept


class SubsetSelector(_Selector):
    """Keep the set of columns that a search finds best by a merit.

    Parameters
    ----------
    merit : Merit
        The worth of a set, such as `CFS()`.
    search : Search
        The way through the sets, such as `BestFirst()`; columns to fix, exclude, group or start with belong to it.
    n_features : int or (least, most), default=None
        The size of the set, or its range; None lets the merit decide.
    stop : Stopping, default=None
        When to stop before the search ends by itself, such as `Evaluations(1000) | Seconds(60)`.
    journal : path, default=None
        A file that every evaluated set is written to; where it exists, the search goes on from it.
    random_state : int, Generator or RandomState, default=None
        For searches that draw lots.
    n_jobs : int, default=None
        Threads; None takes the cores that this process may use. The result does not depend on it.

    Attributes
    ----------
    support_ : ndarray of shape (n_columns,), bool
    merit_ : float
    archive_ : Archive
        Every evaluated set with its merit, in order.
    n_evaluations_ : int
    certificate_ : None or Certificate
        The proven bound and gap, where the search proves one.
    schema_ : Schema
        The columns as they were taken.

    Notes
    -----
    After Ctrl-C the selector holds the best set found until then, and KeyboardInterrupt goes on to the caller.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from tamiz import SubsetSelector
    >>> from tamiz.criteria import CFS
    >>> from tamiz.search import Forward
    >>> X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    >>> selector = SubsetSelector(CFS(), Forward(), n_features=3).fit(X, y)
    >>> selector.get_feature_names_out().tolist()
    ['worst perimeter', 'worst area', 'worst concave points']
    """

    def __init__(
        self,
        merit: Merit,
        search: Search,
        *,
        n_features: int | tuple[int, int] | None = None,
        stop: Stopping | None = None,
        journal: str | os.PathLike[str] | None = None,
        random_state: Seed = None,
        n_jobs: int | None = None,
    ) -> None:
        self.merit = merit
        self.search = search
        self.n_features = n_features
        self.stop = stop
        self.journal = journal
        self.random_state = random_state
        self.n_jobs = n_jobs

    def _criterion(self) -> Merit:
        return self.merit

    def fit(self, X: Any, y: Any = None, *, sample_weight: Any = None, groups: Any = None) -> Self:  # noqa: ARG002
        """Search.

        Parameters
        ----------
        X : array, data frame or Source
        y : array of shape (n_samples,), default=None
        sample_weight : array of shape (n_samples,), default=None
            A weight of 2 counts as the row twice.
        groups : ignored
            No merit of this version makes folds.
        """
        _check_part("SubsetSelector", "merit", self.merit, Merit, "CFS()")
        _check_part("SubsetSelector", "search", self.search, Search, "BestFirst()")
        if self.stop is not None:
            _check_part("SubsetSelector", "stopping rule", self.stop, Stopping, "Evaluations(1000)")
        rng = generator(self.random_state)
        with parallel.session(self.n_jobs):
            source = as_source(X, y if self.merit.needs_target or isinstance(X, Source) else None, sample_weight)
            schema = source.schema
            problem = self.search.problem(schema.names, schema.used, self.n_features)
            evaluator: Evaluator = self.merit.prepare(source.reduce, schema, rng)
            archive = Archive(schema.n_columns, least=problem.least, most=problem.most, min_gain=self.search.min_gain)
            journal = None if self.journal is None else Journal(self.journal, self._facts(source), archive)
            run(self.search.walk(problem, rng), evaluator, archive, self.stop, journal)
        remember(self, X)
        self.schema_ = schema
        tell([*schema.dropped, *schema.left_out])
        return self._take(archive)

    def _facts(self, source: Source) -> dict[str, Any]:
        return {"columns": source.schema.names, "merit": repr(self.merit), "data": source.fingerprint()}

    def _take(self, archive: Archive) -> Self:
        if archive.best is None:
            if archive.interrupted:
                raise KeyboardInterrupt
            raise ValueError(
                f"No set of the size asked for was evaluated before the search stopped ({archive.stopped}). "
                "Let it run longer, or start it nearer to that size."
            )
        self.archive_ = archive
        self.n_evaluations_ = len(archive)
        self.merit_ = archive.best_merit
        self.support_ = self._support = archive.mask(archive.best)
        self.certificate_ = None
        if archive.interrupted:
            raise KeyboardInterrupt
        if not self.support_.any():
            name = type(self.merit).__name__
            tell([f"{name} finds no column worth keeping: the best set is the empty one ({archive.stopped})."])
        return self
