import csv
import gc
import math
import tempfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from tamiz import open_table
from tamiz.exceptions import TamizWarning
from tamiz.table import column_storage, csv_reader
from tamiz.table.column_storage import FileColumn
from tamiz.table.csv_layout import find_layout
from tamiz.table.text_values import MISSING_WORDS


@pytest.fixture(autouse=True, params=[1000, 1], ids=["of few columns", "of many columns"])
def _reader(request, monkeypatch):
    """Files are read by DuckDB or by Arrow, with the same result."""
    monkeypatch.setattr(csv_reader, "_MANY_COLUMNS", request.param)


@pytest.fixture
def write(tmp_path):
    def write_file(content, name="table.csv"):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write_file


def kinds_of(table):
    return {column.name: column.kind for column in table.schema.columns}


def table_of(table):
    return table.frame().to_pydict()


PRICES = "".join(f"{i}.5,{i % 3}\n" for i in range(40))


# The layout


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|", " "])
def test_a_delimiter_is_found(write, delimiter):
    rows = [["a", "b", "c"], ["1", "x", "2.5"], ["2", "y", "3.5"]]
    table = open_table(write("".join(delimiter.join(row) + "\n" for row in rows)))
    assert table_of(table) == {"a": [1, 2], "b": ["x", "y"], "c": [2.5, 3.5]}


def test_runs_of_blanks_are_one_delimiter(write):
    assert table_of(open_table(write("a  b\n 1   2 \n33  4\n"))) == {"a": [1, 33], "b": [2, 4]}


def test_commas_within_text_do_not_hide_semicolons(write):
    table = open_table(write("a;b\nfoo, bar;1\nbaz, qux;3\n"))
    assert table_of(table) == {"a": ["foo, bar", "baz, qux"], "b": [1, 3]}


def test_a_blank_within_values_is_no_delimiter(write):
    table = open_table(write("when,b\n2020-01-01 10:00,5\n2020-01-01 11:00,6\n"))
    assert kinds_of(table) == {"when": "date", "b": "numeric"}


def test_semicolons_allow_a_decimal_comma(write):
    assert table_of(open_table(write("a;b\n1,5;2\n-3;1e2\n"))) == {"a": [1.5, -3], "b": [2, 100]}


def test_quotes_contain_delimiters_newlines_and_quotes(write):
    table = open_table(write('a,b\n"x, y",1\n"p\nq",2\n"say ""hi""",3\n'))
    assert table_of(table)["a"] == ["x, y", "p\nq", 'say "hi"']


def test_blanks_before_a_quote_are_no_part_of_the_value(write):
    assert table_of(open_table(write('a,b\n1,   "x, y"\n22, "z"\n')))["b"] == ["x, y", "z"]


def test_single_quotes_are_found(write):
    assert table_of(open_table(write("'a','b'\n'x, y','2'\n'z','3'\n"))) == {"a": ["x, y", "z"], "b": [2, 3]}


def test_a_quote_within_a_bare_value_is_itself(write):
    assert table_of(open_table(write('a,b\n1,5" pipe\n2,6" pipe\n')))["b"] == ['5" pipe', '6" pipe']


def test_names_above_numbers_are_a_header(write):
    assert open_table(write("a,b\n1,2\n3,4\n")).schema.names == ["a", "b"]


def test_numbers_in_the_first_row_are_no_header(write):
    table = open_table(write("1,2\n3,4\n"))
    assert table_of(table) == {"x0": [1, 3], "x1": [2, 4]}


ARRAY = np.random.default_rng(0).normal(size=(12, 4)).round(3)
WHOLE = (10 * ARRAY).astype(int)
CLASSES = ["yes", "no"] * 6


