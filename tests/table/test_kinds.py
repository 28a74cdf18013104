import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tamiz import open_table

N = 40
RNG = np.random.default_rng(0)


def column_of(values, name="a", **options):
    values = list(values)
    # Without a second column the table would be unusable if the first is excluded.
    return open_table(
        pd.DataFrame({name: values, "other": np.arange(len(values)) % 3 + 0.5}), **options
    ).schema.columns[0]


def target_of(values, **options):
    return open_table(pd.DataFrame({"a": RNG.normal(size=len(values)), "y": values}), target="y", **options).schema


def test_numbers_of_the_rows_are_ids_whatever_their_name():
    for first in (0, 1):
        column = column_of(range(first, first + N))
        assert (column.kind, column.exclusion_reason) == ("id", "it is a row number")


def test_few_rows_do_not_make_an_id():
    assert column_of(range(9)).kind == "numeric"


@pytest.mark.parametrize(
    "name", ["id", "ID", "customer_id", "customerId", "rownames", "Unnamed: 0", "index", "order.key"]
)
def test_integers_that_all_differ_are_ids_by_their_name(name):
    column = column_of(RNG.permutation(10**6)[:N], name)
    assert (column.kind, column.exclusion_reason[:24]) == ("id", "all values are distinct,")


@pytest.mark.parametrize("name", ["price", "paid", "humid", "grid", "monkey", "valid"])
def test_integers_that_all_differ_are_numbers_under_other_names(name):
    assert column_of(RNG.permutation(10**6)[:N], name).kind == "numeric"


def test_an_id_by_name_with_values_that_repeat_is_a_number():
    assert column_of([1, 2] * 20, "id").kind == "numeric"


@pytest.mark.parametrize(
    ("values", "words"),
    [
        (RNG.permutation(120)[:100] + 5000, "from 5,0"),
        (1000 + np.cumsum(RNG.integers(1, 4, 100)), "measured ones would repeat"),
        (RNG.choice(9 * 10**7, 300, replace=False) + 10**7, "of 8 digits"),
        ([10**17 + 3 * k for k in RNG.permutation(100).tolist()], "measured ones would repeat"),
    ],
)
def test_whole_numbers_that_all_differ_as_only_ids_do_are_ids_whatever_their_name(values, words):
    column = column_of(values)
    assert column.kind == "id"
    assert column.exclusion_reason.startswith("all values are distinct whole numbers ")
    assert words in column.exclusion_reason


@pytest.mark.parametrize(
    "values",
    [
        # Distinct by chance, in a range of a million; and one that repeats.
        RNG.choice(10**6, 100, replace=False),
        [*range(1000, 1099), 1098],
        # A grid, fractions, and a skewed number of as many digits.
        range(0, 6000, 60),
        RNG.permutation(100) + 0.5,
        np.sort(10**7 + (8 * 10**7 * RNG.random(300) ** 3).astype(int)),
        # Dates as numbers.
        [20240000 + 100 * month + day for month in range(1, 13) for day in range(1, 28)],
    ],
)  # fmt: skip
def test_measured_whole_numbers_are_numbers(values):
    assert column_of(values).kind == "numeric"


def test_years_that_all_differ_are_numbers():
    assert column_of(range(1900, 2000), "year").kind == "numeric"
    assert column_of(range(1900, 2000), "entry").kind == "id"


def test_hashes_that_repeat_and_names_of_persons_are_ids():
    hashes = [f"{k * 2654435761 % 2**32:08x}" for k in range(30)]
    column = column_of(hashes * 5)
    assert (column.kind, column.exclusion_reason) == ("id", "its 30 distinct values are hashes")
    # Colours of web pages have six digits, and codes may be decimal.
    assert column_of([f"{k * 40503 % 2**24:06x}" for k in range(30)] * 5).kind == "categorical"
    assert column_of([f"0{k}{k}" for k in range(1000, 1030)] * 5).kind == "categorical"
    names = [f"Name{k}" for k in range(30)] * 5
    assert column_of(names, "first_name").kind == "id"
    assert column_of(names, "lastName").kind == "id"
    assert column_of(names, "team name").kind == "categorical"


@pytest.mark.parametrize(
    ("n_values", "times", "n_once", "kind"),
    [
        (1001, 99, 0, "text"),
        (1001, 100, 0, "categorical"),
        (90, 4, 14, "text"),
        (90, 4, 11, "categorical"),
        (86, 4, 14, "categorical"),
    ],
)
def test_text_is_a_category_if_its_values_repeat(n_values, times, n_once, kind):
    column = column_of([*[f"word {k}" for k in range(n_values)] * times, *[f"rare {k}" for k in range(n_once)]])
    assert column.kind == kind
    if n_once and kind == "text":
        assert column.exclusion_reason == "104 distinct values in 374 rows, of which 14 occur once"


