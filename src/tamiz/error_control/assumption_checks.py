"""Checks of the assumptions of Gaussian knockoffs on a table and one draw of its knockoffs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import ndtri

from tamiz.arrays import Floats, Indices
from tamiz.error_control.gaussian_copula import MIN_ROWS_PER_COLUMN
from tamiz.error_control.gaussian_knockoffs import KnockoffSampler
from tamiz.storage.invariants import InstanceOf, Invariants, Nullable, Number
from tamiz.table.base import Table

# Probability that a check fails where the assumption is true, for all pairs of columns together.
_ERROR = 0.01
# Correlations of squares vary a little more: in simulations of normal columns the largest difference was 1.03 times the limit.
_SQUARES_FACTOR = 1.2


@dataclass(frozen=True)
class AssumptionCheck:
    """One assumption, what was measured, and the limit.

    Attributes
    ----------
    name : str
        "rows", "shrinkage", "collinearity", "second moments", "fourth moments" or "independence".
    passed : bool or None
        None where there is no limit.
    value : float
    limit : float or None
    sentence : str
        What was found.
    """

    name: str
    passed: bool | None
    value: float
    limit: float | None
    sentence: str

    invariants: ClassVar[Invariants] = {
        "name": InstanceOf(str),
        "passed": Nullable(InstanceOf(bool)),
        "value": Number(allow_infinite=True),
        "limit": Nullable(Number()),
        "sentence": InstanceOf(str),
    }


def check_assumptions(
    sampler: KnockoffSampler, permutations: Mapping[int, Indices], table: Table
) -> tuple[AssumptionCheck, ...]:
    """Return the checks of a table.

    Parameters
    ----------
    sampler : KnockoffSampler
    permutations : mapping of int to ndarray of shape (n_rows,)
        A draw of the sampler.
    table : Table
    """
    return (
        _check_rows(sampler, table.schema.n_rows),
        _report_shrinkage(sampler),
        _check_collinearity(sampler),
        *_check_moments(sampler, permutations),
        _check_independence(table),
    )


def _check_rows(sampler: KnockoffSampler, n_rows: int) -> AssumptionCheck:
    n_columns = len(sampler.copula.correlation)
    ratio = n_rows / max(n_columns, 1)
    return AssumptionCheck(
        "rows",
        ratio >= MIN_ROWS_PER_COLUMN,
        ratio,
        MIN_ROWS_PER_COLUMN,
        f"{n_rows:,} rows for the correlations of {n_columns:,} columns, {ratio:.3g} rows per column.",
    )


def _report_shrinkage(sampler: KnockoffSampler) -> AssumptionCheck:
    intensity = sampler.copula.shrinkage
    sentence = f"The correlations were shrunk to 0 by the share {intensity:.3g}."
    return AssumptionCheck("shrinkage", None, intensity, None, sentence)


def _check_collinearity(sampler: KnockoffSampler) -> AssumptionCheck:
    n = len(sampler.collinear)
    found = "No column is" if n == 0 else "1 column is" if n == 1 else f"{n:,} columns are"
    return AssumptionCheck("collinearity", n == 0, float(n), 0.0, f"{found} exactly determined by other columns.")


def _check_independence(table: Table) -> AssumptionCheck:
    roles = [name for name, values in (("groups", table.groups), ("times", table.time)) if values is not None]
    sentence = (
        f"The rows have {' and '.join(roles)}, and knockoffs assume independent rows."
        if roles
        else "Knockoffs assume independent rows; the table has neither groups nor times."
    )
    return AssumptionCheck("independence", not roles, float(len(roles)), 0.0, sentence)


def _check_moments(sampler: KnockoffSampler, permutations: Mapping[int, Indices]) -> tuple[AssumptionCheck, ...]:
    """Compare the correlations of pairs of columns with those in which one column, or both, are exchanged with their knockoffs.

    Correlations of the squares detect dependencies that a normal distribution with the same correlations does not have.
    """
    q = len(sampler.columns)
    if q < 2:
        return ()
    scores = sampler.copula.mean_scores[:, :q]
    knockoffs = np.column_stack([scores[permutations[j], k] for k, j in enumerate(sampler.columns.tolist())])
    # Each difference of two correlations of n rows has a standard deviation of at most about sqrt(2 / n).
    limit = float(-ndtri(_ERROR / (2 * q * (q - 1))) * np.sqrt(2 / len(scores)))
    checks = []
    for name, what, factor, power in (
        ("second moments", "correlation of scores", 1.0, 1),
        ("fourth moments", "correlation of squared scores", _SQUARES_FACTOR, 2),
    ):
        value = _largest_difference(_standardize(scores**power), _standardize(knockoffs**power))
        sentence = (
            f"The {what} of two columns changes by at most {value:.3f} where columns are exchanged with their knockoffs; "
            f"{factor * limit:.3f} is possible by chance."
        )
        checks.append(AssumptionCheck(name, bool(value <= factor * limit), value, factor * limit, sentence))
    return tuple(checks)


def _standardize(values: Floats) -> Floats:
    deviations = values - values.mean(axis=0)
    std = np.sqrt((deviations**2).mean(axis=0))
    # The squared scores of a balanced column of two levels are constant.
    return np.asarray(deviations / np.where(std > 1e-9, std, np.inf))


def _largest_difference(columns: Floats, knockoffs: Floats) -> float:
    n_rows = len(columns)
    own = columns.T @ columns / n_rows
    exchanged = [knockoffs.T @ knockoffs / n_rows, columns.T @ knockoffs / n_rows]
    apart = ~np.eye(len(own), dtype=bool)
    return max(float(np.abs(own - one)[apart].max()) for one in exchanged)
