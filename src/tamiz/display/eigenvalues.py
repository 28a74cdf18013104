"""Plot of the eigenvalues of a fitted estimator."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_array, check_is_fitted

from tamiz.arrays import Floats
from tamiz.display import figures
from tamiz.display.base import PanelDisplay
from tamiz.exceptions import DataError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

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
