"""How far maps keep neighbourhoods of every size, as a picture."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Self

from tamiz.display import figures, palette
from tamiz.display.coloring import escape_text
from tamiz.exceptions import DataError
from tamiz.metrics import rank_agreement
from tamiz.random import Seed

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from tamiz.metrics.agreement import RankAgreement


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
        n_maps, most = len(self.agreements), len(palette.CLASS_COLORS)
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
            for (name, found), color in zip(self.agreements.items(), palette.CLASS_COLORS, strict=False)
        ]
        panel.set_xscale("log")
        panel.set(xlabel="Size of the neighbourhood, K", ylabel="Neighbours kept beyond chance, R_NX")
        panel.set_ylim(min(0.0, *(float(found.r_nx.min()) for found in self.agreements.values())), 1.0)
        panel.legend(
            frameon=False,
            labelcolor=palette.INK,
            fontsize="small",
            title="map (area under the curve)",
            alignment="left",
        ).get_title().set(color=palette.MUTED, fontsize="small")
        self.ax_, self.figure_ = panel, panel.figure
        return self
