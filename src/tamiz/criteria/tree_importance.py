"""Tree importance: how often and how near to the root shallow decision trees split on a column."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from tamiz.arrays import Floats, Indices
from tamiz.criteria.base import Reweightable, ReweightedScorer, Shadowable, ShadowScorer
from tamiz.criteria.entropies import MissingRule
from tamiz.criteria.model_relevance import ModelRelevance, TrainingData
from tamiz.kernels.histogram_trees import add_tree_importances
from tamiz.runtime import parallel
from tamiz.runtime.random import Seed, make_rng
from tamiz.runtime.user_warnings import capture_warnings
from tamiz.runtime.validation import check_integer
from tamiz.table.base import Table

# Number of sums when trees are grown again under other row weights: about ten seconds.
_MAX_REGROWTH_SUMS = 3e9
# Number of sets that a round splits the columns into.
_N_COLUMN_SETS = 3
# Codes of one byte. Deep nodes have few rows, and scanning their histograms is most of the work beside permuted copies: there 64
# bins confirm the same columns as 256.
_MAX_CODES, _MAX_SHADOW_CODES = 2**8, 2**6
# Rounds of trees that one task grows: it counts the histograms of all rows once.
_TASK_ROUNDS = 5


class TreeImportance(ModelRelevance, Reweightable, Shadowable):
    """Share of the target's variance, or Gini impurity for classes, explained by splits on a column in shallow trees, in [0, 1].

    .. math:: T_j = \\frac{1}{R} \\sum_{t \\ni j} E_t \\frac{U_{tj}}{\\sum_k U_{tk}}, \\qquad
        U_{tj} = \\sum_{v \\in t, \\, c(v) = j} 2^{-d(v)} s(v)

    Trees are grown in R rounds. A round splits the columns at random into three sets and grows one tree on each, so that every
    column is in R trees and not always beside the best column. A node v of tree t with a split on column c(v) at depth d(v), 0 for
    the root, counts :math:`2^{-d(v)}` times the share s(v) of the rows that reach it. The explained share E of the target's
    variance (for classes, of the Gini impurity), which is the variance between the leaves, is divided among the columns of the
    tree in proportion to these counts. A column without splits scores 0.

    Parameters
    ----------
    max_depth : int, default=3
        Number of levels of splits.
    n_rounds : int, default=10
        R, the number of trees that contain each column.
    missing : {"distribute", "category"}, default="distribute"
        "distribute" replaces a missing value by the mean of its column, or by every level in proportion to its share; "category"
        adds an indicator of missing values as well.
    max_rows : int, default=None
        Largest number of rows that trees are grown from; more rows are sampled at random. None uses all rows, and in a study as
        many as have a million values.
    max_levels : int, default=None
        Largest number of levels of a categorical column; of one with more, the most frequent are kept and all others are one level.
        None keeps all levels, and in a study 50 where more would limit the rows.
    random_state : int, Generator or RandomState, default=0
        Seed of the sets of columns, of the choice between equally good splits, and of the sample of rows.

    Raises
    ------
    DataError
        When there is no target.
    ValueError
        When a parameter is out of its range.

    Notes
    -----
    The trees are scikit-learn's, grown by squared error on the class indicators (the Gini impurity) or on a numeric target. A split
    must explain at least 2 ln(n) / n of the variance, the BIC penalty for two parameters (a cut and a difference), which the best
    split of a noise column seldom does. Cost O(R p n log n). Splits of numbers are invariant under increasing transformations;
    splits of categories separate one level from the others and count for the category. Columns that are equal in every row count as
    one column and have the same score; other redundant columns share their importance. A constant column scores 0. Row
    weights count as repeated rows. The random sets of columns depend on the order of the columns.

    The usual importance, the sum of impurity decreases, favours columns with many values: deep nodes with few rows have a good
    split on them by chance, and the decrease is measured on the training rows. Here only the first levels count, and only by
    depth and number of rows. `PermutationImportance` measures the loss of a model on test rows instead.

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

    max_study_values: ClassVar[int] = 2**20
    has_class_coefficients: ClassVar[bool] = False

    def __init__(
        self,
        *,
        max_depth: int = 3,
        n_rounds: int = 10,
        missing: MissingRule = "distribute",
        max_rows: int | None = None,
        max_levels: int | None = None,
        random_state: Seed = 0,
    ) -> None:
        self.max_depth = max_depth
        self.n_rounds = n_rounds
        self.missing = missing
        self.max_rows = max_rows
        self.max_levels = max_levels
        self.random_state = random_state

    def score(self, table: Table) -> Floats:
        """Return the scores of the table's columns, after growing trees from its rows."""
        from sklearn.tree import DecisionTreeRegressor

        scores = np.zeros(table.schema.n_columns)
        forest = self._plan_forest(table)
        if forest is None:
            return scores
        outputs, min_decrease = _regression_targets(forest.data)
        template = DecisionTreeRegressor(max_depth=self.max_depth, min_impurity_decrease=min_decrease)
        importance_sums = np.zeros(len(forest.distinct_columns))
        weight = forest.data.weight
        tree_importances = parallel.map_blocks(
            lambda job: _tree_importances(template, forest.features, outputs, weight, forest.distinct_columns, *job),
            forest.jobs,
        )
        for (tree_columns, _), importances in zip(forest.jobs, tree_importances, strict=True):
            importance_sums[tree_columns] += importances
        for j, k in forest.distinct_index.items():
            scores[j] = importance_sums[k] / self.n_rounds
        return scores

    def make_reweighted_scorer(self, table: Table, n_weightings: int) -> ReweightedScorer | None:
        """Return a function that grows the trees again under other row weights, on the same sets of columns.

        Columns are binned as in `_CodedColumns`. Among equally good splits a tree uses the one of the first column in its set.
        """
        n_columns = table.schema.n_columns
        with capture_warnings():
            forest = self._plan_forest(table)
        if forest is None:
            return lambda weights: np.zeros((len(weights), n_columns))
        trees = _CodedTrees(forest.data, forest.distinct_columns, self.max_depth, _MAX_CODES)
        if n_weightings * self.n_rounds * trees.cost_per_round > _MAX_REGROWTH_SUMS:
            return None
        columns, distinct = list(forest.distinct_index), list(forest.distinct_index.values())
        row_numbers, column_sets = forest.data.row_numbers, [tree_columns for tree_columns, _ in forest.jobs]

        def scores(weights: Floats) -> Floats:
            out = np.zeros((len(weights), n_columns))
            for row, weight in zip(out, weights, strict=True):
                row[columns] = trees.grow(trees.coded, column_sets, weight[row_numbers])[distinct] / self.n_rounds
            return out

        return scores

    def make_shadow_scorer(self, table: Table) -> ShadowScorer:
        """Return a function that grows trees in which columns and their permuted copies compete, from columns coded once."""
        check_integer("max_depth", self.max_depth, low=1)
        n_rounds = check_integer("n_rounds", self.n_rounds, low=1)
        data = self.make_training_data(table, make_rng(self.random_state), self.missing)
        if data is None:
            return lambda columns, copied, rng: np.zeros(len(columns) + len(copied))  # noqa: ARG005
        distinct_columns, distinct_index = _find_distinct_columns(data.features.astype(np.float32), data.source_columns)
        trees = _CodedTrees(data, distinct_columns, self.max_depth, _MAX_SHADOW_CODES)
        weight = np.ones(len(data.target)) if data.weight is None else data.weight

        def scores(columns: Indices, copied: Indices, rng: np.random.Generator) -> Floats:
            # Constant columns are not among the distinct ones, and score 0.
            index = [distinct_index.get(j, -1) for j in [*columns.tolist(), *copied.tolist()]]
            of_columns, of_copies = np.array(index[: len(columns)]), np.array(index[len(columns) :])
            distinct, position = np.unique(of_columns[of_columns >= 0], return_inverse=True)
            is_present = of_copies >= 0
            coded = trees.coded.with_shadows(distinct, of_copies[is_present], rng)
            found, n = np.zeros(len(index)), len(coded.first) - 1
            if not n:
                return found
            rounds = [split_columns(n, rng) for _ in range(n_rounds)]
            spans = parallel.block_ranges(n_rounds, _TASK_ROUNDS)
            tasks = ([one for sets in rounds[start:stop] for one in sets] for start, stop in spans)
            sums = parallel.map_blocks(lambda column_sets: trees.grow(coded, column_sets, weight), tasks)
            importances = np.sum(list(sums), axis=0) / n_rounds
            found[: len(columns)][of_columns >= 0] = importances[position]
            found[len(columns) :][is_present] = importances[len(distinct) :]
            return found

        return scores

    def _plan_forest(self, table: Table) -> _ForestPlan | None:
        """Return the training data and the columns of every tree; None where all columns or the target are constant."""
        check_integer("max_depth", self.max_depth, low=1)
        n_rounds = check_integer("n_rounds", self.n_rounds, low=1)
        rng = make_rng(self.random_state)
        rows = self.make_training_data(table, rng, self.missing)
        if rows is None:
            return None
        features: NDArray[np.float32] = np.asfortranarray(rows.features, dtype=np.float32)
        columns, distinct_index = _find_distinct_columns(features, rows.source_columns)
        jobs = [
            (column_set, int(rng.integers(2**31)))
            for _ in range(n_rounds)
            for column_set in split_columns(len(columns), rng)
        ]
        return _ForestPlan(rows, features, columns, distinct_index, jobs)


