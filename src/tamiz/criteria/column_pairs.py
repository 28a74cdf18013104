"""Symmetric uncertainties of pairs of columns without the target, and their correction for chance."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from tamiz.criteria.discretization import ColumnCoder, EqualFrequency
from tamiz.criteria.entropy_relevance import MissingRule
from tamiz.criteria.uncertainty import SymmetricUncertainty
from tamiz.kernels.contingency import add_pair_weights, symmetric_uncertainty
from tamiz.runtime import parallel, progress
from tamiz.runtime.random import make_rng
from tamiz.sources.base import Source
from tamiz.sources.views import weight_array
from tamiz.statistics.base import Codes, Floats

# Intervals of a numeric column: at most ten, and so few that a cell of the contingency table of two columns has five rows. Below so
# many rows per cell, the uncertainty of two columns is corrected for chance.
_MAX_BINS, _MIN_BINS, _MIN_ROWS_PER_CELL = 10, 2, 5
_TILE = 2**18


def pair_association(n_rows: float, missing: MissingRule) -> SymmetricUncertainty:
    """Return the measure of pairs of columns: numbers are cut into intervals of equal frequency, without the target.

    MDL would leave some columns in one interval, where even a column and its copy have a symmetric uncertainty of 0.
    """
    bins = min(_MAX_BINS, max(_MIN_BINS, math.isqrt(int(n_rows) // _MIN_ROWS_PER_CELL)))
    return SymmetricUncertainty(missing=missing, discretization=EqualFrequency(bins))


def pair_uncertainties(
    source: Source, association: SymmetricUncertainty, first: NDArray[np.intp], second: NDArray[np.intp]
) -> Floats:
    """Return the symmetric uncertainties of pairs of columns.

    Parameters
    ----------
    source : Source
    association : SymmetricUncertainty
        The measure.
    first, second : ndarray of shape (n_pairs,)
        Column numbers.
    """
    pairs = association.pairwise(source.reduce, source.schema)
    n_pairs = len(first)
    values = np.empty(n_pairs)
    for start in range(0, n_pairs, _TILE):
        here = slice(start, start + _TILE)
        values[here] = pairs.associations(first[here], second[here])
        progress.report_progress("Comparing columns", min(start + _TILE, n_pairs), n_pairs)
    return values


def chance_corrected_uncertainties(
    source: Source,
    association: SymmetricUncertainty,
    first: NDArray[np.intp],
    second: NDArray[np.intp],
    uncertainties: Floats,
    threshold: float,
) -> Floats:
    """Return the symmetric uncertainties of pairs of columns, corrected for chance.

    Columns of many values share much by chance, because hardly any pair of values occurs twice. As in the adjusted mutual
    information, a value U becomes (U - E) / (1 - E), where E is the uncertainty after the rows of one column are shuffled. Only
    pairs that reach the threshold, and have few rows per cell, are corrected.

    Parameters
    ----------
    source : Source
    association : SymmetricUncertainty
        The measure of the values.
    first, second : ndarray of shape (n_pairs,)
        Column numbers.
    uncertainties : ndarray of shape (n_pairs,)
    threshold : float
    """
    rule, levels = association.discretization, source.schema.n_levels
    assert isinstance(rule, EqualFrequency)
    sizes = np.full(source.schema.n_columns, rule.n_bins)
    sizes[list(levels)] = list(levels.values())
    crowded = sizes[first] * sizes[second] > source.schema.n_effective / _MIN_ROWS_PER_CELL
    doubtful = np.flatnonzero(crowded & (uncertainties >= threshold))
    if not len(doubtful):
        return uncertainties
    coder = ColumnCoder(rule, source.schema, with_target=False, caller="study")
    coding = coder.gather_coding(source.reduce)
    codes: dict[int, Codes] = {}
    for j in np.union1d(first[doubtful], second[doubtful]).tolist():
        codes[j] = np.concatenate([coding.encode(block, j) for block in source.blocks([j])]).astype(np.int32)
    weight = weight_array(source)
    weight = np.ones(source.schema.n_rows) if weight is None else weight
    shuffled = make_rng(0).permutation(len(weight))

    def chance(pair: int) -> float:
        a, b = int(first[pair]), int(second[pair])
        counts = np.zeros([coding.sizes[j] + 1 for j in (a, b)])
        add_pair_weights(codes[a], codes[b][shuffled], weight, counts)
        return float(symmetric_uncertainty(counts, association.missing == "distribute", np.zeros(3)))

    expected = np.fromiter(parallel.map_blocks(chance, doubtful.tolist()), dtype=np.float64, count=len(doubtful))
    corrected = uncertainties.copy()
    room = 1 - expected
    corrected[doubtful] = np.where(room > 0, (uncertainties[doubtful] - expected) / np.where(room > 0, room, 1.0), 0.0)
    return corrected
