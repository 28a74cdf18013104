"""Kernels of several floating-point types: a call compiles only the kernel of its type."""

import numba
import numpy as np
import pytest
from numba.types import float32, float64, int64, void

from tamiz.kernels import find_kernels, jit, majorization, ro, rw


def twice(values, n, out):
    for i in range(n):
        out[i] = 2 * values[i]


def doubled(values, n, out):
    TWICE(values, n, out)
    for i in range(n):
        out[i] += 1


SIGNATURES = [void(ro(dtype), int64, rw(dtype)) for dtype in (float64, float32)]
TWICE, DOUBLED = jit(SIGNATURES)(twice), jit(SIGNATURES)(doubled)


@pytest.fixture(autouse=True)
def _kept_elsewhere(monkeypatch, tmp_path):
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_kernel_that_calls_another_computes_in_the_type_that_it_is_given(dtype):
    values, out = np.arange(3, dtype=dtype), np.empty(3, dtype=dtype)
    DOUBLED(values, 3, out)
    assert out.tolist() == [1, 3, 5]


def test_only_the_type_that_is_called_is_compiled():
    kernel = jit(SIGNATURES)(twice)
    kernel(np.ones(2), 2, np.empty(2))
    assert {name: one.is_loaded for name, one in kernel.kernels.items()} == {
        "twice_float64": True,
        "twice_float32": False,
    }


def test_each_type_is_a_kernel_of_its_file_and_has_a_name_of_its_own():
    names = find_kernels(majorization)
    assert {"apply_weights_float64", "apply_weights_float32"} <= set(names)
    assert "apply_weights" not in names
    assert names["apply_weights_float32"].function.__qualname__ == "apply_weights_float32"