def test_text_that_all_differs_is_an_id():
    column = column_of([f"n{i}" for i in range(N)])
    assert (column.kind, column.exclusion_reason) == ("id", "all values are distinct")


def test_sentences_that_all_differ_are_text():
    column = column_of([f"this is note {i}" for i in range(N)])
    assert (column.kind, column.exclusion_reason) == ("text", "free text: all values are distinct")


def test_names_of_rows_with_blanks_are_ids_by_their_name():
    assert column_of([f"player number {i}" for i in range(N)], "rownames").kind == "id"


def test_text_of_many_values_is_text_and_states_how_many():
    column = column_of([f"w{i}" for i in range(30)] + ["w0"] * 10)
    assert (column.kind, column.exclusion_reason) == ("text", "30 distinct values in 40 rows")


def test_text_of_few_values_is_categorical():
    column = column_of(["b", "a", None, "a"] * 10)
    assert (column.kind, column.levels, column.n_missing) == ("categorical", ("a", "b"), 10)


def test_levels_that_are_numbers_are_sorted_as_numbers():
    assert column_of(["10", "9", "2.5", "10"]).levels == ("2.5", "9", "10")


SIZES = ["low", "mid", "none", "high"]
ORDERED = pd.DataFrame(
    {
        "size": pd.Categorical(["high", "low", "mid", "low"], SIZES, ordered=True),
        "shade": pd.Categorical(["b", "a", "b", "c"], ["c", "b", "a"]),
    }
)
ENUM = pl.DataFrame(
    {
        "size": pl.Series(["high", "low", "mid", "low"], dtype=pl.Enum(SIZES)),
        "shade": pl.Series(["b", "a", "b", "c"], dtype=pl.Categorical),
    }
)


@pytest.mark.parametrize("way", ["pandas", "polars", "arrow", "parquet of pandas", "parquet of polars", "feather"])
def test_levels_are_in_the_order_that_a_frame_declares_and_sorted_where_it_declares_none(way, tmp_path):
    data = {"pandas": ORDERED, "polars": ENUM, "arrow": pa.Table.from_pandas(ORDERED)}.get(way)
    if data is None:
        data = tmp_path / f"table.{way.split()[0]}"
        {
            "parquet of pandas": ORDERED.to_parquet,
            "parquet of polars": ENUM.write_parquet,
            "feather": ORDERED.to_feather,
        }[way](data)
    if way == "parquet of polars" and not pq.read_schema(data).field("size").type.ordered:
        pytest.skip("polars before 1.42 writes levels without their order")
    size, shade = open_table(data).schema.columns
    assert (size.levels, shade.levels) == (("low", "mid", "high"), ("a", "b", "c"))
    target = open_table(data, "size").schema.target
    assert target is not None
    assert target.levels == ("low", "mid", "high")


def test_constants_are_used_with_a_note():
    assert column_of([2.5] * N).constant
    assert column_of(["x"] * N).constant
    assert not column_of([2.5] * (N - 1) + [None]).constant


def test_a_column_without_values_is_left_out():
    column = column_of([None] * N)
    assert (column.exclusion_reason, column.n_missing) == ("no value is present", N)


def test_integers_of_up_to_20_values_are_classes_as_a_target():
    schema = target_of(np.arange(N) % 20)
    assert schema.target.levels == tuple(map(str, range(20)))
    (note,) = schema.notes
    assert (note.code, note.columns) == ("TZ103", ("y",))
    assert note.startswith("The target 'y' has 20 whole numbers, which are treated as classes.")


@pytest.mark.parametrize("numbers", [range(5), (4, 6, 8), (-1, 0, 1), (0, 1, 3)])
def test_numbers_that_may_be_amounts_are_doubted(numbers):
    (note,) = target_of([list(numbers)[k % len(numbers)] for k in range(60)]).notes
    assert note.code == "TZ103"


def test_codes_of_few_classes_and_names_of_classes_are_not_doubted():
    assert target_of(np.arange(N) % 4).notes == target_of(1 + np.arange(N) % 3).notes == ()
    assert target_of(np.arange(N) % 20, kinds={"y": "categorical"}).notes == ()
    assert target_of([f"class {k % 20}" for k in range(N)]).notes == ()


def test_integers_of_more_values_are_a_number_as_a_target():
    schema = target_of(np.arange(42) % 21)
    assert schema.target.kind == "numeric"
    assert schema.notes == ()


def test_numbers_with_fractions_are_a_number_as_a_target():
    assert target_of([0.5, 1, 2, 1] * 5).target.kind == "numeric"


