"""Maps by their names on the command line: the variants of a method, its parameters for a table, and the rows it is fitted on."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from sklearn.base import clone

from tamiz.graphs import Binary, KNearest
from tamiz.reduction import registry
from tamiz.reduction.base import Reducer
from tamiz.runtime.registry import Entry, suggestion
from tamiz.runtime.user_warnings import warn
from tamiz.table.schema import Schema

if TYPE_CHECKING:
    from tamiz.graphs.builders import GraphBuilder
    from tamiz.graphs.graph import Graph

# Largest number of rows on which a study fits a map of quadratic cost. Ordinal MDS fits half a million pairs in a second, and four
# times as many in five.
_MAX_ROWS, _MAX_ORDINAL_ROWS = 2_000, 1_000
# Rows on which t-SNE is fitted, in about 20 seconds, and its neighbours of a row: 3 for each unit of the perplexity.
_MAX_TSNE_ROWS, _TSNE_NEIGHBORS = 20_000, 90
# Rows on which an autoencoder is trained, in about a minute.
_MAX_AUTOENCODER_ROWS = 20_000
# For rows of many dimensions the factorisation of locally linear embedding is nearly dense.
_MAX_LOCALLY_LINEAR_ROWS = 20_000
# Coordinates of maps without a stress: the first two are drawn, and the spectrum shows how many more there are.
_N_COMPONENTS = 10


@dataclass(frozen=True)
class MapVariant:
    """A variant of a method that a study can compute.

    Attributes
    ----------
    name : str
        The parameter value that distinguishes the variant; empty for methods with one variant.
    label : str
        Label for readers; empty for the label of the method.
    is_default : bool
        Whether a study computes the variant by default.
    """

    name: str = ""
    label: str = ""
    is_default: bool = True


# The variants of a method by its name in the registry, where they are not one variant that a study computes by default.
_VARIANTS = {
    "mds": (
        MapVariant("metric", "Metric MDS"),
        MapVariant("ordinal", "Ordinal MDS"),
        MapVariant("interval", "Interval MDS", is_default=False),
    ),
    # For Euclidean distances these two are PCA, of all rows and of the landmarks.
    "classical_mds": (MapVariant(is_default=False),),
    "landmark_mds": (MapVariant(is_default=False),),
    # MDS on a sample of rows shows the same.
    "stochastic_mds": (MapVariant(is_default=False),),
    "isomap": (MapVariant(is_default=False),),
    "tsne": (MapVariant(is_default=False),),
    # Its axes are rotations of those of PCA.
    "ica": (MapVariant(is_default=False),),
    "autoencoder": (MapVariant(is_default=False),),
    "locally_linear_embedding": (
        MapVariant("standard", "Locally linear embedding", is_default=False),
        MapVariant("modified", "Modified locally linear embedding", is_default=False),
        MapVariant("hessian", "Hessian eigenmap", is_default=False),
        MapVariant("ltsa", "Local tangent space alignment", is_default=False),
    ),
}


def method_name(reducer: Reducer) -> str:
    """Return the name in the registry of a map's class, or of the class that it derives from; "" if there is none."""
    names = {(f"{entry.package}.{entry.module}", entry.attribute): entry.name for entry in registry}
    return next(filter(None, (names.get((base.__module__, base.__name__)) for base in type(reducer).__mro__)), "")


def map_variants(entry: Entry) -> tuple[MapVariant, ...]:
    return _VARIANTS.get(entry.name, (MapVariant(),))


def make_reducer(
    entry: Entry, schema: Schema, variant: str, dissimilarity: str, max_rows: int | None = None
) -> Reducer:
    """Return an unfitted map with the settings of a study; a map on a graph gets the graph of the study later.

    Parameters
    ----------
    entry : Entry
        The method in the registry.
    schema : Schema
    variant : str
        The name of one of its variants.
    dissimilarity : str
        The dissimilarity of the study, for methods with one.
    max_rows : int or None
        The most rows that a map of n x n cost is fitted on, if the user set it. A row has at most as many neighbours as a sample
        of so many rows allows.
    """
    reducer: Reducer = entry.load()()
    defaults = reducer.get_params(deep=False)
    if "dissimilarity" in defaults:
        # It decides whether the cost of classical MDS is quadratic.
        reducer.set_params(dissimilarity=dissimilarity)
    if max_rows is not None and max_fitted_rows(reducer) is not None:
        schema = replace(schema, n_rows=min(max_rows, schema.n_rows))
    settings: dict[str, Any] = {"random_state": 0}
    if isinstance(n_components := defaults.get("n_components"), int):
        # Distances of n rows span at most n - 1 coordinates.
        settings["n_components"] = max(1, min(n_components, schema.n_rows - 1))
    if (own := _OWN_SETTINGS.get(entry.name)) is not None:
        settings |= own(schema, variant)
    return reducer.set_params(**{name: value for name, value in settings.items() if name in defaults})


def _pca_settings(schema: Schema, variant: str) -> Mapping[str, Any]:
    del variant
    return {"n_components": min(_N_COMPONENTS, len(schema.used), schema.n_rows), "standardize": True}


