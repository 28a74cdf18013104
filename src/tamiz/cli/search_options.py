"""The options of a subset search: merit, search, columns, sizes, stopping rules and journal."""

from __future__ import annotations

import csv
import functools
import inspect
import operator
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tamiz.cli.options import FILE, Command, MethodParam, bundle_options
from tamiz.criteria import registry as criteria
from tamiz.method_lookup import (
    SHORTHAND_PARAMETERS,
    choose_merit_and_search,
    find_merit_entries,
    find_search_entry,
    make_search,
)
from tamiz.models import registry as wrappers
from tamiz.runtime.registry import Entry, command_name
from tamiz.search import registry as searches

if TYPE_CHECKING:
    from tamiz import SubsetSelector
    from tamiz.criteria.base import Merit
    from tamiz.criteria.entropy_relevance import MissingRule
    from tamiz.search.base import Search
    from tamiz.search.stopping import StoppingRule
    from tamiz.table.schema import Schema


_merits = MethodParam(criteria, "merit")
_models = MethodParam(wrappers, "model")
_searches = MethodParam(searches, "search")
_FOLDS = 10
# Parameter of a search: its option.
_OPTION_NAMES = {"start": "--start", "fixed": "--fixed", "excluded": "--exclude", "column_groups": "--column-group"}


@dataclass(frozen=True)
class SearchChoice:
    """A search as the command line specifies it.

    Attributes
    ----------
    entry : Entry
        Its entry in the registry.
    argument : str
        The text after the colon, or an empty string.
    """

    entry: Entry
    argument: str = ""


@dataclass(frozen=True)
class MeritChoice:
    """A merit as the command line specifies it.

    Attributes
    ----------
    entry : Entry
        Its entry in the registry of criteria.
    model : Entry or None
        The model of a wrapper, an entry in the registry of models.
    """

    entry: Entry
    model: Entry | None = None


class MeritName(click.ParamType):  # type: ignore[type-arg]
    """A merit by its name, "cfs", or a wrapper by "wrapper:" and its model, "wrapper:gaussian_nb"."""

    name = "merit"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> MeritChoice:
        """Return the registry entries."""
        if isinstance(value, MeritChoice):
            return value
        try:
            return MeritChoice(*find_merit_entries(str(value)))
        except ValueError as error:
            self.fail(str(error), param, ctx)


class SearchName(click.ParamType):  # type: ignore[type-arg]  # not generic in click 8.1
    """A search by its name and, after a colon, its argument: "beam:20", "best-first:backward"."""

    name = "search"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> SearchChoice:
        """Return the registry entry and the argument; the search checks the argument when the command runs."""
        if isinstance(value, SearchChoice):
            return value
        try:
            return SearchChoice(*find_search_entry(str(value)))
        except ValueError as error:
            self.fail(str(error), param, ctx)


