"""`--reduce`, `--map-rows`, `--map-columns` and `--dissimilarity`: the maps, kept as plain values until a command runs."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING, Any

import click

from tamiz.cli.options import Command, MethodParam, apply_options
from tamiz.neighbors.metric_registry import registry as metrics
from tamiz.reduction import registry as reduction
from tamiz.runtime.registry import Entry

if TYPE_CHECKING:
    from tamiz.reduction.named_maps import MapMethod


map_methods = MethodParam(reduction, "map")
# A matrix of distances has no columns to study: only `tamiz reduce` accepts it.
dissimilarities = MethodParam(metrics, "metric", "dissimilarity", excluded=("precomputed",))
dissimilarities_or_precomputed = MethodParam(metrics, "metric", "dissimilarity")

map_rows_option = click.option(
    "--map-rows",
    type=click.IntRange(min=2),
    metavar="N",
    help="Largest number of rows that MDS is fitted on, a random sample.  [default: 2,000, and 1,000 for ordinal MDS]",
)


class MapColumns(click.ParamType):  # type: ignore[type-arg]
    """The columns of the maps: "numeric", "all", or names separated by commas."""

    name = "columns"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str | list[str]:
        """Return the word, or the names."""
        if isinstance(value, list) or value in ("numeric", "all"):
            return value
        names = next(csv.reader([value], skipinitialspace=True), [])
        if not names or not all(names):
            self.fail(f"{value!r} is neither numeric nor all nor names of columns, such as a,b.", param, ctx)
        return names


class MapName(click.ParamType):  # type: ignore[type-arg]  # not generic in click 8.1
    """A map by the name of its method and, after a colon, the variant: "mds:ordinal"."""

    name = "map"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the name as `study` accepts it; the variant is checked when the command runs."""
        method, colon, variant = (part.strip() for part in str(value).partition(":"))
        return f"{map_methods.convert(method, param, ctx).name}{colon}{variant}"


def map_options(command: Command) -> Command:
    """Add `--reduce`, `--dissimilarity`, `--map-rows` and `--map-columns`."""
    options = [
        click.option(
            "--reduce",
            "maps",
            type=MapName(),
            metavar="NAME[:VARIANT]",
            multiple=True,
            help=f"A map of the rows: mds:ordinal, or one of {map_methods.names}; `tamiz methods` lists all. Repeatable; by "
            "default PCA, metric and ordinal MDS, Laplacian eigenmaps and UMAP.",
        ),
        click.option(
            "--dissimilarity",
            type=dissimilarities,
            metavar="NAME",
            default="seuclidean",
            show_default=True,
            help=f"Distances between rows, for MDS and for the quality of every map: {dissimilarities.names}.",
        ),
        map_rows_option,
        click.option(
            "--map-columns",
            type=MapColumns(),
            metavar="numeric|all|NAMES",
            default="numeric",
            show_default=True,
            help="The columns that the graph and the maps use: numeric ones where there are three or more, all, or names "
            "separated by commas. The others are colours.",
        ),
    ]
    return apply_options(command, options)


def resolve_map_names(names: tuple[str, ...], dissimilarity: str) -> list[str] | None:
    """Return the ids of the requested maps, None where there are none; raise a usage error for unknown or unsuitable maps."""
    maps = [find_map_option(name, "--reduce") for name in names]
    for named in maps:
        check_dissimilarity(named, dissimilarity)
    return [named.id for named in maps] or None


def find_map_option(name: str, option: str) -> MapMethod:
    """Return the map that an option names."""
    from tamiz.reduction.named_maps import find_map_method

    try:
        return find_map_method(name)
    except ValueError as error:
        raise click.UsageError(f"{option}: {error}") from error


def check_dissimilarity(map_method: MapMethod, dissimilarity: str) -> None:
    """Raise a usage error where a map cannot use the dissimilarity, before the table is read."""
    try:
        map_method.check_dissimilarity(dissimilarity)
    except ValueError as error:
        raise click.UsageError(f"--dissimilarity: {error}") from error


def list_maps() -> list[tuple[Entry, str, str, str]]:
    """Return every map: the registry entry of its method, its kind, its name and its label."""
    from tamiz.reduction.named_maps import list_map_methods

    return [(one.entry, "map", one.name, one.label) for one in list_map_methods()]
