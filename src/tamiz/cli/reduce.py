"""`tamiz reduce`: map the rows to few coordinates."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tamiz.cli.command import DataCommand
from tamiz.cli.files import check_output_paths, check_table_output
from tamiz.cli.graph_options import GraphChoice, graph_options, make_graph_builder
from tamiz.cli.map_options import (
    MapName,
    check_dissimilarity,
    dissimilarities_or_precomputed,
    find_map_option,
    map_methods,
    map_rows_option,
)
from tamiz.cli.options import (
    jobs_option,
    json_flag,
    model_option,
    print_read_plan,
    rows_options,
    seed_option,
    worker_options,
)
from tamiz.cli.row_output import (
    add_coordinates,
    check_kept_columns,
    escape_option,
    keep_option,
    original_columns,
    rows_option,
    write_rows,
)
from tamiz.cli.terminal import Messenger, show_json
from tamiz.runtime.registry import Entry, suggestion

if TYPE_CHECKING:
    from tamiz._study.maps import MapMethod
    from tamiz._study.table_embedding import TableEmbedding
    from tamiz.graphs.builder import GraphBuilder
    from tamiz.reduction.base import Reducer
    from tamiz.reduction.description import MapDescription
    from tamiz.table.base import Table
    from tamiz.table.schema import Kind, Schema, WeightKind

_DEFAULT_DISSIMILARITY = "seuclidean"
# The table itself is the matrix of distances.
_PRECOMPUTED = "precomputed"
# Few enough to plot.
_DEFAULT_COMPONENTS = 2
# Axes whose shares or eigenvalues the summary line contains.
_MAX_AXES_SHOWN = 5


@dataclass(frozen=True)
class MapOptions:
    """The options of the map.

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

    def check(self, map_method: MapMethod) -> None:
        """Raise a usage error for options that the method does not have."""
        reducer = map_method.entry.load()
        parameters = reducer().get_params(deep=False)
        if self.dissimilarity == _PRECOMPUTED and _PRECOMPUTED not in reducer.dissimilarities:
            raise click.UsageError(
                f"{map_method.label} does not accept a matrix of distances; use --method mds or classical-mds."
            )
        for parameter in ("dissimilarity", "missing", "categories"):
            if getattr(self, parameter) is not None and parameter not in parameters:
                raise click.UsageError(f"{map_method.label} has no option --{parameter}; leave it out.")
        if self.dissimilarity is not None:
            check_dissimilarity(map_method, self.dissimilarity)

    def make_reducer(self, map_method: MapMethod, schema: Schema, map_rows: int | None, seed: int) -> Reducer:
        """Return the unfitted map for a table."""
        reducer = map_method.make_reducer(schema, self.dissimilarity or _DEFAULT_DISSIMILARITY, map_rows)
        defaults = reducer.get_params(deep=False)
        requested = self.n_components
        settings: dict[str, Any] = {
            # Methods whose default is None choose the number of components from the table.
            "n_components": min(_DEFAULT_COMPONENTS, defaults["n_components"] or _DEFAULT_COMPONENTS)
            if requested is None
            else requested,
            "random_state": seed,
            **({} if self.missing is None else {"missing": self.missing}),
            **({} if self.categories is None else {"categories": self.categories}),
        }
        return reducer.set_params(**{name: value for name, value in settings.items() if name in defaults})


