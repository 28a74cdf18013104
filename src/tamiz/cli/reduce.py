"""`tamiz reduce`: map the rows to few coordinates."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import click

from tamiz.cli.command import bundle, command, option
from tamiz.cli.files import (
    add_coordinates,
    check_kept_columns,
    check_output_paths,
    check_table_output,
    original_columns,
)
from tamiz.cli.options import (
    COUNT,
    MAP_NAME,
    MAP_ROWS,
    MAPPED_TABLE,
    MODEL,
    SEED,
    GraphOptions,
    MethodName,
    RowOutput,
    TableOptions,
    Workers,
    check_uses_graph,
    find_map,
    map_methods,
    usage_errors,
)
from tamiz.cli.terminal import Messenger
from tamiz.neighbors.metric_registry import registry as metrics
from tamiz.runtime.registry import Entry

if TYPE_CHECKING:
    from collections.abc import Sequence

    from tamiz.graphs.builders import GraphBuilder
    from tamiz.reduction.base import Reducer
    from tamiz.reduction.description import MapDescription
    from tamiz.reduction.named_maps import MapMethod
    from tamiz.reduction.table_embedding import TableEmbedding
    from tamiz.table.base import Table
    from tamiz.table.schema import Schema

_dissimilarities = MethodName(metrics, "metric", "dissimilarity")
_DEFAULT_DISSIMILARITY = "seuclidean"
# The table itself is the matrix of distances.
_PRECOMPUTED = "precomputed"
# Few enough to plot.
_DEFAULT_COMPONENTS = 2
# Axes whose shares or eigenvalues the summary line contains.
_MAX_AXES_SHOWN = 5


@dataclass(frozen=True)
class _MapSettings:
    """The map and its parameters."""

    method: str = option(
        "--method NAME[:VARIANT]",
        MAP_NAME,
        f"The map: mds:ordinal, or one of {map_methods.names}; `tamiz methods` lists all.",
        default="pca",
    )
    n_components: int | None = option(
        "-k --components K", COUNT, f"Number of coordinates.  [default: {_DEFAULT_COMPONENTS}]"
    )
    dissimilarity: Entry | None = option(
        "--dissimilarity NAME",
        _dissimilarities,
        f"Distances between rows, for MDS: {_dissimilarities.names}. With precomputed, TABLE is a square matrix of distances, "
        f"with or without a column of row names.  [default: {_DEFAULT_DISSIMILARITY}]",
    )
    missing: str | None = option(
        "--missing",
        click.Choice(["mean", "pairwise", "iterative"]),
        "Missing values in PCA: imputed by the mean of the column (the default), excluded pair by pair, or imputed "
        "iteratively from the components.",
    )
    categories: str | None = option(
        "--categories",
        click.Choice(["balanced", "famd"]),
        "Total variance of a categorical column of K levels in PCA: 1, as of a standardised number (the default), or K - 1 "
        "(factor analysis of mixed data).",
    )
    map_rows: int | None = MAP_ROWS

    @property
    def metric(self) -> str | None:
        """The name of the dissimilarity."""
        return None if self.dissimilarity is None else self.dissimilarity.name

    def find_method(self) -> MapMethod:
        """Return the map; raise a usage error where there is none, and for options that it does not have."""
        found = find_map(self.method, "--method")
        reducer = found.entry.load()
        known = reducer().get_params(deep=False)
        if self.metric == _PRECOMPUTED and _PRECOMPUTED not in reducer.dissimilarities:
            raise click.UsageError(
                f"{found.label} does not accept a matrix of distances; use --method mds or classical-mds."
            )
        for name in ("dissimilarity", "missing", "categories"):
            if getattr(self, name) is not None and name not in known:
                raise click.UsageError(f"{found.label} has no option --{name}; leave it out.")
        if self.metric is not None:
            with usage_errors("--dissimilarity: "):
                found.check_dissimilarity(self.metric)
        return found

    def make_reducer(self, method: MapMethod, schema: Schema, seed: int) -> Reducer:
        """Return the unfitted map with its settings of a study, in two coordinates unless others are requested."""
        settings = {"random_state": seed, "missing": self.missing, "categories": self.categories}
        reducer = method.make_reducer(schema, self.metric or _DEFAULT_DISSIMILARITY, self.map_rows, **settings)
        # Methods whose default is None choose the number of components from the table.
        own = reducer.get_params(deep=False)["n_components"]
        n_components = self.n_components or min(_DEFAULT_COMPONENTS, own or _DEFAULT_COMPONENTS)
        return reducer.set_params(n_components=n_components)


@command("Map the rows of a table to few coordinates.")
def reduce(
    messenger: Messenger,
    *,
    table: TableOptions = MAPPED_TABLE,
    settings: _MapSettings = bundle(_MapSettings),
    graph: GraphOptions = bundle(GraphOptions),
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
    method = settings.find_method()
    if table.weight is not None and settings.metric == _PRECOMPUTED:
        raise click.UsageError("A matrix of distances has no row weights: leave out --weight.")
    builder = graph.make(table.target)
    if builder is not None:
        check_uses_graph(method.label, method.entry)
    from tamiz import save
    from tamiz.runtime.user_warnings import capture_warnings, collect_warnings

    with workers.session(messenger), collect_warnings() as messages:
        # Warnings about features do not apply to a matrix of distances.
        with capture_warnings() if settings.metric == _PRECOMPUTED else nullcontext():
            by_class = builder is not None and builder.needs_classes
            opened = table.open(messenger) if by_class else table.open_all_rows(messenger)
        reducer = settings.make_reducer(method, opened.schema, seed)
        if settings.metric == _PRECOMPUTED:
            mapped, kept = _embed_distances(reducer, opened, table.target, rows.kept, settings.map_rows, seed)
        else:
            mapped, kept = _embed_rows(reducer, opened, builder, settings.map_rows, seed), rows.kept
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
        "method": {"name": method.name, "label": method.label},
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
    for sentence in [_headline(method, facts), *notes]:
        messenger.write_line(sentence)


def _embed_rows(
    reducer: Reducer, opened: Table, builder: GraphBuilder | None, map_rows: int | None, seed: int
) -> TableEmbedding:
    from tamiz.reduction.table_embedding import embed_table
    from tamiz.runtime.user_warnings import warn_user
    from tamiz.table.distance_table import distance_matrix_warnings

    warn_user([*opened.schema.dropped_row_notes, *opened.schema.notes, *distance_matrix_warnings(opened)])
    return embed_table(reducer, opened, builder, map_rows, seed)


def _embed_distances(
    reducer: Reducer, opened: Table, target: str | None, kept: Sequence[str], map_rows: int | None, seed: int
) -> tuple[TableEmbedding, Sequence[str]]:
    """Return the map of a matrix of distances, and the columns to keep, those of the row names first."""
    from tamiz.reduction.table_embedding import embed_distances
    from tamiz.runtime.user_warnings import warn_user
    from tamiz.table.distance_table import read_distance_table

    warn_user(opened.schema.notes)
    check_kept_columns(opened, kept, ())
    distances = read_distance_table(opened, {*kept, *filter(None, [target])})
    mapped = embed_distances(reducer, opened, distances.matrix, map_rows, seed)
    return mapped, [*filter(None, [distances.label_column]), *kept]


def _headline(map_method: MapMethod, facts: MapDescription) -> str:
    """Return the label of the map and the shares or eigenvalues of its first axes."""
    if not facts.spectrum.values:
        return f"{map_method.label}."
    shown = zip(facts.axes[:_MAX_AXES_SHOWN], facts.spectrum.values, strict=False)
    return f"{map_method.label}. {facts.spectrum.label}: {', '.join(f'{axis} {value:.4g}' for axis, value in shown)}."
