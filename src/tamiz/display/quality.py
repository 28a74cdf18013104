"""Plots of the quality of maps: curves of preserved neighbours and Shepard diagrams."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_array, check_is_fitted

from tamiz.arrays import Floats, Indices
from tamiz.display import figures
from tamiz.display.figures import PanelDisplay, check_one_each, escape_text, read_fitted, read_names, read_vector
from tamiz.exceptions import DataError
from tamiz.metrics import rank_agreement, shepard
from tamiz.runtime.random import Seed
from tamiz.runtime.validation import check_integer

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from tamiz.metrics.neighborhoods import RankAgreement


@dataclass(eq=False, repr=False)
class StressDisplay(PanelDisplay):
    """Stress against the number of dimensions or iterations; smaller is better.

    An elbow suggests a number of dimensions: more of them lower the stress only a little.

    Parameters
    ----------
    stress : array-like of shape (n_values,)
    numbers : array-like of shape (n_values,), default=None
        Numbers of dimensions or iterations; None counts from 1.
    reference : array-like of shape (n_values,) or (n_draws, n_values), default=None
        Stress of data without structure, drawn dashed. Of several draws the mean is drawn, in a band from the smallest to the
        largest value.
    number_label : str, default="Dimensions"
    value_label : str, default="Kruskal's stress-1"
    note : str, default=""
        Text above the panel.
    from_zero : bool, default=True
        Start the axis at a stress of 0.

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    line_ : matplotlib Line2D
    reference_ : matplotlib Line2D or None

    Examples
    --------
    >>> from tamiz.display import StressDisplay
    >>> display = StressDisplay([0.21, 0.08, 0.07], reference=[0.45, 0.3, 0.2]).plot()
    >>> display.line_.get_xdata()
    array([1., 2., 3.])
    """

    stress: ArrayLike
    _: KW_ONLY
    numbers: ArrayLike | None = None
    reference: ArrayLike | None = None
    number_label: str = "Dimensions"
    value_label: str = "Kruskal's stress-1"
    note: str = ""
    from_zero: bool = True

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Axes | None = None) -> Self:
        """Draw `stress_history_` of a fitted map: the stress of the initial coordinates and after each iteration.

        Parameters
        ----------
        estimator : MDS or another estimator with this attribute
            A fitted estimator.
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a new figure.

        Returns
        -------
        StressDisplay
        """
        fitted = read_fitted(estimator, "stress_history_", "pass a map fitted by iterative minimisation of stress")
        history, n_iter = fitted["stress_history_"], len(fitted["stress_history_"]) - 1
        ending = "converged" if fitted["converged_"] else "not converged"
        note = f"{ending} after {n_iter:,} iterations at {history[-1]:.4g}"
        display = cls(history, numbers=range(n_iter + 1), number_label="Iteration", note=note, from_zero=False)
        return display.plot(ax)

    def _draw(self, panel: Axes) -> None:
        stress = read_vector("stress", self.stress)
        numbers = np.arange(1.0, len(stress) + 1) if self.numbers is None else read_vector("numbers", self.numbers)
        check_one_each("numbers", numbers, len(stress), "value of stress")
        order = np.argsort(numbers, kind="stable")
        style = figures.line_style(len(stress))
        (self.line_,) = panel.plot(numbers[order], stress[order], label="this map", **style)
        self.reference_ = None if self.reference is None else self._draw_reference(panel, numbers, order)
        panel.set(xlabel=self.number_label, ylabel=self.value_label)
        figures.use_integer_ticks(panel.xaxis)
        if self.from_zero:
            panel.set_ylim(bottom=0.0)
        figures.add_note(panel, self.note)

    def _draw_reference(self, panel: Axes, numbers: Floats, order: Indices) -> Any:
        draws = check_array(np.atleast_2d(np.asarray(self.reference)), dtype=np.float64, input_name="reference")
        check_one_each("reference", draws.T, len(numbers), "value of stress")
        numbers, draws = numbers[order], draws[:, order]
        if len(draws) > 1:
            panel.fill_between(
                numbers, draws.min(axis=0), draws.max(axis=0), color=figures.FAINT, alpha=0.35, linewidth=0.0
            )
        label = "by chance" if len(draws) == 1 else f"by chance ({len(draws):,} permutations)"
        (line,) = panel.plot(numbers, draws.mean(axis=0), label=label, **figures.REFERENCE_LINE)
        figures.add_legend(panel)
        return line


@dataclass(eq=False, repr=False)
class PointStressDisplay(PanelDisplay):
    """The points with the largest stress, which the map represents worst, and the mean stress of all points.

    Parameters
    ----------
    stress : array-like of shape (n_samples,)
        Stress of each point.
    names : list of str, default=None
        Names of the points; None shows the row numbers.
    n_points : int, default=15
        Number of points shown.
    value_label : str, default="Stress of the point"

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    points_ : matplotlib Line2D
    mean_ : matplotlib Line2D
    rows_ : ndarray of shape (n_drawn,)
        Row numbers of the points shown, the largest stress first.

    Examples
    --------
    >>> from tamiz.display import PointStressDisplay
    >>> display = PointStressDisplay([0.1, 0.4, 0.2], names=["Athens", "Barcelona", "Brussels"], n_points=2).plot()
    >>> display.rows_
    array([1, 2])
    """

    stress: ArrayLike
    _: KW_ONLY
    names: Sequence[str] | None = None
    n_points: int = 15
    value_label: str = "Stress of the point"

    @classmethod
    def from_estimator(
        cls, estimator: Any, *, names: Sequence[str] | None = None, n_points: int = 15, ax: Axes | None = None
    ) -> Self:
        """Draw `stress_per_point_` of a fitted map.

        Parameters
        ----------
        estimator : MDS or another estimator with this attribute
            A fitted estimator.
        names, n_points
            As in the class.
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a new figure.

        Returns
        -------
        PointStressDisplay
        """
        fitted = read_fitted(estimator, "stress_per_point_", "pass a fitted MDS")
        return cls(fitted["stress_per_point_"], names=names, n_points=n_points).plot(ax)

    def _draw(self, panel: Axes) -> None:
        n_points = check_integer("n_points", self.n_points, low=1)
        stress = read_vector("stress", self.stress)
        names = read_names(self.names, len(stress), "point")
        self.rows_ = np.argsort(-stress, kind="stable")[:n_points]
        largest = stress[self.rows_]
        figures.draw_stems(panel, largest, [escape_text(names[row]) for row in self.rows_])
        (self.points_,) = panel.plot(largest, np.arange(len(largest)), "o", color=figures.STRONG, markersize=6)
        mean = float(stress.mean())
        self.mean_ = panel.axvline(mean, label=f"mean of {len(stress):,} points", **figures.REFERENCE_LINE)
        panel.set(xlabel=self.value_label, ylabel="Row" if self.names is None else "")
        panel.set_xlim(left=0.0)
        figures.add_legend(panel, loc="lower right")


# Attribute of the estimator: labels of the axes of the plot.
_SPECTRA = {
    "eigenvalues_": ("Eigenvalue", "Eigenvector"),
    "explained_variance_": ("Variance", "Component"),
}
_REFERENCE_LABEL = "by chance (parallel analysis)"


@dataclass(eq=False, repr=False)
class EigenvalueDisplay(PanelDisplay):
    """Eigenvalues in their order (scree plot): a large step suggests how many to keep.

    Parameters
    ----------
    eigenvalues : array-like of shape (n_values,) or (n_parts, n_values)
        One line, or one line per connected component; NaN where a component has fewer values.
    residuals : array-like of the same shape, default=None
        Residual norm of every eigenpair; the largest is shown above the panel if it is above 0.
    reference : array-like of shape (n_values,), default=None
        Values expected without structure, drawn dashed: eigenvalues above them are kept.
    value_label : str, default="Eigenvalue"
    number_label : str, default="Eigenvector"

    Attributes
    ----------
    ax_ : matplotlib Axes
    figure_ : matplotlib Figure
    lines_ : list of matplotlib Line2D
    reference_ : matplotlib Line2D or None

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from tamiz.display import EigenvalueDisplay
    >>> from tamiz.reduction import PCA
    >>> display = EigenvalueDisplay.from_estimator(PCA(4).fit(load_iris().data))
    >>> display.lines_[0].get_ydata().round(2)
    array([4.23, 0.24, 0.08, 0.02])
    """

    eigenvalues: ArrayLike
    _: KW_ONLY
    residuals: ArrayLike | None = None
    reference: ArrayLike | None = None
    value_label: str = "Eigenvalue"
    number_label: str = "Eigenvector"

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Axes | None = None) -> Self:
        """Draw `eigenvalues_` or `explained_variance_` of a fitted estimator, with its `residuals_`.

        The reference values of parallel analysis are drawn where the estimator has them.

        Parameters
        ----------
        estimator : LaplacianEigenmaps, SpectralClustering, PCA or another estimator with one of these attributes
            A fitted estimator.
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a new figure.

        Returns
        -------
        EigenvalueDisplay
        """
        check_is_fitted(estimator)
        fitted = vars(estimator)
        attribute = next((name for name in _SPECTRA if name in fitted), None)
        if attribute is None:
            raise TypeError(
                f"{type(estimator).__name__} has neither {' nor '.join(_SPECTRA)}, so there is no spectrum to draw."
            )
        value_label, number_label = _SPECTRA[attribute]
        analysis = getattr(estimator, "parallel_analysis_", None)
        display = cls(
            fitted[attribute],
            residuals=fitted.get("residuals_"),
            reference=None if analysis is None else analysis.reference,
            value_label=value_label,
            number_label=number_label,
        )
        return display.plot(ax)

    def _draw(self, panel: Axes) -> None:
        values = _as_rows(self.eigenvalues)
        numbers = np.arange(1, values.shape[1] + 1)
        several = len(values) > 1
        # Components beyond the number of colours are grey, without an entry in the legend.
        n_named = min(len(values), len(figures.CLASS_COLORS)) if several else 0
        styles = [(figures.CLASS_COLORS[k], figures.SHAPES[k], f"Component {k + 1}") for k in range(n_named)]
        styles += [(figures.FAINT if several else figures.STRONG, "o", "_")] * (len(values) - n_named)
        self.lines_ = [
            panel.plot(numbers, row, color=color, marker=shape, markersize=5, linewidth=1, label=name)[0]
            for row, (color, shape, name) in zip(values, styles, strict=True)
        ]
        self.reference_ = None
        if self.reference is not None:
            reference = np.asarray(self.reference, dtype=np.float64)[: values.shape[1]]
            (self.reference_,) = panel.plot(
                numbers[: len(reference)], reference, label=_REFERENCE_LABEL, **figures.REFERENCE_LINE
            )
        panel.set(xlabel=self.number_label, ylabel=self.value_label)
        figures.use_integer_ticks(panel.xaxis)
        if np.nanmin(values) >= 0:
            panel.set_ylim(bottom=0.0)
        if several or self.reference_ is not None:
            figures.add_legend(panel)
        largest = 0.0 if self.residuals is None else float(np.nanmax(_as_rows(self.residuals)))
        if largest > 0:
            figures.add_note(panel, f"largest residual {largest:.1e}")


def _as_rows(eigenvalues: ArrayLike) -> Floats:
    """Return values as an array with one row per connected component."""
    values = check_array(np.atleast_2d(np.asarray(eigenvalues)), dtype=np.float64, ensure_all_finite="allow-nan")
    if np.isnan(values).all():
        raise DataError("There is no eigenvalue to draw: every one is NaN.")
    return values


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
