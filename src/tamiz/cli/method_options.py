"""`--method` of `tamiz select` with the options of the methods."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from tamiz.cli.options import MethodParam, bundle_options, find_used_options
from tamiz.cli.search_options import SubsetSearch
from tamiz.cli.select_methods import MEASURES, METHODS, MethodChoice, SelectionMethod
from tamiz.criteria import registry as criteria

if TYPE_CHECKING:
    from tamiz.criteria.entropy_relevance import MissingRule

_relevances = MethodParam(criteria, "relevance")


def make_method(
    context: click.Context, choice: MethodChoice, search: SubsetSearch, missing: MissingRule, seed: int
) -> SelectionMethod:
    """Return the method; raise a usage error for options that belong to other methods."""
    accepted = METHODS[choice.method].options | {"scoring"}
    others = frozenset().union(*(method.options for method in METHODS.values())) - accepted
    for param in find_used_options(context, others):
        owners = [name for name, method in METHODS.items() if param.name in method.options]
        raise click.UsageError(
            f"{max(param.opts, key=len)} does not apply to --method {choice.method}: leave it out, or use --method "
            f"{' or '.join(owners)}."
        )
    return METHODS[choice.method](choice, search, missing, seed)


def _owner_names(option: str) -> str:
    return ", ".join(name for name, method in METHODS.items() if option in method.options)


method_options = bundle_options(
    "method_choice",
    MethodChoice,
    [
        click.option(
            "--method",
            type=click.Choice(list(METHODS)),
            default="search",
            show_default=True,
            help="search: the subset with the highest merit; boruta: all columns that score higher than permuted copies of the "
            "columns; knockoffs: columns with a bounded false discovery rate; stability: columns that are selected from most "
            "halves of the rows, with a bound on the expected number of false selections; redundancy: columns that are not "
            "determined by other selected columns.",
        ),
        click.option(
            "-r",
            "--relevance",
            type=_relevances,
            metavar="NAME",
            help=f"How columns are scored by the methods {_owner_names('relevance')}: {_relevances.names}.  [default: for boruta "
            "tree-importance, for knockoffs a lasso, for stability the first that applies to the table; for redundancy "
            "symmetric-uncertainty where there is a target]",
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
            "--measure",
            type=click.Choice(list(MEASURES)),
            help="The association of redundancy. kinds: the largest one with a selected column, for numbers the correlation, for "
            "categories Cramer's V, for both the correlation ratio; pearson: the largest absolute correlation; linear: the R2 "
            "of the regression on all selected columns; symmetric-uncertainty: the largest one with a selected column, which "
            "finds relations of any form.  [default: kinds]",
        ),
        click.option(
            "--threshold",
            type=click.FloatRange(0, 1, min_open=True),
            metavar="X",
            help="For stability the smallest share of the halves that must select a column, usually from 0.6 to 0.9; for "
            "redundancy the smallest association of a dropped column.  [default: for stability 0.75, or from --n-features and "
            "--max-false; for redundancy 0.95, with kinds 0.9]",
        ),
        click.option(
            "--n-pairs",
            type=click.IntRange(min=1),
            metavar="N",
            help="How often stability splits the rows into two halves.  [default: 50]",
        ),
    ],
)
