"""The result of a comparison of two tables: its names and numbers, its verdicts in sentences, and its page."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from tamiz.assessment.findings import ColumnDistribution
from tamiz.report.text import (
    count_with_noun,
    format_number,
    format_p_value,
    format_percent,
    join_column_names,
    join_names,
    shorten,
)
from tamiz.runtime.codec import Interval, JsonResult
from tamiz.runtime.result_tables import frame_page, make_frame
from tamiz.runtime.user_warnings import is_muted
from tamiz.runtime.verdicts import Verdict
from tamiz.statistics.two_samples import share_p_value
from tamiz.storage.atomic_write import WrittenResult

if TYPE_CHECKING:
    from tamiz.table.schema import Column

FDR_LEVEL = 0.05
# Sizes from which on a significant result is stated: the area under the ROC curve of the tables, the loss of score, the shares of
# new levels, of rows outside and of repeated rows, and the difference of associations, by its measure.
MIN_AUC, MIN_LOSS, MIN_NEW, MIN_OUTSIDE, MIN_REPEATED = 0.6, 0.02, 0.01, 0.05, 0.05
_MIN_DIFFERENCE = {"standard deviations": 0.2, "odds ratio": 0.4}
_MIN_OTHER_DIFFERENCE = 0.1
_NAMED, _LEVEL = 5, 0.01
OUTSIDE = ": farther from the first table than 99% of its own rows"
_COLUMNS_SHOWN, _NAME_WIDTH = 5, 22
# Of the page.
_ALL_ROWS, _ASSOCIATIONS = 100, 12
_SHOWN_CODES = ("TZ101", "TZ104", "TZ211", "TZ214", "TZ216", "TZ308")
_COLORS = ("c0", "c1")

Pair = tuple[float, float]


@dataclass(frozen=True, kw_only=True)
class ComparedTable:
    """The size of one of two tables: its rows, those that they count as by their weights, and its columns."""

    name: str
    n_rows: int
    n_effective: float
    n_columns: int


@dataclass(frozen=True, kw_only=True)
class ColumnDrift:
    """How a column differs between two tables; pairs are of the first and the second table.

    Attributes
    ----------
    name, kind : str
    is_target : bool
    change : {"large", "small", "none"}
        "small" and "large" from a stability index of .1 and .25 above its expected value on, where a test is significant; none of a
        date, because later rows have later dates.
    psi, expected_psi : float
        The population stability index, and its mean without change.
    distance : float
        The Kolmogorov-Smirnov distance of numbers; half the sum of the absolute differences of the rates of levels.
    p_value, adjusted : float
        Of the distance; and the smallest p-value of the column, adjusted over the tests of all columns.
    missing : tuple of float
        The shares of missing values, with `missing_p_value`.
    mean, deviation : tuple of float, or None
    level : tuple of (str, float) pairs, or None
        The most frequent level in each table, with its share of the present values.
    new_levels, lost_levels : tuple of str
        The first levels of one table alone, the most frequent first; `n_new_levels` and `n_lost_levels` are all.
    new_share : float
        The share of the present values of the second table that are new levels, with `new_p_value`.
    power : int
        k where the second table seems to have the values of the first times 10**k, otherwise 0.
    distribution : ColumnDistribution or None
        The counts of both tables.
    """

    name: str
    kind: str
    is_target: bool
    change: Literal["large", "small", "none"]
    psi: float
    expected_psi: float
    distance: float
    p_value: float
    adjusted: float
    missing: Pair
    missing_p_value: float
    mean: Pair | None = None
    deviation: Pair | None = None
    level: tuple[tuple[str, float], tuple[str, float]] | None = None
    new_levels: tuple[str, ...] = ()
    n_new_levels: int = 0
    lost_levels: tuple[str, ...] = ()
    n_lost_levels: int = 0
    new_share: float = 0.0
    new_p_value: float = 1.0
    power: int = 0
    distribution: ColumnDistribution | None = None


@dataclass(frozen=True, kw_only=True)
class Membership:
    """How well a model recognises the table of a row: the area under the ROC curve, and the loss by column when it is permuted."""

    auc: float
    interval: Interval
    n_folds: int
    columns: dict[str, float]


@dataclass(frozen=True, kw_only=True)
class AssociationDrift:
    """The association of a column with the target in both tables, and its rank by tree importance; 1 is the best.

    The difference is the second value minus the first one, of odds ratios that of their logarithms.
    """

    column: str
    measure: str
    of: str
    values: Pair
    difference: float
    difference_interval: Interval
    adjusted: float
    ranks: tuple[int, int]


@dataclass(frozen=True, kw_only=True)
class TargetDrift:
    """The score of a model of the first table in cross-validation on it and on the second table, and associations in both.

    Attributes
    ----------
    target, model, scorer : str
    columns : tuple of str
        The columns of the model.
    are_chosen : bool
        Whether the caller named them.
    scores : tuple of float
    intervals : tuple of tuple of float
        The 95 % intervals of both scores.
    difference, difference_interval
        The second score minus the first one.
    n_folds : int
    leaks : tuple of str
        Columns of possible target leakage, which the model does not use.
    associations : tuple of AssociationDrift
    """

    target: str
    model: str
    scorer: str
    columns: tuple[str, ...]
    are_chosen: bool
    scores: Pair
    intervals: tuple[Interval, Interval]
    difference: float
    difference_interval: Interval
    n_folds: int
    leaks: tuple[str, ...]
    associations: tuple[AssociationDrift, ...]


@dataclass(frozen=True, kw_only=True)
class OutsideRow:
    """A row of the second table, its distance to the first in units of the limit, and its most unusual number."""

    row: int
    distance: float
    column: str
    deviations: float


@dataclass(frozen=True, kw_only=True)
class NewRows:
    """The rows of the second table that are farther from the first than 99 % of its own rows are from each other, and a map.

    Attributes
    ----------
    columns : tuple of str
        The columns of distances and map.
    limit : float
        The distance of standardised columns.
    n_rows : tuple of int
        The rows of both tables whose distances were computed.
    share, p_value : float
        The share of rows outside, and Fisher's exact p-value of it against the first table's own rows.
    rows : tuple of OutsideRow
        The farthest ones.
    points : tuple of tuple of float
        Coordinates of rows of both tables on the first two principal components of the first one.
    groups : tuple of int
        Of each point: 0 the first table, 1 the second, 3 the second and outside.
    explained : tuple of float
        The share of the variance of each component.
    """

    columns: tuple[str, ...]
    limit: float
    n_rows: tuple[int, int]
    share: float
    p_value: float
    rows: tuple[OutsideRow, ...]
    points: tuple[Pair, ...]
    groups: tuple[int, ...]
    explained: Pair


@dataclass(frozen=True, kw_only=True, repr=False)
class TableComparison(JsonResult, WrittenResult):
    """What differs between two tables, and whether what was chosen on the first is valid on the second.

    Attributes
    ----------
    first, second : ComparedTable
    columns : tuple of ColumnDrift
        The columns of both tables, the largest change first.
    only_first, only_second : tuple of str
        The columns of one table alone.
    other_kinds : dict of str to (str, str)
        Columns that are of another kind in the second table.
    not_compared : dict of str to str
        Columns of both tables, such as ids and free text, with the reason why they are not compared.
    set_aside : dict of str to str
        Columns that neither the model of the tables, nor the distances and the map use, with the reason.
    membership : Membership or None
        None with no column in common that changes, or with fewer than 4 rows in a table.
    target : TargetDrift or None
        None where the target is not in both tables.
    new_rows : NewRows or None
    sample : tuple of int
        The rows of each table that models, distances and the map use.
    repeated : tuple of (int, float)
        How many rows of the second table equal a row of the first in all columns that are compared, and the share of rows of the
        first that equal another one of it.
    warnings : tuple of Verdict
        The most severe first.
    seed : int
    tamiz : str
        The version.
    """

    first: ComparedTable
    second: ComparedTable
    columns: tuple[ColumnDrift, ...]
    only_first: tuple[str, ...]
    only_second: tuple[str, ...]
    other_kinds: dict[str, tuple[str, str]]
    not_compared: dict[str, str]
    set_aside: dict[str, str]
    membership: Membership | None
    target: TargetDrift | None
    new_rows: NewRows | None
    sample: tuple[int, int]
    repeated: tuple[int, float]
    warnings: tuple[Verdict, ...]
    seed: int
    tamiz: str

    @property
    def changed(self) -> list[str]:
        """The columns that have changed, the largest change first; dates are none of them."""
        return [one.name for one in self.columns if one.change != "none"]

    def to_frame(self, library: str | None = None) -> Any:
        """Return a frame with one row for each column, the largest change first.

        Pairs are two columns, such as `missing_first` and `missing_second`.

        Parameters
        ----------
        library : {"pandas", "polars", "pyarrow"}, default=None
            The library of the frame; None is pandas, or pyarrow where pandas is not installed.

        Returns
        -------
        DataFrame or Table
        """
        found: dict[str, list[Any]] = {}
        plain = ["kind", "change", "psi", "expected_psi", "distance", "p_value", "adjusted", "missing_p_value"]
        for name in ["name", *plain, "n_new_levels", "n_lost_levels", "new_share", "power"]:
            found["column" if name == "name" else name] = [getattr(one, name) for one in self.columns]
        for name in ("missing", "mean", "deviation"):
            pairs = [getattr(one, name) or (None, None) for one in self.columns]
            found |= {f"{name}_{end}": [pair[k] for pair in pairs] for k, end in enumerate(("first", "second"))}
        return make_frame(found, library)

    def page(self) -> str:
        """Return the comparison as an HTML page without scripts and requests."""
        return render_page(self)

    def __repr__(self) -> str:
        return "\n".join(verdict_lines(self))

    def _repr_html_(self) -> str:
        return frame_page(self.page(), f"{self.first.name} and {self.second.name}")


def collect_warnings(found: TableComparison, target: Column | None, notes: Iterable[Verdict]) -> tuple[Verdict, ...]:
    """Return the verdicts on a comparison and the notes, the most severe first."""
    name = None if target is None else target.name
    every = dict.fromkeys(
        [*_column_warnings(found, name), *_target_warnings(found, target), *_row_warnings(found), *notes]
    )
    return tuple(sorted((one for one in every if not is_muted(one)), key=lambda one: one.rank))


def _column_warnings(found: TableComparison, target_name: str | None) -> Iterator[Verdict]:
    by_name = {one.name: one for one in found.columns}
    if found.changed:
        listed = join_names(
            (f"{shorten(name, 40)} (PSI {format_psi(by_name[name].psi)})" for name in found.changed), width=60
        )
        yield Verdict("TZ212", f"{changed_text(found)}: {listed}.", found.changed)
    elif is_recognised(found.membership):
        assert found.membership is not None
        sentence = f"No column alone has changed, but a model recognises the table of a row: {membership_text(found.membership)}."
        yield Verdict("TZ212", sentence, found.membership.columns)
    for one in found.columns:
        if one.power:
            factor = f"{10**one.power:,}" if one.power > 0 else f"1/{10**-one.power:,}"
            sentence = f"{one.name!r} of the second table seems to be {factor} times that of the first; check its unit."
            yield Verdict("TZ211", sentence, [one.name])
    for name, (first, second) in found.other_kinds.items():
        if name == target_name:
            continue
        sentence = f"{name!r} is {first} in the first table and {second} in the second, so it is not compared."
        yield Verdict("TZ213", sentence, [name])
    only_first = tuple(name for name in found.only_first if name != target_name)
    for names, which in ((only_first, "first"), (found.only_second, "second")):
        if names:
            verb = "is" if len(names) == 1 else "are"
            sentence = (
                f"{count_with_noun(len(names), 'column')} {verb} in the {which} table only: {join_column_names(names)}."
            )
            yield Verdict("TZ213", sentence, names)
    for one in found.columns:
        if one.n_new_levels and one.new_share >= MIN_NEW and one.new_p_value <= FDR_LEVEL:
            more = one.n_new_levels - len(one.new_levels)
            listed = ", ".join(repr(shorten(level, 30)) for level in one.new_levels)
            listed += f" and {more:,} more" if more else ""
            sentence = (
                f"{one.name!r} has {count_with_noun(one.n_new_levels, 'level')} in {format_percent(one.new_share)} of the rows "
                f"that the first table lacks: {listed}."
            )
            yield Verdict("TZ214", sentence, [one.name])


def _target_warnings(found: TableComparison, target: Column | None) -> Iterator[Verdict]:
    if target is not None and target.name in found.other_kinds:
        sentence = f"The target {target.name!r} is {' in the first table and '.join(found.other_kinds[target.name])} in the second."
        if not target.is_number:
            listed = join_names(target.levels, limit=4)
            sentence = f"No class of the target {target.name!r} is in both tables: those of the first are {listed}."
        sentence += " No model is scored on the second table; write the target in the same way."
        yield Verdict("TZ213", sentence, [target.name])
    one = found.target
    if one is None:
        return
    if is_worse(one):
        sentence = f"The score of a model of the first table is lower on the second: {score_text(one)}."
        yield Verdict("TZ308", sentence, one.columns if one.are_chosen else ())
    if one.leaks:
        verb = "is" if len(one.leaks) == 1 else "are"
        sentence = (
            f"Possible leakage: {join_column_names(one.leaks)} {verb} not used by the model. Name columns to use one."
        )
        yield Verdict("TZ101", sentence, one.leaks)
    changed = [other for other in one.associations if is_changed(other)]
    if changed:
        listed = "; ".join(association_text(other) for other in changed[:_NAMED])
        sentence = (
            f"The association of {count_with_noun(len(changed), 'column')} with {one.target!r} differs: {listed}."
        )
        yield Verdict("TZ104", sentence, [other.column for other in changed])


def _row_warnings(found: TableComparison) -> Iterator[Verdict]:
    n, own_share = found.repeated
    rows, share = found.first.n_rows, n / found.second.n_rows
    is_significant = share_p_value((own_share * rows, rows), (n, found.second.n_rows)) <= _LEVEL
    if share >= own_share + MIN_REPEATED and is_significant:
        counted = f"{count_with_noun(n, 'row')} of the second table ({format_percent(share)})"
        sentence = f"{counted} {'equals' if n == 1 else 'equal'} a row of the first: a score on old rows is too good."
        yield Verdict("TZ216", sentence)
    new = found.new_rows
    if new is None or not has_outside(found):
        return
    named = "; ".join(
        f"row {one.row + 1:,}"
        + (f" ({shorten(one.column, 30)} {one.deviations:+.1f} standard deviations)" if one.column else "")
        for one in new.rows[:3]
    )
    yield Verdict("TZ215", f"{outside_text(found, OUTSIDE)}. The farthest: {named}.")


def is_recognised(found: Membership | None) -> bool:
    """Return whether a model recognises the table of a row better than by chance, and by so much that it matters."""
    return found is not None and found.interval[0] > 0.5 and found.auc >= MIN_AUC


def is_worse(found: TargetDrift) -> bool:
    """Return whether the score on the second table is significantly lower, and by so much that it matters."""
    return found.difference_interval[1] < 0 and found.difference <= -MIN_LOSS


def is_changed(found: AssociationDrift) -> bool:
    """Return whether an association differs significantly, and by so much that it matters."""
    least = _MIN_DIFFERENCE.get(found.measure, _MIN_OTHER_DIFFERENCE)
    return found.adjusted <= FDR_LEVEL and abs(found.difference) >= least


def has_outside(found: TableComparison) -> bool:
    """Return whether significantly more rows of the second table are outside, and so many that it matters."""
    return found.new_rows is not None and found.new_rows.p_value <= FDR_LEVEL and found.new_rows.share >= MIN_OUTSIDE


def changed_text(found: TableComparison) -> str:
    """Return "3 of 17 columns have changed"."""
    n, total = len(found.changed), sum(one.kind != "date" for one in found.columns)
    return f"{n or 'None'} of {count_with_noun(total, 'column')} {'has' if n <= 1 else 'have'} changed"


def membership_text(found: Membership) -> str:
    """Return the area under the ROC curve of the tables, with its interval and the first columns."""
    low, high = map(format_score, found.interval)
    text = f"AUC {format_score(found.auc)} ({low} to {high}; chance .50)"
    if found.columns and is_recognised(found):
        text += f", mostly by {join_column_names(found.columns, limit=2, width=30)}"
    return text


def score_text(found: TargetDrift) -> str:
    """Return both scores, and their difference with its interval."""
    own, new = map(format_score, found.scores)
    return f"{scorer_label(found)} {new}, {own} in cross-validation on the first ({difference_text(found)})"


def difference_text(found: TargetDrift) -> str:
    low, high = map(format_score, found.difference_interval)
    return f"difference {format_score(found.difference)}, {low} to {high}"


def scorer_label(found: TargetDrift) -> str:
    return {"roc_auc": "AUC", "roc_auc_ovr_weighted": "AUC", "r2": "R²"}.get(
        found.scorer, found.scorer.replace("_", " ")
    )


def association_text(found: AssociationDrift) -> str:
    first, second = (format_score(value) for value in found.values)
    return f"{shorten(found.column, 30)} {first} → {second} ({measure_text(found)})"


def measure_text(found: AssociationDrift) -> str:
    """Return the measure of an association, with the class that a signed one belongs to."""
    return f"{found.measure} of {shorten(found.of, 20)}" if found.of else found.measure


def outside_text(found: TableComparison, meaning: str = "") -> str:
    """Return the share of rows outside the first table, what that means, and the share that is expected."""
    new = found.new_rows
    assert new is not None
    test = f", p = {format_p_value(new.p_value)}" if has_outside(found) else ""
    return (
        f"{format_percent(new.share) if new.share else 'None'} of the new rows are outside{meaning} (1% expected{test})"
    )


def format_psi(value: float) -> str:
    return f"{value:.2f}".removeprefix("0")


def format_score(value: float) -> str:
    """Return a score with two decimals, as all scores of the report."""
    return format_number(0.0) if abs(value) < 0.005 else f"{value:.2f}".replace("-", "−").replace("0.", ".", 1)


def verdict_lines(found: TableComparison, seconds: float | None = None) -> list[str]:
    """Return both tables, how many columns have changed, the scores, the warnings, and the columns of the largest changes."""
    title = "   ->   ".join(
        f"{shorten(one.name, 30)} {count_with_noun(one.n_rows, 'row')} x {count_with_noun(one.n_columns, 'column')}"
        for one in (found.first, found.second)
    ) + ("" if seconds is None else f"   {seconds:.0f} s")
    names = f": {join_column_names(found.changed, limit=6, width=30)}" if found.changed else ""
    lines = [title, "", f"  {changed_text(found)}{names}"]
    if found.membership is not None:
        lines.append(f"  Tables recognised by a model: {membership_text(found.membership)}")
    if found.target is not None:
        lines.append(f"  Score on new rows: {score_text(found.target)}")
    if found.new_rows is not None:
        lines.append(f"  {outside_text(found)}")
    stated = [one for one in found.warnings if one.severity != "note" and one.code != "TZ212"]
    first_of_code = {one.code: stated.index(one) for one in reversed(stated)}
    for warning in (stated[at] for at in sorted(first_of_code.values())[:4]):
        columns = f": {join_column_names(warning.columns, limit=3, width=20)}" if warning.columns else ""
        lines.append(f"  ! {warning.label}{columns} ({warning.code})")
    width = min(_NAME_WIDTH, max(len(one.name) for one in found.columns))
    lines.append("")
    for column in found.columns[:_COLUMNS_SHOWN]:
        change = "        " if column.change == "none" else "changed "
        lines.append(
            f"  {shorten(column.name, width):<{width}}  {change}  PSI {format_psi(column.psi):>5}  {column_text(column)}"
        )
    return lines


def column_text(one: ColumnDrift) -> str:
    """Return what differs in a column: means or most frequent levels, missing values, new levels and the unit."""
    parts = []
    if one.power:
        parts.append(f"unit? values × {10.0**one.power:,g}")
    if one.mean is not None and (one.kind == "date" or _has_years(one)):
        form = _format_day if one.kind == "date" else "{:.1f}".format
        parts.append("mean {} → {}".format(*map(form, one.mean)))
    elif one.mean is not None and one.deviation is not None:
        texts = [
            f"{format_number(mean)} ± {format_number(deviation, digits=2)}"
            for mean, deviation in zip(one.mean, one.deviation, strict=True)
        ]
        parts.append(f"mean {texts[0]} → {texts[1]}")
    elif one.level is not None and max(share for _, share in one.level) >= 0.05:
        (first, share), (second, other) = one.level
        # The most frequent of very many levels is of no interest.
        texts = [f"{shorten(first, 20)} {format_percent(share)}", f"{shorten(second, 20)} {format_percent(other)}"]
        if first == second:
            texts[1] = format_percent(other)
        parts.append(f"most often {texts[0]} → {texts[1]}")
    if abs(one.missing[1] - one.missing[0]) >= 0.01:
        parts.append("missing {} → {}".format(*map(format_percent, one.missing)))
    if one.n_new_levels:
        parts.append(f"{count_with_noun(one.n_new_levels, 'new level')} in {format_percent(one.new_share)}")
    if one.n_lost_levels:
        parts.append(f"{count_with_noun(one.n_lost_levels, 'lost level')}")
    return ", ".join(parts)


def _has_years(one: ColumnDrift) -> bool:
    """Whether the values look like a few years, which are written without a separator of thousands."""
    levels = () if one.distribution is None else one.distribution.levels
    are_years = all("1800" <= level <= "2200" and len(level) == 4 for level in levels)
    return one.kind == "numeric" and bool(levels) and are_years


def _format_day(seconds: float) -> str:
    return str(np.datetime64(round(seconds), "s"))[:10]


def render_page(found: TableComparison) -> str:
    """Return a comparison as one HTML page without scripts and network requests; the same result gives the same bytes."""
    # Imported late: everything else works without jinja2.
    from tamiz.report.drawing import distribution_picture
    from tamiz.report.html import make_environment, read_styles

    environment = make_environment(
        psi=format_psi, score=format_score, p_value=format_p_value, described=column_text, measure=measure_text
    )
    pictures = {
        one.name: distribution_picture(one.distribution, _COLORS)
        for one in found.columns
        if one.distribution is not None
    }
    reasons = found.not_compared | {
        name: " in the first table, ".join(kinds) for name, kinds in found.other_kinds.items()
    }
    return environment.get_template("compared_tables.html").render(
        found=found,
        style=read_styles("page", "verdict", "compared_tables"),
        headline=changed_text(found),
        sizes=[_size_text(one) for one in (found.first, found.second)],
        asides=_asides(found),
        scores=_scores(found),
        columns=found.columns[:_ALL_ROWS],
        pictures=pictures,
        map=_map(found),
        associations=() if found.target is None else found.target.associations[:_ASSOCIATIONS],
        reasons={"Set aside": found.set_aside, "Not compared": reasons},
    )


def _size_text(one: Any) -> str:
    weighted = "" if one.n_effective == one.n_rows else f" that count as {one.n_effective:,.0f}"
    return f"{count_with_noun(one.n_rows, 'row')}{weighted}, {count_with_noun(one.n_columns, 'column')}"


def _asides(found: TableComparison) -> list[str]:
    """Return what of the tables was not compared or set aside, each with its reason."""
    shown = (one for one in found.warnings if one.severity != "note" and one.code in _SHOWN_CODES)
    lines = [f"{one.label}: {join_column_names(one.columns, limit=3, width=30)}" for one in shown]
    for names, where in ((found.only_first, "first"), (found.only_second, "second")):
        if names:
            lines.append(f"{count_with_noun(len(names), 'column')} in the {where} table only")
    if found.other_kinds:
        lines.append(f"{count_with_noun(len(found.other_kinds), 'column')} of another kind in the second table")
    if found.not_compared:
        lines.append(f"{count_with_noun(len(found.not_compared), 'column')} not compared, such as ids and free text")
    return lines


def _scores(found: TableComparison) -> dict[str, Any] | None:
    """Return the areas and scores with their intervals, on one scale."""
    from tamiz.report.drawing import Scale

    rows = []
    if found.membership is not None:
        rows.append(("table of a row, recognised", found.membership.auc, found.membership.interval))
    if (one := found.target) is not None:
        label = scorer_label(one)
        rows.append((f"{one.target}, first table ({label})", one.scores[0], one.intervals[0]))
        rows.append((f"{one.target}, second table ({label})", one.scores[1], one.intervals[1]))
    if not rows:
        return None
    ends = [0.5, 1.0, *(end for _, _, interval in rows for end in interval)]
    scale = Scale(min(ends), max(ends))
    marks = [
        {
            "label": label,
            "text": format_score(value),
            "mark": scale.mark(value, interval),
        }
        for label, value, interval in rows
    ]
    notes = []
    if found.membership is not None:
        notes.append(
            f"AUC of a model that recognises the table of a row in {found.membership.n_folds}-fold cross-validation: .50 is chance."
        )
    if one is not None:
        columns = count_with_noun(len(one.columns), "chosen column" if one.are_chosen else "column")
        notes.append(f"{one.model.capitalize()} on {columns} of the first table: {difference_text(one)}.")
    return {"rows": marks, "ends": (format_score(scale.low), format_score(scale.high)), "notes": notes}


def _map(found: TableComparison) -> dict[str, Any] | None:
    from tamiz.report.drawing import point_picture

    new = found.new_rows
    if new is None:
        return None
    picture = point_picture(new.points, new.groups, 4, one_scale=True) if new.points else ""
    shares = " and ".join(map(format_percent, new.explained))
    return {
        "picture": picture,
        "n": len(new.points),
        "title": f"PCA of the first table ({shares} of the variance)" if picture else "Rows outside",
        "text": f"{outside_text(found, OUTSIDE)}.",
        "rows": [
            (f"{one.row + 1:,}", f"{one.distance:.1f}", one.column, f"{one.deviations:+.1f}".replace("-", "−"))
            for one in new.rows
        ],
    }