@pytest.mark.parametrize("array", [ARRAY, WHOLE], ids=["fractions", "whole"])
@pytest.mark.parametrize("index", [True, False])
@pytest.mark.parametrize("target", [False, True])
def test_the_header_of_an_array_that_pandas_wrote_names_the_columns(write, array, index, target):
    frame = pd.DataFrame(array)
    if target:
        frame["target"] = CLASSES
    schema = open_table(write(frame.to_csv(index=index))).schema
    assert schema.n_rows == 12
    assert schema.names == ["Unnamed: 0"] * index + ["0", "1", "2", "3"] + ["target"] * target
    assert schema.notes == (
        f"The first row of table.csv ({', '.join(schema.names[:3])}, ...) was read as the column names. If it is a row of values, "
        "use --no-header or header=False.",
    )


@pytest.mark.parametrize("values", [(1.5, 2.5, 3.25), (12, 35, 7)])
@pytest.mark.parametrize("last", [["target"], []])
def test_years_are_a_header(write, values, last):
    rows = "".join(
        f"{','.join(map(str, np.roll(values, k)[:2].tolist() + CLASSES[k : k + len(last)]))}\n" for k in range(8)
    )
    assert open_table(write(",".join(["2019", "2020", *last]) + "\n" + rows)).schema.names == ["2019", "2020", *last]


@pytest.mark.parametrize(
    "rows",
    [
        "0,1\n1,0\n1,1\n0,0\n",  # two indicators
        "0.5,1,2\n1.5,2,3\n0.1,1,1\n",  # a fraction is not a name
        "3,3,7\n1.5,2.5,3.5\n2.5,1.5,1.5\n3.5,2.5,9.5\n",  # names are unique
        "5,1,a\n5.5,2,b\n4.5,3,a\n3.5,2,b\n",  # the class occurs again below
        "2019,2020\n2020,2021\n2021,2022\n",  # years below years
        "-1,2\n1.5,2.5\n3.5,2.5\n2.5,2.5\n",
    ],
)
def test_a_first_row_of_values_that_look_like_names_is_a_row(write, rows):
    table = open_table(write(rows))
    assert table.schema.names[0] == "x0"
    assert table.schema.n_rows == rows.count("\n")


def test_an_assumed_row_of_values_is_noted_with_the_way_out(write):
    path = write("7,3,9\n1,2,5\n4,1,6\n")
    (note,) = open_table(path).schema.notes
    assert note == (
        "The first row of table.csv (7, 3, 9) was read as a row of values, and the columns are named x0, x1, ... If it contains "
        "the column names, use --header or header=True."
    )
    for header, names in ((True, ["7", "3", "9"]), (False, ["x0", "x1", "x2"])):
        schema = open_table(path, header=header).schema
        assert (schema.names, schema.notes) == (names, ())
    assert open_table(path, header=True, target="3").schema.names == ["7", "9"]


@pytest.mark.parametrize("role", ["target", "weight", "groups", "time"])
def test_a_column_named_by_the_user_identifies_a_header_of_numbers(write, role):
    path = write("7,3,9\n" + "".join(f"{k % 3 + 1},{k % 2 + 1},{k * k}\n" for k in range(12)))
    schema = open_table(path, **{role: "3"}).schema
    assert (schema.names, schema.n_rows) == (["7", "9"], 12)
    assert not any("first row" in note for note in schema.notes)
    assert open_table(path, kinds={"3": "categorical"}).schema.names == ["7", "3", "9"]


def test_header_is_for_text_alone(write):
    with pytest.raises(TypeError, match=r"^header= applies to files of separated values only; omit it for a ndarray"):
        open_table(ARRAY, header=True)
    with pytest.raises(ValueError, match=r"table\.arff is in another format \(arff\): omit them\.$"):
        open_table(write("@relation r\n", "table.arff"), header=False)
    with pytest.raises(TypeError, match=r"^header must be True, False or None, got 0\.$"):
        open_table(write("a\n1\n2\n"), header=0)


def test_words_that_are_repeated_below_are_no_header(write):
    table = open_table(write("red,round\nred,flat\nblue,round\n"))
    assert table_of(table) == {"x0": ["red", "red", "blue"], "x1": ["round", "flat", "round"]}


