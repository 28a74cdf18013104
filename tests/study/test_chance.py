"""The permutation null of a study's assessment, or one of a few shuffled targets, decides whether the subset may be chance."""

from types import SimpleNamespace

import numpy as np
import pytest

from tamiz import SubsetSelector, open_source
from tamiz._study.run import StudyRun
from tamiz.exceptions import TamizWarning


def test_the_permutation_null_of_the_assessment_is_the_one_that_is_stated():
    rng = np.random.default_rng(3)
    source = open_source(rng.normal(size=(60, 200)), rng.permutation(np.arange(60) % 2).astype(str))
    selector = SubsetSelector().fit(source)
    subset = SimpleNamespace(columns=("x1",))
    study = SimpleNamespace(source=source, leaking=frozenset(), steps=SimpleNamespace(interruption_note=None))

    def find(merits, **more):
        null = SimpleNamespace(merits=merits, observed=0.5, statistic="merit", shuffling="shuffled among all rows")
        assessed = None if merits is None else SimpleNamespace(null=null)
        return StudyRun._find_chance(study, selector, more.get("subset", subset), assessed, source)

    with pytest.warns(TamizWarning, match="may be chance. 1 of 19 searches on targets shuffled among all rows reaches"):
        assert find((0.5, *[0.1] * 18)).startswith("1 of 19 searches")
    assert find((0.1,) * 19) == ""
    assert find((0.5, *[0.1] * 98)) == ""
    # Without an assessment, the search is repeated here.
    with pytest.warns(TamizWarning, match="may be chance"):
        assert find(None)
    assert find(None, subset=SimpleNamespace(columns=())) == ""
