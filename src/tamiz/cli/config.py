"""`--config`: read options of a command from a TOML file, whose keys are the long names of the options."""

from __future__ import annotations

import csv
import io
import re
import tomllib
from pathlib import Path
from typing import Any

import click

from tamiz.cli.command import option
from tamiz.cli.options import FILE
from tamiz.cli.terminal import STDOUT
from tamiz.runtime.registry import suggestion

_MAX_REPR_LENGTH = 60


def _load_config(context: click.Context, param: click.Parameter, config: Path | None) -> None:
    """Make the values of the file the defaults of the command line."""
    del param
    if config is None or context.resilient_parsing:
        return
    text = _read_text(config, context)
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        message = str(error)
        raise click.UsageError(f"{config} is not TOML: {message[:1].lower()}{message[1:]}.", context) from error
    known = {_option_name(one): one for one in context.command.params if one.expose_value}
    found: dict[str, Any] = {}
    for key, value in content.items():
        try:
            if key not in known:
                hint = suggestion(key, known) or f"; there are {', '.join(known)}"
                raise click.UsageError(f"there is no such key{hint}")
            known_option = known[key]
            found[str(known_option.name)] = converted = _convert_value(known_option, value, config.parent)
            # Checked here, so that the error names the line of the file.
            known_option.process_value(context, converted)
        except click.UsageError as error:
            message = f"{config}{_line_text(text, key)}, {key}: {error.message.rstrip('.')}."
            raise click.UsageError(message, context) from error
    context.default_map = {**(context.default_map or {}), **found}


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
    written = re.escape(key)
    found = re.search(rf"^[ \t]*(\[[ \t]*)?[\"']?{written}[\"']?[ \t]*[].=]", text, re.MULTILINE)
    return "" if found is None else f", line {text.count(chr(10), 0, found.start()) + 1}"


def _convert_value(param: click.Parameter, value: Any, folder: Path) -> Any:
    """Return a value of the file as click expects it from the command line."""
    if isinstance(param, click.Option) and param.is_flag:
        if not isinstance(value, bool):
            raise click.UsageError(f"it must be true or false, got {_short_repr(value)}")
        return value
    if isinstance(param, click.Option) and param.multiple:
        return _convert_values(param, value)
    text = _scalar_text(value)
    if isinstance(param.type, click.Path) and Path(text) != STDOUT:
        return str(folder / text)
    return text


def _convert_values(param: click.Option, value: Any) -> list[str]:
    pairs = "=" in str(param.metavar)
    if pairs and isinstance(value, dict):
        return [f"{name}={_scalar_text(item)}" for name, item in value.items()]
    if not isinstance(value, list):
        raise click.UsageError(
            f"it must be {'a table of names and values' if pairs else 'a list'}, got {_short_repr(value)}"
        )
    comma_separated = "," in str(param.metavar)
    return [_csv_line(item) if comma_separated and isinstance(item, list) else _scalar_text(item) for item in value]


def _csv_line(names: list[Any]) -> str:
    written = io.StringIO()
    csv.writer(written, quoting=csv.QUOTE_ALL, lineterminator="").writerow(map(_scalar_text, names))
    return written.getvalue()


def _scalar_text(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        raise click.UsageError(f"it must be text or a number, got {_short_repr(value)}")
    return str(value)


def _short_repr(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= _MAX_REPR_LENGTH else f"{text[:_MAX_REPR_LENGTH]}..."


CONFIG = option(
    "--config FILE",
    FILE,
    "Read options from a TOML file. Keys are the long names of options, and table; repeatable options are lists; "
    'kinds = {zip = "categorical"}. Paths are relative to the folder of the file. Options on the command line override it.',
    is_eager=True,
    expose_value=False,
    callback=_load_config,
)
