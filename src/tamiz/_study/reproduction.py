"""Reproduction of a study: a Python script that gives the same numbers."""

from __future__ import annotations

import inspect
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone

from tamiz.report.records import ReproductionRecord
from tamiz.search.stopping import AllOf, AnyOf
from tamiz.selection.subset_selector import SubsetSelector
from tamiz.table.base import Table
from tamiz.table.factory import FileArguments
from tamiz.table.schema import Schema

_FILE_OPTIONS = tuple(FileArguments.__annotations__)
_TABLE_OPTIONS = ("target", "kinds", "weight", "weights", "groups", "time", "memory", *_FILE_OPTIONS)
# Kinds that a column of a data frame can be converted to, or dropped for.
_FRAME_KINDS = ("categorical", "boolean", "text", "id")
_EXCLUDED_KINDS = ("text", "id")
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
    *,
    has_missing_levels: bool = False,
) -> ReproductionRecord:
    """Return the code that reproduces a study, for a reader with the table in the working folder.

    `comparison` has the arguments of `recommend_columns`, if it selected the columns; `excluded` the columns that the study set
    aside, and `roles` the groups or the time that it found by itself. With `has_missing_levels` columns got a level for missing
    values.
    """
    usual = {name: one.default for name, one in inspect.signature(function).parameters.items()}
    changed = {
        name: value
        for name, value in arguments.items()
        if name != "n_jobs"
        and not _is_default(value, usual.get(name))
        and not (name == "selector" and _is_default(value, SubsetSelector()))
    }
    script = _Script(changed, schema, has_missing_levels=has_missing_levels)
    # A Table in memory cannot be opened with other roles.
    if selector is not None and not (roles and isinstance(arguments["data"], Table)):
        script.add_selection(
            _unfitted(selector, schema, excluded), roles or {}, found_any=bool(selector.support_.any())
        )
    elif comparison is not None and not excluded and not roles and not changed.keys() & _CANDIDATE_OPTIONS:
        script.add_comparison(comparison)
    return ReproductionRecord(python=script.text(), placeholders=tuple(script.placeholders))


def _is_default(value: Any, default: Any) -> bool:
    # points=1 equals the default True, but is a number of points.
    return value is default or (type(value) is type(default) and repr(value) == repr(default))


def _unfitted(selector: SubsetSelector, schema: Schema, excluded: Sequence[str]) -> SubsetSelector:
    """Return a selector that finds the columns of a fitted one in the whole table."""
    # The journal belongs to the original search.
    found = clone(selector).set_params(journal=None)
    searched = set(selector.schema_.used.tolist())
    left_out = [*excluded, *(schema.names[j] for j in schema.used.tolist() if j not in searched)]
    if left_out:
        others = selector.search_.get_params(deep=False).get("excluded") or ()
        found.search = clone(selector.search_).set_params(excluded=[*others, *left_out])
    return found


class NoExpressionError(ValueError):
    """No expression rebuilds a value, such as a data frame or an instance of a class defined in a script."""