class SubsetSize(click.ParamType):  # type: ignore[type-arg]
    """A number of columns, "3", a share of them, "0.5", or a range, "3-8"."""

    name = "size"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> float | tuple[float, ...]:
        """Return the number, or the pair of the smallest and the largest number."""
        if not isinstance(value, str):
            return value
        sizes = [int(part) if part.isdecimal() else _share(part) for part in value.split("-")]
        if len(sizes) > 2 or not all(sizes) or sizes != sorted(sizes):
            self.fail(
                f"{value!r} is not a number of columns such as 3, a share such as 0.5 or a range such as 3-8.",
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
    """Names of columns separated by commas; a name that contains a comma is put in double quotes."""

    name = "columns"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> list[str]:
        """Return the names."""
        if isinstance(value, list):
            return value
        names = next(csv.reader([value], skipinitialspace=True), [])
        if len(names) < 2 or not all(names):
            self.fail(f"{value!r} is not a column group: name two or more columns, such as a,b.", param, ctx)
        return names


@dataclass(frozen=True)
class SubsetSearch:
    """The options of a subset search, kept as plain values until a command runs."""

    merit: MeritChoice | None
    convention: str | None
    correction: str | None
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
        """Return the merit, None where none is named; raise a usage error for options that the merit does not have."""
        _check_scoring(self.scoring)
        if self.correction is not None:
            return self._make_corrected(self.correction, missing)
        if self.convention is not None:
            if self.merit is not None and self.merit.entry.name != "cfs":
                raise click.UsageError("--convention applies to CFS only: use --merit cfs, or leave out --convention.")
            cfs: Merit = criteria["cfs"].load()(convention=self.convention)
            return cfs.with_missing(missing)
        if self.merit is not None and self.merit.model is not None:
            made: Merit = self.merit.entry.load()(self.merit.model.name, self.folds or _FOLDS, self.scoring)
            return made
        if self.folds is not None:
            raise click.UsageError("--folds applies to wrappers only: use --merit wrapper:MODEL, or leave out --folds.")
        return None if self.merit is None else self.merit.entry.load()().with_missing(missing)

    def _make_corrected(self, correction: str, missing: str) -> Merit:
        """Return a merit of the information family with a correction."""
        part = None if self.merit is None else self.merit.entry.load()
        if part is None or "correction" not in inspect.signature(part).parameters:
            raise click.UsageError(
                "--correction applies to merits of mutual information only: use one such as --merit jmi, or leave out --correction."
            )
        if self.convention is not None or self.folds is not None:
            raise click.UsageError(
                "--convention and --folds do not apply to merits of mutual information: leave them out."
            )
        merit: Merit = part(correction=correction)
        return merit.with_missing(missing)

    def check_scoring(self, *, assess: bool) -> None:
        """Raise a usage error for `--scoring` without a wrapper and without an assessment."""
        if self.scoring is not None and not assess and (self.merit is None or self.merit.model is None):
            raise click.UsageError(
                "--scoring applies to wrappers and assessments only: use --merit wrapper:MODEL or --assess."
            )

    @property
    def needs_target(self) -> bool:
        """Whether the merit needs a target."""
        return self.merit is None or bool(self.merit.entry.load().needs_target)

    def make_search(self) -> Search | None:
        """Return the search, None where no option names one; raise a usage error for options that the search does not have."""
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
        used = {parameter: list(value) for parameter, value in columns.items() if value}
        if unknown := [parameter for parameter in used if parameter not in inspect.signature(part).parameters]:
            raise click.UsageError(f"--search {name} does not accept {_OPTION_NAMES[unknown[0]]}.")
        try:
            return make_search(search.entry, search.argument, **used)
        except ValueError as error:
            raise click.UsageError(f"--search {name}: {error}") from error

    def make_stop(self) -> StoppingRule | None:
        """Return the stopping rules of the options, combined by "or"; None without any."""
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

    def make_selector(self, missing: MissingRule) -> SubsetSelector:
        """Return the selector, whose merit and search are None where the table decides."""
        from tamiz import SubsetSelector

        return SubsetSelector(
            self.make_merit(missing),
            self.make_search(),
            n_features=self.n_features,
            stop=self.make_stop(),
            journal=self.journal,
            allow_duplicates=self.allow_duplicates,
        )

    def make_selector_for(self, schema: Schema, missing: MissingRule, seed: int) -> SubsetSelector:
        """Return the selector for a table."""
        selector = self.make_selector(missing)
        merit, search = choose_merit_and_search(selector.merit, selector.search, schema, missing)
        return selector.set_params(merit=merit, search=search, random_state=seed)


def _check_scoring(name: str | None) -> None:
    """Raise a usage error for a score that scikit-learn does not know."""
    if name is None:
        return
    from tamiz.models.scoring import resolve_scoring

    try:
        resolve_scoring(name, has_classes=True)
    except ValueError as error:
        raise click.UsageError(f"--{error}") from error


def require_merit_target(subset_search: SubsetSearch, target: str | None) -> None:
    """Raise a usage error where the merit needs a target and there is none."""
    if target is None and subset_search.needs_target:
        name = "CFS" if subset_search.merit is None else subset_search.merit.entry.label
        raise click.UsageError(f"{name} needs a target: name its column with --target.")


def search_options(seconds_help: str) -> Callable[[Command], Command]:
    """Add the options of a subset search; the command receives them as one argument, `subset_search`."""
    seconds = click.option("--max-seconds", type=click.FloatRange(min=0, min_open=True), metavar="S", help=seconds_help)
    return bundle_options("subset_search", SubsetSearch, [*_OPTIONS, seconds])


def list_searches() -> list[tuple[Entry, str, str, str]]:
    """Return the entry, kind, name and label of every search, once for each choice of its argument."""
    return [
        (entry, entry.kind, ":".join(filter(None, [command_name(entry), argument])), entry.label)
        for entry in searches.of_kind("search")
        for argument in _argument_choices(entry)
    ]


def list_wrappers() -> list[tuple[Entry, str, str, str]]:
    """Return the entry, kind, name (as `--merit` accepts it) and label of every model of a wrapper."""
    return [
        (entry, "merit", f"wrapper:{command_name(entry)}", f"Score of {entry.label}")
        for entry in wrappers.of_kind("model")
    ]


def _argument_choices(entry: Entry) -> list[str]:
    """Return the arguments that a search accepts: its choices, or the default where it accepts any number."""
    shorthand = SHORTHAND_PARAMETERS.get(entry.name)
    if shorthand is None:
        return [""]
    default = inspect.signature(entry.load()).parameters[shorthand.name].default
    return list(shorthand.choices) or [str(default)]


_OPTIONS = [
    click.option(
        "--merit",
        type=MeritName(),
        metavar="NAME",
        help=f"How a subset is scored: {_merits.names}, or wrapper:MODEL (the cross-validated score of a model). MODEL is one of "
        f"{_models.names}. gaussian-nb uses a normal distribution for every column, naive-bayes also reads categories and "
        "missing values directly; linear is least squares (for classes, discriminant analysis), ridge has an L2 penalty.  "
        "[default: cfs; wrapper:ridge for a numeric target]",
    ),
    click.option(
        "--convention",
        type=click.Choice(["hall", "weka"]),
        help="How CFS is computed. hall: Hall's formula with symmetric uncertainty; weka: computed as in Weka, with identical "
        "results.  [default: hall]",
    ),
    click.option(
        "--correction",
        type=click.Choice(["none", "chance"]),
        help="How merits of mutual information, such as jmi, treat what columns of many values have by chance. none: the "
        "information of the counts; chance: minus its expectation under independence.  [default: none]",
    ),
    click.option(
        "--scoring",
        metavar="NAME",
        help="Score of a wrapper and of --assess: the name of a scorer of scikit-learn, such as f1_macro, roc_auc or r2.  "
        "[default: for classes accuracy in a wrapper and roc_auc in --assess; for a numeric target r2]",
    ),
    click.option(
        "--folds",
        type=click.IntRange(min=2),
        metavar="N",
        help=f"Number of cross-validation folds of a wrapper; --assess uses folds of its own.  [default: {_FOLDS}]",
    ),
    click.option(
        "--search",
        type=SearchName(),
        metavar="NAME[:ARGUMENT]",
        help=f"How subsets are searched: {_searches.names}; beam:20 is a beam of width 20, best-first:backward starts with every "
        "column, "
        "recursive-elimination:0.1 drops a tenth of the columns in each step.  "
        "[default: best-first. For a numeric target with the default merit: forward, but best-first if --start, --fixed, "
        "--exclude or --column-group is used]",
    ),
    click.option(
        "-k",
        "--n-features",
        type=SubsetSize(),
        metavar="K",
        help="Number of columns to select, a share of all columns such as 0.5, or a range such as 3-8.  [default: the number "
        "with the highest merit]",
    ),
    click.option("--fixed", metavar="COLUMN", multiple=True, help="A column that every subset contains. Repeatable."),
    click.option(
        "--exclude", "excluded", metavar="COLUMN", multiple=True, help="A column that no subset contains. Repeatable."
    ),
    click.option(
        "--start",
        metavar="COLUMN",
        multiple=True,
        help="A column of the subset with which the search starts. Repeatable.",
    ),
    click.option(
        "--column-group",
        "column_groups",
        type=ColumnGroup(),
        metavar="COLUMN,COLUMN",
        multiple=True,
        help="Columns that are selected or dropped together. Repeatable.",
    ),
    click.option(
        "--allow-duplicates",
        is_flag=True,
        help="Allow columns that are exact copies of an earlier column to be selected.  [default: only the first of equal "
        "columns can be selected]",
    ),
    click.option(
        "--journal",
        type=FILE,
        metavar="FILE",
        help="Write every evaluated subset to FILE. The same command resumes an interrupted search from it.",
    ),
    click.option(
        "--max-evaluations", type=click.IntRange(min=1), metavar="N", help="Stop the search after N evaluated subsets."
    ),
    click.option(
        "--patience",
        type=click.IntRange(min=1),
        metavar="N",
        help="Stop after N consecutive steps without a better subset.",
    ),
    click.option(
        "--min-gain",
        type=float,
        metavar="G",
        help="Stop at the first step that improves the merit by less than G. G may be negative: with --min-gain=-0.01, a "
        "search that removes columns continues until it is more than 0.01 below the best merit, and the smallest subset within "
        "0.01 of the best merit is selected.",
    ),
    click.option("--target-merit", type=float, metavar="M", help="Stop when a subset has a merit of at least M."),
]
