from __future__ import annotations

from typing import Any

import pytest

from . import sample


@pytest.fixture
def wine() -> dict[str, Any]:
    return sample.wine()


@pytest.fixture
def hostile() -> dict[str, Any]:
    return sample.hostile()


@pytest.fixture
def bare() -> dict[str, Any]:
    return sample.bare()
