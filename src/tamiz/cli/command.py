"""Commands and the declaration of their options; errors become one sentence on standard error and an exit status.

A command is a function whose parameters are its options: the default value of each is an `option`, or a `bundle`, a dataclass whose
fields are options.
"""

from __future__ import annotations

import errno
import functools
import inspect
import os
import re
import shlex
import signal
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable, Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any, NamedTuple

import click
from click.core import ParameterSource

from tamiz.cli.files import PIPE_FOLDER
from tamiz.cli.terminal import Messenger, escape_control, escape_nonprintable
from tamiz.runtime.registry import suggestion
from tamiz.runtime.user_warnings import mute_codes
from tamiz.runtime.verdicts import check_codes

INTERRUPTED, TERMINATED = 130, 143
# tamiz raises these for unusable data and failed runs. Any other exception is a defect and keeps its traceback.
_USER_ERRORS = (ValueError, TypeError, OSError, MemoryError, ImportError)


# The options of all commands under the headings of their help.
_HEADINGS = {
    "Table": "target kinds header encoding sep na on-bad-rows missing weight weights group time memory config",
    "Choose": "relevance method merit n-features components columns keep-leaks fixed exclude column-group allow-duplicates measure "
    "threshold n-pairs fdr max-false max-iter top keep fill-missing categories correction convention",
    "Search": "search start journal max-seconds max-evaluations patience min-gain target-merit",
    "Assess": "assess semi-synthetic scoring folds random-folds stability",
    "Maps": "reduce map-columns map-rows dissimilarity graph t points no-points",
    "Output": "output json model plot escape-formulas dry-run verbose quiet mute debug",
    "Run": "seed jobs workers scheduler",
}
# The options of the short help.
_MAIN_OPTIONS = {
    "target", "kinds", "group", "relevance", "method", "merit", "n-features", "components", "columns", "keep-leaks", "top", "keep",
    "fill-missing", "search", "max-seconds", "output", "json", "model", "plot", "dry-run",
}  # fmt: skip
_SHORT_HELP, _WORDS = "tamiz.short_help", "tamiz.words"
# The result of a command does not depend on these.
_IRRELEVANT_OPTIONS = {"jobs", "workers", "scheduler", "output", "json_output", "verbose", "quiet", "debug"}


def option(words: str, kind: Any = None, text: str = "", **settings: Any) -> Any:
    """Return an option, the default of its parameter or field; `words` are its names and metavar: "-k --top K"."""
    names = [word for word in words.split() if word.startswith("-")]
    metavar = next((word for word in words.split() if not word.startswith("-")), None)
    shown = settings.get("default") is not None
    return lambda name: click.Option(
        [*names, name], type=kind, metavar=metavar, help=text, show_default=shown, **settings
    )


def flag(words: str, text: str, **settings: Any) -> Any:
    return option(words, text=text, is_flag=True, **settings)


def argument(kind: Any, **settings: Any) -> Any:
    """Return an argument of the command line that is named by the parameter or field whose default it is."""
    return lambda name: click.Argument([name], type=kind, **settings)


class _Bundle(NamedTuple):
    kind: type[Any]
    options: dict[str, Any]

    def make(self, values: Mapping[str, Any]) -> Any:
        return self.kind(**{name: values.get(name) for name in self.options})


def bundle(kind: type[Any], **replaced: Any) -> Any:
    """Return the options of a dataclass, which the command receives as one argument.

    Options in `replaced` take the place of those of the class; a field that is None there is None, and no option of the command.
    """
    return _Bundle(kind, {field.name: replaced.get(field.name, field.default) for field in fields(kind)})


def _show_short_help(ctx: click.Context, param: click.Parameter, asked: bool) -> None:
    del param
    if not asked or ctx.resilient_parsing:
        return
    ctx.meta[_SHORT_HELP] = True
    click.echo(ctx.get_help(), color=ctx.color)
    ctx.exit()


# The options of every command.
_COMMON = {
    "quiet": flag("-q --quiet", "Print no notes, warnings, summary or progress; errors are still printed."),
    "mute": option(
        "--mute CODE",
        text="Leave out notes and warnings of this code, such as TZ204 (may be repeated; tamiz explain lists the codes).",
        multiple=True,
    ),
    "debug": flag("--debug", "Show the traceback of a failure (also TAMIZ_DEBUG=1)."),
    "short_help": flag(
        "-h",
        "Show the main options; --help shows all.",
        is_eager=True,
        expose_value=False,
        callback=_show_short_help,
    ),
}


