"""Completeness: the share of present values, weighted, of columns of all kinds."""

import numpy as np
import pandas as pd

from tamiz import RankSelector, study
from tamiz.criteria import Completeness


def test_the_share_is_that_of_pandas_for_all_kinds_of_columns():
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"x": rng.normal(size=50), "level": rng.choice([*"abc"], 50), "whole": rng.normal(size=50)})
    table.loc[rng.random(50) < 0.3, "x"] = np.nan
    table.loc[rng.random(50) < 0.6, "level"] = None
    present = table.notna().to_numpy()
    weight = rng.random(50)
    for sample_weight, mean in ((None, present.mean(axis=0)), (weight, weight @ present / weight.sum())):
        found = RankSelector(Completeness()).fit(table, sample_weight=sample_weight)
        np.testing.assert_allclose(found.scores_, mean, rtol=1e-14)
    assert RankSelector("completeness", threshold=0.6).fit(table).get_support().tolist() == [True, False, True]
    result = study(table, relevances=[Completeness()], maps=[], assess=False).to_dict()
    assert any("42 missing values in 2 columns" in one["sentence"] for one in result["warnings"])
    np.testing.assert_allclose(result["ranking"]["scores"]["completeness"], present.mean(axis=0), rtol=1e-14)
