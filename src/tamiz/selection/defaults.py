"""The relevance, merit and search of a selector: objects, their command-line names, or the defaults for a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tamiz.criteria import registry as criteria
from tamiz.exceptions import DataError
from tamiz.models import registry as wrappers
from tamiz.runtime.registry import Entry, command_name
from tamiz.runtime.user_warnings import warn
from tamiz.search import registry as searches

if TYPE_CHECKING:
    from tamiz.criteria.base import Merit, Relevance
    from tamiz.criteria.entropies import MissingRule
    from tamiz.search.base import Search
    from tamiz.table.schema import Schema

# Largest encoded table for which ridge regression is the default merit (columns, values): it is stored about five times.
_MAX_COORDINATES, _MAX_RIDGE_VALUES = 1_000, 50_000_000


def find_merit_entries(name: str) -> tuple[Entry, Entry | None]:
    """Return the registry entry of a merit ("cfs"), or those of the wrapper and its model ("wrapper:gaussian_nb")."""
    models = {command_name(entry): entry for entry in wrappers.of_kind("model")}
    kind, _, model = (part.strip() for part in name.partition(":"))
    if kind.lower() == "wrapper":
        if not model:
            raise ValueError(f"a wrapper needs a model: wrapper:NAME with one of {', '.join(models)}.")
        return criteria["cross_validated"], wrappers.find(model, "model")
    if kind.lower().replace("_", "-") in models:
        raise ValueError(f"{name!r} is a model, not a merit; use wrapper:{name}.")
    return criteria.find(name, "merit"), None


def find_search_entry(name: str) -> tuple[Entry, str]:
    """Return the registry entry of a search and the text after the colon of its name ("beam:20"), empty where there is none."""
    search, _, shorthand = (part.strip() for part in name.partition(":"))
    return searches.find(search, "search"), shorthand.lower()


def make_search(entry: Entry, shorthand: str = "", **settings: Any) -> Search:
    """Return a search with the parameter that the text after its name sets; its default where the text is empty.

    Parameters
    ----------
    entry : Entry
        The search in the registry.
    shorthand : str
        "20" is `Beam(width=20)` for the entry of `Beam`.
    **settings
        Other parameters of the search.

    Raises
    ------
    ValueError
        When the search accepts no such text.
    """
    if shorthand:
        parameter = entry.load().shorthand
        if parameter is None:
            raise ValueError(f"{entry.attribute} accepts nothing after a colon, got {shorthand!r}.")
        settings[parameter.name] = parameter.parse(shorthand)
    search: Search = entry.load()(**settings)
    return search


def resolve_relevance(requested: Relevance | type[Relevance] | str | None) -> Relevance | None:
    """Return a relevance from an object, a class or a name, None where the table decides."""
    from tamiz.criteria.base import Relevance

    known: Any = criteria.find(requested, "relevance").load() if isinstance(requested, str) else requested
    relevance = known() if isinstance(known, type) else known
    return _check_method_type("RankSelector", "relevance", relevance, Relevance, "InformationGain()")


def resolve_merit(requested: Merit | str | None) -> Merit | None:
    """Return a merit from an object or a name, None where the table decides."""
    from tamiz.criteria.base import Merit

    merit: Any = requested
    if isinstance(requested, str):
        entry, model = find_merit_entries(requested)
        merit = entry.load()() if model is None else entry.load()(model.name)
    return _check_method_type("SubsetSelector", "merit", merit, Merit, "CFS()")


def resolve_search(requested: Search | str | None) -> Search | None:
    """Return a search from an object or a name, None where the merit decides."""
    from tamiz.search.base import Search

    search: Any = requested
    if isinstance(requested, str):
        search = make_search(*find_search_entry(requested))
    return _check_method_type("SubsetSelector", "search", search, Search, "BestFirst()")


def _check_method_type(owner: str, role: str, method: Any, kind: type, example: str) -> Any:
    if method is not None and not isinstance(method, kind):
        raise TypeError(f"{owner}: {role} must be one such as {example}, got {method!r}.")
    return method


def relevances_with_p_values() -> list[Entry]:
    """Return the registry entries of the relevances that test columns."""
    from tamiz.criteria.base import HasPValues

    return [entry for entry in criteria.of_kind("relevance") if issubclass(entry.load(), HasPValues)]


def choose_relevance(
    requested: Relevance | type[Relevance] | str | None,
    schema: Schema,
    *,
    with_p_values: bool = False,
    on_graph: bool = False,
    missing: MissingRule = "distribute",
) -> Relevance:
    """Return the relevance for a table: an object unchanged; a name, or a class, with `missing` and parameters that suit the table.

    None is the first relevance that is defined on the table: with p-values, or without a graph of its own, where these are needed.
    """
    from tamiz.criteria.base import HasPValues

    relevance = resolve_relevance(requested)
    if relevance is not None:
        name = type(relevance).__name__
        if with_p_values and not isinstance(relevance, HasPValues):
            names = ", ".join(entry.attribute for entry in relevances_with_p_values())
            raise ValueError(f"fdr needs p-values, and {name} has none. Use a relevance that has p-values: {names}.")
        if on_graph and not _needs_graph(relevance):
            raise ValueError(f"{name} uses no graph, or has its own: leave out graph.")
        if relevance is requested:
            return relevance
    entries = relevances_with_p_values() if with_p_values else criteria.of_kind("relevance")
    # One after the other: loading all takes half a second.
    candidates = (entry.load()() for entry in entries) if relevance is None else iter([relevance])
    tried = []
    for candidate in candidates:
        if on_graph and not _needs_graph(candidate):
            continue
        tried.append(candidate.with_missing(missing))
        adapted: Relevance | None = tried[-1].adapt_to(schema)
        if adapted is not None:
            return adapted
    if len(tried) == 1:
        tried[0].check(schema)
        return tried[0]
    raise DataError("No relevance is defined on this table.")


def _needs_graph(relevance: Relevance) -> bool:
    # Importing graphs takes a fifth of a second.
    from tamiz.graphs.row_graph import needs_graph

    return needs_graph(relevance)


def choose_merit_and_search(
    merit: Merit | str | None, search: Search | str | None, schema: Schema, missing: MissingRule = "distribute"
) -> tuple[Merit, Search]:
    """Return the merit and the search for a table: the requested ones, else the defaults (`default_merit_and_search`)."""
    return default_merit_and_search(resolve_merit(merit), resolve_search(search), schema, missing)


def default_merit_and_search(
    merit: Merit | None, search: Search | None, schema: Schema, missing: MissingRule = "distribute"
) -> tuple[Merit, Search]:
    """Return the merit and the search with the defaults in place of None, which were chosen by nested CV scores.

    For a numeric target cut into intervals, symmetric uncertainty does not see what columns add to each other, so CFS keeps near
    copies of the best column. Ridge regression, the default there, does not (docs/honest-numbers.md compares them).

    Parameters
    ----------
    merit, search : Merit and Search, or None
    schema : Schema
    missing : {"distribute", "category"}, default="distribute"
        How CFS treats missing values.
    """
    from tamiz.criteria.cfs import CFS
    from tamiz.criteria.cross_validated import CrossValidated
    from tamiz.search.best_first import BestFirst
    from tamiz.search.greedy import Forward

    if merit is None and schema.target is not None and not schema.has_classes:
        n_coordinates = schema.n_coordinates
        if n_coordinates <= _MAX_COORDINATES and schema.n_rows * n_coordinates <= _MAX_RIDGE_VALUES:
            return CrossValidated("ridge"), search or Forward()
        warn(
            "TZ505",
            "CFS selects the columns, because ridge regression, the default merit for a numeric target, would need much memory "
            f"or time for {schema.n_rows:,} rows of {n_coordinates:,} numbers (an indicator for every level). Use "
            "merit=CrossValidated('ridge') (--merit wrapper:ridge) for ridge regression.",
        )
    return merit or CFS(missing=missing), search or BestFirst()
