"""Several maps of the same rows side by side, or one over a grid of parameters: quality, time, memory, and Procrustes distances."""

from __future__ import annotations

import tracemalloc
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from itertools import product
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import clone

from tamiz.arrays import Floats
from tamiz.comparison.alignment import procrustes_distances
from tamiz.display.embedding import EmbeddingDisplay
from tamiz.display.figures import INK, escape_text, make_panels, write_svg
from tamiz.exceptions import DataError
from tamiz.graphs.builders import GraphBuilder, build_graphs
from tamiz.graphs.edges import HeatKernel
from tamiz.graphs.graph import Graph
from tamiz.graphs.named_builders import resolve_graph
from tamiz.graphs.row_graph import needs_graph, standardized_builder
from tamiz.metrics.evaluation import MapQuality, quality
from tamiz.reduction import registry
from tamiz.reduction.base import Reducer
from tamiz.reduction.named_maps import find_map_method
from tamiz.runtime import parallel, progress
from tamiz.runtime.random import Seed, make_rng, sample_rows
from tamiz.runtime.registry import suggestion
from tamiz.runtime.result_tables import align_columns, html_table, make_frame
from tamiz.runtime.user_warnings import collect_warnings, is_muted, note_user, warn
from tamiz.runtime.validation import check_integer
from tamiz.runtime.verdicts import Verdict
from tamiz.table.base import target_array
from tamiz.table.factory import as_table, count_rows
from tamiz.table.in_memory import to_raw_column
from tamiz.table.kinds import encode_target
from tamiz.table.schema import Schema
from tamiz.table.views import select_rows

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from tamiz.graphs.builders import GraphBuilder


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


# Largest number of panels in a row of a figure, and neighbours in the measures.
_MAX_PANELS, _MAX_NEIGHBORS = 4, 15
# The maps that `compare` fits by default, and the rows that it compares if no map needs fewer.
_DEFAULT_MAPS = ("pca", "mds", "laplacian_eigenmaps", "tsne", "umap")
_MAX_ROWS = 20_000
# Decimals of the printed measures.
_DECIMALS = 4


@dataclass(frozen=True, eq=False, repr=False)
class FittedMap:
    """A fitted map with its cost.

    Attributes
    ----------
    reducer : estimator
    embedding : ndarray of shape (n_samples, n_components)
    seconds : float
        Time of the fit, without that of a graph that was built before.
    peak_bytes : int
        Largest memory that Python and numpy allocated during the fit, without that of compiled libraries.
    quality : MapQuality
    """

    reducer: Any
    embedding: NDArray[Any]
    seconds: float
    peak_bytes: int
    quality: MapQuality


