"""Rules for every kernel file, checked in its source and in its compiled kernels."""

import ast
import importlib
import threading
import time
from itertools import chain
from pathlib import Path

import numpy as np
import pytest
from numba.core.codegen import JITCPUCodegen as CPUCodegen
from numba.types import float64

from tamiz import kernels
from tamiz.kernels import primitives

FILES = sorted(path for path in Path(kernels.__file__).parent.glob("*.py") if not path.name.startswith("_"))
MODULES = [importlib.import_module(f"tamiz.kernels.{path.stem}") for path in FILES]


def imported(path):
    """Yield every module that a file imports."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield "." * node.level + (node.module or "")


def kernels_of(module):
    return {name: kernel.compiled for name, kernel in kernels.find_kernels(module).items()}


def test_kernels_are_found():
    assert len(FILES) >= 3
    assert all(kernels_of(module) for module in MODULES)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_kernel_file_imports_nothing_of_tamiz_but_the_decorator_and_primitives(path):
    # numba's cache does not see an edit in another file; its key has the text of primitives.
    ours = {name for name in imported(path) if name.startswith((".", "tamiz"))}
    assert ours <= {"tamiz.kernels", "tamiz.kernels.primitives"}


def test_an_edit_of_the_primitives_compiles_every_kernel_again(monkeypatch):
    cache = kernels.MachineCodeCache(primitives.is_nearer.function)
    signature, codegen = primitives.is_nearer.compiled.signatures[0], CPUCodegen("test")
    before = cache._index_key(signature, codegen)
    assert cache._index_key(signature, codegen) == before
    monkeypatch.setattr(kernels, "_VERSION", "another text")
    assert cache._index_key(signature, codegen) != before


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_a_kernel_file_compiles_only_through_the_decorator_of_the_package(path):
    tree = ast.parse(path.read_text(encoding="utf-8"))
    compilers = {"njit", "jit", "vectorize", "guvectorize", "jitclass", "prange", "cfunc"}
    named = {alias.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names
             if node.module and node.module.startswith("numba")}  # fmt: skip
    attributes = {node.attr for node in ast.walk(tree) if isinstance(node, ast.Attribute)}
    assert not named & compilers
    assert not attributes & {"njit", "prange", "jitclass"}


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_kernels_are_functions_of_the_module_without_closures(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef) and node.decorator_list:
            decorated = any("jit" in ast.unparse(decorator) for decorator in node.decorator_list)
            inner = [
                child
                for child in ast.walk(node)
                if isinstance(child, ast.FunctionDef | ast.Lambda) and child is not node
            ]
            assert not (decorated and inner), node.name


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_every_kernel_has_written_signatures_and_takes_no_other(module):
    found = kernels_of(module)
    for name, kernel in found.items():
        (signature,) = kernel.signatures
        assert not kernel._can_compile, name
        if name.endswith("_float32"):
            # The signature is that of float64 with float32 in its place.
            (double,) = found[name.removesuffix("32") + "64"].signatures
            assert str(signature).replace("float32", "float64") == str(double).replace("float32", "float64"), name


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_every_kernel_releases_the_lock_and_keeps_nan(module):
    for name, kernel in kernels_of(module).items():
        assert kernel.targetoptions["nogil"], name
        assert set(kernel.targetoptions["fastmath"] or ()) <= kernels.SUM_FLAGS, name


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_every_array_that_a_kernel_takes_is_contiguous(module):
    for name, kernel in kernels_of(module).items():
        for argument in chain.from_iterable(kernel.signatures):
            assert getattr(argument, "layout", "C") == "C", name


def test_no_kernel_ignores_nan_or_infinity():
    assert not kernels.SUM_FLAGS & {"nnan", "ninf", "fast"}


def test_a_kernel_takes_read_only_arrays():
    values, edges = np.array([1.0, 2.0]), np.array([1.5])
    values.flags.writeable = edges.flags.writeable = False
    codes = np.empty(2, dtype=np.int32)
    importlib.import_module("tamiz.kernels.contingency").bin_values(values, edges, codes)
    assert codes.tolist() == [0, 1]


def test_a_kernel_may_be_called_first_while_another_that_calls_it_is_compiled():
    asked, found = threading.Event(), {}

    class Asked(kernels.Kernel):
        """A kernel that lets another thread run before it returns its type to numba."""

        @property
        def _numba_type_(self):
            asked.set()
            time.sleep(0.3)
            return super()._numba_type_

    # Functions without a file are not cached, so they are compiled every time.
    namespace = {}
    exec("def doubled(x): return x + x\ndef more(x): return doubled(x) + 1.0", namespace)
    namespace["doubled"] = doubled = Asked(namespace["doubled"], float64(float64), {"nogil": True})
    more = kernels.jit(float64(float64))(namespace["more"])
    threads = [
        threading.Thread(target=lambda kernel=kernel: found.update({kernel.__name__: kernel(2.0)}), daemon=True)
        for kernel in (more, doubled)
    ]
    threads[0].start()
    assert asked.wait(30)
    threads[1].start()
    for thread in threads:
        thread.join(30)
    assert found == {"more": 5.0, "doubled": 4.0}
