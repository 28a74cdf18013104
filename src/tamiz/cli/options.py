"""Options that commands share, and the types of their values.

The names of methods are read from the registries, which are text, so that no method is imported before a command runs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tamiz.cli.command import argument, bundle, flag, option
from tamiz.cli.files import OutputPath, TableFile, prepare_for_text, write_table
from tamiz.cli.terminal import STDOUT, Messenger, show_json, show_rows
from tamiz.criteria import registry as criteria
from tamiz.graphs import registry as graphs
from tamiz.graphs.named_builders import DEFAULT_GRAPH, NamedBuilder
from tamiz.neighbors.metric_registry import registry as metrics
from tamiz.reduction import registry as reduction
from tamiz.runtime.memory import parse_size
from tamiz.runtime.registry import Entry, Registry, command_name, find_entry, suggestion

if TYPE_CHECKING:
    import pyarrow as pa

    from tamiz.graphs.builders import GraphBuilder
    from tamiz.reduction.base import Reducer
    from tamiz.reduction.named_maps import MapMethod
    from tamiz.selection.selector import Selector
    from tamiz.table.base import Table
    from tamiz.table.schema import Kind, Schema, WeightKind

    # Returns the columns of each pass over the rows of a table with this schema.
    ChoosePasses = Callable[[Schema], Sequence[Sequence[int]] | None]


@contextmanager
def usage_errors(prefix: str = "") -> Iterator[None]:
    """Raise a usage error for a ValueError."""
    try:
        yield
    except ValueError as error:
        raise click.UsageError(f"{prefix}{error}") from error


def require_target(what: str, target: str | None) -> None:
    """Raise a usage error where there is no target."""
    if target is None:
        raise click.UsageError(f"{what} needs a target: name its column with --target.")


def require_relevance_target(entry: Entry | None, target: str | None) -> None:
    """Raise a usage error where a relevance needs a target and there is none."""
    if entry is not None and entry.load()().needs_target:
        require_target(entry.label, target)


class Parsed(click.ParamType):  # type: ignore[type-arg]  # not generic in click 8.1
    """Values that a function makes of text; its ValueError is a usage error."""

    name = "text"

    def __init__(self, parse: Callable[[str], Any]) -> None:
        self._parse = parse

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        try:
            return self._parse(value) if isinstance(value, str) else value
        except ValueError as error:
            self.fail(str(error), param, ctx)


class MethodName(Parsed):
    """A method by its registered name, with dashes or underscores; an unambiguous beginning of the name is accepted."""

    def __init__(self, registry: Registry, kind: str, label: str = "", *, excluded: Sequence[str] = ()) -> None:
        entries = {command_name(e): e for e in registry.of_kind(kind) if e.name not in excluded}
        self.names = ", ".join(entries)
        super().__init__(lambda value: find_entry(entries, value, label or kind))


# An unreadable file is bad data (exit status 1, raised by its reader), not a wrong command line (2).
FILE = click.Path(readable=False, path_type=Path)
COUNT = click.IntRange(min=1)
TABLE = TableFile()
RELEVANCE = MethodName(criteria, "relevance")


def _parse_kind(pair: str) -> tuple[str, Kind]:
    from tamiz.table.schema import KINDS

    # Split at the last equals sign: the name of a column can contain others.
    column, _, name = pair.rpartition("=")
    kind = next((known for known in KINDS if known == name), None)
    if not column or kind is None:
        raise ValueError(
            f"{pair!r} is not of the form column=kind{suggestion(name, KINDS)}; kinds: {', '.join(KINDS)}."
        )
    return column, kind


@dataclass(frozen=True)
class TableOptions:
    """The table of a command and the options of its columns."""

    table: Path = argument(TABLE)
    target: str | None = option("-t --target COLUMN", text="The column to predict.")
    kinds: tuple[tuple[str, Kind], ...] | None = option(
        "--kinds COLUMN=KIND",
        Parsed(_parse_kind),
        "Set the kind of a column instead of inferring it: numeric, categorical, boolean, date, text or id. "
        "Free text and ids are excluded. Repeatable.",
        multiple=True,
    )
    weight: str | None = option("--weight COLUMN", text="The column that contains the weight of each row.")
    weights: WeightKind | None = option(
        "--weights",
        click.Choice(["frequency", "sampling"]),
        "frequency: a weight is a number of equal rows; sampling: weights correct a sampling design, and only their ratios "
        "matter.  [default: frequency for whole numbers]",
    )
    header: bool | None = option(
        "--header/--no-header",
        text="Whether the first row of a CSV or TSV file contains the column names.  [default: detected]",
        default=None,
    )
    encoding: str | None = option(
        "--encoding NAME", text="The encoding of a text file, such as cp1252.  [default: detected]"
    )
    sep: str | None = option(
        "--sep TEXT",
        text=r"What separates the values of a text file; \s+ for runs of blanks and tabs.  [default: detected]",
    )
    na: tuple[str, ...] = option(
        "--na WORD",
        text="A word that is a missing value, besides NA, NULL and other usual ones. Repeatable.",
        multiple=True,
    )
    on_bad_rows: str = option(
        "--on-bad-rows",
        click.Choice(["error", "drop"]),
        "What to do with rows that have more or fewer values than the header.",
        default="error",
    )
    memory: int | None = option(
        "--memory SIZE",
        Parsed(partial(parse_size, "memory")),
        "Memory limit of the process, such as 800MB or 1.5GiB; tables that do not fit are kept on disk.  [default: the "
        "memory of the machine]",
    )
    group: str | None = option(
        "--group COLUMN",
        text="The column that contains the group of each row, such as a patient number. Rows of a group stay in one fold. "
        "The column is excluded from the features.",
    )
    time: str | None = option(
        "--time COLUMN",
        text="The column with the time of each row, a number or a date. Models are fitted on earlier rows and tested on "
        "later rows. The column is excluded from the features.",
    )

    @property
    def file(self) -> dict[str, Any]:
        """How the file is read, where that is stated."""
        from tamiz.table.build import FileOptions

        stated = FileOptions(self.header, self.encoding, self.sep, self.na, self.on_bad_rows).stated
        return {name: getattr(self, name) for name in stated}

    @property
    def reading(self) -> dict[str, Any]:
        """How the table is read: the arguments of `open_table` except the target, the groups and the times."""
        own = {name: getattr(self, name) for name in ("weight", "weights", "memory")}
        return {"kinds": dict(self.kinds or ()) or None, **own, **self.file}

    @property
    def roles(self) -> list[str]:
        """The columns that are no features."""
        return [name for name in (self.target, self.weight, self.group, self.time) if name is not None]

    def open(self, messenger: Messenger, choose_passes: ChoosePasses | None = None) -> Table:
        """Print the read plan of a file that does not fit in memory, and open the table."""
        from tamiz import open_table

        self.print_read_plan(messenger, choose_passes)
        return open_table(self.table, self.target, **self.reading, groups=self.group, time=self.time)

    def open_all_rows(self, messenger: Messenger) -> Table:
        """Do the same without the column of the target, so that the rows where it is missing are kept."""
        from tamiz.exceptions import DataError
        from tamiz.table.factory import open_without_target
        from tamiz.table.views import select_columns

        replace(self, target=None).print_read_plan(messenger)
        target = self.target
        opened = open_without_target(self.table, () if target is None else (target,), **self.reading)
        names = opened.schema.names
        if target is None:
            return opened
        if target not in names:
            raise DataError(f"There is no column {target!r} for the target{suggestion(target, names)}.")
        return select_columns(opened, [j for j, name in enumerate(names) if name != target], "it is the target")

    def print_read_plan(self, messenger: Messenger, choose_passes: ChoosePasses | None = None) -> None:
        """Print the read plan of a file that does not fit in memory."""
        from tamiz.table.build import FileOptions, OpenOptions
        from tamiz.table.preview import make_read_plan

        kinds = self.reading["kinds"]
        roles = OpenOptions(self.target, self.weight, kinds, self.group, self.time, file=FileOptions(**self.file))
        plan = make_read_plan(self.table, roles, self.memory, choose_passes)
        if plan is not None:
            messenger.write_line(str(plan))


# For commands whose tables have no groups or times, and those that map the rows.
NO_FOLDS = {"group": None, "time": None}
MAPPED_TABLE = bundle(
    TableOptions,
    target=option(
        "-t --target COLUMN",
        text="A column that is excluded from the maps. A graph that connects rows by class uses its classes, and a picture is "
        "coloured by them.",
    ),
    **NO_FOLDS,
)

MISSING = option(
    "--missing",
    click.Choice(["distribute", "category"]),
    "distribute: a missing value is divided among the observed values, in proportion to their frequencies; "
    "category: missing is a category of its own.",
    default="distribute",
)


@dataclass(frozen=True)
class Assessment:
    """The options of the assessment of a selection."""

    assess: bool | None
    semi_synthetic: int = option(
        "--semi-synthetic N",
        click.IntRange(min=0),
        "Beside that assessment, estimate the true and false positive rates of the selection on N targets, at least 2, that "
        "are computed from random columns of the table.",
        default=0,
    )

    def check(self, target: str | None, *, by_default: bool) -> None:
        """Raise a usage error for options without a target, for one semi-synthetic target, or for some without an assessment."""
        if self.semi_synthetic == 1:
            raise click.BadParameter("at least 2 targets are needed, or 0 for none.", param_hint="'--semi-synthetic'")
        if self.assess or self.semi_synthetic:
            require_target("--assess" if self.assess else "--semi-synthetic", target)
        if self.semi_synthetic and not (by_default if self.assess is None else self.assess):
            raise click.UsageError("--semi-synthetic is part of an assessment: add --assess.")


def assessment_options(default: str, folds: str) -> Any:
    """Return the options of an assessment, whose default and folds are described by these texts."""
    return bundle(
        Assessment,
        assess=option(
            "--assess/--no-assess",
            text=f"Estimate the score on new rows by nested cross-validation ({folds}), and test by permutation whether the "
            f"merit is higher than with shuffled targets.  [default: {default}]",
            default=None,
        ),
    )


SEED = option(
    "--seed N",
    click.IntRange(min=0),
    "Seed of the random numbers: the same seed gives the same result.",
    default=0,
)
JOBS = option(
    "-j --jobs N", COUNT, "Number of threads; the result does not depend on it.  [default: the available cores]"
)


@dataclass(frozen=True)
class Workers:
    """The threads and the processes of a command."""

    jobs: int | None = JOBS
    workers: int | None = option(
        "--workers N",
        COUNT,
        "Read a Parquet file or folder in N processes of this machine, each within the memory limit; the result does not "
        "depend on it.",
    )
    scheduler: str | None = option(
        "--scheduler ADDRESS",
        text="Read a Parquet file or folder on the workers of this Dask scheduler, such as tcp://10.0.0.1:8786; the result "
        "does not depend on it.",
    )

    @contextmanager
    def session(self, messenger: Messenger, *, notes: bool = True) -> Iterator[None]:
        """Open tables with the workers, compute with the threads, and write messages."""
        if self.workers is not None and self.scheduler is not None:
            raise click.UsageError(
                "--workers are processes of this machine, and --scheduler has its own: use one of them."
            )
        from tamiz.runtime import parallel
        from tamiz.runtime.executors import open_executor
        from tamiz.table.factory import use_executor

        with ExitStack() as stack:
            stack.enter_context(use_executor(stack.enter_context(open_executor(self.workers, self.scheduler))))
            stack.enter_context(messenger.capture_messages(notes=notes))
            stack.enter_context(parallel.thread_session(self.jobs))
            yield


THREADS = bundle(Workers, workers=None, scheduler=None)
DRY_RUN = flag("--dry-run", "Print an estimate of the maximum cost, and exit.")
JSON = flag("--json", "Print JSON.")


def _reject_stdout(context: click.Context, param: click.Parameter, path: Path | None) -> Path | None:
    if path == STDOUT:
        raise click.BadParameter("a model is written to a file; name one.", context, param)
    return path


MODEL = option(
    "--model FILE",
    FILE,
    "Save the fitted selection or map to FILE. Apply it to other rows with: tamiz apply FILE new.csv.",
    callback=_reject_stdout,
)


def _parse_width(value: str) -> float:
    try:
        width = float(value)
    except ValueError:
        width = math.nan
    if not width > 0:
        raise ValueError(f"t must be a number above 0, or inf for weights of 0 and 1, got {value!r}.")
    return width


@dataclass(frozen=True)
class GraphOptions:
    """The graph that the options specify."""

    graph: NamedBuilder | None = option(
        "--graph NAME[:NUMBER]",
        Parsed(NamedBuilder.parse),
        f"The graph of the rows, by distances of standardised columns: {DEFAULT_GRAPH} (15 nearest neighbours, the default) "
        "or radius:0.8 (all rows within that distance). Graphs: "
        f"{MethodName(graphs, 'builder', 'graph').names}. The last needs --target.",
    )
    kernel_width: float | None = option(
        "--t T",
        Parsed(_parse_width),
        "Weight an edge of length d by exp(-d^2 / T); with inf, the default, every edge has weight 1.",
    )

    def make(self, target: str | None) -> GraphBuilder | None:
        """Return the builder, None where neither option is used."""
        if self.graph is None and self.kernel_width is None:
            return None
        named = self.graph or NamedBuilder.parse(DEFAULT_GRAPH)
        with usage_errors("--graph "):
            builder = named.make(self.kernel_width)
        if builder.needs_classes and target is None:
            raise click.UsageError(f"--graph {named} connects rows of one class: name its column with --target.")
        return builder


def check_uses_graph(label: str, method: Entry) -> None:
    from tamiz.graphs.row_graph import needs_graph

    if not needs_graph(method.load()()):
        raise click.UsageError(f"{label} uses no graph: leave out --graph and --t.")


map_methods = MethodName(reduction, "map")
# A matrix of distances has no columns to study: only `tamiz reduce` accepts it.
dissimilarities = MethodName(metrics, "metric", "dissimilarity", excluded=("precomputed",))


def _parse_map_name(value: str) -> str:
    """Return the name as `study` accepts it; the variant is checked when the command runs."""
    method, colon, variant = (part.strip() for part in value.partition(":"))
    return f"{map_methods.convert(method, None, None).name}{colon}{variant}"


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


ESCAPE = flag(
    "--escape-formulas",
    "In CSV and TSV files, put an apostrophe before text that a spreadsheet would run as a formula (it begins with =, +, - or @).",
)


@dataclass(frozen=True)
class RowOutput:
    """Where and how the rows of a command are written."""

    kept: tuple[str, ...] = option(
        "--keep COLUMN",
        text="Also write this column of the table unchanged, such as an id or the target. Repeatable.",
        multiple=True,
    )
    output: Path | None = option(
        "-o --output FILE",
        OutputPath(),
        "Write the rows to a file, as CSV, TSV, Parquet or Arrow by its extension, or to a new folder of Parquet files if it "
        "ends with a slash.  [default: standard output]",
    )
    escape: bool = ESCAPE
    as_json: bool = JSON

    def write(self, messenger: Messenger, rows: pa.Table, summary: Mapping[str, Any]) -> None:
        """Write the rows to the file; to standard output write the summary as JSON, or rows that are not in a file."""
        if self.output is not None:
            write_table(messenger, rows, self.output, escape=self.escape)
        if self.as_json:
            show_json(summary)
        elif self.output is None:
            show_rows(prepare_for_text(rows, escape=self.escape))


def read_model(path: Path) -> Selector | Reducer:
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    from tamiz import load
    from tamiz.exceptions import DataError
    from tamiz.reduction.base import Reducer
    from tamiz.selection.selector import Selector

    loaded: Any = load(path)
    name = type(loaded).__name__
    if not isinstance(loaded, Selector | Reducer):
        raise DataError(
            f"{path} contains a {name}, which is neither a selection nor a map. Write one by --model of `tamiz select`, "
            "`rank` or `reduce`, or by save() in Python."
        )
    try:
        check_is_fitted(loaded)
    except NotFittedError:
        raise DataError(
            f"{path} contains a {name} that was saved before it was fitted; fit it and save it again."
        ) from None
    return loaded
