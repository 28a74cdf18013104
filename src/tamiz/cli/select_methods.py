"""The methods of `tamiz select`: a search for the best subset, and the other selectors, with what the command prints of each."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Any, ClassVar

import click

from tamiz import registry as selectors
from tamiz.cli.options import require_target
from tamiz.cli.search_options import SubsetSearch, require_merit_target
from tamiz.criteria import registry as criteria
from tamiz.error_control import registry as error_control
from tamiz.runtime.registry import Entry, command_name

# Fewer columns than twice those on which a selection is timed are selected as fast as they are timed.
_MIN_PLANNED_COLUMNS = 128

if TYPE_CHECKING:
    from tamiz.criteria.base import Relevance
    from tamiz.criteria.entropy_relevance import MissingRule
    from tamiz.selection.selector import Selector
    from tamiz.table.schema import Schema

# The measures of `RedundancyFilter`, whose module would import numpy, and how a sentence calls the association of two numbers.
MEASURES = {
    "kinds": "association",
    "pearson": "correlation",
    "linear": "R2",
    "symmetric-uncertainty": "symmetric uncertainty",
}


@dataclass(frozen=True)
class MethodChoice:
    """A method and the options that not all methods accept, kept as plain values until a command runs."""

    method: str
    relevance: Entry | None
    max_iter: int | None
    fdr: float | None
    max_false: float | None
    measure: str | None
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
    # The number of columns from which on the plan is made before the run, and a note if the run is long; that of a search is only
    # printed on request.
    min_planned_columns: ClassVar[float] = math.inf

    def __init__(self, choice: MethodChoice, search: SubsetSearch, missing: MissingRule, seed: int) -> None:
        self._choice, self._search, self._missing, self._seed = choice, search, missing, seed

    @abstractmethod
    def check(self, target: str | None) -> None:
        """Raise a usage error for options that cannot be used, before the table is read."""

    @abstractmethod
    def make_selector(self, schema: Schema) -> Any:
        """Return the selector for a table."""

    @abstractmethod
    def describe(self, selector: Any) -> list[str]:
        """Return sentences on a fitted selector: what was found, and what it controls under which assumption."""

    @abstractmethod
    def to_dict(self, selector: Any) -> dict[str, Any]:
        """Return the numbers of a fitted selector, for JSON."""


class _Search(SelectionMethod):
    options = frozenset(field.name for field in fields(SubsetSearch))

    def check(self, target: str | None) -> None:
        require_merit_target(self._search, target)
        self._search.make_merit(self._missing), self._search.make_search()

    def make_selector(self, schema: Schema) -> Any:
        return self._search.make_selector_for(schema, self._missing, self._seed)

    def describe(self, selector: Any) -> list[str]:
        from tamiz.selection.subset_selector import describe_search

        return describe_search(selector)

    def to_dict(self, selector: Any) -> dict[str, Any]:
        certificate = selector.certificate_
        return {
            "merit": selector.merit_,
            "merit_name": selector.merit_name_,
            "n_evaluations": selector.n_evaluations_,
            "stopped": selector.archive_.stop_reason,
            **({} if certificate is None else {"bound": certificate.bound, "proven": certificate.is_optimal}),
        }


class _RelevanceMethod(SelectionMethod):
    """A selector of the library that scores columns by a relevance, or can do so."""

    entry: ClassVar[Entry]

    def check(self, target: str | None) -> None:
        if self._choice.relevance is not None:
            require_target((self._choice.relevance,), target)

    def make_selector(self, schema: Schema) -> Selector:
        settings = {name: value for name, value in self._settings(schema).items() if value is not None}
        made: Selector = self.entry.load()(**settings, max_seconds=self._search.max_seconds)
        return made

    @abstractmethod
    def _settings(self, schema: Schema) -> dict[str, Any]:
        """Return the parameters of the selector; None is their default."""

    def _choose_relevance(self, schema: Schema, default: str | None = None) -> Relevance:
        """Return the requested relevance or the default one, None is the first that is defined; on as many rows as in a study."""
        from tamiz.method_lookup import choose_relevance

        requested = self._choice.relevance
        return choose_relevance(default if requested is None else requested.name, schema, missing=self._missing)


class _NoiseComparison(_RelevanceMethod):
    """A selector that compares the scores of columns for the target with the scores of noise."""

    def check(self, target: str | None) -> None:
        requested = self._choice.relevance
        if target is None:
            raise click.UsageError(f"--method {self._choice.method} needs a target: name its column with --target.")
        if requested is not None and not requested.load()().reads_target:
            raise click.UsageError(
                f"--method {self._choice.method} needs a relevance that uses the target, and {command_name(requested)} does not."
            )


class _Boruta(_NoiseComparison):
    options = frozenset({"relevance", "max_iter", "max_seconds"})
    min_planned_columns = 0
    entry = error_control["boruta"]

    def _settings(self, schema: Schema) -> dict[str, Any]:
        relevance = self._choose_relevance(schema, "tree_importance")
        return {"relevance": relevance, "max_iter": self._choice.max_iter, "random_state": self._seed}

    def describe(self, selector: Any) -> list[str]:
        from tamiz.report.text import count_with_noun, join_column_names

        schema = selector.schema_
        by_status = {
            status: [schema.names[j] for j in schema.used.tolist() if selector.status_[j] == status]
            for status in ("confirmed", "tentative", "rejected")
        }
        counts = [
            f"{len(names):,} {status}{f' ({join_column_names(names)})' if names and status == 'tentative' else ''}"
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


class _Knockoffs(_NoiseComparison):
    options = frozenset({"relevance", "fdr", "max_seconds"})
    min_planned_columns = _MIN_PLANNED_COLUMNS
    entry = error_control["knockoff_selector"]

    def _settings(self, schema: Schema) -> dict[str, Any]:
        from tamiz.error_control.lasso_coefficient import LassoCoefficient

        importance = self._choose_relevance(schema) if self._choice.relevance else LassoCoefficient().adapt_to(schema)
        return {"importance": importance, "fdr": self._choice.fdr, "random_state": self._seed}

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


class _Stability(_RelevanceMethod):
    options = frozenset({"relevance", "n_features", "max_false", "threshold", "n_pairs", "max_seconds"})
    min_planned_columns = 0
    entry = error_control["stability"]

    def check(self, target: str | None) -> None:
        super().check(target)
        if isinstance(self._search.n_features, tuple):
            raise click.UsageError(
                "--n-features of --method stability is the number of columns that every half of the rows selects: one number or "
                "share, not a range."
            )
        if None not in (self._search.n_features, self._choice.max_false, self._choice.threshold):
            raise click.UsageError(
                "--n-features, --max-false and --threshold cannot all be used: any two of them determine the third."
            )

    def _settings(self, schema: Schema) -> dict[str, Any]:
        return {
            "selector": self._choose_relevance(schema),
            "n_features": self._search.n_features,
            "threshold": self._choice.threshold,
            "max_false": self._choice.max_false,
            "n_pairs": self._choice.n_pairs,
            "random_state": self._seed,
        }

    def describe(self, selector: Any) -> list[str]:
        from tamiz.report.text import count_with_noun

        n_selected, n_used = int(selector.support_.sum()), len(selector.schema_.used)
        # The mean over halves that select different numbers need not be whole.
        q = selector.n_features_per_half_
        of_a_half = "1 column" if q == 1 else f"{q:g} columns"
        assumption = (
            ""
            if selector.assumption == "none"
            else (
                f", if the selection frequencies of false columns have {selector.assumption.replace('_', '-')} distributions"
            )
        )
        of_table = f"{count_with_noun(n_used, 'column')} {'was' if n_selected == 1 else 'were'}"
        return [
            f"Stability selection with {_label(selector.selector)}, {of_a_half} from each of {2 * selector.n_pairs_:,} halves of "
            f"the rows: {n_selected:,} of {of_table} selected from at least {100 * selector.threshold_:.3g} % of the halves.",
            f"The expected number of false selections is at most {selector.expected_false_selections_:.3g}{assumption}; a false "
            "column is one that a half selects no more often than a random column.",
        ]

    def to_dict(self, selector: Any) -> dict[str, Any]:
        return {
            "relevance": _label(selector.selector),
            "n_pairs": selector.n_pairs_,
            "n_features_per_half": selector.n_features_per_half_,
            "threshold": selector.threshold_,
            "assumption": selector.assumption,
            "expected_false_selections": selector.expected_false_selections_,
            "all_columns": _column_records(selector, frequency=selector.selection_frequencies_),
        }


class _Redundancy(_RelevanceMethod):
    options = frozenset({"relevance", "measure", "threshold", "max_seconds"})
    min_planned_columns = _MIN_PLANNED_COLUMNS
    entry = selectors["RedundancyFilter"]

    def check(self, target: str | None) -> None:
        super().check(target)
        if self._missing == "category" and self._choice.relevance is None:
            raise click.UsageError(
                "--missing category applies to the relevance of --method redundancy: name one with --relevance, or leave it out."
            )

    def _settings(self, schema: Schema) -> dict[str, Any]:
        measure = (self._choice.measure or next(iter(MEASURES))).replace("-", "_")
        relevance = self._choose_relevance(schema) if self._choice.relevance else None
        return {"measure": measure, "threshold": self._choice.threshold, "relevance": relevance}

    def describe(self, selector: Any) -> list[str]:
        from tamiz.report.text import count_with_noun, visible_name
        from tamiz.runtime.user_warnings import quote_name

        schema, measure = selector.schema_, selector.measure.replace("_", "-")
        position = {name: j for j, name in enumerate(schema.names)}
        n_kept = int(selector.support_.sum())
        counts = f"{n_kept:,} of {count_with_noun(len(schema.used), 'column')} {'is' if n_kept == 1 else 'are'} kept"
        sentences = [f"Redundancy filter with measure {measure}, threshold {selector._threshold:g}: {counts}."]
        for name, by in selector.determined_by_.items():
            numeric = all(schema.columns[position[one]].is_number for one in (name, *by))
            kind = MEASURES[measure if numeric or measure == "kinds" else "symmetric-uncertainty"]
            n_rows = selector.n_common_rows_.get(name, schema.n_rows)
            rows = f" on {n_rows:,} rows" if n_rows < schema.n_rows else ""
            value = f"{kind} {selector.associations_[position[name]]:.4g}{rows}"
            reason = f"determined by {', '.join(map(quote_name, by))}, {value}" if by else "constant"
            sentences.append(f"Dropped: {visible_name(name)} ({reason}).")
        return sentences

    def to_dict(self, selector: Any) -> dict[str, Any]:
        determined = selector.determined_by_
        records = _column_records(selector, association=selector.associations_)
        return {
            "measure": selector.measure,
            "threshold": selector._threshold,
            "relevance": None if selector.relevance is None else _label(selector.relevance),
            "all_columns": [
                {
                    **record,
                    "kept": record["column"] not in determined,
                    "determined_by": determined.get(record["column"], ()),
                }
                for record in records
            ],
        }


_SELECTORS: dict[str, type[_RelevanceMethod]] = {
    "boruta": _Boruta,
    "knockoffs": _Knockoffs,
    "stability": _Stability,
    "redundancy": _Redundancy,
}
METHODS: dict[str, type[SelectionMethod]] = {"search": _Search, **_SELECTORS}


def list_selectors() -> list[tuple[Entry, str, str, str]]:
    """Return the entry, kind, name (as `--method` accepts it) and label of every selection without a search."""
    return [(method.entry, "selection", name, method.entry.label) for name, method in _SELECTORS.items()]


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
