"""The options of a subset search: merit, search, columns, sizes, stopping rules and journal."""

from __future__ import annotations

import csv
import functools
import inspect
import operator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tamiz.cli.command import bundle, flag, option
from tamiz.cli.options import COUNT, FILE, MethodName, Parsed, require_target, usage_errors
from tamiz.criteria import registry as criteria
from tamiz.models import registry as wrappers
from tamiz.runtime.registry import Entry, command_name
from tamiz.search import registry as searches
from tamiz.selection.defaults import choose_merit_and_search, find_merit_entries, find_search_entry, make_search

if TYPE_CHECKING:
    from tamiz import SubsetSelector
    from tamiz.criteria.base import Merit
    from tamiz.criteria.entropies import MissingRule
    from tamiz.search.base import Search
    from tamiz.search.stopping import StoppingRule
    from tamiz.table.schema import Schema

# The parameter of a merit that an option sets, the merits that have it, and how one is requested.
_MERIT_OPTIONS = {
    "convention": ("convention", "CFS", "--merit cfs"),
    "correction": ("correction", "merits of mutual information", "one such as --merit jmi"),
    "folds": ("cv", "wrappers", "--merit wrapper:MODEL"),
}
# Parameters of searches that an option of another name sets.
_OPTION_NAMES = {"excluded": "exclude", "column_groups": "column-group"}


def _parse_size(value: str) -> float | tuple[float, ...]:
    """Return a number of columns, "3", a share of them, "0.5", or the ends of a range, "3-8"."""
    try:
        sizes = [int(part) if part.isdecimal() else float(part) for part in value.split("-")]
    except ValueError:
        sizes = []
    are_sizes = all(size > 0 and (isinstance(size, int) or size <= 1) for size in sizes)
    if len(sizes) not in (1, 2) or not are_sizes or sizes != sorted(sizes):
        raise ValueError(f"{value!r} is not a number of columns such as 3, a share such as 0.5 or a range such as 3-8.")
    return sizes[0] if len(sizes) == 1 else tuple(sizes)


def _parse_group(value: str) -> list[str]:
    """Return names separated by commas; a name that contains a comma is in double quotes."""
    names = next(csv.reader([value], skipinitialspace=True), [])
    if len(names) < 2 or not all(names):
        raise ValueError(f"{value!r} is not a column group: name two or more columns, such as a,b.")
    return names