@dataclass(frozen=True)
class _ForestPlan:
    """The training data of trees, and the columns and the seed of every tree (`jobs`).

    `distinct_columns` has the coordinates of every distinct column, `distinct_index` the position there of each column of the
    table.
    """

    data: TrainingData
    features: NDArray[np.float32]
    distinct_columns: list[Indices]
    distinct_index: dict[int, int]
    jobs: list[tuple[Indices, int]]


def _find_distinct_columns(
    features: NDArray[np.float32], source_columns: Indices
) -> tuple[list[Indices], dict[int, int]]:
    """Return the coordinates of every distinct column, and for each column of the table its index among these."""
    index_by_bytes: dict[bytes, int] = {}
    columns: list[Indices] = []
    distinct_index: dict[int, int] = {}
    for j in np.unique(source_columns).tolist():
        coordinates = np.flatnonzero(source_columns == j)
        # Adding 0 turns -0.0 into 0.0.
        content = b"".join((features[:, k] + np.float32(0)).tobytes() for k in coordinates.tolist())
        distinct_index[j] = index_by_bytes.setdefault(content, len(columns))
        if distinct_index[j] == len(columns):
            columns.append(coordinates)
    return columns, distinct_index


def _tree_importances(
    template: Any,
    features: NDArray[np.float32],
    outputs: Floats,
    weight: Floats | None,
    columns: list[Indices],
    tree_columns: Indices,
    seed: int,
) -> Floats:
    """Return the explained variance of a tree on some columns, divided among the columns by depth and rows of their splits."""
    from sklearn import config_context

    coordinates = np.concatenate([columns[k] for k in tree_columns.tolist()])
    owner = np.repeat(np.arange(len(tree_columns)), [len(columns[k]) for k in tree_columns.tolist()])
    model = copy.copy(template).set_params(random_state=seed)
    # Validating the parameters takes longer than growing the tree.
    with config_context(skip_parameter_validation=True):
        model.fit(np.ascontiguousarray(features[:, coordinates]), outputs, sample_weight=weight, check_input=False)
    tree: Any = model.tree_
    has_split = tree.children_left >= 0
    share = tree.weighted_n_node_samples / tree.weighted_n_node_samples[0]
    use, depth_weight = np.zeros(len(tree_columns)), np.ones(tree.node_count)
    # A node has a smaller number than its children.
    for node in np.flatnonzero(has_split).tolist():
        depth_weight[[tree.children_left[node], tree.children_right[node]]] = depth_weight[node] / 2
        use[owner[tree.feature[node]]] += depth_weight[node] * share[node]
    if not has_split.any():
        return use
    explained = 1 - share[~has_split] @ tree.impurity[~has_split] / tree.impurity[0]
    return explained * use / use.sum()


