"""Tree importance: how often and how near to the root decision trees ask for a column."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tamiz.criteria.base import PrecomputedScores, Relevance, ReweightedScorer
from tamiz.criteria.entropy_relevance import MissingRule
from tamiz.criteria.model_relevance import ModelRelevance, TrainingData, make_training_data
from tamiz.kernels.histogram_trees import add_tree_importances
from tamiz.runtime import parallel
from tamiz.runtime.random import Seed, make_rng
from tamiz.runtime.user_warnings import capture_warnings
from tamiz.runtime.validation import check_integer
from tamiz.sources.base import Source
from tamiz.sources.schema import Schema
from tamiz.statistics.base import Floats

# MERGED: Trees of the same rows under many weights, from columns that were coded once.
# Codes of one byte.
_MAX_CODES = 2**8


class ReweightedTrees:
    """What trees on fixed sets of columns tell of the target when the rows have other weights.

    Parameters
    ----------
    data : TrainingData
        Their weights are not read.
    features : ndarray of shape (n_rows, n_coordinates), float32
    columns : list of ndarray
        The coordinates of every column.
    column_sets : list of ndarray
        The columns that every tree may ask for.
    max_depth : int

    Notes
    -----
    A coordinate of up to 256 values is split between any two of them; of more, neighbouring values that hold about 1 / 256 of the
    rows stay together. Of equally good splits the tree takes that of the column which is first in its set.
    """

    def __init__(
        self,
        data: TrainingData,
        features: NDArray[Any],
        columns: Sequence[NDArray[np.intp]],
        column_sets: Sequence[NDArray[np.intp]],
        max_depth: int,
    ) -> None:
        order = np.concatenate(columns)
        coded = [_bin_codes(features[:, j]) for j in order.tolist()]
        self._codes = np.array([codes for codes, _ in coded])
        self._n_codes = np.array([n for _, n in coded], dtype=np.int64)
        self._first = np.concatenate([[0], np.cumsum([len(one) for one in columns])]).astype(np.int64)
        self._target = np.ascontiguousarray(data.target, dtype=np.float64)
        self._n_classes = data.n_classes
        self._column_sets = np.concatenate(column_sets).astype(np.int64)
        self._starts = np.concatenate([[0], np.cumsum([len(one) for one in column_sets])]).astype(np.int64)
        self._max_depth = max_depth

    @property
    def cost_per_round(self) -> float:
        """How many sums one round of trees takes for one weighting, about."""
        questions = 2**self._max_depth * self._n_codes.sum() * max(self._n_classes, 2)
        return float(self._codes.size * self._max_depth / 4 + questions / 2)

    def importance_sums(self, weight: Floats) -> Floats:
        """Return the sum over the trees of what each column tells, under weights of shape (n_rows,)."""
        out = np.zeros(len(self._first) - 1)
        # Of two classes the indicator of one says all.
        is_number, n_sums = self._n_classes <= 2, max(self._n_classes, 2)
        forest = self._column_sets, self._starts, self._max_depth
        add_tree_importances(
            self._codes, self._n_codes, self._first, self._target, is_number, n_sums, weight, *forest, out,
        )  # fmt: skip
        return out


def _bin_codes(values: NDArray[Any]) -> tuple[NDArray[np.uint8], int]:
    """Return the codes of a coordinate and how many there are."""
    distinct, codes, counts = np.unique(values, return_inverse=True, return_counts=True)
    if len(distinct) > _MAX_CODES:
        place = (np.cumsum(counts) - counts) * _MAX_CODES // len(values)
        codes = np.unique(place, return_inverse=True)[1][codes]
    return codes.astype(np.uint8), int(codes.max()) + 1


# Values of a table that trees in a study are grown from: 1 to 2 seconds of work.
_MAX_VALUES = 2**20
# Sums of trees that are grown again: some ten seconds of work.
_MAX_REGROWTH_SUMS = 3e9
# Sets that the columns are split into.
_N_COLUMN_SETS = 3


class TreeImportance(ModelRelevance):
    """How much shallow decision trees tell of the target by asking for a column, often and near the root; in [0, 1].

    .. math:: T_j = \\frac{1}{R} \\sum_{t \\ni j} E_t \\frac{U_{tj}}{\\sum_k U_{tk}}, \\qquad
        U_{tj} = \\sum_{v \\in t, \\, c(v) = j} 2^{-d(v)} s(v)

    Trees are grown in R rounds. A round splits the columns at random into three sets and grows one tree on each, so that every
    column is in R trees, and not in the shadow of the best one in all of them. A node v of the tree t that asks for the column c(v)
    at the depth d(v), 0 for the root, counts as a use: half of one on the level above, times the share s(v) of the rows that come
    to it. What the tree tells, the share E of the target's variance (for classes, of the Gini impurity) that lies between its
    leaves, goes to its columns in proportion to their use. A column that trees never ask for scores 0.

    Parameters
    ----------
    max_depth : int, default=3
        Levels of questions.
    n_rounds : int, default=10
        R, the trees that every column is in.
    missing : {"distribute", "category"}, default="distribute"
        Take a missing value as the mean of its column, or as every level in its share; or make missing a level of its own besides.
    max_rows : int, default=None
        Rows that trees are grown from at most; of more so many are drawn. None takes all, and in a study as many as make up a
        million values.
    random_state : int, Generator or RandomState, default=0
        Draws the sets of columns, which of two equally good questions is asked, and rows where there are too many.

    Raises
    ------
    DataError
        When there is no target.
    ValueError
        When a parameter is out of its range.

    Notes
    -----
    The trees are scikit-learn's, grown by squared error, of the indicators of the classes (the Gini impurity) or of a number. A
    question is asked only where it tells apart at least 2 ln(n) / n of the variance, which is what BIC asks of two parameters, a
    cut and a difference: the best cut of a column of noise seldom does. Cost O(R p n log n). Numbers are asked whether they exceed
    a value, which depends neither on their unit nor on any increasing function of them; categories whether a row has a level, for
    which the category counts. Columns that are equal in every row are one to the trees, and have its score; others that tell the
    same share theirs. A constant column scores 0. Weights of rows count as repeated rows. In another order of the columns other
    sets are drawn.

    The sum of a column's decreases of impurity, which trees are usually asked for, favours columns of many values: far down, where
    few rows are left, they find a cut by chance, and it is measured on the rows that the tree has learned by heart. Here only the
    first levels count, and only by the place of the question. `PermutationImportance` measures what a model loses without a column,
    on other rows.

    References
    ----------
    Ratanamahatana and Gunopulos (2003), Feature selection for the naive Bayesian classifier using decision trees, Applied
    Artificial Intelligence 17: columns are chosen by their use on the first three levels of trees.
    Ho (1998), The random subspace method for constructing decision forests, IEEE Transactions on Pattern Analysis and Machine
    Intelligence 20.
    Strobl, Boulesteix, Zeileis and Hothorn (2007), Bias in random forest variable importance measures, BMC Bioinformatics 8.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tamiz import RankSelector
    >>> from tamiz.criteria import TreeImportance
    >>> X, y = load_iris(return_X_y=True)
    >>> RankSelector(TreeImportance()).fit(X, y).ranking_
    array([3, 2, 0, 1])
    """

    def __init__(
        self,
        *,
        max_depth: int = 3,
        n_rounds: int = 10,
        missing: MissingRule = "distribute",
        max_rows: int | None = None,
        random_state: Seed = 0,
    ) -> None:
        self.max_depth = max_depth
        self.n_rounds = n_rounds
        self.missing = missing
        self.max_rows = max_rows
        self.random_state = random_state

    def max_study_values(self, schema: Schema) -> int:  # noqa: ARG002
        """Return how many values a study has the time for."""
        return _MAX_VALUES

    def bind(self, source: Source) -> Relevance:
        """Return the scores of a table's columns: trees are grown from its rows."""
        from sklearn.tree import DecisionTreeRegressor

        scores = np.zeros(source.schema.n_columns)
        forest = self._plan_forest(source)
        if forest is None:
            return PrecomputedScores(scores)
        outputs, least = _regression_targets(forest.data)
        plain = DecisionTreeRegressor(max_depth=self.max_depth, min_impurity_decrease=least)
        told = np.zeros(len(forest.distinct_columns))
        weight = forest.data.weight
        grown = parallel.map_blocks(
            lambda job: _tree_importances(plain, forest.features, outputs, weight, forest.distinct_columns, *job),
            forest.jobs,
        )
        for (taken, _), by_column in zip(forest.jobs, grown, strict=True):
            told[taken] += by_column
        for j, k in forest.distinct_index.items():
            scores[j] = told[k] / self.n_rounds
        return PrecomputedScores(scores)

    def make_reweighted_scorer(self, source: Source, n_weightings: int) -> ReweightedScorer | None:
        """Return a function that grows the trees again under other weights, on the same sets of columns."""
        n_columns = source.schema.n_columns
        with capture_warnings():
            forest = self._plan_forest(source)
        if forest is None:
            return lambda weights: np.zeros((len(weights), n_columns))
        regrowth = ReweightedTrees(
            forest.data, forest.features, forest.distinct_columns, [taken for taken, _ in forest.jobs], self.max_depth
        )
        if n_weightings * self.n_rounds * regrowth.cost_per_round > _MAX_REGROWTH_SUMS:
            return None
        columns, distinct = list(forest.distinct_index), list(forest.distinct_index.values())
        taken = forest.data.row_numbers

        def scores(weights: Floats) -> Floats:
            out = np.zeros((len(weights), n_columns))
            for one, weight in zip(out, weights, strict=True):
                one[columns] = regrowth.importance_sums(weight[taken])[distinct] / self.n_rounds
            return out

        return scores

    def _plan_forest(self, source: Source) -> _ForestPlan | None:
        """Return the rows, and the sets of columns that trees are grown on; None where there is nothing to learn."""
        check_integer("max_depth", self.max_depth, low=1)
        n_rounds = check_integer("n_rounds", self.n_rounds, low=1)
        rng = make_rng(self.random_state)
        rows = make_training_data(source, self.max_rows, rng, self.missing, "TreeImportance")
        if rows is None:
            return None
        points: NDArray[np.float32] = np.asfortranarray(rows.features, dtype=np.float32)
        columns, same = _find_distinct_columns(points, rows.source_columns)
        jobs = [(one, int(rng.integers(2**31))) for _ in range(n_rounds) for one in _split_columns(len(columns), rng)]
        return _ForestPlan(rows, points, columns, same, jobs)