def test_words_that_are_not_repeated_are_a_header(write):
    assert open_table(write("colour,shape\nred,flat\nblue,round\n")).schema.names == ["colour", "shape"]


def test_an_empty_name_gets_its_position(write):
    assert open_table(write(",a\nr1,2\nr2,3\n")).schema.names == ["Unnamed: 0", "a"]


@pytest.mark.parametrize(
    "encoding", ["utf-8", "utf-8-sig", "latin-1", "cp1252", "utf-16", "utf-16-le-with-mark", "utf-16-be-with-mark"]
)
def test_an_encoding_is_found(write, encoding):
    text = "größe,b\n1,ü\n2,o\n"
    mark = "\ufeff" if encoding.endswith("with-mark") else ""
    content = (mark + text).encode(encoding.removesuffix("-with-mark"))
    assert table_of(open_table(write(content))) == {"größe": [1, 2], "b": ["ü", "o"]}


def test_the_euro_sign_of_windows_is_read(write):
    assert table_of(open_table(write("a,b\n1,€\n2,o\n".encode("cp1252"))))["b"] == ["€", "o"]


@pytest.mark.parametrize("end", ["\n", "\r\n", "\r"])
def test_every_line_end_is_read(write, end):
    assert table_of(open_table(write(f"a,b{end}1,x{end}2,y{end}"))) == {"a": [1, 2], "b": ["x", "y"]}


def test_blank_lines_are_skipped_and_mixed_line_ends_read(write):
    assert table_of(open_table(write("\n\na,b\r\n1,2\n\n  \n3,4\r\n\n"))) == {"a": [1, 3], "b": [2, 4]}


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_a_delimiter_too_many_at_the_end_of_a_row_is_nothing(write, encoding):
    assert table_of(open_table(write("a,b\r\n1,2,\r\n3,4\r\n".encode(encoding)))) == {"a": [1, 3], "b": [2, 4]}


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_an_empty_line_in_a_table_of_one_column_is_a_missing_value(write, end):
    assert table_of(open_table(write(f"a{end}1{end}{end}3{end}"))) == {"a": [1, None, 3]}


def test_a_file_name_with_pattern_signs_is_one_file(write):
    assert open_table(write("a,b\n1,2\n3,4\n", "x[1]*'?.csv")).schema.n_rows == 2


# The values


def test_whole_columns_decide_the_kinds(write):
    table = open_table(
        write("flag,day,zip,n\nTRUE,2020-01-02,01234,+3\nfalse,2020-01-03 10:00,00501,.5\nNA,,11111,NA\n")
    )
    assert kinds_of(table) == {"flag": "boolean", "day": "date", "zip": "categorical", "n": "numeric"}
    assert [column.n_missing for column in table.schema.columns] == [1, 1, 0, 1]
    assert table_of(table)["n"] == [3, 0.5, None]
    assert table.schema.columns[2].levels == ("00501", "01234", "11111")


def test_moments_with_an_offset_are_universal_time(write):
    table = open_table(write("t,b\n1970-01-01T00:00:10Z,1\n1970-01-01T01:00:00+01:00,2\n"))
    (block,) = table.blocks()
    assert block.column(0).tolist() == [10, 0]


@pytest.mark.parametrize("word", sorted(MISSING_WORDS))
def test_words_for_missing_are_missing(write, word):
    table = open_table(write(f"a,b\n1,x\n{word},{word}\n3,y\n"))
    assert [column.n_missing for column in table.schema.columns] == [1, 1]
    assert kinds_of(table) == {"a": "numeric", "b": "categorical"}


def test_a_late_word_makes_a_column_categorical(write):
    table = open_table(write("size,n\n" + "".join(f"{i % 3},{i}.5\n" for i in range(3000)) + "3 or more,1\n"))
    assert table.schema.columns[0].levels == ("0", "1", "2", "3 or more")


