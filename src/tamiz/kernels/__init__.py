"""Loops over numbers: arrays and scalars in, arrays out, one file a subject.

A kernel is serial and works on a range of rows or candidates; `tamiz.runtime.parallel` runs ranges on threads. It calls only
kernels of its own file, because numba's cache does not see an edit in another. Signatures are written out: a kernel is
compiled once, for C-contiguous read-only inputs, and never again for the layout a caller happens to hold. It is read from disk,
or compiled, when it is first called: a program that calls few does not wait for the others.

Whatever a kernel names is compiled with it, so it names little: arrays are copied, filled and searched by loops. To assign one
slice to another, a list, np.sort or np.searchsorted costs the first study half a second to three seconds each.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property, update_wrapper
from threading import RLock
from types import FunctionType
from typing import Any

import numba
import numpy as np
from numba import types

# Sums may be reordered so that they vectorise; NaN and infinities keep their meaning.
SUM_FLAGS = frozenset({"reassoc", "contract", "nsz", "arcp"})


# One lock for all kernels, taken before numba's own: with one for each, two threads would wait for each other, one that compiles a
# kernel that calls another (it holds numba's) and one that calls that other first.
_COMPILE_LOCK = RLock()


class Kernel:
    """A function that is compiled for one signature when it is first called, and kept on disk."""

    def __init__(self, function: Callable[..., Any], signature: Any, options: dict[str, Any]) -> None:
        update_wrapper(self, function)
        self._definition = function, signature, options
        self._dispatcher: Any = None

    def __call__(self, *arguments: Any) -> Any:
        """Call the compiled function."""
        return (self._dispatcher or self.compiled)(*arguments)

    @property
    def function(self) -> Callable[..., Any]:
        """The Python function."""
        return self._definition[0]

    @property
    def is_loaded(self) -> bool:
        """Whether it was called in this process."""
        return self._dispatcher is not None

    @property
    def compiled(self) -> Any:
        """The compiled function: read from disk where it is there, and of this process alone where the disk is read-only."""
        with _COMPILE_LOCK:
            if self._dispatcher is None:
                function, signature, options = self._definition
                try:
                    self._dispatcher = numba.njit(signature, cache=True, **options)(function)
                except RuntimeError as error:
                    if "cache" not in str(error):
                        raise
                    self._dispatcher = numba.njit(signature, **options)(function)
            return self._dispatcher

    @property
    def _numba_type_(self) -> Any:
        """What numba takes a kernel for that is called by another."""
        return self.compiled._numba_type_


class MultiTypeKernel:
    """A function that is a kernel for every type of numbers: a program that has float64 alone does not wait for float32.

    Attributes
    ----------
    kernels : dict of str to Kernel
        By the function's name with the type's.
    """

    def __init__(self, function: Callable[..., Any], signatures: list[Any], options: dict[str, Any]) -> None:
        update_wrapper(self, function)
        self._definition = function, options
        kinds = [[getattr(argument, "dtype", None) for argument in signature.args] for signature in signatures]
        # The first argument that tells the types apart.
        self._type_argument = next(
            at for at, found in enumerate(zip(*kinds, strict=True)) if len(set(found)) == len(signatures)
        )
        self._by_type = {
            np.dtype(str(own[self._type_argument])): Kernel(
                _copy_with_suffix(function, f"_{own[self._type_argument]}"), signature, options
            )
            for own, signature in zip(kinds, signatures, strict=True)
        }
        self.kernels = {kernel.function.__name__: kernel for kernel in self._by_type.values()}

    def __call__(self, *arguments: Any) -> Any:
        """Call the function that is compiled for the type of the arguments."""
        return self._by_type[arguments[self._type_argument].dtype](*arguments)

    @property
    def _numba_type_(self) -> Any:
        """What numba takes it for that is called by a kernel."""
        return self._callee._numba_type_

    @cached_property
    def _callee(self) -> Any:
        """What is compiled with a kernel that calls it, for the type that it has there; numba does not hold on to it."""
        function, options = self._definition
        return numba.njit(**options)(function)


def _copy_with_suffix(function: Callable[..., Any], suffix: str) -> Callable[..., Any]:
    """Return a function under another name: numba keeps one file on disk for each name."""
    made = FunctionType(function.__code__, function.__globals__, function.__name__ + suffix)
    made.__qualname__, made.__module__ = function.__qualname__ + suffix, function.__module__
    return made


def jit(signature: Any, *, reassociate: bool = False) -> Callable[[Callable[..., Any]], Any]:
    """Return a kernel of a function, for one signature, or for each of a list whose types of numbers differ."""
    # A division by 0 gives an infinity or NaN, as in numpy: a check of each would keep loops from being vectorised.
    options = {"nogil": True, "fastmath": set(SUM_FLAGS) if reassociate else False, "error_model": "numpy"}
    if isinstance(signature, list):
        return lambda function: MultiTypeKernel(function, signature, options)
    return lambda function: Kernel(function, signature, options)


def find_kernels(module: Any) -> dict[str, Kernel]:
    """Return the kernels of a file by name."""
    found: dict[str, Kernel] = {}
    for name, member in vars(module).items():
        found |= {name: member} if isinstance(member, Kernel) else {}
        found |= member.kernels if isinstance(member, MultiTypeKernel) else {}
    return found


def ro(dtype: Any, ndim: int = 1) -> types.Array:
    """Return the type of a C-contiguous array that the kernel only reads."""
    return types.Array(dtype, ndim, "C", readonly=True)


def rw(dtype: Any, ndim: int = 1) -> types.Array:
    """Return the type of a C-contiguous array that the kernel fills."""
    return types.Array(dtype, ndim, "C")
