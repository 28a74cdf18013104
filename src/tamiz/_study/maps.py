"""The maps of a study: resolving their names, and fitting them on all rows or a sample."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from tamiz._study.budget import DEFAULT_BUDGET, Budget
from tamiz._study.map_settings import MapVariant, limit_neighbors, make_reducer, map_variants, max_fitted_rows
from tamiz._study.sampling import sample_including
from tamiz.exceptions import DataError
from tamiz.reduction import registry
from tamiz.reduction.base import Reducer
from tamiz.runtime.registry import Entry, suggestion
from tamiz.runtime.user_warnings import capture_warnings, quote_name, warn_user
from tamiz.runtime.validation import check_choice
from tamiz.statistics.base import Floats
from tamiz.table.base import Table
from tamiz.table.schema import Schema
from tamiz.table.views import RowNumbers, select_rows

if TYPE_CHECKING:
    from tamiz.graphs.builder import GraphBuilder
    from tamiz.graphs.graph import Graph

# A map of quadratic cost is fitted on at least so many rows, whatever the budget.
_MIN_FITTED_ROWS = 200
# Of a map of more coordinates of all rows, a study computes those of a sample.
_MAX_EMBEDDED_VALUES = 2**25
# With fewer numeric columns the maps show all columns. A number of so few distinct values is a category on a map: it makes stripes.
_MIN_NUMERIC, _MAX_CODES = 3, 12
# Dissimilarities that a study can compute from the columns of a table.
DISSIMILARITIES = ("seuclidean", "euclidean", "cityblock", "cosine", "gower")


@dataclass(frozen=True)
class MapRequest:
    """A map that a study fits.

    Attributes
    ----------
    id, label : str
    reducer : Reducer
    explicit : bool
        Whether the user asked for it; a default map is skipped if it fails.
    is_user_reducer : bool
        Whether the user passed the reducer itself.
    """

    id: str
    label: str
    reducer: Reducer
    explicit: bool
    is_user_reducer: bool = False


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
        """The id as a user writes it."""
        return self.id.replace("_", "-")

    @property
    def label(self) -> str:
        """The label in the report."""
        return self.variant.label or self.entry.label

    def check_dissimilarity(self, name: str) -> None:
        """Raise ValueError if the method has dissimilarities and this is none of them."""
        known = self.entry.load().dissimilarities
        if known and name not in known:
            raise ValueError(
                f"{self.label} supports the dissimilarities {', '.join(known)}, not {name}: choose one of these, or the map mds."
            )

    def make_request(
        self, schema: Schema, dissimilarity: str, max_rows: int | None = None, *, explicit: bool
    ) -> MapRequest:
        """Return the request of this map for a table."""
        return MapRequest(self.id, self.label, self.make_reducer(schema, dissimilarity, max_rows), explicit)

    def make_reducer(self, schema: Schema, dissimilarity: str, max_rows: int | None = None) -> Reducer:
        """Return the unfitted map for a table, with the settings of a study; `max_rows` as in `fit_map`."""
        return make_reducer(self.entry, schema, self.variant.name, dissimilarity, max_rows)


def list_map_methods() -> list[MapMethod]:
    """Return all named maps, grouped by method."""
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


def check_maps(maps: Sequence[Reducer | str], dissimilarity: str) -> None:
    """Raise TypeError or ValueError for what is neither a map name nor a reducer, and for an unsupported dissimilarity."""
    for part in maps:
        if isinstance(part, str):
            find_map_method(part).check_dissimilarity(dissimilarity)
        elif not isinstance(part, Reducer):
            raise TypeError(f"maps must contain names such as 'mds:ordinal' or reducers such as PCA(), got {part!r}.")


def resolve_maps(
    maps: Sequence[Reducer | str] | None, schema: Schema, dissimilarity: str, max_rows: int | None = None
) -> list[MapRequest]:
    """Return the maps of a study: those requested by name or as reducers, or the default ones; `max_rows` as in `fit_map`."""
    if maps is None:
        usual = [one for one in list_map_methods() if one.variant.is_default]
        return [one.make_request(schema, dissimilarity, max_rows, explicit=False) for one in usual]
    wanted = [_resolve_map(part, schema, dissimilarity, max_rows) for part in maps]
    taken = [one.id for one in wanted]
    return [_number_duplicate_maps(one, taken, k) for k, one in enumerate(wanted)]


def _resolve_map(method: Reducer | str, schema: Schema, dissimilarity: str, max_rows: int | None) -> MapRequest:
    if isinstance(method, str):
        return find_map_method(method).make_request(schema, dissimilarity, max_rows, explicit=True)
    name = type(method).__name__
    entry = next((entry for entry in registry if entry.attribute == name), None)
    return MapRequest(
        entry.name if entry else name, entry.label if entry else name, method, explicit=True, is_user_reducer=True
    )


def _number_duplicate_maps(request: MapRequest, ids: list[str], index: int) -> MapRequest:
    """Return a request with a numbered id and the reducer's repr as label if several maps have the same id."""
    if ids.count(request.id) == 1:
        return request
    number = ids[: index + 1].count(request.id)
    return MapRequest(
        f"{request.id}_{number}", repr(request.reducer), request.reducer, request.explicit, request.is_user_reducer
    )