def test_numbers_are_the_floats_that_python_reads(write):
    rng = np.random.default_rng(0)
    numbers = rng.integers(0, 2**64, 5000, dtype=np.uint64).view(np.float64)
    numbers = np.append(numbers[np.abs(numbers) <= 1e150], [5e-324, 0.1, 1e22, 1e23, 123456789012345678.0, -0.0])
    table = open_table(write("a,b\n" + "".join(f"{x!r},{x:.18g}\n" for x in numbers.tolist())))
    (block,) = table.blocks()
    for column in (0, 1):
        assert block.column(column).tobytes() == numbers.tobytes()


def test_columns_larger_than_memory_are_kept_on_disk(write, monkeypatch):
    path = write("a,b,c\n" + PRICES.replace("\n", ",x\n") + "7,1,y\n")
    (expected,) = open_table(path).blocks()
    monkeypatch.setattr(column_storage, "MAX_MEMORY_SHARE", 0.0)
    (block,) = open_table(path).blocks()
    assert all(isinstance(values, FileColumn) for values in block.values.values())
    assert np.array_equal(block.numeric, expected.numeric)
    assert np.array_equal(block.codes, expected.codes)


def test_the_frame_gives_chosen_rows_and_columns_back(write):
    table = open_table(write("a,b,y\n1,x,p\n2,,\n3,z,q\n"), target="y")
    assert table.frame([1], np.array([1])).to_pydict() == {"b": ["z"]}
    assert table.frame([0]).to_pydict() == {"a": [1, 3]}


def test_a_full_disk_is_reported_before_work_begins(write, monkeypatch):
    monkeypatch.setattr("shutil.disk_usage", lambda folder: SimpleNamespace(free=1000))
    with pytest.raises(
        OSError, match=r"^Parsing .*table\.csv needs about [\d.]+ kB in the temporary folder .*, where 1 kB are free\."
    ):
        open_table(write("a,b\n" + PRICES))


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "cp1251"])
def test_rows_are_guessed_by_bytes_and_not_by_characters(write, encoding):
    rows = "".join(f"{k % 10},слово номер {k % 7},{k % 3}\n" for k in range(40_000))
    path = write(("число,слово,класс\n" + rows).encode(encoding))
    assert find_layout(path).estimated_rows == pytest.approx(40_001, abs=2)


def test_a_column_declared_text_is_not_read_for_its_values(write):
    rows = "".join(f"{i},{'' if i % 10 == 0 else f'note {i}'},{i % 3}\n" for i in range(100))
    table = open_table(write("n,note,y\n" + rows), "y", kinds={"note": "text"})
    column = table.schema.columns[1]
    assert (column.kind, column.exclusion_reason, column.n_missing) == ("text", "declared as text", 10)
    assert table.frame([1], np.array([0, 1])).to_pydict() == {"note": [None, "note 1"]}


def test_more_distinct_words_than_fit_in_memory_are_refused_with_the_way_out(write, monkeypatch):
    monkeypatch.setattr("tamiz.table.text_values._UNCHECKED_BYTES", 100)
    monkeypatch.setattr("tamiz.runtime.validation.free_memory", lambda: 1000.0)
    path = write("n,note\n" + "".join(f"{i % 5},note {i}\n" for i in range(100)))
    with pytest.raises(
        MemoryError, match=r"^Encoding the distinct values of column note needs .* kinds=\{'note': 'text'\}\.$"
    ):
        open_table(path)


def test_nothing_is_left_behind(write, tmp_path, monkeypatch):
    folder = tmp_path / "temporary"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    table = open_table(write("a,b\n1,2\n3,4\n"))
    assert len(list(folder.iterdir())) == 1
    del table
    gc.collect()
    with pytest.raises(ValueError, match="infinite"):
        open_table(write("a,b\n1,2\n3,inf\n"))
    assert list(folder.iterdir()) == []


CELLS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=6) | st.sampled_from(
    ['"', "''", ",", ";", "\t", "a\nb", "\r\n", ' "x', 'x" ', "|", " ", "1", "é"]
)
BLANKS = " \t\r\n\v\f\u00a0"


@settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture]
)
@given(st.lists(st.tuples(CELLS, CELLS), min_size=2, max_size=12))
@example([('"', 'a"b'), ("\r", "\n")])
@example([("'a'", "'b'"), ("'c'", "'d'")])
@example([("", ";"), ("\x1e", ";")])
@example([("\u2028", ";"), ("a;b", ";")])
def test_files_written_by_the_csv_module_are_read_back(rows):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "table.csv")
        with path.open("w", encoding="utf-8", newline="") as file:
            writer = csv.writer(file, quoting=csv.QUOTE_ALL)
            writer.writerow(["number", "left", "right"])
            writer.writerows([k + 0.5, *row] for k, row in enumerate(rows))
        table = open_table(path, kinds={"left": "categorical", "right": "categorical"})
        read = table_of(table)
    assert read["number"] == [k + 0.5 for k in range(len(rows))]
    for name, wanted in zip(("left", "right"), zip(*rows, strict=True), strict=True):
        wanted = [None if (word := cell.strip(BLANKS)) in MISSING_WORDS else word for cell in wanted]
        if all(value is None or isinstance(value, str) for value in read[name]):
            assert read[name] == wanted
        elif all(isinstance(value, float | None) for value in read[name]):
            assert read[name] == [None if word is None or math.isnan(float(word)) else float(word) for word in wanted]


# What cannot be read


def test_a_row_that_is_too_short_is_named(write):
    with pytest.raises(ValueError, match=r"^line 4 has 1 field, but the header has 2\. Correct"):
        open_table(write('a,b\n"x\ny",1\n3\n'))


def test_a_row_that_is_too_long_is_named(write):
    with pytest.raises(ValueError, match=r"^line 3 has 3 fields, but the header has 2\. Correct"):
        open_table(write("a,b\n1,2\n3,4,5\n"))


def test_a_ragged_row_far_down_is_named(write):
    with pytest.raises(ValueError, match=r"^line 50002 has 3 fields, but the first row has 2\. Correct"):
        open_table(write("1.5,2\n" * 50001 + "1,2,3\n" + "1,2\n" * 10))


def test_a_slip_among_numbers_is_named_with_its_line(write):
    match = (
        r"^line 42, column price: 'x' is not a number, but the other 40 values are\. "
        r"Correct the line, read it as missing with --na x, or declare the column categorical with kinds\.$"
    )
    with pytest.raises(ValueError, match=match):
        open_table(write("price,k\n" + PRICES + "x,1\n"))


def test_the_line_of_a_slip_counts_newlines_in_quotes(write):
    with pytest.raises(ValueError, match=r"^line 45, column price: 'x' is"):
        open_table(write('"price","k\nk"\n"1\n",1\n' + PRICES + "x,3\n"))


def test_several_slips_are_counted(write):
    with pytest.raises(
        ValueError, match=r"^line 42, .* 'x' is not a number; 2 values are not numbers and 40 are\. Correct the lines"
    ):
        open_table(write("price,k\n" + PRICES + "x,1\ny,2\n"))


def test_a_slip_in_a_column_declared_numeric_is_named(write):
    with pytest.raises(ValueError, match=r"^line 3, column a: 'x' is not a number\.$"):
        open_table(write("a,b\n1,2\nx,3\n"), kinds={"a": "numeric"})


def test_a_slip_in_a_column_declared_categorical_is_a_level(write):
    table = open_table(write("price,k\n" + PRICES + "x,1\n"), kinds={"price": "categorical"})
    assert len(table.schema.columns[0].levels) == 41


def test_an_infinity_is_named_with_its_line(write):
    with pytest.raises(ValueError, match=r"^line 2, column b: inf is infinite"):
        open_table(write("a,b\n1,inf\n2,3\n"))


def test_names_that_occur_twice_are_named_with_their_positions(write):
    with pytest.raises(ValueError, match=r"^Column 'a' occurs twice in the header, at positions 1 and 3"):
        open_table(write("a,b,a\n1,2,3\n"))


