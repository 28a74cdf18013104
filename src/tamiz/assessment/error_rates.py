"""True and false positive rates of a selection on semi-synthetic targets, as numbers, text and HTML."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from typing import ClassVar, Literal

import numpy as np

from tamiz.arrays import Floats, Masks, divide_or_zero
from tamiz.runtime.codec import JsonResult, check_lengths
from tamiz.runtime.user_warnings import quote_name

Truth = Literal["random", "selected"]
# The strength of semi-synthetic targets relative to the real one.
SignalStrength = Literal["equal", "stronger", "weaker"]

# The number of columns that are listed as often falsely selected.
_MAX_LISTED = 5
_MEANINGS = {
    "true_positive_rate": ("true positive rate", "share of the true columns that are selected"),
    "proxy_true_positive_rate": (
        "with proxies",
        "share of the true columns that are selected, or have a selected proxy",
    ),
    "chance_true_positive_rate": ("by chance", "the rate of as many columns drawn at random"),
    "false_positive_rate": ("false positive rate", "share of the other columns that are selected"),
    "false_discovery_proportion": ("false discovery rate", "share of the selected columns that are not true"),
    "strict_false_discovery_proportion": ("without proxies", "share that are neither true nor proxies of true columns"),
}


@dataclass(frozen=True, eq=False)
class Rate(JsonResult):
    """A rate in every draw of a target.

    Attributes
    ----------
    values : ndarray of shape (n_draws,)
    """

    json_properties: ClassVar[tuple[str, ...]] = ("mean", "standard_error")

    values: Floats

    @property
    def mean(self) -> float:
        return float(self.values.mean())

    @property
    def standard_error(self) -> float:
        """The standard error of the mean: the draws are independent, given the rows."""
        return float(self.values.std(ddof=1) / np.sqrt(len(self.values)))


@dataclass(frozen=True, repr=False, eq=False)
class SelectionErrorRates(JsonResult):
    """True and false positive rates of a selection on targets that are computed from known columns.

    A proxy is a column that is so strongly associated with a true column that it may represent it.

    Attributes
    ----------
    selector : str
        The label of the selector.
    truth : {"random", "selected"}
        Whether the true columns of each draw are drawn at random, or are those that are selected for the real target.
    names : tuple of str
        All columns.
    n_samples : int
    candidate_mask : ndarray of shape (n_columns,), bool
        The columns that are not excluded and not constant.
    true_sets : ndarray of shape (n_draws, n_columns), bool
        The true columns of every draw.
    selected_sets : ndarray of shape (n_draws, n_columns), bool
        The columns that were selected.
    proxy_sets : ndarray of shape (n_draws, n_columns), bool
        The selected columns that are not true, and are proxies of a true column.
    covered_sets : ndarray of shape (n_draws, n_columns), bool
        The true columns that are selected, or have a selected proxy.
    signal : float
        The share of the variance of the target, for classes of the latent variable that is cut into classes, that the true columns
        explain.
    signal_description : str
        How it was determined.
    target_kind : {"number", "classes"}
    notes : tuple of str
    seed : int or None
    signal_strength : {"equal", "stronger", "weaker"} or None
        The strength of the semi-synthetic targets relative to the real one: "stronger" if that has next to no signal, "weaker" if
        even targets almost without noise are predicted no better; None if the signal was requested.
    """

    json_properties: ClassVar[tuple[str, ...]] = (
        *("n_columns", "n_true", "n_draws", *_MEANINGS),
        *("detection_frequencies", "false_selection_frequencies", "verdict"),
    )

    selector: str
    truth: Truth
    names: tuple[str, ...]
    n_samples: int
    candidate_mask: Masks
    true_sets: Masks
    selected_sets: Masks
    proxy_sets: Masks
    covered_sets: Masks
    signal: float
    signal_description: str
    target_kind: Literal["number", "classes"]
    notes: tuple[str, ...]
    seed: int | None
    signal_strength: SignalStrength | None = None

    def __post_init__(self) -> None:
        for sets in (self.selected_sets, self.proxy_sets, self.covered_sets):
            if sets.shape != self.true_sets.shape:
                raise ValueError(f"sets of shapes {self.true_sets.shape} and {sets.shape}")
        check_lengths(names=self.names, candidates=self.candidate_mask, columns=self.true_sets.shape[-1])
        if len(self.true_sets) < 2:
            raise ValueError(f"{len(self.true_sets)} targets, and at least 2 are needed")

    @property
    def n_draws(self) -> int:
        """The number of semi-synthetic targets."""
        return len(self.true_sets)

    @property
    def n_columns(self) -> int:
        """The number of columns that are not excluded and not constant."""
        return int(self._candidates.sum())

    @property
    def n_true(self) -> int:
        """The number of true columns; the median over the draws if it differs."""
        return int(np.median(self.true_sets.sum(axis=1)))

    @property
    def true_positive_rate(self) -> Rate:
        """The share of the true columns that are selected (recall)."""
        return _share(self.true_sets & self.selected_sets, self.true_sets)

    @property
    def proxy_true_positive_rate(self) -> Rate:
        """The share of the true columns that are selected, or have a selected proxy."""
        return _share(self.covered_sets, self.true_sets)

    @property
    def chance_true_positive_rate(self) -> Rate:
        """The expected true positive rate of as many columns drawn at random: their share of all columns."""
        return _share(self.selected_sets, np.broadcast_to(self._candidates, self.selected_sets.shape))

    @property
    def false_positive_rate(self) -> Rate:
        """The share of the columns that are not true that are selected; 0 if all are true."""
        return _share(self._false_sets, self._candidates & ~self.true_sets)

    @property
    def false_discovery_proportion(self) -> Rate:
        """The share of the selected columns that are not true, 0 if none is selected; its mean estimates the false discovery rate.

        Benjamini and Hochberg (1995), Controlling the false discovery rate, Journal of the Royal Statistical Society B 57.
        """
        return _share(self._false_sets, self.selected_sets)

    @property
    def strict_false_discovery_proportion(self) -> Rate:
        """The share of the selected columns that are neither true nor proxies of true columns; 0 if none is selected."""
        return _share(self._false_sets & ~self.proxy_sets, self.selected_sets)

    @property
    def false_selection_frequencies(self) -> dict[str, float]:
        """The columns that are most often selected without being true, at most 5, each with its share of the draws."""
        shares = self._false_sets.mean(axis=0)
        order = np.argsort(-shares, kind="stable")[:_MAX_LISTED].tolist()
        return {self.names[j]: float(shares[j]) for j in order if shares[j] > 0}

    @property
    def detection_frequencies(self) -> dict[str, float]:
        """The columns that are true in some draw, each with the share of these draws in which it is selected."""
        n_true = self.true_sets.sum(axis=0)
        n_found = (self.true_sets & self.selected_sets).sum(axis=0)
        return {self.names[j]: float(n_found[j] / n_true[j]) for j in np.flatnonzero(n_true).tolist()}

    @property
    def _candidates(self) -> Masks:
        # A selector of scikit-learn may select a constant column.
        return self.candidate_mask | self.selected_sets.any(axis=0)

    @property
    def _false_sets(self) -> Masks:
        return self.selected_sets & ~self.true_sets

    @property
    def verdict(self) -> str:
        """The rates in one sentence."""
        found, false = self.true_positive_rate.mean, self.false_discovery_proportion.mean
        strict = self.strict_false_discovery_proportion.mean
        n_columns, n_true = self.n_columns, self.n_true
        condition = f"{n_true:,} true column{'s' * (n_true != 1)} of {n_columns:,} explain{'s' * (n_true == 1)}"
        what = "latent variable behind the classes" if self.target_kind == "classes" else "target"
        proxies = f" ({strict:.0%} if proxies of true columns are not counted)" if self.proxy_sets.any() else ""
        return (
            f"If {condition} {self.signal:.0%} of the variance of the {what}, the selection finds "
            f"{found:.0%} of the true columns, and {false:.0%} of the selected columns are false{proxies}: means of {self.n_draws} "
            f"semi-synthetic targets of {self.n_samples:,} rows."
        )

    def lines(self) -> list[tuple[str, str, str]]:
        """Return the name, the value and the meaning of every rate, as text."""
        lines = []
        for name, (label, meaning) in _MEANINGS.items():
            rate: Rate = getattr(self, name)
            lines.append((label, f"{rate.mean:.2f} ± {rate.standard_error:.2f}", meaning))
        lines.append(("signal", f"{self.signal:.2f}", self.signal_description))
        often = ", ".join(f"{quote_name(name)} {share:.0%}" for name, share in self.false_selection_frequencies.items())
        return [*lines, ("falsely selected", often or "no column", "share of the draws" if often else "")]

    def _heading(self) -> str:
        return (
            f"Error rates of a selection: {self.selector}, {self.n_draws} semi-synthetic targets, "
            f"{self.n_samples:,} rows, {self.n_columns:,} columns"
        )

    def __repr__(self) -> str:
        lines = self.lines()
        widths = [max(len(line[k]) for line in lines if len(line[k]) <= 40) for k in range(2)]
        table = [f"{name:{widths[0]}}  {value:{widths[1]}}  {meaning}".rstrip() for name, value, meaning in lines]
        return "\n".join([self._heading(), *table, self.verdict, *self.notes])

    def _repr_html_(self) -> str:
        rows = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in line)}</tr>" for line in self.lines())
        paragraphs = "".join(f"<p>{escape(sentence)}</p>" for sentence in (self.verdict, *self.notes))
        return f"<table><caption>{escape(self._heading())}</caption><tbody>{rows}</tbody></table>{paragraphs}"


def _share(part: Masks, whole: Masks) -> Rate:
    """Return the size of a part of a set relative to the set in every draw, 0 for an empty set."""
    sizes = whole.sum(axis=1)
    return Rate(divide_or_zero(part.sum(axis=1), sizes))
