"""Figures are drawn without a window and closed after each test."""

from tests.display.conftest import _closed_figures  # noqa: F401 - a fixture is found by its name
