"""Options that commands share, and the parameter types behind them.

The names of methods are read from the registries, which are text, so that no method is imported before a command runs.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from click.core import ParameterSource

from tamiz.cli.files import STDOUT, TableFile
from tamiz.runtime.memory import parse_size
from tamiz.runtime.registry import Entry, Registry, command_name, find_entry, suggestion

if TYPE_CHECKING:
    from tamiz.cli.terminal import Messenger
    from tamiz.reduction.base import Reducer
    from tamiz.selection.selector import Selector
    from tamiz.table.base import Table
    from tamiz.table.schema import Kind, Schema, WeightKind


Command = TypeVar("Command", bound=Callable[..., Any])


def bundle_options(
    argument: str, kind: type[Any], options: Sequence[Callable[[Command], Command]]
) -> Callable[[Command], Command]:
    """Return a decorator that adds options; the command receives their values as one argument, a dataclass with these fields."""

    def decorate(command: Command) -> Command:
        @functools.wraps(command)
        def with_bundle(*arguments: Any, **values: Any) -> Any:
            own = {field.name: values.pop(field.name) for field in fields(kind)}
            return command(*arguments, **{argument: kind(**own)}, **values)

        decorated: Any = with_bundle
        return apply_options(decorated, options)

    return decorate


def find_used_options(context: click.Context, names: Collection[str]) -> list[click.Parameter]:
    """Return the options among these parameters that the command line or a configuration file sets."""
    return [
        param
        for param in context.command.params
        if param.name in names and context.get_parameter_source(param.name) is not ParameterSource.DEFAULT
    ]


def assessment_options(default_text: str, folds_text: str) -> Callable[[Command], Command]:
    """Return a decorator that adds `--assess`, `--semi-synthetic`, `--group` and `--time`.

    The texts describe the default and the folds of `--assess`.
    """
    options = [
        click.option(
            "--assess/--no-assess",
            default=None,
            help=f"Estimate the score on new rows by nested cross-validation ({folds_text}), and test by permutation "
            f"whether the merit is higher than with shuffled targets.  [default: {default_text}]",
        ),
        click.option(
            "--semi-synthetic",
            type=click.IntRange(min=0),
            metavar="N",
            default=0,
            show_default=True,
            help="Beside that assessment, estimate the true and false positive rates of the selection on N targets, at "
            "least 2, that are computed from random columns of the table.",
        ),
        click.option(
            "--group",
            metavar="COLUMN",
            help="The column that contains the group of each row, such as a patient number. Rows of a group stay in one "
            "fold. The column is excluded from the features.",
        ),
        click.option(
            "--time",
            metavar="COLUMN",
            help="The column with the time of each row, a number or a date. Models are fitted on earlier rows and "
            "tested on later rows. The column is excluded from the features.",
        ),
    ]
    return lambda command: apply_options(command, options)


def check_assessment(assess: bool | None, semi_synthetic: int, target: str | None, *, by_default: bool) -> None:
    """Raise a usage error for `--assess` or `--semi-synthetic` without a target, and for the latter without an assessment.

    One semi-synthetic target is an error too: its rates have no standard error. `by_default` is whether the command assesses the
    selection by default.
    """
    if semi_synthetic == 1:
        raise click.BadParameter("at least 2 targets are needed, or 0 for none.", param_hint="'--semi-synthetic'")
    for option, used in (("--assess", assess), ("--semi-synthetic", semi_synthetic)):
        if used and target is None:
            raise click.UsageError(f"{option} needs a target: name its column with --target.")
    if semi_synthetic and not (by_default if assess is None else assess):
        raise click.UsageError("--semi-synthetic is part of an assessment: add --assess.")


# An unreadable file is bad data (exit status 1, raised by its reader), not a wrong command line (2).
FILE = click.Path(readable=False, path_type=Path)


class MethodParam(click.ParamType):  # type: ignore[type-arg]  # not generic in click 8.1
    """A method by its registered name, with dashes or underscores; an unambiguous beginning of the name is accepted."""

    name = "method"

    def __init__(self, registry: Registry, kind: str, label: str = "", *, excluded: Sequence[str] = ()) -> None:
        self.kind = label or kind
        self._entries = {command_name(e): e for e in registry.of_kind(kind) if e.name not in excluded}

    @property
    def names(self) -> str:
        """All names, for a help text."""
        return ", ".join(self._entries)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Entry:
        """Return the registry entry."""
        if isinstance(value, Entry):
            return value
        try:
            return find_entry(self._entries, str(value), self.kind)
        except ValueError as error:
            self.fail(str(error), param, ctx)


class MemorySize(click.ParamType):  # type: ignore[type-arg]
    """An amount of memory: "800MB", "1.5GiB"."""

    name = "size"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return the number of bytes."""
        try:
            return parse_size("memory", value)
        except ValueError:
            self.fail(f"{value!r} is not a size such as 800MB, 1GB or 1.5GiB.", param, ctx)


