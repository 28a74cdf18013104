"""`--search` and what belongs to it: columns, sizes, when to stop, and where to write the evaluated sets down."""

from __future__ import annotations

import csv
import functools
import inspect
import operator
from collections.abc import Callable
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tamiz.cli.options import FILE, Command, MethodParam
from tamiz.criteria import registry as criteria
from tamiz.method_lookup import choose_merit_and_search, find_merit_entries, find_search_entry
from tamiz.models import registry as wrappers
from tamiz.runtime.registry import Entry, command_name
from tamiz.search import registry as searches

if TYPE_CHECKING:
    from tamiz import SubsetSelector
    from tamiz.criteria.base import Merit
    from tamiz.criteria.entropy_relevance import MissingRule
    from tamiz.search.base import Search
    from tamiz.search.stopping import StoppingRule
    from tamiz.sources.schema import Schema


_merits = MethodParam(criteria, "merit")
_models = MethodParam(wrappers, "model")
_searches = MethodParam(searches, "search")
_FOLDS = 10
# The options of what a search calls otherwise.
_OPTION_NAMES = {"start": "--start", "fixed": "--fixed", "excluded": "--exclude", "column_groups": "--column-group"}


@dataclass(frozen=True)
class SearchChoice:
    """A search as the command line names it.

    Attributes
    ----------
    entry : Entry
        Its line in the registry.
    argument : str
        What stands after the colon, empty where nothing does.
    """

    entry: Entry
    argument: str = ""


@dataclass(frozen=True)
class MeritChoice:
    """A merit as the command line names it.

    Attributes
    ----------
    entry : Entry
        Its line in the registry of criteria.
    model : Entry or None
        The model that a wrapper scores, a line in the registry of wrappers.
    """

    entry: Entry
    model: Entry | None = None


class MeritName(click.ParamType):  # type: ignore[type-arg]
    """A merit by its name, "cfs", or "wrapper:" and a model: "wrapper:gaussian_nb"."""

    name = "merit"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> MeritChoice:
        """Return the lines of the registries."""
        if isinstance(value, MeritChoice):
            return value
        try:
            return MeritChoice(*find_merit_entries(str(value)))
        except ValueError as error:
            self.fail(str(error), param, ctx)


class SearchName(click.ParamType):  # type: ignore[type-arg]  # click 8.1 takes none
    """A search by its name and the word that it takes: "beam:20", "best-first:backward"."""

    name = "search"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> SearchChoice:
        """Return the line of the registry and the word; what it means the search says when the command runs."""
        if isinstance(value, SearchChoice):
            return value
        try:
            return SearchChoice(*find_search_entry(str(value)))
        except ValueError as error:
            self.fail(str(error), param, ctx)


class SubsetSize(click.ParamType):  # type: ignore[type-arg]
    """A number of columns, "3", a share of them, "0.5", or the least and the most of them, "3-8"."""

    name = "size"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float | tuple[float, ...]:
        """Return the number or the pair."""
        if not isinstance(value, str):
            return value
        sizes = [int(part) if part.isdecimal() else _share(part) for part in value.split("-")]
        if len(sizes) > 2 or not all(sizes) or sizes != sorted(sizes):
            self.fail(
                f"{value!r} is neither a number of columns such as 3 nor a share such as 0.5 nor a range such as 3-8.",
                param,
                ctx,
            )
        return sizes[0] if len(sizes) == 1 else tuple(sizes)


def _share(text: str) -> float:
    """Return a share above 0 and up to 1, 0 for any other text."""
    try:
        share = float(text)
    except ValueError:
        return 0.0
    return share if 0 < share <= 1 else 0.0


class ColumnGroup(click.ParamType):  # type: ignore[type-arg]
    """Names of columns with commas between them; one that holds a comma stands in double quotes."""

    name = "columns"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> list[str]:
        """Return the names."""
        if isinstance(value, list):
            return value
        names = next(csv.reader([value], skipinitialspace=True), [])
        if len(names) < 2 or not all(names):
            self.fail(f"{value!r} names no columns that go together, such as a,b.", param, ctx)
        return names


