"""Procrustes alignment of two maps of the same rows, and Jackson's permutation test of their agreement (PROTEST)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_array

from tamiz.arrays import Floats
from tamiz.comparison.stress import upper_p_value
from tamiz.display import figures
from tamiz.display.embedding import EmbeddingDisplay
from tamiz.display.figures import INK, MUTED
from tamiz.exceptions import DataError
from tamiz.runtime import parallel
from tamiz.runtime.random import Seed, make_rng
from tamiz.runtime.validation import check_integer
from tamiz.table.in_memory import from_array_api

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# Above this number of points the lines are rasterised, as in EmbeddingDisplay.
_MAX_VECTOR_POINTS = 5000
# A map whose extent is below this share of its coordinates has coincident points up to rounding.
_ROUNDING = 64 * float(np.finfo(np.float64).eps)
# Rows permuted in one parallel task.
_ROWS_PER_TASK = 100_000


@dataclass(frozen=True, eq=False, repr=False)
class Procrustes:
    """A map aligned to a reference by a similarity transformation.

    Attributes
    ----------
    reference : ndarray of shape (n_samples, n_components)
        The reference, padded with columns of zeros where the other map has more columns.
    aligned : ndarray of shape (n_samples, n_components)
        The aligned map, scale * embedding @ rotation + translation.
    rotation : ndarray of shape (n_components, n_components)
        Orthogonal matrix; its determinant is -1 for a reflection.
    scale : float
    translation : ndarray of shape (n_components,)
    statistic : float
        Gower's m^2 in [0, 1], smaller is more similar: the residual share of the reference's sum of squares at the best scale,
        also with scale=False. It is symmetric in the two maps.
    residuals : ndarray of shape (n_samples,)
        Distance of each aligned row from the reference, in units of the reference.
    n_columns : int
        Number of columns of the aligned map before padding.
    """

    reference: Floats
    aligned: Floats
    rotation: Floats
    scale: float
    translation: Floats
    statistic: float
    residuals: Floats
    n_columns: int

    @property
    def correlation(self) -> float:
        """The Procrustes correlation sqrt(1 - m^2), in [0, 1]."""
        return float(np.sqrt(1.0 - self.statistic))

    def transform(self, points: ArrayLike) -> Floats:
        """Apply the transformation to other points of the aligned map.

        Parameters
        ----------
        points : array-like of shape (n_points, n_columns)
        """
        values = check_array(from_array_api(points), dtype=np.float64)
        if values.shape[1] != self.n_columns:
            raise DataError(f"The aligned map has {self.n_columns} columns, got points with {values.shape[1]}.")
        padded = _pad_columns(values, len(self.translation))
        return _transform_points(padded, self.rotation, self.scale, self.translation)

    def __repr__(self) -> str:
        n_samples, n_components = self.aligned.shape
        return (
            f"<Procrustes of {n_samples:,} rows in {n_components} coordinates: m2={self.statistic:.4f}, "
            f"correlation={self.correlation:.4f}>"
        )

    def plot(
        self,
        color: ArrayLike | None = None,
        *,
        color_label: str | None = None,
        components: tuple[int, int] = (0, 1),
        ax: Axes | None = None,
    ) -> Axes:
        """Plot the aligned rows, each with a line to its point in the reference.

        Parameters
        ----------
        color : array-like of shape (n_samples,), default=None
            A number or a class for every row, such as `residuals`.
        color_label : str, default=None
            Label of the colours; None uses the name of a Series.
        components : tuple of two int, default=(0, 1)
            The plotted coordinates, counted from 0.
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a figure.

        Returns
        -------
        matplotlib Axes
        """
        from matplotlib.collections import LineCollection

        display = EmbeddingDisplay(self.aligned, color=color, color_label=color_label, components=components).plot(ax)
        panel, rasterized = display.ax_, len(self.aligned) > _MAX_VECTOR_POINTS
        targets = _display_coordinates(self.reference, components)
        lines = LineCollection(
            list(np.stack([_display_coordinates(self.aligned, components), targets], axis=1)),
            colors=MUTED, linewidths=0.8, alpha=0.7, zorder=0.9, rasterized=rasterized,
        )  # fmt: skip
        panel.add_collection(lines)
        panel.scatter(
            targets[:, 0], targets[:, 1], s=0.7 * float(display.points_[-1].get_sizes()[0]),
            facecolors="white", edgecolors=MUTED, linewidths=0.8, zorder=0.95, rasterized=rasterized,
        )  # fmt: skip
        title = f"○ reference   ● aligned map   m² = {self.statistic:.3g}"
        panel.set_title(title, loc="left", fontsize="small", color=INK)
        return panel


def procrustes(reference: ArrayLike, embedding: ArrayLike, *, scale: bool = True, reflect: bool = True) -> Procrustes:
    """Align a map to a reference by the translation, rotation, reflection and scaling of least squares.

    .. math:: \\min_{s, Q, t} \\sum_i \\lVert x_i - s\\, Q^\\top y_i - t \\rVert^2, \\quad Q^\\top Q = I

    Parameters
    ----------
    reference : array-like of shape (n_samples, n_components)
        The map that stays fixed.
    embedding : array-like of shape (n_samples, n_other_components)
        The map to align: the same rows in the same order. The map with fewer columns is padded with zeros.
    scale : bool, default=True
        Whether scaling is allowed.
    reflect : bool, default=True
        Whether reflections are allowed. Most methods determine maps only up to reflections.

    Returns
    -------
    Procrustes

    Raises
    ------
    DataError
        When the maps differ in their number of rows, or all points of one coincide.

    Notes
    -----
    Cost O(n m^2). With A and B centred and of norm 1, and B'A = U S V', the rotation is U V' and m^2 = 1 - (tr S)^2. Without
    reflections the smallest singular value is negated where det(U V') < 0. The analysis compares the maps only with each other: an
    error common to both does not show.

    References
    ----------
    Schönemann (1966), A generalized solution of the orthogonal Procrustes problem, Psychometrika 31; Gower (1975), Generalized
    Procrustes analysis, Psychometrika 40.

    Examples
    --------
    >>> from tamiz.comparison import procrustes
    >>> house = [[0, 0], [2, 0], [2, 2], [1, 3], [0, 2]]
    >>> rotated = [[5, 1], [5, 5], [1, 5], [-1, 3], [1, 1]]
    >>> found = procrustes(house, rotated)
    >>> found
    <Procrustes of 5 rows in 2 coordinates: m2=0.0000, correlation=1.0000>
    >>> found.aligned.round(6) + 0.0
    array([[0., 0.],
           [2., 0.],
           [2., 2.],
           [1., 3.],
           [0., 2.]])
    """
    with parallel.thread_session():
        target, moving = read_maps(reference, embedding)
        rotation, root = _rotation(target.unit, moving.unit, reflect=reflect)
        factor = root * (target.norm / moving.norm) if scale else 1.0
        translation = target.mean - factor * (moving.mean @ rotation)
        aligned = _transform_points(moving.values, rotation, factor, translation)
        # Computed from the residuals: 1 - root^2 would lose half the digits for maps that agree.
        residual_share = float(((target.unit - root * (moving.unit @ rotation)) ** 2).sum())
        residuals = np.hypot.reduce(target.values - aligned, axis=1)
    return Procrustes(
        target.values, aligned, rotation, factor, translation, min(residual_share, 1.0), residuals, moving.n_columns
    )


def procrustes_distances(embeddings: Sequence[Floats]) -> Floats:
    """Return Gower's m^2 between every two maps of the same rows; NaN from a map without extent to all others."""
    distances = np.zeros((len(embeddings), len(embeddings)))
    for i, first in enumerate(embeddings):
        for j, second in enumerate(embeddings[:i]):
            try:
                distances[i, j] = distances[j, i] = procrustes(first, second).statistic
            except DataError:
                distances[i, j] = distances[j, i] = np.nan
    return distances


@dataclass(frozen=True, eq=False, repr=False)
class ProcrustesTest:
    """The correlation of two maps and its permutation null distribution.

    Attributes
    ----------
    alignment : Procrustes
        The alignment of the maps.
    correlation : float
        sqrt(1 - m^2).
    null_correlations : ndarray of shape (n_permutations,)
        Correlations with the rows of one map in random order.
    p_value : float
        (1 + the permutations with a correlation as large) / (1 + n_permutations).
    """

    alignment: Procrustes
    correlation: float
    null_correlations: Floats
    p_value: float

    def __repr__(self) -> str:
        return (
            f"<ProcrustesTest: correlation={self.correlation:.4f}, p={self.p_value:.4g}, "
            f"{len(self.null_correlations):,} permutations up to {self.null_correlations.max():.4f}>"
        )

    def plot(self, ax: Axes | None = None) -> Axes:
        """Plot the null distribution and the observed correlation.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a figure.

        Returns
        -------
        matplotlib Axes
        """
        return figures.draw_null_histogram(
            self.null_correlations, self.correlation, "Correlation of the maps", self.p_value, ax
        )


def procrustes_test(
    reference: ArrayLike, embedding: ArrayLike, *, n_permutations: int = 999, random_state: Seed = None
) -> ProcrustesTest:
    """Permutation test of the agreement of two maps of the same rows (PROTEST).

    Parameters
    ----------
    reference, embedding : array-like of shape (n_samples, n_components)
        As in `procrustes`, with reflection.
    n_permutations : int, default=999
    random_state : int, Generator or None, default=None

    Returns
    -------
    ProcrustesTest

    Raises
    ------
    DataError
        When the maps differ in their number of rows, or all points of one coincide.

    Notes
    -----
    Null hypothesis: all assignments of the rows of one map to the rows of the other are equally likely. It is almost always
    rejected for two maps of the same table; the test is meant for maps of different measurements of the same rows. The p-value is
    (1 + the permutations with a correlation as large) / (1 + n_permutations). Cost O(n m^2) a permutation.

    References
    ----------
    Jackson (1995), PROTEST: a PROcrustean randomization TEST of community environment concordance, Écoscience 2; Peres-Neto and
    Jackson (2001), How well do multivariate data sets match?, Oecologia 129.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tamiz.comparison import procrustes_test
    >>> X = load_iris().data
    >>> procrustes_test(X[:, :2], X[:, 2:], random_state=0).p_value
    0.001
    """
    n_permutations = check_integer("n_permutations", n_permutations, low=1)
    rng = make_rng(random_state)
    with parallel.thread_session():
        target, moving = read_maps(reference, embedding)
        size = max(1, _ROWS_PER_TASK // len(target.unit))
        counts = [stop - start for start, stop in parallel.block_ranges(n_permutations, size)]
        seeds = rng.integers(0, 2**63, len(counts))

        def permute(task: tuple[int, int]) -> Floats:
            return _permuted_correlations(target.unit, moving.unit, task[0], np.random.default_rng(task[1]))

        permuted = np.concatenate(list(parallel.map_blocks(permute, zip(counts, seeds.tolist(), strict=True))))
        alignment = procrustes(reference, embedding)
    correlation = alignment.correlation
    return ProcrustesTest(alignment, correlation, permuted, upper_p_value(permuted, correlation))


def _permuted_correlations(target: Floats, moving: Floats, n_permutations: int, rng: np.random.Generator) -> Floats:
    """Return the correlations of the maps with the rows of one in random orders."""
    orders = np.stack([rng.permutation(len(target)) for _ in range(n_permutations)])
    # take is ten times faster than moving[orders].
    permuted = moving.take(orders, axis=0)
    common = np.matmul(permuted.transpose(0, 2, 1), target)
    return np.asarray(np.linalg.svd(common, compute_uv=False).sum(axis=1))


@dataclass(frozen=True)
class CentredMap:
    """A map with its centre, the norm of its deviations from it, and these deviations divided by the norm."""

    values: Floats
    mean: Floats
    norm: float
    unit: Floats
    n_columns: int

    @classmethod
    def from_points(cls, points: Floats, n_components: int, name: str) -> CentredMap:
        """Return the points padded to `n_components` columns; raise DataError if all coincide."""
        values = _pad_columns(points, n_components)
        mean = values.mean(axis=0)
        centred = values - mean
        largest = float(np.abs(centred).max())
        if largest <= _ROUNDING * float(np.abs(values).max()):
            raise DataError(
                f"All {len(values):,} points of the {name} coincide; a map without extent has no direction."
            )
        # Rescaled first: squares of very large or small numbers overflow or underflow.
        centred /= largest
        norm = float(np.sqrt((centred**2).sum()))
        return cls(values, mean, norm * largest, centred / norm, points.shape[1])


def read_maps(reference: ArrayLike, embedding: ArrayLike) -> tuple[CentredMap, CentredMap]:
    """Check two maps of the same rows and pad them to the same number of columns."""
    first = check_array(from_array_api(reference), dtype=np.float64, input_name="reference")
    second = check_array(from_array_api(embedding), dtype=np.float64, input_name="embedding")
    if len(first) != len(second):
        raise DataError(
            f"The reference has {len(first):,} rows and the embedding {len(second):,}; pass maps of the same rows."
        )
    m = max(first.shape[1], second.shape[1])
    return CentredMap.from_points(first, m, "reference"), CentredMap.from_points(second, m, "embedding")


def _rotation(target: Floats, moving: Floats, *, reflect: bool) -> tuple[Floats, float]:
    """Return the rotation of least squares and the trace of the singular values, tr S."""
    left, singular, right = np.linalg.svd(moving.T @ target)
    if not reflect and np.linalg.det(left) * np.linalg.det(right) < 0:
        left[:, -1] *= -1.0
        singular[-1] *= -1.0
    # In one dimension without reflection the trace may be negative; then the best scale is 0.
    return left @ right, min(max(float(singular.sum()), 0.0), 1.0)


def _transform_points(points: Floats, rotation: Floats, scale: float, translation: Floats) -> Floats:
    return np.asarray(scale * (points @ rotation) + translation)


def _pad_columns(values: Floats, n_columns: int) -> Floats:
    """Return a copy padded with columns of zeros to `n_columns`."""
    return np.pad(values, ((0, 0), (0, n_columns - values.shape[1])))


def _display_coordinates(points: Floats, components: tuple[int, int]) -> Floats:
    """Return the plotted coordinates; a one-dimensional map is plotted against the row number."""
    if points.shape[1] == 1:
        return np.column_stack([points[:, 0], np.arange(len(points), dtype=np.float64)])
    return points[:, list(components)]
