"""Objects as trees of JSON and arrays, and back; which classes can be stored, and their fields.

null, booleans, whole numbers, finite floats, text and lists are written as they are. Every other value is an object with one key:

- {"float": "nan"}: NaN or an infinite float
- {"tuple": [...]}
- {"dict": [[key, value], ...]}
- {"path": "folder/name"}
- {"scalar": ["<f8", "182d4454fb210940"]}: a NumPy number, its dtype and its bytes
- {"array": 3}: arrays/3.npy, a member of the archive in NumPy's format
- {"objects": {"shape", "items"}}: an array of Python objects, such as names
- {"csr": {"shape", "data", "indices", "indptr"}}
- {"record": {"class": "tamiz.module:Class", "fields": {...}}}: an object of this package with its fields
- {"same": 5}: another reference to the sixth record or sparse matrix, counted in the order in which they are completed

Records are of classes of this package of three types: classes that define their state (`Serializable`), estimators and their parts,
and plain values (frozen dataclasses and named tuples). Objects of other classes are never created, whatever a file names.
"""

from __future__ import annotations

import math
import re
import zlib
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from functools import cached_property
from importlib import import_module
from inspect import Parameter, signature
from pathlib import Path, PurePath
from pkgutil import walk_packages
from typing import IO, Any, Self, TypeAlias
from zipfile import ZIP_DEFLATED, ZIP_STORED, BadZipFile, ZipFile, ZipInfo

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator

from tamiz import __version__
from tamiz.exceptions import DataError
from tamiz.runtime.verdicts import Verdict
from tamiz.storage.invariants import BrokenInvariantError, Invariants, check_invariants, collect_invariants

Json: TypeAlias = Any
_REFERENCE = "same"
# Values of these types may be referred to several times; arrays are, by their numbers.
_SHARED = ("csr", "record")
_SPECIAL_FLOATS = {"nan": np.nan, "inf": np.inf, "-inf": -np.inf}
_CSR_PARTS = ("data", "indices", "indptr")
# Booleans, numbers, dates and fixed-width text; never objects, which would be pickled.
_DTYPE_KINDS = "biufcmMSU"
# Measured: floats shrink by 4 % at 30 MB/s, whole numbers stored as floats to a twentieth at 190 MB/s.
COMPRESSION_LEVEL = 1
_MAX_COMPRESSED_SHARE = 0.5
_SAMPLE_BYTES = 2**16


class Serializable:
    """An object that can be stored as a dict of fields, and restored from it.

    By default the fields are the parameters of the constructor, which must be attributes of the same names. A class overrides the
    methods if an object has further state, or if its constructor would repeat expensive work.
    """

    def get_state(self) -> dict[str, Any]:
        """Return the fields by name: numbers, text, arrays and other objects that can be stored."""
        return {name: getattr(self, name) for name in _constructor_parameters(type(self))}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """Return an object with the fields that `get_state` returned."""
        return cls(**state)

    # Copies, pickles and files of skops contain the same fields.
    def __getstate__(self) -> dict[str, Any]:
        return self.get_state()

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(vars(type(self).from_state(state)))


class TreeWriter:
    def __init__(self, archive: ZipFile) -> None:
        self._arrays = ArrayWriter(archive)
        self._shared_numbers: dict[int, int] = {}
        # Kept alive until all is written, so that no id is reused.
        self._shared: list[Any] = []

    def write_value(self, value: Any, location: str) -> Json:
        """Return the tree of a value; raise TypeError with the location of a value that cannot be stored."""
        cls = type(value)
        if value is None or cls in (bool, int, str) or (cls is float and math.isfinite(value)):
            return value
        if isinstance(value, Verdict):
            # A fitted model needs the sentence only.
            return str(value)
        if cls is list:
            return self.write_values(value, location)
        if id(value) in self._shared_numbers:
            return {_REFERENCE: self._shared_numbers[id(value)]}
        tag, tree = self._write_tagged(value, location)
        if tag in _SHARED:
            self._shared_numbers[id(value)] = len(self._shared)
            self._shared.append(value)
        return {tag: tree}

    def write_values(self, values: Any, location: str) -> list[Json]:
        return [self.write_value(value, f"{location}[{number}]") for number, value in enumerate(values)]

    def _write_tagged(self, value: Any, location: str) -> tuple[str, Json]:
        cls = type(value)
        if cls is float:
            return "float", str(value)
        if cls is tuple:
            return "tuple", self.write_values(value, location)
        if cls is dict:
            return "dict", [
                [self.write_value(key, f"a key of {location}"), self.write_value(member, f"{location}[{key!r}]")]
                for key, member in value.items()
            ]
        if isinstance(value, PurePath):
            return "path", str(value)
        if isinstance(value, np.generic) and value.dtype.kind in _DTYPE_KINDS:
            # As an array, because an empty string has no bytes as a scalar.
            array = np.asarray(value)
            return "scalar", [array.dtype.str, array.tobytes().hex()]
        # Masked arrays and matrices have further attributes; a memory map has none that matter.
        if cls in (np.ndarray, np.memmap) and value.dtype.kind in _DTYPE_KINDS:
            return "array", self._arrays.add(value)
        if cls is np.ndarray and value.dtype == object:
            return "objects", {"shape": list(value.shape), "items": self.write_values(value.ravel(), location)}
        if cls is sparse.csr_array and value.ndim == 2:
            parts = {name: self.write_value(getattr(value, name), f"{location}.{name}") for name in _CSR_PARTS}
            return "csr", {"shape": [int(size) for size in value.shape], **parts}
        if is_stored(cls):
            state = {
                name: self.write_value(field, f"{location}.{name}")
                for name, field in _get_state(value, location).items()
            }
            return "record", {"class": _class_path(cls), "fields": state}
        raise TypeError(_refusal_message(value, location))