@dataclass(frozen=True)
class SubsetSearch:
    """The options of a subset search, kept as plain values until a command runs."""

    # A merit, and the model of a wrapper.
    merit: tuple[Entry, Entry | None] | None = option(
        "--merit NAME",
        Parsed(find_merit_entries),
        f"How a subset is scored: {MethodName(criteria, 'merit').names}, or wrapper:MODEL (the cross-validated score of a "
        f"model). MODEL is one of {MethodName(wrappers, 'model').names}. gaussian-nb uses a normal distribution for every "
        "column, naive-bayes also reads categories and missing values directly; linear is least squares (for classes, "
        "discriminant analysis), ridge has an L2 penalty.  [default: cfs; wrapper:ridge for a numeric target]",
    )
    convention: str | None = option(
        "--convention",
        click.Choice(["hall", "weka"]),
        "How CFS is computed. hall: Hall's formula with symmetric uncertainty; weka: computed as in Weka, with identical "
        "results.  [default: hall]",
    )
    correction: str | None = option(
        "--correction",
        click.Choice(["none", "chance"]),
        "How merits of mutual information, such as jmi, treat what columns of many values have by chance. none: the "
        "information of the counts; chance: minus its expectation under independence.  [default: none]",
    )
    scoring: str | None = option(
        "--scoring NAME",
        text="Score of a wrapper and of --assess: the name of a scorer of scikit-learn, such as f1_macro, roc_auc or r2.  "
        "[default: for classes accuracy in a wrapper and roc_auc in --assess; for a numeric target r2]",
    )
    folds: int | None = option(
        "--folds N",
        click.IntRange(min=2),
        "Number of cross-validation folds of a wrapper; --assess uses folds of its own.  [default: 10]",
    )
    # A search, and the text after the colon of its name.
    search: tuple[Entry, str] | None = option(
        "--search NAME[:ARGUMENT]",
        Parsed(find_search_entry),
        f"How subsets are searched: {MethodName(searches, 'search').names}; beam:20 is a beam of width 20, "
        "best-first:backward starts with every column, recursive-elimination:0.1 drops a tenth of the columns in each step.  "
        "[default: best-first. For a numeric target with the default merit: forward, but best-first if --start, --fixed, "
        "--exclude or --column-group is used]",
    )
    n_features: float | tuple[float, float] | None = option(
        "-k --n-features K",
        Parsed(_parse_size),
        "Number of columns to select, a share of all columns such as 0.5, or a range such as 3-8.  [default: the number with "
        "the highest merit]",
    )
    fixed: tuple[str, ...] = option(
        "--fixed COLUMN", text="A column that every subset contains. Repeatable.", multiple=True
    )
    excluded: tuple[str, ...] = option(
        "--exclude COLUMN", text="A column that no subset contains. Repeatable.", multiple=True
    )
    start: tuple[str, ...] = option(
        "--start COLUMN", text="A column of the subset with which the search starts. Repeatable.", multiple=True
    )
    column_groups: tuple[list[str], ...] = option(
        "--column-group COLUMN,COLUMN",
        Parsed(_parse_group),
        "Columns that are selected or dropped together. Repeatable.",
        multiple=True,
    )
    allow_duplicates: bool = flag(
        "--allow-duplicates",
        "Allow columns that are exact copies of an earlier column to be selected.  [default: only the first of equal columns "
        "can be selected]",
    )
    journal: Path | None = option(
        "--journal FILE",
        FILE,
        "Write every evaluated subset to FILE. The same command resumes an interrupted search from it.",
    )
    max_evaluations: int | None = option("--max-evaluations N", COUNT, "Stop the search after N evaluated subsets.")
    patience: int | None = option("--patience N", COUNT, "Stop after N consecutive steps without a better subset.")
    min_gain: float | None = option(
        "--min-gain G",
        float,
        "Stop at the first step that improves the merit by less than G. G may be negative: with --min-gain=-0.01, a search "
        "that removes columns continues until it is more than 0.01 below the best merit, and the smallest subset within 0.01 "
        "of the best merit is selected.",
    )
    target_merit: float | None = option("--target-merit M", float, "Stop when a subset has a merit of at least M.")
    # The command describes what is limited.
    max_seconds: float | None = None

    def make_merit(self, missing: MissingRule) -> Merit | None:
        """Return the merit, None where none is named; raise a usage error for options that the merit does not have."""
        if self.scoring is not None:
            from tamiz.models.scoring import resolve_scoring

            with usage_errors("--"):
                resolve_scoring(self.scoring, has_classes=True)
        used = {name: value for name in _MERIT_OPTIONS if (value := getattr(self, name)) is not None}
        if self.merit is None and not used:
            return None
        entry, model = self.merit or (criteria["cfs"], None)
        part = entry.load()
        settings: dict[str, Any] = {} if model is None else {"estimator": model.name, "scoring": self.scoring}
        for name, value in used.items():
            parameter, merits, example = _MERIT_OPTIONS[name]
            if parameter not in inspect.signature(part).parameters:
                raise click.UsageError(f"--{name} applies to {merits} only: use {example}, or leave out --{name}.")
            settings[parameter] = value
        merit: Merit = part(**settings)
        return merit.with_missing(missing)

    def check(self, target: str | None, missing: MissingRule) -> None:
        """Raise a usage error for a merit without its target, and for options that the merit or the search does not have."""
        if self.merit is None or self.merit[0].load().needs_target:
            require_target("CFS" if self.merit is None else self.merit[0].label, target)
        self.make_merit(missing), self.make_search()

    def check_scoring(self, *, assess: bool) -> None:
        """Raise a usage error for `--scoring` without a wrapper and without an assessment."""
        if self.scoring is not None and not assess and (self.merit is None or self.merit[1] is None):
            raise click.UsageError(
                "--scoring applies to wrappers and assessments only: use --merit wrapper:MODEL or --assess."
            )

    def make_search(self) -> Search | None:
        """Return the search, None where no option names one; raise a usage error for options that the search does not have."""
        names = ("start", "fixed", "excluded", "column_groups")
        used = {name: list(value) for name in names if (value := getattr(self, name))}
        if self.search is None and not used:
            return None
        entry, argument = self.search or (searches["best_first"], "")
        known = inspect.signature(entry.load()).parameters
        for name in used:
            if name not in known:
                raise click.UsageError(
                    f"--search {command_name(entry)} does not accept --{_OPTION_NAMES.get(name, name)}."
                )
        with usage_errors(f"--search {command_name(entry)}: "):
            return make_search(entry, argument, **used)

    def make_stop(self) -> StoppingRule | None:
        """Return the stopping rules of the options, combined by "or"; None without any."""
        from tamiz.search import Evaluations, MinGain, Patience, Seconds, TargetMerit

        rules: dict[Any, float | None] = {
            Evaluations: self.max_evaluations,
            Seconds: self.max_seconds,
            Patience: self.patience,
            MinGain: self.min_gain,
            TargetMerit: self.target_merit,
        }
        made = [rule(limit) for rule, limit in rules.items() if limit is not None]
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
        selector = self.make_selector(missing)
        merit, search = choose_merit_and_search(selector.merit, selector.search, schema, missing)
        return selector.set_params(merit=merit, search=search, random_state=seed)


def search_options(seconds_help: str) -> Any:
    """Return the options of a subset search, with this help of its time limit."""
    seconds = option("--max-seconds S", click.FloatRange(min=0, min_open=True), seconds_help)
    return bundle(SubsetSearch, max_seconds=seconds)
