"""What an object says of itself so that it can be stored."""

from __future__ import annotations

from inspect import Parameter, signature
from typing import Any, Self

_NAMED_PARAMETERS = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)


def constructor_parameters(cls: type) -> tuple[str, ...]:
    """Return the names that a class is made with."""
    return tuple(name for name, given in signature(cls).parameters.items() if given.kind in _NAMED_PARAMETERS)


class Serializable:
    """An object that can be stored: it tells what it is made of, and is made of that again.

    As it stands here that is the parameters of the constructor, each kept under its own name. A class says otherwise where an
    object holds more, or where its constructor would do over again what was done before.
    """

    def get_state(self) -> dict[str, Any]:
        """Return what the object is made of, by name: numbers, text, arrays and other objects that can be stored."""
        return {name: getattr(self, name) for name in constructor_parameters(type(self))}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """Return the object made of what `get_state` gave."""
        return cls(**state)