@dataclass(frozen=True)
class _ForestPlan:
    """Rows as trees read them, and the trees to be grown.

    Attributes
    ----------
    data : TrainingData
    features : ndarray of shape (n_rows, n_coordinates)
    distinct_columns : list of ndarray
        The coordinates of every distinct column.
    distinct_index : dict
        Which of these each column of the table is.
    jobs : list of (ndarray, int)
        The columns and the seed of every tree.
    """

    data: TrainingData
    features: NDArray[np.float32]
    distinct_columns: list[NDArray[np.intp]]
    distinct_index: dict[int, int]
    jobs: list[tuple[NDArray[np.intp], int]]


def _find_distinct_columns(
    features: NDArray[np.float32], source_columns: NDArray[np.intp]
) -> tuple[list[NDArray[np.intp]], dict[int, int]]:
    """Return the coordinates of every column but those that repeat one before them, and where each column is among these."""
    found: dict[bytes, int] = {}
    columns: list[NDArray[np.intp]] = []
    same: dict[int, int] = {}
    for j in np.unique(source_columns).tolist():
        at = np.flatnonzero(source_columns == j)
        # Adding 0 makes one zero of both.
        held = b"".join((features[:, k] + np.float32(0)).tobytes() for k in at.tolist())
        same[j] = found.setdefault(held, len(columns))
        if same[j] == len(columns):
            columns.append(at)
    return columns, same


