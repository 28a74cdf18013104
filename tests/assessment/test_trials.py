"""Functions that the fold scores of all models share."""

import warnings

import numpy as np
import pytest
from scipy import stats

from tamiz.assessment.findings import FoldScores
from tamiz.assessment.trials import ignore_known_warnings


def test_the_known_warnings_of_scikit_learn_are_hidden_also_while_another_thread_has_emptied_the_filters():
    known = "`sklearn.utils.parallel.delayed` should be used with `sklearn.utils.parallel.Parallel` to make it possible"
    with warnings.catch_warnings(record=True) as shown:
        warnings.simplefilter("always")
        with ignore_known_warnings():
            warnings.resetwarnings()
            for message in (known, "A warning of a model."):
                warnings.warn(message, UserWarning, stacklevel=1)
    assert [str(one.message) for one in shown] == ["A warning of a model."]


@pytest.mark.parametrize("n_folds", [5, 10])
def test_the_detectable_difference_is_found_with_a_power_of_80_percent(n_folds):
    rng = np.random.default_rng(n_folds)
    detectable = np.sqrt(1 / n_folds) * stats.t.ppf([0.975, 0.8], n_folds - 1).sum()
    unit = FoldScores(rng.normal(size=n_folds), 1 / n_folds)
    assert unit.detectable == pytest.approx(detectable * unit.standard_deviation)
    found = [FoldScores(rng.normal(detectable, 1, n_folds), 1 / n_folds).interval[0] > 0 for _ in range(4000)]
    assert np.mean(found) == pytest.approx(0.8, abs=0.03)
