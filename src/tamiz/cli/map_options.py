"""The options of maps, kept as plain values until a command runs."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from tamiz.cli.command import option
from tamiz.cli.options import MethodName, Parsed, usage_errors
from tamiz.neighbors.metric_registry import registry as metrics
from tamiz.reduction import registry as reduction
from tamiz.runtime.registry import Entry

if TYPE_CHECKING:
    from tamiz.reduction.named_maps import MapMethod


map_methods = MethodName(reduction, "map")
# A matrix of distances has no columns to study: only `tamiz reduce` accepts it.
dissimilarities = MethodName(metrics, "metric", "dissimilarity", excluded=("precomputed",))


def _parse_map_name(value: str) -> str:
    """Return the name as `study` accepts it; the variant is checked when the command runs."""
    method, colon, variant = (part.strip() for part in value.partition(":"))
    return f"{map_methods.convert(method, None, None).name}{colon}{variant}"


def _parse_columns(value: str) -> str | list[str]:
    """Return "numeric", "all", or the names of columns."""
    if value in ("numeric", "all"):
        return value
    names = next(csv.reader([value], skipinitialspace=True), [])
    if not names or not all(names):
        raise ValueError(f"{value!r} is neither numeric nor all nor names of columns, such as a,b.")
    return names


# A method and, after a colon, its variant: "mds:ordinal".
MAP_NAME = Parsed(_parse_map_name)
MAP_ROWS = option(
    "--map-rows N",
    click.IntRange(min=2),
    "Largest number of rows that MDS is fitted on, a random sample.  [default: 2,000, and 1,000 for ordinal MDS]",
)


def dissimilarity_option(purpose: str) -> Any:
    """Return `--dissimilarity` for maps that are compared by the measures of this text."""
    text = f"Distances between rows, for MDS and for {purpose}: {dissimilarities.names}."
    return option("--dissimilarity NAME", dissimilarities, text, default="seuclidean")


@dataclass(frozen=True)
class MapOptions:
    """The maps of a study."""

    maps: tuple[str, ...] = option(
        "--reduce NAME[:VARIANT]",
        MAP_NAME,
        f"A map of the rows: mds:ordinal, or one of {map_methods.names}; `tamiz methods` lists all. Repeatable; by default "
        "PCA, metric and ordinal MDS, Laplacian eigenmaps and UMAP.",
        multiple=True,
    )
    dissimilarity: Entry = dissimilarity_option("the quality of every map")
    map_rows: int | None = MAP_ROWS
    map_columns: str | list[str] = option(
        "--map-columns numeric|all|NAMES",
        Parsed(_parse_columns),
        "The columns that the graph and the maps use: numeric ones where there are three or more, all, or names separated by "
        "commas. The others are colours.",
        default="numeric",
    )

    def arguments(self) -> dict[str, Any]:
        """Return the arguments of `study`; raise a usage error for unknown or unsuitable maps."""
        metric = self.dissimilarity.name
        return {
            "maps": [one.id for one in find_maps(self.maps, metric)] or None,
            "dissimilarity": metric,
            "map_rows": self.map_rows,
            "map_columns": self.map_columns,
        }


def find_map(name: str, where: str) -> MapMethod:
    from tamiz.reduction.named_maps import find_map_method

    with usage_errors(f"{where}: "):
        return find_map_method(name)


def find_maps(names: Sequence[str], dissimilarity: str) -> list[MapMethod]:
    """Return the maps of `--reduce`; raise a usage error for one that is unknown or cannot use the dissimilarity."""
    maps = [find_map(name, "--reduce") for name in names]
    with usage_errors("--dissimilarity: "):
        for one in maps:
            one.check_dissimilarity(dissimilarity)
    return maps
