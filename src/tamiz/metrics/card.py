"""The card of a map: its numbers by name, what each means, and the numbers of every point."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from tamiz.metrics.agreement import RankAgreement
from tamiz.metrics.slabs import RowIndices
from tamiz.statistics.base import Floats


@dataclass(frozen=True)
class QualityMeasure:
    """One number of a map.

    Attributes
    ----------
    name : str
    value : float
    error : float
        Its standard error, 0 where it is exact.
    larger_is_better : bool
    meaning : str
        In one line.
    """

    name: str
    value: float
    error: float
    larger_is_better: bool
    meaning: str


@dataclass(frozen=True)
class PointQuality:
    """How well single rows are placed, the rows that were counted.

    Attributes
    ----------
    rows : ndarray of shape (n_rows,)
        Their numbers, ascending.
    stress : ndarray of shape (n_rows,)
        Normalised stress of the row's own distances, at the best scale of the whole map; smaller is better.
    trustworthiness, continuity, recall : ndarray of shape (n_rows,)
        Of the row's neighbours; larger is better. Their means are those of the map.
    rank_agreement : ndarray of shape (n_rows,)
        The row's area under R_NX, larger is better.
    """

    rows: RowIndices
    stress: Floats
    trustworthiness: Floats
    continuity: Floats
    recall: Floats
    rank_agreement: Floats


@dataclass(frozen=True, repr=False)
class MapQuality:
    """What is to be said of a map in numbers.

    Attributes
    ----------
    measures : tuple of QualityMeasure
        Also by name: `quality["trustworthiness"].value`.
    points : PointQuality
    agreement : RankAgreement
        The curves over all sizes of neighbourhoods.
    n_samples : int
    n_neighbors : int
    metric : str
        Of the data.
    """

    measures: tuple[QualityMeasure, ...]
    points: PointQuality
    agreement: RankAgreement
    n_samples: int
    n_neighbors: int
    metric: str

    @property
    def is_exact(self) -> bool:
        """Whether every row was compared with all."""
        return len(self.points.rows) == self.n_samples

    def __getitem__(self, name: str) -> QualityMeasure:
        """Return the measure of a name."""
        for measure in self.measures:
            if measure.name == name:
                return measure
        raise KeyError(f"There is no {name!r}; there are {', '.join(measure.name for measure in self.measures)}.")

    def point_values(self, name: str) -> Floats:
        """Return what each row has of one of the numbers in `points`, NaN where it was not counted: a colour for a map.

        Parameters
        ----------
        name : {"stress", "trustworthiness", "continuity", "recall", "rank_agreement"}
        """
        names = [field for field in vars(self.points) if field != "rows"]
        if name not in names:
            raise ValueError(f"name must be one of {', '.join(names)}, got {name!r}.")
        values = np.full(self.n_samples, np.nan)
        values[self.points.rows] = getattr(self.points, name)
        return values

    def to_dict(self) -> dict[str, Any]:
        """Return the numbers of the map, without those of points and curves, as JSON knows them."""
        return {
            "n_samples": self.n_samples,
            "n_rows": len(self.points.rows),
            "n_neighbors": self.n_neighbors,
            "metric": self.metric,
            "measures": [vars(measure).copy() for measure in self.measures],
        }

    def _heading(self) -> str:
        n, k = len(self.points.rows), self.n_neighbors
        rows = f"{n:,} rows" if self.is_exact else f"{n:,} rows drawn of {self.n_samples:,}"
        neighbors = "1 neighbour" if k == 1 else f"{k} neighbours"
        return f"Quality of a map: {rows}, each compared with all; {neighbors}, {self.metric} distances"

    def _lines(self) -> list[tuple[str, str, str, str]]:
        return [
            (m.name, _format_value(m), "larger is better" if m.larger_is_better else "smaller is better", m.meaning)
            for m in self.measures
        ]

    def __repr__(self) -> str:
        lines = self._lines()
        widths = [max(len(line[place]) for line in lines) for place in range(3)]
        table = [
            "  ".join([*(cell.ljust(width) for cell, width in zip(line, widths, strict=False)), line[3]])
            for line in lines
        ]
        return "\n".join([self._heading(), *table])

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in line)}</tr>" for line in self._lines())
        return f"<table><caption>{escape(self._heading())}</caption><tbody>{rows}</tbody></table>"


def _format_value(measure: QualityMeasure) -> str:
    return f"{measure.value:.4f}" + (f" ± {measure.error:.4f}" if measure.error else "")