def choose_map_columns(
    map_columns: str | Sequence[str], schema: Schema, dissimilarity: str, n_distinct: Mapping[str, int | None]
) -> list[int] | None:
    """Return the numbers of the columns that the maps use; None is all.

    Parameters
    ----------
    map_columns : {"numeric", "all"} or list of str
        As in `study`.
    schema : Schema
    dissimilarity : str
        Gower's compares mixed columns, so with it "numeric" is all.
    n_distinct : dict of str to int or None
        The number of distinct values of each column, where it is known.

    Raises
    ------
    DataError
        If a name is not that of a used column.
    """
    if isinstance(map_columns, str):
        check_choice("map_columns", map_columns, ("numeric", "all"))
        numeric = [j for j in schema.numeric if (n_distinct.get(schema.names[j]) or _MAX_CODES + 1) > _MAX_CODES]
        by_numbers = map_columns == "numeric" and dissimilarity != "gower" and len(numeric) >= _MIN_NUMERIC
        return numeric if by_numbers and len(numeric) < len(schema.used) else None
    used = {schema.names[j]: j for j in schema.used.tolist()}
    for name in map_columns:
        if name in used:
            continue
        excluded = next((one for one in schema.columns if one.name == name), None)
        if excluded is not None:
            raise DataError(f"map_columns names {quote_name(name)}, which is excluded: {excluded.exclusion_reason}.")
        raise DataError(
            f"map_columns names {quote_name(name)}, which is no column of the table{suggestion(name, used)}."
        )
    found = sorted({used[name] for name in map_columns})
    if not found:
        raise ValueError('map_columns must name at least one column; pass "all" for all of them.')
    return found if len(found) < len(used) else None


@dataclass(frozen=True)
class StudyMap:
    """A fitted map and the embedding of some rows.

    Attributes
    ----------
    reducer : Reducer
    table : Table
    rows : ndarray of row numbers, ascending, or None
        The rows of the table that are embedded; None is all.
    embedding : ndarray of shape (n_embedded, n_components)
    n_fitted : int
        The rows that the map was fitted on.
    """

    reducer: Reducer
    table: Table
    rows: RowNumbers | None
    embedding: Floats
    n_fitted: int

    def embedding_of(self, rows: RowNumbers) -> Floats:
        """Return the embedding of some rows."""
        return self.embedding[rows if self.rows is None else np.searchsorted(self.rows, rows)]

    def sampling_notes(self) -> list[str]:
        """Return a note on the sample that the map was fitted on, none if it was fitted on all rows."""
        n = self.table.schema.n_rows
        if self.rows is None or self.n_fitted == n:
            return []
        n_mapped = len(self.rows) - self.n_fitted
        sentence = f"Fitted on {self.n_fitted:,} of the {n:,} rows, drawn at random"
        others = (
            "the other row that is shown was" if n_mapped == 1 else f"the other {n_mapped:,} rows that are shown were"
        )
        return [f"{sentence}; {others} mapped by the out-of-sample extension." if n_mapped else f"{sentence}."]


def fit_map(
    reducer: Reducer,
    table: Table,
    shown_rows: RowNumbers,
    max_rows: int | None,
    seed: int,
    budget: Budget = DEFAULT_BUDGET,
    builder: GraphBuilder | Graph | None = None,
) -> StudyMap:
    """Fit a map on all rows, or a map of n x n cost on a sample of them, and map the shown rows.

    Parameters
    ----------
    reducer : Reducer
    table : Table
        The rows that the map reads.
    shown_rows : ndarray of row numbers, ascending
        The rows to embed.
    max_rows : int or None
        The most rows that a map of n x n cost is fitted on. None is `max_fitted_rows`, scaled by the budget.
    seed : int
        Draws the sample; maps with the same `max_rows` use the same sample.
    budget : Budget
    builder : GraphBuilder, Graph or None
        Replaces the graph of the map on a sample: a graph of all rows is of no use there.
    """
    n, size = table.schema.n_rows, max_fitted_rows(reducer)
    if size is not None:
        size = max(budget.scale_quadratic(size, size), _MIN_FITTED_ROWS) if max_rows is None else max_rows
    if size is None or n <= size:
        reducer.fit(table)
        size = _MAX_EMBEDDED_VALUES // len(reducer.get_feature_names_out())
        if n <= size or not len(shown_rows):
            return StudyMap(reducer, table, None, reducer.embedding_, n)
        rows = sample_including(shown_rows, n, max(size, len(shown_rows)), np.random.default_rng(seed))
        with capture_warnings():
            return StudyMap(reducer, table, rows, reducer.transform(select_rows(table, rows)), n)
    rows = sample_including(shown_rows, n, size, np.random.default_rng(seed))
    if builder is not None:
        reducer.set_params(graph=limit_neighbors(builder, size))
    try:
        with capture_warnings() as captured:
            reducer.fit(select_rows(table, rows))
    except DataError as error:
        raise DataError(f"On a sample of {size:,} rows, which map_rows= or --map-rows sets: {error}") from error
    # Columns that the table excludes are known already.
    new = [one for one in captured if one not in table.schema.excluded_column_notes]
    warn_user(one.with_sentence(f"On a sample of {size:,} rows: {one}") for one in new)
    embedding = reducer.embedding_
    others = np.setdiff1d(shown_rows, rows, assume_unique=True)
    if len(others):
        # The fit has already warned of missing values.
        with capture_warnings():
            mapped = reducer.transform(select_rows(table, others))
        rows = np.concatenate([rows, others])
        order = np.argsort(rows)
        rows, embedding = rows[order], np.concatenate([embedding, mapped])[order]
    return StudyMap(reducer, table, rows, embedding, size)