class TreeReader:
    def __init__(self, archive: ZipFile) -> None:
        self._arrays = ArrayReader(archive)
        self._shared: list[Any] = []

    def read_value(self, tree: Json) -> Any:
        if isinstance(tree, list):
            return self.read_values(tree)
        if not isinstance(tree, dict):
            return tree
        tag = next(iter(tree)) if len(tree) == 1 else ""
        try:
            value = self._read_tagged(tag, tree.get(tag))
        except DataError:
            raise
        except (TypeError, ValueError, LookupError, AttributeError, OverflowError) as error:
            raise DataError(f"is damaged: it contains an invalid {tag!r} ({error})") from error
        if tag in _SHARED:
            self._shared.append(value)
        return value

    def read_values(self, trees: list[Json]) -> list[Any]:
        return [self.read_value(tree) for tree in trees]

    def _read_tagged(self, tag: str, tree: Json) -> Any:
        match tag:
            case "float":
                return _SPECIAL_FLOATS[tree]
            case "tuple":
                return tuple(self.read_values(tree))
            case "dict":
                return dict(map(self.read_values, tree))
            case "path":
                return Path(tree)
            case "scalar":
                return _read_scalar(*tree)
            case "array":
                return self._arrays.get(tree)
            case "objects":
                items = self.read_values(tree["items"])
                # Filled one by one: NumPy would convert nested lists to further dimensions.
                array = np.empty(len(items), dtype=object)
                for number, item in enumerate(items):
                    array[number] = item
                return array.reshape(tree["shape"])
            case "csr":
                return _build_csr(*(self.read_value(tree[name]) for name in _CSR_PARTS), *map(int, tree["shape"]))
            case "record":
                state = {name: self.read_value(field) for name, field in tree["fields"].items()}
                return _restore_object(tree["class"], state)
            case "same":
                return self._shared[range(len(self._shared)).index(tree)]
        raise DataError(f"is damaged: it contains an object with the keys {list(tree) if tag else 'other than one'}")


def _read_scalar(name: str, written: str) -> Any:
    dtype, content = np.dtype(name), bytes.fromhex(written)
    if dtype.kind not in _DTYPE_KINDS or len(content) != dtype.itemsize:
        raise DataError(f"is damaged: {[name, written]} is not a NumPy scalar")
    return np.frombuffer(content, dtype)[0]


def _build_csr(
    data: NDArray[Any], indices: NDArray[Any], indptr: NDArray[Any], n_rows: int, n_columns: int
) -> sparse.csr_array:
    """Return a matrix with these arrays; the constructor of scipy would change the width of the indices."""
    if [part.ndim for part in (data, indices, indptr)] != [1, 1, 1] or len(indptr) != n_rows + 1:
        raise DataError("is damaged: the arrays of a sparse matrix do not match")
    if {indices.dtype, indptr.dtype} - {np.dtype(np.int32), np.dtype(np.int64)}:
        raise DataError(f"is damaged: a sparse matrix has indptr of {indptr.dtype} and indices of {indices.dtype}")
    matrix = sparse.csr_array((n_rows, n_columns), dtype=data.dtype)
    matrix.data, matrix.indices, matrix.indptr = data, indices, indptr
    # A full check: kernels rely on the ranges of all indices.
    matrix.check_format(full_check=True)
    return matrix


def _refusal_message(value: Any, location: str) -> str:
    if isinstance(value, np.random.Generator | np.random.RandomState | np.random.BitGenerator):
        return f"{location} is a {type(value).__name__}, whose state is not stored; use a whole number as the seed."
    cls = type(value)
    name = cls.__qualname__ if cls.__module__ == "builtins" else f"{cls.__module__}.{cls.__qualname__}"
    dtype = f" of {value.dtype}" if isinstance(value, np.ndarray) else ""
    advice = " skops.io.dump(model, path) of the package skops stores estimators of other packages, and models that contain them."
    return (
        f"{location} is of the type {name}{dtype}, which cannot be stored; numbers, text, arrays of these, and models of tamiz and "
        f"their parts can.{advice if isinstance(value, BaseEstimator) else ''}"
    )