class ExpressionWriter:
    """Writes expressions and collects their imports."""

    def __init__(self) -> None:
        self.imports: dict[str, set[str]] = {}

    def write(self, value: Any) -> str:
        """Return an expression that rebuilds the value; NoExpressionError if there is none."""
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
        if isinstance(value, AnyOf):
            return f"{self.write(value.first)} | {self.write(value.second)}"
        if isinstance(value, AllOf):
            # | binds less tightly than &.
            sides = [(side, self.write(side)) for side in (value.first, value.second)]
            return " & ".join(f"({text})" if isinstance(side, AnyOf) else text for side, text in sides)
        if isinstance(value, BaseEstimator):
            return f"{self.import_object(type(value))}({', '.join(self.arguments(value))})"
        if isinstance(value, type) or inspect.isfunction(value):
            return self.import_object(value)
        raise NoExpressionError(type(value).__name__)

    def write_argument(self, name: str, value: Any) -> str:
        del name
        return self.write(value)

    def arguments(self, estimator: BaseEstimator) -> list[str]:
        values = estimator.get_params(deep=False)
        arguments, positional = [], True
        for parameter in inspect.signature(type(estimator)).parameters.values():
            name = parameter.name
            # The value of *args or of an alias is unknown.
            if name not in values or _is_default(values[name], parameter.default):
                positional = False
                continue
            positional = positional and parameter.kind is not parameter.KEYWORD_ONLY
            written = self.write_argument(name, values[name])
            arguments.append(written if positional else f"{name}={written}")
        return arguments

    def import_object(self, obj: Any) -> str:
        """Return the name of a class or function, and add its import from the outermost package that exports it."""
        name, path = str(obj.__name__), str(obj.__module__).split(".")
        for depth in range(1, len(path) + 1):
            module = ".".join(path[:depth])
            if module != "__main__" and getattr(import_module(module), name, None) is obj:
                return self.import_name(module, name)
        raise NoExpressionError(name)

    def import_name(self, module: str, name: str) -> str:
        """Return the name, and add its import."""
        self.imports.setdefault(module, set()).add(name)
        return name

    def import_lines(self) -> list[str]:
        """Return the imports, tamiz last."""
        modules = sorted(self.imports, key=lambda module: (module.split(".")[0] == "tamiz", module))
        return [f"from {module} import {', '.join(sorted(self.imports[module]))}" for module in modules]


