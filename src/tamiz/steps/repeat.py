"""How a study is repeated: a command line, a script and a config file that give the same numbers."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from sklearn.base import BaseEstimator, clone

from tamiz.criteria.cfs import CFS
from tamiz.search.best_first import BestFirst
from tamiz.selection import SubsetSelector
from tamiz.sources.base import Source
from tamiz.sources.schema import Schema
from tamiz.steps.options import NoCommandError, as_command, as_config, study_options
from tamiz.steps.spelling import Speller, UnspelledError, call, spelled

_OF_TABLE = ("target", "kinds", "weight", "groups", "time", "memory", "header")
# Kinds that a data frame can be given its columns as, or rid of.
_OF_FRAMES = ("categorical", "boolean", "text", "id")
_LEFT_OUT = ("text", "id")
# The result does not depend on it, and so says nothing of it.
_NO_MATTER = ("n_jobs",)
_LONGEST_REPR = 120


def describe_repeat(
    function: Callable[..., Any], arguments: Mapping[str, Any], schema: Schema, selector: SubsetSelector | None
) -> dict[str, Any]:
    """Return how a study is repeated by whoever has its table in the folder.

    Parameters
    ----------
    function : callable
        `study`.
    arguments : mapping
        What it was called with, every parameter of it.
    schema : Schema
    selector : SubsetSelector or None
        What chose the subset, None where none was chosen.

    Returns
    -------
    dict
        "command" and "config", None where "no_command" says why there are none; "python"; "given", the names in it that stand for
        what was in memory.
    """
    asked = _that_differ(function, arguments)
    try:
        options = study_options(asked, schema.names)
        command, config, why = as_command(options), as_config(options), None
    except NoCommandError as error:
        command, config, why = None, None, str(error)
    script = _Script(asked, schema)
    script.study()
    if selector is not None:
        script.selection(selector)
    return {"command": command, "config": config, "no_command": why, "python": script.text(), "given": script.given}


def _that_differ(function: Callable[..., Any], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments that differ from their defaults, and from what stands for None."""
    usual = {name: one.default for name, one in inspect.signature(function).parameters.items()}
    missing = arguments["missing"]
    parts = {"merit": spelled(CFS(missing=missing)), "search": spelled(BestFirst())}
    asked = {}
    for name, value in arguments.items():
        if name in _NO_MATTER:
            continue
        if value is usual[name] or (isinstance(value, str | int | float) and value == usual[name]):
            # True is 1, and as a number of points it is none.
            if type(value) is type(usual[name]):
                continue
        elif name in parts and _spelled_or_none(value) == parts[name]:
            continue
        asked[name] = value
    return asked


def _spelled_or_none(value: Any) -> str | None:
    try:
        return spelled(value)
    except UnspelledError:
        return None


