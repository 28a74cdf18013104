"""`--assess`, `--group` and `--time`: how far the score of a selection can be trusted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

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
