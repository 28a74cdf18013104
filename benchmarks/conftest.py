"""What is written beside the numbers."""

from importlib.metadata import version


def pytest_benchmark_update_machine_info(machine_info):
    for package in ("numpy", "scikit-learn", "numba"):
        machine_info[package] = version(package)
