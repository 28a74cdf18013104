"""Reproduction of a study: a Python script that gives the same numbers."""

from __future__ import annotations

import inspect
import math
import os
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone

from tamiz.report.records.study import ReproductionRecord
from tamiz.search.stopping import AllOf, AnyOf
from tamiz.selection.subset_selector import SubsetSelector
from tamiz.table.base import Table
from tamiz.table.schema import Schema
from tamiz.table.views import MISSING_LEVEL

_TABLE_OPTIONS = ("target", "kinds", "weight", "weights", "groups", "time", "memory", "header")
# Kinds that a column of a data frame can be converted to, or dropped for.
_FRAME_KINDS = ("categorical", "boolean", "text", "id")
_EXCLUDED_KINDS = ("text", "id")
# Options that the result does not depend on.
_IRRELEVANT_OPTIONS = ("n_jobs",)
# Options that change the compared selections.
_CANDIDATE_OPTIONS = {"missing", "selector"}
_MAX_REPR_LENGTH, _MAX_LINE_LENGTH = 120, 96


def describe_reproduction(
    function: Callable[..., Any],
    arguments: Mapping[str, Any],
    schema: Schema,
    selector: SubsetSelector | None,
    comparison: Mapping[str, Any] | None,
    excluded: Sequence[str] = (),
    roles: Mapping[str, str] | None = None,
) -> ReproductionRecord:
    """Return the code that reproduces a study, for a reader with the table in the working folder.

    Parameters
    ----------
    function : callable
        `study`.
    arguments : mapping
        The value of every parameter.
    schema : Schema
    selector : SubsetSelector or None
        The selector of the subset, if there is one.
    comparison : mapping or None
        The arguments of `recommend_columns`, if it selected the columns.
    excluded : sequence of str, default=()
        The columns that the study set aside.
    roles : mapping, default=None
        The groups or the time of the rows that the study found by itself.
    """
    changed = _changed_arguments(function, arguments)
    script = _Script(changed, schema)
    script.add_study()
    # A Table in memory cannot be opened with other roles.
    if selector is not None and not (roles and isinstance(arguments["data"], Table)):
        if excluded:
            others = selector.search_.get_params(deep=False)["excluded"] or ()
            selector = copy(selector)
            selector.search = clone(selector.search_).set_params(excluded=[*others, *excluded])
        script.add_selection(selector, roles or {})
    elif comparison is not None and not excluded and not roles and not changed.keys() & _CANDIDATE_OPTIONS:
        script.add_comparison(comparison)
    return ReproductionRecord(python=script.text(), placeholders=tuple(script.placeholders))


