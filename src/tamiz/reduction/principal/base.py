"""Abstract classes of the input of PCA: centred rows, and encoders of new rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

from numpy.typing import NDArray

from tamiz.arrays import Floats
from tamiz.runtime.verdicts import Verdict
from tamiz.table.schema import Schema


class CoordinateEncoder(ABC):
    """Encoder of rows as centred coordinates; a fitted model stores it for new rows.

    Attributes
    ----------
    names : list of str
        One for every coordinate.
    mean, scale : ndarray of shape (n_coordinates,)
        A coordinate is (x - mean) / scale.
    level_spans : list of tuple (int, int)
        The coordinates start : stop that are indicators of one column each.
    n_missing : int
        Number of missing values in the rows of the fit.
    """

    names: list[str]
    mean: Floats
    scale: Floats
    level_spans: list[tuple[int, int]]
    n_missing: int = 0

    def table_schema(self) -> Schema | None:
        """Return the schema of the fit, None if the input was not a table."""
        return None

    @property
    def columns(self) -> list[str]:
        return self.names

    @abstractmethod
    def read(self, X: Any) -> Any:
        """Return new rows in the form that `project` accepts."""

    @abstractmethod
    def coordinates(self, rows: Any) -> Iterator[Floats]:
        """Yield the coordinates of rows about the mean, some rows at a time; NaN for missing values that are not imputed."""

    @abstractmethod
    def project(self, rows: Any, directions: Floats) -> NDArray[Any]:
        """Return the projections of rows on directions, each independently, in float32 for float32 rows."""


class CentredRows(ABC):
    """Rows of centred coordinates, divided by their scale.

    Attributes
    ----------
    n_rows, n_coordinates : int
    table : Table or sparse matrix
        The rows in the form that `encoder` projects.
    density : float
        Share of the coordinates that products read.
    schema : Schema or None
        The columns, if the rows are from a table.
    semidefinite : bool
        Whether the covariance is that of one set of rows, not pairwise, so that no eigenvalue is below 0.
    residual_tolerance : float
        Smallest residuals that the products allow, relative to the largest variance; the errors of variances are their squares.
    """

    n_rows: int
    n_coordinates: int
    table: Any
    density: float = 1.0
    schema: Schema | None = None
    semidefinite: bool = True
    residual_tolerance: float = 1e-7

    @property
    @abstractmethod
    def total_weight(self) -> float:
        """Total weight of the rows; their number if they have no weights."""

    @abstractmethod
    def weights(self) -> Floats | None:
        """Return the weight of every row, None if rows have no weights."""

    @property
    @abstractmethod
    def encoder(self) -> CoordinateEncoder:
        """The encoder of the rows."""

    @property
    @abstractmethod
    def variances(self) -> Floats:
        """The variance of every coordinate."""

    def collect_warnings(self) -> list[Verdict]:
        return []

    @abstractmethod
    def covariance(self) -> Floats:
        """Return the covariance of the coordinates, of shape (n_coordinates, n_coordinates)."""

    @abstractmethod
    def times_covariance(self, X: Floats) -> Floats:
        """Return X of shape (m, n_coordinates) times the covariance, without forming the covariance."""

    @abstractmethod
    def weighted_rows(self) -> Floats:
        """Return the rows, each times the square root of its weight: their inner products are the covariance times total - 1."""

    def project(self, directions: Floats) -> NDArray[Any]:
        return self.encoder.project(self.table, directions)
