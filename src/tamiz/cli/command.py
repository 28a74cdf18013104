"""How a command ends: done, or with one sentence and the right exit status."""

from __future__ import annotations

import os
import signal
import sys
import threading
import traceback
from collections.abc import Sequence
from typing import Any

import click

from tamiz.cli.terminal import Messenger, escape_control, escape_nonprintable
from tamiz.runtime.registry import suggestion

INTERRUPTED, TERMINATED = 130, 143
# What tamiz raises for data and runs that cannot be used; anything else is a defect and keeps its traceback.
_USER_ERRORS = (ValueError, TypeError, OSError, MemoryError, ImportError)


class CommandError(click.ClickException):
    """The data or the run failed."""

    exit_code = 1


class DataCommand(click.Command):
    """A command that works on data: its callback is given a `Messenger` by `click.pass_obj`."""

    def __init__(self, name: str | None, *, params: list[click.Parameter] | None = None, **attributes: Any) -> None:
        common: list[click.Parameter] = [
            click.Option(["-q", "--quiet"], is_flag=True, help="No notes, summary or progress; errors are still told."),
            click.Option(["--debug"], is_flag=True, help="Show the traceback of a failure (also TAMIZ_DEBUG=1)."),
        ]
        super().__init__(name, params=[*(params or ()), *common], **attributes)

    def invoke(self, ctx: click.Context) -> Any:
        """Run, and turn what tamiz raises into one sentence."""
        ctx.obj = Messenger(quiet=ctx.params.pop("quiet"))
        debug = ctx.params.pop("debug") or os.environ.get("TAMIZ_DEBUG", "0") not in ("", "0")
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise
        except _USER_ERRORS as error:
            if debug:
                raise
            raise CommandError(_error_message(error)) from error


class CommandGroup(click.Group):
    """The group of all commands."""

    command_class = DataCommand

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that the arguments name, or say which is closest."""
        if args and args[0] not in self.commands and not args[0].startswith("-"):
            known = self.list_commands(ctx)
            ctx.fail(f"There is no command {args[0]!r}{suggestion(args[0], known)}; there are {', '.join(known)}.")
        return super().resolve_command(ctx, args)

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        """Run a command line and leave with its exit status."""
        if not standalone_mode:
            return super().main(args, prog_name, complete_var, standalone_mode=False, **extra)
        _exit_on_sigterm()
        try:
            status = super().main(args, prog_name or "tamiz", complete_var, standalone_mode=False, **extra)
        except click.Abort:
            _print_error("interrupted.")
            sys.exit(INTERRUPTED)
        except click.ClickException as error:
            _print_error(error.format_message())
            if isinstance(error, click.UsageError) and error.ctx is not None:
                sys.stderr.write(f"Try '{error.ctx.command_path} -h' for help.\n")
            sys.exit(error.exit_code)
        except Exception:  # noqa: BLE001 - whatever it is, its message may hold names of the table
            sys.stderr.write(escape_control(traceback.format_exc()))
            sys.exit(1)
        sys.exit(status if isinstance(status, int) else 0)


def _exit_on_sigterm() -> None:
    """Have SIGTERM end the process as an exception does, so that temporary files are removed."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(TERMINATED))


def _print_error(message: str) -> None:
    sys.stderr.write(f"tamiz: {escape_nonprintable(message)}\n")


def _error_message(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{error.filename}: {error.strerror.lower()}."
    # A message of numpy or pyarrow may run over several lines.
    return " ".join(str(error).split()) or f"{type(error).__name__}."
