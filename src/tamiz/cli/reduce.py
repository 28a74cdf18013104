"""`tamiz reduce`: map the rows to few coordinates."""

from __future__ import annotations

from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tamiz.cli.command import bundle, command, option
from tamiz.cli.files import check_output_paths, check_table_output
from tamiz.cli.graph_options import GraphOptions, check_uses_graph
from tamiz.cli.map_options import MAP_NAME, MAP_ROWS, find_map, map_methods
from tamiz.cli.options import COUNT, MAPPED_TABLE, MODEL, SEED, MethodName, TableOptions, Workers, usage_errors
from tamiz.cli.row_output import RowOutput, add_coordinates, check_kept_columns, original_columns
from tamiz.cli.terminal import Messenger
from tamiz.neighbors.metric_registry import registry as metrics
from tamiz.runtime.registry import Entry

if TYPE_CHECKING:
    from tamiz.reduction.description import MapDescription
    from tamiz.reduction.named_maps import MapMethod

_dissimilarities = MethodName(metrics, "metric", "dissimilarity")
_DEFAULT_DISSIMILARITY = "seuclidean"
# The table itself is the matrix of distances.
_PRECOMPUTED = "precomputed"
# Few enough to plot.
_DEFAULT_COMPONENTS = 2
# Axes whose shares or eigenvalues the summary line contains.
_MAX_AXES_SHOWN = 5


@command("Map the rows of a table to few coordinates.")
def reduce(
    messenger: Messenger,
    *,
    table: TableOptions = MAPPED_TABLE,
    method: str = option(
        "--method NAME[:VARIANT]",
        MAP_NAME,
        f"The map: mds:ordinal, or one of {map_methods.names}; `tamiz methods` lists all.",
        default="pca",
    ),
    n_components: int | None = option(
        "-k --components K", COUNT, f"Number of coordinates.  [default: {_DEFAULT_COMPONENTS}]"
    ),
    dissimilarity: Entry | None = option(
        "--dissimilarity NAME",
        _dissimilarities,
        f"Distances between rows, for MDS: {_dissimilarities.names}. With precomputed, TABLE is a square matrix of distances, "
        f"with or without a column of row names.  [default: {_DEFAULT_DISSIMILARITY}]",
    ),
    graph: GraphOptions = bundle(GraphOptions),
    missing: str | None = option(
        "--missing",
        click.Choice(["mean", "pairwise", "iterative"]),
        "Missing values in PCA: imputed by the mean of the column (the default), excluded pair by pair, or imputed "
        "iteratively from the components.",
    ),
    categories: str | None = option(
        "--categories",
        click.Choice(["balanced", "famd"]),
        "Total variance of a categorical column of K levels in PCA: 1, as of a standardised number (the default), or K - 1 "
        "(factor analysis of mixed data).",
    ),
    map_rows: int | None = MAP_ROWS,
    rows: RowOutput = bundle(RowOutput),
    model: Path | None = MODEL,
    seed: int = SEED,
    workers: Workers = bundle(Workers),
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
    check_table_output(rows.output, "The coordinates")
    check_output_paths([rows.output, model], table.table)
    metric = None if dissimilarity is None else dissimilarity.name
    named = find_map(method, "--method")
    _check_settings(named, {"dissimilarity": metric, "missing": missing, "categories": categories})
    if table.weight is not None and metric == _PRECOMPUTED:
        raise click.UsageError("A matrix of distances has no row weights: leave out --weight.")
    builder = graph.make(table.target)
    if builder is not None:
        check_uses_graph(named.label, named.entry)
    from tamiz import save
    from tamiz.reduction.table_embedding import embed_distances, embed_table
    from tamiz.runtime.user_warnings import capture_warnings, collect_warnings, warn_user
    from tamiz.table.distance_table import distance_matrix_warnings, read_distance_table

    with workers.session(messenger), collect_warnings() as messages:
        # Warnings about features do not apply to a matrix of distances.
        with capture_warnings() if metric == _PRECOMPUTED else nullcontext():
            by_class = builder is not None and builder.needs_classes
            opened = table.open(messenger) if by_class else table.open_all_rows(messenger)
        settings = {"random_state": seed, "missing": missing, "categories": categories}
        reducer = named.make_reducer(opened.schema, metric or _DEFAULT_DISSIMILARITY, map_rows, **settings)
        if n_components is None:
            # Methods whose default is None choose the number of components from the table.
            own = reducer.get_params(deep=False)["n_components"]
            n_components = min(_DEFAULT_COMPONENTS, own or _DEFAULT_COMPONENTS)
        reducer.set_params(n_components=n_components)
        if metric == _PRECOMPUTED:
            warn_user(opened.schema.notes)
            check_kept_columns(opened, rows.kept, ())
            distances = read_distance_table(opened, {*rows.kept, *filter(None, [table.target])})
            mapped = embed_distances(reducer, opened, distances.matrix, map_rows, seed)
            # The column of row names first.
            kept = [*filter(None, [distances.label_column]), *rows.kept]
        else:
            warn_user([*opened.schema.dropped_row_notes, *opened.schema.notes, *distance_matrix_warnings(opened)])
            mapped, kept = embed_table(reducer, opened, builder, map_rows, seed), list(rows.kept)
        names = mapped.reducer.get_feature_names_out().tolist()
        check_kept_columns(opened, kept, names)
        shown = add_coordinates(original_columns(opened, kept), names, mapped.embedding)
        facts = mapped.reducer.describe()
    notes = [*facts.notes, *mapped.sampling_notes()]
    if model is not None:
        messenger.write_line(f"Written: {save(mapped.reducer, model)}")
    spectrum = facts.spectrum
    summary = {
        "table": table.table.name,
        "target": table.target,
        "method": {"name": named.name, "label": named.label},
        "rows": len(mapped.embedding),
        "fitted_rows": mapped.n_fitted,
        "coordinates": names,
        "axes": facts.axes,
        "spectrum": {
            "label": spectrum.label,
            "values": spectrum.values,
            "cumulative": spectrum.cumulative,
            "by_chance": spectrum.reference,
        },
        "stress": facts.stress,
        "warnings": [one.to_dict() for one in messages],
        "notes": notes,
    }
    rows.write(messenger, shown, summary)
    for sentence in [_headline(named, facts), *notes]:
        messenger.write_line(sentence)


def _check_settings(map_method: MapMethod, settings: dict[str, str | None]) -> None:
    """Raise a usage error for options that the method does not have."""
    reducer = map_method.entry.load()
    known = reducer().get_params(deep=False)
    if settings["dissimilarity"] == _PRECOMPUTED and _PRECOMPUTED not in reducer.dissimilarities:
        raise click.UsageError(
            f"{map_method.label} does not accept a matrix of distances; use --method mds or classical-mds."
        )
    for name, value in settings.items():
        if value is not None and name not in known:
            raise click.UsageError(f"{map_method.label} has no option --{name}; leave it out.")
    if settings["dissimilarity"] is not None:
        with usage_errors("--dissimilarity: "):
            map_method.check_dissimilarity(settings["dissimilarity"])


def _headline(map_method: MapMethod, facts: MapDescription) -> str:
    """Return the label of the map and the shares or eigenvalues of its first axes."""
    if not facts.spectrum.values:
        return f"{map_method.label}."
    shown = zip(facts.axes[:_MAX_AXES_SHOWN], facts.spectrum.values, strict=False)
    return f"{map_method.label}. {facts.spectrum.label}: {', '.join(f'{axis} {value:.4g}' for axis, value in shown)}."
