"""Doctests run as a user would run them: in an empty folder, so that an example that writes a file leaves none behind, and with the
number of bootstrap samples that users get, which the tests reduce.
"""

import pytest

from tamiz.assessment import mean_ranks

N_BOOTSTRAP = mean_ranks.N_BOOTSTRAP


@pytest.fixture(autouse=True)
def _as_users_run(request, tmp_path, monkeypatch):
    if isinstance(request.node, pytest.DoctestItem):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(mean_ranks, "N_BOOTSTRAP", N_BOOTSTRAP)
