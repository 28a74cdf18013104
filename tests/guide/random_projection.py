"""Random projection of the columns."""

from typing import Any, ClassVar, Self

from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from tamiz.arrays import Floats
from tamiz.reduction.base import Reducer
from tamiz.reduction.description import MapDescription
from tamiz.runtime.random import Seed, make_rng
from tamiz.runtime.validation import check_integer
from tamiz.storage.invariants import FloatArray, InstanceOf, Invariants
from tamiz.table.encode import TableEncoder
from tamiz.table.factory import as_table, check_features, record_features


class RandomProjection(Reducer):
    r"""Random projection: every coordinate is a sum of the columns with normally distributed weights.

    .. math:: y = W x, \qquad W_{cj} \sim N(0, 1 / k)

    with k coordinates c, and the standardised columns and indicators of categories j.

    Parameters
    ----------
    n_components : int, default=2
        Number of coordinates.
    random_state : int, Generator or None, default=None
        Draws the weights.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_coordinates)
        Weights of the standardised columns, and of the indicators of categories, with variance 1 / n_components.
    embedding_ : ndarray of shape (n_samples, n_components)
        Coordinates of the rows; float32 if all numeric columns are float32.

    Notes
    -----
    The expected squared distance of two rows on the map is that of the standardised columns (Johnson and Lindenstrauss): a few
    coordinates show it roughly, hundreds within some per cent. A missing value counts as the mean of its column. Cost
    O(n q k) for q coordinates of the columns.

    References
    ----------
    Johnson and Lindenstrauss (1984), Extensions of Lipschitz mappings into a Hilbert space; Bingham and Mannila (2001), Random
    projection in dimensionality reduction, KDD.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from tamiz.reduction import RandomProjection
    >>> projection = RandomProjection(random_state=0).fit(load_wine().data)
    >>> projection.embedding_.shape, projection.describe().notes
    ((178, 2), ('Random weights of the standardised columns.',))
    """

    axis_label: ClassVar = "Projection"
    invariants: ClassVar[Invariants] = {
        "_row_encoder": InstanceOf(TableEncoder),
        "components_": FloatArray("k", "d"),
    }
    components_: Floats

    def __init__(self, n_components: int = 2, *, random_state: Seed = None) -> None:
        self.n_components = n_components
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Draw the weights, and compute the coordinates of the rows."""
        k, table = check_integer("n_components", self.n_components, low=1), as_table(X)
        _, encoder = TableEncoder.fit(table, standardize=True, fill_missing=True)
        components = make_rng(self.random_state).normal(scale=k**-0.5, size=(k, encoder.n_coordinates))
        embedding = self._match_dtype(encoder.project(table, components), X)
        record_features(self, X)
        self._row_encoder, self.components_, self.embedding_ = encoder, components, embedding
        return self

    def transform(self, X: Any) -> NDArray[Any]:
        """Return the coordinates of new rows, each independently of the others."""
        check_is_fitted(self)
        check_features(self, X)
        return self._match_dtype(self._row_encoder.project(self._row_encoder.read(X), self.components_), X)

    def describe(self) -> MapDescription:
        """Describe what is drawn and what distances mean."""
        check_is_fitted(self)
        return self._describe(
            ["Random weights of the standardised columns."],
            "Rows with similar values are near each other; other rows may be, too.",
        )
