"""Fixtures for all tests."""

from __future__ import annotations

import shutil
import signal
from collections.abc import Iterator
from typing import Any

import pytest

from tamiz._study import models
from tamiz.assessment import mean_ranks, recommendation
from tamiz.models import named_models

# A shell has what it runs in the background ignore Ctrl-C; tests of it are not to depend on where they run.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


SWITCHES = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]


@pytest.fixture(autouse=True, scope="session")
def _nothing_left_behind(request: pytest.FixtureRequest) -> Iterator[None]:
    """Fail where a test writes into the folder that the tests were started in."""

    def written() -> dict[str, int]:
        root = request.config.rootpath
        return {path.name: path.stat().st_mtime_ns for path in root.iterdir() if path.is_file()}

    before = written()
    yield
    assert written() == before


@pytest.fixture(autouse=True, scope="session")
def _few_resamples() -> Iterator[None]:
    """Draw few bootstrap samples: the intervals of the ranking are most of a study's time, and have tests of their own."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(mean_ranks, "N_BOOTSTRAP", 5)
        yield


@pytest.fixture(scope="module")
def few_models() -> Iterator[None]:
    """Evaluate few selections by models that are quick, beside few columns added, and leave nothing out by the clock.

    A study of 60 rows takes 2 s so, and 13 s with logistic regression and a random forest; they have tests of their own.
    """
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(named_models, "_CLASSIFIERS", ("naive_bayes", "knn"))
        patched.setattr(named_models, "_REGRESSORS", ("ridge", "knn"))
        patched.setattr(recommendation, "_DEFAULTS", ("mrmr", "wrapper"))
        patched.setattr(models, "_N_ADDED_COLUMNS", (0, 5))
        patched.setattr(models, "MAX_SEARCH_SECONDS", 1e9)
        yield


@pytest.fixture(scope="session")
def browser() -> Iterator[Any]:
    playwright = pytest.importorskip("playwright.sync_api", reason="playwright is not installed")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        pytest.skip("Chromium is not installed")
    with playwright.sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=chromium, args=SWITCHES)
        yield opened
        opened.close()
