"""Maps by their names on the command line: the variants of a method, and its parameters for a table."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from sklearn.base import clone

from tamiz.graphs import KNearest
from tamiz.reduction import registry
from tamiz.reduction.base import Reducer
from tamiz.runtime.registry import Entry, suggestion
from tamiz.runtime.user_warnings import warn
from tamiz.table.schema import Schema

if TYPE_CHECKING:
    from tamiz.graphs.builders import GraphBuilder
    from tamiz.graphs.graph import Graph


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
    """

    entry: Entry
    variant: str
    label: str

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
        if max_rows is not None and reducer.max_study_rows is not None:
            schema = replace(schema, n_rows=min(max_rows, schema.n_rows))
        usual: dict[str, Any] = {"random_state": 0}
        if isinstance(n_components := defaults.get("n_components"), int):
            # Distances of n rows span at most n - 1 coordinates.
            usual["n_components"] = max(1, min(n_components, schema.n_rows - 1))
        usual |= reducer.study_settings(schema, self.variant)
        usual |= {name: value for name, value in settings.items() if value is not None}
        return reducer.set_params(**{name: value for name, value in usual.items() if name in defaults})


def list_variants(entry: Entry) -> list[MapMethod]:
    """Return a method of the registry in each of its variants."""
    return [MapMethod(entry, name, label or entry.label) for name, label in entry.load().variants.items()]


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
    known = [one for entry in registry.of_kind("map") if entry.name == method for one in list_variants(entry)]
    found = [one for one in known if not colon or one.variant == variant]
    if not found:
        names = [one.name for one in list_map_methods()]
        raise ValueError(f"{name!r} is no map{suggestion(name, names)}; there are: {', '.join(names)}.")
    return found[0]


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