def test_a_quote_left_open_is_named(write):
    with pytest.raises(ValueError, match=r"^line 2: a quote is not closed"):
        open_table(write('a,b\n1,"x\n2,y\n'))


@pytest.mark.parametrize("content", ['"a"b,c\n1,2\n3,4\n', '"a,b\n1,2\n3,4\n'])
def test_a_bad_quote_in_the_header_is_named(write, content):
    with pytest.raises(ValueError, match=r"^line 1: .* write a quote within a value twice"):
        open_table(write(content))


def test_text_after_a_quote_is_named(write):
    with pytest.raises(ValueError, match=r"^line 2: text follows a closing quote"):
        open_table(write('a,b\n1,"x" y\n2,z\n'))


@pytest.mark.parametrize("content", ["", "  \n\n", "\ufeff"])
def test_an_empty_file_is_refused(write, content):
    with pytest.raises(ValueError, match=r"table\.csv is empty\.$"):
        open_table(write(content))


def test_a_header_alone_is_refused(write):
    with pytest.raises(ValueError, match=r"table\.csv has a header and no rows\.$"):
        open_table(write("a,b\n"))


def test_a_binary_file_is_refused(write):
    with pytest.raises(ValueError, match=r"table\.csv is not a text file: it contains NUL bytes\."):
        open_table(write(b"ab\x03\x04\0\0"))


def test_a_file_without_permission_is_refused(write, monkeypatch):
    path = write("a,b\n1,2\n")

    def refuse(*args, **kwargs):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(PermissionError, match=r"table\.csv cannot be read: permission denied\.$"):
        open_table(path)


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"There is no file .*nowhere.csv"):
        open_table(tmp_path / "nowhere.csv")


def test_a_folder_without_parquet_files_is_refused(tmp_path):
    with pytest.raises(IsADirectoryError, match="is a folder"):
        open_table(tmp_path)


def test_an_absent_target_is_refused_with_the_closest_name(write):
    with pytest.raises(ValueError, match=r"no column 'prise' for the target \(did you mean 'price'\?\)"):
        open_table(write("price,b\n1,2\n3,4\n"), target="prise")


# Formatted numbers and dates


def written(write, values, delimiter=",", **options):
    rows = "".join(f"{value}{delimiter}{k % 4}.5\n" for k, value in enumerate(values * 5))
    table = open_table(write(f"a{delimiter}b\n{rows}"), **options)
    return table.schema.columns[0], table.frame()["a"].to_pylist()[: len(values)]


@pytest.mark.parametrize(
    ("values", "delimiter", "numbers"),
    [
        (["1,5", "2,5", "3"], ";", [1.5, 2.5, 3]),
        (["1.234,5", "2,5", "12.345.678"], ";", [1234.5, 2.5, 12345678]),
        (["1.234,5", "2,5", "7"], "\t", [1234.5, 2.5, 7]),
        (['"1,234"', '"-12,500.25"', "999"], ",", [1234, -12500.25, 999]),
        (['"1,5"', '"2,25"', "3"], ",", [1.5, 2.25, 3]),
        (["12 %", "2.5%", "NA"], ",", [12, 2.5, None]),
        (["12,5 %", "2,5%", "3%"], ";", [12.5, 2.5, 3]),
        (["$1", "$2.50", '"-$1,234"'], ",", [1, 2.5, -1234]),
        (["USD 12", "USD 7.5", "?"], ",", [12, 7.5, None]),
        (["3 €", "2,50 €", "1.000 €"], ";", [3, 2.5, 1000]),
        (["5 mg", "10 mg", "20 mg"], ",", [5, 10, 20]),
        (["5km", "10km", "20km"], ",", [5, 10, 20]),
        (['"(1,234.00)"', "5.00", "(3)"], ",", [-1234, 5, -3]),
        (["5-", "7", "1.5-"], ",", [-5, 7, -1.5]),
        (["~5", "7", "~1.5"], ",", [5, 7, 1.5]),
        (["\u22125", "7", "\uff11\uff12"], ",", [-5, 7, 12]),
        (['"=""5"""', '"=""7.5"""', "1"], ",", [5, 7.5, 1]),
        (["1\u00a0234", "5", "12 345"], ",", [1234, 5, 12345]),
        (["1'234", "5", "12'345.5"], ",", [1234, 5, 12345.5]),
        (['"12,34,567"', '"1,00,000"', "5"], ",", [1234567, 100000, 5]),
        (["-", "#DIV/0!", "7.5", "8"], ",", [None, None, 7.5, 8]),
    ],
)
def test_numbers_as_people_write_them_are_read(write, values, delimiter, numbers):
    column, found = written(write, values, delimiter)
    assert (column.kind, found) == ("numeric", numbers)