@dataclass(frozen=True)
class SubsetSearch:
    """How a subset is searched for, as the options say it: plain values until a command runs."""

    merit: MeritChoice | None
    convention: str | None
    scoring: str | None
    folds: int | None
    search: SearchChoice | None
    n_features: float | tuple[float, float] | None
    fixed: tuple[str, ...]
    excluded: tuple[str, ...]
    start: tuple[str, ...]
    column_groups: tuple[list[str], ...]
    allow_duplicates: bool
    journal: Path | None
    max_evaluations: int | None
    max_seconds: float | None
    patience: int | None
    min_gain: float | None
    target_merit: float | None

    def make_merit(self, missing: str) -> Merit | None:
        """Return the merit, None where none is named; folds for one that predicts nothing are a wrong command line."""
        _check_scoring(self.scoring)
        if self.convention is not None:
            if self.merit is not None and self.merit.entry.name != "cfs":
                raise click.UsageError("--convention is for CFS: name it, --merit cfs, or leave --convention out.")
            cfs: Merit = criteria["cfs"].load()(convention=self.convention)
            return cfs.with_missing(missing)
        if self.merit is not None and self.merit.model is not None:
            made: Merit = self.merit.entry.load()(self.merit.model.name, self.folds or _FOLDS, self.scoring)
            return made
        if self.folds is not None:
            raise click.UsageError("--folds is for a model's predictions: name one, --merit wrapper:NAME.")
        return None if self.merit is None else self.merit.entry.load()().with_missing(missing)

    def check_scoring(self, *, assess: bool) -> None:
        """Refuse a score that nothing is scored by: neither a wrapper nor an assessment."""
        if self.scoring is not None and not assess and (self.merit is None or self.merit.model is None):
            raise click.UsageError(
                "--scoring is for a model's predictions: name one, --merit wrapper:NAME, or ask for --assess."
            )

    @property
    def needs_target(self) -> bool:
        """Whether there is nothing to score without a target."""
        return self.merit is None or bool(self.merit.entry.load().needs_target)

    def make_search(self) -> Search | None:
        """Return the search, None where nothing is said of it; what it does not take is a wrong command line."""
        if self.search is None and not (self.start or self.fixed or self.excluded or self.column_groups):
            return None
        search = self.search or SearchChoice(searches["best_first"])
        part, name = search.entry.load(), command_name(search.entry)
        columns = {
            "start": self.start,
            "fixed": self.fixed,
            "excluded": self.excluded,
            "column_groups": self.column_groups,
        }
        given = {parameter: list(value) for parameter, value in columns.items() if value}
        if unknown := [parameter for parameter in given if parameter not in inspect.signature(part).parameters]:
            raise click.UsageError(f"--search {name} takes no {_OPTION_NAMES[unknown[0]]}.")
        try:
            made: Search = part.from_shorthand(search.argument, **given)
        except ValueError as error:
            raise click.UsageError(f"--search {name}: {error}") from error
        return made

    def make_stop(self) -> StoppingRule | None:
        """Return the rule for stopping that the options make together."""
        from tamiz.search import Evaluations, MinGain, Patience, Seconds, TargetMerit

        rules: list[tuple[Callable[[Any], StoppingRule], Any]] = [
            (Evaluations, self.max_evaluations),
            (Seconds, self.max_seconds),
            (Patience, self.patience),
            (MinGain, self.min_gain),
            (TargetMerit, self.target_merit),
        ]
        made = [rule(limit) for rule, limit in rules if limit is not None]
        return functools.reduce(operator.or_, made) if made else None

    def make_selector(self, missing: MissingRule, seed: int, schema: Schema, *, journal: bool = True) -> SubsetSelector:
        """Return the selector for a table; without the journal nothing is written."""
        from tamiz import SubsetSelector

        return SubsetSelector(
            *choose_merit_and_search(self.make_merit(missing), self.make_search(), schema, missing),
            n_features=self.n_features,
            stop=self.make_stop(),
            journal=self.journal if journal else None,
            random_state=seed,
            allow_duplicates=self.allow_duplicates,
        )


def _check_scoring(name: str | None) -> None:
    """Refuse a score that scikit-learn has no name for."""
    if name is None:
        return
    from tamiz.models.scoring import resolve_scoring

    try:
        resolve_scoring(name, has_classes=True)
    except ValueError as error:
        raise click.UsageError(f"--{error}") from error


def require_merit_target(subset_search: SubsetSearch, target: str | None) -> None:
    """Refuse a command line without a target where the merit needs one."""
    if target is None and subset_search.needs_target:
        name = "CFS" if subset_search.merit is None else subset_search.merit.entry.label
        raise click.UsageError(f"{name} needs a target: name its column with --target.")


