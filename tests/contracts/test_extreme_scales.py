"""Every relevance on numbers from the smallest that float64 has to the largest that can be squared: finite scores."""

import numpy as np
import pytest

from tamiz import RankSelector, open_table
from tamiz.criteria import registry
from tamiz.runtime import parallel
from tamiz.runtime.user_warnings import capture_warnings

RNG = np.random.default_rng(0)
X = RNG.normal(size=(24, 3))
X[:, 0] += np.arange(24) % 2


@pytest.mark.parametrize("scale", [1e-322, 1e-310, 1e-155, 1e148])
@pytest.mark.parametrize("has_classes", [True, False])
@pytest.mark.parametrize("entry", registry.of_kind("relevance"), ids=lambda entry: entry.name)
def test_scores_are_finite(entry, has_classes, scale):
    rows = X.copy()
    rows[:, 0] *= scale
    # Within a column some numbers are of another size.
    rows[::2, 1] *= scale
    y = np.arange(24) % 2 if has_classes else rows[:, 0] + rows[:, 2] * scale
    with parallel.thread_session(1), capture_warnings():
        table = open_table(rows, y)
        relevance = entry.load()().adapt_to(table.schema)
        # The Fisher score needs classes.
        scores = np.zeros(3) if relevance is None else RankSelector(relevance).fit(table).scores_
    assert np.isfinite(scores).all()


@pytest.mark.parametrize("has_classes", [True, False])
def test_mutual_information_has_the_same_scores_at_every_scale(has_classes):
    y = np.arange(24) % 2 if has_classes else X[:, 0] + 0.1 * RNG.normal(size=24)
    with capture_warnings():
        found = [
            RankSelector("mutual-information").fit(X * 2.0**power, y).scores_ for power in (0, -1000, -1015, -1040)
        ]
    np.testing.assert_array_equal(found[1], found[0])
    # Subnormal numbers have fewer digits.
    np.testing.assert_allclose(found[2:], [found[0]] * 2, atol=0.01)