def _split_columns(n_columns: int, rng: np.random.Generator) -> list[NDArray[np.intp]]:
    """Return so many columns in three random sets, fewer where a column would be alone: it would have nothing to stand against."""
    return np.array_split(rng.permutation(n_columns), max(1, min(_N_COLUMN_SETS, n_columns // 2)))


def _tree_importances(
    template: Any,
    features: NDArray[np.float32],
    outputs: Floats,
    weight: Floats | None,
    columns: list[NDArray[np.intp]],
    tree_columns: NDArray[np.intp],
    seed: int,
) -> Floats:
    """Return what a tree on some columns tells of the target, shared out to these by their use."""
    from sklearn import config_context

    at = np.concatenate([columns[k] for k in tree_columns.tolist()])
    owner = np.repeat(np.arange(len(tree_columns)), [len(columns[k]) for k in tree_columns.tolist()])
    model = copy.copy(template).set_params(random_state=seed)
    # What is checked here for every tree takes longer than to grow it.
    with config_context(skip_parameter_validation=True):
        model.fit(np.ascontiguousarray(features[:, at]), outputs, sample_weight=weight, check_input=False)
    tree: Any = model.tree_
    asks = tree.children_left >= 0
    share = tree.weighted_n_node_samples / tree.weighted_n_node_samples[0]
    use, worth = np.zeros(len(tree_columns)), np.ones(tree.node_count)
    # A node stands before those below it.
    for node in np.flatnonzero(asks).tolist():
        worth[[tree.children_left[node], tree.children_right[node]]] = worth[node] / 2
        use[owner[tree.feature[node]]] += worth[node] * share[node]
    if not asks.any():
        return use
    told = 1 - share[~asks] @ tree.impurity[~asks] / tree.impurity[0]
    return told * use / use.sum()


def _regression_targets(data: TrainingData) -> tuple[Floats, float]:
    """Return what trees are to tell, and how much of its variance a question has to tell apart.

    It is a number, or the indicators of the classes, of which two need but one.
    """
    if data.n_classes <= 2:
        outputs = np.ascontiguousarray(data.target, dtype=np.float64)[:, None]
    else:
        outputs = (data.target[:, None] == np.arange(data.n_classes)).astype(np.float64)
    weight = np.ones(len(outputs)) if data.weight is None else data.weight
    mean = np.average(outputs, axis=0, weights=weight)
    variance = np.average((outputs - mean) ** 2, axis=0, weights=weight).mean()
    total = weight.sum()
    return outputs, float(variance * 2 * np.log(max(total, 1.0)) / total)
