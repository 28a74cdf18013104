"""Colours of points: one colour, colours by a number, or colours by a class."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tamiz.arrays import Floats
from tamiz.display import figures
from tamiz.display.base import check_one_each
from tamiz.table.in_memory import to_raw_column
from tamiz.table.kinds import encode_target

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.collections import PathCollection

_POINTS_PER_INCH = 72.0
# Share of the panel that all markers may cover, and limits of the size of one marker in square points.
_COVERED_SHARE = 0.25
_SIZE_LIMITS = (2.0, 24.0)
_MAX_OPAQUE_POINTS = 1000
_MAX_VECTOR_POINTS = 5000
_MAX_NAME_LENGTH = 40


class Coloring:
    """Colours of the points of a plot: one for all points, without a legend."""

    def draw(self, ax: Axes, x: Floats, y: Floats) -> list[PathCollection]:
        """Draw the points, and return one artist for each colour."""
        return [ax.scatter(x, y, color=figures.STRONG, **_marker_style(ax, len(x)))]

    def add_legend(self, artists: list[PathCollection], panels: NDArray[Any]) -> None:
        """Add one legend or colour bar, if there is one, for panels of shape (n_rows, n_columns)."""


class NumericColors(Coloring):
    """Colours by a number; points with a missing value are grey and are drawn below the others."""

    def __init__(self, values: Floats, label: str) -> None:
        self.values = values
        self.label = label

    def draw(self, ax: Axes, x: Floats, y: Floats) -> list[PathCollection]:
        missing = np.isnan(self.values)
        known = ~missing
        ax.scatter(x[missing], y[missing], color=figures.FAINT, **_marker_style(ax, len(x)))
        return [
            ax.scatter(x[known], y[known], c=self.values[known], cmap=figures.colormap(), **_marker_style(ax, len(x)))
        ]

    def add_legend(self, artists: list[PathCollection], panels: NDArray[Any]) -> None:
        """Add a colour bar beside the panels."""
        n_missing = int(np.isnan(self.values).sum())
        label_parts = [self.label, f"({n_missing:,} missing, grey)" if n_missing else ""]
        bar = panels[0, 0].figure.colorbar(artists[0], ax=panels, pad=0.02, aspect=30)
        bar.solids.set_alpha(1.0)
        bar.outline.set_visible(False)
        bar.ax.tick_params(colors=figures.MUTED, labelsize="small", length=0)
        bar.set_label(" ".join(filter(None, label_parts)), color=figures.MUTED)


class ClassColors(Coloring):
    """Colours and marker shapes by a class; the rarest classes are merged, and points with a missing value are grey."""

    def __init__(self, codes: NDArray[np.integer], names: Sequence[str], label: str) -> None:
        counts = np.bincount(codes[codes >= 0], minlength=len(names))
        common = frequent_classes(dict(enumerate(counts.tolist())), len(figures.SHAPES))
        group = np.full(len(names) + 1, len(common))
        group[common] = np.arange(len(common))
        group[-1] = -1
        self.groups = group[codes]
        self.names = [escape_text(names[code]) for code in common]
        if len(common) < len(names):
            self.names.append(f"other ({len(names) - len(common):,} classes)")
        self.label = label

    def draw(self, ax: Axes, x: Floats, y: Floats) -> list[PathCollection]:
        missing = self.groups < 0
        styles = [(figures.FAINT, "o", missing)] if missing.any() else []
        styles += [(figures.CLASS_COLORS[g], figures.SHAPES[g], self.groups == g) for g in range(len(self.names))]
        return [ax.scatter(x[at], y[at], color=c, marker=shape, **_marker_style(ax, len(x))) for c, shape, at in styles]

    def add_legend(self, artists: list[PathCollection], panels: NDArray[Any]) -> None:
        names = ["missing", *self.names] if len(artists) > len(self.names) else self.names
        legend = figures.add_legend(
            panels[0, -1], artists, names, title=self.label or None, loc="upper left", bbox_to_anchor=(1.02, 1.0),
            borderaxespad=0.0, alignment="left",
        )  # fmt: skip
        legend.get_title().set_color(figures.MUTED)
        for handle in legend.legend_handles:
            handle.set(sizes=[28.0], alpha=1.0)


def frequent_classes(counts: Mapping[int, int], most: int) -> list[int]:
    """Return the classes that have a colour of their own; of more than `most`, the rarest share the last colour."""
    if len(counts) <= most:
        return sorted(counts)
    return sorted(sorted(counts, key=lambda code: (-counts[code], code))[: most - 1])


def make_coloring(color: ArrayLike | None, n_points: int, label: str | None) -> Coloring:
    """Return the colouring for values of the points.

    Text, categories, booleans and integers with few distinct values are classes; other numbers are numeric.
    """
    if color is None:
        return Coloring()
    raw = to_raw_column(color, "color")
    check_one_each("color", raw, n_points, "point")
    encoded = encode_target(raw, None, lambda at: f"value {at}")
    title = label if label is not None else "" if raw.name == "color" else raw.name
    values = np.full(n_points, -1) if encoded.values is None else encoded.values
    if values.dtype.kind == "f" and not np.isnan(values).all():
        return NumericColors(values, escape_text(title))
    codes = values if values.dtype.kind == "i" else np.full(n_points, -1)
    return ClassColors(codes.astype(np.intp), encoded.column.levels, escape_text(title))


def _marker_style(ax: Axes, n_points: int) -> dict[str, Any]:
    """Return the style of the markers; many points are smaller and more transparent, so that their density is visible."""
    extent = ax.get_window_extent()
    area = extent.width * extent.height * (_POINTS_PER_INCH / ax.figure.dpi) ** 2
    return {
        "s": float(np.clip(_COVERED_SHARE * area / max(n_points, 1), *_SIZE_LIMITS)),
        "alpha": 0.85 if n_points <= _MAX_OPAQUE_POINTS else 0.6,
        "linewidths": 0.0,
        # Vector files with many points are slow to open.
        "rasterized": n_points > _MAX_VECTOR_POINTS,
    }


def escape_text(text: str) -> str:
    """Return text for matplotlib: on one line, at most 40 characters, without mathematics.

    Dollar signs are escaped, and a leading underscore is preceded by a space because matplotlib hides such labels.
    """
    line = "".join(char if char.isprintable() else " " for char in text)
    short = line if len(line) <= _MAX_NAME_LENGTH else line[: _MAX_NAME_LENGTH - 1] + "…"
    return (" " if short.startswith("_") else "") + short.replace("$", r"\$")
