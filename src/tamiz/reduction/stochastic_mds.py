"""Metric multidimensional scaling of many rows by stochastic gradient descent on random pairs."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from tamiz.arrays import Floats, Indices
from tamiz.exceptions import DataError
from tamiz.kernels.majorization import CITYBLOCK, EUCLIDEAN, HALF_SQUARES, PANEL_ROWS, move_towards_anchors
from tamiz.reduction.base import read_initial_embedding
from tamiz.reduction.classical_scaling import principal_axes_rotation
from tamiz.reduction.description import MapDescription
from tamiz.reduction.dissimilarities import DissimilarityReducer
from tamiz.reduction.krylov import power_of_two
from tamiz.reduction.landmarks import LandmarkScaling, RowSubsets, create_subsets, default_n_landmarks, random_landmarks
from tamiz.reduction.stress import SampledPairs, SampledStress, minimize_row_stress
from tamiz.runtime import parallel, progress
from tamiz.runtime.random import Seed, make_rng
from tamiz.runtime.user_warnings import warn
from tamiz.runtime.validation import check_choice, check_integer, check_memory, check_real
from tamiz.storage.invariants import FloatArray, InstanceOf, Integer, IntegerArray, Invariants, Number
from tamiz.table.factory import record_features

Float32Array = NDArray[np.float32]

# Number of training rows to which new rows are fitted, and new rows that are mapped at a time.
_REFERENCE_ROWS, _NEW_ROWS_PER_BATCH = 1000, 4096
# The kernel's metric for every dissimilarity.
KERNEL_METRICS: dict[str, int] = {
    "euclidean": EUCLIDEAN,
    "seuclidean": EUCLIDEAN,
    "cityblock": CITYBLOCK,
    "cosine": HALF_SQUARES,
}
# Values per task; the kernel requires a multiple of this number of columns.
_VALUES_PER_TASK, _COLUMN_MULTIPLE = 2**18, 4
# Anchors of a round, and initial learning rate: steps below 2 do not raise the stress. At the same number of pairs, few anchors in
# many rounds find better minima than more anchors in fewer rounds.
_ANCHORS_PER_ROUND, _INITIAL_RATE = 16, 1.8
# Number of stress evaluations during the descent.
_STRESS_CHECKS = 10
# Rows and anchors of each of two samples for the convergence test.
_TEST_ROWS, _TEST_ANCHORS = 4096, 2048
# Stress below this is rounding of float32.
_ROUNDING = 1e-5
INIT_CHOICES = ("landmark", "random")
# Relative noise added to the landmark map: rows that coincide or lie on a line would stay there.
_START_NOISE = 1e-3


class StochasticMDS(DissimilarityReducer):
    """Metric multidimensional scaling by stochastic gradient descent on random pairs, without a matrix of dissimilarities.

    .. math:: \\min_X \\sum_{i < j} (\\delta_{ij} - \\|x_i - x_j\\|)^2

    Each round draws 16 anchor rows, and every row makes a majorisation step against these anchors, times a learning rate. The rate
    falls from 1.8 to 0: large steps leave poor local minima, small ones average over the random anchors.

    Parameters
    ----------
    n_components : int, default=2
        Number of coordinates.
    dissimilarity : {"euclidean", "seuclidean", "cityblock", "cosine"}, default="euclidean"
        As for `MDS`.
    n_rounds : int, default=600
        Number of rounds. Each row is compared with 16 anchors in each round.
    init : {"landmark", "random"} or array of shape (n_samples, n_components), default="landmark"
        Initial configuration: the map of `LandmarkMDS`, random points, or the given points.
    tol : float, default=2e-3
        Converged if a majorisation step over all pairs would lower the stress by at most this share: exact up to 4,096 rows,
        estimated with an error of about 3e-4 above.
    random_state : int, Generator or None, default=None
        Seed of all random draws.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
        In units of the dissimilarities, centred and rotated to the principal axes unless init is an array. Equal rows have the
        coordinates of the first of them.
    sampled_stress_ : float
        sqrt(sum (delta - b d)^2 / sum delta^2) in [0, 1] over random pairs of rows, with the dissimilarities delta, the distances d
        on the map, and the scale b that minimises it; an estimate of the `stress_` of `MDS`.
    sampled_stress_error_ : float
        Its standard error as an estimate for all pairs; 0 up to 1,024 rows, where all pairs are used.
    stress_history_ : ndarray of shape (n_checks,)
        The stress over the same pairs at the start and after each tenth of the rounds.
    n_rounds_ : int
        Completed rounds, fewer than `n_rounds` after an interruption.
    converged_ : bool

    Raises
    ------
    DataError
        When all rows are equal, init is invalid, or a Table has weights.
    ValueError
        When n_components is not below the number of rows.
    TypeError
        When X is a sparse matrix.
    MemoryError
        When the rows in float32 do not fit in memory.

    Notes
    -----
    Cost O(n p) for each round with p columns, and memory O(n p) in float32: dissimilarities are computed on demand. Coordinates
    have a relative error of about 1e-6 of the largest, and a stress below 1e-5 is rounding. After 600 rounds the stress is
    typically within 0.5 % of the stress of `MDS`. The same seed gives the same bits for any number of threads.

    The paper moves the two rows of one pair at a time. Here all rows move at once, each by the mean of 16 such moves, so that the
    moves of a round are independent and run in parallel.

    `transform` maps each new row to the point of least stress against 1,000 random rows of the fit, independently of other rows; a
    row that is equal to a row of the fit gets its coordinates.

    References
    ----------
    Zheng, Pawar and Goodman (2018), Graph drawing by stochastic gradient descent, IEEE Transactions on Visualization and Computer
    Graphics 25; de Leeuw (1977), Applications of convex analysis to multidimensional scaling, in Recent Developments in Statistics.

    Examples
    --------
    >>> import numpy as np
    >>> from tamiz.reduction import StochasticMDS
    >>> X = np.random.default_rng(0).normal(size=(3000, 3)) * [3.0, 2.0, 0.5]
    >>> mapped = StochasticMDS(2, random_state=0).fit(X)
    >>> mapped.embedding_.shape, mapped.converged_
    ((3000, 2), True)
    >>> round(mapped.sampled_stress_, 2)
    0.03
    """

    dissimilarities: ClassVar = tuple(KERNEL_METRICS)
    invariants: ClassVar[Invariants] = {
        "_dissimilarities.points.n_samples": Integer(low=1, size="n"),
        "_reference_rows": IntegerArray("s", below="n", distinct=True),
        "sampled_stress_": Number(0.0),
        "sampled_stress_error_": Number(0.0),
        "stress_history_": FloatArray("c"),
        "n_rounds_": Integer(),
        "converged_": InstanceOf(bool),
    }

    def __init__(
        self,
        n_components: int = 2,
        *,
        dissimilarity: str = "euclidean",
        n_rounds: int = 600,
        init: str | ArrayLike = "landmark",
        tol: float = 2e-3,
        random_state: Seed = None,
    ) -> None:
        self.n_components = n_components
        self.dissimilarity = dissimilarity
        self.n_rounds = n_rounds
        self.init = init
        self.tol = tol
        self.random_state = random_state

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = False
        return tags

    def fit(self, X: Any, y: Any = None) -> Self:  # noqa: ARG002
        """Compute the coordinates.

        Parameters
        ----------
        X : array, data frame or Table
            Rows. A failed fit leaves the estimator unchanged; an interrupted fit keeps the map so far.
        y : ignored
        """
        metric = check_choice("dissimilarity", self.dissimilarity, self.dissimilarities)
        if isinstance(self.init, str):
            check_choice("init, where it is no array,", self.init, INIT_CHOICES)
        m = check_integer("n_components", self.n_components, low=1)
        n_rounds = check_integer("n_rounds", self.n_rounds, low=1)
        tol = check_real("tol", self.tol, low=0.0)
        rng = make_rng(self.random_state)
        if sparse.issparse(X):
            raise TypeError("StochasticMDS does not support sparse matrices. Pass X.toarray(), or use LandmarkMDS.")
        with parallel.thread_session():
            rows, encoder = self._read_rows(X, m)
            subsets = create_subsets(rows, metric)
            check_memory(
                48.0 * subsets.n * m,
                f"The coordinates of {subsets.n:,} rows in {m:,} dimensions",
                "Lower n_components.",
            )
            panels = RowPanels(metric_values(rows.points), metric)
            if not panels.spread:
                raise DataError(f"All {subsets.n:,} rows are equal. Add columns in which they differ.")
            pairs = SampledPairs(subsets, rng)
            if not pairs.dissimilarities.any():
                raise DataError(
                    "All sampled dissimilarities are 0: most rows are duplicates, or the squares of their differences underflow. "
                    "Remove duplicate rows, or rescale X."
                )
            descent = StochasticDescent(panels, pairs, initial_embedding(self.init, subsets, pairs, m, rng), rng)
            sample = np.sort(rng.permutation(subsets.n)[:_REFERENCE_ROWS])
            interruption: KeyboardInterrupt | None = None
            try:
                descent.run(n_rounds)
            except KeyboardInterrupt as error:
                if not descent.n_done:
                    raise
                interruption = error
            decrease = descent.relative_decrease() if interruption is None else np.inf
            embedding = descent.embedding[rows.points.first_occurrences()]
            if isinstance(self.init, str):
                embedding = principal_axes_rotation(embedding).project_rows(embedding)
            stress = pairs.stress(embedding)
        embedding = self._match_dtype(embedding, X)
        # Attributes are set last: a failed fit leaves the estimator unchanged.
        record_features(self, X)
        self._dissimilarities, self._row_encoder, self._reference_rows = rows, encoder, sample
        self.embedding_ = embedding
        self.sampled_stress_, self.sampled_stress_error_ = stress.value, stress.error
        self.stress_history_: Floats = np.array([stress.value for stress in descent.stress_history])
        self.n_rounds_, self.converged_ = descent.n_done, bool(decrease <= tol)
        if interruption is not None:
            raise interruption
        if not self.converged_:
            warn(
                "TZ501",
                f"StochasticMDS: not converged after {n_rounds:,} rounds; a further step would lower the stress by "
                f"{100 * decrease:.2g} %, and the tolerance is {100 * tol:.2g} %. Raise the number of rounds "
                "(n_rounds) or the tolerance (tol).",
            )
        return self

    def describe(self) -> MapDescription:
        """Describe the sampled stress."""
        check_is_fitted(self)
        error = self.sampled_stress_error_
        of = f" +- {error:.1g}, over random pairs of rows" if error else ""
        note = (
            f"Distances on the map approximate the dissimilarities ({self.n_rounds_:,} rounds of stochastic descent). "
            f"Kruskal's stress-1 is {self.sampled_stress_:.3g}{of}."
        )
        return self._describe(
            [note], "The distance of two points approximates the distance of their rows in the table."
        )

    def _map_new_rows(self, queries: Any) -> Floats:
        rows, fitted = self._dissimilarities, self.embedding_[self._reference_rows]
        equal, points = rows.points.match_rows(queries)
        embedding = np.empty((queries.n_samples, fitted.shape[1]))
        embedding[equal] = self.embedding_[points]
        others = np.setdiff1d(np.arange(len(embedding)), equal)
        reference = create_subsets(rows, self.dissimilarity).subset(self._reference_rows)
        for a, b in parallel.block_ranges(len(others), _NEW_ROWS_PER_BATCH):
            batch = queries.take(others[a:b])
            dissimilarities = reference.distances(batch, 0, batch.n_samples)
            embedding[others[a:b]] = minimize_row_stress(fitted, dissimilarities).positions
        return embedding


class RowPanels:
    """Rows of numbers in panels, and majorisation steps of their map coordinates against some of them, the anchors.

    The values, of shape (n, p), have length 1 for the cosine dissimilarity. `unit`, a power of two, is that of dissimilarities and
    map coordinates in the panels; `spread` is the largest distance of a number from the mean of its column.
    """

    def __init__(self, values: Floats, dissimilarity: str) -> None:
        self.n, p = values.shape
        columns = -(-p // _COLUMN_MULTIPLE) * _COLUMN_MULTIPLE
        n_panels = -(-self.n // PANEL_ROWS)
        check_memory(
            4.0 * n_panels * PANEL_ROWS * columns,
            f"{self.n:,} rows of {p:,} columns in float32",
            "Keep fewer columns first, by PCA or with RankSelector.",
        )
        centre: Floats = values.mean(axis=0)
        self.spread = float(np.maximum(values.max(axis=0) - centre, centre - values.min(axis=0)).max())
        size = power_of_two(self.spread)
        self._metric = KERNEL_METRICS[dissimilarity]
        self.unit = size**2 if self._metric == HALF_SQUARES else size
        self._panels = np.zeros((n_panels, columns, PANEL_ROWS), dtype=np.float32)

        def fill(span: tuple[int, int]) -> None:
            for g in range(*span):
                part = values[g * PANEL_ROWS : (g + 1) * PANEL_ROWS]
                self._panels[g, :p, : len(part)] = ((part - centre) / size).T

        parallel.run_blocks(fill, parallel.block_ranges(n_panels, max(1, _VALUES_PER_TASK // (PANEL_ROWS * columns))))

    def to_panels(self, embedding: Floats) -> Float32Array:
        """Return the map coordinates of all rows in panels, divided by `unit`."""
        return self._fill_panels(embedding / self.unit, len(self._panels))

    def from_panels(self, positions: Float32Array) -> Floats:
        rows = positions.transpose(0, 2, 1).reshape(-1, positions.shape[1])
        return rows[: self.n].astype(np.float64) * self.unit

    def move_towards_anchors(self, positions: Float32Array, anchors: Indices, rate: float) -> None:
        """Move all rows by `rate` times the majorisation step for their dissimilarities to the anchors."""
        wanted, there = self._take_rows(self._panels, anchors), self._take_rows(positions, anchors)

        def piece(span: tuple[int, int]) -> None:
            move_towards_anchors(
                self._panels[slice(*span)], wanted, there, self._metric, np.float32(rate), positions[slice(*span)]
            )

        size = PANEL_ROWS * len(anchors) * (self._panels.shape[1] + 16)
        parallel.run_blocks(piece, parallel.block_ranges(len(positions), max(1, 2**24 // size)))

    def majorization_steps(self, positions: Float32Array, rows: Indices, anchors: Indices) -> Floats:
        """Return the majorisation steps of some rows for their dissimilarities to the anchors, divided by `unit`."""
        size = -(-len(rows) // PANEL_ROWS)
        panels, before = (self._fill_panels(self._take_rows(part, rows), size) for part in (self._panels, positions))
        after = before.copy()
        wanted, there = self._take_rows(self._panels, anchors), self._take_rows(positions, anchors)

        def piece(g: int) -> None:
            move_towards_anchors(panels[g : g + 1], wanted, there, self._metric, np.float32(1.0), after[g : g + 1])

        parallel.run_blocks(piece, range(size))
        moved = (after - before).astype(np.float64).transpose(0, 2, 1).reshape(size * PANEL_ROWS, -1)
        return np.asarray(moved[: len(rows)])

    @staticmethod
    def _take_rows(panels: Float32Array, rows: Indices) -> Float32Array:
        """Return the data of some rows, row by row."""
        return np.ascontiguousarray(panels[rows // PANEL_ROWS, :, rows % PANEL_ROWS])

    @staticmethod
    def _fill_panels(values: NDArray[Any], n_panels: int) -> Float32Array:
        """Return rows of values as panels, the last one filled with zeros."""
        out = np.zeros((n_panels * PANEL_ROWS, values.shape[1]), dtype=np.float32)
        out[: len(values)] = values
        return np.ascontiguousarray(out.reshape(n_panels, PANEL_ROWS, -1).transpose(0, 2, 1))


def metric_values(points: Any) -> Floats:
    """Return the values from which a dissimilarity of `KERNEL_METRICS` is computed."""
    return points.values


class StochasticDescent:
    """Stochastic descent from an initial embedding.

    `stress_history` has the stress at the start and after each tenth of the rounds, `n_done` is the number of completed rounds.
    """

    def __init__(self, panels: RowPanels, pairs: SampledPairs, embedding: Floats, rng: np.random.Generator) -> None:
        self._panels, self._pairs, self._rng = panels, pairs, rng
        self._positions: Float32Array = panels.to_panels(embedding)
        self._order, self._order_position = np.arange(0), 0
        self.stress_history: list[SampledStress] = [pairs.stress(embedding)]
        self.n_done = 0

    @property
    def embedding(self) -> Floats:
        return self._panels.from_panels(self._positions)

    def run(self, n_rounds: int) -> None:
        """Run rounds; anchors cycle through all rows, and the rate is quadratic in the share of remaining rounds."""
        checks = set(np.linspace(0, n_rounds, min(_STRESS_CHECKS, n_rounds) + 1).round().astype(int)[1:].tolist())
        for done in progress.track_progress("rounds", range(n_rounds), n_rounds):
            self._panels.move_towards_anchors(
                self._positions, self._next_anchors(), _INITIAL_RATE * (1.0 - done / n_rounds) ** 2
            )
            self.n_done = done + 1
            if self.n_done in checks:
                self.stress_history.append(self._pairs.stress(self.embedding))

    def relative_decrease(self) -> float:
        """Return an estimate of the share by which a full majorisation step would lower the stress.

        The squared gradient is estimated by the product of the steps against two independent samples of anchors, which is unbiased.
        The estimate may be negative if the gradient is near 0.
        """
        n = self._panels.n
        rows = self._rng.permutation(n)[:_TEST_ROWS]
        one, other = self._sample_anchors(n)
        steps = (
            self._panels.majorization_steps(self._positions, rows, one),
            self._panels.majorization_steps(self._positions, rows, other),
        )
        square = float((steps[0] * steps[1]).sum()) / len(rows)
        last = max(self.stress_history[-1].value, _ROUNDING) ** 2
        # The pairs have another unit than the panels.
        mean_square = float((self._pairs.dissimilarities**2).mean()) * (self._pairs.unit / self._panels.unit) ** 2
        return square / (last * mean_square)

    def _sample_anchors(self, n: int) -> tuple[Indices, Indices]:
        if n <= 2 * _TEST_ANCHORS:
            return np.arange(n), np.arange(n)
        order = self._rng.permutation(n)
        return order[:_TEST_ANCHORS], order[_TEST_ANCHORS : 2 * _TEST_ANCHORS]

    def _next_anchors(self) -> Indices:
        n = self._panels.n
        size = min(_ANCHORS_PER_ROUND, n)
        if self._order_position + size > len(self._order):
            self._order, self._order_position = self._rng.permutation(n), 0
        self._order_position += size
        return self._order[self._order_position - size : self._order_position]


def initial_embedding(
    init: Any, subsets: RowSubsets, pairs: SampledPairs, n_components: int, rng: np.random.Generator
) -> Floats:
    if not isinstance(init, str):
        return read_initial_embedding(init, INIT_CHOICES, subsets.n, n_components)
    # Normal points with the same mean square distance as the dissimilarities.
    size = pairs.unit * float(np.sqrt((pairs.dissimilarities**2).mean() / (2 * n_components)))
    noise = size * rng.standard_normal((subsets.n, n_components))
    if init == "random":
        return noise
    return (
        LandmarkScaling.fit(
            subsets, random_landmarks(subsets, default_n_landmarks(subsets.n, n_components), rng), n_components
        ).embedding
        + _START_NOISE * noise
    )
