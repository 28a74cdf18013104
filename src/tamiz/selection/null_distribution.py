"""The permutation null distribution of a search."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from tamiz.arrays import Floats
from tamiz.runtime.codec import JsonResult

# With fewer permutations p cannot be 0.05.
MIN_PERMUTATIONS = 19


@dataclass(frozen=True, eq=False)
class PermutationNull(JsonResult):
    """The permutation null distribution of a search.

    Attributes
    ----------
    null_values : ndarray of shape (n_permutations,)
        The statistic of the best set for every shuffled target.
    observed : float
        The statistic of the best set for the original target.
    statistic : {"merit", "apparent score"}
        The name of the statistic.
    description : str
        How the target was shuffled, such as "shuffled among all rows".
    """

    json_properties: ClassVar[tuple[str, ...]] = ("median", "p_value")

    null_values: Floats
    observed: float
    statistic: str
    description: str

    @property
    def median(self) -> float:
        return float(np.median(self.null_values))

    @property
    def p_value(self) -> float:
        """(1 + number of null values >= observed) / (1 + n_permutations): the original target counts as one permutation.

        Phipson and Smyth (2010), Permutation p-values should never be zero, Statistical Applications in Genetics and Molecular
        Biology 9.
        """
        return (1 + int(np.sum(self.null_values >= self.observed))) / (1 + len(self.null_values))

    @property
    def explained_by_chance(self) -> bool | None:
        """Whether p is above 0.05; None if there are too few permutations for a smaller p."""
        return self.p_value > 0.05 if len(self.null_values) >= MIN_PERMUTATIONS else None

    @property
    def sentence(self) -> str:
        """How the null values compare with the observed one, in a sentence."""
        n, reached = len(self.null_values), int(np.sum(self.null_values >= self.observed))
        searches = f"{n} search{'es' * (n > 1)} on targets {self.description}"
        if not reached:
            return (
                f"{searches} have a lower {self.statistic} than {self.observed:.3g} (at most {self.null_values.max():.3g}), but "
                "too few select any column, or their values vary too much, to exclude chance."
            )
        return f"{reached} of {searches} reach{'es' * (reached == 1)} the {self.statistic} {self.observed:.3g}."