# "tamiz.module:Class" without leading double underscores, because importing `tamiz.__main__` runs it.
_CLASS_PATTERN = re.compile(r"tamiz(\.(?!__)\w+)+:(?!__)\w+", re.ASCII)
_NAMED_PARAMETERS = (Parameter.POSITIONAL_OR_KEYWORD, Parameter.KEYWORD_ONLY)


def _constructor_parameters(cls: type) -> tuple[str, ...]:
    parameters = signature(cls).parameters.items()
    return tuple(name for name, parameter in parameters if parameter.kind in _NAMED_PARAMETERS)


def _class_path(cls: type) -> str:
    return f"{cls.__module__}:{cls.__qualname__}"


def is_stored(cls: Any) -> bool:
    """Return whether objects of a class can be stored."""
    if not _CLASS_PATTERN.fullmatch(_class_path(cls)):
        return False
    is_frozen = is_dataclass(cls) and getattr(cls, "__dataclass_params__").frozen  # noqa: B009 - not known to type checkers
    is_named_tuple = issubclass(cls, tuple) and hasattr(cls, "_fields")
    return issubclass(cls, Serializable | BaseEstimator) or is_frozen or is_named_tuple


def _get_state(obj: Any, location: str) -> dict[str, Any]:
    """Return the fields of an object by name."""
    cls = type(obj)
    if isinstance(obj, Serializable):
        return obj.get_state()
    if not isinstance(obj, BaseEstimator):
        names = [field.name for field in fields(obj)] if is_dataclass(obj) else obj._fields
        return {name: getattr(obj, name) for name in names}
    named = _constructor_parameters(cls)
    state = {}
    for name, value in obj.__getstate__().items():
        if name in named or _is_fitted_attribute(cls, name):
            state[name] = value
        elif not isinstance(getattr(cls, name, None), cached_property):
            raise TypeError(
                f"{location}.{name} is neither a parameter nor a fitted attribute, and cannot be stored; delete it."
            )
    return state


def _is_fitted_attribute(cls: Any, name: str) -> bool:
    """Return whether fit may set an attribute: its name has an underscore at an end, and the class has none that it would hide.

    A cached property with invariants is stored.
    """
    marked = name.startswith("_") or name.endswith("_")
    is_free = not hasattr(cls, name) or name in collect_invariants(cls)
    return marked and name.isidentifier() and not name.startswith("__") and is_free


def _make_object(cls: Any, state: Mapping[str, Any]) -> Any:
    """Return an object with fields from a file, after checking their invariants; those of an estimator only if it is fitted."""
    invariants: Invariants = collect_invariants(cls)
    if not issubclass(cls, BaseEstimator) or issubclass(cls, Serializable):
        # The constructor checks for missing fields.
        check_invariants({path: one for path, one in invariants.items() if path.partition(".")[0] in state}, state)
        return cls.from_state(state) if issubclass(cls, Serializable) else cls(**state)
    named = _constructor_parameters(cls)
    fitted = {name: value for name, value in state.items() if name not in named}
    for name in fitted:
        if not _is_fitted_attribute(cls, name):
            raise TypeError(f"it has no attribute {name!r}")
    if fitted:
        check_invariants(invariants, state)
    estimator = cls(**{name: value for name, value in state.items() if name in named})
    vars(estimator).update(fitted)
    return estimator


def _restore_object(name: Any, state: dict[str, Any]) -> Any:
    """Return an object of a named class with fields from a file, after checking its invariants."""
    cls = _import_class(name)
    if not is_stored(cls):
        raise DataError(f"contains a {name}, and objects of that class are not read from files")
    try:
        return _make_object(cls, state)
    except BrokenInvariantError as error:
        raise DataError(f"is damaged: in its {cls.__name__}, {error}") from error
    except MemoryError:
        raise
    except Exception as error:
        # Any error of a constructor is due to values from the file.
        reason = str(error) if isinstance(error, ValueError | TypeError) else repr(error)
        raise DataError(f"contains a {name} that cannot be restored: {reason.rstrip('.')}") from error


# Packages without classes of fitted state.
_STATELESS_PACKAGES = ("cli", "comparison", "display", "kernels", "report", "_study")


