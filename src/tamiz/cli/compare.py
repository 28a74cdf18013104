"""`tamiz compare`: several maps of the same rows side by side."""

from __future__ import annotations

from pathlib import Path

import click

from tamiz.cli.command import DataCommand
from tamiz.cli.files import STDOUT, check_output_paths, check_table_output, write_table
from tamiz.cli.graph_options import graph_options, make_graph_builder
from tamiz.cli.map_options import MapName, dissimilarities, map_methods, resolve_map_names
from tamiz.cli.options import FILE, TableOptions, jobs_option, json_flag, rows_options, seed_option
from tamiz.cli.terminal import Messenger, show_json, show_table
from tamiz.graphs.named_builders import NamedBuilder
from tamiz.runtime.registry import Entry, suggestion
from tamiz.storage.atomic_write import atomic_path

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
    table_options: TableOptions,
    names: tuple[str, ...],
    n_components: int,
    dissimilarity: Entry,
    graph_choice: NamedBuilder | None,
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
    table, target = table_options.table, table_options.target
    check_table_output(output, "The measures")
    _check_picture(picture)
    check_output_paths([output, picture], table)
    maps = resolve_map_names(names, dissimilarity.name)
    for name in maps or ():
        if (maps or []).count(name) > 1:
            raise click.UsageError(f"--reduce: {name.replace('_', '-')} is listed twice.")
    builder = make_graph_builder(graph_choice, kernel_width, target)
    from tamiz import compare as compare_maps
    from tamiz.runtime import parallel

    with messenger.capture_messages(), parallel.thread_session(jobs):
        found = compare_maps(
            table_options.open(messenger),
            maps=maps,
            n_components=n_components,
            dissimilarity=dissimilarity.name,
            graph=builder,
            map_rows=map_rows,
            random_state=seed,
        )
    if picture is not None:
        import matplotlib as mpl

        mpl.use("agg")
        with atomic_path(picture) as temporary:
            found.plot().savefig(temporary, dpi=150, format=picture.suffix.lstrip(".").lower())
        messenger.write_line(f"Written: {picture}")
    measures = found.to_frame("pyarrow")
    if output is not None:
        write_table(measures, output)
        messenger.write_line(f"Written: {output}")
    if as_json:
        show_json({"table": table.name, "target": target, **found.to_dict()})
    elif output is None:
        show_table(measures.column_names, [list(row.values()) for row in measures.to_pylist()])
    for sentence in found.warnings:
        messenger.write_note(sentence)
    if found.sentence:
        messenger.write_line(found.sentence)


def _check_picture(picture: Path | None) -> None:
    if picture == STDOUT:
        raise click.UsageError("--plot needs the name of a file.")
    ending = "" if picture is None else picture.suffix.lstrip(".").lower()
    if picture is not None and ending not in _PICTURES:
        raise click.UsageError(
            f"{picture.name}: the extension of a picture must be one of {', '.join(_PICTURES)}{suggestion(ending, _PICTURES)}."
        )
