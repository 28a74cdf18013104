"""Loops over numbers: arrays and scalars in, arrays out, one file a subject.

A kernel is serial and works on a range of rows or candidates; `tamiz.parallel` runs ranges on threads. It calls only
kernels of its own file, because numba's cache does not see an edit in another. Signatures are written out: a kernel is
compiled once, for C-contiguous read-only inputs, and never again for the layout a caller happens to hold.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numba
from numba import types

# Sums may be reordered so that they vectorise; NaN and infinities keep their meaning.
SUMS = frozenset({"reassoc", "contract", "nsz", "arcp"})


def jit(signature: Any, *, sums: bool = False) -> Callable[[Callable[..., Any]], Any]:
    """Compile a kernel for one signature and keep it on disk, or in this process where the disk is read-only."""
    # A division by 0 gives an infinity or NaN, as in numpy: a check of each would keep loops from being vectorised.
    options = {"nogil": True, "fastmath": set(SUMS) if sums else False, "error_model": "numpy"}

    def compile_(function: Callable[..., Any]) -> Any:
        try:
            compiled = numba.njit(signature, cache=True, **options)(function)
        except RuntimeError as error:
            if "cache" not in str(error):
                raise
            compiled = numba.njit(signature, **options)(function)
        return compiled

    return compile_


def ro(dtype: Any, ndim: int = 1) -> types.Array:
    """Return the type of a C-contiguous array that the kernel only reads."""
    return types.Array(dtype, ndim, "C", readonly=True)


def rw(dtype: Any, ndim: int = 1) -> types.Array:
    """Return the type of a C-contiguous array that the kernel fills."""
    return types.Array(dtype, ndim, "C")