@dataclass(frozen=True, eq=False, repr=False)
class MapComparison:
    """Maps of the same rows.

    Attributes
    ----------
    maps : dict of str to FittedMap
        The fitted maps by label, each with `reducer`, `embedding`, `seconds`, `peak_bytes` and `quality`.
    graph_seconds : float
        Time of the neighbour searches and graphs, which maps share.
    procrustes_distances : ndarray of shape (n_maps, n_maps)
        Gower's m^2 between two maps in [0, 1], 0 for equal shapes, as in `procrustes`; NaN for a map without extent.
    color : array-like of shape (n_samples,) or None
        The class or number of every row, which colours the picture; None without a target.
    color_label : str or None
        The name of the target.
    warnings : tuple of Verdict
        The warnings and notes.
    """

    maps: Mapping[str, FittedMap]
    graph_seconds: float
    procrustes_distances: Floats
    color: ArrayLike | None = None
    color_label: str | None = None
    warnings: tuple[Verdict, ...] = ()

    def __getitem__(self, label: str) -> FittedMap:
        if label not in self.maps:
            raise KeyError(f"There is no map {label!r}; the maps are {', '.join(self.maps)}.")
        return self.maps[label]

    def best(self, measure: str = "rank_agreement") -> str:
        """Return the label of the map with the best value of a measure; of equal ones the first.

        Parameters
        ----------
        measure : str, default="rank_agreement"
            A measure of `quality`.
        """
        values = [one.quality[measure] for one in self.maps.values()]
        signed = [one.value if one.larger_is_better else -one.value for one in values]
        return list(self.maps)[int(np.nanargmax(signed))]

    @property
    def sentence(self) -> str:
        """A sentence on the two maps of the most similar shapes, by their Procrustes distance; empty for one map."""
        if len(self.maps) < 2:
            return ""
        labels, pairs = list(self.maps), np.triu_indices(len(self.maps), 1)
        distances = np.nan_to_num(self.procrustes_distances[pairs], nan=np.inf)
        at = int(np.argmin(distances))
        first, second = (labels[ends[at]] for ends in pairs)
        return (
            f"The most similar shapes are those of {first} and {second}: Procrustes distance m² = {distances[at]:.3g}, from 0 for "
            "equal shapes to 1."
        )

    def to_frame(self, library: str | None = None) -> Any:
        """Return a frame with a row for each measure, "seconds" and "megabytes", and a column for each map after "measure".

        Parameters
        ----------
        library : {"pandas", "polars", "pyarrow"}, default=None
            The library of the frame; None is pandas, or pyarrow where pandas is not installed.
        """
        fitted = self.maps.items()
        names = [measure.name for measure in next(iter(self.maps.values())).quality.measures]
        columns: dict[str, list[Any]] = {"measure": [*names, "seconds", "megabytes"]}
        columns |= {
            label: [*(one.quality[name].value for name in names), one.seconds, one.peak_bytes / 1e6]
            for label, one in fitted
        }
        return make_frame(columns, library)

    def to_dict(self) -> dict[str, Any]:
        """Return the measures, costs, distances and warnings as JSON values."""
        return {
            "maps": [
                {
                    "label": label,
                    "n_components": one.embedding.shape[1],
                    "seconds": one.seconds,
                    "peak_bytes": one.peak_bytes,
                    **one.quality.to_dict(),
                }
                for label, one in self.maps.items()
            ],
            "graph_seconds": self.graph_seconds,
            "procrustes_distances": [
                [None if np.isnan(value) else value for value in distances]
                for distances in self.procrustes_distances.tolist()
            ],
            "warnings": [one.to_dict() for one in self.warnings],
        }

    def plot(self, color: ArrayLike | None = None, *, color_label: str | None = None) -> Figure:
        """Plot the first two coordinates of every map, with its trustworthiness.

        Parameters
        ----------
        color : array-like of shape (n_samples,), default=None
            A number or a class for every row; None uses `color` of the comparison.
        color_label : str, default=None
            Label of the colours; None uses the name of a Series.

        Returns
        -------
        matplotlib Figure
            Every panel has its own scale.
        """
        if color is None:
            color, color_label = self.color, color_label or self.color_label
        titles = [
            f"{escape_text(label)}\n{describe_measure(one.quality, 'trustworthiness')}"
            for label, one in self.maps.items()
        ]
        embeddings = [one.embedding for one in self.maps.values()]
        n_rows = -(-len(embeddings) // _MAX_PANELS)
        return draw_panels(embeddings, titles, -(-len(embeddings) // n_rows), color, color_label)

    def _lines(self) -> list[list[str]]:
        """Return a line for each measure and cost, with a value for every map."""
        first = next(iter(self.maps.values())).quality
        lines = [["", *self.maps]]
        for measure in first.measures:
            # As shown, so that values that look equal are ties.
            values = [round(one.quality[measure.name].value, _DECIMALS) for one in self.maps.values()]
            best = max(values) if measure.larger_is_better else min(values)
            lines.append([measure.name, *(f"{value:.{_DECIMALS}f}{'*' if value == best else ' '}" for value in values)])
        lines.append(["seconds", *(f"{one.seconds:.2f} " for one in self.maps.values())])
        lines.append(["memory in MB", *(f"{one.peak_bytes / 1e6:.0f} " for one in self.maps.values())])
        return lines

    def _heading(self) -> str:
        first = next(iter(self.maps.values())).quality
        n = len(first.points.rows)
        rows = f"{n:,} rows" if first.is_exact else f"{n:,} rows sampled of {first.n_samples:,}"
        graphs = f"; graphs {self.graph_seconds:.2f} s" if self.graph_seconds else ""
        return (
            f"{len(self.maps)} maps: {rows}, {first.n_neighbors} neighbours, {first.metric} distances{graphs}. * best"
        )

    def __repr__(self) -> str:
        return "\n".join([self._heading(), *align_columns(self._lines()), *filter(None, [self.sentence])])

    def _repr_html_(self) -> str:
        sentence = f"<p>{escape(self.sentence)}</p>" if self.sentence else ""
        return html_table(self._heading(), self._lines()) + sentence + write_svg(self.plot(), self._heading())


def compare_maps(
    X: Any,
    reducers: Mapping[str, Any] | Iterable[Any],
    y: ArrayLike | None = None,
    *,
    metric: str = "euclidean",
    n_neighbors: int | None = None,
    sample: int | None = None,
    random_state: Seed = 0,
) -> MapComparison:
    """Fit several maps of the same rows and evaluate each in the same way.

    Parameters
    ----------
    X : array, data frame, sparse matrix or Table
        The rows. The target of a Table is not used.
    reducers : dict of str to estimator, or list of estimators and names
        Unfitted maps, which are cloned: of tamiz, or any with `fit_transform(X)`. A name, such as "pca", is a map of
        `tamiz.reduction` with default parameters.
    y : array-like of shape (n_samples,), default=None
        The class of every row adds the accuracy of classes on each map. No map is fitted to it.
    metric : str, default="euclidean"
        Metric of the data in the measures, as in `quality`.
    n_neighbors : int, default=None
        Neighbours of a row in the measures; None is 15, or fewer for less than 31 rows.
    sample : int, default=None
        Number of rows that the measures compare with all others, as in `quality`.
    random_state : int, Generator or None, default=0
        Seed of maps without a seed of their own, and of the rows that `quality` samples.

    Returns
    -------
    MapComparison
        Prints as a table. `comparison["UMAP"].embedding` is a map, `plot(color=y)` draws all of them.

    Raises
    ------
    DataError
        When a map cannot be fitted or evaluated; the message starts with its label.

    Warns
    -----
    TamizWarning
        When the maps have different numbers of coordinates: more coordinates preserve more.

    Notes
    -----
    Maps on graphs of nearest neighbours that search with one metric share one search: it finds as many neighbours as the largest
    graph needs. Seconds are those of the fit alone. Measures on sampled rows use the same rows for all maps. A map that is best by
    one measure need not be best by another: trustworthiness and recall are about neighbours, stress and correlation about
    distances.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from tamiz.comparison import compare_maps
    >>> from tamiz.reduction import PCA, LaplacianEigenmaps
    >>> X, digit = load_digits(return_X_y=True)
    >>> found = compare_maps(X[:500], [PCA(2), LaplacianEigenmaps()], digit[:500])
    >>> list(found.maps), found.best("label_accuracy")
    (['PCA', 'Laplacian eigenmaps'], 'Laplacian eigenmaps')
    >>> round(found["PCA"].quality["trustworthiness"].value, 2)
    0.86
    """
    named = _label_reducers(reducers)
    seed = int(make_rng(random_state).integers(2**31))
    with parallel.thread_session(), collect_warnings() as messages:
        labels = class_labels(y)
        maps, graph_seconds = fit_maps(X, named, labels, (metric, n_neighbors, sample), seed)
        _warn_of_dimensions(maps)
    note_user(messages)
    distances = procrustes_distances([one.embedding for one in maps.values()])
    label = None if y is None else getattr(y, "name", None)
    return MapComparison(maps, graph_seconds, distances, y, label, tuple(dict.fromkeys(messages)))


def compare(
    X: Any,
    y: Any = None,
    maps: Sequence[Reducer | str] | None = None,
    *,
    n_components: int = 2,
    dissimilarity: str = "seuclidean",
    graph: GraphBuilder | str | None = None,
    map_rows: int | None = None,
    random_state: int = 0,
    n_jobs: int | None = None,
) -> MapComparison:
    """Fit several maps of the same rows of a table, with the settings of a study, and evaluate each in the same way.

    Parameters
    ----------
    X : array, sparse matrix, data frame or Table
        The target of a Table is used as y.
    y : array of shape (n_samples,), default=None
        The class or number of every row, which colours the picture; classes add their accuracy on each map. No map is fitted to it.
        Rows without it are left out.
    maps : list of str and Reducer, default=None
        Names such as "umap" and "mds:ordinal", with the settings of a study, or unfitted maps of `tamiz.reduction`, which are
        cloned. None is PCA, metric MDS, Laplacian eigenmaps, t-SNE and UMAP.
    n_components : int, default=2
        Number of coordinates of every map that is named.
    dissimilarity : {"seuclidean", "euclidean", "cityblock", "cosine", "gower"}, default="seuclidean"
        Distances between rows, for MDS and for the measures.
    graph : GraphBuilder or str, default=None
        The graph of the named maps that need one, or its name on the command line, such as "knn:5". None joins 15 nearest
        neighbours in standardised columns.
    map_rows : int, default=None
        Largest number of rows that are mapped and compared, a random sample, with a note. None is 20,000, or as many as the
        slowest map allows: 2,000 with MDS, 1,000 with ordinal MDS.
    random_state : int, default=0
        Seed of the sample and of the maps.
    n_jobs : int, default=None
        Threads; None uses all cores available to this process. The numbers do not depend on it.

    Returns
    -------
    MapComparison
        Prints as a table; a notebook shows the maps. `to_frame()` returns the measures as a data frame.

    Raises
    ------
    DataError
        When a map cannot be fitted or evaluated; the message starts with its label.
    ValueError
        When a map has no such name, is listed twice, or does not support the dissimilarity.

    See Also
    --------
    tamiz.comparison.compare_maps : Compares maps of any library as they are, on all rows.

    Notes
    -----
    The cost is that of the maps and of their measures, which compare each row with all others up to 10,000 rows.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> import tamiz
    >>> iris = load_iris(as_frame=True)
    >>> found = tamiz.compare(iris.data, iris.target, ["pca", "laplacian-eigenmaps"])
    >>> found.to_frame("pyarrow").column_names
    ['measure', 'PCA', 'Laplacian eigenmaps']
    >>> found.best("trustworthiness")
    'PCA'
    """
    seed = check_integer("random_state", random_state, low=0)
    with parallel.thread_session(n_jobs), collect_warnings() as messages:
        table = as_table(X, y)
        size = None if map_rows is None else check_integer("map_rows", map_rows, low=3)
        n = table.schema.n_rows
        schema = replace(table.schema, n_rows=n if size is None else min(n, size))
        reducers = _study_reducers(
            _DEFAULT_MAPS if maps is None else maps, schema, dissimilarity, n_components, seed, graph
        )
        if size is None:
            limits = [limit for one in reducers.values() if (limit := one.max_study_rows) is not None]
            size = min([_MAX_ROWS, *limits])
        rows = select_rows(table, sample_rows(n, size, np.random.default_rng(seed))) if size < n else table
        if size < n:
            # Before the maps are fitted, which takes most of the time.
            warn("TZ502", f"{size:,} of the {n:,} rows are mapped and compared, drawn at random.")
        target, color = rows.schema.target, None
        if target is not None:
            values = target_array(rows)
            color = np.asarray(target.levels, dtype=object)[values] if rows.schema.has_classes else values
        classes = color if rows.schema.has_classes else None
        found = compare_maps(rows, reducers, classes, metric=dissimilarity, random_state=seed)
    notes = [one for one in [*table.schema.dropped_row_notes, *table.schema.notes] if not is_muted(one)]
    warnings = tuple(dict.fromkeys([*notes, *messages]))
    note_user(warnings)
    return replace(found, color=color, color_label=None if target is None else target.name, warnings=warnings)


def _study_reducers(
    maps: Sequence[Reducer | str],
    schema: Schema,
    dissimilarity: str,
    n_components: int,
    seed: int,
    graph: GraphBuilder | str | None,
) -> dict[str, Reducer]:
    """Return the unfitted maps by label: those named with the settings of a study, and clones of the others."""
    if isinstance(maps, str) or not maps:
        raise ValueError(f"maps must be a list of at least one map, such as ['pca', 'umap'], got {maps!r}.")
    reducers: dict[str, Reducer] = {}
    for part in maps:
        if isinstance(part, str):
            named = find_map_method(part)
            named.check_dissimilarity(dissimilarity)
            label = named.label
            reducer = named.make_reducer(schema, dissimilarity, n_components=n_components, random_state=seed)
            if needs_graph(reducer):
                reducer.set_params(graph=standardized_builder(schema.n_rows) if graph is None else resolve_graph(graph))
        else:
            label, reducer = _method_label(part), _unfitted(part)
        if label in reducers:
            raise ValueError(f"maps lists {label} twice; compare_maps of tamiz.comparison accepts a dict with labels.")
        reducers[label] = reducer
    return reducers


def fit_maps(
    X: Any,
    reducers: Mapping[Any, Any],
    labels: ArrayLike | None,
    evaluation: tuple[str, int | None, int | None],
    seed: int,
) -> tuple[dict[Any, FittedMap], float]:
    """Fit and evaluate maps; return them, and the seconds of the graphs."""
    metric, n_neighbors, sample = evaluation
    seeded = {key: _with_seed(one, seed) for key, one in reducers.items()}
    n = count_rows(X)
    k = min(_MAX_NEIGHBORS, max(1, (n - 1) // 2)) if n_neighbors is None else n_neighbors
    started = perf_counter()
    builders = [one.graph_builder(n) if isinstance(one, Reducer) else None for one in seeded.values()]
    graphs = build_graphs(builders, X)
    graph_seconds = perf_counter() - started if any(graph is not None for graph in graphs) else 0.0
    maps = {}
    for (key, reducer), graph in progress.track_progress(
        "Maps", list(zip(seeded.items(), graphs, strict=True)), len(seeded)
    ):
        if graph is not None:
            reducer.set_params(graph=graph)
            _warn_of_components(_describe_key(key), reducer, graph)
        try:
            embedding, seconds, peak = _measure_fit(reducer, X)
            found = quality(X, embedding, metric=metric, n_neighbors=k, labels=labels, sample=sample, random_state=seed)
        except DataError as error:
            raise DataError(f"{_describe_key(key)}: {error}") from error
        maps[key] = FittedMap(reducer, embedding, seconds, peak, found)
    return maps, graph_seconds


def _describe_key(key: Hashable) -> str:
    return key if isinstance(key, str) else ", ".join(map(str, key)) if isinstance(key, tuple) else str(key)


def _warn_of_components(label: str, reducer: Any, graph: Graph) -> None:
    """Warn of a graph with several components where the map itself neither warns nor raises an error."""
    if len(graph.components) > 1 and reducer.get_params(deep=False).get("disconnected") == "per_component":
        warn("TZ401", f"{label}: the graph falls into {graph.components.describe()}; each has coordinates of its own.")


def _measure_fit(reducer: Any, X: Any) -> tuple[NDArray[Any], float, int]:
    """Return the embedding, and the seconds and the peak memory of the fit."""
    tracing = tracemalloc.is_tracing()
    if not tracing:
        tracemalloc.start()
    try:
        tracemalloc.reset_peak()
        before = tracemalloc.get_traced_memory()[0]
        started = perf_counter()
        # `fit` of a map of tamiz returns the coordinates as an array whatever output is configured.
        embedding = reducer.fit(X).embedding_ if isinstance(reducer, Reducer) else reducer.fit_transform(X)
        seconds = perf_counter() - started
        peak = tracemalloc.get_traced_memory()[1] - before
    finally:
        if not tracing:
            tracemalloc.stop()
    return np.asarray(embedding), seconds, peak


def _with_seed(reducer: Any, seed: int) -> Any:
    """Return the estimator with a seed, unless it has one or needs none."""
    if reducer.get_params(deep=False).get("random_state", 0) is None:
        reducer.set_params(random_state=seed)
    return reducer


def class_labels(y: ArrayLike | None) -> ArrayLike | None:
    """Return y if it contains classes; None for numbers, which have no accuracy."""
    if y is None:
        return None
    encoded = encode_target(to_raw_column(y, "y"), None, lambda at: f"value {at} of y")
    return None if encoded.column.is_number else y


def _label_reducers(reducers: Mapping[str, Any] | Iterable[Any]) -> dict[str, Any]:
    """Return unfitted estimators by label: that of the registry, or the parameters where several have the same."""
    if isinstance(reducers, Mapping):
        named = {str(label): _unfitted(one) for label, one in reducers.items()}
    elif isinstance(reducers, str) or not isinstance(reducers, Iterable):
        raise TypeError(f"reducers must be a list or a dict of maps, got {reducers!r}.")
    else:
        found = [_unfitted(one) for one in reducers]
        labels = [_method_label(one) for one in found]
        counts = Counter(labels)
        labels = [
            label if counts[label] == 1 else " ".join(repr(one).split())
            for label, one in zip(labels, found, strict=True)
        ]
        named = {
            label if labels.count(label) == 1 else f"{label} ({labels[: at + 1].count(label)})": one
            for at, (label, one) in enumerate(zip(labels, found, strict=True))
        }
    if not named:
        raise ValueError("reducers is empty; pass at least one map.")
    return named


def _unfitted(reducer: Any) -> Any:
    """Return an unfitted copy of a map, which may be the name of a method."""
    if isinstance(reducer, str):
        return registry.find(reducer, "map").load()()
    if isinstance(reducer, type) or not hasattr(reducer, "fit_transform"):
        raise TypeError(f"A map must be an estimator with fit_transform, such as PCA(2), or a name, got {reducer!r}.")
    return clone(reducer)


def _method_label(reducer: Any) -> str:
    name = type(reducer).__name__
    return next((entry.label for entry in registry.of_kind("map") if entry.attribute == name), name)


def _warn_of_dimensions(maps: Mapping[str, FittedMap]) -> None:
    numbers = {label: one.embedding.shape[1] for label, one in maps.items()}
    if len(set(numbers.values())) > 1:
        listed = ", ".join(f"{label} {k}" for label, k in numbers.items())
        warn(
            "TZ402",
            f"The maps have different numbers of coordinates ({listed}). More coordinates preserve more; set n_components.",
        )


def describe_measure(found: MapQuality, measure: str) -> str:
    """Return "trustworthiness 0.98"."""
    return f"{measure.replace('_', ' ')} {found[measure].value:.3f}"


def draw_panels(
    embeddings: list[NDArray[Any]],
    titles: list[str],
    n_columns: int,
    color: ArrayLike | None,
    color_label: str | None,
) -> Figure:
    """Return a figure with a panel for each map, filled row by row."""
    n_rows = -(-len(embeddings) // n_columns)
    figure, axes = make_panels(n_rows, n_columns, width=2.6, height=2.75)
    panels = list(axes.flat)
    for embedding, title, ax in zip(embeddings, titles, panels, strict=False):
        display = EmbeddingDisplay(embedding, color=color, color_label=color_label).plot(ax, legend=False)
        ax.set(xticks=[], yticks=[], xlabel="", ylabel="")
        ax.set_title(title, fontsize="medium", color=INK)
    for ax in panels[len(embeddings) :]:
        ax.remove()
    display.add_legend(axes)
    return figure
