"""The command line that repeats a study: its arguments as options."""

from __future__ import annotations

import inspect
import os
import re
import shlex
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tamiz._study.expressions import NoExpressionError, to_expression
from tamiz.criteria import registry as criteria
from tamiz.graphs import registry as graphs
from tamiz.graphs.weights import Binary
from tamiz.method_lookup import SHORTHAND_PARAMETERS, make_search
from tamiz.reduction.named_maps import find_map_method
from tamiz.runtime.memory import parse_size
from tamiz.runtime.registry import Registry
from tamiz.runtime.verdicts import check_codes
from tamiz.search import registry as searches
from tamiz.search.stopping import AnyOf

# By their long names; a list contains a value for each occurrence of the option.
Options = dict[str, str | int | float | bool | list[str]]

_STOPPING_OPTIONS = {
    "Evaluations": "max-evaluations", "Patience": "patience", "MinGain": "min-gain", "TargetMerit": "target-merit",
}  # fmt: skip
_COLUMN_SET_OPTIONS = {"fixed": "fixed", "excluded": "exclude", "start": "start"}
# Parameters of merits that are options, with their defaults.
_OWN_PARAMETERS = {"convention": "hall", "correction": "none"}
_UNITS = {"GB": 10**9, "GiB": 2**30, "MB": 10**6, "MiB": 2**20, "kB": 10**3}
_UNQUOTED_NAME = re.compile(r"[^\s,\"]([^,\"\n\r]*[^\s,\"])?")


class NoCommandError(ValueError):
    """An argument of a study has no equivalent on the command line."""


def study_command(arguments: Mapping[str, Any], names: list[str]) -> str:
    """Return the command line that runs a study, quoted for a shell.

    Parameters
    ----------
    arguments : mapping
        The arguments of `study` that differ from their defaults, the table first.
    names : list of str
        The columns of the table.

    Raises
    ------
    NoCommandError
        If an argument has no equivalent on the command line.
    """
    options: Options = {}
    for name, value in arguments.items():
        convert = _CONVERTERS.get(name, _plain_option)
        try:
            options |= convert(name, value, {**arguments, "names": names})
        except NoExpressionError as error:
            raise NoCommandError(
                f"The command line has no equivalent of {name}, which was passed as {error}."
            ) from error
    words = ["tamiz", "study"]
    for name, value in options.items():
        if name == "table":
            # A file name that begins with a dash would be read as an option.
            words.append(f"./{value}" if str(value).startswith("-") else str(value))
        elif isinstance(value, bool):
            words.append(f"--{'' if value else 'no-'}{name}")
        else:
            for word in map(str, value if isinstance(value, list) else [value]):
                words += [f"--{name}={word}"] if word.startswith("-") else [f"--{name}", word]
    return shlex.join(words)


def _quote_column_name(name: str) -> str:
    return name if _UNQUOTED_NAME.fullmatch(name) else '"' + name.replace('"', '""') + '"'


def _plain_option(name: str, value: Any, arguments: Mapping[str, Any]) -> Options:
    """Return an option of the argument's own name."""
    del arguments
    if not isinstance(value, str | int | float):
        raise NoExpressionError(f"{type(value).__name__} in memory")
    return {name.replace("_", "-"): value}


def _option_named(option: str) -> Callable[[str, Any, Mapping[str, Any]], Options]:
    return lambda _, value, asked: _plain_option(option, value, asked)


def _table(name: str, value: Any, arguments: Mapping[str, Any]) -> Options:
    del name, arguments
    if not isinstance(value, str | os.PathLike):
        raise NoCommandError("The table was in memory, and the command line reads files.")
    return {"table": Path(value).name}


def _kinds(name: str, value: Any, arguments: Mapping[str, Any]) -> Options:
    del name
    if isinstance(value, str):
        value = dict.fromkeys(arguments["names"], value)
    if "" in value:
        raise NoCommandError("The command line cannot name a column whose name is empty.")
    return {"kinds": [f"{column}={kind}" for column, kind in value.items()]}


def _relevances(name: str, value: Any, arguments: Mapping[str, Any]) -> Options:
    del name
    return {"relevance": [_relevance(part, arguments.get("missing", "distribute")) for part in value]}