def read_kinds(context: click.Context, param: click.Parameter, pairs: tuple[str, ...]) -> dict[str, Kind] | None:
    """Return `column=kind` pairs as a dictionary."""
    if not pairs:
        return None
    from tamiz.table.schema import KINDS

    kinds: dict[str, Any] = {}
    for pair in pairs:
        # Split at the last equals sign: the name of a column can contain others.
        column, _, kind = pair.rpartition("=")
        if not column or kind not in KINDS:
            message = f"{pair!r} is not of the form column=kind{suggestion(kind, KINDS)}; kinds: {', '.join(KINDS)}."
            raise click.BadParameter(message, context, param)
        kinds[column] = kind
    return kinds


def require_target(entries: tuple[Entry, ...], target: str | None) -> None:
    """Raise a usage error where a method needs a target and there is none."""
    for entry in entries:
        if target is None and entry.load()().needs_target:
            raise click.UsageError(f"{entry.label} needs a target: name its column with --target.")


def print_read_plan(
    messenger: Messenger,
    table: Path,
    target: str | None,
    kinds: Mapping[str, Kind] | None,
    weight: str | None,
    memory: int | None,
    choose_passes: Callable[[Schema], Sequence[Sequence[int]] | None] | None = None,
    *,
    group: str | None = None,
    time: str | None = None,
    header: bool | None = None,
) -> None:
    """Print the read plan of a file that does not fit in memory."""
    from tamiz.table.encoded_table import OpenOptions
    from tamiz.table.preview import make_read_plan

    plan = make_read_plan(table, OpenOptions(target, weight, kinds, group, time, header=header), memory, choose_passes)
    if plan is not None:
        messenger.write_line(str(plan))


@dataclass(frozen=True)
class TableOptions:
    """The table of a command and the options of its columns.

    Attributes
    ----------
    table : Path
    target : str or None
    kinds : dict of str to Kind, or None
    weight : str or None
    weights : {"frequency", "sampling"} or None
    memory : int or None
    header : bool or None
    """

    table: Path
    target: str | None
    kinds: dict[str, Kind] | None
    weight: str | None
    weights: WeightKind | None
    memory: int | None
    header: bool | None

    def open(
        self,
        messenger: Messenger,
        *,
        group: str | None = None,
        time: str | None = None,
        choose_passes: Callable[[Schema], Sequence[Sequence[int]] | None] | None = None,
    ) -> Table:
        """Print the read plan of a file that does not fit in memory, and open the table."""
        from tamiz import open_table

        print_read_plan(
            messenger, self.table, self.target, **self._settings, choose_passes=choose_passes, group=group, time=time
        )
        return open_table(self.table, self.target, **self._settings, weights=self.weights, groups=group, time=time)

    def open_all_rows(self, messenger: Messenger) -> Table:
        """Do the same without the column of the target, so that the rows where it is missing are kept."""
        from tamiz.exceptions import DataError
        from tamiz.table.factory import open_without_target
        from tamiz.table.views import select_columns

        print_read_plan(messenger, self.table, None, **self._settings)
        target = self.target
        known = () if target is None else (target,)
        opened = open_without_target(self.table, known, **self._settings, weights=self.weights)
        names = opened.schema.names
        if target is None:
            return opened
        if target not in names:
            raise DataError(f"There is no column {target!r} for the target{suggestion(target, names)}.")
        return select_columns(opened, [j for j, name in enumerate(names) if name != target], "it is the target")

    @property
    def _settings(self) -> dict[str, Any]:
        return {"kinds": self.kinds, "weight": self.weight, "memory": self.memory, "header": self.header}