def _changed_arguments(function: Callable[..., Any], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments that differ from their defaults."""
    usual = {name: one.default for name, one in inspect.signature(function).parameters.items()}
    changed = {}
    for name, value in arguments.items():
        if name in _IRRELEVANT_OPTIONS or (name == "selector" and repr(value) == repr(SubsetSelector())):
            continue
        # points=1 equals the default True, but is a number of points.
        default = usual.get(name)
        equal = isinstance(value, str | int | float) and value == default and type(value) is type(default)
        if value is not default and not equal:
            changed[name] = value
    return changed


class _Script:
    """Lines of Python, their imports, and placeholders for values without an expression."""

    def __init__(self, arguments: Mapping[str, Any], schema: Schema) -> None:
        self._writer = ExpressionWriter()
        self._arguments = arguments
        self._schema = schema
        self._lines: list[str] = []
        self.placeholders: dict[str, str] = {}
        data = arguments["data"]
        self._file = Path(data).name if isinstance(data, str | os.PathLike) else None

    def text(self) -> str:
        """Return the script."""
        placeholders = [f"{name} = ...  # {comment}" for name, comment in self.placeholders.items()]
        head = (
            ["# Replace each ... by the object that was passed to the study.", *placeholders, ""]
            if placeholders
            else []
        )
        return "\n".join([*self._writer.import_lines(), "", *head, *self._lines, ""])

    def add_study(self) -> None:
        """Add the study and its report."""
        self._add_import("tamiz", "study")
        named = [(name, value) for name, value in self._arguments.items() if name != "data"]
        arguments = [
            self._expression("data", self._arguments["data"]),
            *(f"{name}={self._expression(name, value)}" for name, value in named),
        ]
        page = f"{Path(self._file).stem}-report.html" if self._file else "report.html"
        self._lines += [f"result = {format_call('study', arguments)}", f"result.to_html({page!r})"]

    def add_selection(self, selector: SubsetSelector, roles: Mapping[str, str]) -> None:
        """Add the selection alone with further roles of columns, and as a step of a pipeline if a pipeline can reproduce it."""
        self._arguments = {**self._arguments, **roles}
        chosen = self._selector_expression(self._fitted_parameters(selector))
        self._lines += [
            "",
            "# Only the selection of the section Subset.",
            *self._source_lines(),
            f"selector = {chosen}.fit(table)",
        ]
        self._lines += ["print(selector.get_feature_names_out().tolist())"]
        if self._supports_pipeline() and selector.support_.any():
            self._add_pipeline(chosen)

    def add_comparison(self, options: Mapping[str, Any]) -> None:
        """Add the comparison of selections alone."""
        self._add_import("tamiz.assessment", "recommend_columns")
        named = [f"{name}={value!r}" for name, value in options.items()]
        self._lines += [
            "",
            "# Only the recommended columns.",
            *self._source_lines(),
            f"found = {format_call('recommend_columns', ['table', *named])}",
            "print(list(found.columns))",
        ]

    def _fitted_parameters(self, selector: SubsetSelector) -> dict[str, Any]:
        """Return the parameters with which a fitted selector finds the same columns in the whole table."""
        # The journal belongs to the original search.
        parameters = clone(selector).set_params(journal=None, n_jobs=None).get_params(deep=False)
        searched, used = selector.schema_, set(self._schema.used.tolist())
        left_out = [searched.names[j] for j in sorted(used - set(searched.used.tolist()))]
        if left_out:
            search = selector.search_
            excluded = [*(search.get_params(deep=False).get("excluded") or ()), *left_out]
            parameters["search"] = clone(search).set_params(excluded=excluded)
        return parameters

    def _selector_expression(self, parameters: Mapping[str, Any]) -> str:
        self._add_import("tamiz", "SubsetSelector")
        arguments: list[str] = []
        for place, one in enumerate(inspect.signature(SubsetSelector).parameters.values()):
            if parameters[one.name] is not one.default and one.name not in _IRRELEVANT_OPTIONS:
                is_positional = one.kind is one.POSITIONAL_OR_KEYWORD and place == len(arguments)
                value = self._expression(one.name, parameters[one.name])
                arguments.append(value if is_positional else f"{one.name}={value}")
        return format_call("SubsetSelector", arguments)

    def _source_lines(self) -> list[str]:
        if "data" in self.placeholders and isinstance(self._arguments["data"], Table):
            opened = "data"
        else:
            self._add_import("tamiz", "open_table")
            roles = [
                f"{role}={self._expression(role, self._arguments[role])}"
                for role in _TABLE_OPTIONS
                if role in self._arguments
            ]
            opened = format_call("open_table", [self._expression("data", self._arguments["data"]), *roles])
        if self._schema.split_dates:
            self._add_import("tamiz.table", "split_dates")
            opened = format_call("split_dates", [opened])
        if self._has_missing_levels:
            self._add_import("tamiz.table", "add_missing_level")
            opened = format_call("add_missing_level", [opened])
        return [f"table = {opened}"]

    @property
    def _has_missing_levels(self) -> bool:
        return any(column.levels[1:] == (MISSING_LEVEL,) for column in self._schema.columns)

    def _supports_pipeline(self) -> bool:
        """Whether a data frame can express the selection: it has no times, kinds of weights, numeric kinds and date parts."""
        kinds = self._arguments.get("kinds") or {}
        by_name = self._file is not None and isinstance(kinds, Mapping)
        roles = [self._arguments[role] for role in ("target", "weight", "groups") if role in self._arguments]
        return (
            by_name
            and self._schema.target is not None
            and all(isinstance(role, str) for role in roles)
            and not {"time", "weights"} & self._arguments.keys()
            and not (self._schema.split_dates or self._has_missing_levels)
            and all(kind in _FRAME_KINDS for kind in kinds.values())
        )

    def _add_pipeline(self, selector_expression: str) -> None:
        arguments, kinds = self._arguments, self._arguments.get("kinds") or {}
        target = arguments["target"]
        self._add_import("sklearn.pipeline", "make_pipeline")
        self._add_import("tamiz", "open_table")
        roles = [arguments[role] for role in ("target", "weight", "groups") if role in arguments]
        dropped = [*roles, *(name for name, kind in kinds.items() if kind in _EXCLUDED_KINDS and name not in roles)]
        levels = {name: kind for name, kind in kinds.items() if kind not in _EXCLUDED_KINDS}
        named = [f"{name}={arguments[name]!r}" for name in ("header",) if name in arguments]
        opened = [repr(self._file), *([f"kinds={levels!r}"] if levels else []), *named]
        lines = ["", "# As a step of a scikit-learn pipeline: every fit selects the columns again."]
        lines += [f"table = {format_call('open_table', opened)}.frame()"]
        for name in levels:
            lines.append(f"at = table.column_names.index({name!r})")
            lines.append(f"table = table.set_column(at, {name!r}, table[{name!r}].cast('string').dictionary_encode())")
        if self._schema.n_dropped:
            lines.append(f"table = table.filter(table[{target!r}].is_valid())")
        y = f"table[{target!r}]"
        if self._schema.has_classes:
            last = [self._add_import("tamiz", "MixedNB")]
        else:
            y = f"{y}.to_numpy()"
            pca, model = (
                self._add_import("tamiz.reduction", "PCA"),
                self._add_import("sklearn.linear_model", "LinearRegression"),
            )
            last = [f"{pca}(0.95, standardize=True)", model]
        steps = [selector_expression, *(step if step.endswith(")") else f"{step}()" for step in last)]
        fitted = ["X", "y"]
        for role, parameter in (("weight", "sample_weight"), ("groups", "groups")):
            if role in arguments:
                fitted.append(f"subsetselector__{parameter}=table[{arguments[role]!r}]")
        lines += [
            f"X, y = table.drop_columns({dropped!r}), {y}",
            f"pipeline = {format_call('make_pipeline', steps)}",
            f"pipeline{format_call('.fit', fitted)}",
            "print(pipeline[0].get_feature_names_out().tolist())",
        ]
        self._lines += lines

    def _add_import(self, module: str, name: str) -> str:
        self._writer.imports.setdefault(module, set()).add(name)
        return name

    def _expression(self, name: str, value: Any) -> str:
        """Return an expression, or a placeholder if there is none."""
        if name == "selector":
            return self._selector_expression(value.get_params(deep=False))
        if name in ("data", "journal") and isinstance(value, str | os.PathLike):
            # The folder is private.
            return repr(Path(value).name)
        try:
            return self._writer.write(value)
        except NoExpressionError:
            self.placeholders[name] = _placeholder_comment(value)
            return name


def _placeholder_comment(value: Any) -> str:
    """Return the repr of an estimator, or the type of any other value: no row of a table."""
    if isinstance(value, BaseEstimator):
        text = " ".join(repr(value).split())
        return text if len(text) <= _MAX_REPR_LENGTH else f"{text[:_MAX_REPR_LENGTH]}..."
    kind = type(value)
    home = kind.__module__.split(".")[0]
    return kind.__name__ if home == "builtins" else f"{home} {kind.__name__}"


class NoExpressionError(ValueError):
    """No expression rebuilds a value, such as a data frame or an instance of a class defined in a script."""


class ExpressionWriter:
    """Writes expressions and collects their imports.

    Attributes
    ----------
    imports : dict of module to names
    """

    def __init__(self) -> None:
        self.imports: dict[str, set[str]] = {}

    def write(self, value: Any) -> str:
        """Return an expression that rebuilds the value.

        Raises
        ------
        NoExpressionError
            If there is none.
        """
        if isinstance(value, np.generic):
            return self.write(value.item())
        if isinstance(value, float) and not math.isfinite(value):
            return f'float("{value}")'
        if value is None or isinstance(value, bool | int | float | str):
            return repr(value)
        if isinstance(value, Mapping):
            return f"{{{', '.join(f'{self.write(key)}: {self.write(item)}' for key, item in value.items())}}}"
        if isinstance(value, list | tuple):
            inside = ", ".join(map(self.write, value))
            return f"[{inside}]" if isinstance(value, list) else f"({inside}{',' * (len(value) == 1)})"
        if isinstance(value, AnyOf | AllOf):
            return self._combined_rule(value)
        if isinstance(value, BaseEstimator):
            return self._constructor_call(value)
        if isinstance(value, type) or inspect.isfunction(value):
            return self.import_name(value)
        raise NoExpressionError(type(value).__name__)

    def import_name(self, obj: Any) -> str:
        """Return the name of a class or function, and add its import from the outermost package that exports it."""
        name, path = str(obj.__name__), str(obj.__module__).split(".")
        for depth in range(1, len(path) + 1):
            module = ".".join(path[:depth])
            if module != "__main__" and getattr(import_module(module), name, None) is obj:
                self.imports.setdefault(module, set()).add(name)
                return name
        raise NoExpressionError(name)

    def import_lines(self) -> list[str]:
        """Return the imports, tamiz last."""
        modules = sorted(self.imports, key=lambda module: (module.split(".")[0] == "tamiz", module))
        return [f"from {module} import {', '.join(sorted(self.imports[module]))}" for module in modules]

    def _combined_rule(self, rule: AnyOf | AllOf) -> str:
        parts = [self.write(rule.first), self.write(rule.second)]
        if isinstance(rule, AnyOf):
            return " | ".join(parts)
        # | binds less tightly than &.
        sides = zip((rule.first, rule.second), parts, strict=True)
        return " & ".join(f"({part})" if isinstance(side, AnyOf) else part for side, part in sides)

    def _constructor_call(self, estimator: BaseEstimator) -> str:
        name = self.import_name(type(estimator))
        values = estimator.get_params(deep=False)
        arguments, positional = [], True
        for parameter in inspect.signature(type(estimator)).parameters.values():
            if parameter.name not in values:
                # *args or an alias: its value is unknown.
                positional = False
                continue
            value = values[parameter.name]
            if parameter.default is not parameter.empty and _same_expression(value, parameter.default):
                positional = False
                continue
            positional = positional and parameter.kind is not parameter.KEYWORD_ONLY
            arguments.append(self.write(value) if positional else f"{parameter.name}={self.write(value)}")
        return f"{name}({', '.join(arguments)})"


def format_call(name: str, arguments: Sequence[str]) -> str:
    """Return a call on one line if it fits, else with one argument per line."""
    line = f"{name}({', '.join(arguments)})"
    if len(line) <= _MAX_LINE_LENGTH and "\n" not in line:
        return line
    inside = (argument.replace("\n", "\n    ") for argument in arguments)
    return "\n".join([f"{name}(", *(f"    {argument}," for argument in inside), ")"])


def _same_expression(value: Any, default: Any) -> bool:
    if value is default:
        return True
    try:
        return type(value) is type(default) and ExpressionWriter().write(value) == ExpressionWriter().write(default)
    except NoExpressionError:
        return False
