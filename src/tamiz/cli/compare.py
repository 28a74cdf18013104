"""`tamiz compare`: several maps of the same rows side by side."""

from __future__ import annotations

from pathlib import Path

import click

from tamiz.cli.command import bundle, command, option
from tamiz.cli.files import check_ending, check_output_paths, check_table_output, write_table
from tamiz.cli.options import (
    COUNT,
    FILE,
    JSON,
    MAP_NAME,
    MAPPED_TABLE,
    SEED,
    THREADS,
    GraphOptions,
    TableOptions,
    Workers,
    dissimilarity_option,
    find_maps,
    map_methods,
)
from tamiz.cli.terminal import STDOUT, Messenger, show_frame, show_json
from tamiz.runtime.registry import Entry
from tamiz.storage.atomic_write import atomic_path


@command("Compare maps of the same rows.")
def compare(
    messenger: Messenger,
    *,
    table: TableOptions = MAPPED_TABLE,
    names: tuple[str, ...] = option(
        "--reduce NAME[:VARIANT]",
        MAP_NAME,
        f"A map: mds:ordinal, or one of {map_methods.names}. Repeatable; by default PCA, metric MDS, Laplacian eigenmaps, t-SNE "
        "and UMAP.",
        multiple=True,
    ),
    n_components: int = option("-k --components K", COUNT, "Number of coordinates of every map.", default=2),
    dissimilarity: Entry = dissimilarity_option("the measures"),
    graph: GraphOptions = bundle(GraphOptions),
    map_rows: int | None = option(
        "--map-rows N",
        click.IntRange(min=3),
        "Largest number of rows that are mapped and compared, a random sample.  [default: 20,000; 2,000 with MDS, 1,000 with "
        "ordinal MDS]",
    ),
    output: Path | None = option(
        "-o --output FILE", FILE, "Write the table of measures to FILE instead of standard output."
    ),
    picture: Path | None = option("--plot FILE", FILE, "Draw all maps to a PNG, SVG or PDF file."),
    as_json: bool = JSON,
    seed: int = SEED,
    workers: Workers = THREADS,
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
    if picture == STDOUT:
        raise click.UsageError("--plot needs the name of a file.")
    if picture is not None:
        check_ending(picture, "a picture", ("png", "svg", "pdf"))
    check_output_paths([output, picture], table.table)
    maps = find_maps(names, dissimilarity.name)
    for one in maps:
        if maps.count(one) > 1:
            raise click.UsageError(f"--reduce: {one.name} is listed twice.")
    builder = graph.make(table.target)
    from tamiz import compare as compare_maps

    with workers.session(messenger):
        found = compare_maps(
            table.open(messenger),
            maps=[one.id for one in maps] or None,
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
        write_table(messenger, measures, output)
    if as_json:
        show_json({"table": table.table.name, "target": table.target, **found.to_dict()})
    elif output is None:
        show_frame(measures)
    for sentence in found.warnings:
        messenger.write_note(sentence)
    if found.sentence:
        messenger.write_line(found.sentence)
