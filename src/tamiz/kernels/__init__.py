"""Numba kernels: loops with arrays and scalars as inputs and outputs, one file for each family of algorithms.

A kernel is serial and works on a range of rows or candidates; `tamiz.runtime.parallel` runs the ranges on threads. A kernel calls
only kernels of its own file and of `primitives`, whose text is part of the cache key: numba's cache does not see an edit in another
file. Signatures are explicit: a kernel is compiled once, for C-contiguous read-only inputs, and not again for the layout of a
caller's array. The first call loads it from disk or compiles it, so a program that calls few kernels does not wait for the others.

Numba compiles every function that a kernel calls, so kernels copy, fill and search arrays with plain loops. An assignment between
slices, a list, np.sort or np.searchsorted each adds 0.5 to 3 seconds to the first study.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import cached_property, update_wrapper
from hashlib import sha256
from pathlib import Path
from threading import RLock
from types import FunctionType
from typing import Any, NamedTuple

import numba
import numpy as np
from numba import types
from numba.core.caching import FunctionCache
from numba.core.runtime.nrt import rtsys
from numpy.typing import NDArray

# LLVM may reorder sums so that they vectorise; NaN and infinities keep their meaning.
SUM_FLAGS = frozenset({"reassoc", "contract", "nsz", "arcp"})


# One lock for all kernels, acquired before numba's own lock. With one lock for each kernel two threads could deadlock: one
# compiles a kernel (with numba's lock) that calls a second kernel, and the other has the lock of the second kernel and waits
# for numba's.
_COMPILE_LOCK = RLock()

# The versions of numba with which `MachineCodeCache` is tested; others read their own cache.
_READS_MACHINE_CODE = (0, 61) <= numba.version_info[:2] <= (0, 68)


PRIMITIVES = Path(__file__).with_name("primitives.py")
_VERSION = sha256(PRIMITIVES.read_bytes()).hexdigest()


class MachineCodeCache(FunctionCache):
    """Numba's cache, with `primitives` in its key, and without the registration of all functions that compiled code may call
    (0.3 s), which only compilation needs and does by itself.
    """

    def _index_key(self, sig: Any, codegen: Any) -> Any:
        return (*super()._index_key(sig, codegen), _VERSION)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled function, None if it is not cached."""
        rtsys.initialize(target_context)
        return self._load_overload(sig, target_context)


class Kernel:
    """A function that is compiled for one signature at its first call and cached on disk.

    Parameters
    ----------
    function : callable
    signature : numba signature
    options : dict
        Options of `numba.njit`.
    slp : bool, default=False
        Whether LLVM's SLP vectoriser runs: it puts straight-line code side by side into vector registers, as LLVM's loop vectoriser
        does with loops.
    """

    def __init__(
        self, function: Callable[..., Any], signature: Any, options: dict[str, Any], *, slp: bool = False
    ) -> None:
        update_wrapper(self, function)
        self._definition = function, signature, options
        self.uses_slp = slp
        self._dispatcher: Any = None

    def __call__(self, *arguments: Any) -> Any:
        return (self._dispatcher or self.compiled)(*arguments)

    @property
    def function(self) -> Callable[..., Any]:
        return self._definition[0]

    @property
    def is_loaded(self) -> bool:
        """Whether this process has loaded or compiled the kernel."""
        return self._dispatcher is not None

    @property
    def compiled(self) -> Any:
        """The compiled function: loaded from the cache on disk if it is there; not cached where the disk is read-only."""
        with _COMPILE_LOCK:
            if self._dispatcher is None:
                self._dispatcher = self._compile()
            return self._dispatcher

    def _compile(self) -> Any:
        function, signature, options = self._definition
        with _slp_vectorizer() if self.uses_slp else nullcontext():
            try:
                if not _READS_MACHINE_CODE:
                    return numba.njit(signature, cache=True, **options)(function)
                cache = MachineCodeCache(function)
                dispatcher = numba.njit(**options)(function)
                dispatcher._cache = cache
                dispatcher.compile(signature)
                dispatcher.disable_compile()
                return dispatcher
            except RuntimeError as error:
                if "cache" not in str(error):
                    raise
                return numba.njit(signature, **options)(function)

    @property
    def _numba_type_(self) -> Any:
        """The type that numba gives this kernel where another kernel calls it."""
        return self.compiled._numba_type_


