"""The records of a description, which every family of maps fills in."""

from __future__ import annotations

from dataclasses import dataclass, field

from tamiz.reduction.base import ImageSet


@dataclass(frozen=True)
class Gallery:
    """A group of images of one shape in a report.

    Attributes
    ----------
    title, note : str
        Heading, and an explanation for readers.
    shape : tuple of two int
        Height and width in pixels.
    names : list of str
        One name for each image.
    images : list of list of float
        Pixels, row by row.
    signed : bool
        Whether the colour scale is centred at 0; else it spans the values of each image.
    shows_rows : bool
        Whether the images show rows of the table.
    """

    title: str
    note: str
    shape: tuple[int, int]
    names: list[str]
    images: list[list[float]]
    signed: bool = False
    shows_rows: bool = False


@dataclass(frozen=True)
class MapDescription:
    """The description of a map in a report.

    Attributes
    ----------
    axis_names : list of str
        A name for every coordinate.
    notes : list of str
        Preprocessing and results, one sentence each.
    proximity_note : str
        Meaning of a small distance on the map, one sentence.
    comparable_axes : bool
        Whether all axes have the same unit.
    stress : float or None
        Kruskal's stress-1 of the map, on a sample of pairs for sampling methods; None for methods without stress.
    spectrum_label : str
        Name of the values of the spectrum.
    spectrum : list of float
        One value an axis, first axis first.
    spectrum_note : str
        Explanation of the spectrum, one sentence.
    cumulative : list of float
        Cumulative sums of the spectrum; empty if its values are not shares of a total.
    residuals : list of float
        Residual norms of iterative eigensolvers; empty for direct solvers.
    chance_spectrum : list of float
        Expected spectrum under the null model of parallel analysis; empty if not computed.
    chance_title, chance_note : str
        Heading with the number of axes above the null model, and an explanation of the null model, one sentence.
    loading_names : list of str
    loadings : list of list of float
        One row for each name, one value for each axis.
    galleries : list of Gallery
        Axes shown as images, if the columns are pixels.
    """

    axis_names: list[str]
    notes: list[str] = field(default_factory=list)
    proximity_note: str = "Rows with similar values are near each other."
    comparable_axes: bool = True
    stress: float | None = None
    spectrum_label: str = ""
    spectrum: list[float] = field(default_factory=list)
    spectrum_note: str = ""
    cumulative: list[float] = field(default_factory=list)
    residuals: list[float] = field(default_factory=list)
    chance_spectrum: list[float] = field(default_factory=list)
    chance_title: str = ""
    chance_note: str = ""
    loading_names: list[str] = field(default_factory=list)
    loadings: list[list[float]] = field(default_factory=list)
    galleries: list[Gallery] = field(default_factory=list)


def to_gallery(images: ImageSet, note: str) -> Gallery:
    """Return the images with an explanation for readers."""
    return Gallery(
        images.title, note, images.shape, images.names, images.images, images.signed, shows_rows=images.shows_rows
    )
