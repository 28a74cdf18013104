"""The parts of a selector by name, or left to the table: the names and the usual parts of the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tamiz.criteria import registry as criteria
from tamiz.exceptions import DataError
from tamiz.models import registry as wrappers
from tamiz.runtime.registry import Entry, command_name
from tamiz.runtime.user_warnings import warn_user
from tamiz.search import registry as searches

if TYPE_CHECKING:
    from tamiz.criteria.base import Merit, Relevance
    from tamiz.criteria.entropy_relevance import MissingRule
    from tamiz.search.base import Search
    from tamiz.sources.schema import Schema

# Coordinates, and values of the points that ridge regression searches on by default: they are kept some five times.
_MAX_COORDINATES, _MAX_RIDGE_VALUES = 1_000, 50_000_000


def find_merit_entries(name: str) -> tuple[Entry, Entry | None]:
    """Return the line of a merit, "cfs", or those of a wrapper and its model, "wrapper:gaussian_nb"."""
    models = {command_name(entry): entry for entry in wrappers.of_kind("model")}
    kind, _, model = (part.strip() for part in name.partition(":"))
    if kind.lower() == "wrapper":
        if not model:
            raise ValueError(f"a wrapper scores a model: wrapper:NAME with one of {', '.join(models)}.")
        return criteria["cross_validated"], wrappers.find(model, "model")
    if kind.lower().replace("_", "-") in models:
        raise ValueError(f"{name!r} is a model: a wrapper scores it, wrapper:{name}.")
    return criteria.find(name, "merit"), None


def find_search_entry(name: str) -> tuple[Entry, str]:
    """Return the line of a search and the word after its colon, empty where there is none: "beam:20"."""
    search, _, word = (part.strip() for part in name.partition(":"))
    return searches.find(search, "search"), word.lower()


def resolve_relevance(requested: Relevance | str | None) -> Relevance | None:
    """Return a relevance given as such or by name, None where it is left to the table."""
    from tamiz.criteria.base import Relevance

    made = criteria.find(requested, "relevance").load()() if isinstance(requested, str) else requested
    return _check_method_type("RankSelector", "relevance", made, Relevance, "InformationGain()")


def resolve_merit(requested: Merit | str | None) -> Merit | None:
    """Return a merit given as such or by name, None where it is left to the table."""
    from tamiz.criteria.base import Merit

    made: Any = requested
    if isinstance(requested, str):
        entry, model = find_merit_entries(requested)
        made = entry.load()() if model is None else entry.load()(model.name)
    return _check_method_type("SubsetSelector", "merit", made, Merit, "CFS()")


def resolve_search(requested: Search | str | None) -> Search | None:
    """Return a search given as such or by name, None where it is left to the merit."""
    from tamiz.search.base import Search

    made: Any = requested
    if isinstance(requested, str):
        entry, word = find_search_entry(requested)
        made = entry.load().from_shorthand(word)
    return _check_method_type("SubsetSelector", "search", made, Search, "BestFirst()")


def _check_method_type(owner: str, role: str, method: Any, kind: type, example: str) -> Any:
    if method is not None and not isinstance(method, kind):
        raise TypeError(f"{owner} takes a {role} such as {example}, got {method!r}.")
    return method


def choose_relevance(requested: Relevance | str | None, schema: Schema) -> Relevance:
    """Return the relevance for a table: one given as it is, one by name in the form that has a meaning there.

    None is the first of all that have one.
    """
    relevance = resolve_relevance(requested)
    if relevance is not None:
        suited = relevance.adapt_to(schema) if isinstance(requested, str) else relevance
        if suited is None:
            relevance.check(schema)
        return suited or relevance
    for entry in criteria.of_kind("relevance"):
        suited = entry.load()().adapt_to(schema)
        if suited is not None:
            found: Relevance = suited
            return found
    raise DataError("No relevance has a meaning on this table.")


def choose_merit_and_search(
    merit: Merit | None, search: Search | None, schema: Schema, missing: MissingRule = "distribute"
) -> tuple[Merit, Search]:
    """Return the merit and the search for a table: those given, else what holds up on rows that took no part in the search.

    Symmetric uncertainty with a number that is cut into intervals loses most of what columns say beside each other, so for a
    numeric target CFS keeps near copies of the best column; ridge regression does not (docs/honest-numbers.md has the table).

    Parameters
    ----------
    merit, search : Merit and Search, or None
    schema : Schema
    missing : {"distribute", "category"}, default="distribute"
        What CFS does with missing values.
    """
    from tamiz.criteria.cfs import CFS
    from tamiz.criteria.cross_validated import CrossValidated
    from tamiz.search.best_first import BestFirst
    from tamiz.search.forward import Forward

    if merit is None and schema.target is not None and not schema.has_classes:
        n_seen = schema.n_coordinates
        if n_seen <= _MAX_COORDINATES and schema.n_rows * n_seen <= _MAX_RIDGE_VALUES:
            return CrossValidated("ridge"), search or Forward()
        warn_user(
            [
                f"Columns are chosen by CFS: ridge regression, the usual merit for a number, would need much memory or time for "
                f"{schema.n_rows:,} rows of {n_seen:,} numbers (an indicator for every level). merit=CrossValidated('ridge') "
                "(--merit wrapper:ridge) asks for it."
            ]
        )
    return merit or CFS(missing=missing), search or BestFirst()
