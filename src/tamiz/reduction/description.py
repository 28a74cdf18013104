"""The description of a fitted map: the meaning of its distances, its results in sentences, its spectrum and its loadings."""

from dataclasses import dataclass

from tamiz.runtime.validation import check_lengths


@dataclass(frozen=True, kw_only=True, slots=True)
class Spectrum:
    """The eigenvalues of a map, or the shares of its components with their cumulative shares.

    Attributes
    ----------
    label : str
        Name of the values; "" for a map without any.
    values : tuple of float
        One value an axis, first axis first.
    note : str
        Explanation of the values, one sentence.
    cumulative : tuple of float
        Cumulative sums; empty if the values are not shares of a total.
    residuals : tuple of float
        Residual norms of iterative eigensolvers; empty for direct solvers.
    reference : tuple of float
        Expected values under the null model of parallel analysis; empty if not computed.
    chance_title, chance_note : str
        Heading with the number of axes above the null model, and an explanation of the null model, one sentence.
    """

    label: str
    values: tuple[float, ...]
    note: str = ""
    cumulative: tuple[float, ...] = ()
    residuals: tuple[float, ...] = ()
    reference: tuple[float, ...] = ()
    chance_title: str = ""
    chance_note: str = ""

    def __post_init__(self) -> None:
        if self.cumulative:
            check_lengths(values=self.values, cumulative=self.cumulative)


@dataclass(frozen=True, kw_only=True, slots=True)
class Loadings:
    """The weight of each column, or of each level, in each axis: one row for each name."""

    columns: tuple[str, ...]
    values: tuple[tuple[float, ...], ...]

    def __post_init__(self) -> None:
        check_lengths(columns=self.columns, values=self.values)


@dataclass(frozen=True, kw_only=True, slots=True)
class MapDescription:
    """What `describe()` of a fitted map returns.

    Attributes
    ----------
    axes : tuple of str
        A name for every coordinate.
    notes : tuple of str
        Preprocessing and results, one sentence each.
    proximity_note : str
        Meaning of a small distance on the map, one sentence.
    comparable_axes : bool
        Whether all axes have the same unit.
    stress : float or None
        Kruskal's stress-1 of the map, on a sample of pairs for sampling methods; None for methods without stress.
    spectrum : Spectrum
        Eigenvalues or shares of variance; without values for methods that have none.
    loadings : Loadings
        Empty for methods without loadings.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from tamiz.reduction import MDS
    >>> described = MDS(random_state=0).fit(load_wine().data).describe()
    >>> described.axes, round(described.stress, 3)
    (('Coordinate 1', 'Coordinate 2'), 0.001)
    >>> described.proximity_note
    'Rows that are similar in the table are near each other on the map, and dissimilar rows are far apart.'
    """

    axes: tuple[str, ...]
    notes: tuple[str, ...]
    proximity_note: str
    comparable_axes: bool
    stress: float | None
    spectrum: Spectrum
    loadings: Loadings
