"""The result of a comparison of two tables: its frame, printing it, and its page."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from tamiz.drift.records import ComparisonRecord
from tamiz.drift.sentences import verdict_lines
from tamiz.runtime.result_tables import frame_page, make_frame
from tamiz.storage.atomic_write import WrittenResult


@dataclass(frozen=True, kw_only=True, repr=False)
class TableComparison(ComparisonRecord, WrittenResult):
    """What differs between two tables, and whether what was chosen on the first is valid on the second.

    Attributes
    ----------
    first, second : ComparedTable
    columns : tuple of ColumnDrift
        The columns of both tables, the largest change first.
    only_first, only_second : tuple of str
        The columns of one table alone.
    other_kinds : dict of str to (str, str)
        Columns that are of another kind in the second table.
    not_compared : dict of str to str
        Columns of both tables, such as ids and free text, with the reason why they are not compared.
    set_aside : dict of str to str
        Columns that neither the model of the tables, nor the distances and the map use, with the reason.
    membership : Membership or None
        None with no column in common that changes, or with fewer than 4 rows in a table.
    target : TargetDrift or None
        None where the target is not in both tables.
    new_rows : NewRows or None
    sample : tuple of int
        The rows of each table that models, distances and the map use.
    repeated : tuple of (int, float)
        How many rows of the second table equal a row of the first in all columns that are compared, and the share of rows of the
        first that equal another one of it.
    warnings : tuple of Verdict
        The most severe first.
    seed : int
    tamiz : str
        The version.
    """

    def to_frame(self, library: str | None = None) -> Any:
        """Return a frame with one row for each column, the largest change first.

        Pairs are two columns, such as `missing_first` and `missing_second`.

        Parameters
        ----------
        library : {"pandas", "polars", "pyarrow"}, default=None
            The library of the frame; None is pandas, or pyarrow where pandas is not installed.

        Returns
        -------
        DataFrame or Table
        """
        found: dict[str, list[Any]] = {}
        plain = ["kind", "change", "psi", "expected_psi", "distance", "p_value", "adjusted", "missing_p_value"]
        for name in ["name", *plain, "n_new_levels", "n_lost_levels", "new_share", "power"]:
            found["column" if name == "name" else name] = [getattr(one, name) for one in self.columns]
        for name in ("missing", "mean", "deviation"):
            pairs = [getattr(one, name) or (None, None) for one in self.columns]
            found |= {f"{name}_{end}": [pair[k] for pair in pairs] for k, end in enumerate(("first", "second"))}
        return make_frame(found, library)

    def page(self) -> str:
        """Return the comparison as an HTML page without scripts and requests."""
        # Imported late: everything else works without jinja2.
        from tamiz.drift.page import render

        return render(self)

    def __repr__(self) -> str:
        return "\n".join(verdict_lines(self))

    def _repr_html_(self) -> str:
        return frame_page(self.page(), f"{self.first.name} and {self.second.name}")