class _Script:
    """Lines of Python, their imports, and the names that stand for what has no expression."""

    def __init__(self, asked: Mapping[str, Any], schema: Schema) -> None:
        self._speller = Speller()
        self._asked = asked
        self._schema = schema
        self._lines: list[str] = []
        self._of_given: dict[str, str] = {}
        data = asked["data"]
        self._file = Path(data).name if isinstance(data, str | os.PathLike) else None

    @property
    def given(self) -> list[str]:
        """The names that stand for what was in memory."""
        return list(self._of_given)

    def text(self) -> str:
        """Return the script."""
        held = [f"{name} = ...  # {told}" for name, told in self._of_given.items()]
        head = ["# In place of each ... stands what the study was given.", *held, ""] if held else []
        return "\n".join([*self._speller.import_lines(), "", *head, *self._lines, ""])

    def study(self) -> None:
        """Add the study and its report."""
        self._import("tamiz", "study")
        named = [(name, value) for name, value in self._asked.items() if name != "data"]
        arguments = [
            self._value("data", self._asked["data"]),
            *(f"{name}={self._value(name, value)}" for name, value in named),
        ]
        page = f"{Path(self._file).stem}-report.html" if self._file else "report.html"
        self._lines += [f"result = {call('study', arguments)}", f"result.to_html({page!r})"]

    def selection(self, selector: SubsetSelector) -> None:
        """Add the selection alone, and as a step of a pipeline where one can take the table."""
        chosen = self._constructed(selector)
        self._lines += ["", "# The selection alone.", *self._opened("source"), f"selector = {chosen}.fit(source)"]
        self._lines += ["print(selector.get_feature_names_out().tolist())"]
        if self._fits_pipeline() and selector.support_.any():
            self._pipeline(chosen)

    def _constructed(self, selector: SubsetSelector) -> str:
        self._import("tamiz", "SubsetSelector")
        # What was written down stays with the search that wrote it.
        parameters = clone(selector).set_params(journal=None, n_jobs=None).get_params(deep=False)
        order = ("merit", "search")
        usual = inspect.signature(SubsetSelector).parameters
        rest = [name for name, value in parameters.items() if name not in order and value is not usual[name].default]
        values = [self._value(name, parameters[name]) for name in order]
        # The order of the signature, whatever the dictionary's is.
        rest.sort(key=list(usual).index)
        return call("SubsetSelector", [*values, *(f"{name}={self._value(name, parameters[name])}" for name in rest)])

    def _opened(self, name: str) -> list[str]:
        if "data" in self._of_given and self._is_source():
            opened = "data"
        else:
            self._import("tamiz", "open_source")
            roles = [f"{role}={self._value(role, self._asked[role])}" for role in _OF_TABLE if role in self._asked]
            opened = call("open_source", [self._value("data", self._asked["data"]), *roles])
        if self._schema.split:
            self._import("tamiz.sources", "split_dates")
            opened = call("split_dates", [opened])
        return [f"{name} = {opened}"]

    def _is_source(self) -> bool:
        return isinstance(self._asked["data"], Source)

    def _fits_pipeline(self) -> bool:
        """Whether a frame holds what the selection depends on: times, kinds of numbers and parts of dates have no place in it."""
        kinds = self._asked.get("kinds") or {}
        by_name = self._file is not None and isinstance(kinds, Mapping)
        roles = [self._asked[role] for role in ("target", "weight", "groups") if role in self._asked]
        return (
            by_name
            and self._schema.target is not None
            and all(isinstance(role, str) for role in roles)
            and "time" not in self._asked
            and not self._schema.split
            and all(kind in _OF_FRAMES for kind in kinds.values())
        )

    def _pipeline(self, chosen: str) -> None:
        asked, kinds = self._asked, self._asked.get("kinds") or {}
        target = asked["target"]
        self._import("sklearn.pipeline", "make_pipeline")
        self._import("tamiz", "open_source")
        roles = [asked[role] for role in ("target", "weight", "groups") if role in asked]
        dropped = [*roles, *(name for name, kind in kinds.items() if kind in _LEFT_OUT and name not in roles)]
        levels = {name: kind for name, kind in kinds.items() if kind not in _LEFT_OUT}
        named = [f"{name}={asked[name]!r}" for name in ("header",) if name in asked]
        opened = [repr(self._file), *([f"kinds={levels!r}"] if levels else []), *named]
        lines = ["", "# The same as a step of a scikit-learn pipeline: whatever fits it chooses the columns anew."]
        lines += [f"table = {call('open_source', opened)}.frame()"]
        for name in levels:
            lines.append(f"at = table.column_names.index({name!r})")
            lines.append(f"table = table.set_column(at, {name!r}, table[{name!r}].cast('string').dictionary_encode())")
        if self._schema.n_dropped:
            lines.append(f"table = table.filter(table[{target!r}].is_valid())")
        y = f"table[{target!r}]"
        if self._schema.has_classes:
            last = [self._import("tamiz", "MixedNB")]
        else:
            y = f"{y}.to_numpy()"
            pca, model = (
                self._import("tamiz.reduction", "PCA"),
                self._import("sklearn.linear_model", "LinearRegression"),
            )
            last = [f"{pca}(0.95, standardize=True)", model]
        steps = [chosen, *(step if step.endswith(")") else f"{step}()" for step in last)]
        fitted = ["X", "y"]
        for role, parameter in (("weight", "sample_weight"), ("groups", "groups")):
            if role in asked:
                fitted.append(f"subsetselector__{parameter}=table[{asked[role]!r}]")
        lines += [
            f"X, y = table.drop_columns({dropped!r}), {y}",
            f"pipeline = {call('make_pipeline', steps)}",
            f"pipeline{call('.fit', fitted)}",
            "print(pipeline[0].get_feature_names_out().tolist())",
        ]
        self._lines += lines

    def _import(self, module: str, name: str) -> str:
        self._speller.imports.setdefault(module, set()).add(name)
        return name

    def _value(self, name: str, value: Any) -> str:
        """Return an expression, or a name that stands for what has none."""
        if name in ("data", "journal") and isinstance(value, str | os.PathLike):
            # Whose folder it was is nobody's business.
            return repr(Path(value).name)
        try:
            return self._speller.spell(value)
        except UnspelledError:
            self._of_given[name] = _told(value)
            return name


def _told(value: Any) -> str:
    """Return what a value was, without a row of a table in it."""
    if isinstance(value, BaseEstimator):
        told = " ".join(repr(value).split())
        return told if len(told) <= _LONGEST_REPR else f"{told[:_LONGEST_REPR]}..."
    kind = type(value)
    home = kind.__module__.split(".")[0]
    return kind.__name__ if home == "builtins" else f"{home} {kind.__name__}"
