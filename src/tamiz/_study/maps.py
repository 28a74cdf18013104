"""The maps of a study: those requested or the default ones, and the columns that they use."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from tamiz.exceptions import DataError
from tamiz.reduction import registry
from tamiz.reduction.base import Reducer
from tamiz.reduction.named_maps import find_map_method, list_map_methods
from tamiz.runtime.registry import method_label, number_repeated, suggestion
from tamiz.runtime.user_warnings import quote_name
from tamiz.runtime.validation import check_choice
from tamiz.table.schema import Schema

# Above so many rows, coordinates in the result are rounded to keep the file small.
MAX_EXACT_POINTS = 2000
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
    explicit = maps is not None
    wanted = []
    for part in [one.id for one in list_map_methods() if one.is_default] if maps is None else maps:
        if isinstance(part, str):
            method = find_map_method(part)
            reducer = method.make_reducer(schema, dissimilarity, max_rows)
            wanted.append(MapRequest(method.id, method.label, reducer, explicit))
        else:
            named = method_label(registry, part)
            wanted.append(MapRequest(named["id"], named["label"], part, explicit, True))
    # Maps of one id are numbered, with the reducer's repr as label.
    numbered = number_repeated([one.id for one in wanted])
    return [
        one if name == one.id else replace(one, id=name, label=repr(one.reducer))
        for one, name in zip(wanted, numbered, strict=True)
    ]


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
        if name not in used:
            reasons = {one.name: f"is excluded: {one.exclusion_reason}" for one in schema.columns}
            why = reasons.get(name, f"is no column of the table{suggestion(name, used)}")
            raise DataError(f"map_columns names {quote_name(name)}, which {why}.")
    found = sorted({used[name] for name in map_columns})
    if not found:
        raise ValueError('map_columns must name at least one column; pass "all" for all of them.')
    return found if len(found) < len(used) else None