def _mds_settings(schema: Schema, variant: str) -> Mapping[str, Any]:
    del schema
    return {"kind": variant}


def _eigenmaps_settings(schema: Schema, variant: str) -> Mapping[str, Any]:
    del variant
    return {"n_components": max(1, min(_N_COMPONENTS, schema.n_rows - 1)), "disconnected": "connect"}


def _ica_settings(schema: Schema, variant: str) -> Mapping[str, Any]:
    del schema, variant
    return {"standardize": True}


def _locally_linear_settings(schema: Schema, variant: str) -> Mapping[str, Any]:
    del schema
    return {"method": variant, "disconnected": "per_component"}


def _tsne_settings(schema: Schema, variant: str) -> Mapping[str, Any]:
    del variant
    # The graph of a study has too few neighbours for t-SNE.
    n_neighbors = max(1, min(_TSNE_NEIGHBORS, schema.n_rows - 1))
    return {"graph": KNearest(n_neighbors, weight=Binary(), symmetry="directed", metric="seuclidean")}


# Parameters of a method in a study, by its name in the registry, beyond those of every map.
_OWN_SETTINGS: dict[str, Callable[[Schema, str], Mapping[str, Any]]] = {
    "pca": _pca_settings,
    "mds": _mds_settings,
    "laplacian_eigenmaps": _eigenmaps_settings,
    # The same: the spectrum shows how many coordinates there are, and rows far from all others do not make a graph an error.
    "isomap": _eigenmaps_settings,
    "locally_linear_embedding": _locally_linear_settings,
    "tsne": _tsne_settings,
    "ica": _ica_settings,
}


def max_fitted_rows(reducer: Reducer) -> int | None:
    """Return the largest number of rows on which a study fits a map, a sample of the table; None is all rows."""
    method = method_name(reducer)
    if method == "mds" and reducer.get_params(deep=False)["kind"] == "ordinal":
        return _MAX_ORDINAL_ROWS
    if method == "tsne":
        return _MAX_TSNE_ROWS
    if method == "autoencoder":
        return _MAX_AUTOENCODER_ROWS
    if method == "locally_linear_embedding":
        return _MAX_LOCALLY_LINEAR_ROWS
    return _MAX_ROWS if reducer.quadratic_cost else None


def limit_neighbors(builder: GraphBuilder | Graph, n_rows: int) -> GraphBuilder | Graph:
    """Return the builder of a graph for a sample, with as many nearest neighbours as its rows allow; a note states a change."""
    if not isinstance(builder, KNearest) or builder.n_neighbors < n_rows:
        return builder
    most = max(1, n_rows - 1)
    neighbors = "1 neighbour" if most == 1 else f"{most:,} neighbours"
    warn(
        "TZ505",
        f"On a sample of {n_rows:,} rows: the graph has {neighbors} of a row instead of {builder.n_neighbors:,}.",
    )
    return clone(builder).set_params(n_neighbors=most)


@dataclass(frozen=True)
class MapMethod:
    """A method and variant of dimensionality reduction that has a name.

    Attributes
    ----------
    entry : Entry
        The method's line in the registry.
    variant : MapVariant
    """

    entry: Entry
    variant: MapVariant

    @property
    def id(self) -> str:
        """The name of the method, followed by a colon and the variant if there are several."""
        return ":".join(filter(None, [self.entry.name, self.variant.name]))

    @property
    def name(self) -> str:
        return self.id.replace("_", "-")

    @property
    def label(self) -> str:
        return self.variant.label or self.entry.label

    def check_dissimilarity(self, name: str) -> None:
        known = self.entry.load().dissimilarities
        if known and name not in known:
            raise ValueError(
                f"{self.label} supports the dissimilarities {', '.join(known)}, not {name}: choose one of these, or the map mds."
            )

    def make_reducer(self, schema: Schema, dissimilarity: str, max_rows: int | None = None, **settings: Any) -> Reducer:
        """Return the unfitted map for a table, with the settings of a study; `max_rows` as in `fit_map`.

        Parameters of the map among `settings` replace those of a study, other settings and None are ignored.
        """
        reducer = make_reducer(self.entry, schema, self.variant.name, dissimilarity, max_rows)
        known = reducer.get_params(deep=False)
        return reducer.set_params(
            **{name: value for name, value in settings.items() if name in known and value is not None}
        )


def list_map_methods() -> list[MapMethod]:
    return [MapMethod(entry, variant) for entry in registry.of_kind("map") for variant in map_variants(entry)]


def find_map_method(name: str) -> MapMethod:
    """Return the map of a name such as "pca" or "mds:ordinal"; the name of a method alone is its first variant.

    Raises
    ------
    ValueError
        If there is none; the message suggests the closest name.
    """
    method, colon, variant = name.lower().replace("-", "_").partition(":")
    entries = [entry for entry in registry.of_kind("map") if entry.name == method]
    maps = [MapMethod(entry, one) for entry in entries for one in map_variants(entry)]
    found = [one for one in maps if not colon or one.variant.name == variant]
    if not found:
        known = [one.name for one in list_map_methods()]
        raise ValueError(f"{name!r} is no map{suggestion(name, known)}; there are: {', '.join(known)}.")
    return found[0]
