"""Adjusted mutual information of two codings of the same rows, and how many codings of a shape there are."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaln

from tamiz.statistics.base import Floats

Sizes = NDArray[np.int64]


def entropy(sizes: NDArray[Any]) -> float:
    """Return the entropy, in bits, of groups with so many rows.

    Parameters
    ----------
    sizes : ndarray of int, 0 or more
    """
    shares = sizes[sizes > 0] / max(int(sizes.sum()), 1)
    return float(-(shares * np.log2(shares)).sum())


def joint_entropy(a: NDArray[Any], b: NDArray[Any]) -> float:
    """Return the entropy, in bits, of the pairs of two codings.

    Parameters
    ----------
    a, b : ndarray of int, 0 or more, of shape (n_rows,)
    """
    return entropy(np.unique(a.astype(np.int64) * (int(b.max()) + 1) + b, return_counts=True)[1])


def adjusted_mutual_information(a: NDArray[Any], b: NDArray[Any]) -> float:
    """Return the mutual information of two codings, corrected for chance: 1 where they are the same up to the names of the codes.

    .. math:: AMI(A, B) = \\frac{I(A; B) - E}{(H(A) + H(B)) / 2 - E}

    E is the mean of I over all orders of the rows of one coding. In terms of the symmetric uncertainty U and its mean E' over the
    same orders it is (U - E') / (1 - E').

    Parameters
    ----------
    a, b : ndarray of int, 0 or more, of shape (n_rows,)

    Notes
    -----
    It is 0 where chance leaves nothing to explain, as for two codings that give every row a code of its own. Cost O(n log n), and
    O(n) for each pair of distinct group sizes.

    References
    ----------
    Vinh, Epps and Bailey (2010), Information theoretic measures for clusterings comparison, JMLR 11.
    """
    sizes_a, sizes_b = np.bincount(a), np.bincount(b)
    mean = (entropy(sizes_a) + entropy(sizes_b)) / 2
    expected = _expected_information(sizes_a[sizes_a > 0], sizes_b[sizes_b > 0])
    # Rounding leaves about 1e-15 bits where every order of the rows shares all there is.
    if mean - expected <= 1e-9 * mean:
        return 0.0
    return float((2 * mean - joint_entropy(a, b) - expected) / (mean - expected))


def log2_partitions(sizes: NDArray[Any]) -> float:
    """Return the logarithm to base 2 of the number of ways to split rows into groups of these sizes.

    Parameters
    ----------
    sizes : ndarray of int, 0 or more
    """
    sizes = sizes[sizes > 0]
    alike = np.unique(sizes, return_counts=True)[1]
    ways = gammaln(sizes.sum() + 1) - gammaln(sizes + 1).sum() - gammaln(alike + 1).sum()
    return float(ways / np.log(2))


def _expected_information(sizes_a: Sizes, sizes_b: Sizes) -> float:
    """Return the mean mutual information, in bits, of groups of these sizes over all orders of the rows.

    The rows that a group of a and one of b share are hypergeometric; groups of equal sizes are summed once (equation 24a of Vinh,
    Epps and Bailey 2010).
    """
    n = int(sizes_a.sum())
    factorial: Floats = gammaln(np.arange(n + 1) + 1.0)
    found = 0.0
    for a, n_a in zip(*np.unique(sizes_a, return_counts=True), strict=True):
        for b, n_b in zip(*np.unique(sizes_b, return_counts=True), strict=True):
            shared = np.arange(max(1, a + b - n), min(a, b) + 1)
            chance = np.exp(
                factorial[a] + factorial[b] + factorial[n - a] + factorial[n - b] - factorial[n]
                - factorial[shared] - factorial[a - shared] - factorial[b - shared] - factorial[n - a - b + shared]
            )  # fmt: skip
            found += n_a * n_b * float((shared / n * np.log2(n * shared / (float(a) * float(b))) * chance).sum())
    return found
