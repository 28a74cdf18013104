"""Figures are drawn without a window and closed after each test."""

import matplotlib as mpl
import pytest


@pytest.fixture(autouse=True)
def _closed_figures():
    mpl.use("agg")
    from matplotlib import pyplot

    yield
    pyplot.close("all")
