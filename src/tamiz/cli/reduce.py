"""`tamiz reduce`: map the rows to few coordinates."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tamiz.cli.command import DataCommand
from tamiz.cli.files import check_output_paths, check_table_output
from tamiz.cli.graph_options import check_uses_graph, graph_options, make_graph_builder
from tamiz.cli.map_options import (
    MapName,
    check_dissimilarity,
    dissimilarities_or_precomputed,
    find_map_option,
    map_methods,
    map_rows_option,
)
from tamiz.cli.options import (
    TableOptions,
    jobs_option,
    json_flag,
    model_option,
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
from tamiz.runtime.registry import Entry

if TYPE_CHECKING:
    from tamiz.graphs.named_builders import NamedBuilder
    from tamiz.reduction.description import MapDescription
    from tamiz.reduction.named_maps import MapMethod
    from tamiz.reduction.table_embedding import TableEmbedding

_DEFAULT_DISSIMILARITY = "seuclidean"
# The table itself is the matrix of distances.
_PRECOMPUTED = "precomputed"
# Few enough to plot.
_DEFAULT_COMPONENTS = 2
# Axes whose shares or eigenvalues the summary line contains.
_MAX_AXES_SHOWN = 5


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
    table_options: TableOptions,
    method: str,
    n_components: int | None,
    dissimilarity: Entry | None,
    graph_choice: NamedBuilder | None,
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
    table, target = table_options.table, table_options.target
    check_table_output(output, "The coordinates")
    check_output_paths([output, model], table)
    named = find_map_option(method, "--method")
    metric = None if dissimilarity is None else dissimilarity.name
    _check_settings(named, {"dissimilarity": metric, "missing": missing, "categories": categories})
    if table_options.weight is not None and metric == _PRECOMPUTED:
        raise click.UsageError("A matrix of distances has no row weights: leave out --weight.")
    builder = make_graph_builder(graph_choice, kernel_width, target)
    if builder is not None:
        check_uses_graph(named.label, named.entry)
    from tamiz import save
    from tamiz.reduction.table_embedding import embed_distances, embed_table
    from tamiz.runtime import parallel
    from tamiz.runtime.user_warnings import capture_warnings, collect_warnings, warn_user
    from tamiz.table.distance_table import distance_matrix_warnings, read_distance_table

    with messenger.capture_messages(), parallel.thread_session(jobs), collect_warnings() as messages:
        # Warnings about features do not apply to a matrix of distances.
        with capture_warnings() if metric == _PRECOMPUTED else nullcontext():
            by_class = builder is not None and builder.needs_classes
            opened = table_options.open(messenger) if by_class else table_options.open_all_rows(messenger)
        settings = {"random_state": seed, "missing": missing, "categories": categories}
        reducer = named.make_reducer(opened.schema, metric or _DEFAULT_DISSIMILARITY, map_rows, **settings)
        if n_components is None:
            # Methods whose default is None choose the number of components from the table.
            own = reducer.get_params(deep=False)["n_components"]
            n_components = min(_DEFAULT_COMPONENTS, own or _DEFAULT_COMPONENTS)
        reducer.set_params(n_components=n_components)
        if metric == _PRECOMPUTED:
            warn_user(opened.schema.notes)
            check_kept_columns(opened, kept, ())
            distances = read_distance_table(opened, {*kept, *filter(None, [target])})
            mapped = embed_distances(reducer, opened, distances.matrix, map_rows, seed)
            # The column of row names first.
            kept = (*filter(None, [distances.label_column]), *kept)
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


def _check_settings(map_method: MapMethod, settings: dict[str, str | None]) -> None:
    """Raise a usage error for options that the method does not have."""
    reducer, dissimilarity = map_method.entry.load(), settings["dissimilarity"]
    known = reducer().get_params(deep=False)
    if dissimilarity == _PRECOMPUTED and _PRECOMPUTED not in reducer.dissimilarities:
        raise click.UsageError(
            f"{map_method.label} does not accept a matrix of distances; use --method mds or classical-mds."
        )
    for name, value in settings.items():
        if value is not None and name not in known:
            raise click.UsageError(f"{map_method.label} has no option --{name}; leave it out.")
    if dissimilarity is not None:
        check_dissimilarity(map_method, dissimilarity)


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
