"""`--model`: what was fitted, in a file that `tamiz apply` reads."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import click

from tamiz.cli.options import FILE
from tamiz.cli.places import STDOUT

if TYPE_CHECKING:
    from tamiz import RankSelector, SubsetSelector
    from tamiz.reduction.base import Reducer

    Selector: TypeAlias = RankSelector | SubsetSelector


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
