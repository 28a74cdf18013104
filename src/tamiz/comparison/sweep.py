"""Maps of the same rows over one or two parameters, as a grid of small maps with a measure of their quality."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone

from tamiz.arrays import Floats
from tamiz.comparison.maps import FittedMap, class_labels, describe_measure, draw_panels, fit_maps
from tamiz.graphs.builders import GraphBuilder
from tamiz.graphs.edges import HeatKernel
from tamiz.neighbors.row_encoders import count_rows
from tamiz.reduction.base import Reducer
from tamiz.runtime import parallel
from tamiz.runtime.random import Seed, make_rng
from tamiz.runtime.registry import suggestion

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# A grid has rows and columns.
_MAX_PARAMETERS = 2


@dataclass(frozen=True, eq=False, repr=False)
class ParameterSweep:
    """Maps of one table for every combination of the values of one or two parameters.

    Attributes
    ----------
    parameters : dict of str to tuple
        The values of each parameter.
    maps : dict of tuple to FittedMap
        The fitted maps by their values, in the order of `parameters`.
    """

    parameters: Mapping[str, tuple[Any, ...]]
    maps: Mapping[tuple[Any, ...], FittedMap]

    def __getitem__(self, values: Any) -> FittedMap:
        """Return the map of a value, or of a pair of values."""
        key = values if isinstance(values, tuple) else (values,)
        if key not in self.maps:
            known = "; ".join(f"{name} {_format_values(known)}" for name, known in self.parameters.items())
            raise KeyError(f"The sweep has no map of {_format_values(key)}; it has {known}.")
        return self.maps[key]

    def measure(self, name: str = "trustworthiness") -> Floats:
        """Return a measure of `quality` for every map, with an axis for each parameter.

        Parameters
        ----------
        name : str, default="trustworthiness"
        """
        values = [one.quality[name].value for one in self.maps.values()]
        return np.reshape(values, [len(known) for known in self.parameters.values()])

    def __repr__(self) -> str:
        first = next(iter(self.maps.values()))
        n_samples, n_components = first.embedding.shape
        swept = "; ".join(f"{name}={_format_values(values)}" for name, values in self.parameters.items())
        return f"<ParameterSweep of {n_samples:,} rows in {n_components} coordinates: {swept}>"

    def plot(
        self, color: ArrayLike | None = None, *, color_label: str | None = None, measure: str = "trustworthiness"
    ) -> Figure:
        """Plot the first two coordinates of every map: a column for each value of the first parameter, a row for the second.

        Parameters
        ----------
        color : array-like of shape (n_samples,), default=None
            A number or a class for every row.
        color_label : str, default=None
            Label of the colours; None uses the name of a Series.
        measure : str, default="trustworthiness"
            The measure of `quality` in the titles.

        Returns
        -------
        matplotlib Figure
            Every panel has its own scale.
        """
        names, (across, *down) = list(self.parameters), list(self.parameters.values())
        keys = [(value, *other) for other in product(*down) for value in across]
        titles = [
            ", ".join(f"{_short_name(name)} = {_format_value(value)}" for name, value in zip(names, key, strict=True))
            + f"\n{describe_measure(self.maps[key].quality, measure)}"
            for key in keys
        ]
        return draw_panels([self.maps[key].embedding for key in keys], titles, len(across), color, color_label)


def parameter_sweep(
    X: Any,
    reducer: Any,
    parameters: Mapping[str, Iterable[Any]],
    y: ArrayLike | None = None,
    *,
    metric: str = "euclidean",
    n_neighbors: int | None = None,
    sample: int | None = None,
    random_state: Seed = 0,
) -> ParameterSweep:
    """Fit a map for every combination of the values of one or two parameters, and evaluate each.

    Parameters
    ----------
    X : array, data frame, sparse matrix or Table
        The rows. The target of a Table is not used.
    reducer : estimator
        An unfitted map: of tamiz, or any with `fit_transform(X)`.
    parameters : dict of str to list
        The values of one or two parameters of the map, such as {"perplexity": [5, 30, 100]}. For a map on a graph they may be
        parameters of the builder of its graph too: "n_neighbors" or "radius", and "t", the width of the heat kernel.
    y : array-like of shape (n_samples,), default=None
        The class of every row adds the accuracy of classes on each map. No map is fitted to it.
    metric : str, default="euclidean"
        Metric of the data in the measures, as in `quality`.
    n_neighbors : int, default=None
        Neighbours of a row in the measures; None is 15, or fewer for less than 31 rows.
    sample : int, default=None
        Number of rows that the measures compare with all others, as in `quality`.
    random_state : int, Generator or None, default=0
        Seed of the map, if it has none of its own, and of the rows that `quality` samples.

    Returns
    -------
    ParameterSweep

    Raises
    ------
    ValueError
        When there is not one or two parameters, the map has no such parameter, or a list is empty or contains a value twice.
    DataError
        When a map cannot be fitted or evaluated; the message starts with its values.

    Notes
    -----
    One search of the neighbours serves all graphs of one metric, as in `compare_maps`. With an exact search every map equals a
    separate fit to the bit. With an approximate search the neighbours of smaller graphs are more accurate than in a separate fit.

    References
    ----------
    Belkin and Niyogi (2003), Laplacian eigenmaps for dimensionality reduction and data representation, Neural Computation 15,
    figure 2: a grid of eigenmaps over numbers of neighbours and widths of the heat kernel.

    Examples
    --------
    >>> from sklearn.datasets import make_swiss_roll
    >>> from tamiz.comparison import parameter_sweep
    >>> from tamiz.reduction import LaplacianEigenmaps
    >>> X, along = make_swiss_roll(400, random_state=1)
    >>> sweep = parameter_sweep(X, LaplacianEigenmaps(), {"n_neighbors": [5, 15], "t": [5, 25]})
    >>> sweep
    <ParameterSweep of 400 rows in 2 coordinates: n_neighbors=5, 15; t=5, 25>
    >>> sweep[5, 25].embedding.shape, sweep.measure().shape
    ((400, 2), (2, 2))
    """
    if isinstance(reducer, type) or not hasattr(reducer, "fit_transform"):
        raise TypeError(f"reducer must be an estimator with fit_transform, such as TSNE(), got {reducer!r}.")
    grid = _check_grid(parameters)
    seed = int(make_rng(random_state).integers(2**31))
    with parallel.thread_session():
        n = count_rows(X)
        keys = list(product(*grid.values()))
        reducers = {key: _with_parameters(reducer, dict(zip(grid, key, strict=True)), n) for key in keys}
        maps, _ = fit_maps(X, reducers, class_labels(y), (metric, n_neighbors, sample), seed)
    return ParameterSweep(grid, maps)


def _check_grid(parameters: Mapping[str, Iterable[Any]]) -> dict[str, tuple[Any, ...]]:
    if not isinstance(parameters, Mapping):
        raise TypeError(f'parameters must be a dict, such as {{"perplexity": [5, 30]}}, got {parameters!r}.')
    if not 1 <= len(parameters) <= _MAX_PARAMETERS:
        raise ValueError(f"parameters must have one or two parameters, got {len(parameters)}.")
    return {name: _check_values(name, values) for name, values in parameters.items()}


def _check_values(name: str, values: Iterable[Any]) -> tuple[Any, ...]:
    """Return the values of a list; raise if it is empty or contains a value twice."""
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise TypeError(f"{name} must be a list, got {values!r}. Put it in brackets: [{values}].")
    checked = tuple(value.item() if isinstance(value, np.generic) else value for value in values)
    if not checked:
        raise ValueError(f"{name} is an empty list; a sweep needs at least one value.")
    for at, value in enumerate(checked):
        if value in checked[:at]:
            raise ValueError(f"{name} contains {_format_value(value)} twice; pass each value once.")
    return checked


def _with_parameters(reducer: Any, values: Mapping[str, Any], n_samples: int) -> Any:
    """Return a copy of the map with parameters set: its own, or those of the builder of its graph."""
    changed = clone(reducer)
    own = changed.get_params(deep=True)
    changed.set_params(**{name: value for name, value in values.items() if name in own})
    others = {name: value for name, value in values.items() if name not in own}
    if not others:
        return changed
    builder = changed.graph_builder(n_samples) if isinstance(changed, Reducer) else None
    if not isinstance(builder, GraphBuilder):
        _refuse_unknown(changed, next(iter(others)), own)
    builder = clone(builder)
    for name, value in others.items():
        known = builder.get_params(deep=True)
        if name in known:
            builder.set_params(**{name: value})
        elif name == "t" and (builder.weight is None or isinstance(builder.weight, HeatKernel)):
            builder.set_params(weight=HeatKernel(value))
        else:
            _refuse_unknown(changed, name, [*own, *known])
    return changed.set_params(graph=builder)


def _refuse_unknown(reducer: Any, name: str, known: Iterable[str]) -> None:
    names = sorted(one for one in set(known) if "__" not in one)
    raise ValueError(
        f"{type(reducer).__name__} has no parameter {name!r}{suggestion(name, names)}; it has {', '.join(names)}."
    )


def _short_name(name: str) -> str:
    """Return the last part of the name of a nested parameter."""
    return name.rpartition("__")[2]


def _format_value(value: Any) -> str:
    if isinstance(value, float) and np.isinf(value):
        return "∞"
    return f"{value:g}" if isinstance(value, int | float) and not isinstance(value, bool) else str(value)


def _format_values(values: Iterable[Any]) -> str:
    return ", ".join(map(_format_value, values))
