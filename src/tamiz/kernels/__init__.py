"""Loops over numbers: arrays and scalars in, arrays out, one file a subject.

A kernel is serial and works on a range of rows or candidates; `tamiz.parallel` runs ranges on threads. It calls only
kernels of its own file, because numba's cache does not see an edit in another. Signatures are written out: a kernel is
compiled once, for C-contiguous read-only inputs, and never again for the layout a caller happens to hold. It is read from disk,
or compiled, when it is first called: a program that calls few does not wait for the others.

Whatever a kernel names is compiled with it, so it names little: arrays are copied, filled and searched by loops. To assign one
slice to another, a list, np.sort or np.searchsorted costs the first study half a second to three seconds each.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import update_wrapper
from threading import RLock
from typing import Any

import numba
from numba import types

# Sums may be reordered so that they vectorise; NaN and infinities keep their meaning.
SUMS = frozenset({"reassoc", "contract", "nsz", "arcp"})


# One lock for all kernels, taken before numba's own: with one for each, two threads would wait for each other, one that compiles a
# kernel that calls another (it holds numba's) and one that calls that other first.
_COMPILING = RLock()


class Kernel:
    """A function that is compiled for one signature when it is first called, and kept on disk."""

    def __init__(self, function: Callable[..., Any], signature: Any, options: dict[str, Any]) -> None:
        update_wrapper(self, function)
        self._made = function, signature, options
        self._dispatcher: Any = None

    def __call__(self, *arguments: Any) -> Any:
        """Call the compiled function."""
        return (self._dispatcher or self.compiled)(*arguments)

    @property
    def function(self) -> Callable[..., Any]:
        """The Python function."""
        return self._made[0]

    @property
    def is_read(self) -> bool:
        """Whether it was called in this process."""
        return self._dispatcher is not None

    @property
    def compiled(self) -> Any:
        """The compiled function: read from disk where it is there, and of this process alone where the disk is read-only."""
        with _COMPILING:
            if self._dispatcher is None:
                function, signature, options = self._made
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


def jit(signature: Any, *, sums: bool = False) -> Callable[[Callable[..., Any]], Kernel]:
    """Return a kernel of a function, for one signature."""
    # A division by 0 gives an infinity or NaN, as in numpy: a check of each would keep loops from being vectorised.
    options = {"nogil": True, "fastmath": set(SUMS) if sums else False, "error_model": "numpy"}
    return lambda function: Kernel(function, signature, options)


def ro(dtype: Any, ndim: int = 1) -> types.Array:
    """Return the type of a C-contiguous array that the kernel only reads."""
    return types.Array(dtype, ndim, "C", readonly=True)


def rw(dtype: Any, ndim: int = 1) -> types.Array:
    """Return the type of a C-contiguous array that the kernel fills."""
    return types.Array(dtype, ndim, "C")
