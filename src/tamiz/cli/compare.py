"""`tamiz compare`: several maps of the same rows side by side."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tamiz.cli.command import DataCommand
from tamiz.cli.files import STDOUT, check_output_paths, check_table_output, write_table
from tamiz.cli.graph_options import GraphChoice, graph_options, make_graph_builder
from tamiz.cli.map_options import MapName, check_dissimilarity, dissimilarities, find_map_option, map_methods
from tamiz.cli.options import FILE, jobs_option, json_flag, print_read_plan, rows_options, seed_option
from tamiz.cli.terminal import Messenger, show_json, show_table
from tamiz.runtime.registry import Entry, suggestion
from tamiz.storage.atomic_write import atomic_path

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from tamiz._study.maps import MapMethod
    from tamiz.comparison.maps import MapComparison
    from tamiz.graphs.builder import GraphBuilder
    from tamiz.reduction.base import Reducer
    from tamiz.table.base import Table
    from tamiz.table.schema import Column, Kind, Schema, WeightKind

_DEFAULT_MAPS = ("pca", "mds", "laplacian_eigenmaps", "tsne", "umap")
# Rows that are compared if no map needs fewer.
_MAX_ROWS = 20_000
_PICTURES = ("png", "svg", "pdf")


@click.command(cls=DataCommand, short_help="Compare maps of the same rows.")
@rows_options
@click.option(
    "-t", "--target", metavar="COLUMN", help="A column that is excluded from the maps; classes colour the picture."
)
@click.option(
    "--reduce",
    "names",
    type=MapName(),
    metavar="NAME[:VARIANT]",
    multiple=True,
    help=f"A map: mds:ordinal, or one of {map_methods.names}. Repeatable; by default PCA, metric MDS, Laplacian eigenmaps, t-SNE "
    "and UMAP.",
)
@click.option(
    "-k",
    "--components",
    "n_components",
    type=click.IntRange(min=1),
    metavar="K",
    default=2,
    show_default=True,
    help="Number of coordinates of every map.",
)
@click.option(
    "--dissimilarity",
    type=dissimilarities,
    metavar="NAME",
    default="seuclidean",
    show_default=True,
    help=f"Distances between rows, for MDS and for the measures: {dissimilarities.names}.",
)
@graph_options
@click.option(
    "--map-rows",
    type=click.IntRange(min=3),
    metavar="N",
    help="Largest number of rows that are mapped and compared, a random sample.  [default: 20,000; 2,000 with MDS, 1,000 with "
    "ordinal MDS]",
)
@click.option(
    "-o", "--output", type=FILE, metavar="FILE", help="Write the table of measures to FILE instead of standard output."
)
@click.option("--plot", "picture", type=FILE, metavar="FILE", help="Draw all maps to a PNG, SVG or PDF file.")
@json_flag
@seed_option
@jobs_option
@click.pass_obj
def compare(
    messenger: Messenger,
    table: Path,
    kinds: dict[str, Kind] | None,
    weight: str | None,
    weights: WeightKind | None,
    header: bool | None,
    memory: int | None,
    target: str | None,
    names: tuple[str, ...],
    n_components: int,
    dissimilarity: Entry,
    graph_choice: GraphChoice | None,
    kernel_width: float | None,
    map_rows: int | None,
    output: Path | None,
    picture: Path | None,
    as_json: bool,
    seed: int,
    jobs: int | None,
) -> None:
    """\b
    tamiz compare data.csv --target class --plot maps.png
    tamiz compare data.csv --reduce pca --reduce tsne --reduce umap
    tamiz compare data.csv --target class --json | jq .procrustes_distances

    Fit several maps of the same rows of TABLE, and print the measures of each, with its time and memory. Columns are encoded as
    in a study; the target is excluded. All maps have the same rows: of a long table a random sample, as large as the slowest
    map allows. In a pipe the output is tab separated, with all digits.
    """
    check_table_output(output, "The measures")
    _check_picture(picture)
    check_output_paths([output, picture], table)
    maps = [find_map_option(name, "--reduce") for name in names or _DEFAULT_MAPS]
    for named in maps:
        check_dissimilarity(named, dissimilarity.name)
    builder = make_graph_builder(graph_choice, kernel_width, target)
    from tamiz import open_table
    from tamiz.comparison import compare_maps
    from tamiz.runtime import parallel
    from tamiz.runtime.user_warnings import collect_warnings, is_muted
    from tamiz.runtime.verdicts import Verdict

    with messenger.capture_messages(), parallel.thread_session(jobs), collect_warnings() as messages:
        print_read_plan(messenger, table, target, kinds, weight, memory, header=header)
        opened = open_table(table, target, kinds=kinds, weight=weight, weights=weights, memory=memory, header=header)
        n = opened.schema.n_rows
        fitted_schema = replace(opened.schema, n_rows=n if map_rows is None else min(n, map_rows))
        reducers = _make_reducers(maps, fitted_schema, dissimilarity.name, n_components, seed, builder)
        rows = _sample_rows(opened, list(reducers.values()), map_rows, seed)
        sample_notes = (
            [Verdict("TZ502", f"{rows.schema.n_rows:,} of the {n:,} rows are mapped and compared, drawn at random.")]
            if rows.schema.n_rows < n
            else []
        )
        for sentence in sample_notes:
            # Before the maps are fitted, which takes most of the time.
            messenger.write_note(sentence)
        values = _target_values(rows)
        classes = values if rows.schema.has_classes else None
        compared = compare_maps(rows, reducers, classes, metric=dissimilarity.name, random_state=seed)
    notes = [*opened.schema.dropped_row_notes, *opened.schema.notes, *sample_notes]
    notes = [one for one in notes if not is_muted(one)]
    if picture is not None:
        _draw(compared, values, rows.schema.target, picture)
        messenger.write_line(f"Written: {picture}")
    if output is not None:
        _write_measures(compared, output)
        messenger.write_line(f"Written: {output}")
    if as_json:
        warnings = [one.to_dict() for one in [*messages, *notes]]
        show_json({"table": table.name, "target": target, **compared.to_dict(), "warnings": warnings})
    elif output is None:
        show_table(*_measures(compared))
    for sentence in notes:
        messenger.write_note(sentence)
    if len(maps) > 1:
        messenger.write_line(_most_alike(compared))


def _check_picture(picture: Path | None) -> None:
    if picture is None:
        return
    if picture == STDOUT:
        raise click.UsageError("--plot needs the name of a file.")
    ending = picture.suffix.lstrip(".").lower()
    if ending not in _PICTURES:
        raise click.UsageError(
            f"{picture.name}: the extension of a picture must be one of {', '.join(_PICTURES)}{suggestion(ending, _PICTURES)}."
        )
    import matplotlib as mpl

    mpl.use("agg")


def _make_reducers(
    maps: list[MapMethod],
    schema: Schema,
    dissimilarity: str,
    n_components: int,
    seed: int,
    builder: GraphBuilder | None,
) -> dict[str, Reducer]:
    """Return the unfitted maps by label, with the settings of a study and the same number of coordinates."""
    from tamiz._study.graph import needs_graph, study_graph_builder

    reducers = {}
    for named in maps:
        if named.label in reducers:
            raise click.UsageError(f"--reduce: {named.name} is listed twice.")
        reducer = named.make_reducer(schema, dissimilarity)
        settings: dict[str, Any] = {"n_components": n_components, "random_state": seed}
        if needs_graph(reducer):
            settings["graph"] = builder or study_graph_builder(schema.n_rows)
        known = reducer.get_params(deep=False)
        reducers[named.label] = reducer.set_params(**{name: value for name, value in settings.items() if name in known})
    return reducers


def _sample_rows(table: Table, reducers: list[Reducer], map_rows: int | None, seed: int) -> Table:
    """Return the rows that all maps are fitted on."""
    import numpy as np

    from tamiz._study.map_settings import max_fitted_rows
    from tamiz._study.sampling import sample_including
    from tamiz.table.views import select_rows

    limits = [limit for limit in map(max_fitted_rows, reducers) if limit is not None]
    size = min([_MAX_ROWS, *limits]) if map_rows is None else map_rows
    n = table.schema.n_rows
    if n <= size:
        return table
    return select_rows(table, sample_including(np.arange(0), n, size, np.random.default_rng(seed)))


def _target_values(table: Table) -> NDArray[Any] | None:
    """Return the class, as text, or the number of every row; None without a target."""
    import numpy as np

    from tamiz.table.views import target_array

    target = table.schema.target
    if target is None:
        return None
    values = target_array(table)
    return np.asarray(target.levels, dtype=object)[values] if table.schema.has_classes else values


def _measures(compared: MapComparison) -> tuple[list[str], list[list[str | float]]]:
    """Return the header and the lines of the table: a line for each measure, a column for each map."""
    fitted = list(compared.maps.values())
    lines: list[list[str | float]] = [
        [measure.name, *(one.quality[measure.name].value for one in fitted)] for measure in fitted[0].quality.measures
    ]
    lines.append(["seconds", *(one.seconds for one in fitted)])
    lines.append(["megabytes", *(one.peak_bytes / 1e6 for one in fitted)])
    return ["measure", *compared.maps], lines


def _write_measures(compared: MapComparison, output: Path) -> None:
    import pyarrow as pa

    header, lines = _measures(compared)
    write_table(pa.table([list(column) for column in zip(*lines, strict=True)], names=header), output)


def _draw(compared: MapComparison, values: NDArray[Any] | None, target: Column | None, picture: Path) -> None:
    figure = compared.plot(values, color_label=None if target is None else target.name)
    with atomic_path(picture) as temporary:
        figure.savefig(temporary, dpi=150, format=picture.suffix.lstrip(".").lower())


def _most_alike(compared: MapComparison) -> str:
    """Return a sentence on the two maps of the most similar shapes."""
    import numpy as np

    labels, distances = list(compared.maps), compared.procrustes_distances.copy()
    distances[np.isnan(distances)] = np.inf
    np.fill_diagonal(distances, np.inf)
    i, j = np.unravel_index(int(np.argmin(distances)), distances.shape)
    return (
        f"The most similar shapes are those of {labels[i]} and {labels[j]}: Procrustes distance m² = {distances[i, j]:.3g}, "
        "from 0 for equal shapes to 1."
    )