class _Script(ExpressionWriter):
    """Lines of Python, beginning with a study and its report; values without an expression have placeholders."""

    def __init__(self, arguments: Mapping[str, Any], schema: Schema, *, has_missing_levels: bool) -> None:
        super().__init__()
        self._arguments = arguments
        self._schema = schema
        self._has_missing_levels = has_missing_levels
        self.placeholders: dict[str, str] = {}
        data = arguments["data"]
        self._file = Path(data).name if isinstance(data, str | os.PathLike) else None
        call = format_call(
            self.import_name("tamiz", "study"),
            [self.write_argument("data", data), *self._named(name for name in arguments if name != "data")],
        )
        page = f"{Path(self._file).stem}-report.html" if self._file else "report.html"
        self._lines = [f"result = {call}", f"result.to_html({page!r})"]

    def text(self) -> str:
        head = [f"{name} = ...  # {comment}" for name, comment in self.placeholders.items()]
        if head:
            head = ["# Replace each ... by the object that was passed to the study.", *head, ""]
        return "\n".join([*self.import_lines(), "", *head, *self._lines, ""])

    def add_selection(self, selector: SubsetSelector, roles: Mapping[str, str], *, found_any: bool) -> None:
        """Add the selection alone with further roles of columns, and as a step of a pipeline if a pipeline can reproduce it."""
        self._arguments = {**self._arguments, **roles}
        call = self.write_argument("selector", selector)
        self._lines += [
            *("", "# Only the selection of the section Subset.", f"table = {self._source()}"),
            f"selector = {call}.fit(table)",
            "print(selector.get_feature_names_out().tolist())",
        ]
        if found_any and self._supports_pipeline():
            self._add_pipeline(call)

    def add_comparison(self, options: Mapping[str, Any]) -> None:
        name = self.import_name("tamiz.assessment", "recommend_columns")
        call = format_call(name, ["table", *(f"{name}={value!r}" for name, value in options.items())])
        self._lines += [
            *("", "# Only the recommended columns.", f"table = {self._source()}"),
            *(f"found = {call}", "print(list(found.columns))"),
        ]

    def write_argument(self, name: str, value: Any) -> str:
        """Return an expression, or a placeholder if there is none."""
        if isinstance(value, SubsetSelector):
            alone = clone(value).set_params(n_jobs=None)
            return format_call(self.import_object(SubsetSelector), self.arguments(alone))
        if name in ("data", "journal") and isinstance(value, str | os.PathLike):
            # The folder is private.
            return repr(Path(value).name)
        try:
            return self.write(value)
        except NoExpressionError:
            self.placeholders[name] = _placeholder_comment(value)
            return name

    def _named(self, names: Iterable[str]) -> list[str]:
        return [f"{name}={self.write_argument(name, self._arguments[name])}" for name in names]

    def _source(self) -> str:
        data = self._arguments["data"]
        opened = self.write_argument("data", data)
        if not isinstance(data, Table):
            roles = self._named(role for role in _TABLE_OPTIONS if role in self._arguments)
            opened = format_call(self.import_name("tamiz", "open_table"), [opened, *roles])
        if self._schema.split_dates:
            opened = format_call(self.import_name("tamiz.table", "split_dates"), [opened])
        if self._has_missing_levels:
            opened = format_call(self.import_name("tamiz.table", "add_missing_level"), [opened])
        return opened

    @property
    def _roles(self) -> dict[str, Any]:
        return {role: self._arguments[role] for role in ("target", "weight", "groups") if role in self._arguments}

    def _supports_pipeline(self) -> bool:
        """Whether a data frame can express the selection: it has no times, kinds of weights, numeric kinds and date parts."""
        kinds = self._arguments.get("kinds") or {}
        return (
            self._file is not None
            and isinstance(kinds, Mapping)
            and self._schema.target is not None
            and all(isinstance(role, str) for role in self._roles.values())
            and not {"time", "weights"} & self._arguments.keys()
            and not (self._schema.split_dates or self._has_missing_levels)
            and all(kind in _FRAME_KINDS for kind in kinds.values())
        )

    def _add_pipeline(self, selector: str) -> None:
        kinds, roles = self._arguments.get("kinds") or {}, self._roles
        others = [name for name, kind in kinds.items() if kind in _EXCLUDED_KINDS and name not in roles.values()]
        levels = {name: kind for name, kind in kinds.items() if kind not in _EXCLUDED_KINDS}
        opened = [repr(self._file), *([f"kinds={levels!r}"] if levels else [])]
        opened += self._named(name for name in _FILE_OPTIONS if name in self._arguments)
        frame = format_call(self.import_name("tamiz", "open_table"), opened)
        self._lines += [
            *("", "# As a step of a scikit-learn pipeline: every fit selects the columns again."),
            f"table = {frame}.frame()",
        ]
        for name in levels:
            self._lines += [
                f"at = table.column_names.index({name!r})",
                f"table = table.set_column(at, {name!r}, table[{name!r}].cast('string').dictionary_encode())",
            ]
        y = f"table[{roles['target']!r}]"
        if self._schema.n_dropped:
            self._lines.append(f"table = table.filter({y}.is_valid())")
        if self._schema.has_classes:
            steps = [selector, f"{self.import_name('tamiz', 'MixedNB')}()"]
        else:
            y = f"{y}.to_numpy()"
            pca = self.import_name("tamiz.reduction", "PCA")
            model = self.import_name("sklearn.linear_model", "LinearRegression")
            steps = [selector, f"{pca}(0.95, standardize=True)", f"{model}()"]
        fitted = [
            f"subsetselector__{parameter}=table[{roles[role]!r}]"
            for role, parameter in (("weight", "sample_weight"), ("groups", "groups"))
            if role in roles
        ]
        pipeline = format_call(self.import_name("sklearn.pipeline", "make_pipeline"), steps)
        self._lines += [
            f"X, y = table.drop_columns({[*roles.values(), *others]!r}), {y}",
            f"pipeline = {pipeline}",
            format_call("pipeline.fit", ["X", "y", *fitted]),
            "print(pipeline[0].get_feature_names_out().tolist())",
        ]


def _placeholder_comment(value: Any) -> str:
    """Return the repr of an estimator, or the type of any other value: no row of a table."""
    if isinstance(value, BaseEstimator):
        text = " ".join(repr(value).split())
        return text if len(text) <= _MAX_REPR_LENGTH else f"{text[:_MAX_REPR_LENGTH]}..."
    kind = type(value)
    home = kind.__module__.split(".")[0]
    return kind.__name__ if home == "builtins" else f"{home} {kind.__name__}"


def format_call(name: str, arguments: Sequence[str]) -> str:
    """Return a call on one line if it fits, else with one argument per line."""
    line = f"{name}({', '.join(arguments)})"
    if len(line) <= _MAX_LINE_LENGTH and "\n" not in line:
        return line
    inside = (argument.replace("\n", "\n    ") for argument in arguments)
    return "\n".join([f"{name}(", *(f"    {argument}," for argument in inside), ")"])
