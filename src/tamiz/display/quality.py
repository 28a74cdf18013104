"""Plots of the quality of maps: curves of preserved neighbours and Shepard diagrams."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from tamiz.arrays import Floats
from tamiz.display import figures
from tamiz.display.base import PanelDisplay, check_one_each, read_vector
from tamiz.display.coloring import escape_text
from tamiz.exceptions import DataError
from tamiz.metrics import rank_agreement, shepard
from tamiz.runtime.random import Seed

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from tamiz.metrics.neighborhoods import RankAgreement

# More pairs are drawn as counts in hexagonal cells.
_MAX_POINTS = 3000
_DENSITY_COLORS = ["#d5e0e6", figures.STRONG, "#12303f"]
_GRID_SIZE = 55
_PERFECT: dict[str, Any] = {"color": figures.INK, "linewidth": 1}


@dataclass(eq=False, repr=False)
class QualityDisplay(PanelDisplay):
    """Curves R_NX of one or several maps against the neighbourhood size K: 1 is perfect, 0 is the level of a random map.

    Parameters
    ----------
    agreements : dict of str to RankAgreement
        Results of `rank_agreement`, or `MapQuality.agreement`, by the name of the map.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    lines_ : list of matplotlib Line2D

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tamiz.display import QualityDisplay
    >>> from tamiz.reduction import PCA
    >>> X = load_iris().data
    >>> maps = {"two": PCA(2).fit_transform(X), "one": PCA(1).fit_transform(X)}
    >>> display = QualityDisplay.from_embeddings(X, maps)
    >>> [line.get_label() for line in display.lines_]
    ['two (0.69)', 'one (0.48)']
    """

    agreements: Mapping[str, RankAgreement]

    @classmethod
    def from_embeddings(
        cls,
        X: Any,
        embeddings: Mapping[str, Any],
        *,
        metric: str = "euclidean",
        sample: int | None = None,
        random_state: Seed = 0,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the curves of maps of the same table.

        Parameters
        ----------
        X : array, data frame, sparse matrix or Table
        embeddings : dict of str to array-like of shape (n_samples, n_components)
            Maps by name.
        metric, sample, random_state
            As in `tamiz.metrics.rank_agreement`.
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a new figure.

        Returns
        -------
        QualityDisplay
        """
        agreements = {
            name: rank_agreement(X, embedding, metric=metric, sample=sample, random_state=random_state)
            for name, embedding in embeddings.items()
        }
        return cls(agreements).plot(ax)

    def _draw(self, panel: Axes) -> None:
        n_maps, most = len(self.agreements), len(figures.CLASS_COLORS)
        if not 1 <= n_maps <= most:
            raise DataError(f"A plot can show the curves of 1 to {most} maps, got {n_maps}.")
        self.lines_ = []
        for (name, found), color in zip(self.agreements.items(), figures.CLASS_COLORS, strict=False):
            label = f"{escape_text(name)} ({found.area:.2f})"
            self.lines_ += panel.plot(found.n_neighbors, found.r_nx, color=color, linewidth=1.4, label=label)
        panel.set_xscale("log")
        panel.set(xlabel="Size of the neighbourhood, K", ylabel="Preserved neighbours above chance, R_NX")
        panel.set_ylim(min(0.0, *(float(found.r_nx.min()) for found in self.agreements.values())), 1.0)
        legend = figures.add_legend(panel, title="map (area under the curve)", alignment="left")
        legend.get_title().set(color=figures.MUTED, fontsize="small")