@click.command(cls=DataCommand, short_help="Map the rows of a table to few coordinates.")
@rows_options
@click.option(
    "-t",
    "--target",
    metavar="COLUMN",
    help="A column that is excluded from the map. A graph that connects rows by class uses its classes.",
)
@click.option(
    "--method",
    type=MapName(),
    metavar="NAME[:VARIANT]",
    default="pca",
    show_default=True,
    help=f"The map: mds:ordinal, or one of {map_methods.names}; `tamiz methods` lists all.",
)
@click.option(
    "-k",
    "--components",
    "n_components",
    type=click.IntRange(min=1),
    metavar="K",
    help=f"Number of coordinates.  [default: {_DEFAULT_COMPONENTS}]",
)
@click.option(
    "--dissimilarity",
    type=dissimilarities_or_precomputed,
    metavar="NAME",
    help=f"Distances between rows, for MDS: {dissimilarities_or_precomputed.names}. With precomputed, TABLE is a square matrix "
    f"of distances, with or without a column of row names.  [default: {_DEFAULT_DISSIMILARITY}]",
)
@graph_options
@click.option(
    "--missing",
    type=click.Choice(["mean", "pairwise", "iterative"]),
    help="Missing values in PCA: imputed by the mean of the column (the default), excluded pair by pair, or imputed "
    "iteratively from the components.",
)
@click.option(
    "--categories",
    type=click.Choice(["balanced", "famd"]),
    help="Total variance of a categorical column of K levels in PCA: 1, as of a standardised number (the default), or K - 1 "
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
@worker_options
@click.pass_obj
def reduce(
    messenger: Messenger,
    table: Path,
    target: str | None,
    kinds: dict[str, Kind] | None,
    weight: str | None,
    weights: WeightKind | None,
    memory: int | None,
    header: bool | None,
    method: str,
    n_components: int | None,
    dissimilarity: Entry | None,
    graph_choice: GraphChoice | None,
    kernel_width: float | None,
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

    Map the rows of TABLE to few coordinates. Columns are encoded as in a study; the target is excluded. A method whose cost
    grows with the square of the number of rows is fitted on a sample of a long table, and the other rows are mapped by its
    out-of-sample extension. In a pipe the output is tab separated, with all digits. --json prints a summary of the map
    instead of the coordinates.
    """
    check_table_output(output, "The coordinates")
    check_output_paths([output, model], table)
    named = find_map_option(method, "--method")
    options = MapOptions(method, n_components, dissimilarity.name if dissimilarity else None, missing, categories)
    options.check(named)
    if weight is not None and options.dissimilarity == _PRECOMPUTED:
        raise click.UsageError("A matrix of distances has no row weights: leave out --weight.")
    builder = _graph_builder(named, graph_choice, kernel_width, target)
    from tamiz import save
    from tamiz._study.distance_table import distance_matrix_warnings
    from tamiz._study.table_embedding import embed_table
    from tamiz.runtime import parallel
    from tamiz.runtime.user_warnings import capture_warnings, collect_warnings, warn_user

    with messenger.capture_messages(), parallel.thread_session(jobs), collect_warnings() as messages:
        print_read_plan(messenger, table, None, kinds, weight, memory, header=header)
        # Warnings about features do not apply to a matrix of distances.
        with capture_warnings() if options.dissimilarity == _PRECOMPUTED else nullcontext():
            opened = _open_rows(
                table,
                target,
                kinds,
                weight,
                weights,
                memory,
                header,
                needs_classes=builder is not None and builder.needs_classes,
            )
        reducer = options.make_reducer(named, opened.schema, map_rows, seed)
        if options.dissimilarity == _PRECOMPUTED:
            warn_user(opened.schema.notes)
            mapped, kept = _embed_distances(reducer, opened, target, kept, map_rows, seed)
        else:
            warn_user([*opened.schema.dropped_row_notes, *opened.schema.notes, *distance_matrix_warnings(opened)])
            mapped = embed_table(reducer, opened, builder, map_rows, seed)
        names = mapped.reducer.get_feature_names_out().tolist()
        check_kept_columns(opened, kept, names)
        shown = add_coordinates(original_columns(opened, kept), names, mapped.embedding)
        facts = mapped.reducer.describe()
    notes = [*facts.notes, *mapped.sampling_notes()]
    if model is not None:
        messenger.write_line(f"Written: {save(mapped.reducer, model)}")
    write_rows(messenger, shown, output, to_stdout=not as_json, escape=escape)
    if as_json:
        summary = {
            "table": table.name,
            "target": target,
            **_summary(named, mapped, facts),
            "warnings": [one.to_dict() for one in messages],
            "notes": notes,
        }
        show_json(summary)
    messenger.write_line(_headline(named, facts))
    for sentence in notes:
        messenger.write_line(sentence)


def _graph_builder(
    map_method: MapMethod, graph_choice: GraphChoice | None, kernel_width: float | None, target: str | None
) -> GraphBuilder | None:
    """Return the graph builder that the options specify, None without options; raise a usage error for a map without a graph."""
    if graph_choice is None and kernel_width is None:
        return None
    from tamiz._study.graph import needs_graph

    if not needs_graph(map_method.entry.load()()):
        raise click.UsageError(f"{map_method.label} uses no graph: leave out --graph and --t.")
    return make_graph_builder(graph_choice, kernel_width, target)


def _open_rows(
    table: Path,
    target: str | None,
    kinds: dict[str, Kind] | None,
    weight: str | None,
    weights: WeightKind | None,
    memory: int | None,
    header: bool | None,
    *,
    needs_classes: bool,
) -> Table:
    """Return all rows of the table. Rows without a target are dropped only where the graph needs their classes."""
    from tamiz import open_table
    from tamiz.exceptions import DataError
    from tamiz.table.factory import open_without_target
    from tamiz.table.views import select_columns

    if needs_classes:
        return open_table(table, target, kinds=kinds, weight=weight, weights=weights, memory=memory, header=header)
    required = () if target is None else (target,)
    opened = open_without_target(
        table, required, kinds=kinds, weight=weight, weights=weights, memory=memory, header=header
    )
    if target is None:
        return opened
    names = opened.schema.names
    if target not in names:
        raise DataError(f"There is no column {target!r} for the target{suggestion(target, names)}.")
    return select_columns(opened, [j for j, name in enumerate(names) if name != target], "it is the target")


def _embed_distances(
    reducer: Reducer, table: Table, target: str | None, kept: tuple[str, ...], max_rows: int | None, seed: int
) -> tuple[TableEmbedding, tuple[str, ...]]:
    """Return the map of a matrix of distances, and the columns to write beside it, with the column of row names first."""
    from tamiz._study.distance_table import read_distance_table
    from tamiz._study.table_embedding import embed_distances

    check_kept_columns(table, kept, ())
    distances = read_distance_table(table, {*kept, *(() if target is None else (target,))})
    labels = () if distances.label_column is None else (distances.label_column,)
    return embed_distances(reducer, distances.matrix, max_rows, seed), (*labels, *kept)


def _summary(map_method: MapMethod, table_embedding: TableEmbedding, facts: MapDescription) -> dict[str, Any]:
    """Return the summary of the map, for JSON."""
    return {
        "method": {"name": map_method.name, "label": map_method.label},
        "rows": len(table_embedding.embedding),
        "fitted_rows": table_embedding.n_fitted,
        "coordinates": table_embedding.reducer.get_feature_names_out().tolist(),
        "axes": facts.axes,
        "spectrum": {
            "label": facts.spectrum.label,
            "values": facts.spectrum.values,
            "cumulative": facts.spectrum.cumulative,
            "by_chance": facts.spectrum.reference,
        },
        "stress": facts.stress,
    }


def _headline(map_method: MapMethod, facts: MapDescription) -> str:
    """Return the label of the map and the shares or eigenvalues of its first axes."""
    if not facts.spectrum.values:
        return f"{map_method.label}."
    shown = zip(facts.axes[:_MAX_AXES_SHOWN], facts.spectrum.values, strict=False)
    return f"{map_method.label}. {facts.spectrum.label}: {', '.join(f'{axis} {value:.4g}' for axis, value in shown)}."
