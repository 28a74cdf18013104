"""Inference of a column's kind, and its values as numbers or codes: one set of rules for all readers."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tamiz.arrays import Floats
from tamiz.exceptions import DataError
from tamiz.runtime import parallel
from tamiz.runtime.user_warnings import list_names
from tamiz.runtime.verdicts import Verdict
from tamiz.table.schema import Column, Kind, sort_levels
from tamiz.table.text_values import as_dates
from tamiz.table.written_values import unread_note

# Larger integers are not represented exactly by float64.
LARGEST_EXACT_INTEGER = 2**53


@dataclass(frozen=True)
class RawColumn:
    """The values of a column and what its table declares about them.

    Attributes
    ----------
    name : str
    values : ndarray or pyarrow.Array
        float64 or float32 with NaN for missing; or an Arrow array, with null for missing, of strings, a dictionary of strings,
        booleans, dates, timestamps, integers, decimals or floats. Integers beyond 2**53 are never floats, because all digits matter
        for labels, groups and columns that are copied to the output.
    categories : tuple of str or None
        The words of the codes if `values` are codes (integers, -1 for missing); None if they are numbers.
    kind : Kind or None
        The kind that the table declares (category of a data frame, nominal of ARFF); None to infer it.
    ordered : bool
        Whether `categories` or the dictionary have an order that the table declares.
    original : ndarray or series, or None
        The values in their original type, for the labels of classes; None if `values` have it, or if the table has no types.
    notes : tuple of Verdict
        How words were read as values.
    """

    name: str
    values: NDArray[Any] | pa.Array
    kind: Kind | None = None
    categories: tuple[str | None, ...] | None = None
    ordered: bool = False
    original: Any = None
    notes: tuple[Verdict, ...] = ()

    def take(self, rows: NDArray[Any]) -> RawColumn:
        """Return some rows of the column; `rows` are row numbers or a boolean mask."""
        if isinstance(self.values, np.ndarray):
            return replace(self, values=self.values[rows], original=None)
        index = np.flatnonzero(rows) if rows.dtype == bool else rows
        return replace(self, values=self.values.take(pa.array(index)), original=None)

    def decoded(self) -> NDArray[Any] | pa.Array:
        """Return the values, words in place of codes; raise a TypeError if they are lists or bytes."""
        check_single_values(self)
        values = self.values
        if self.categories is not None:
            words = pa.array(self.categories, pa.string())
            values = pa.DictionaryArray.from_arrays(pa.array(values, mask=values < 0), words)
        if isinstance(values, np.ndarray):
            return values
        return values.dictionary_decode() if pa.types.is_dictionary(values.type) else values

    def __len__(self) -> int:
        return len(self.values)


# Squares of smaller differences lose digits, and below 1e-162 they are 0.
SMALLEST_SPREAD = np.float64(1e-150)

# A column is compared in pieces of this size, so that most columns are read in part.
_SPREAD_PIECE_VALUES = 2**12
# Larger powers of ten would make the largest number of such a column infinite.
_MAX_EXPONENT = 300


def small_spread(numbers: NDArray[np.floating[Any]]) -> float | None:
    """Return the difference of the largest and the smallest number if it is above 0 and below `SMALLEST_SPREAD`, otherwise None.

    Missing values are ignored. Most columns differ by more between the first and the last row, and are not read.
    """
    if not len(numbers) or abs(numbers[-1] - numbers[0]) >= SMALLEST_SPREAD:
        return None
    low, high = math.inf, -math.inf
    for start, stop in parallel.block_ranges(len(numbers), _SPREAD_PIECE_VALUES):
        piece = numbers[start:stop]
        # Python's min and max keep the number where a piece has only missing values.
        low, high = min(low, float(np.fmin.reduce(piece))), max(high, float(np.fmax.reduce(piece)))
        if high - low >= SMALLEST_SPREAD:
            return None
    return high - low if high > low else None


def small_spread_warnings(spreads: Mapping[str, float | None]) -> list[Verdict]:
    """Return a warning that names the columns with a small spread; an empty list if there are none."""
    found = {name: spread for name, spread in spreads.items() if spread is not None}
    if not found:
        return []
    names = list(found)
    listed = list_names(names, as_text=repr)
    exponent = min(-math.floor(math.log10(found[names[0]])), _MAX_EXPONENT)
    subject, way_out = (
        (f"Column {listed}", f"Multiply the column by a power of ten, such as 1e{exponent}.")
        if len(names) == 1
        else (f"Columns {listed}", f"Multiply them by a power of ten, such as 1e{exponent} for {names[0]!r}.")
    )
    sentence = (
        f"{subject}: the values differ by less than {SMALLEST_SPREAD:g}, and float64 does not represent the squares of such "
        f"differences, so that variances, correlations and distances may be wrong or 0. {way_out}"
    )
    return [Verdict("TZ211", sentence, names)]


Seconds = Floats

_TICKS_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_SECONDS_PER_DAY = 86_400
# A whole number of microseconds, so that the order of times is kept where the unit changes.
_MAX_NANOSECONDS = LARGEST_EXACT_INTEGER // 1000 * 1000


def is_date(kind: pa.DataType) -> bool:
    """Return whether values of an Arrow type are points in time, not times of day or durations."""
    return bool(pa.types.is_date(kind) or pa.types.is_timestamp(kind))


def to_seconds(values: pa.Array) -> Seconds:
    """Return dates as seconds since 1970, times of day as seconds since midnight and durations as seconds; NaN for missing.

    Equal times have the same number, whatever their unit: the quotient is rounded once. Nanoseconds beyond 2**53, 104 days, are
    read as whole microseconds, which float64 represents for another 285 years.
    """
    kind = values.type
    if pa.types.is_date32(kind):
        return _cast_to_floats(values.cast(pa.int32())) * _SECONDS_PER_DAY
    ticks, unit = _ticks(values)
    numbers = _cast_to_floats(ticks)
    seconds: Seconds = numbers / _TICKS_PER_SECOND[unit]
    if unit == "ns" and (large := np.abs(numbers) >= _MAX_NANOSECONDS).any():
        micros = np.asarray(ticks.fill_null(0))[large] // 1000
        seconds[large] = micros / _TICKS_PER_SECOND["us"]
    return seconds


def n_distinct_times(values: pa.Array, seconds: NDArray[np.floating[Any]]) -> int | None:
    """Return the number of distinct present values; None if `seconds` has as many, because float64 has digits for the unit."""
    if pa.types.is_date32(values.type):
        return None
    ticks, unit = _ticks(values)
    step = 1 / _TICKS_PER_SECOND[unit]
    spacing = np.spacing(np.fmax.reduce(np.abs(seconds), initial=0))
    if unit == "ns" and spacing > step and not (np.asarray(ticks.fill_null(0)) % 1000).any():
        # Most dates in nanoseconds are whole microseconds.
        step *= 1000
    return int(pc.count_distinct(ticks, mode="only_valid").as_py()) if spacing > step else None


def _ticks(values: pa.Array) -> tuple[pa.Array, str]:
    """Return the values as integers, and their unit."""
    kind = values.type
    if pa.types.is_date64(kind):
        return values.cast(pa.int64()), "ms"
    return values.cast(pa.int32() if pa.types.is_time32(kind) else pa.int64()), kind.unit


def _cast_to_floats(values: pa.Array) -> Seconds:
    return np.asarray(values.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False), dtype=np.float64)


# float64, or float32 if the input is float32.
Numbers = NDArray[np.floating[Any]]

# An integer target with more distinct values than this is numeric, not a set of classes.
MAX_INTEGER_CLASSES = 20
# With fewer rows, distinct values are no evidence that a column identifies the rows.
MIN_ID_ROWS = 10
# Reasons for excluding columns of kind id.
ROW_NUMBER_REASON = "it is a row number"
ID_NAME_REASON = "its name is that of an identifier"
WHOLE_NUMBER_REASON = "all values are distinct whole numbers"
# Whole numbers of a range that all differ number the rows if so many random ones of this range differ with at most this
# probability, exp(-n (n - 1) / (2 range)): measured numbers are less even, and repeat sooner.
_MAX_CHANCE_DISTINCT = 1e-6
# Numbers with at least so many digits, all as many, are random ones if they are spread evenly from 10..0 to 99..9
# (Kolmogorov-Smirnov at a level of 0.001).
_MIN_DIGITS, _MIN_RANDOM_ROWS, _MAX_UNEVENNESS = 6, 100, 1.95
# Text is excluded as free text with more distinct values than the first number, and fewer rows for each than the second.
MIN_TEXT_LEVELS = 20
_TEXT_LIMITS = ((MIN_TEXT_LEVELS, 2), (1000, 100))
# And with more values than this, if at least this share of the rows has a value that occurs once: it estimates the probability
# that the value of a new row is unknown (Good 1953).
_MIN_OPEN_LEVELS, _MIN_UNKNOWN_SHARE = 100, 0.03
# The squares of larger numbers, summed over many rows, overflow.
LARGEST_NUMBER = np.float64(1e150)

# Levels of which the format is inspected.
_MAX_SAMPLED_LEVELS = 500

# Numbers are checked in pieces of this size, so that temporary arrays stay in cache.
_PIECE_VALUES = 2**16

# Rows in which most columns have a fraction or a repeated value.
_HEAD_ROWS = 2**10


_TIME_NAME_PATTERN = re.compile(
    r"(^|[_. ])(?i:years?|months?|weeks?|days?|dates?|hours?|minutes?|seconds?|times?|timestamps?|periods?|age)($|[_. ])",
    re.ASCII,
)
_PERSON_NAME_PATTERN = re.compile(
    r"(^|[_. ])(?i:(first|last|given|family|full|middle)[_. ]?name|surname|forename)s?$|[a-z](First|Last|Full)Name$",
    re.ASCII,
)
# Hexadecimal numbers of at least eight digits, and UUIDs.
_HASH_PATTERN = re.compile(
    r"[0-9a-f]{8,128}|[0-9A-F]{8,128}|[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}", re.ASCII
)
_ID_NAME_PATTERN = re.compile(
    r"(^|[_. ])((?i:id|ids|uuid|guid|rownames?|index|key))$|^[Uu]nnamed: ?\d+$|[a-z]I[Dd]$", re.ASCII
)


@dataclass(frozen=True)
class EncodedColumn:
    """A column with its kind and its encoded values.

    Attributes
    ----------
    column : Column
    values : ndarray or None
        Floats with NaN for missing values, or codes with -1; None if the column is excluded.
    warnings : tuple of Verdict
    labels : ndarray or None
        The original value of each class of a target.
    small_spread : float or None
        The difference of the largest and the smallest number, if the squares of differences underflow.
    """

    column: Column
    values: NDArray[Any] | None
    warnings: tuple[Verdict, ...] = ()
    labels: NDArray[Any] | None = None
    small_spread: float | None = None


def encode_column(
    raw: RawColumn, override: Kind | None, describe_row: Callable[[int], str], *, has_name: bool = True
) -> EncodedColumn:
    """Infer the kind of a feature and encode its values.

    Parameters
    ----------
    raw : RawColumn
    override : Kind or None
        The kind that the user declared.
    describe_row : callable
        Turns the position of a row into words of a message: "line 12" or "row 11".
    has_name : bool, default=True
        Whether the column has a name given by the user; without one it is not inferred to be an id.
    """
    encoded = _encode(raw, override or raw.kind, describe_row, has_name=has_name)
    return replace(encoded, warnings=(*raw.notes, *encoded.warnings)) if raw.notes else encoded


def _encode(raw: RawColumn, kind: Kind | None, describe_row: Callable[[int], str], *, has_name: bool) -> EncodedColumn:
    if kind is None and has_name and (what := _no_single_values(raw.values)):
        reason = f"its values are {what}"
        return EncodedColumn(Column(raw.name, "text", n_missing=_count_missing(raw), exclusion_reason=reason), None)
    if kind in ("text", "id"):
        missing = _count_missing(raw)
        return EncodedColumn(Column(raw.name, kind, n_missing=missing, exclusion_reason=f"declared as {kind}"), None)
    if kind in ("categorical", "boolean") or (kind is None and not _is_number(raw.values)):
        return _encode_levels(raw, kind, inferred=kind is None, has_name=has_name)
    return _encode_numbers(raw, kind, describe_row, inferred=kind is None and has_name)


def _no_single_values(values: Numbers | pa.Array) -> str | None:
    """Return what values are that are neither numbers nor words, booleans or dates."""
    if isinstance(values, np.ndarray):
        return None
    kind = values.type
    if pa.types.is_struct(kind):
        return "structures"
    if pa.types.is_nested(kind):
        return "lists"
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind):
        return "bytes"
    return f"of type {kind}" if pa.types.is_interval(kind) or isinstance(kind, pa.BaseExtensionType) else None


def check_single_values(raw: RawColumn) -> None:
    if what := _no_single_values(raw.values):
        raise TypeError(
            f"Column {raw.name}: its values are {what}, but every argument must be a string or a number, a boolean or a date. Drop "
            "the column or convert it to one of these."
        )


def encode_target(raw: RawColumn, override: Kind | None, describe_row: Callable[[int], str]) -> EncodedColumn:
    """Infer the kind of the target and encode it: text, booleans and categories are classes, integers of up to 20 values too."""
    kind = override or raw.kind
    if kind in ("text", "id"):
        kind = "categorical"
    if kind in ("categorical", "boolean") or (kind is None and not _is_number(raw.values)):
        encoded = _encode_levels(raw, kind, inferred=False)
        return replace(encoded, warnings=(*raw.notes, *encoded.warnings))
    encoded = _encode_numbers(raw, kind, describe_row, inferred=False)
    encoded = replace(encoded, warnings=(*raw.notes, *encoded.warnings))
    values = encoded.values
    assert values is not None
    if kind is None and encoded.column.kind == "numeric" and not _is_temporal(raw.values):
        present = values[~np.isnan(values)]
        # Most numeric targets have fractions, which are found without sorting the values.
        if (present == np.floor(present)).all() and _count_distinct(raw.values, present) <= MAX_INTEGER_CLASSES:
            return _encode_levels(raw, "categorical", inferred=False)
    return encoded


def _is_number(values: Numbers | pa.Array) -> bool:
    if isinstance(values, np.ndarray):
        return True
    kind = values.type
    return bool(
        pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind)
        or pa.types.is_temporal(kind) or pa.types.is_null(kind)
    )  # fmt: skip


def _is_temporal(values: Numbers | pa.Array) -> bool:
    return not isinstance(values, np.ndarray) and bool(pa.types.is_temporal(values.type))


def _count_distinct(values: Numbers | pa.Array, numbers: Numbers) -> int:
    """Return the number of distinct present values; integers beyond 2**53 are compared exactly and not as float64."""
    if not isinstance(values, np.ndarray) and (pa.types.is_integer(values.type) or pa.types.is_decimal(values.type)):
        return int(pc.count_distinct(values, mode="only_valid").as_py())
    return len(np.unique(numbers[~np.isnan(numbers)]))


def _count_missing(raw: RawColumn) -> int:
    if raw.categories is not None:
        missing = [code for code, word in enumerate(raw.categories) if word is None]
        return int(np.count_nonzero((raw.values < 0) | np.isin(raw.values, missing)))
    return int(np.isnan(raw.values).sum()) if isinstance(raw.values, np.ndarray) else int(raw.values.null_count)


def _encode_numbers(
    raw: RawColumn, kind: Kind | None, describe_row: Callable[[int], str], *, inferred: bool
) -> EncodedColumn:
    values = _typed_values(raw, describe_row, kind)
    numbers = _to_floats(values)
    n_missing = check_finite(numbers, raw.name, describe_row)
    kind = kind or ("date" if not isinstance(values, np.ndarray) and is_date(values.type) else "numeric")
    n_exact = _count_if_rounded(values, numbers)
    if n_exact is None:
        column = numeric_column(raw.name, kind, numbers, n_missing, inferred=inferred)
        return EncodedColumn(column, numbers, small_spread=small_spread(numbers))
    n_rounded = len(np.unique(numbers[~np.isnan(numbers)]))
    column = numeric_column(raw.name, kind, numbers, n_missing, inferred=inferred, n_distinct=n_exact)
    if n_rounded == n_exact or column.exclusion_reason is not None:
        return EncodedColumn(column, numbers)
    unit, advice = "float64", "If they are codes, declare the column categorical or id with --kinds or kinds=."
    if _is_temporal(values):
        unit, advice = (
            "seconds in float64",
            "Subtract the first from all: float64 has enough digits for short durations.",
        )
    rounding = f"its {n_exact:,} different values become {n_rounded:,} as {unit}, which stores 15 digits"
    return EncodedColumn(column, numbers, (Verdict("TZ504", f"Column {raw.name}: {rounding}. {advice}", [raw.name]),))


def _count_if_rounded(values: Numbers | pa.Array, numbers: Numbers) -> int | None:
    """Return the number of distinct values if some of them may be equal as floats, otherwise None."""
    if isinstance(values, np.ndarray):
        return None
    if pa.types.is_temporal(values.type):
        return n_distinct_times(values, numbers)
    is_large = np.fmax.reduce(np.abs(numbers), initial=0) >= LARGEST_EXACT_INTEGER
    return _count_distinct(values, numbers) if is_large else None


def check_finite(numbers: Numbers, name: str, describe_row: Callable[[int], str]) -> int:
    """Return the number of missing values; raise a DataError that names the first infinite or too large number."""
    pieces = (numbers[start:stop] for start, stop in parallel.block_ranges(len(numbers), _PIECE_VALUES))
    n_missing = len(numbers) - sum(int(np.count_nonzero(np.abs(piece) <= LARGEST_NUMBER)) for piece in pieces)
    if n_missing and (bad := np.flatnonzero(np.abs(numbers) > LARGEST_NUMBER)).size:
        at = int(bad[0])
        if np.isinf(numbers[at]):
            raise DataError(
                f"{describe_row(at)}, column {name}: {numbers[at]} is infinite. "
                "Leave the value empty if it is unknown, or replace it (infinity is not a measurement)."
            )
        raise DataError(
            f"{describe_row(at)}, column {name}: {numbers[at]} is too large to be squared; use another unit."
        )
    return n_missing


def numeric_column(
    name: str, kind: Kind, numbers: Numbers, n_missing: int, *, inferred: bool, n_distinct: int | None = None
) -> Column:
    """Return the description of a column of numbers, in which missing values are NaN.

    `n_distinct` is the number of distinct values if it cannot be counted as float64.
    """
    if n_missing == len(numbers):
        return Column(name, kind, n_missing=n_missing, constant=True, exclusion_reason="no value is present")
    first = numbers[0]
    # Most columns differ between the first and the last row; only otherwise all rows are compared.
    constant = n_missing == 0 and bool(numbers[-1] == first) and bool((numbers == first).all())
    if inferred and kind == "numeric" and n_missing == 0 and (reason := _id_reason(name, numbers, n_distinct)):
        return Column(name, "id", n_missing=0, exclusion_reason=reason)
    return Column(name, kind, n_missing=n_missing, constant=constant)


def _id_reason(name: str, numbers: Numbers, n_distinct: int | None) -> str | None:
    n = len(numbers)
    if n < MIN_ID_ROWS:
        return None
    head = numbers[:_HEAD_ROWS]
    if np.all(np.diff(head) == 1) and head[0] in (0, 1) and np.all(np.diff(numbers) == 1):
        return ROW_NUMBER_REASON
    # Most columns have a fraction or a repeated value in the first rows.
    if np.any(head != np.floor(head)) or (n_distinct is None and len(np.unique(head)) < len(head)):
        return None
    if np.any(numbers != np.floor(numbers)) or (n_distinct or len(np.unique(numbers))) < n:
        return None
    if _ID_NAME_PATTERN.search(name):
        return f"all values are distinct, and {ID_NAME_REASON}"
    if _TIME_NAME_PATTERN.search(name) or are_days(numbers):
        return None
    low, high = float(numbers.min()), float(numbers.max())
    steps = np.diff(numbers)
    is_grid = bool(steps[0] != 1 and (steps == steps[0]).all())
    if not is_grid and n * (n - 1) / (2 * (high - low + 1)) >= -np.log(_MAX_CHANCE_DISTINCT):
        return f"{WHOLE_NUMBER_REASON} from {low:,.0f} to {high:,.0f}, and measured ones would repeat"
    n_digits = len(f"{high:.0f}")
    if low >= 10 ** (n_digits - 1) and n_digits >= _MIN_DIGITS and n >= _MIN_RANDOM_ROWS:
        places = (np.sort(numbers).astype(np.float64) / 10 ** (n_digits - 1) - 1) / 9
        if np.abs(places - (np.arange(n) + 0.5) / n).max() * np.sqrt(n) <= _MAX_UNEVENNESS:
            return f"{WHOLE_NUMBER_REASON} of {n_digits} digits, and spread as evenly as random ones"
    return None


def are_days(numbers: Numbers) -> bool:
    """Whether all numbers that are not missing are days as YYYYMMDD."""
    low, high = np.fmin.reduce(numbers, initial=np.inf), np.fmax.reduce(numbers, initial=-np.inf)
    if not 18_000_000 <= low <= high < 22_000_000:
        return False
    present = numbers[~np.isnan(numbers)]
    month, day = present // 100 % 100, present % 100
    return bool(np.all((present == np.floor(present)) & (month >= 1) & (month <= 12) & (day >= 1) & (day <= 31)))


def to_numbers(raw: RawColumn, describe_row: Callable[[int], str], kind: Kind | None = None) -> Numbers:
    """Return the values as floats with NaN for missing.

    float32 is kept; all other types become float64. Dates are in seconds since 1970, durations and times of day in seconds. Text is
    parsed as dates if `kind` is "date", otherwise as numbers.
    """
    return _to_floats(_typed_values(raw, describe_row, kind))


def _typed_values(raw: RawColumn, describe_row: Callable[[int], str], kind: Kind | None) -> Numbers | pa.Array:
    """Return the values as numbers or dates: text is parsed."""
    values = raw.decoded()
    if not isinstance(values, np.ndarray) and values.type in (pa.string(), pa.large_string()):
        return (_parse_dates if kind == "date" else _parse_numbers)(raw.name, values, describe_row)
    return values


def _to_floats(values: Numbers | pa.Array) -> Numbers:
    """Return floats with NaN for null; integers become float64."""
    if isinstance(values, np.ndarray):
        return values
    if pa.types.is_temporal(values.type):
        return to_seconds(values)
    if not pa.types.is_float32(values.type):
        values = values.cast(pa.float64(), safe=False)
    numbers = values.to_numpy(zero_copy_only=False)
    return np.asarray(numbers, dtype=np.float32 if numbers.dtype == np.float32 else np.float64)


def _parse_dates(name: str, values: pa.Array, describe_row: Callable[[int], str]) -> pa.Array:
    values = pc.utf8_trim_whitespace(values)
    if (dates := as_dates(values)) is not None:
        return dates
    at = next((at for at in range(len(values)) if as_dates(values[at : at + 1]) is None), None)
    if at is None:
        raise DataError(
            f"Column {name}: some dates have a time zone and others have none; write all with one, or none."
        )
    raise DataError(f"{describe_row(at)}, column {name}: {values[at].as_py()!r} is not a date (YYYY-MM-DD).")


def _parse_numbers(name: str, values: pa.Array, describe_row: Callable[[int], str]) -> Numbers | pa.Array:
    try:
        return _to_floats(pc.utf8_trim_whitespace(values).cast(pa.float64()))
    except pa.ArrowInvalid:
        # A date that was declared numeric is in seconds since 1970, in a text file as in a data frame.
        if (dates := as_dates(pc.utf8_trim_whitespace(values))) is not None:
            return dates
        for at, text in enumerate(values.to_pylist()):
            if text is not None and not reads_as_number(text):
                raise DataError(f"{describe_row(at)}, column {name}: {text!r} is not a number.") from None
        return np.array([np.nan if text is None else float(text) for text in values.to_pylist()])


def reads_as_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    # Python accepts underscores between digits; in a table they are not part of a number.
    return "_" not in text


def _encode_levels(raw: RawColumn, kind: Kind | None, *, inferred: bool, has_name: bool = True) -> EncodedColumn:
    codes, present = observed_levels(raw)
    # The first level of a boolean has code 0.
    levels = present if raw.ordered and kind != "boolean" else sort_levels(present)
    n_missing = int(np.count_nonzero(codes < 0))
    n = len(codes)
    if not levels:
        return EncodedColumn(
            Column(raw.name, kind or "categorical", n_missing=n, constant=True, exclusion_reason="no value is present"),
            None,
        )
    if kind == "boolean" and len(levels) > 2:
        raise DataError(
            f"Column {raw.name} has {len(levels):,} distinct values, and a boolean has 2. Declare it categorical."
        )
    is_unread = inferred and not raw.notes
    warnings: tuple[Verdict, ...] = (note,) if is_unread and (note := unread_note(raw.name, levels)) else ()
    if inferred and (exclusion := _text_exclusion(raw.name, levels, codes[codes >= 0], has_name=has_name)):
        excluded_kind, reason = exclusion
        column = Column(raw.name, excluded_kind, n_missing=n_missing, exclusion_reason=reason)
        return EncodedColumn(column, None, warnings)
    if kind is None:
        kind = "boolean" if not isinstance(raw.values, np.ndarray) and pa.types.is_boolean(raw.values.type) else None
    warnings += (note,) if (note := _spelling_note(raw.name, levels)) else ()
    constant = len(levels) == 1 and n_missing == 0
    column = Column(raw.name, kind or "categorical", tuple(levels), n_missing, constant)
    return EncodedColumn(column, recode(codes, present, levels), warnings)


def _spelling_note(name: str, levels: Sequence[str]) -> Verdict | None:
    """Return a warning about levels that differ in upper and lower case or blanks only."""
    spellings: dict[str, list[str]] = {}
    for level in levels:
        spellings.setdefault(" ".join(level.casefold().split()), []).append(level)
    several = [alike for alike in spellings.values() if len(alike) > 1 and len(alike[0].strip()) > 1]
    if not several:
        return None
    shown = "; ".join(list_names(alike, as_text=repr) for alike in several[:3])
    others = f", and {len(several) - 3:,} others like these," if len(several) > 3 else ""
    advice = "Write them alike if they mean the same"
    sentence = f"{shown}{others} differ in capitals or blanks only, and are different levels. {advice}"
    return Verdict("TZ205", f"Column {name}: {sentence}.", [name])


def _text_exclusion(name: str, levels: list[str], codes: NDArray[Any], *, has_name: bool) -> tuple[Kind, str] | None:
    """Return the kind and the reason of text that is no category; `codes` are those of the present values."""
    n_present = len(codes)
    if len(levels) == n_present and n_present >= MIN_ID_ROWS:
        if not has_name:
            return "text", "all values are distinct"
        sample = levels[:1000]
        has_blanks = sum(" " in level.strip() for level in sample) > len(sample) / 2
        is_prose = has_blanks and not _ID_NAME_PATTERN.search(name)
        return ("text", "free text: all values are distinct") if is_prose else ("id", "all values are distinct")
    if len(levels) > MIN_TEXT_LEVELS and has_name:
        sample = levels[:: max(1, len(levels) // _MAX_SAMPLED_LEVELS)]
        # Both letters and digits occur in hashes; numbers that were read as text are codes.
        if all(map(_HASH_PATTERN.fullmatch, sample)) and not "".join(sample).isdecimal():
            return "id", f"its {len(levels):,} distinct values are hashes"
        if _PERSON_NAME_PATTERN.search(name):
            return "id", f"its name is that of the names of persons, with {len(levels):,} distinct values"
    if any(len(levels) > least and n_present < rows * len(levels) for least, rows in _TEXT_LIMITS):
        return "text", f"{len(levels):,} distinct values in {n_present:,} rows"
    if len(levels) > _MIN_OPEN_LEVELS:
        n_once = int(np.count_nonzero(np.bincount(codes) == 1))
        if n_once >= _MIN_UNKNOWN_SHARE * n_present:
            return "text", f"{len(levels):,} distinct values in {n_present:,} rows, of which {n_once:,} occur once"
    return None


def observed_levels(raw: RawColumn) -> tuple[NDArray[Any], list[str]]:
    """Return the values as codes, -1 where missing, and the distinct values as text."""
    if raw.categories is not None:
        return _drop_unused_words(raw.values, list(raw.categories))
    check_single_values(raw)
    # Hashing takes a tenth of the time of sorting by np.unique; NaN becomes null.
    values = pa.array(raw.values, from_pandas=True) if isinstance(raw.values, np.ndarray) else raw.values
    encoded = values if pa.types.is_dictionary(values.type) else values.dictionary_encode()
    indices = encoded.indices
    if indices.null_count:
        indices = (indices if pa.types.is_signed_integer(indices.type) else indices.cast(pa.int32())).fill_null(-1)
    words = encoded.dictionary.to_pylist()
    if not (pa.types.is_string(encoded.dictionary.type) or pa.types.is_large_string(encoded.dictionary.type)):
        words = list(map(level_text, words))
    return _drop_unused_words(indices.to_numpy(zero_copy_only=False), words)


def _drop_unused_words(codes: NDArray[Any], words: list[str | None]) -> tuple[NDArray[Any], list[str]]:
    """Remove the words that no code refers to, and merge equal words."""
    head = codes[:_HEAD_ROWS]
    rows = head if len(np.unique(head[head >= 0])) == len(words) else codes
    used = np.flatnonzero(np.bincount(rows[rows >= 0], minlength=len(words))).tolist()
    present = [word for word in dict.fromkeys(words[code] for code in used) if word is not None]
    if present == words:
        return codes, present
    order = {word: code for code, word in enumerate(present)}
    table = np.array([-1 if word is None else order.get(word, -1) for word in words] + [-1], dtype=np.int32)
    return table.take(codes, mode="wrap") if codes.dtype.kind == "i" else table[codes], present


def recode(codes: NDArray[Any], old_levels: list[str], levels: Sequence[str]) -> NDArray[Any]:
    """Convert codes of `old_levels` to codes of `levels`, in the narrowest type; -1 for missing values and dropped levels."""
    dtype = code_dtype(levels)
    if old_levels == list(levels):
        return codes.astype(dtype, copy=False)
    order = {level: code for code, level in enumerate(levels)}
    table = np.array([order.get(level, -1) for level in old_levels] + [-1], dtype=dtype)
    return table.take(codes, mode="wrap")


def code_dtype(levels: Sequence[str]) -> type[np.signedinteger[Any]]:
    """Return the narrowest integer type for the codes of these levels."""
    return next(dtype for dtype in (np.int8, np.int16, np.int32) if len(levels) <= np.iinfo(dtype).max)


def level_text(value: Any) -> str | None:
    if value is None:
        return None
    if isinstance(value, Decimal):
        return f"{value:f}".rstrip("0").rstrip(".") if value.as_tuple().exponent else str(value)  # no trailing zeros
    return number_text(value) if isinstance(value, float) else str(value)


def number_text(value: float) -> str:
    return str(int(value)) if float(value).is_integer() and abs(value) < LARGEST_EXACT_INTEGER else repr(float(value))
