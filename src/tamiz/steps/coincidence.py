"""What columns of very many values share by chance alone: of two lists of numbers hardly any two are ever met twice."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from tamiz import parallel
from tamiz.criteria.base import StatisticsCache
from tamiz.criteria.discretization import ColumnCoder, EqualFrequency
from tamiz.criteria.uncertainty import SymmetricUncertainty
from tamiz.kernels.tables import add_pair_weights, symmetric_uncertainty
from tamiz.random import make_rng
from tamiz.sources.base import Source
from tamiz.sources.views import weight_array
from tamiz.statistics.base import Codes, Floats

# A table of two columns with fewer rows a cell is partly filled by chance.
_SPARSE_ROWS_PER_CELL = 5


def chance_corrected_uncertainty(
    source: Source,
    association: SymmetricUncertainty,
    columns: NDArray[np.intp],
    uncertainties: Floats,
    threshold: float,
) -> Floats:
    """Return the symmetric uncertainties of pairs, less what the same columns share in shuffled rows where that can be much.

    As in the adjusted mutual information, a value U becomes (U - E) / (1 - E), with E that of the rows shuffled against each other.
    Only pairs that reach the threshold, and whose table has few rows a cell, are asked again.

    Parameters
    ----------
    source : Source
    association : SymmetricUncertainty
        The measure of the values.
    columns : ndarray of column numbers
    uncertainties : ndarray of shape (n_pairs,)
        Of the pairs (0, 1), (0, 2), .. of columns.
    threshold : float
    """
    rule, levels = association.discretization, source.schema.n_levels
    assert isinstance(rule, EqualFrequency)
    sizes = np.array([levels.get(j, rule.n_bins) for j in columns.tolist()])
    first, second = np.triu_indices(len(columns), 1)
    crowded = sizes[first] * sizes[second] > source.schema.n_rows / _SPARSE_ROWS_PER_CELL
    doubtful = np.flatnonzero(crowded & (uncertainties >= threshold))
    if not len(doubtful):
        return uncertainties
    coder = ColumnCoder(rule, source.schema, with_target=False, caller="study")
    known = StatisticsCache()
    while wanted := coder.requires(known):
        known.add(source.reduce(*wanted))
    coding = coder.coding(known)
    involved = np.union1d(first[doubtful], second[doubtful]).tolist()
    codes: dict[int, Codes] = {}
    for k in involved:
        j = int(columns[k])
        codes[k] = np.concatenate([coding.encode(block, j) for block in source.blocks([j])]).astype(np.int32)
    weight = weight_array(source)
    weight = np.ones(source.schema.n_rows) if weight is None else weight
    shuffled = make_rng(0).permutation(len(weight))

    def chance(pair: int) -> float:
        a, b = int(first[pair]), int(second[pair])
        counts = np.zeros([coding.sizes[int(columns[k])] + 1 for k in (a, b)])
        add_pair_weights(codes[a], codes[b][shuffled], weight, counts)
        return float(symmetric_uncertainty(counts, association.missing == "distribute", np.zeros(3)))

    expected = np.fromiter(parallel.map_blocks(chance, doubtful.tolist()), dtype=np.float64, count=len(doubtful))
    alike = uncertainties.copy()
    room = 1 - expected
    alike[doubtful] = np.where(room > 0, (uncertainties[doubtful] - expected) / np.where(room > 0, room, 1.0), 0.0)
    return alike