def skops_trusted_types() -> list[str]:
    """Return the types that occur in fitted estimators, for `skops.io.load(file, trusted=tamiz.skops_trusted_types())`.

    Returns
    -------
    list of str
        The classes of tamiz that `load` reads, and three types of numpy, scipy and Python; no function is among them.

    Notes
    -----
    skops reads files without running code from them, and asks which types it may create. A pipeline of estimators of several
    packages needs it; `save` and `load` store a single estimator of tamiz. The first call imports all modules, about a second.

    Examples
    --------
    >>> import tamiz
    >>> "tamiz.reduction.pca.PCA" in tamiz.skops_trusted_types()
    True
    """
    names = {"builtins.frozenset", "numpy.dtype", "scipy.sparse._csr.csr_array"}
    root = import_module("tamiz")
    for module_info in walk_packages(root.__path__, "tamiz."):
        if module_info.name.split(".")[1] not in (*_STATELESS_PACKAGES, "__main__"):
            module = import_module(module_info.name)
            names |= {
                f"{value.__module__}.{name}"
                for name, value in vars(module).items()
                if isinstance(value, type) and value.__module__ == module_info.name and is_stored(value)
            }
    return sorted(names)


def _import_class(name: Any) -> type:
    if not isinstance(name, str) or not _CLASS_PATTERN.fullmatch(name):
        raise DataError(f"contains a {name}, and only objects of tamiz are read from files")
    module, _, attribute = name.partition(":")
    try:
        cls = getattr(import_module(module), attribute)
    except (ImportError, AttributeError) as error:
        # The class is of a later version, or needs a package that is not installed.
        reason = str(error).rstrip(".")
        raise DataError(f"contains a {name}, which this tamiz {__version__} does not have ({reason})") from error
    if not isinstance(cls, type) or _class_path(cls) != name:
        raise DataError(f"contains a {name}, which is not a class of that module")
    return cls


class ArrayWriter:
    """Writes arrays to an archive; arrays that share all their memory are written once."""

    def __init__(self, archive: ZipFile) -> None:
        self._archive = archive
        self._number_by_memory: dict[Any, int] = {}
        # Arrays are kept alive until all are written, so that no address is reused.
        self._kept_alive: list[NDArray[Any]] = []

    def add(self, array: NDArray[Any]) -> int:
        """Write an array, and return its number."""
        seen = (array.__array_interface__["data"][0], array.shape, array.strides, array.dtype.str)
        if seen in self._number_by_memory:
            return self._number_by_memory[seen]
        number = self._number_by_memory[seen] = len(self._number_by_memory)
        self._kept_alive.append(array)
        plain = array if array.flags.c_contiguous or array.flags.f_contiguous else np.ascontiguousarray(array)
        self._archive.compression = _compression(plain)
        with self._archive.open(_member_name(number), "w", force_zip64=True) as file:
            npy.write_array(file, plain, allow_pickle=False)
        return number


def _compression(array: NDArray[Any]) -> int:
    """Return the compression for an array, chosen by compressing a sample from its middle."""
    values = array.ravel(order="K")
    n = _SAMPLE_BYTES // max(array.itemsize, 1)
    sample = values[max(0, (len(values) - n) // 2) :][:n].tobytes()
    return (
        ZIP_DEFLATED
        if len(zlib.compress(sample, COMPRESSION_LEVEL)) < _MAX_COMPRESSED_SHARE * len(sample)
        else ZIP_STORED
    )


class ArrayReader:
    """Reads the arrays of an archive at their first use."""

    def __init__(self, archive: ZipFile) -> None:
        self._archive = archive
        self._members = {info.filename: info for info in archive.infolist()}
        self._arrays: dict[int, NDArray[Any]] = {}

    def get(self, number: Any) -> NDArray[Any]:
        if type(number) is not int or _member_name(number) not in self._members:
            raise DataError(f"is damaged: its array {number!r} is missing")
        if number not in self._arrays:
            info = self._members[_member_name(number)]
            with self._archive.open(info) as file:
                _check_header(file, info)
                file.seek(0)
                self._arrays[number] = np.asarray(npy.read_array(file, allow_pickle=False))
                # The checksum is verified at the end of the member.
                file.read(1)
        return self._arrays[number]


def _check_header(file: IO[bytes], info: ZipInfo) -> None:
    """Raise DataError if the header does not match the size of the member, before memory is allocated."""
    name = info.filename
    try:
        read = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}[npy.read_magic(file)]
        shape, _, dtype = read(file)
    except (BadZipFile, zlib.error):
        raise
    except Exception as error:
        # The header is a Python literal, and parsing a damaged one may raise any error.
        raise DataError(f"is damaged: {name} is no array of NumPy's format") from error
    if dtype.kind not in _DTYPE_KINDS:
        raise DataError(f"contains {name} of dtype {dtype}, and only numbers, dates and text are read")
    expected = math.prod(shape) * dtype.itemsize
    found = info.file_size - file.tell()
    if min(shape, default=0) < 0 or expected != found:
        raise DataError(f"is damaged: {name} should have {expected:,} bytes and has {found:,}")


def _member_name(number: int) -> str:
    return f"arrays/{number}.npy"
