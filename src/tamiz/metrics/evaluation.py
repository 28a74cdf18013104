"""All quality measures of a map from one pass over the pairs of its rows, with their definitions and standard errors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from tamiz.arrays import Floats, Indices
from tamiz.metrics.embedding_pair import check_neighbors_below_half, read_embedding_pair
from tamiz.metrics.estimates import QualityMeasure, mean_estimate
from tamiz.metrics.neighborhoods import (
    RankAgreement,
    agreement_from_scan,
    area_rank_weights,
    majority_vote_hits,
    neighbor_recall,
    rank_penalty_scores,
    read_labels,
    relative_rank_errors,
    row_areas,
)
from tamiz.metrics.stress import PairSample, fit_from_scan, initial_scales, rank_correlation_estimate
from tamiz.runtime import parallel
from tamiz.runtime.random import Seed, make_rng
from tamiz.runtime.result_tables import html_table


@dataclass(frozen=True)
class PointQuality:
    """Quality measures of single rows, for the rows that were evaluated.

    Attributes
    ----------
    rows : ndarray of shape (n_rows,)
        Row numbers, ascending.
    stress : ndarray of shape (n_rows,)
        Normalised stress of the row's own distances, at the best scale of the whole map; smaller is better.
    trustworthiness, continuity, recall : ndarray of shape (n_rows,)
        Values of the row's neighbourhood; larger is better. Their means are the values of the map.
    rank_agreement : ndarray of shape (n_rows,)
        The row's area under R_NX, larger is better.
    """

    rows: Indices
    stress: Floats
    trustworthiness: Floats
    continuity: Floats
    recall: Floats
    rank_agreement: Floats


@dataclass(frozen=True, repr=False)
class MapQuality:
    """The quality measures of a map.

    Attributes
    ----------
    measures : tuple of QualityMeasure
        Also accessible by name: `quality["trustworthiness"].value`.
    points : PointQuality
    agreement : RankAgreement
        The curves over all neighbourhood sizes.
    n_samples : int
    n_neighbors : int
    metric : str
        Metric of the data.
    """

    measures: tuple[QualityMeasure, ...]
    points: PointQuality
    agreement: RankAgreement
    n_samples: int
    n_neighbors: int
    metric: str

    @property
    def is_exact(self) -> bool:
        return len(self.points.rows) == self.n_samples

    def __getitem__(self, name: str) -> QualityMeasure:
        for measure in self.measures:
            if measure.name == name:
                return measure
        raise KeyError(
            f"There is no measure {name!r}; the measures are {', '.join(measure.name for measure in self.measures)}."
        )

    def point_values(self, name: str) -> Floats:
        """Return one measure of `points` for every row, NaN for rows that were not evaluated; suitable as map colours.

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
        """Return the measures of the map as JSON values, without those of points and curves."""
        return {
            "n_samples": self.n_samples,
            "n_rows": len(self.points.rows),
            "n_neighbors": self.n_neighbors,
            "metric": self.metric,
            "measures": [vars(measure).copy() for measure in self.measures],
        }

    def _heading(self) -> str:
        n, k = len(self.points.rows), self.n_neighbors
        rows = f"{n:,} rows" if self.is_exact else f"{n:,} rows sampled of {self.n_samples:,}"
        neighbors = "1 neighbour" if k == 1 else f"{k} neighbours"
        return f"Quality of a map: {rows}, each compared with all; {neighbors}, {self.metric} distances"

    def _lines(self) -> list[tuple[str, str, str, str]]:
        return [
            (m.name, _format_value(m), "larger is better" if m.larger_is_better else "smaller is better", m.meaning)
            for m in self.measures
        ]

    def __repr__(self) -> str:
        lines = self._lines()
        widths = [max(len(line[column]) for line in lines) for column in range(3)]
        table = [
            "  ".join([*(cell.ljust(width) for cell, width in zip(line, widths, strict=False)), line[3]])
            for line in lines
        ]
        return "\n".join([self._heading(), *table])

    def _repr_html_(self) -> str:
        return html_table(self._heading(), self._lines())


def _format_value(measure: QualityMeasure) -> str:
    return f"{measure.value:.4f}" + (f" ± {measure.error:.4f}" if measure.error else "")


# Up to MAX_EXACT_ROWS every row is compared with all, which takes seconds; of more rows, SAMPLED_ROWS are drawn.
MAX_EXACT_ROWS, SAMPLED_ROWS = 10_000, 1_000
# Pairs that the rank correlation of distances is computed from.
_N_PAIRS = 200_000

# Whether larger is better, and the one-line definition.
_MEASURES = {
    "normalized_stress": (False, "differences of distances, map as it is, over the distances of the data"),
    "kruskal_stress": (False, "differences of distances at the map's best scale, over the distances of the map"),
    "correlation": (True, "of the distances on the map with those of the data (Pearson)"),
    "rank_correlation": (True, "of the order of the distances (Spearman)"),
    "trustworthiness": (True, "neighbours on the map are near in the data too"),
    "continuity": (True, "neighbours in the data are near on the map too"),
    "neighborhood_recall": (True, "share of the neighbours in the data that are neighbours on the map"),
    "map_rank_error": (False, "relative error of the ranks of neighbours on the map"),
    "data_rank_error": (False, "relative error of the ranks of neighbours in the data"),
    "rank_agreement": (True, "area under R_NX: neighbours kept beyond chance, all sizes of neighbourhoods"),
    "label_accuracy": (True, "share of rows whose neighbours on the map vote for their label"),
}