@pytest.mark.parametrize(
    "values",
    [
        ["31/12/2020", "1/2/2020", "NA"],
        ["12/31/2020", "2/1/2020", ""],
        ["31.12.2020", "01.02.2020", "?"],
        ["2020/12/31", "2020/2/1", "NA"],
        ["31-Dec-2020", "01-Feb-2020", ""],
        ["31DEC2020", "01FEB2020", ""],
        ['"December 31, 2020"', '"Feb 1, 2020"', "NA"],
        ['"Thu, 31 Dec 2020 00:00:00 GMT"', '"Sat, 01 Feb 2020 00:00:00 +0000"', ""],
        ["12/31/2020 12:00 AM", "2/1/2020 12:00 AM", ""],
        ["2020-12-31", "1 February 2020", ""],
    ],
)
def test_dates_are_read_where_a_day_above_12_shows_the_order(write, values):
    column, found = written(write, values)
    assert column.kind == "date"
    assert [None if day is None else day.isoformat()[:10] for day in found] == ["2020-12-31", "2020-02-01", None]


@pytest.mark.parametrize(
    ("values", "what"),
    [
        (
            ["12/3/2020", "1/2/2020", "5/6/2021"],
            "'12/3/2020', .* look like dates, but the order of day and month is unknown",
        ),
        (["50%", "0.5", "20%"], "look like numbers, but some are percentages and some have no percent sign"),
        (["5 mg", "10 mg", "20 kg"], r"look like numbers, but their units differ \(kg, mg\)"),
        (["31/12/2020", "1/2/2020", "30/2/2020"], "5 of 15 values are not dates, such as '30/2/2020'"),
        (["(1)", "(2)", "(3)"], "look like numbers, but all are in parentheses"),
    ],
)
def test_text_that_can_be_read_in_two_ways_is_warned_of(write, values, what):
    with pytest.warns(TamizWarning, match=what) as warned:
        assert written(write, values)[0].kind == "categorical"
    (warning,) = warned
    assert "--kinds or kinds=" in str(warning.message)
    assert written(write, values, kinds={"a": "categorical"})[0].kind == "categorical"


def test_thousands_that_may_be_fractions_are_warned_of(write):
    with pytest.warns(
        TamizWarning, match=r"'1,234', .* look like numbers, but a comma may separate thousands or a fraction"
    ):
        assert written(write, ["1,234", "2,500", "999"], "\t")[0].kind == "categorical"


@pytest.mark.parametrize(
    "values", [["10th", "1st", "2nd"], ["3a", "4b", "5c"], ["18-25", "26-40", "41-60"], ["A1", "A2", "A3"]]
)
def test_categories_with_digits_are_categories_without_a_warning(write, values):
    assert written(write, values)[0].kind == "categorical"


def test_a_declared_kind_decides_how_percentages_are_read(write):
    column, found = written(write, ["12 %", "3 %"], kinds={"a": "categorical"})
    assert (column.levels, found) == (("12 %", "3 %"), ["12 %", "3 %"])
    assert written(write, ["12 %", "3 %"], kinds={"a": "numeric"})[1] == [12, 3]