_TABLE = click.argument("table", type=TableFile())
_TARGET = click.option("-t", "--target", metavar="COLUMN", help="The column to predict.")
_COLUMNS = (
    click.option(
        "--kinds",
        metavar="COLUMN=KIND",
        multiple=True,
        callback=read_kinds,
        help="Set the kind of a column instead of inferring it: numeric, categorical, boolean, date, text or id. "
        "Free text and ids are excluded. Repeatable.",
    ),
    click.option("--weight", metavar="COLUMN", help="The column that contains the weight of each row."),
    click.option(
        "--weights",
        type=click.Choice(["frequency", "sampling"]),
        help="frequency: a weight is a number of equal rows; sampling: weights correct a sampling design, and only their ratios "
        "matter.  [default: frequency for whole numbers]",
    ),
)
_MISSING = click.option(
    "--missing",
    type=click.Choice(["distribute", "category"]),
    default="distribute",
    show_default=True,
    help="distribute: a missing value is divided among the observed values, in proportion to their frequencies; "
    "category: missing is a category of its own.",
)
memory_option = click.option(
    "--memory",
    type=MemorySize(),
    metavar="SIZE",
    help="Memory limit of the process, such as 800MB or 1.5GiB; tables that do not fit are kept on disk.  [default: the memory of "
    "the machine]",
)

_WORKERS = click.option(
    "--workers",
    type=click.IntRange(min=1),
    metavar="N",
    help="Read a Parquet file or folder in N processes of this machine, each within the memory limit; the result does not depend "
    "on it.",
)
_SCHEDULER = click.option(
    "--scheduler",
    metavar="ADDRESS",
    help="Read a Parquet file or folder on the workers of this Dask scheduler, such as tcp://10.0.0.1:8786; the result does not "
    "depend on it.",
)

header_option = click.option(
    "--header/--no-header",
    default=None,
    help="Whether the first row of a CSV or TSV file contains the column names.  [default: detected]",
)


_TABLE_OPTIONS = (_TABLE, _TARGET, *_COLUMNS, header_option, _MISSING, memory_option)


def table_options(command: Command) -> Command:
    """Add the table and the options of its columns."""
    return apply_options(command, _TABLE_OPTIONS)


def bundled_table_options(command: Command) -> Command:
    """Add the same options; the command receives all but `--missing` as `table_options`."""
    bundled: Command = bundle_options("table_options", TableOptions, _TABLE_OPTIONS)(command)
    return bundled


def rows_options(command: Command) -> Command:
    """Add these options except `--target` and `--missing`, which the command defines itself."""
    options = (_TABLE, *_COLUMNS, header_option, memory_option)
    bundled: Command = bundle_options("table_options", TableOptions, options)(command)
    return bundled


def apply_options(command: Command, options: Sequence[Callable[[Command], Command]]) -> Command:
    """Add options, the first one first in the help."""
    for decorate in reversed(options):
        command = decorate(command)
    return command


def worker_options(command: Command) -> Command:
    """Add `--workers` and `--scheduler`, with which the command opens its table."""

    @functools.wraps(command)
    def with_executor(*arguments: Any, workers: int | None, scheduler: str | None, **values: Any) -> Any:
        if workers is None and scheduler is None:
            return command(*arguments, **values)
        if workers is not None and scheduler is not None:
            raise click.UsageError(
                "--workers are processes of this machine, and --scheduler has its own: use one of them."
            )
        from tamiz.runtime.executors import open_executor
        from tamiz.table.factory import use_executor

        with open_executor(workers, scheduler) as executor, use_executor(executor):
            return command(*arguments, **values)

    decorated: Any = with_executor
    return apply_options(decorated, (_WORKERS, _SCHEDULER))


seed_option = click.option(
    "--seed",
    type=click.IntRange(min=0),
    metavar="N",
    default=0,
    show_default=True,
    help="Seed of the random numbers: the same seed gives the same result.",
)
jobs_option = click.option(
    "-j",
    "--jobs",
    type=click.IntRange(min=1),
    metavar="N",
    help="Number of threads; the result does not depend on it.  [default: the available cores]",
)
dry_run_flag = click.option("--dry-run", is_flag=True, help="Print an estimate of the maximum cost, and exit.")
json_flag = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


def _reject_stdout(context: click.Context, param: click.Parameter, path: Path | None) -> Path | None:
    if path == STDOUT:
        raise click.BadParameter("a model is written to a file; name one.", context, param)
    return path


model_option = click.option(
    "--model",
    type=FILE,
    metavar="FILE",
    callback=_reject_stdout,
    help="Save the fitted selection or map to FILE. Apply it to other rows with: tamiz apply FILE new.csv.",
)


def read_model(path: Path) -> Selector | Reducer:
    """Return the fitted selector or map of a file."""
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
