"""`--config`: a file with what is longer than a line, in TOML, its keys the long names of the command's own options."""

from __future__ import annotations

import csv
import io
import re
import tomllib
from pathlib import Path
from typing import Any

import click

from tamiz.cli.files import STDOUT
from tamiz.cli.options import FILE, Command
from tamiz.runtime.registry import suggestion

_MAX_REPR_LENGTH = 60


def config_option(command: Command) -> Command:
    """Add the file; what stands on the command line wins over it."""
    return click.option(
        "--config",
        type=FILE,
        metavar="FILE",
        is_eager=True,
        expose_value=False,
        callback=_load_config,
        help="Take options from a TOML file: keys are the long names of options, and table; lists where an option is repeatable, "
        'kinds = {zip = "categorical"}. Files are named from its folder. Options on the command line win.',
    )(command)


def _load_config(context: click.Context, param: click.Parameter, config: Path | None) -> None:
    """Lay what the file says under the command line."""
    if config is None or context.resilient_parsing:
        return
    text = _read_text(config, context)
    try:
        said = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        told = str(error)
        raise click.UsageError(f"{config} is not TOML: {told[:1].lower()}{told[1:]}.", context) from error
    known = {_option_name(one): one for one in context.command.params if one is not param}
    found: dict[str, Any] = {}
    for key, value in said.items():
        try:
            if key not in known:
                way_out = suggestion(key, known) or f"; there are {', '.join(known)}"
                raise _ConfigError(f"there is no such key{way_out}")
            option = known[key]
            assert option.name is not None
            found[option.name] = _convert_value(option, value, config.parent)
            # Now, so that what is wrong is told by its line.
            option.process_value(context, found[option.name])
        except (_ConfigError, click.UsageError) as error:
            told = error.message if isinstance(error, click.UsageError) else str(error)
            raise click.UsageError(f"{config}{_line_text(text, key)}, {key}: {told.rstrip('.')}.", context) from error
    context.default_map = {**(context.default_map or {}), **found}


class _ConfigError(ValueError):
    """A key or a value is not one of the command's."""


def _read_text(config: Path, context: click.Context) -> str:
    try:
        return config.read_text(encoding="utf-8-sig")
    except OSError as error:
        raise click.UsageError(f"{config} cannot be read: {str(error.strerror).lower()}.", context) from error
    except UnicodeDecodeError as error:
        raise click.UsageError(f"{config} is not TOML: it is not text in UTF-8.", context) from error


def _option_name(param: click.Parameter) -> str:
    """Return the long name of an option, or the name of an argument."""
    return max(param.opts, key=len).lstrip("-")


def _line_text(text: str, key: str) -> str:
    """Return where a key stands; nothing where the file writes it in an unusual way."""
    written = re.escape(key)
    found = re.search(rf"^[ \t]*(\[[ \t]*)?[\"']?{written}[\"']?[ \t]*[].=]", text, re.MULTILINE)
    return "" if found is None else f", line {text.count(chr(10), 0, found.start()) + 1}"


def _convert_value(param: click.Parameter, value: Any, folder: Path) -> Any:
    """Return a value as the command line would have it."""
    if isinstance(param, click.Option) and param.is_flag:
        if not isinstance(value, bool):
            raise _ConfigError(f"it is true or false, got {_short_repr(value)}")
        return value
    if isinstance(param, click.Option) and param.multiple:
        return _convert_values(param, value)
    told = _scalar_text(value)
    if isinstance(param.type, click.Path) and Path(told) != STDOUT:
        return str(folder / told)
    return told


def _convert_values(param: click.Option, value: Any) -> list[str]:
    pairs = "=" in str(param.metavar)
    if pairs and isinstance(value, dict):
        return [f"{name}={_scalar_text(item)}" for name, item in value.items()]
    if not isinstance(value, list):
        raise _ConfigError(f"it is {'a table of names and values' if pairs else 'a list'}, got {_short_repr(value)}")
    together = "," in str(param.metavar)
    return [_csv_line(item) if together and isinstance(item, list) else _scalar_text(item) for item in value]


def _csv_line(names: list[Any]) -> str:
    """Return names with commas between them."""
    written = io.StringIO()
    csv.writer(written, quoting=csv.QUOTE_ALL, lineterminator="").writerow(map(_scalar_text, names))
    return written.getvalue()


def _scalar_text(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise _ConfigError(f"it is text or a number, got {_short_repr(value)}")
    return str(value)


def _short_repr(value: Any) -> str:
    told = repr(value)
    return told if len(told) <= _MAX_REPR_LENGTH else f"{told[:_MAX_REPR_LENGTH]}..."
