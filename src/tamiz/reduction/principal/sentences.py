"""What a reader of principal components must know, a sentence each."""

from __future__ import annotations

from collections.abc import Sequence

from tamiz.reduction.principal.decomposition import PrincipalComponents
from tamiz.reduction.principal.parallel_analysis import ParallelAnalysis
from tamiz.statistics.base import Floats

# What chance is.
CHANCE_NOTE = (
    "By chance is the mean of tables of as many rows whose columns are independent (parallel analysis, Horn 1965)."
)
# Columns named in one sentence.
_MAX_NAMED_COLUMNS = 5
# An eigenvalue below 0 by less than this share of the largest is 0 to rounding, and a residual above this one is told.
_EIGENVALUE_TOLERANCE, _LARGE_RESIDUAL = 1e-9, 1e-6


def missing_value_notes(n_missing: int, missing: str) -> list[str]:
    """Return how missing values were counted."""
    if not n_missing:
        return []
    values = "missing value" if n_missing == 1 else "missing values"
    told = {
        "mean": f"{'counts' if n_missing == 1 else 'count'} as the mean of the column",
        "pairwise": "left out pair by pair: every covariance is taken over the rows that have both",
        "iterative": "filled by the components themselves, in least squares",
    }
    return [f"{n_missing:,} {values} {told[missing]}."]


def category_notes(
    levels: Sequence[tuple[int, int]], variances: Floats, categories: str, *, standardize: bool
) -> list[str]:
    """Return how categorical columns are weighted, and with FAMD's weights how much of the total variance they contribute."""
    if not levels:
        return []
    indicator = (
        "A categorical column is one indicator (0 or 1) for each of its K levels, divided by the square root of the level's "
        "share"
    )
    if categories == "balanced":
        count = sum(bool(variances[start:stop].any()) for start, stop in levels)
        count += int((variances[: levels[0][0]] > 0).sum())
        shares = f": proportions are shares of {count:,} columns" if standardize and count > 1 else ""
        return [f"{indicator} and of K - 1, so that each categorical column has total variance 1{shares}."]
    total = float(variances.sum())
    share = sum(float(variances[start:stop].sum()) for start, stop in levels) / total if total > 0 else 0.0
    return [
        f"{indicator} (FAMD): its total variance is K - 1, and categorical columns account for {share:.1%} of the "
        "total; categories='balanced' gives each column total variance 1."
    ]


def constant_column_warnings(names: Sequence[str], variances: Floats, *, standardize: bool) -> list[str]:
    """Return which columns do not vary, where that matters."""
    still = [name for name, variance in zip(names, variances, strict=True) if not variance > 0]
    if len(still) == len(names):
        return ["PCA: no column varies in what is present, so that every component is 0."]
    if not still or not standardize:
        return []
    named = ", ".join(still[:_MAX_NAMED_COLUMNS])
    more = f" and {len(still) - _MAX_NAMED_COLUMNS:,} more" if len(still) > _MAX_NAMED_COLUMNS else ""
    verb = "is" if len(still) == 1 else "are"
    return [f"PCA: {named}{more} {verb} constant, and cannot be standardised: 0 in every row."]


def decomposition_warnings(components: PrincipalComponents, advice: str = "") -> list[str]:
    """Return what is wrong with a decomposition, and what else could be done."""
    told, largest = [], float(components.variances[0])
    if components.smallest_eigenvalue < -_EIGENVALUE_TOLERANCE * largest:
        told.append(
            f"PCA: the covariance has eigenvalues below 0, the least is {components.smallest_eigenvalue:.3g}: no rows without gaps have such a "
            f"covariance, and shares of its total may sum to more than 1. Variances below 0 are given as 0{advice}."
        )
    worst = float(components.residuals.max(initial=0.0))
    if worst > _LARGE_RESIDUAL * largest:
        told.append(f"PCA: a direction has the residual {worst:.2g} beside the variance {largest:.4g}.")
    return told


def chance_title(analysis: ParallelAnalysis, shares: Floats) -> str:
    """Return how many components are more than chance: of all, where their shares of the variance sum to 1, or of the first."""
    n, k = analysis.n_components, len(analysis.reference)
    if n == 0:
        return "No component holds more than chance would give"
    first = "" if shares.sum() >= 1 - _EIGENVALUE_TOLERANCE else "the first "
    return f"{n:,} of {first}{k:,} component{'s' * (k > 1)} {'holds' if n == 1 else 'hold'} more than chance would give"