def _regression_targets(data: TrainingData) -> tuple[Floats, float]:
    """Return the outputs that trees predict, and the decrease of variance that a split needs.

    The outputs are the numeric target, or the class indicators; for two classes one indicator suffices.
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


def split_columns(n_columns: int, rng: np.random.Generator) -> list[Indices]:
    """Return the columns in three random sets; in fewer sets where a set would have a single column, without competition."""
    return np.array_split(rng.permutation(n_columns), max(1, min(_N_COLUMN_SETS, n_columns // 2)))


@dataclass(frozen=True)
class _CodedColumns:
    """Columns of a table as codes of one byte, and the number of codes of each coordinate; column j begins at first[j].

    A coordinate with up to `max_codes` values can be split between any two of them; one with more values is binned into about as
    many bins of equally many rows.
    """

    codes: NDArray[np.uint8]
    n_codes: NDArray[np.int64]
    first: NDArray[np.int64]

    @classmethod
    def from_features(cls, features: NDArray[Any], columns: Sequence[Indices], max_codes: int) -> _CodedColumns:
        """Code features of shape (n_rows, n_coordinates), given the coordinates of every column."""
        coded = [_bin_codes(features[:, j], max_codes) for j in np.concatenate(columns).tolist()]
        first = np.concatenate([[0], np.cumsum([len(one) for one in columns])]).astype(np.int64)
        return cls(np.array([codes for codes, _ in coded]), np.array([n for _, n in coded], dtype=np.int64), first)

    def with_shadows(self, columns: Indices, copied: Indices, rng: np.random.Generator) -> _CodedColumns:
        """Return some columns, and after them copies of columns, each with its rows in a random order of its own."""
        coordinates = [np.arange(self.first[k], self.first[k + 1]) for k in [*columns.tolist(), *copied.tolist()]]
        order = np.concatenate(coordinates)
        codes = self.codes[order]
        first = np.concatenate([[0], np.cumsum([len(one) for one in coordinates])]).astype(np.int64)
        for k in range(len(columns), len(coordinates)):
            # The coordinates of one column stay together: a row has one level.
            codes[first[k] : first[k + 1]] = codes[first[k] : first[k + 1], rng.permutation(codes.shape[1])]
        return _CodedColumns(codes, self.n_codes[order], first)


class _CodedTrees:
    """Trees grown from columns that are coded once."""

    def __init__(self, data: TrainingData, columns: Sequence[Indices], max_depth: int, max_codes: int) -> None:
        self.coded = _CodedColumns.from_features(data.features.astype(np.float32), columns, max_codes)
        self._target = np.ascontiguousarray(data.target, dtype=np.float64)
        # For two classes one indicator suffices.
        self._is_number, self._n_sums = data.n_classes <= 2, max(data.n_classes, 2)
        self._max_depth = max_depth

    @property
    def cost_per_round(self) -> float:
        """Approximate number of sums of one round of trees for one weighting."""
        n_splits = 2**self._max_depth * self.coded.n_codes.sum() * self._n_sums
        return float(self.coded.codes.size * self._max_depth / 4 + n_splits / 2)

    def grow(self, coded: _CodedColumns, column_sets: Sequence[Indices], weight: Floats) -> Floats:
        """Return the sum of the importances of each column over trees on sets of columns, under row weights."""
        starts = np.concatenate([[0], np.cumsum([len(one) for one in column_sets])]).astype(np.int64)
        columns, out = np.concatenate(column_sets).astype(np.int64), np.zeros(len(coded.first) - 1)
        target = self._target, self._is_number, self._n_sums
        arrays = coded.codes, coded.n_codes, coded.first
        add_tree_importances(*arrays, *target, weight, columns, starts, self._max_depth, out)
        return out


def _bin_codes(values: NDArray[Any], max_codes: int) -> tuple[NDArray[np.uint8], int]:
    distinct, codes, counts = np.unique(values, return_inverse=True, return_counts=True)
    if len(distinct) > max_codes:
        bins = (np.cumsum(counts) - counts) * max_codes // len(values)
        codes = np.unique(bins, return_inverse=True)[1][codes]
    return codes.astype(np.uint8), int(codes.max()) + 1
