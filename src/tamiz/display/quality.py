"""How far maps keep neighbourhoods of every size, as a picture."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_array, check_is_fitted

from tamiz.display import figures
from tamiz.display.coloring import escape_text
from tamiz.exceptions import DataError
from tamiz.metrics import rank_agreement, shepard
from tamiz.runtime.random import Seed
from tamiz.statistics.base import Floats

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from tamiz.metrics.agreement import RankAgreement


# MERGED: The Shepard diagram of a map as a picture.
# More pairs are drawn as how many there are in a cell, in colours from few to many.
_MAX_POINTS = 3000
_DENSITY_COLORS = ["#d5e0e6", figures.STRONG, "#12303f"]
_GRID_SIZE = 55


class ShepardDisplay:
    """Distances on a map against those of the data, a point for every pair of rows, or a density where there are many.

    Parameters
    ----------
    dissimilarities : array-like of shape (n_pairs,)
        Of the data.
    distances : array-like of shape (n_pairs,)
        On the map.
    disparities : array-like of shape (n_pairs,), default=None
        What the distances should be by the order of the dissimilarities, drawn as a line.
    scale : float, default=None
        What distances on the map are multiplied by to fit the dissimilarities: a perfect map has its pairs on the line drawn. None
        is no line.
    note : str, default=""
        Told over the panel.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    pairs_ : matplotlib PathCollection or PolyCollection
    line_ : matplotlib Line2D or None
        Of a perfect map.
    disparities_ : matplotlib Line2D or None
        Of the disparities.

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

    def __init__(
        self,
        dissimilarities: ArrayLike,
        distances: ArrayLike,
        *,
        disparities: ArrayLike | None = None,
        scale: float | None = None,
        note: str = "",
    ) -> None:
        self.dissimilarities = dissimilarities
        self.distances = distances
        self.disparities = disparities
        self.scale = scale
        self.note = note

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
        """Draw the distances of any map of a table.

        Parameters
        ----------
        X, embedding, metric, n_pairs, random_state
            As in `tamiz.metrics.shepard`.
        ax : matplotlib Axes, default=None
            Where to draw; None is a new figure.

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
        """Draw the pairs that a fitted map by stress gives as `shepard()`: dissimilarities, distances and disparities.

        Parameters
        ----------
        estimator : MDS or another that has the method
            Fitted.
        ax : matplotlib Axes, default=None
            Where to draw; None is a new figure.

        Returns
        -------
        ShepardDisplay
        """
        check_is_fitted(estimator)
        if getattr(type(estimator), "shepard", None) is None:
            raise TypeError(f"{type(estimator).__name__} has no shepard(); from_embedding draws the pairs of any map.")
        found = estimator.shepard()
        fitted = vars(estimator)
        note = f"stress {fitted['stress_']:.4f}" if "stress_" in fitted else ""
        return cls(found.dissimilarities, found.distances, disparities=found.disparities, note=note).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None is a new figure.
        """
        panel = figures.get_panel(ax)
        d, e = _as_vector(self.dissimilarities, "dissimilarities"), _as_vector(self.distances, "distances")
        if len(d) != len(e):
            raise DataError(f"There are {len(d):,} dissimilarities and {len(e):,} distances; give one of each a pair.")
        self.pairs_ = _draw_pairs(panel, d, e)
        self.line_ = self.disparities_ = None
        if self.scale:
            far = min(float(d.max()), float(e.max()) * self.scale)
            (self.line_,) = panel.plot(
                [0.0, far],
                [0.0, far / self.scale],
                color=figures.INK,
                linewidth=1,
                linestyle="--",
                label="a perfect map",
            )
        if self.disparities is not None:
            self.disparities_ = _draw_disparities(panel, d, _as_vector(self.disparities, "disparities"))
        panel.set(xlabel="Distance in the data", ylabel="Distance on the map")
        panel.set_xlim(left=0.0)
        panel.set_ylim(bottom=0.0)
        if self.line_ is not None or self.disparities_ is not None:
            panel.legend(frameon=False, labelcolor=figures.INK, fontsize="small", loc="upper left")
        panel.set_title(self.note, loc="left", fontsize="small", color=figures.MUTED)
        self.ax_, self.figure_ = panel, panel.figure
        return self


def _as_vector(numbers: ArrayLike, name: str) -> Floats:
    values = check_array(np.asarray(numbers), dtype=np.float64, ensure_2d=False, input_name=name)
    return np.asarray(values).reshape(-1)


def _draw_pairs(panel: Axes, d: Floats, e: Floats) -> Any:
    if len(d) <= _MAX_POINTS:
        return panel.scatter(d, e, s=6.0, color=figures.STRONG, alpha=0.35, linewidths=0.0)
    colors = figures.import_matplotlib("matplotlib.colors").LinearSegmentedColormap.from_list(
        "tamiz_density", _DENSITY_COLORS
    )
    return panel.hexbin(
        d, e, gridsize=_GRID_SIZE, bins="log", mincnt=1, cmap=colors, edgecolors="face", linewidths=0.2, rasterized=True
    )


def _draw_disparities(panel: Axes, d: Floats, disparities: Floats) -> Any:
    if len(disparities) != len(d):
        raise DataError(f"There are {len(disparities):,} disparities for {len(d):,} pairs; give one for each.")
    order = np.lexsort((disparities, d))
    (line,) = panel.plot(d[order], disparities[order], color="#990000", linewidth=1.4, label="disparities")
    return line


class QualityDisplay:
    """Curves R_NX of one or several maps over the size of neighbourhoods: 1 keeps all neighbours, 0 keeps as many as chance.

    Parameters
    ----------
    agreements : dict of str to RankAgreement
        By the name of the map; `MapQuality.agreement` is one too.

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

    def __init__(self, agreements: Mapping[str, RankAgreement]) -> None:
        self.agreements = agreements

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
        """Draw the curves of maps of one table.

        Parameters
        ----------
        X : array, data frame, sparse matrix or Source
        embeddings : dict of str to array-like of shape (n_samples, n_components)
            The maps by their names.
        metric, sample, random_state
            As in `tamiz.metrics.rank_agreement`.
        ax : matplotlib Axes, default=None
            Where to draw; None is a new figure.

        Returns
        -------
        QualityDisplay
        """
        agreements = {
            name: rank_agreement(X, embedding, metric=metric, sample=sample, random_state=random_state)
            for name, embedding in embeddings.items()
        }
        return cls(agreements).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Where to draw; None is a new figure.
        """
        n_maps, most = len(self.agreements), len(figures.CLASS_COLORS)
        if not 1 <= n_maps <= most:
            raise DataError(f"The curves of 1 to {most} maps can be told apart, got {n_maps}.")
        panel = figures.get_panel(ax)
        self.lines_ = [
            panel.plot(
                found.n_neighbors,
                found.r_nx,
                color=color,
                linewidth=1.4,
                label=f"{escape_text(name)} ({found.area:.2f})",
            )[0]
            for (name, found), color in zip(self.agreements.items(), figures.CLASS_COLORS, strict=False)
        ]
        panel.set_xscale("log")
        panel.set(xlabel="Size of the neighbourhood, K", ylabel="Neighbours kept beyond chance, R_NX")
        panel.set_ylim(min(0.0, *(float(found.r_nx.min()) for found in self.agreements.values())), 1.0)
        panel.legend(
            frameon=False,
            labelcolor=figures.INK,
            fontsize="small",
            title="map (area under the curve)",
            alignment="left",
        ).get_title().set(color=figures.MUTED, fontsize="small")
        self.ax_, self.figure_ = panel, panel.figure
        return self
