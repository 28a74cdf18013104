"""`--method` of `tamiz select`: a search for the best subset, and the selections with error control, each with its options."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar

import click

from tamiz.cli.options import MethodParam, bundle_options, find_used_options, require_target
from tamiz.cli.rank import choose_criterion
from tamiz.cli.search_options import SubsetSearch, require_merit_target
from tamiz.criteria import registry as criteria
from tamiz.error_control import registry as error_control
from tamiz.runtime.registry import Entry, command_name

if TYPE_CHECKING:
    from tamiz.criteria.base import Relevance
    from tamiz.criteria.entropy_relevance import MissingRule
    from tamiz.selection.selector import Selector
    from tamiz.sources.schema import Schema

_relevances = MethodParam(criteria, "relevance")


@dataclass(frozen=True)
class ErrorControl:
    """The options of `--method`, kept as plain values until a command runs."""

    method: str
    relevance: Entry | None
    max_iter: int | None
    fdr: float | None
    max_false: float | None
    threshold: float | None
    n_pairs: int | None


class SelectionMethod(ABC):
    """A value of `--method`, with the values of its options.

    Attributes
    ----------
    options : frozenset of str
        The parameters of the options that it accepts, among those that not all methods accept.
    """

    options: ClassVar[frozenset[str]]
    # Whether the selector has a plan that is worth a note before a long run; that of a search is only printed on request.
    repeats_a_score: ClassVar[bool] = False

    def __init__(self, control: ErrorControl, search: SubsetSearch, missing: MissingRule, seed: int) -> None:
        self._control, self._search, self._missing, self._seed = control, search, missing, seed

    @abstractmethod
    def check(self, target: str | None) -> None:
        """Raise a usage error for options that cannot be used, before the table is read."""

    @abstractmethod
    def make_selector(self, schema: Schema, *, journal: bool = True) -> Any:
        """Return the selector for a table; with `journal=False` it writes no journal."""

    @abstractmethod
    def describe(self, selector: Any) -> list[str]:
        """Return sentences on a fitted selector: what was found, and what it controls under which assumption."""

    @abstractmethod
    def to_dict(self, selector: Any) -> dict[str, Any]:
        """Return the numbers of a fitted selector, for JSON."""


class _Search(SelectionMethod):
    options = frozenset({field.name for field in fields(SubsetSearch)} | {"dry_run"})

    def check(self, target: str | None) -> None:
        require_merit_target(self._search, target)
        self._search.make_merit(self._missing), self._search.make_search()

    def make_selector(self, schema: Schema, *, journal: bool = True) -> Any:
        return self._search.make_selector(self._missing, self._seed, schema, journal=journal)

    def describe(self, selector: Any) -> list[str]:
        from tamiz.runtime.registry import method_label
        from tamiz.search import registry as searches

        sentences = [
            f"{selector.merit_name_} {selector.merit_:.4g} by {method_label(searches, selector.search_)['label'].lower()}, "
            f"{selector.n_evaluations_:,} evaluations: {selector.archive_.stop_reason}."
        ]
        if selector.merit_method_:
            sentences.append(selector.merit_method_)
        if selector.certificate_ is not None:
            sentences.append(f"Certificate: {selector.certificate_}.")
        return sentences

    def to_dict(self, selector: Any) -> dict[str, Any]:
        certificate = selector.certificate_
        return {
            "merit": selector.merit_,
            "merit_name": selector.merit_name_,
            "n_evaluations": selector.n_evaluations_,
            "stopped": selector.archive_.stop_reason,
            **({} if certificate is None else {"bound": certificate.bound, "proven": certificate.is_optimal}),
        }


class _Controlled(SelectionMethod):
    """A selection with error control by the scores of a relevance."""

    entry: ClassVar[Entry]

    def check(self, target: str | None) -> None:
        requested = self._control.relevance
        if target is None:
            raise click.UsageError(f"--method {self._control.method} needs a target: name its column with --target.")
        if requested is not None and not requested.load()().reads_target:
            raise click.UsageError(
                f"--method {self._control.method} needs a relevance that uses the target, and {command_name(requested)} does not."
            )

    def _choose_relevance(self, schema: Schema, default: list[Entry]) -> Relevance:
        """Return the requested relevance or the first of the default ones, on as many rows as in a study."""
        requested = self._control.relevance
        return choose_criterion([requested] if requested else default, schema, self._missing)[1]


class _Boruta(_Controlled):
    options = frozenset({"relevance", "max_iter", "dry_run"})
    repeats_a_score = True
    entry = error_control["boruta"]

    def make_selector(self, schema: Schema, *, journal: bool = True) -> Selector:  # noqa: ARG002 - of a search
        settings = {} if self._control.max_iter is None else {"max_iter": self._control.max_iter}
        relevance = self._choose_relevance(schema, [criteria["tree_importance"]])
        made: Selector = self.entry.load()(relevance, **settings, random_state=self._seed)
        return made

    def describe(self, selector: Any) -> list[str]:
        from tamiz.report.text import count_with_noun, join_names

        schema = selector.schema_
        by_status = {
            status: [schema.names[j] for j in schema.used.tolist() if selector.status_[j] == status]
            for status in ("confirmed", "tentative", "rejected")
        }
        counts = [
            f"{len(names):,} {status}{f' ({join_names(names)})' if names and status == 'tentative' else ''}"
            for status, names in by_status.items()
        ]
        iterations = count_with_noun(selector.n_iter_, "iteration")
        return [
            f"Boruta with {_label(selector.relevance_)}: {', '.join(counts)}, after {iterations}.",
            f"Each column was tested at level {selector.alpha:g} ({selector.correction.replace('_', ' ').capitalize()}) against "
            "permuted copies in this table, which bounds neither the number nor the share of false columns in it.",
        ]

    def to_dict(self, selector: Any) -> dict[str, Any]:
        return {
            "relevance": _label(selector.relevance_),
            "alpha": selector.alpha,
            "correction": selector.correction,
            "n_iterations": selector.n_iter_,
            "all_columns": _column_records(selector, status=selector.status_, hits=selector.hits_),
        }


class _Knockoffs(_Controlled):
    options = frozenset({"relevance", "fdr"})
    entry = error_control["knockoff_selector"]

    def make_selector(self, schema: Schema, *, journal: bool = True) -> Selector:  # noqa: ARG002 - of a search
        from tamiz.error_control.lasso_coefficient import LassoCoefficient

        settings = {} if self._control.fdr is None else {"fdr": self._control.fdr}
        importance = (
            self._choose_relevance(schema, []) if self._control.relevance else LassoCoefficient().adapt_to(schema)
        )
        made: Selector = self.entry.load()(importance, **settings, random_state=self._seed)
        return made

    def describe(self, selector: Any) -> list[str]:
        failed = [check.name for check in selector.checks_ if check.passed is False]
        checks = f"Failed checks: {', '.join(failed)}." if failed else "No check of these assumptions failed."
        return [
            f"Knockoffs with {_label(selector.importance_)}: the expected share of false columns among the selected ones is at "
            f"most {selector.fdr:g}, if rows are independent and the columns have a Gaussian copula.",
            checks,
        ]

    def to_dict(self, selector: Any) -> dict[str, Any]:
        checks = [
            {
                "name": one.name,
                "passed": one.passed,
                "value": _finite(one.value),
                "limit": one.limit,
                "found": one.sentence,
            }
            for one in selector.checks_
        ]
        return {
            "relevance": _label(selector.importance_),
            "fdr": selector.fdr,
            "threshold": _finite(selector.threshold_[0]),
            "checks": checks,
            "all_columns": _column_records(selector, statistic=selector.statistics_[0], s=selector.s_),
        }


class _Stability(_Controlled):
    options = frozenset({"relevance", "n_features", "max_false", "threshold", "n_pairs", "dry_run"})
    repeats_a_score = True
    entry = error_control["stability"]

    def check(self, target: str | None) -> None:
        if self._control.relevance is not None:
            require_target((self._control.relevance,), target)
        if isinstance(self._search.n_features, tuple):
            raise click.UsageError(
                "--n-features of --method stability is the number of columns that every half of the rows selects: one number or "
                "share, not a range."
            )
        if None not in (self._search.n_features, self._control.max_false, self._control.threshold):
            raise click.UsageError(
                "--n-features, --max-false and --threshold cannot all be used: any two of them determine the third."
            )

    def make_selector(self, schema: Schema, *, journal: bool = True) -> Selector:  # noqa: ARG002 - of a search
        settings = {} if self._control.n_pairs is None else {"n_pairs": self._control.n_pairs}
        made: Selector = self.entry.load()(
            self._choose_relevance(schema, criteria.of_kind("relevance")),
            n_features=self._search.n_features,
            threshold=self._control.threshold,
            max_false=self._control.max_false,
            **settings,
            random_state=self._seed,
        )
        return made

    def describe(self, selector: Any) -> list[str]:
        n_selected, n_used = int(selector.support_.sum()), len(selector.schema_.used)
        assumption = (
            ""
            if selector.assumption == "none"
            else (
                f", if the selection frequencies of false columns have {selector.assumption.replace('_', '-')} distributions"
            )
        )
        return [
            f"Stability selection with {_label(selector.selector)}, {selector.n_features_per_half_:g} columns from each of "
            f"{2 * selector.n_pairs:,} halves of the rows: {n_selected:,} of {n_used:,} columns were selected from at least "
            f"{100 * selector.threshold_:.3g} % of the halves.",
            f"The expected number of false selections is at most {selector.expected_false_selections_:.3g}{assumption}; a false "
            "column is one that a half selects no more often than a random column.",
        ]

    def to_dict(self, selector: Any) -> dict[str, Any]:
        return {
            "relevance": _label(selector.selector),
            "n_pairs": selector.n_pairs,
            "n_features_per_half": selector.n_features_per_half_,
            "threshold": selector.threshold_,
            "assumption": selector.assumption,
            "expected_false_selections": selector.expected_false_selections_,
            "all_columns": _column_records(selector, frequency=selector.selection_frequencies_),
        }


_CONTROLLED: dict[str, type[_Controlled]] = {"boruta": _Boruta, "knockoffs": _Knockoffs, "stability": _Stability}
METHODS: dict[str, type[SelectionMethod]] = {"search": _Search, **_CONTROLLED}


def make_method(
    context: click.Context, control: ErrorControl, search: SubsetSearch, missing: MissingRule, seed: int
) -> SelectionMethod:
    """Return the method; raise a usage error for options that belong to other methods."""
    accepted = METHODS[control.method].options | {"scoring"}
    others = frozenset().union(*(method.options for method in METHODS.values())) - accepted
    for param in find_used_options(context, others):
        owners = [name for name, method in METHODS.items() if param.name in method.options]
        raise click.UsageError(
            f"{max(param.opts, key=len)} does not apply to --method {control.method}: leave it out, or use --method "
            f"{' or '.join(owners)}."
        )
    return METHODS[control.method](control, search, missing, seed)


def list_selectors() -> list[tuple[Entry, str, str, str]]:
    """Return the entry, kind, name (as `--method` accepts it) and label of every selection with error control."""
    return [(method.entry, "selection", name, method.entry.label) for name, method in _CONTROLLED.items()]


def _label(relevance: Any) -> str:
    from tamiz.runtime.registry import method_label

    return method_label(criteria, relevance)["label"]


def _column_records(selector: Any, **values: Any) -> list[dict[str, Any]]:
    """Return the values of every used column."""
    schema = selector.schema_
    return [
        {"column": schema.names[j], **{name: array[j].item() for name, array in values.items()}}
        for j in schema.used.tolist()
    ]


def _finite(value: float) -> float | None:
    """Return a number that JSON can contain, None for infinity."""
    return float(value) if math.isfinite(value) else None


def _owner_names(option: str) -> str:
    return ", ".join(name for name, method in METHODS.items() if option in method.options)


method_options = bundle_options(
    "error_control",
    ErrorControl,
    [
        click.option(
            "--method",
            type=click.Choice(list(METHODS)),
            default="search",
            show_default=True,
            help="search: the subset with the highest merit; boruta: all columns that score higher than permuted copies of the "
            "columns; knockoffs: columns with a bounded false discovery rate; stability: columns that are selected from most "
            "halves of the rows, with a bound on the expected number of false selections.",
        ),
        click.option(
            "-r",
            "--relevance",
            type=_relevances,
            metavar="NAME",
            help=f"How columns are scored by the methods {_owner_names('relevance')}: {_relevances.names}.  [default: for boruta "
            "tree-importance, for knockoffs a lasso, for stability the first that applies to the table]",
        ),
        click.option(
            "--max-iter",
            type=click.IntRange(min=1),
            metavar="N",
            help="The most iterations of boruta.  [default: 100]",
        ),
        click.option(
            "--fdr",
            type=click.FloatRange(0, 1, min_open=True, max_open=True),
            metavar="RATE",
            help="The bound of knockoffs on the expected share of false columns among the selected ones.  [default: 0.1]",
        ),
        click.option(
            "--max-false",
            type=click.FloatRange(min=0, min_open=True),
            metavar="X",
            help="The bound of stability on the expected number of false selections.  [default: 1, without --n-features]",
        ),
        click.option(
            "--threshold",
            type=click.FloatRange(0, 1, min_open=True),
            metavar="SHARE",
            help="The smallest share of the halves of stability that must select a column, usually from 0.6 to 0.9.  [default: "
            "0.75, or from --n-features and --max-false]",
        ),
        click.option(
            "--n-pairs",
            type=click.IntRange(min=1),
            metavar="N",
            help="How often stability splits the rows into two halves.  [default: 50]",
        ),
    ],
)
