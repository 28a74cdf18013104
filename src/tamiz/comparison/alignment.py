"""One map moved onto another: how far apart are the places of the same rows, whatever way each map was turned?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_array

from tamiz.comparison.p_values import upper_p_value
from tamiz.display import figures
from tamiz.display.embedding import EmbeddingDisplay
from tamiz.display.figures import INK, MUTED
from tamiz.display.null_histogram import draw_null_histogram
from tamiz.exceptions import DataError
from tamiz.runtime import parallel
from tamiz.runtime.random import Seed, make_rng
from tamiz.runtime.validation import check_integer
from tamiz.statistics.base import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes


# MERGED: Are two maps of the same rows alike by more than chance? Jackson's permutation test (protest).
# Rows permuted in one piece of work.
_ROWS_PER_TASK = 100_000


@dataclass(frozen=True, eq=False, repr=False)
class ProcrustesTest:
    """The correlation of two maps beside those of maps whose rows were permuted.

    Attributes
    ----------
    alignment : Procrustes
        The one map moved onto the other.
    correlation : float
        The root of 1 - m^2.
    null_correlations : ndarray of shape (n_permutations,)
        The same where the rows of one map are in random order.
    p_value : float
        The share of orders with a correlation as large, the given one among them.
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
        """Draw the correlations of the permuted maps, and the one found.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None is a new figure.

        Returns
        -------
        matplotlib Axes
        """
        return draw_null_histogram(
            self.null_correlations, self.correlation, "Correlation of the maps", self.p_value, ax
        )


