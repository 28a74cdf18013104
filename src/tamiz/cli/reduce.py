"""`tamiz reduce`: one map of the rows, as coordinates."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tamiz.cli.command import Work
from tamiz.cli.graphs import Asked, graph_options, make_builder
from tamiz.cli.maps import MapName, check_dissimilarity, dissimilarities_or_given, find_named, map_rows_option, methods
from tamiz.cli.models import model_option
from tamiz.cli.options import jobs_option, json_flag, rows_options, seed_option, tell_plan
from tamiz.cli.places import check_places, check_table_output
from tamiz.cli.rows import (
    check_kept,
    columns_as_given,
    deliver,
    escape_option,
    keep_option,
    rows_option,
    with_coordinates,
)
from tamiz.cli.terminal import Voice, show_json
from tamiz.registry import Entry, suggestion

if TYPE_CHECKING:
    from tamiz.graphs.builder import GraphBuilder
    from tamiz.reduction.base import MapFacts, Reducer
    from tamiz.sources.base import Source
    from tamiz.sources.schema import Kind, Schema
    from tamiz.steps.mapping import Named
    from tamiz.steps.placing import Placed

_USUAL_DISSIMILARITY = "seuclidean"
# The dissimilarity of a table that is a matrix of distances.
_GIVEN = "precomputed"
# Where nobody said how many: what a page shows.
_USUAL_COMPONENTS = 2
# Axes whose shares or eigenvalues are told in a line.
_MOST_TOLD = 5


@dataclass(frozen=True)
class Wished:
    """What the command line says of the map.

    Attributes
    ----------
    method : str
    n_components : int or None
    dissimilarity : str or None
    missing, categories : str or None
    """

    method: str
    n_components: int | None
    dissimilarity: str | None
    missing: str | None
    categories: str | None

    def check(self, named: Named) -> None:
        """Refuse what the method does not take."""
        reducer = named.entry.load()
        taken = reducer().get_params(deep=False)
        if self.dissimilarity == _GIVEN and _GIVEN not in reducer.dissimilarities:
            raise click.UsageError(f"{named.label} takes no matrix of distances; choose --method mds or classical-mds.")
        for parameter in ("dissimilarity", "missing", "categories"):
            if getattr(self, parameter) is not None and parameter not in taken:
                raise click.UsageError(f"{named.label} takes no --{parameter}; leave it out.")
        if self.dissimilarity is not None:
            check_dissimilarity(named, self.dissimilarity)

    def make(self, named: Named, schema: Schema, seed: int) -> Reducer:
        """Return the map for a table."""
        entry = named.entry
        reducer: Reducer = entry.load().for_study(
            schema, named.variant.name, self.dissimilarity or _USUAL_DISSIMILARITY
        )
        taken = reducer.get_params(deep=False)
        asked = self.n_components
        given: dict[str, Any] = {
            "n_components": min(_USUAL_COMPONENTS, taken["n_components"]) if asked is None else asked,
            "random_state": seed,
            **({} if self.missing is None else {"missing": self.missing}),
            **({} if self.categories is None else {"categories": self.categories}),
        }
        return reducer.set_params(**{name: value for name, value in given.items() if name in taken})


@click.command(cls=Work, short_help="Map the rows of a table to few coordinates.")
@rows_options
@click.option(
    "-t",
    "--target",
    metavar="COLUMN",
    help="A column that has no part in the map; its classes, where --graph joins rows by class.",
)
@click.option(
    "--method",
    type=MapName(),
    metavar="NAME[:VARIANT]",
    default="pca",
    show_default=True,
    help=f"The map: mds:ordinal, or one of {methods.names}; `tamiz methods` lists all.",
)
@click.option(
    "-k",
    "--components",
    "n_components",
    type=click.IntRange(min=1),
    metavar="K",
    help=f"Number of coordinates.  [default: {_USUAL_COMPONENTS}]",
)
@click.option(
    "--dissimilarity",
    type=dissimilarities_or_given,
    metavar="NAME",
    help=f"Distances of rows, for MDS: {dissimilarities_or_given.names}; precomputed reads TABLE as a square matrix of distances, "
    f"with or without a column that names the rows.  [default: {_USUAL_DISSIMILARITY}]",
)
@graph_options
@click.option(
    "--missing",
    type=click.Choice(["mean", "pairwise", "iterative"]),
    help="How PCA takes missing values: at the mean of their column (the default), out of each pair of columns, or as the "
    "components fill them.",
)
@click.option(
    "--categories",
    type=click.Choice(["balanced", "famd"]),
    help="How PCA weights a categorical column of K levels: total variance 1, as a standardised number (the default), or K - 1 "
    "(factor analysis of mixed data).",
)
@map_rows_option
@keep_option
@rows_option
@escape_option
@model_option
@json_flag
@seed_option
@jobs_option
@click.pass_obj
def reduce(
    voice: Voice,
    table: Path,
    target: str | None,
    kinds: dict[str, Kind] | None,
    weight: str | None,
    memory: int | None,
    header: bool | None,
    method: str,
    n_components: int | None,
    dissimilarity: Entry | None,
    asked: Asked | None,
    width: float | None,
    missing: str | None,
    categories: str | None,
    map_rows: int | None,
    kept: tuple[str, ...],
    output: Path | None,
    escape: bool,
    model: Path | None,
    as_json: bool,
    seed: int,
    jobs: int | None,
) -> None:
    """\b
    tamiz reduce data.csv -o map.csv
    tamiz reduce data.csv --target class --method mds:ordinal --dissimilarity gower --keep id
    tamiz reduce data.csv --method laplacian-eigenmaps --graph knn:10 --components 3
    tamiz reduce data.csv --components 10 --model map.tamiz --json
    tamiz reduce distances.csv --method mds --dissimilarity precomputed

    Map the rows of TABLE to few coordinates, row by row. Columns are taken as a study takes them; the target has no part in the
    map. A method whose cost grows with the square of the rows is fitted on a sample of a long table, and the other rows are
    placed on its map. In a pipe coordinates are tab separated and exact; --json tells what the map is in place of them.
    """
    check_table_output(output, "The coordinates")
    check_places([output, model], table)
    named = find_named(method, "--method")
    wished = Wished(method, n_components, dissimilarity.name if dissimilarity else None, missing, categories)
    wished.check(named)
    if weight is not None and wished.dissimilarity == _GIVEN:
        raise click.UsageError("A matrix of distances has no weights of rows: leave --weight out.")
    builder = _builder(named, asked, width, target)
    from tamiz import parallel, save
    from tamiz.steps.distances import on_distances
    from tamiz.steps.placing import fit_on_rows
    from tamiz.warn import collected, held, tell

    with voice.at_work(), parallel.session(jobs), collected() as told:
        tell_plan(voice, table, None, kinds, weight, memory, header=header)
        # Of a matrix of distances nothing that is said of features holds.
        with held() if wished.dissimilarity == _GIVEN else nullcontext():
            source = _open(
                table, target, kinds, weight, memory, header, of_classes=builder is not None and builder.needs_classes
            )
        reducer = wished.make(named, source.schema, seed)
        if wished.dissimilarity == _GIVEN:
            tell(source.schema.notes)
            placed, kept = _fit_on_distances(reducer, source, target, kept, map_rows, seed)
        else:
            tell([*source.schema.dropped, *source.schema.notes, *on_distances(source)])
            placed = fit_on_rows(reducer, source, builder, map_rows, seed)
        names = placed.reducer.get_feature_names_out().tolist()
        check_kept(source, kept, names)
        shown = with_coordinates(columns_as_given(source, kept), names, placed.embedding)
        facts = placed.reducer.facts()
    notes = [*facts.notes, *placed.told()]
    if model is not None:
        voice.say(f"Written: {save(placed.reducer, model)}")
    deliver(voice, shown, output, shown=not as_json, escape=escape)
    if as_json:
        summary = {"table": table.name, "target": target, **_summary(named, placed, facts), "notes": [*told, *notes]}
        show_json(summary)
    voice.say(_headline(named, facts))
    for sentence in notes:
        voice.say(sentence)


def _builder(named: Named, asked: Asked | None, width: float | None, target: str | None) -> GraphBuilder | None:
    """Return how rows are joined, None where nobody said; refused for a map that lives on no graph."""
    if asked is None and width is None:
        return None
    from tamiz.steps.joining import takes_graph

    if not takes_graph(named.entry.load()()):
        raise click.UsageError(f"{named.label} lives on no graph: leave --graph and --t out.")
    return make_builder(asked, width, target)


def _open(
    table: Path,
    target: str | None,
    kinds: dict[str, Kind] | None,
    weight: str | None,
    memory: int | None,
    header: bool | None,
    *,
    of_classes: bool,
) -> Source:
    """Return the rows, all of them: those without a target have coordinates too, unless rows are joined by their class."""
    from tamiz import open_source
    from tamiz.exceptions import DataError
    from tamiz.sources.open import open_columns
    from tamiz.sources.views import columns_of

    if of_classes:
        return open_source(table, target, kinds=kinds, weight=weight, memory=memory, header=header)
    known = () if target is None else (target,)
    source = open_columns(table, known, kinds=kinds, weight=weight, memory=memory, header=header)
    if target is None:
        return source
    names = source.schema.names
    if target not in names:
        raise DataError(f"There is no column {target!r} for the target{suggestion(target, names)}.")
    return columns_of(source, [j for j, name in enumerate(names) if name != target], "it is the target")


def _fit_on_distances(
    reducer: Reducer, source: Source, target: str | None, kept: tuple[str, ...], most: int | None, seed: int
) -> tuple[Placed, tuple[str, ...]]:
    """Return the map of a matrix of distances, and the columns to carry along: the one that names the rows is among them."""
    from tamiz.steps.distances import read_distances
    from tamiz.steps.placing import fit_on_distances

    check_kept(source, kept, ())
    distances = read_distances(source, {*kept, *(() if target is None else (target,))})
    labels = () if distances.labels is None else (distances.labels,)
    return fit_on_distances(reducer, distances.matrix, most, seed), (*labels, *kept)


def _summary(named: Named, placed: Placed, facts: MapFacts) -> dict[str, Any]:
    """Return what the map is, for JSON."""
    return {
        "method": {"name": named.name, "label": named.label},
        "rows": len(placed.embedding),
        "fitted_rows": placed.n_fitted,
        "coordinates": placed.reducer.get_feature_names_out().tolist(),
        "axes": facts.axes,
        "spectrum": {
            "label": facts.spectrum_label,
            "values": facts.spectrum,
            "cumulative": facts.cumulative,
            "by_chance": facts.reference,
        },
        "stress": facts.stress,
    }


def _headline(named: Named, facts: MapFacts) -> str:
    """Return what the map is, and what its first axes show."""
    if not facts.spectrum:
        return f"{named.label}."
    told = zip(facts.axes[:_MOST_TOLD], facts.spectrum, strict=False)
    return f"{named.label}. {facts.spectrum_label}: {', '.join(f'{axis} {value:.4g}' for axis, value in told)}."