def test_a_declared_target_is_as_declared():
    assert target_of([1, 2, 3, 1] * 5, kinds={"y": "numeric"}).target.kind == "numeric"
    assert target_of([0.5, 1.5, 3] * 5, kinds={"y": "categorical"}).target.levels == ("0.5", "1.5", "3")


def test_text_that_all_differs_is_classes_as_a_target():
    assert target_of([f"n{i}" for i in range(N)]).n_classes == N


def test_kinds_override_the_guess():
    assert column_of(range(N), kinds={"a": "numeric"}).exclusion_reason is None
    assert column_of([1, 2] * 5, kinds={"a": "categorical"}).levels == ("1", "2")
    assert column_of([1.5, 2] * 5, kinds={"a": "id"}).exclusion_reason == "declared as id"
    assert column_of(["1.5", " 2 ", None] * 5, kinds={"a": "numeric"}).n_missing == 5
    assert column_of([f"n{i}" for i in range(N)], kinds="categorical").kind == "categorical"


def test_an_unknown_kind_is_refused_with_the_closest():
    with pytest.raises(
        ValueError, match=r"'a'.*must be one of .*'numeric'.*got 'numerical' \(did you mean 'numeric'\?\)"
    ):
        column_of(range(N), kinds={"a": "numerical"})
    with pytest.raises(ValueError, match=r"^kinds must be one of"):
        column_of(range(N), kinds="number")


def test_a_kind_for_no_column_is_refused_with_the_closest():
    with pytest.raises(
        ValueError, match=r"^kinds contains 'othr', which is not a column \(did you mean 'other'\?\)\.$"
    ):
        column_of(range(N), kinds={"othr": "numeric"})


@pytest.mark.parametrize("role", ["target", "weight"])
def test_an_absent_column_is_refused_with_the_closest(role):
    with pytest.raises(
        ValueError, match=rf"^There is no column 'othr' for the {role} \(did you mean 'other'\?\); columns: a, other\.$"
    ):
        column_of(range(N), **{role: "othr"})


@pytest.mark.parametrize("word", ["x", "1_000", "1,5", ""])
def test_text_that_is_no_number_is_refused_as_a_number_with_its_row(word):
    with pytest.raises(ValueError, match=rf"^row 1, column a: '{word}' is not a number\.$"):
        column_of(["1", word], kinds={"a": "numeric"})


def test_columns_that_take_no_part_are_reported_in_one_sentence():
    frame = pd.DataFrame(
        {"rownames": range(N), "note": [f"note {i} of all" for i in range(N)], "x": RNG.normal(size=N)}
    )
    assert open_table(frame).schema.excluded_column_notes == [
        "2 of 3 columns are excluded: rownames (it is a row number), note (free text: all values are distinct)."
    ]
    assert open_table(frame[["x"]]).schema.excluded_column_notes == []
    assert (
        open_table(frame[["x", "note"]])
        .schema.excluded_column_notes[0]
        .startswith("1 of 2 columns is excluded: note (")
    )


def test_of_many_columns_that_take_no_part_five_are_named():
    frame = pd.DataFrame({f"c{j}": [1.0, 2.0] for j in range(9)})
    (note,) = open_table(frame, kinds={f"c{j}": "id" for j in range(8)}).schema.excluded_column_notes
    assert note.endswith("c4 (declared as id) and 3 more.")


@pytest.mark.parametrize("word", ["nan", "inf", "-Infinity", "1_0", "1e999"])
def test_levels_beside_a_word_that_is_no_finite_number_are_sorted_as_text(word):
    values = ["10", "9", word, "10", "9", word]
    assert column_of(values).levels == column_of(values[::-1]).levels == tuple(sorted({"10", "9", word}))


def test_text_is_read_as_dates_where_that_is_the_kind():
    frame = pd.DataFrame({"a": ["1970-01-02", None, " 1970-01-01 00:00:01.5"], "b": [1, 2, 4]})
    table = open_table(frame, kinds={"a": "date"})
    (block,) = table.blocks()
    assert np.array_equal(block.column(0), [86400, np.nan, 1.5], equal_nan=True)


def test_text_that_is_no_date_is_refused_with_its_row():
    with pytest.raises(ValueError, match=r"^row 1, column a: '3/4/20' is not a date \(YYYY-MM-DD\)\.$"):
        column_of(["2020-01-01", "3/4/20"], kinds={"a": "date"})


def test_a_boolean_of_many_values_is_refused():
    with pytest.raises(
        ValueError, match=r"^Column a has 35 distinct values, and a boolean has 2\. Declare it categorical\.$"
    ):
        column_of([k % 35 for k in range(70)], kinds={"a": "boolean"})


def test_kinds_of_another_type_are_refused():
    with pytest.raises(TypeError, match=r"^kinds must be a kind or a mapping of names to kinds, got 3\.$"):
        column_of(range(N), kinds=3)
