"""Options that commands share. The methods come from the registries, which are text."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

import click

from tamiz.cli.files import STDOUT, TableFile
from tamiz.runtime.memory import parse_size
from tamiz.runtime.registry import Entry, Registry, command_name, find_entry, suggestion

if TYPE_CHECKING:
    from tamiz import RankSelector, SubsetSelector
    from tamiz.cli.terminal import Messenger
    from tamiz.criteria.base import Relevance
    from tamiz.reduction.base import Reducer
    from tamiz.sources.schema import Kind, Schema

    Selector: TypeAlias = RankSelector | SubsetSelector


# MERGED: `--assess`, `--group` and `--time`: how far the score of a selection can be trusted.


Command = TypeVar("Command", bound=Callable[..., Any])


def assessment_options(default_text: str) -> Callable[[Command], Command]:
    """Return what adds the options; `default_text` is what is done where nothing is asked for."""

    def decorate(command: Command) -> Command:
        for option in reversed(
            [
                click.option(
                    "--assess/--no-assess",
                    default=None,
                    help="Search again inside folds and on shuffled targets, and tell how much of the score is luck; "
                    f"{default_text}.",
                ),
                click.option(
                    "--group",
                    metavar="COLUMN",
                    help="The column with the group of each row, such as a patient: a fold takes it whole. No feature.",
                ),
                click.option(
                    "--time",
                    metavar="COLUMN",
                    help="The column with the time of each row, a number or a date: folds are tested on what comes later. No "
                    "feature.",
                ),
            ]
        ):
            command = option(command)
        return command

    return decorate


def check_assess_target(assess: bool | None, target: str | None) -> None:
    """Refuse to assess what has no target."""
    if assess and target is None:
        raise click.UsageError("--assess asks how well the columns tell the target: name its column with --target.")


# A file that cannot be read is bad data, told by the one who reads it, and no wrong command line.
FILE = click.Path(readable=False, path_type=Path)


class MethodParam(click.ParamType):  # type: ignore[type-arg]  # click 8.1 takes none
    """A method by its registered name, with dashes or underscores; its first words do where no other has them."""

    name = "method"

    def __init__(self, registry: Registry, kind: str, label: str = "", *, excluded: Sequence[str] = ()) -> None:
        self.kind = label or kind
        self._entries = {command_name(e): e for e in registry.of_kind(kind) if e.name not in excluded}

    @property
    def names(self) -> str:
        """Every name, for a help text."""
        return ", ".join(self._entries)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Entry:
        """Return the registry's line."""
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
            self.fail(f"{value!r} is no size such as 800MB, 1GB or 1.5GiB.", param, ctx)


def read_kinds(context: click.Context, param: click.Parameter, pairs: tuple[str, ...]) -> dict[str, Kind] | None:
    """Return `column=kind` pairs as a dictionary."""
    if not pairs:
        return None
    from tamiz.sources.schema import KINDS

    kinds: dict[str, Any] = {}
    for pair in pairs:
        # The last sign of equality: a column's name may hold others.
        column, _, kind = pair.rpartition("=")
        if not column or kind not in KINDS:
            told = f"{pair!r} is not of the form column=kind{suggestion(kind, KINDS)}; kinds: {', '.join(KINDS)}."
            raise click.BadParameter(told, context, param)
        kinds[column] = kind
    return kinds


def require_target(entries: tuple[Entry, ...], target: str | None) -> None:
    """Refuse a command line without a target where a method of it needs one."""
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
    choose_criteria: Callable[[Schema], Sequence[Relevance]] | None = None,
    *,
    group: str | None = None,
    time: str | None = None,
    header: bool | None = None,
) -> None:
    """Say what a file that does not fit in memory will take."""
    from tamiz._study.read_plan import make_read_plan
    from tamiz.sources.table import OpenOptions

    plan = make_read_plan(
        table, OpenOptions(target, weight, kinds, group, time, header=header), memory, choose_criteria
    )
    if plan is not None:
        messenger.write_line(str(plan))


_TABLE = click.argument("table", type=TableFile())
_TARGET = click.option("-t", "--target", metavar="COLUMN", help="The column to learn about.")
_COLUMNS = (
    click.option(
        "--kinds",
        metavar="COLUMN=KIND",
        multiple=True,
        callback=read_kinds,
        help="What a column is, in place of what is guessed: numeric, categorical, boolean, date, text or id; "
        "text and id are left out. Repeatable.",
    ),
    click.option("--weight", metavar="COLUMN", help="The column with the weight of each row."),
)
_MISSING = click.option(
    "--missing",
    type=click.Choice(["distribute", "category"]),
    default="distribute",
    show_default=True,
    help="Share missing values out in proportion to the present ones, or take them as a value of its own.",
)
memory_option = click.option(
    "--memory",
    type=MemorySize(),
    metavar="SIZE",
    help="What the process may take at most, such as 800MB or 1.5GiB; by default what the machine has. Tables larger "
    "than memory are kept on disk.",
)

header_option = click.option(
    "--header/--no-header",
    default=None,
    help="Whether the first row of a text file names the columns; by default that is found out.",
)


def table_options(command: Command) -> Command:
    """Add the table and what is said of its columns."""
    return _apply_options(command, (_TABLE, _TARGET, *_COLUMNS, header_option, _MISSING, memory_option))


def rows_options(command: Command) -> Command:
    """Add what `table_options` does, but for the target and missing values: what these are is the command's own to say."""
    return _apply_options(command, (_TABLE, *_COLUMNS, header_option, memory_option))


def _apply_options(command: Command, options: Sequence[Callable[[Command], Command]]) -> Command:
    for decorate in reversed(options):
        command = decorate(command)
    return command


seed_option = click.option(
    "--seed",
    type=click.IntRange(min=0),
    metavar="N",
    default=0,
    show_default=True,
    help="The same seed gives the same result.",
)
jobs_option = click.option(
    "-j",
    "--jobs",
    type=click.IntRange(min=1),
    metavar="N",
    help="Threads, by default the cores that may be used; the result does not depend on it.",
)
dry_run_flag = click.option("--dry-run", is_flag=True, help="Tell what the search would take at most, and do nothing.")
json_flag = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


# MERGED: `--model`: what was fitted, in a file that `tamiz apply` reads.
def _reject_stdout(context: click.Context, param: click.Parameter, path: Path | None) -> Path | None:
    if path == STDOUT:
        raise click.BadParameter("a model is written to a file; give the name of one.", context, param)
    return path


model_option = click.option(
    "--model",
    type=FILE,
    metavar="FILE",
    callback=_reject_stdout,
    help="Write what was fitted to a file of tamiz, for other rows: tamiz apply FILE new.csv.",
)


def read_model(path: Path) -> Selector | Reducer:
    """Return the fitted selector or map of a file."""
    from sklearn.exceptions import NotFittedError
    from sklearn.utils.validation import check_is_fitted

    from tamiz import RankSelector, SubsetSelector, load
    from tamiz.exceptions import DataError
    from tamiz.reduction.base import Reducer

    thing: Any = load(path)
    name = type(thing).__name__
    if not isinstance(thing, RankSelector | SubsetSelector | Reducer):
        raise DataError(
            f"{path} holds a {name}, which is neither a selection nor a map. `tamiz select`, `rank` and `reduce` write these "
            "with --model, and save() in Python."
        )
    try:
        check_is_fitted(thing)
    except NotFittedError:
        raise DataError(
            f"{path} holds a {name} that was saved before it was fitted; fit it, and save it again."
        ) from None
    return thing