def _relevance(criterion: Any, missing: str) -> str:
    entry = _registry_entry(criteria, criterion)
    if entry is None or to_expression(entry.load()().with_missing(missing)) != to_expression(criterion):
        raise NoCommandError(f"The command line has no equivalent of {to_expression(criterion)}.")
    return _command_name(entry)


def _merit(name: str, value: Any, arguments: Mapping[str, Any]) -> Options:
    del name
    entry = _registry_entry(criteria, value)
    if entry is None:
        raise NoCommandError(f"The command line has no equivalent of {to_expression(value)}.")
    parameters = value.get_params(deep=False)
    if entry.kind != "wrapper":
        own = {name: parameters[name] for name in _OWN_PARAMETERS if name in parameters}
        if to_expression(entry.load()(**own).with_missing(arguments.get("missing", "distribute"))) != to_expression(
            value
        ):
            raise NoCommandError(f"The command line has no equivalent of {to_expression(value)}.")
        return {"merit": _command_name(entry)} | {
            name: word for name, word in own.items() if word != _OWN_PARAMETERS[name]
        }
    model, folds, scoring = parameters.pop("estimator"), parameters.pop("cv"), parameters.pop("scoring")
    rebuilt = entry.load()(model, folds, scoring)
    if not isinstance(model, str) or not isinstance(folds, int) or not isinstance(scoring, str | None):
        raise NoCommandError(
            f"The command line has no equivalent of {to_expression(value)}: it accepts models and scores by name and a number of "
            "folds."
        )
    if to_expression(rebuilt) != to_expression(value):
        raise NoCommandError(f"The command line has no equivalent of {to_expression(value)}.")
    usual = inspect.signature(entry.load()).parameters["cv"].default
    return {
        "merit": f"wrapper:{model.replace('_', '-')}",
        **({"scoring": scoring} if scoring is not None else {}),
        **({"folds": folds} if folds != usual else {}),
    }


def _search(name: str, value: Any, arguments: Mapping[str, Any]) -> Options:
    del name
    entry = _registry_entry(searches, value)
    if entry is None:
        raise NoCommandError(f"The command line has no equivalent of {to_expression(value)}.")
    parameters, shorthand = value.get_params(deep=False), SHORTHAND_PARAMETERS.get(entry.name)

    def named(columns: Any) -> list[str]:
        return [column if isinstance(column, str) else arguments["names"][column] for column in columns]

    sets = {part: named(parameters[part]) for part in _COLUMN_SET_OPTIONS if parameters.get(part) is not None}
    groups = [named(group) for group in parameters.get("column_groups") or ()]
    column_options = {**sets, **({"column_groups": groups} if groups else {})}
    word = ""
    if shorthand is not None:
        default = make_search(entry).get_params(deep=False)[shorthand.name]
        if to_expression(parameters[shorthand.name]) != to_expression(default):
            word = str(parameters[shorthand.name])
    try:
        rebuilt = make_search(entry, word, **column_options)
    except ValueError as error:
        raise NoCommandError(f"The command line has no equivalent of {to_expression(value)}: {error}") from error
    # The original may name columns by number.
    if to_expression(rebuilt) != to_expression(value.__class__(**{**parameters, **column_options})):
        raise NoCommandError(f"The command line has no equivalent of {to_expression(value)}.")
    usual = to_expression(make_search(entry, word)) == to_expression(make_search(searches["best_first"]))
    return {
        **({} if usual else {"search": ":".join(filter(None, [_command_name(entry), word]))}),
        **{_COLUMN_SET_OPTIONS[part]: columns for part, columns in sets.items() if columns},
        **({"column-group": [",".join(map(_quote_column_name, group)) for group in groups]} if groups else {}),
    }


def _size(name: str, value: Any, arguments: Mapping[str, Any]) -> Options:
    del name, arguments
    return {"n-features": "-".join(map(str, value)) if isinstance(value, tuple | list) else value}