@dataclass(eq=False, repr=False)
class ShepardDisplay(PanelDisplay):
    """Shepard diagram: distances on a map against dissimilarities of the data, as points or, for many pairs, as a density.

    Parameters
    ----------
    dissimilarities : array-like of shape (n_pairs,)
        Dissimilarities of the pairs in the data.
    distances : array-like of shape (n_pairs,)
        Distances of the pairs on the map.
    disparities : array-like of shape (n_pairs,), default=None
        Disparities of the pairs (for ordinal MDS, the monotone regression of the distances), drawn as a line.
    scale : float, default=None
        Factor that fits the distances on the map to the dissimilarities; a line shows where the pairs of a perfect map would be.
        None draws no line.
    note : str, default=""
        Text above the panel.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    pairs_ : matplotlib PathCollection or PolyCollection
    line_ : matplotlib Line2D or None
        The line of a perfect map.
    disparities_ : matplotlib Line2D or None
        The line of the disparities.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tamiz.display import ShepardDisplay
    >>> from tamiz.reduction import PCA
    >>> X = load_iris().data
    >>> display = ShepardDisplay.from_embedding(X, PCA(2).fit_transform(X))
    >>> display.ax_.get_title(loc="left")
    '11,175 pairs, correlation 0.998, of ranks 0.996'
    """

    dissimilarities: ArrayLike
    distances: ArrayLike
    _: KW_ONLY
    disparities: ArrayLike | None = None
    scale: float | None = None
    note: str = ""

    @classmethod
    def from_embedding(
        cls,
        X: Any,
        embedding: Any,
        *,
        metric: str = "euclidean",
        n_pairs: int = 200_000,
        random_state: Seed = 0,
        ax: Axes | None = None,
    ) -> Self:
        """Draw the Shepard diagram of any map of a table.

        Parameters
        ----------
        X, embedding, metric, n_pairs, random_state
            As in `tamiz.metrics.shepard`.
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a new figure.

        Returns
        -------
        ShepardDisplay
        """
        found = shepard(X, embedding, metric=metric, n_pairs=n_pairs, random_state=random_state)
        drawn = "" if found.all_pairs else " drawn"
        note = (
            f"{len(found.distances):,} pairs{drawn}, correlation {found.correlation:.3f}, of ranks "
            f"{found.rank_correlation:.3f}"
        )
        return cls(found.dissimilarities, found.distances, scale=found.scale, note=note).plot(ax)

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Axes | None = None) -> Self:
        """Draw the result of `shepard()` of a fitted MDS: dissimilarities, distances and disparities.

        Parameters
        ----------
        estimator : MDS or another estimator with this method
            A fitted estimator.
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a new figure.

        Returns
        -------
        ShepardDisplay
        """
        check_is_fitted(estimator)
        if getattr(type(estimator), "shepard", None) is None:
            raise TypeError(f"{type(estimator).__name__} has no shepard(); use from_embedding, which accepts any map.")
        found = estimator.shepard()
        fitted = vars(estimator)
        note = f"stress {fitted['stress_']:.4f}" if "stress_" in fitted else ""
        return cls(found.dissimilarities, found.distances, disparities=found.disparities, note=note).plot(ax)

    def _draw(self, panel: Axes) -> None:
        d, e = read_vector("dissimilarities", self.dissimilarities), read_vector("distances", self.distances)
        check_one_each("distances", e, len(d), "pair")
        self.pairs_ = _draw_pairs(panel, d, e)
        self.line_ = self.disparities_ = None
        if self.scale:
            far = min(float(d.max()), float(e.max()) * self.scale)
            (self.line_,) = panel.plot([0.0, far], [0.0, far / self.scale], "--", label="a perfect map", **_PERFECT)
        if self.disparities is not None:
            self.disparities_ = _draw_disparities(panel, d, read_vector("disparities", self.disparities))
        panel.set(xlabel="Distance in the data", ylabel="Distance on the map")
        panel.set_xlim(left=0.0)
        panel.set_ylim(bottom=0.0)
        if self.line_ is not None or self.disparities_ is not None:
            figures.add_legend(panel, loc="upper left")
        figures.add_note(panel, self.note)


def _draw_pairs(panel: Axes, d: Floats, e: Floats) -> Any:
    if len(d) <= _MAX_POINTS:
        return panel.scatter(d, e, s=6.0, color=figures.STRONG, alpha=0.35, linewidths=0.0)
    from matplotlib.colors import LinearSegmentedColormap

    colors = LinearSegmentedColormap.from_list("tamiz_density", _DENSITY_COLORS)
    return panel.hexbin(
        d, e, gridsize=_GRID_SIZE, bins="log", mincnt=1, cmap=colors, edgecolors="face", linewidths=0.2, rasterized=True
    )


def _draw_disparities(panel: Axes, d: Floats, disparities: Floats) -> Any:
    check_one_each("disparities", disparities, len(d), "pair")
    order = np.lexsort((disparities, d))
    (line,) = panel.plot(d[order], disparities[order], color="#990000", linewidth=1.4, label="disparities")
    return line
