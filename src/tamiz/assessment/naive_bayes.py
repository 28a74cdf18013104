"""Naive Bayes on mixed columns with gaps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from tamiz.assessment.predictors import Learned, Predictor
from tamiz.exceptions import DataError
from tamiz.sources.base import Source
from tamiz.sources.schema import Schema
from tamiz.sources.views import columns_of, target_of, weight_of
from tamiz.statistics.base import Block, Floats
from tamiz.statistics.coding import Coding
from tamiz.statistics.moments import ClassMoments
from tamiz.statistics.tables import ContingencyTables
from tamiz.wrappers.labels import class_labels

# Values looked at in one go.
_PIECE_VALUES = 2**20
# A class whose values hardly vary is taken to vary by so much of what the column does.
_LEAST_SHARE = 1e-9


class NaiveBayes(Predictor):
    """Naive Bayes: every column by itself within each class."""

    label = "naive Bayes"

    def check(self, schema: Schema) -> None:
        """Refuse a target that is a number."""
        if not schema.has_classes:
            assert schema.target is not None
            raise DataError(
                f"Naive Bayes needs classes, and the target {schema.target.name!r} is a number; use predictor='knn' or 'tree'."
            )

    def learn(self, train: Source, columns: list[int], seed: int) -> Learned:  # noqa: ARG002 - nothing is drawn
        """Return what the rows teach."""
        return Learned(MixedNaiveBayes().fit(columns_of(train, columns)), lambda rows: rows)


class MixedNaiveBayes(ClassifierMixin, BaseEstimator):
    """Classes by the product of what each column says of them, learned from a table and told of other views of it.

    A number is normal within a class, with the class's mean and variance (the sum of squares over the weight); a category has the
    frequencies of its levels, each count one larger than it is, and so have the classes themselves. A missing value says
    nothing, when it is learned from and when it is met. A row of weight 2 counts as two.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Labels of the classes that occur among the rows learned from, ascending.
    prior_ : ndarray of shape (n_classes,)
        Logarithms of the classes' shares.

    Notes
    -----
    Cost O(n p) in one pass over the rows, which need not fit in memory. A class that has fewer than two values of a number, or
    whose values do not vary, would be certain of itself: the first takes the column's mean and variance over all rows, the other a
    variance of 1e-9 of that. A number that is constant over all rows says nothing.

    References
    ----------
    John and Langley (1995), Estimating continuous distributions in Bayesian classifiers, UAI.
    """

    def fit(self, source: Source) -> Self:
        """Count."""
        schema = source.schema
        n_classes = schema.n_classes
        coding = Coding({**schema.level_sizes, schema.n_columns: n_classes}, {})
        pairs = [(j, schema.n_columns) for j in schema.categorical]
        moments, tables = source.reduce(ClassMoments(schema.numeric, n_classes), ContingencyTables(pairs, coding))
        weights = np.bincount(target_of(source), weight_of(source), n_classes)
        present = np.flatnonzero(weights > 0)
        labels = class_labels(schema)[present]
        order = np.argsort(labels)
        self.classes_, codes = labels[order], present[order]
        prior = weights[codes] + 1
        self.prior_ = np.log(prior / prior.sum())
        self._columns = schema.used.tolist()
        self._numeric, self._categorical = schema.numeric, schema.categorical
        self._mean, self._variance = _normals(moments, codes)
        self._levels = [_frequencies(table[:-1, codes]) for table in tables.tables]
        return self

    def _joint(self, block: Block) -> Floats:
        """Return the logarithm of the product for every row and class, of shape (n_rows, n_classes)."""
        joint = np.tile(self.prior_, (len(block.rows), 1))
        if self._numeric:
            values = block.matrix(self._numeric)
            gaps = np.isnan(values)
            scale = np.sqrt(self._variance)
            for c in range(len(self.classes_)):
                each = -0.5 * ((values - self._mean[c]) / scale[c]) ** 2 - np.log(scale[c])
                joint[:, c] += np.where(gaps, 0.0, each).sum(axis=1)
        for j, levels in zip(self._categorical, self._levels, strict=True):
            # A missing value has code -1, and the last row of the table is its: 0 for every class.
            joint += levels[block.column(j)]
        return joint

    def _pieces(self, source: Source) -> Iterator[Floats]:
        size = max(1, _PIECE_VALUES // max(len(self._columns), 1))
        for block in source.blocks(self._columns):
            for piece in block.pieces(size):
                yield self._joint(piece)

    def predict(self, source: Source) -> NDArray[Any]:
        """Return the most probable class of every row, the first of equals."""
        return np.concatenate([self.classes_[joint.argmax(axis=1)] for joint in self._pieces(source)])

    def predict_proba(self, source: Source) -> Floats:
        """Return the probability of every class, of shape (n_rows, n_classes)."""
        shares = []
        for joint in self._pieces(source):
            share = np.exp(joint - joint.max(axis=1, keepdims=True))
            shares.append(share / share.sum(axis=1, keepdims=True))
        return np.concatenate(shares)


def _normals(moments: ClassMoments, classes: NDArray[np.intp]) -> tuple[Floats, Floats]:
    """Return mean and variance of every column in each class that occurs."""
    weight, mean, squares = moments.weight[classes], moments.mean[classes], moments.squares[classes]
    total = weight.sum(axis=0)
    safe = np.where(total > 0, total, 1.0)
    centre = (weight * mean).sum(axis=0) / safe
    spread = (squares + weight * (mean - centre) ** 2).sum(axis=0) / safe
    least, largest = moments.least.min(axis=0, initial=np.inf), moments.largest.max(axis=0, initial=-np.inf)
    says_nothing = ~(least < largest)
    few = (weight < 2) | says_nothing
    variance = np.divide(squares, weight, out=np.zeros_like(squares), where=weight > 0)
    variance = np.maximum(variance, _LEAST_SHARE * spread)
    # Equal means and variances of all classes: they differ in nothing.
    return np.where(few, centre, mean), np.where(says_nothing, 1.0, np.where(few, spread, variance))


def _frequencies(table: Floats) -> Floats:
    """Return the logarithms of the levels' shares in each class, of shape (n_levels + 1, n_classes), the last row 0."""
    counts = table + 1
    return np.vstack([np.log(counts / counts.sum(axis=0)), np.zeros(table.shape[1])])