def search_options(seconds_help: str) -> Callable[[Command], Command]:
    """Add how a subset is searched for, with what --max-seconds says; the command is handed a `SubsetSearch` of that name."""
    seconds = click.option("--max-seconds", type=click.FloatRange(min=0, min_open=True), metavar="S", help=seconds_help)

    def added(command: Command) -> Command:
        @functools.wraps(command)
        def gathered(*arguments: Any, **given: Any) -> Any:
            own = {field.name: given.pop(field.name) for field in fields(SubsetSearch)}
            return command(*arguments, subset_search=SubsetSearch(**own), **given)

        decorated: Any = gathered
        for decorate in reversed([*_OPTIONS, seconds]):
            decorated = decorate(decorated)
        return decorated

    return added


def list_searches() -> list[tuple[Entry, str, str, str]]:
    """Return every search, one that takes a word once for each that there is: its line, its kind, its name and its label."""
    return [
        (entry, entry.kind, ":".join(filter(None, [command_name(entry), word])), entry.label)
        for entry in searches.of_kind("search")
        for word in _argument_choices(entry.load())
    ]


def list_wrappers() -> list[tuple[Entry, str, str, str]]:
    """Return every model that a wrapper scores: its line, its kind, the name that --merit takes and its label."""
    return [
        (entry, "merit", f"wrapper:{command_name(entry)}", f"Score of {entry.label}")
        for entry in wrappers.of_kind("model")
    ]


def _argument_choices(search: type[Search]) -> list[str]:
    """Return the words that a search takes: those there are, or the usual number."""
    if search.shorthand is None:
        return [""]
    usual = inspect.signature(search).parameters[search.shorthand.parameter].default
    return list(search.shorthand.choices) or [str(usual)]


_OPTIONS = [
    click.option(
        "--merit",
        type=MeritName(),
        metavar="NAME",
        help=f"Worth of a set of columns: {_merits.names}, or wrapper:MODEL, the score of a model on rows that it has not seen: "
        f"{_models.names}.  [default: cfs; wrapper:ridge where the target is a number]",
    ),
    click.option(
        "--convention",
        type=click.Choice(["hall", "weka"]),
        help="Whose numbers CFS gives: Hall's with symmetric uncertainty, or those that Weka computes.  [default: hall]",
    ),
    click.option(
        "--scoring",
        metavar="NAME",
        help="The score of a wrapper and of --assess, a name of scikit-learn's such as f1_macro, roc_auc or r2.  [default: "
        "accuracy for a wrapper, roc_auc for --assess; r2 where the target is a number]",
    ),
    click.option(
        "--folds",
        type=click.IntRange(min=2),
        metavar="N",
        help=f"The folds of a wrapper's score.  [default: {_FOLDS}]",
    ),
    click.option(
        "--search",
        type=SearchName(),
        metavar="NAME[:WORD]",
        help=f"How the sets are walked through: {_searches.names}; beam:20 is a beam of 20, best-first:backward begins "
        "with every column.  [default: best-first; forward with the default wrapper where no columns are named]",
    ),
    click.option(
        "-k",
        "--n-features",
        type=SubsetSize(),
        metavar="K",
        help="Number of columns to choose, a share of them such as 0.5, or a range such as 3-8; by default the merit decides.",
    ),
    click.option("--fixed", metavar="COLUMN", multiple=True, help="A column that is in every set. Repeatable."),
    click.option(
        "--exclude", "excluded", metavar="COLUMN", multiple=True, help="A column that is in no set. Repeatable."
    ),
    click.option("--start", metavar="COLUMN", multiple=True, help="A column to start with. Repeatable."),
    click.option(
        "--column-group",
        "column_groups",
        type=ColumnGroup(),
        metavar="COLUMN,COLUMN",
        multiple=True,
        help="Columns that come in and go out together. Repeatable.",
    ),
    click.option(
        "--allow-duplicates",
        is_flag=True,
        help="Search columns that repeat another exactly, too; by default one of them is searched.",
    ),
    click.option(
        "--journal",
        type=FILE,
        metavar="FILE",
        help="Write every evaluated set down; run again with the same file, the search goes on from it.",
    ),
    click.option(
        "--max-evaluations", type=click.IntRange(min=1), metavar="N", help="Stop the search after N evaluated sets."
    ),
    click.option(
        "--patience", type=click.IntRange(min=1), metavar="N", help="Stop after N steps in a row without a better set."
    ),
    click.option(
        "--min-gain",
        type=float,
        metavar="G",
        help="Stop at the first step that gains less than G. Below 0 it is a loss that is tolerated for fewer columns.",
    ),
    click.option("--target-merit", type=float, metavar="M", help="Stop when a set has a merit of at least M."),
]
