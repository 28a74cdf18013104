"""Doctests run in a folder of their own: an example that writes a file leaves none behind."""

import pytest


@pytest.fixture(autouse=True)
def _own_folder(request, tmp_path, monkeypatch):
    if isinstance(request.node, pytest.DoctestItem):
        monkeypatch.chdir(tmp_path)
