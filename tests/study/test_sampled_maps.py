"""Warnings of maps that are fitted on a sample."""

from __future__ import annotations

import numpy as np
import pandas as pd

from tamiz import open_source
from tamiz._study.maps import fit_map
from tamiz.reduction import MDS
from tamiz.runtime.user_warnings import capture_warnings


def test_excluded_columns_of_a_table_are_not_reported_again_for_its_sample():
    values = np.random.default_rng(0).normal(size=(60, 2))
    table = pd.DataFrame(values, columns=["a", "b"]).assign(row=np.arange(1, 61))
    source = open_source(table)
    assert source.schema.excluded_column_notes
    with capture_warnings() as told:
        mapped = fit_map(MDS(), source, np.arange(10), 30, 0)
    assert mapped.n_fitted == 30
    assert not [sentence for sentence in told if "no part" in sentence]
