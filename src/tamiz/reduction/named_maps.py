"""Maps by their names on the command line: the variants of a method, its parameters for a table, and the rows it is fitted on."""

from __future__ import annotations

from collections.abc import Callable
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
# Of other maps: t-SNE is fitted in about 20 seconds, and an autoencoder is trained in about a minute. For rows of many dimensions
# the factorisation of locally linear embedding is nearly dense.
_MAX_ROWS_BY_METHOD = {"tsne": 20_000, "autoencoder": 20_000, "locally_linear_embedding": 20_000}
# Neighbours of a row in t-SNE: 3 for each unit of the perplexity. The graph of a study has too few.
_TSNE_NEIGHBORS = 90
# Coordinates of maps without a stress: the first two are drawn, and the spectrum shows how many more there are.
_N_COMPONENTS = 10

# The variants of a method by its name in the registry, each with its label and whether a study computes it by default. A method
# that is not listed has one variant, which a study computes. An empty label is that of the method.
_VARIANTS: dict[str, dict[str, tuple[str, bool]]] = {
    "mds": {
        "metric": ("Metric MDS", True),
        "ordinal": ("Ordinal MDS", True),
        "interval": ("Interval MDS", False),
    },
    # For Euclidean distances these two are PCA, of all rows and of the landmarks.
    "classical_mds": {"": ("", False)},
    "landmark_mds": {"": ("", False)},
    # MDS on a sample of rows shows the same.
    "stochastic_mds": {"": ("", False)},
    "isomap": {"": ("", False)},
    "tsne": {"": ("", False)},
    # Its axes are rotations of those of PCA.
    "ica": {"": ("", False)},
    "autoencoder": {"": ("", False)},
    "locally_linear_embedding": {
        "standard": ("Locally linear embedding", False),
        "modified": ("Modified locally linear embedding", False),
        "hessian": ("Hessian eigenmap", False),
        "ltsa": ("Local tangent space alignment", False),
    },
}


def _spectral_settings(schema: Schema, variant: str) -> dict[str, Any]:  # noqa: ARG001
    """The spectrum shows how many coordinates there are, and rows far from all others do not make a graph an error."""
    return {"n_components": max(1, min(_N_COMPONENTS, schema.n_rows - 1)), "disconnected": "connect"}


# Parameters of a method in a study, for a table and a variant, by its name in the registry, beyond those of every map.
_OWN_SETTINGS: dict[str, Callable[[Schema, str], dict[str, Any]]] = {
    "pca": lambda schema, _: {
        "n_components": min(_N_COMPONENTS, len(schema.used), schema.n_rows),
        "standardize": True,
    },
    "mds": lambda _, variant: {"kind": variant},
    "laplacian_eigenmaps": _spectral_settings,
    "isomap": _spectral_settings,
    "locally_linear_embedding": lambda _, variant: {"method": variant, "disconnected": "per_component"},
    "tsne": lambda schema, _: {
        "graph": KNearest(
            max(1, min(_TSNE_NEIGHBORS, schema.n_rows - 1)),
            weight=Binary(),
            symmetry="directed",
            metric="seuclidean",
        )
    },
    "ica": lambda *_: {"standardize": True},
}


@dataclass(frozen=True)
class MapMethod:
    """A method of the registry, in one of its variants.

    Attributes
    ----------
    entry : Entry
        The method's line in the registry.
    variant : str
        The parameter value that distinguishes the variant; empty for methods with one variant.
    label : str
        Label for readers.
    is_default : bool
        Whether a study computes the map by default.
    """

    entry: Entry
    variant: str
    label: str
    is_default: bool

    @property
    def id(self) -> str:
        """The name of the method, followed by a colon and the variant if there are several."""
        return ":".join(filter(None, [self.entry.name, self.variant]))

    @property
    def name(self) -> str:
        return self.id.replace("_", "-")

    def check_dissimilarity(self, name: str) -> None:
        known = self.entry.load().dissimilarities
        if known and name not in known:
            raise ValueError(
                f"{self.label} supports the dissimilarities {', '.join(known)}, not {name}: choose one of these, or the map mds."
            )

    def make_reducer(self, schema: Schema, dissimilarity: str, max_rows: int | None = None, **settings: Any) -> Reducer:
        """Return the unfitted map for a table, with the settings of a study; a map on a graph gets the graph of the study later.

        Parameters
        ----------
        schema : Schema
        dissimilarity : str
            The dissimilarity of the study, for methods with one.
        max_rows : int or None
            The most rows that a map of n x n cost is fitted on, if the user set it. A row has at most as many neighbours as a
            sample of so many rows allows.
        **settings
            Parameters of the map replace those of a study; others, and None, are ignored.
        """
        reducer: Reducer = self.entry.load()()
        defaults = reducer.get_params(deep=False)
        if "dissimilarity" in defaults:
            # It decides whether the cost of classical MDS is quadratic.
            reducer.set_params(dissimilarity=dissimilarity)
        if max_rows is not None and max_fitted_rows(reducer) is not None:
            schema = replace(schema, n_rows=min(max_rows, schema.n_rows))
        usual: dict[str, Any] = {"random_state": 0}
        if isinstance(n_components := defaults.get("n_components"), int):
            # Distances of n rows span at most n - 1 coordinates.
            usual["n_components"] = max(1, min(n_components, schema.n_rows - 1))
        if (own := _OWN_SETTINGS.get(self.entry.name)) is not None:
            usual |= own(schema, self.variant)
        usual |= {name: value for name, value in settings.items() if value is not None}
        return reducer.set_params(**{name: value for name, value in usual.items() if name in defaults})


def list_variants(entry: Entry) -> list[MapMethod]:
    """Return a method of the registry in each of its variants."""
    variants = _VARIANTS.get(entry.name, {"": ("", True)})
    return [MapMethod(entry, name, label or entry.label, shown) for name, (label, shown) in variants.items()]


def list_map_methods() -> list[MapMethod]:
    return [one for entry in registry.of_kind("map") for one in list_variants(entry)]


def find_map_method(name: str) -> MapMethod:
    """Return the map of a name such as "pca" or "mds:ordinal"; the name of a method alone is its first variant.

    Raises
    ------
    ValueError
        If there is none; the message suggests the closest name.
    """
    method, colon, variant = name.lower().replace("-", "_").partition(":")
    known = list_map_methods()
    found = [one for one in known if one.entry.name == method and (not colon or one.variant == variant)]
    if not found:
        names = [one.name for one in known]
        raise ValueError(f"{name!r} is no map{suggestion(name, names)}; there are: {', '.join(names)}.")
    return found[0]


def max_fitted_rows(reducer: Reducer) -> int | None:
    """Return the largest number of rows on which a study fits a map, a sample of the table; None is all rows."""
    names = {(f"{entry.package}.{entry.module}", entry.attribute): entry.name for entry in registry}
    classes = ((base.__module__, base.__name__) for base in type(reducer).__mro__)
    method = next((names[one] for one in classes if one in names), "")
    if method == "mds" and reducer.get_params(deep=False)["kind"] == "ordinal":
        return _MAX_ORDINAL_ROWS
    return _MAX_ROWS_BY_METHOD.get(method, _MAX_ROWS if reducer.quadratic_cost else None)


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
