"""What all tests share."""

from __future__ import annotations

import signal
from collections.abc import Iterator

import pytest

from tamiz.steps import combined

# A shell has what it runs in the background ignore Ctrl-C; tests of it are not to depend on where they run.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True, scope="session")
def _few_resamples() -> Iterator[None]:
    """Draw few tables again: the interval of the ranking is most of a study's time, and has tests of its own."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(combined, "_MOST_RESAMPLES", 5)
        patched.setattr(combined, "_LEAST_RESAMPLES", 5)
        yield
