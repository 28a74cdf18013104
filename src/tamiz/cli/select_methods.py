"""`--method` of `tamiz select` with the options of the methods."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, NamedTuple

import click
from click.core import ParameterSource

from tamiz import registry as selectors
from tamiz.cli.command import option
from tamiz.cli.options import COUNT, RELEVANCE, require_relevance_target, require_target
from tamiz.cli.search_options import SubsetSearch
from tamiz.error_control import registry as error_control
from tamiz.runtime.registry import Entry, command_name

if TYPE_CHECKING:
    from tamiz.criteria.base import Relevance
    from tamiz.criteria.entropies import MissingRule
    from tamiz.table.schema import Schema

# Those of `RedundancyFilter`, whose module would import numpy.
MEASURES = ("kinds", "pearson", "linear", "symmetric-uncertainty")
# Fewer columns than twice those on which a selection is timed are selected as fast as they are timed.
_MIN_PLANNED_COLUMNS = 128


class SelectionMethod(NamedTuple):
    """A value of `--method` without a search: the parameter that is the relevance, and those that options of the same name set.

    From `min_planned_columns` on the plan is made before the run, with a note if the run is long.
    """

    entry: Entry
    relevance: str
    settings: tuple[str, ...]
    min_planned_columns: int

    @property
    def options(self) -> frozenset[str]:
        """The options that it accepts, among those that not all methods accept."""
        return frozenset({"relevance", "max_seconds", *self.settings})


SELECTORS = {
    "boruta": SelectionMethod(error_control["boruta"], "relevance", ("max_iter",), 0),
    "knockoffs": SelectionMethod(error_control["knockoff_selector"], "importance", ("fdr",), _MIN_PLANNED_COLUMNS),
    "stability": SelectionMethod(
        error_control["stability"], "selector", ("n_features", "max_false", "threshold", "n_pairs"), 0
    ),
    "redundancy": SelectionMethod(
        selectors["RedundancyFilter"], "relevance", ("measure", "threshold"), _MIN_PLANNED_COLUMNS
    ),
}
_OPTIONS = {
    "search": frozenset(field.name for field in fields(SubsetSearch)),
    **{name: method.options for name, method in SELECTORS.items()},
}


@dataclass(frozen=True)
class MethodOptions:
    """A method and the options that not all methods accept, kept as plain values until a command runs."""

    method: str = option(
        "--method",
        click.Choice(list(_OPTIONS)),
        "search: the subset with the highest merit; boruta: all columns that score higher than permuted copies of the "
        "columns; knockoffs: columns with a bounded false discovery rate; stability: columns that are selected from most "
        "halves of the rows, with a bound on the expected number of false selections; redundancy: columns that are not "
        "determined by other selected columns.",
        default="search",
    )
    relevance: Entry | None = option(
        "-r --relevance NAME",
        RELEVANCE,
        f"How columns are scored by the methods {', '.join(SELECTORS)}: {RELEVANCE.names}.  [default: for boruta "
        "tree-importance, for knockoffs a lasso, for stability the first that applies to the table; for redundancy "
        "symmetric-uncertainty where there is a target]",
    )
    max_iter: int | None = option("--max-iter N", COUNT, "The most iterations of boruta.  [default: 100]")
    fdr: float | None = option(
        "--fdr RATE",
        click.FloatRange(0, 1, min_open=True, max_open=True),
        "The bound of knockoffs on the expected share of false columns among the selected ones.  [default: 0.1]",
    )
    max_false: float | None = option(
        "--max-false X",
        click.FloatRange(min=0, min_open=True),
        "The bound of stability on the expected number of false selections.  [default: 1, without --n-features]",
    )
    measure: str | None = option(
        "--measure",
        click.Choice(MEASURES),
        "The association of redundancy. kinds: the largest one with a selected column, for numbers the correlation, for "
        "categories Cramer's V, for both the correlation ratio; pearson: the largest absolute correlation; linear: the R2 of "
        "the regression on all selected columns; symmetric-uncertainty: the largest one with a selected column, which finds "
        "relations of any form.  [default: kinds]",
    )
    threshold: float | None = option(
        "--threshold X",
        click.FloatRange(0, 1, min_open=True),
        "For stability the smallest share of the halves that must select a column, usually from 0.6 to 0.9; for redundancy "
        "the smallest association of a dropped column.  [default: for stability 0.75, or from --n-features and --max-false; "
        "for redundancy 0.95, with kinds 0.9]",
    )
    n_pairs: int | None = option(
        "--n-pairs N", COUNT, "How often stability splits the rows into two halves.  [default: 50]"
    )

    @property
    def min_planned_columns(self) -> float:
        """The number of columns from which on the plan is made before the run; that of a search is only printed on request."""
        return math.inf if self.method == "search" else SELECTORS[self.method].min_planned_columns

    def check(self, search: SubsetSearch, target: str | None, missing: MissingRule) -> None:
        """Raise a usage error for options that cannot be used, before the table is read."""
        accepted = _OPTIONS[self.method] | {"scoring"}
        others = frozenset().union(*_OPTIONS.values()) - accepted
        context = click.get_current_context()
        for param in context.command.params:
            if param.name in others and context.get_parameter_source(param.name) is not ParameterSource.DEFAULT:
                owners = [name for name, options in _OPTIONS.items() if param.name in options]
                raise click.UsageError(
                    f"{max(param.opts, key=len)} does not apply to --method {self.method}: leave it out, or use --method "
                    f"{' or '.join(owners)}."
                )
        if self.method == "search":
            search.check(target, missing)
        elif self.method in ("boruta", "knockoffs"):
            # The scores for the target are compared with those of noise.
            require_target(f"--method {self.method}", target)
            if self.relevance is not None and not self.relevance.load()().reads_target:
                raise click.UsageError(
                    f"--method {self.method} needs a relevance that uses the target, and {command_name(self.relevance)} does "
                    "not."
                )
        else:
            require_relevance_target(self.relevance, target)
        if self.method == "stability" and isinstance(search.n_features, tuple):
            raise click.UsageError(
                "--n-features of --method stability is the number of columns that every half of the rows selects: one number "
                "or share, not a range."
            )
        if self.method == "stability" and None not in (search.n_features, self.max_false, self.threshold):
            raise click.UsageError(
                "--n-features, --max-false and --threshold cannot all be used: any two of them determine the third."
            )
        if self.method == "redundancy" and missing == "category" and self.relevance is None:
            raise click.UsageError(
                "--missing category applies to the relevance of --method redundancy: name one with --relevance, or leave it "
                "out."
            )

    def make_selector(self, schema: Schema, search: SubsetSearch, missing: MissingRule, seed: int) -> Any:
        if self.method == "search":
            return search.make_selector_for(schema, missing, seed)
        method = SELECTORS[self.method]
        made = method.entry.load()(max_seconds=search.max_seconds)
        values = {**vars(search), **vars(self), method.relevance: self._choose_relevance(schema, missing)}
        if self.measure is not None:
            values["measure"] = self.measure.replace("-", "_")
        names = (method.relevance, *method.settings)
        made.set_params(**{name: values[name] for name in names if values[name] is not None})
        return made.set_params(random_state=seed) if "random_state" in made.get_params(deep=False) else made

    def _choose_relevance(self, schema: Schema, missing: MissingRule) -> Relevance | None:
        """Return the requested relevance or the default one, on as many rows as in a study."""
        from tamiz.selection.defaults import choose_relevance

        if self.relevance is None and self.method == "redundancy":
            return None
        default = SELECTORS[self.method].entry.load().default_relevance
        return choose_relevance(default if self.relevance is None else self.relevance.name, schema, missing=missing)