def procrustes_test(
    reference: ArrayLike, embedding: ArrayLike, *, n_permutations: int = 999, random_state: Seed = None
) -> ProcrustesTest:
    """Return how likely two maps of the same rows are as much alike when which point is which row is left to chance.

    Parameters
    ----------
    reference, embedding : array-like of shape (n_samples, n_components)
        As in `procrustes`; mirrors are allowed.
    n_permutations : int, default=999
    random_state : int, Generator or None, default=None

    Returns
    -------
    ProcrustesTest

    Raises
    ------
    DataError
        When the maps differ in their number of rows, or all points of one are at one place.

    Notes
    -----
    The null hypothesis: the rows of one map could come in any order, each as likely. It is nearly always refused for two maps that
    were made of the same table; the test is meant for maps of different measurements of the same rows. p is
    (1 + the permutations with a correlation as large) / (1 + all). Cost O(n m^2) a permutation.

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
        pieces = [stop - start for start, stop in parallel.block_ranges(n_permutations, size)]
        seeds = rng.integers(0, 2**63, len(pieces))

        def drawn(piece: tuple[int, int]) -> Floats:
            return _correlations(target.unit, moving.unit, piece[0], np.random.default_rng(piece[1]))

        permuted = np.concatenate(list(parallel.map_blocks(drawn, zip(pieces, seeds.tolist(), strict=True))))
        alignment = procrustes(reference, embedding)
    correlation = alignment.correlation
    return ProcrustesTest(alignment, correlation, permuted, upper_p_value(permuted, correlation))


def _correlations(target: Floats, moving: Floats, n_permutations: int, rng: np.random.Generator) -> Floats:
    """Return the correlations of maps where the rows of one come in random orders."""
    orders = np.stack([rng.permutation(len(target)) for _ in range(n_permutations)])
    # Ten times faster than moving[orders].
    permuted = moving.take(orders, axis=0)
    common = np.matmul(permuted.transpose(0, 2, 1), target)
    return np.asarray(np.linalg.svd(common, compute_uv=False).sum(axis=1))


# What EmbeddingDisplay draws as a picture as well.
_MAX_VECTOR_POINTS = 5000
# Rows at one place but for rounding.
_ROUNDING = 64 * float(np.finfo(np.float64).eps)


@dataclass(frozen=True, eq=False, repr=False)
class Procrustes:
    """A map moved onto a reference.

    Attributes
    ----------
    reference : ndarray of shape (n_samples, n_components)
        As given; with columns of zeros where the other map has more.
    aligned : ndarray of shape (n_samples, n_components)
        The other map in the place, the direction and, where asked for, the scale that suit the reference best:
        scale * embedding @ rotation + translation.
    rotation : ndarray of shape (n_components, n_components)
        Orthogonal. Its determinant is -1 where the map is seen in a mirror.
    scale : float
    translation : ndarray of shape (n_components,)
    statistic : float
        Gower's m^2, in [0, 1], smaller is nearer: what is left of the sum of squares of the reference at the best scale, whether
        `scale` was asked for or not. The same whichever map is moved onto the other.
    residuals : ndarray of shape (n_samples,)
        How far each row is from its place in the reference, in the unit of this.
    n_columns : int
        How many columns the map that was moved had.
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
        """The correlation of the two maps, the root of 1 - m^2, in [0, 1]."""
        return float(np.sqrt(1.0 - self.statistic))

    def transform(self, points: ArrayLike) -> Floats:
        """Return other points of the map that was moved, moved as it was.

        Parameters
        ----------
        points : array-like of shape (n_points, n_columns)
        """
        values = check_array(points, dtype=np.float64)
        if values.shape[1] != self.n_columns:
            raise DataError(f"The map that was moved has {self.n_columns} columns, got points of {values.shape[1]}.")
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
        """Draw the rows where the moved map has them, and a line from each to its place in the reference.

        Parameters
        ----------
        color : array-like of shape (n_samples,), default=None
            A number or a class for every row, such as `residuals`.
        color_label : str, default=None
            What the colours are; None is the name of a series.
        components : tuple of two int, default=(0, 1)
            The coordinates drawn, counted from 0.
        ax : matplotlib Axes, default=None
            Where to draw; None is a new figure.

        Returns
        -------
        matplotlib Axes
        """
        display = EmbeddingDisplay(self.aligned, color=color, color_label=color_label, components=components).plot(ax)
        panel, rasterized = display.ax_, len(self.aligned) > _MAX_VECTOR_POINTS
        places = _display_coordinates(self.reference, components)
        lines = figures.import_matplotlib("matplotlib.collections").LineCollection(
            np.stack([_display_coordinates(self.aligned, components), places], axis=1),
            colors=MUTED, linewidths=0.8, alpha=0.7, zorder=0.9, rasterized=rasterized,
        )  # fmt: skip
        panel.add_collection(lines)
        panel.scatter(
            places[:, 0], places[:, 1], s=0.7 * float(display.points_[-1].get_sizes()[0]),
            facecolors="white", edgecolors=MUTED, linewidths=0.8, zorder=0.95, rasterized=rasterized,
        )  # fmt: skip
        told = f"○ reference   ● moved onto it   m² = {self.statistic:.3g}"
        panel.set_title(told, loc="left", fontsize="small", color=INK)
        return panel


