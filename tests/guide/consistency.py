"""Consistency of a set of columns with the classes of the target."""

import numpy as np

from tamiz.arrays import Floats, Masks
from tamiz.criteria.base import Merit
from tamiz.criteria.discretization import ColumnCoder
from tamiz.criteria.information import read_coded_rows
from tamiz.search.base import Candidates, Evaluator, HasBounds, MeritInfo
from tamiz.statistics.contingency import CodedRows
from tamiz.statistics.cuts import MDL, EqualFrequency
from tamiz.table.base import Table


class Consistency(Merit):
    r"""Share of the rows that are of the most frequent class among the rows with the same values, in [0, 1].

    .. math:: \frac{1}{n} \sum_g \max_c n_{gc}

    with :math:`n_{gc}` rows of class c in the group g of rows with equal values in all columns of the set. It is 1 minus the
    inconsistency rate of Liu and Setiono.

    Notes
    -----
    Numeric columns are cut by MDL, or into ten intervals of equal frequency where the target is numeric. A missing value is a value
    of its own. Rows with weights count by their weights. A set has at least the merit of each of its subsets, which is
    a bound for exact searches. Cost O(k n log n) for
    a set of k columns.

    References
    ----------
    Liu and Setiono (1996), A probabilistic approach to feature selection: a filter solution, ICML.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tamiz import SubsetSelector
    >>> from tamiz.criteria import Consistency
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> selector = SubsetSelector(Consistency(), "forward", n_features=1).fit(X, y)
    >>> selector.get_feature_names_out().tolist(), round(selector.merit_, 3)
    (['petal width (cm)'], 0.96)
    """

    def bind(self, table: Table, rng: np.random.Generator) -> Evaluator:
        """Return the evaluator for one table."""
        self.check(table.schema)
        rule = MDL() if table.schema.has_classes else EqualFrequency(10)
        coder = ColumnCoder(rule, table.schema, with_target=True, caller="Consistency")
        return ConsistencyEvaluator(read_coded_rows(coder, table.reduce, table.schema))


class ConsistencyEvaluator(Evaluator, HasBounds):
    """The merits over one table, whose last coded column is the target, and bounds for exact searches."""

    def __init__(self, rows: CodedRows) -> None:
        *columns, _ = rows.columns
        self._codes = dict(zip(columns, rows.codes, strict=False))
        self._classes = rows.codes[-1]
        self._weight = rows.weight if len(rows.weight) else np.ones(rows.n_samples)

    @property
    def info(self) -> MeritInfo:
        """Name, method and cost of the merit."""
        share = "Share of the rows that are of the most frequent class among the rows with the same values."
        return MeritInfo("Consistency", share)

    def evaluate(self, candidates: Candidates) -> Floats:
        """Return the merit of every candidate."""
        return np.array([self._evaluate(mask) for mask in candidates.masks()])

    def upper_bounds(self, masks: Masks) -> Floats:
        """Return the merits of the masks, which no subset exceeds."""
        return self.evaluate(Candidates.from_masks(masks))

    def _evaluate(self, mask: Masks) -> float:
        group = np.zeros(len(self._classes), dtype=np.int64)
        for column in np.flatnonzero(mask).tolist():
            pairs = group * (int(self._codes[column].max()) + 1) + self._codes[column]
            _, group = np.unique(pairs, return_inverse=True)
        n_classes = int(self._classes.max()) + 1
        counts = np.bincount(group * n_classes + self._classes, self._weight, (int(group.max()) + 1) * n_classes)
        return float(counts.reshape(-1, n_classes).max(axis=1).sum() / self._weight.sum())
