"""Columns with a role: the target and the labels of its classes, weights, groups, and times."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import narwhals as nw
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray
from sklearn.utils import column_or_1d

from tamiz.arrays import Codes, Floats, Indices, Masks, is_missing
from tamiz.exceptions import DataError
from tamiz.runtime.verdicts import Verdict
from tamiz.table.kinds import EncodedColumn, RawColumn, encode_target
from tamiz.table.schema import WeightKind
from tamiz.table.text_values import as_numbers, try_cast
from tamiz.table.written_values import Reading, read_dates

Times = Floats | NDArray[np.int64]
_LARGEST_INT64 = 2**63 - 1
_ADVICE = "Fill it in, or leave the row out."
# Fewer whole numbers, such as 0, 1 and 2, are most often codes of classes.
_MIN_NUMBERED_CLASSES = 5
# Within these limits, squares and products of sums of weights neither overflow nor underflow.
_MIN_WEIGHT_SUM, _MAX_WEIGHT_SUM = 1e-100, 1e100


def present_target(raw: RawColumn, encoded: EncodedColumn) -> tuple[EncodedColumn, Indices | None, int]:
    """Return an encoded target in the rows in which it is present, the positions of these rows, and the number of the other rows.

    The positions are None if the target is present in all rows. Raise DataError for a target that is missing in all rows or
    constant.
    """
    values = encoded.values
    if values is None or encoded.column.exclusion_reason is not None:
        raise DataError(f"Target {raw.name!r} is missing in every row.")
    present = ~is_missing(values)
    n_dropped = int(len(present) - np.count_nonzero(present))
    if n_dropped:
        values = values[present]
    n = len(values)
    if n < 2:
        raise DataError(
            f"The table has {n} sample(s) (rows with a target), 1 sample is too few; at least 2 are needed."
        )
    if (values[0] == values).all():
        levels = encoded.column.levels
        # scikit-learn's checks of classifiers expect the word class.
        value = f"1 class, {levels[int(values[0])]!r}" if levels else f"{values[0]:g}"
        raise DataError(
            f"Target {raw.name!r} is constant: {value} in all {n} rows. Choose a target with at least 2 values."
        )
    column = replace(encoded.column, n_missing=0)
    labels = None if column.is_number else class_labels(raw, np.asarray(encoded.values), column.levels)
    values = np.ascontiguousarray(values, dtype=np.float64 if column.is_number else np.int32)
    return (
        replace(encoded, column=column, values=values, labels=labels),
        np.flatnonzero(present) if n_dropped else None,
        n_dropped,
    )


def class_labels(raw: RawColumn, codes: NDArray[Any], levels: Sequence[str]) -> NDArray[Any]:
    """Return the original value of each level of the target, in the order of the codes.

    Values in memory keep their type, as scikit-learn's estimators see them. Values of a file have the type that the file declares;
    numbers in text are integers if all are whole.

    Parameters
    ----------
    raw : RawColumn
        The target as it was read.
    codes : ndarray of shape (n_rows,)
        The code of each row, -1 where the target is missing; every level occurs.
    levels : sequence of str
    """
    present = np.flatnonzero(codes >= 0)[::-1]
    rows = np.empty(len(levels), dtype=np.intp)
    # Reversed, because the last of several assignments to an element is kept: this is the first row of each level.
    rows[codes[present]] = present
    if raw.original is not None and _is_typed(labels := _original_labels(raw.original, rows)):
        return labels
    if isinstance(raw.values, pa.Array) and _is_typed(labels := _arrow_labels(raw.values, rows)):
        return labels
    return _parse_labels(levels)


def _original_labels(original: Any, rows: Indices) -> NDArray[Any]:
    if isinstance(original, np.ndarray):
        return original[rows]
    selected = nw.from_native(original, series_only=True)[rows.tolist()].to_native()
    # As scikit-learn reads a series: pandas' nullable integers and booleans become float64.
    return np.asarray(column_or_1d(selected))


def _arrow_labels(values: pa.Array, rows: Indices) -> NDArray[Any]:
    selected = values.take(pa.array(rows))
    selected = selected.dictionary_decode() if pa.types.is_dictionary(selected.type) else selected
    labels = selected.to_numpy(zero_copy_only=False)
    return np.array(labels.tolist()) if _is_text(labels) else labels


def _is_typed(labels: NDArray[Any]) -> bool:
    """Whether the values have one type; objects of several types cannot be sorted."""
    return labels.dtype.kind != "O" or _is_text(labels)


def _is_text(labels: NDArray[Any]) -> bool:
    return labels.dtype.kind == "O" and all(isinstance(value, str) for value in labels.tolist())


def _parse_labels(levels: Sequence[str]) -> NDArray[Any]:
    """Return integers if all levels are integers, floats if all are numbers, text otherwise; "01" is text."""
    if all(map(_is_integer_text, levels)):
        return np.array([int(level) for level in levels], dtype=np.int64)
    if all(_is_integer_text(level) or _is_float_text(level) for level in levels):
        return np.array([float(level) for level in levels])
    return np.array(levels)


def _is_integer_text(level: str) -> bool:
    try:
        return str(int(level)) == level and abs(int(level)) <= _LARGEST_INT64
    except ValueError:
        return False


def _is_float_text(level: str) -> bool:
    try:
        return repr(float(level)) == level and np.isfinite(float(level))
    except ValueError:
        return False


def target_notes(target: EncodedColumn, *, is_declared: bool) -> tuple[Verdict, ...]:
    """Notes on a target whose kind can be doubted: whole numbers that are read as classes, and a class for each row."""
    if target.column.is_number:
        return ()
    name, levels = target.column.name, target.column.levels
    n = len(levels)
    notes = []
    if not is_declared and _may_be_amounts(levels):
        sentence = (
            f"The target {name!r} has {n} whole numbers, which are treated as classes. If they are amounts, declare the kind "
            "numeric (--kinds or kinds=)."
        )
        notes.append(Verdict("TZ103", sentence, [name]))
    if target.values is not None and 1 < n == len(target.values):
        sentence = f"Each of the {n:,} rows has a class of its own, so {name!r} cannot be predicted."
        notes.append(Verdict("TZ103", sentence, [name]))
    return tuple(notes)


def _may_be_amounts(levels: Sequence[str]) -> bool:
    """Whether classes are whole numbers, and at least five, or three that do not count from 0 or 1 on."""
    if len(levels) < 3 or not all(level.removeprefix("-").isdecimal() for level in levels):
        return False
    numbers = sorted(map(int, levels))
    return len(numbers) >= _MIN_NUMBERED_CLASSES or numbers[0] not in (0, 1) or numbers[-1] - numbers[0] >= len(numbers)


def to_row_numbers(
    values: NDArray[np.floating[Any]], kind: WeightKind | None, describe_row: Callable[[int], str]
) -> tuple[Floats, WeightKind]:
    """Return the numbers of rows that rows of these weights count as, and the kind of the weights.

    Frequency weights are such numbers. Sampling weights are scaled to a sum of the effective sample size, so that all counts,
    degrees of freedom and description lengths are those of as many rows. By default whole numbers are frequencies.

    Raises
    ------
    DataError
        For a negative or infinite weight, for a fraction among frequencies, and for a sum that is 0 or too large.
    """
    weight = np.ascontiguousarray(values, dtype=np.float64)
    _check_no_missing(np.isnan(weight), "weight", describe_row)
    if len(bad := np.flatnonzero(~(np.isfinite(weight) & (weight >= 0)))):
        raise DataError(f"{describe_row(int(bad[0]))}: the weight {values[bad[0]]} is not a number of at least 0.")
    if not weight.any():
        raise DataError("Every weight is zero; at least one must be positive.")
    fractional = np.flatnonzero(weight != np.floor(weight))
    if kind == "frequency" and len(fractional):
        raise DataError(
            f"{describe_row(int(fractional[0]))}: the weight {weight[fractional[0]]:g} is not a whole number, but frequency "
            "weights are numbers of equal rows. If they correct a sampling design, pass weights='sampling' (--weights "
            "sampling)."
        )
    with np.errstate(over="ignore"):
        total = float(weight.sum())
    if not _MIN_WEIGHT_SUM <= total <= _MAX_WEIGHT_SUM:
        raise DataError(
            f"The weights sum to {total:.6g}; the sum must be between {_MIN_WEIGHT_SUM:g} and {_MAX_WEIGHT_SUM:g}. Rescale them."
        )
    if kind == "sampling" or (kind is None and len(fractional)):
        return scale_to_effective_size(weight), "sampling"
    return weight, "frequency"


def scale_to_effective_size(weight: Floats) -> Floats:
    r"""Scale weights to a sum of Kish's effective sample size, :math:`(\sum w)^2 / \sum w^2`; equal weights become 1.

    References
    ----------
    Kish (1965), Survey Sampling, section 11.7.
    """
    shares = weight / weight.max()
    scaled: Floats = shares * (shares.sum() / np.square(shares).sum())
    return scaled


def group_codes(raw: RawColumn, describe_row: Callable[[int], str]) -> tuple[Codes, tuple[str, ...]]:
    """Return the group of each row as a code, and the names of the groups in code order; raise a DataError if one is missing."""
    encoded = encode_target(raw, "categorical", describe_row)
    codes = np.full(len(raw), -1) if encoded.values is None else encoded.values
    _check_no_missing(codes < 0, "group", describe_row)
    return np.ascontiguousarray(codes, dtype=np.int32), encoded.column.levels


def time_values(raw: RawColumn, describe_row: Callable[[int], str]) -> Times:
    """Return numbers that sort the rows by time; raise a DataError if a time is missing.

    Numbers and dates keep their unit. Text may be numbers, dates, or years with a month, a quarter or a week.
    """
    values = raw.decoded()
    if isinstance(values, np.ndarray):
        values = pa.array(values, from_pandas=True)
    if pa.types.is_floating(values.type):
        values = pc.if_else(pc.is_nan(values), pa.scalar(None, values.type), values)
    _check_no_missing(np.asarray(values.is_null()), "time", describe_row)
    if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
        values = _parse_times(raw.name, values, describe_row)
    return _plain_times(values)


def _plain_times(values: Any) -> Times:
    if pa.types.is_temporal(values.type):
        narrow = pa.types.is_date32(values.type) or pa.types.is_time32(values.type)
        values = values.cast(pa.int32()) if narrow else values
        return np.asarray(values.cast(pa.int64()), dtype=np.int64)
    if pa.types.is_integer(values.type) or (pa.types.is_decimal(values.type) and not values.type.scale):
        whole = try_cast(values, pa.int64())
        # Integers beyond int64 are replaced by their ranks, since float64 would merge several times.
        return np.asarray(pc.rank(values, tiebreaker="dense") if whole is None else whole, dtype=np.int64)
    return np.asarray(values.cast(pa.float64(), safe=False), dtype=np.float64)


def _parse_times(name: str, text: Any, describe_row: Callable[[int], str]) -> Any:
    """Parse text as numbers, as dates, or as periods, which are their first day."""
    text = pc.utf8_trim_whitespace(text)
    parsers: list[Callable[[Any], Any]] = [_parse_integers, _parse_floats, _parse_dates]
    for parse in parsers:
        if (times := parse(text)) is not None:
            return times
    first = next((parse for parse in parsers if parse(text[:1]) is not None), None)
    at = 0 if first is None else next((at for at in range(len(text)) if first(text[at : at + 1]) is None), 0)
    raise DataError(
        f"{describe_row(at)}, column {name}: {text[at].as_py()!r} is not a time in the format of the others; times are numbers, "
        "dates (YYYY-MM-DD), or of the form YYYY-MM, YYYY-Q1 or YYYY-W01."
    )


def _parse_integers(text: Any) -> Any:
    return try_cast(text, pa.int64())


def _parse_floats(text: Any) -> Any:
    return as_numbers(text, decimal_comma=False)


def _parse_dates(text: Any) -> Any:
    found = read_dates(text)
    return found.values if isinstance(found, Reading) and not found.values.null_count else None


def _check_no_missing(missing: Masks, role: str, describe_row: Callable[[int], str]) -> None:
    if missing.any():
        at = int(np.flatnonzero(missing)[0])
        raise DataError(f"{describe_row(at)}: the {role} is missing, but every row needs one. {_ADVICE}")