def procrustes(reference: ArrayLike, embedding: ArrayLike, *, scale: bool = True, reflect: bool = True) -> Procrustes:
    """Return a map moved onto a reference: shifted, turned, mirrored and scaled until the squared distances are least.

    .. math:: \\min_{s, Q, t} \\sum_i \\lVert x_i - s\\, Q^\\top y_i - t \\rVert^2, \\quad Q^\\top Q = I

    Parameters
    ----------
    reference : array-like of shape (n_samples, n_components)
        Stays where it is.
    embedding : array-like of shape (n_samples, n_other_components)
        The same rows in the same order. The map with fewer columns gets columns of zeros.
    scale : bool, default=True
        Whether it may be made larger or smaller.
    reflect : bool, default=True
        Whether it may be seen in a mirror. Maps are mostly found up to that.

    Returns
    -------
    Procrustes

    Raises
    ------
    DataError
        When the maps differ in their number of rows, or all points of one are at one place.

    Notes
    -----
    Cost O(n m^2). With A and B centred and of norm 1, and B'A = U S V', the rotation is U V' and m^2 = 1 - (tr S)^2; without
    mirrors the least singular value counts as negative where det(U V') is below 0. The maps are compared with each other alone: an
    error that both have does not show.

    References
    ----------
    Schönemann (1966), A generalized solution of the orthogonal Procrustes problem, Psychometrika 31; Gower (1975), Generalized
    Procrustes analysis, Psychometrika 40.

    Examples
    --------
    >>> from tamiz.comparison import procrustes
    >>> house = [[0, 0], [2, 0], [2, 2], [1, 3], [0, 2]]
    >>> turned = [[5, 1], [5, 5], [1, 5], [-1, 3], [1, 1]]
    >>> moved = procrustes(house, turned)
    >>> moved
    <Procrustes of 5 rows in 2 coordinates: m2=0.0000, correlation=1.0000>
    >>> moved.aligned.round(6) + 0.0
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
        # From the residuals: 1 - root^2 would lose half the digits of maps that agree.
        left = float(((target.unit - root * (moving.unit @ rotation)) ** 2).sum())
        residuals = np.hypot.reduce(target.values - aligned, axis=1)
    return Procrustes(
        target.values, aligned, rotation, factor, translation, min(left, 1.0), residuals, moving.n_columns
    )


@dataclass(frozen=True)
class CentredMap:
    """The points of a map.

    Attributes
    ----------
    values : ndarray of shape (n_samples, n_components)
    mean : ndarray of shape (n_components,)
    norm : float
        The root of the sum of squares about the mean.
    unit : ndarray of shape (n_samples, n_components)
        Centred and divided by the norm.
    n_columns : int
        Without those of zeros.
    """

    values: Floats
    mean: Floats
    norm: float
    unit: Floats
    n_columns: int

    @classmethod
    def from_points(cls, points: Floats, n_components: int, name: str) -> CentredMap:
        """Return the points in a number of coordinates, refused where all are at one place."""
        values = _pad_columns(points, n_components)
        mean = values.mean(axis=0)
        centred = values - mean
        largest = float(np.abs(centred).max())
        if largest <= _ROUNDING * float(np.abs(values).max()):
            raise DataError(
                f"All {len(values):,} points of the {name} are at one place; a map without extent has no direction."
            )
        # Squares of very large or small numbers leave the range of floats.
        centred /= largest
        norm = float(np.sqrt((centred**2).sum()))
        return cls(values, mean, norm * largest, centred / norm, points.shape[1])


def read_maps(reference: ArrayLike, embedding: ArrayLike) -> tuple[CentredMap, CentredMap]:
    """Return two maps of the same rows, of as many columns."""
    first = check_array(reference, dtype=np.float64, input_name="reference")
    second = check_array(embedding, dtype=np.float64, input_name="embedding")
    if len(first) != len(second):
        raise DataError(f"The reference has {len(first):,} rows and the embedding {len(second):,}; give the same rows.")
    m = max(first.shape[1], second.shape[1])
    return CentredMap.from_points(first, m, "reference"), CentredMap.from_points(second, m, "embedding")


def _rotation(target: Floats, moving: Floats, *, reflect: bool) -> tuple[Floats, float]:
    """Return what turns one onto the other best, and the trace of what they then have in common."""
    left, singular, right = np.linalg.svd(moving.T @ target)
    if not reflect and np.linalg.det(left) * np.linalg.det(right) < 0:
        left[:, -1] *= -1.0
        singular[-1] *= -1.0
    # On one coordinate without a mirror it may be negative: no scale above 0 then is better than none.
    return left @ right, min(max(float(singular.sum()), 0.0), 1.0)


def _transform_points(points: Floats, rotation: Floats, scale: float, translation: Floats) -> Floats:
    return np.asarray(scale * (points @ rotation) + translation)


def _pad_columns(values: Floats, n_columns: int) -> Floats:
    """Return the values with columns of zeros up to a number of columns, as an array of their own."""
    return np.pad(values, ((0, 0), (0, n_columns - values.shape[1])))


def _display_coordinates(points: Floats, components: tuple[int, int]) -> Floats:
    """Return where a display draws points: a single coordinate against the number of the row."""
    if points.shape[1] == 1:
        return np.column_stack([points[:, 0], np.arange(len(points), dtype=np.float64)])
    return points[:, list(components)]
