"""The `tamiz` command.

Modules import numpy and what depends on it inside functions only, so that `tamiz -h` starts quickly.
"""

from __future__ import annotations

import click

from tamiz import __version__
from tamiz.cli.apply import apply
from tamiz.cli.command import CommandGroup
from tamiz.cli.compare import compare
from tamiz.cli.compare_tables import compare_tables
from tamiz.cli.explain import explain
from tamiz.cli.methods import methods
from tamiz.cli.rank import rank
from tamiz.cli.reduce import reduce
from tamiz.cli.select import select
from tamiz.cli.study import demo, report, study

__all__ = ["main"]


@click.group(
    "tamiz",
    cls=CommandGroup,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, prog_name="tamiz", message="%(prog)s %(version)s")
@click.pass_context
def main(context: click.Context) -> None:
    """\b
    tamiz demo
    tamiz study data.csv --target class -o report.html
    tamiz rank data.csv --target class --top 10
    tamiz select data.csv --target class -o selected.csv
    tamiz reduce data.csv --target class -o map.csv
    tamiz compare data.csv --target class --plot maps.png
    tamiz compare-tables train.csv new.csv --target class

    Select the columns of a table that matter, and map its rows to few dimensions. Tables are CSV, TSV, Parquet, Arrow
    or ARFF files. Results are written to standard output, messages to standard error.

    Exit status: 0 done, 1 the data or the run failed, 2 the command line is wrong, 130 interrupted.
    """
    if context.invoked_subcommand is None:
        click.echo(context.get_help())


for _command in (study, rank, select, reduce, compare, compare_tables, apply, report, methods, explain, demo):
    main.add_command(_command)