class MultiTypeKernel:
    """One function with a kernel for each floating-point type: a program that uses only float64 does not compile for float32.

    Attributes
    ----------
    kernels : dict of str to Kernel
        By the name of the function with the suffix of the type, such as "condense_float32".
    """

    def __init__(self, function: Callable[..., Any], signatures: list[Any], options: dict[str, Any]) -> None:
        update_wrapper(self, function)
        self._definition = function, options
        kinds = [[getattr(argument, "dtype", None) for argument in signature.args] for signature in signatures]
        # The first argument whose type differs between the signatures.
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
        return self._by_type[arguments[self._type_argument].dtype](*arguments)

    @property
    def _numba_type_(self) -> Any:
        """The type that numba gives this function where a kernel calls it."""
        return self._callee._numba_type_

    @cached_property
    def _callee(self) -> Any:
        """The function as compiled inside a calling kernel, for the caller's type. Cached here: numba keeps only a weak
        reference.
        """
        function, options = self._definition
        return numba.njit(**options)(function)


def _copy_with_suffix(function: Callable[..., Any], suffix: str) -> Callable[..., Any]:
    """Return the function under another name: numba's cache has one file for each name."""
    made = FunctionType(function.__code__, function.__globals__, function.__name__ + suffix)
    made.__qualname__, made.__module__ = function.__qualname__ + suffix, function.__module__
    return made


@contextmanager
def _slp_vectorizer() -> Iterator[None]:
    """Run LLVM's SLP vectoriser for what is compiled inside; numba has no option of a single function for it."""
    setting = numba.config.SLP_VECTORIZE
    numba.config.SLP_VECTORIZE = 1
    try:
        yield
    finally:
        numba.config.SLP_VECTORIZE = setting


def jit(signature: Any, *, reassociate: bool = False, slp: bool = False) -> Callable[[Callable[..., Any]], Any]:
    """Return a decorator that makes a kernel of a function.

    Parameters
    ----------
    signature : numba signature or list of numba signatures
        A list has one signature for each floating-point type, and makes a `MultiTypeKernel`.
    reassociate : bool, default=False
        Whether LLVM may reorder sums, so that they vectorise.
    slp : bool, default=False
        Whether LLVM's SLP vectoriser runs, for kernels with unrolled code.
    """
    # A division by 0 returns an infinity or NaN, as in numpy: checks would keep loops from being vectorised.
    options = {"nogil": True, "fastmath": set(SUM_FLAGS) if reassociate else False, "error_model": "numpy"}
    if isinstance(signature, list):
        assert not slp, "kernels of several types are compiled without SLP vectorisation"
        return lambda function: MultiTypeKernel(function, signature, options)
    return lambda function: Kernel(function, signature, options, slp=slp)


def find_kernels(module: Any) -> dict[str, Kernel]:
    """Return the kernels that a module defines, by name."""
    found: dict[str, Kernel] = {}
    for name, member in vars(module).items():
        own = isinstance(member, Kernel) and member.function.__module__ == module.__name__
        found |= {name: member} if own else {}
        found |= member.kernels if isinstance(member, MultiTypeKernel) else {}
    return found


def ro(dtype: Any, ndim: int = 1) -> types.Array:
    """Return the type of a C-contiguous array that a kernel only reads."""
    return types.Array(dtype, ndim, "C", readonly=True)


def rw(dtype: Any, ndim: int = 1) -> types.Array:
    """Return the type of a C-contiguous array that a kernel writes."""
    return types.Array(dtype, ndim, "C")


def record(cls: type, *fields: Any) -> types.BaseNamedTuple:
    """Return the type of a named tuple of arrays, a parameter of a kernel; `cls` is in the file of the kernel, or in this file.

    A kernel unpacks a record of this file by position: numba's cache sees a change of its fields' types here, but not of their
    order.

    Numba converts no array inside a tuple: a field of type `ro` needs a read-only array, as from `read_only`, and a field of type
    `rw` an array that is not. The compiled kernel loads from the cache as fast as with the arrays as parameters, and a
    call takes 4 microseconds more; inside kernels, unpacking costs about 0.2 microseconds, too much for small steps.
    """
    if len(set(fields)) == 1:
        return types.NamedUniTuple(fields[0], len(fields), cls)
    return types.NamedTuple(fields, cls)


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Return a read-only view."""
    view = array.view()
    view.setflags(write=False)
    return view


class CandidateArrays(NamedTuple):
    """Sets of columns as differences from parents: set c is parents[parent[c]] with flipped[starts[c] : starts[c + 1]] flipped.

    `parents` is a mask for every parent.
    """

    parents: NDArray[np.bool_]
    parent: NDArray[np.int64]
    starts: NDArray[np.int64]
    flipped: NDArray[np.int64]


class LabelledRows(NamedTuple):
    """Classes and weights of the test rows, fold after fold: those of fold f are folds[f] : folds[f + 1]."""

    classes: NDArray[np.int64]
    weights: NDArray[np.float64]
    folds: NDArray[np.int64]


CANDIDATES = record(CandidateArrays, ro(types.bool_, 2), *[ro(types.int64)] * 3)
LABELLED_ROWS = record(LabelledRows, ro(types.int64), ro(types.float64), ro(types.int64))