def quality(
    X: Any,
    embedding: Any,
    *,
    metric: str = "euclidean",
    n_neighbors: int = 15,
    labels: ArrayLike | None = None,
    sample: int | None = None,
    random_state: Seed = 0,
) -> MapQuality:
    """All quality measures of a map, each with its definition and its standard error.

    Parameters
    ----------
    X : array, data frame, sparse matrix or Table
        The rows that were mapped; a square matrix of distances with metric="precomputed".
    embedding : array or data frame of shape (n_samples, n_components)
        The coordinates of the rows on the map, from any method.
    metric : str, default="euclidean"
        Metric of the data: "euclidean", "seuclidean", "cityblock", "cosine", "gower" or "precomputed". Distances on the map are
        always Euclidean.
    n_neighbors : int, default=15
        Below n_samples / 2.
    labels : array-like of shape (n_samples,), default=None
        The class of every row, none missing; adds the kNN label accuracy on the map.
    sample : int, default=None
        Number of rows drawn at random and compared with all rows. None uses every row up to 10,000 rows, and 1,000 sampled rows
        beyond.
    random_state : int, Generator or None, default=0
        Draws the sample of rows and the pairs of the rank correlation.

    Returns
    -------
    MapQuality
        Prints as a table. `quality["trustworthiness"].value` is a number, `points` contains the values of single rows,
        `agreement` the curves over all neighbourhood sizes.

    Raises
    ------
    ValueError
        When `n_neighbors` is not below n_samples / 2.
    DataError
        When there is not one row of coordinates for every row of X, or all distances are 0.

    Notes
    -----
    Cost O(m n p) for m rows compared with n, memory O(n (p + k)): all measures come from one pass over the pairs. A standard error
    is that of a mean, or of a ratio of means, over rows drawn without replacement. The rank correlation of more than 200,000 pairs
    is computed from 200,000 drawn pairs, and its standard error from its spread over twenty parts of these.

    References
    ----------
    Venna and Kaski (2001), Neighborhood preservation in nonlinear projection methods, ICANN; Lee and Verleysen (2009), Quality
    assessment of dimensionality reduction: rank-based criteria, Neurocomputing 72.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tamiz.metrics import quality
    >>> from tamiz.reduction import PCA
    >>> X, species = load_iris(return_X_y=True)
    >>> measured = quality(X, PCA(2).fit_transform(X), labels=species)
    >>> for measure in measured.measures:
    ...     print(f"{measure.name:20} {measure.value:.3f}")
    normalized_stress    0.042
    kruskal_stress       0.040
    correlation          0.998
    rank_correlation     0.996
    trustworthiness      0.987
    continuity           0.993
    neighborhood_recall  0.800
    map_rank_error       0.032
    data_rank_error      0.023
    rank_agreement       0.692
    label_accuracy       0.960
    """
    rng = make_rng(random_state)
    with parallel.thread_session():
        pair = read_embedding_pair(X, embedding, metric)
        k = check_neighbors_below_half(n_neighbors, pair.n)
        codes = None if labels is None else read_labels(labels, pair.n)
        if sample is None and pair.n > MAX_EXACT_ROWS:
            sample = SAMPLED_ROWS
        pair = pair.sample_rows(sample, rng)
        drawn = PairSample.draw(pair.rows, pair.n, _N_PAIRS, rng)
        scales = initial_scales(pair)
        data, mapped = pair.data_neighbors(k), pair.map_neighbors(k)
        found = pair.scan(
            data_neighbors=data.points,
            map_neighbors=mapped.points,
            scales=scales,
            rank_weights=area_rank_weights(pair.n),
            sampled_points=drawn.points,
        )
        fit = fit_from_scan(pair, scales, found)
        ranks = rank_correlation_estimate(drawn, found, pair.rows)
    trust, continuity = (rank_penalty_scores(ranks, pair.n) for ranks in (found.ranks_in_data, found.ranks_in_map))
    recall = neighbor_recall(data.points, mapped.points)
    points = PointQuality(pair.rows, fit.row_stress(), trust, continuity, recall, row_areas(found))
    of_rows = {
        "trustworthiness": trust,
        "continuity": continuity,
        "neighborhood_recall": recall,
        "map_rank_error": relative_rank_errors(mapped, found.ranks_in_data, pair.n),
        "data_rank_error": relative_rank_errors(data, found.ranks_in_map, pair.n),
        "rank_agreement": points.rank_agreement,
    }
    if codes is not None:
        of_rows["label_accuracy"] = majority_vote_hits(codes, mapped.points, pair.rows)
    estimates = {
        "normalized_stress": fit.normalized_stress(best=False),
        "kruskal_stress": fit.kruskal_stress(best=True),
        "correlation": fit.correlation(),
        "rank_correlation": ranks,
        **{name: mean_estimate(values, pair.n) for name, values in of_rows.items()},
    }
    measures = tuple(QualityMeasure(name, one.value, one.error, *_MEASURES[name]) for name, one in estimates.items())
    return MapQuality(measures, points, agreement_from_scan(pair, found), pair.n, k, metric)
