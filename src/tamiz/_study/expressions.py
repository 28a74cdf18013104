"""Values and parts as Python writes them: constructor calls, and what they import."""

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
    """There is no expression for a value: it was made elsewhere, such as a data frame or a class of a script."""


class ExpressionWriter:
    """Writes expressions, and remembers what they import.

    Attributes
    ----------
    imports : dict of module to names
    """

    def __init__(self) -> None:
        self.imports: dict[str, set[str]] = {}

    def write(self, value: Any) -> str:
        """Return an expression that makes the value anew.

        Raises
        ------
        UnspelledError
            When there is none.
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
        """Return the name of a class or function, imported from the outermost package that has it."""
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
        # What binds less tightly stands in brackets.
        sides = zip((rule.first, rule.second), parts, strict=True)
        return " & ".join(f"({part})" if isinstance(side, AnyOf) else part for side, part in sides)

    def _constructor_call(self, estimator: BaseEstimator) -> str:
        name = self.import_name(type(estimator))
        given = estimator.get_params(deep=False)
        arguments, in_place = [], True
        for parameter in inspect.signature(type(estimator)).parameters.values():
            if parameter.name not in given:
                # A star or an alias: nothing says what it was.
                in_place = False
                continue
            value = given[parameter.name]
            if parameter.default is not parameter.empty and _same_expression(value, parameter.default):
                in_place = False
                continue
            in_place = in_place and parameter.kind is not parameter.KEYWORD_ONLY
            arguments.append(self.write(value) if in_place else f"{parameter.name}={self.write(value)}")
        return f"{name}({', '.join(arguments)})"


def to_expression(value: Any) -> str:
    """Return an expression that makes a value anew, whatever it imports."""
    return ExpressionWriter().write(value)


def format_call(name: str, arguments: Sequence[str]) -> str:
    """Return a call on one line where it fits, else with an argument a line."""
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
