"""Python expressions that rebuild values and estimators, and the imports that they need."""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping, Sequence
from importlib import import_module
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from tamiz.search.stopping import AllOf, AnyOf

_MAX_LINE_LENGTH = 96


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


def to_expression(value: Any) -> str:
    """Return an expression that rebuilds a value, without its imports."""
    return ExpressionWriter().write(value)


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
        return type(value) is type(default) and to_expression(value) == to_expression(default)
    except NoExpressionError:
        return False