class DataCommand(click.Command):
    """A command whose object is a `Messenger`."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Keep the words of the command line for `repeat_command`."""
        ctx.meta[_WORDS] = list(args)
        return super().parse_args(ctx, args)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options under headings; those of the short help are the main ones."""
        options = [param for param in self.get_params(ctx) if isinstance(param, click.Option)]
        is_short = ctx.meta.get(_SHORT_HELP, False)
        sections: dict[str, list[tuple[str, str]]] = {heading: [] for heading in (*_HEADINGS, "Help")}
        for option in options:
            names = {name.removeprefix("--") for name in option.opts}
            record = option.get_help_record(ctx)
            if record is None or (is_short and not names & _MAIN_OPTIONS):
                continue
            heading = next((one for one, known in _HEADINGS.items() if names & set(known.split())), "Help")
            sections[heading].append((record[0], _first_words(record[1])) if is_short else record)
        for heading, rows in sections.items():
            if rows:
                with formatter.section(heading):
                    formatter.write_dl(rows)
        if is_short:
            formatter.write_paragraph()
            formatter.write_text(f"{ctx.command_path} --help shows all {len(options) - 1} options.")

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command, and raise a `click.ClickException` of one sentence for an error of the data or the run."""
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
            raise click.ClickException(_error_message(error)) from error


def command(short_help: str, name: str | None = None, **silent: Any) -> Callable[[Callable[..., None]], DataCommand]:
    """Return a decorator that makes a command of a function, to which the options in `silent` are not passed."""

    def decorate(function: Callable[..., None]) -> DataCommand:
        parameters = {one.name: one.default for one in list(inspect.signature(function).parameters.values())[1:]}
        options: dict[str, Any] = {}
        for parameter, default in parameters.items():
            options |= default.options if isinstance(default, _Bundle) else {parameter: default}

        def run(messenger: Messenger, /, **values: Any) -> None:
            made = {name: one.make(values) for name, one in parameters.items() if isinstance(one, _Bundle)}
            function(messenger, **{name: made.get(name, values.get(name)) for name in parameters})

        return DataCommand(
            name or function.__name__,
            params=[make(one) for one, make in {**options, **silent, **_COMMON}.items() if make is not None],
            callback=click.pass_obj(run),
            help=inspect.getdoc(function),
            short_help=short_help,
        )

    return decorate


def repeat_command(context: click.Context) -> str:
    """Return the command line with its config file's options, without folders and without options that change no result."""
    command = context.command
    given = {
        ParameterSource.COMMANDLINE: command.make_parser(context).parse_args(list(context.meta[_WORDS]))[0],
        ParameterSource.DEFAULT_MAP: context.default_map or {},
    }
    words = ["tamiz", str(command.name)]
    for param in command.params:
        name = str(param.name)
        source = context.get_parameter_source(name)
        if source not in given or name in _IRRELEVANT_OPTIONS or not param.expose_value:
            continue
        value = given[source][name]
        values = value if isinstance(value, list | tuple) else [value]
        if isinstance(param.type, click.Path):
            values = [Path(value).name for value in values]
        if isinstance(param, click.Argument):
            # A file name that begins with a dash would be read as an option.
            words += [f"./{value}" if value.startswith("-") and value != "-" else value for value in values]
            continue
        for value in values:
            option = max(param.secondary_opts if value is False else param.opts, key=len)
            if isinstance(value, bool):
                words.append(option)
            else:
                words += [f"{option}={value}"] if str(value).startswith("-") else [option, str(value)]
    return shlex.join(words)


def _first_words(text: str) -> str:
    """Return the first sentence of a help text, or what stands before its colon."""
    return re.split(r"[.:;] |  \[", text, maxsplit=1)[0].rstrip(".") + "."


class CommandGroup(click.Group):
    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return the command that the arguments name; fail with the closest name where there is none."""
        if args and args[0] not in self.commands and not args[0].startswith("-"):
            known = self.list_commands(ctx)
            ctx.fail(f"There is no command {args[0]!r}{suggestion(args[0], known)}; there are {', '.join(known)}.")
        return super().resolve_command(ctx, args)

    def main(self, *args: Any, standalone_mode: bool = True, **settings: Any) -> Any:
        """Run a command line and exit with its status."""
        run: Any = functools.partial(super().main, *args, standalone_mode=False, **{"prog_name": "tamiz", **settings})
        if not standalone_mode:
            return run()
        _exit_on_sigterm()
        # Python has no stream where the caller has closed it.
        sys.stdout, sys.stderr = (stream or open(os.devnull, "w") for stream in (sys.stdout, sys.stderr))  # noqa: SIM115
        try:
            status = run()
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
    message = re.sub(rf"\S*{PIPE_FOLDER}\w+/", "", message)
    sys.stderr.write(f"tamiz: {escape_nonprintable(message)}\n")


def _error_message(error: BaseException) -> str:
    if isinstance(error, OSError) and error.strerror and error.filename:
        return f"{error.filename}: {error.strerror.lower()}."
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EFBIG):
        where = f"Standard output, or {tempfile.gettempdir()}, the folder of temporary files (TMPDIR),"
        return f"{where} cannot be written: {os.strerror(error.errno).lower()}."
    no_memory = type(error) is MemoryError and not error.args
    if no_memory or (isinstance(error, ImportError) and "failed to map" in str(error)):
        return "The memory of the process does not suffice; if it is limited (ulimit -v), set at least 1.5 GB."
    # Messages of numpy and pyarrow can contain line breaks.
    return " ".join(str(error).split()) or f"{type(error).__name__}."