def _stop(name: str, value: Any, arguments: Mapping[str, Any]) -> Options:
    if isinstance(value, AnyOf):
        first, second = _stop(name, value.first, arguments), _stop(name, value.second, arguments)
        if first.keys() & second.keys():
            raise NoCommandError(
                f"The command line accepts each stopping rule once, and has no equivalent of {to_expression(value)}."
            )
        together = {**first, **second}
        return {option: together[option] for option in _STOPPING_OPTIONS.values() if option in together}
    option = _STOPPING_OPTIONS.get(type(value).__name__)
    if option is None:
        raise NoCommandError(f"The command line has no equivalent of {to_expression(value)}.")
    (limit,) = value.get_params(deep=False).values()
    return {option: int(limit) if float(limit).is_integer() else float(limit)}


def _memory(name: str, value: Any, arguments: Mapping[str, Any]) -> Options:
    """Return the size as a whole number of the largest possible unit."""
    del arguments
    n_bytes = parse_size(name, value)
    unit = next((unit for unit, size in _UNITS.items() if n_bytes % size == 0), "B")
    return {name: f"{n_bytes // _UNITS.get(unit, 1)}{unit}"}


def _journal(name: str, value: Any, arguments: Mapping[str, Any]) -> Options:
    del arguments
    return {name: Path(value).name}


def _maps(name: str, value: Any, arguments: Mapping[str, Any]) -> Options:
    del name, arguments
    if any(not isinstance(part, str) for part in value):
        raise NoCommandError("The command line accepts maps by name, and the study was passed reducers.")
    return {"reduce": [find_map_method(part).name for part in value]}


def _map_columns(name: str, value: Any, arguments: Mapping[str, Any]) -> Options:
    del name, arguments
    return {"map-columns": value if isinstance(value, str) else ",".join(map(_quote_column_name, value))}


def _graph(name: str, value: Any, arguments: Mapping[str, Any]) -> Options:
    del name, arguments
    entry = _registry_entry(graphs, value)
    if entry is None or entry.kind != "builder":
        raise NoCommandError("The command line builds its graph, and the study was passed a built graph.")
    kind, parameters = entry.load(), value.get_params(deep=False)
    first = next(iter(inspect.signature(kind).parameters.values()))
    number = [parameters[first.name]] if first.kind is first.POSITIONAL_OR_KEYWORD else []
    has_metric = "metric" in parameters
    rebuilt = kind(*number).set_params(**({"metric": "seuclidean", "weight": Binary()} if has_metric else {}))
    width = None if parameters["weight"] is None else parameters["weight"].get_params().get("t")
    if width is not None:
        rebuilt.set_params(weight=graphs["heat_kernel"].load()(width))
    if to_expression(rebuilt) != to_expression(value):
        raise NoCommandError(f"The command line has no equivalent of {to_expression(value)}.")
    word = f"{number[0]:g}" if number and float(f"{number[0]:g}") == number[0] else "".join(map(repr, number))
    return {
        "graph": ":".join(filter(None, [_command_name(entry), word])),
        **({"t": width} if width is not None else {}),
    }


def _points(name: str, value: Any, arguments: Mapping[str, Any]) -> Options:
    del arguments
    return {f"no-{name}": True} if value is False else {name: int(value)}


def _seed(name: str, value: Any, arguments: Mapping[str, Any]) -> Options:
    del name, arguments
    if not isinstance(value, int):
        raise NoCommandError("The study ran without an integer seed, so another run uses other random draws.")
    return {"seed": value}


def _registry_entry(registry: Registry, method: Any) -> Any:
    return next(
        (entry for entry in registry if entry.attribute == type(method).__name__ and entry.load() is type(method)), None
    )


def _command_name(entry: Any) -> str:
    return str(entry.name).replace("_", "-")


def _mute(name: str, value: Any, arguments: Mapping[str, Any]) -> Options:
    del name, arguments
    return {"mute": sorted(check_codes(value))}


# Arguments that are not written under their own name and unchanged.
_CONVERTERS: dict[str, Callable[[str, Any, Mapping[str, Any]], Options]] = {
    "data": _table,
    "kinds": _kinds,
    "groups": _option_named("group"),
    "relevances": _relevances,
    "merit": _merit,
    "search": _search,
    "maps": _maps,
    "map_columns": _map_columns,
    "graph": _graph,
    "n_features": _size,
    "stop": _stop,
    "journal": _journal,
    "memory": _memory,
    "mute": _mute,
    "points": _points,
    "random_state": _seed,
}
