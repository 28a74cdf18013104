"""What the displays share: a panel that each draws on, and the checks of what they are made from."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_array, check_is_fitted

from tamiz.display import figures
from tamiz.exceptions import DataError

if TYPE_CHECKING:
    from collections.abc import Sequence, Sized

    from matplotlib.axes import Axes


class PanelDisplay(ABC):
    """A plot on one panel; a subclass draws it."""

    ax_: Axes
    figure_: Any

    def plot(self, ax: Axes | None = None) -> Self:
        """Draw the plot.

        Parameters
        ----------
        ax : matplotlib Axes, default=None
            Axes to draw on; None creates a new figure.
        """
        panel = figures.get_panel(ax, height=self._height())
        try:
            self._draw(panel)
        except Exception:
            # A notebook would show the empty figure.
            if ax is None:
                figures.close(panel.figure)
            raise
        self.ax_, self.figure_ = panel, panel.figure
        return self

    def _height(self) -> float:
        return figures.PANEL_HEIGHT

    @abstractmethod
    def _draw(self, panel: Axes) -> None:
        """Check what is shown, and draw it."""


def read_fitted(estimator: Any, attribute: str, advice: str) -> dict[str, Any]:
    """Return the attributes of a fitted estimator; TypeError with the advice if it lacks one."""
    check_is_fitted(estimator)
    fitted = vars(estimator)
    if attribute not in fitted:
        raise TypeError(f"{type(estimator).__name__} has no {attribute}; {advice}.")
    return fitted


def read_vector(name: str, values: ArrayLike, dtype: type[np.generic] = np.float64) -> NDArray[Any]:
    """Return values as a one-dimensional array of finite numbers; `name` is that of the parameter, for messages."""
    vector: NDArray[Any] = check_array(np.asarray(values), dtype=dtype, ensure_2d=False, input_name=name)
    if vector.ndim != 1:
        raise DataError(f"{name} must be a list of numbers, got an array of shape {vector.shape}.")
    return vector


def check_one_each(name: str, values: Sized, n: int, thing: str) -> None:
    """Raise DataError unless there is one value for each of n things, such as "point"."""
    if len(values) != n:
        raise DataError(f"{name} must have one value per {thing}: got {len(values):,} for {n:,}.")


def read_names(names: Sequence[Any] | None, n: int, thing: str) -> list[str]:
    found = [str(name) for name in (range(n) if names is None else names)]
    check_one_each("names", found, n, thing)
    return found
