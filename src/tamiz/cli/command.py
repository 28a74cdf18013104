"""Base classes of the commands: errors become one sentence on standard error and an exit status."""

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
from tamiz.runtime.user_warnings import mute_codes
from tamiz.runtime.verdicts import check_codes

INTERRUPTED, TERMINATED = 130, 143
# tamiz raises these for unusable data and failed runs. Any other exception is a defect and keeps its traceback.
_USER_ERRORS = (ValueError, TypeError, OSError, MemoryError, ImportError)


class CommandError(click.ClickException):
    """The data or the run failed."""

    exit_code = 1


class DataCommand(click.Command):
    """A command that works on data: `click.pass_obj` passes a `Messenger` to its callback."""

    def __init__(self, name: str | None, *, params: list[click.Parameter] | None = None, **attributes: Any) -> None:
        common: list[click.Parameter] = [
            click.Option(
                ["-q", "--quiet"],
                is_flag=True,
                help="Print no notes, warnings, summary or progress; errors are still printed.",
            ),
            click.Option(
                ["--mute"],
                multiple=True,
                metavar="CODE",
                help="Leave out notes and warnings of this code, such as TZ204 (may be repeated; tamiz explain lists the codes).",
            ),
            click.Option(["--debug"], is_flag=True, help="Show the traceback of a failure (also TAMIZ_DEBUG=1)."),
        ]
        super().__init__(name, params=[*(params or ()), *common], **attributes)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command, and raise a `CommandError` of one sentence for an error of the data or the run."""
        ctx.obj = Messenger(quiet=ctx.params.pop("quiet"))
        debug = ctx.params.pop("debug") or os.environ.get("TAMIZ_DEBUG", "0") not in ("", "0")
        try:
            with mute_codes(check_codes(ctx.params.pop("mute"))):
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
        """Return the command that the arguments name; fail with the closest name where there is none."""
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
        """Run a command line and exit with its status."""
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
        except Exception:  # noqa: BLE001 - any message can contain names of the table, which are escaped
            sys.stderr.write(escape_control(traceback.format_exc()))
            sys.exit(1)
        sys.exit(status if isinstance(status, int) else 0)


def _exit_on_sigterm() -> None:
    """Make SIGTERM raise SystemExit, so that temporary files are removed."""
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(TERMINATED))


def _print_error(message: str) -> None:
    sys.stderr.write(f"tamiz: {escape_nonprintable(message)}\n")


def _error_message(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{error.filename}: {error.strerror.lower()}."
    # Messages of numpy and pyarrow can contain line breaks.
    return " ".join(str(error).split()) or f"{type(error).__name__}."
