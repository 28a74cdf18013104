"""Named tuples of arrays as parameters of kernels."""

import numpy as np
import pytest
from numba import typeof
from numba.types import float64

from tamiz.kernels import CANDIDATES, read_only, record, ro, rw
from tamiz.kernels.subset_merits import UnitTerms, evaluate_codes
from tamiz.models.backends import candidate_arrays
from tamiz.search.base import Candidates


def arrays_of(n):
    rng = np.random.default_rng(0)
    c, own = rng.random((2, n)), np.ones((2, n))
    return c, own, np.zeros((2, n, n)), np.ones(n, dtype=np.int64), np.zeros(4), np.ones(2), np.array([0, 1, n])


def evaluate(terms):
    best, found = np.array([-np.inf]), np.array([-1, 0])
    return evaluate_codes(terms, 3, 0, 1, 100, best, found), best[0]


def test_a_record_of_read_only_arrays_is_accepted_and_one_of_writeable_arrays_is_not():
    arrays = arrays_of(3)
    n_evaluated, best = evaluate(UnitTerms(*map(read_only, arrays)))
    c, own = arrays[0].sum(axis=0), arrays[1].sum(axis=0)
    masks = [(code >> np.arange(3)) & 1 for code in range(1, 8)]
    assert n_evaluated == 7
    assert best == pytest.approx(max(c @ mask / np.sqrt(own @ mask) for mask in masks), rel=1e-14)
    with pytest.raises(TypeError, match="No matching definition"):
        evaluate(UnitTerms(*arrays))


def test_a_read_only_view_shares_the_array_and_leaves_it_writeable():
    array = np.zeros(3)
    view = read_only(array)
    array[0] = 1.0
    assert view[0] == 1.0
    with pytest.raises(ValueError, match="read-only"):
        view[0] = 2.0


def test_the_types_of_a_record_are_those_of_its_fields():
    assert record(UnitTerms, *[ro(float64)] * 7).types == (ro(float64),) * 7
    assert record(UnitTerms, *[ro(float64)] * 6, rw(float64)).types[-1] == rw(float64)


def test_candidates_of_any_integers_and_layout_become_the_arrays_that_kernels_accept():
    masks = np.asfortranarray([[True, False, True], [False, True, True]])
    sets = Candidates(masks, *(np.array(each, dtype=np.int32) for each in ([1, 0], [0, 2, 2], [0, 1])))
    arrays = candidate_arrays(sets)
    assert typeof(arrays) == CANDIDATES
    assert [each.tolist() for each in arrays] == [masks.tolist(), [1, 0], [0, 2, 2], [0, 1]]
    assert masks.flags.writeable
    assert sets.flipped.flags.writeable
