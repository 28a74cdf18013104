"""Adjusted p-values, against statsmodels, scipy and the definition of the procedures."""

import numpy as np
import pytest
from scipy import stats

from tamiz.criteria import adjust_p_values

P = [0.001, 0.008, 0.039, 0.041, 0.042, 0.06, 0.074, 0.205, 0.212, 0.216, 0.222, 0.251, 0.269, 0.275, 0.34]
# statsmodels.stats.multitest.multipletests(P, method=...)[1] of statsmodels 0.14, with fdr_bh, fdr_by, holm and bonferroni.
STATSMODELS = {
    "benjamini_hochberg": [0.015, 0.06, *[0.126] * 3, 0.15, 0.15857142857142856, *[0.29464285714285715] * 7, 0.34],
    "benjamini_yekutieli": [
        0.0497734348984349, 0.1990937395937396, *[0.41809685314685324] * 3, 0.497734348984349, 0.5261763117834546,
        *[0.9776924712192571] * 7, 1.0,
    ],
    "holm": [0.015, 0.112, *[0.507] * 3, 0.6, 0.666, *[1.0] * 8],
    "bonferroni": [0.015, 0.12, 0.585, 0.615, 0.63, 0.9, *[1.0] * 9],
}  # fmt: skip


@pytest.mark.parametrize("method", STATSMODELS)
def test_adjusted_p_values_are_those_of_statsmodels_in_any_order(method):
    order = np.random.default_rng(0).permutation(len(P))
    found = adjust_p_values(np.array(P)[order], method)
    np.testing.assert_allclose(found, np.array(STATSMODELS[method])[order], rtol=1e-12)


def test_false_discovery_rates_are_those_of_scipy():
    p = np.random.default_rng(1).random(200) ** 3
    for method, name in (("benjamini_hochberg", "bh"), ("benjamini_yekutieli", "by")):
        expected = stats.false_discovery_control(p, method=name)
        np.testing.assert_allclose(adjust_p_values(p, method), expected, rtol=1e-12)


def test_missing_p_values_do_not_count():
    assert adjust_p_values([np.nan, 0.02, np.nan, 0.01]).tolist()[1::2] == [0.02, 0.02]
    assert np.isnan(adjust_p_values([np.nan, 0.02])[0])
    assert np.isnan(adjust_p_values([np.nan])).all()
    assert adjust_p_values([]).shape == (0,)


def test_the_step_up_procedure_rejects_what_has_an_adjusted_p_value_of_at_most_q():
    rng = np.random.default_rng(2)
    for _ in range(50):
        p, q = rng.random(30) ** 4, rng.random()
        below = np.flatnonzero(np.sort(p) <= q * np.arange(1, 31) / 30)
        rejected = p <= np.sort(p)[below[-1]] if below.size else np.zeros(30, dtype=bool)
        np.testing.assert_array_equal(adjust_p_values(p) <= q, rejected)


def test_the_p_values_passed_are_not_changed():
    p = np.array([0.2, 0.1])
    adjust_p_values(p)
    assert p.tolist() == [0.2, 0.1]


def test_what_is_no_p_value_is_refused():
    with pytest.raises(ValueError, match=r"p_values must be from 0 to 1, got 1\.5 at position 1"):
        adjust_p_values([0.1, 1.5])
    with pytest.raises(ValueError, match="p_values must have one dimension, got 2"):
        adjust_p_values([[0.1]])
    with pytest.raises(ValueError, match=r"method must be one of 'benjamini_hochberg', .*, got 'fdr'"):
        adjust_p_values([0.1], "fdr")
