"""How well one column alone predicts or recodes the target: cross-validated scorers, and adjusted mutual information."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from tamiz.kernels.contingency import bin_values
from tamiz.statistics.base import Codes, Floats
from tamiz.statistics.cuts import MDL, SortedColumn

Sizes = NDArray[np.int64]


def entropy(sizes: NDArray[Any]) -> float:
    """Return the entropy, in bits, of groups with so many rows.

    Parameters
    ----------
    sizes : ndarray of int, 0 or more
    """
    shares = sizes[sizes > 0] / max(int(sizes.sum()), 1)
    return float(-(shares * np.log2(shares)).sum())


def joint_entropy(a: NDArray[Any], b: NDArray[Any]) -> float:
    """Return the entropy, in bits, of the pairs of two codings.

    Parameters
    ----------
    a, b : ndarray of int, 0 or more, of shape (n_rows,)
    """
    return entropy(np.unique(a.astype(np.int64) * (int(b.max()) + 1) + b, return_counts=True)[1])


def adjusted_mutual_information(a: NDArray[Any], b: NDArray[Any]) -> float:
    """Return the mutual information of two codings, corrected for chance: 1 where they are the same up to the names of the codes.

    .. math:: AMI(A, B) = \\frac{I(A; B) - E}{(H(A) + H(B)) / 2 - E}

    E is the mean of I over all orders of the rows of one coding. In terms of the symmetric uncertainty U and its mean E' over the
    same orders it is (U - E') / (1 - E').

    Parameters
    ----------
    a, b : ndarray of int, 0 or more, of shape (n_rows,)

    Notes
    -----
    It is 0 where chance leaves nothing to explain, as for two codings that give every row a code of its own. Cost O(n log n), and
    O(n) for each pair of distinct group sizes.

    References
    ----------
    Vinh, Epps and Bailey (2010), Information theoretic measures for clusterings comparison, JMLR 11.
    """
    sizes_a, sizes_b = np.bincount(a), np.bincount(b)
    mean = (entropy(sizes_a) + entropy(sizes_b)) / 2
    expected = _expected_information(sizes_a[sizes_a > 0], sizes_b[sizes_b > 0])
    # Rounding leaves about 1e-15 bits where every order of the rows shares all there is.
    if mean - expected <= 1e-9 * mean:
        return 0.0
    return float((2 * mean - joint_entropy(a, b) - expected) / (mean - expected))


def log2_partitions(sizes: NDArray[Any]) -> float:
    """Return the logarithm to base 2 of the number of ways to split rows into groups of these sizes.

    Parameters
    ----------
    sizes : ndarray of int, 0 or more
    """
    sizes = sizes[sizes > 0]
    alike = np.unique(sizes, return_counts=True)[1]
    ways = gammaln(sizes.sum() + 1) - gammaln(sizes + 1).sum() - gammaln(alike + 1).sum()
    return float(ways / np.log(2))


def _expected_information(sizes_a: Sizes, sizes_b: Sizes) -> float:
    """Return the mean mutual information, in bits, of groups of these sizes over all orders of the rows.

    The rows that a group of a and one of b share are hypergeometric; groups of equal sizes are summed once (equation 24a of Vinh,
    Epps and Bailey 2010).
    """
    n = int(sizes_a.sum())
    factorial: Floats = gammaln(np.arange(n + 1) + 1.0)
    found = 0.0
    for a, n_a in zip(*np.unique(sizes_a, return_counts=True), strict=True):
        for b, n_b in zip(*np.unique(sizes_b, return_counts=True), strict=True):
            shared = np.arange(max(1, a + b - n), min(a, b) + 1)
            chance = np.exp(
                factorial[a] + factorial[b] + factorial[n - a] + factorial[n - b] - factorial[n]
                - factorial[shared] - factorial[a - shared] - factorial[b - shared] - factorial[n - a - b + shared]
            )  # fmt: skip
            found += n_a * n_b * float((shared / n * np.log2(n * shared / (float(a) * float(b))) * chance).sum())
    return found


# Largest table of folds x levels x classes that is counted; a larger column scores the baseline.
_MAX_COUNTS = 5_000_000
# A column with a lower R2 between neighbouring rows is not cross-validated.
_MIN_NEIGHBOUR_SCORE = 0.9
# Levels decide the rows of other folds that have one of them: at least this share of all rows.
_MIN_DECIDED = 0.8
# Classes that a leaking column need not predict have at most this share of the rows, all together.
_MAX_UNDECIDED_CLASSES = 0.05
# Neighbouring values whose means are interpolated in a second prediction: their noise is that of a mean.
_BLOCK_VALUES = 8


@dataclass(frozen=True)
class Score:
    """A cross-validated score, the score of a prediction that uses no column, and the share of the rows that are scored."""

    value: float
    baseline: float
    decided: float = 1.0


class SingleColumnScorer(ABC):
    """Cross-validated score of a model of the target with one column; a perfect prediction scores 1.

    Attributes
    ----------
    score_name : str
    min_score : float
        The least score of possible target leakage.
    sure_score : float
        Below this score other columns may be as good.
    """

    score_name: str
    min_score: float
    sure_score: float

    @abstractmethod
    def score_levels(self, codes: Codes, n_levels: int) -> Score:
        """Return the score of a column of codes 0 .. n_levels - 1, in the rows with a level that occurs in other folds."""

    @abstractmethod
    def score_numbers(self, values: Floats, min_score: float) -> Score:
        """Return the score of a column of numbers (NaN if missing), or a bound of it below `min_score`."""


class ClassScorer(SingleColumnScorer):
    """Scorer for classes: predicts for each level or interval the class with the largest share of its own rows there.

    The score is the balanced accuracy. If it is below `min_score`, and at least `min_score` without the worst predicted classes,
    which have at most 5 % of the rows, then it is that of the other classes.

    Parameters
    ----------
    labels : ndarray of int32, codes 0 .. n_classes - 1
    weight : ndarray or None
    folds : ndarray of int
    """

    score_name = "balanced accuracy"
    min_score, sure_score = 0.97, 0.98

    def __init__(self, labels: Codes, weight: Floats | None, folds: NDArray[np.intp]) -> None:
        self._labels = labels
        self._weight = np.ones(len(labels)) if weight is None else weight
        self._folds = folds
        self._n_folds = int(folds.max()) + 1
        self._n_classes = int(labels.max()) + 1
        self._class_weights: Floats = np.bincount(labels, self._weight).astype(np.float64)
        self._n_log_n = np.empty(0)
        if weight is None:
            n = np.arange(len(labels) + 1, dtype=np.float64)
            self._n_log_n = n * np.log2(np.maximum(n, 1.0))

    def score_levels(self, codes: Codes, n_levels: int) -> Score:
        """Return the balanced accuracy of a column of levels."""
        shape = (self._n_folds, n_levels, self._n_classes)
        if np.prod(shape, dtype=float) > _MAX_COUNTS:
            return Score(1 / self._n_classes, 1 / self._n_classes)
        cell = (self._folds * n_levels + codes) * self._n_classes + self._labels
        counts: Floats = np.bincount(cell, self._weight, int(np.prod(shape))).reshape(shape).astype(np.float64)
        whole = counts.sum(axis=0)
        # A level without training rows decides nothing.
        counts *= (whole - counts).any(axis=2, keepdims=True)
        hits = sum((_hits(whole - fold, fold) for fold in counts), np.zeros(self._n_classes))
        return self._score(hits, counts.sum(axis=(0, 1)))

    def score_numbers(self, values: Floats, min_score: float) -> Score:
        """Return the balanced accuracy of MDL intervals, cut in each fold on the training rows alone."""
        order = np.argsort(values, kind="stable")
        order = order[: len(values) - int(np.isnan(values).sum())]
        every = self._interval_hits(values, order, np.zeros(len(values), dtype=bool))
        seen = self._score(every, self._class_weights)
        if seen.value < min_score:
            return seen
        by_fold = (self._interval_hits(values, order, self._folds == fold) for fold in range(self._n_folds))
        return self._score(sum(by_fold, np.zeros(self._n_classes)), self._class_weights)

    def _interval_hits(self, values: Floats, order: NDArray[np.intp], test_mask: NDArray[np.bool_]) -> Floats:
        """Return the correctly predicted weight of each class in the test rows; in the training rows if there are no test rows."""
        learned = order[~test_mask[order]]
        labels = self._labels
        column = SortedColumn(values[learned], labels[learned], self._weight[learned], self._n_classes, self._n_log_n)
        cuts = MDL().cuts(column)
        codes = np.empty(len(values), dtype=np.int32)
        bin_values(values, cuts, codes)
        # Missing values are an interval of their own.
        codes[codes < 0] = len(cuts) + 1
        tables: list[Floats] = [
            np.bincount(
                codes[rows] * self._n_classes + labels[rows], self._weight[rows], (len(cuts) + 2) * self._n_classes
            ).astype(np.float64)
            for rows in (~test_mask, test_mask if test_mask.any() else ~test_mask)
        ]
        return _hits(*(table.reshape(-1, self._n_classes) for table in tables))

    def _score(self, hits: Floats, decided: Floats) -> Score:
        """Return the score of classes of which so much weight is decided, and so much of it rightly."""
        total, baseline = float(self._class_weights.sum()), 1 / self._n_classes
        if decided.sum() < _MIN_DECIDED * total or not decided.all():
            return Score(baseline, baseline)
        recall = hits / decided
        share = float(decided.sum() / total)
        order = np.argsort(recall, kind="stable")
        n_left_out = int(
            np.searchsorted(np.cumsum(self._class_weights[order]), _MAX_UNDECIDED_CLASSES * total, "right")
        )
        for n in range(min(n_left_out, self._n_classes - 2) + 1):
            kept = order[n:]
            if (value := float(recall[kept].mean())) >= self.min_score:
                return Score(value, 1 / len(kept), share - float(decided[order[:n]].sum() / total))
        return Score(float(recall.mean()), baseline, share)


def _hits(train: Floats, test: Floats) -> Floats:
    """Return the weight of each class in the test counts that the training counts predict correctly."""
    of_class = train.sum(axis=0)
    shares = train / np.where(of_class > 0, of_class, 1.0)
    # An interval without training rows is predicted as the largest class.
    predicted = np.where(train.any(axis=1), np.argmax(shares, axis=1), np.argmax(of_class))
    right: Floats = np.bincount(predicted, test[np.arange(len(predicted)), predicted], test.shape[1]).astype(np.float64)
    return right


class NumericScorer(SingleColumnScorer):
    """Scorer for a numeric target: predicts the mean of a level, or a function of the values.

    The function is a line, or interpolates linearly between neighbouring values, or between the means of 8 neighbouring values.
    The score is the largest of the three R2.

    Parameters
    ----------
    target : ndarray
    weight : ndarray or None
    folds : ndarray of int
    """

    score_name = "R2"
    min_score, sure_score = 0.97, 0.99

    def __init__(self, target: Floats, weight: Floats | None, folds: NDArray[np.intp]) -> None:
        self._target = target
        self._weight = np.ones(len(target)) if weight is None else weight
        self._folds = folds
        self._n_folds = int(folds.max()) + 1

    def score_levels(self, codes: Codes, n_levels: int) -> Score:
        """Return R2 of the means of the levels."""
        cell, cells = self._folds * n_levels + codes, self._n_folds * n_levels
        weight = np.bincount(cell, self._weight, cells).reshape(self._n_folds, n_levels)
        total = np.bincount(cell, self._weight * self._target, cells).reshape(self._n_folds, n_levels)
        weight, total = weight.sum(axis=0) - weight, total.sum(axis=0) - total
        whole = total.sum(axis=1, keepdims=True) / weight.sum(axis=1, keepdims=True)
        means = np.where(weight > 0, total / np.where(weight > 0, weight, 1.0), whole)
        return self._score(means[self._folds, codes])

    def score_numbers(self, values: Floats, min_score: float) -> Score:
        """Return the largest R2 of a line and of linear interpolation between values of the training rows."""
        missing = np.isnan(values)
        # Equal values are ordered by the target, so that equal targets are neighbours.
        order = np.lexsort((self._target, values))[: len(values) - int(missing.sum())]
        if len(order) < 3 or (seen := self._neighbour_r2(order)) < min(_MIN_NEIGHBOUR_SCORE, min_score):
            return Score(0.0 if len(order) < 3 else max(0.0, seen), 0.0)
        predicted = np.empty((3, len(values)))
        for fold in range(self._n_folds):
            test = self._folds == fold
            predicted[:, test] = self._predict(values, order[~test[order]], test)
            if missing.any():
                train_missing = missing & ~test
                of = train_missing if train_missing.any() else ~test
                predicted[:, missing & test] = np.average(self._target[of], weights=self._weight[of])
        return max((self._score(each) for each in predicted), key=lambda score: score.value)

    def _neighbour_r2(self, order: NDArray[np.intp]) -> float:
        """Return R2, among the rows with a value, of the mean target of the previous and the next row."""
        y, weight = self._target[order], self._weight[order]
        left = y[1:-1] - (y[:-2] + y[2:]) / 2
        spread = float(np.sum(weight * (y - np.average(y, weights=weight)) ** 2))
        return 1 - float(np.sum(weight[1:-1] * left**2)) / spread if spread > 0 else 0.0

    def _predict(self, values: Floats, train_order: NDArray[np.intp], test_mask: NDArray[np.bool_]) -> Floats:
        """Return three predictions for the test rows: by a line, by the training values, and by means of neighbouring ones."""
        if not len(train_order):
            mean = np.average(self._target[~test_mask], weights=self._weight[~test_mask])
            return np.full((3, int(test_mask.sum())), mean)
        x, starts = np.unique(values[train_order], return_index=True)
        weight = np.add.reduceat(self._weight[train_order], starts)
        y = np.add.reduceat((self._weight * self._target)[train_order], starts) / weight
        new = values[test_mask]
        blocks = np.arange(0, len(x), _BLOCK_VALUES)
        in_blocks = np.add.reduceat(weight, blocks)
        x_mean, y_mean = (np.add.reduceat(weight * each, blocks) / in_blocks for each in (x, y))
        smooth = np.interp(new, x_mean, y_mean)
        for end, inner in ((0, 1), (-1, -2)) if len(blocks) > 1 else ():
            beyond = new < x_mean[0] if end == 0 else new > x_mean[-1]
            slope = (y_mean[inner] - y_mean[end]) / (x_mean[inner] - x_mean[end])
            smooth[beyond] = y_mean[end] + slope * (new[beyond] - x_mean[end])
        centre, mean = np.average(x, weights=weight), np.average(y, weights=weight)
        spread = float(weight @ (x - centre) ** 2)
        slope = float(weight @ ((x - centre) * (y - mean))) / spread if spread > 0 else 0.0
        return np.array([mean + slope * (new - centre), np.interp(new, x, y), smooth])

    def _score(self, predicted: Floats) -> Score:
        spread = np.sum(self._weight * (self._target - np.average(self._target, weights=self._weight)) ** 2)
        left = float(np.sum(self._weight * (self._target - predicted) ** 2) / spread)
        return Score(max(0.0, 1 - left), 0.0)


def stratified_folds(labels: NDArray[Any], n_folds: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Return a fold for every row, stratified by class.

    Parameters
    ----------
    labels : ndarray of int
    n_folds : int
    rng : Generator
    """
    order = rng.permutation(len(labels))
    order = order[np.argsort(labels[order], kind="stable")]
    folds = np.empty(len(labels), dtype=np.intp)
    # Folds are assigned in turn across class boundaries, so that small classes fill the folds evenly.
    folds[order] = np.arange(len(labels)) % n_folds
    return folds
