import datetime as dt
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tamiz import MixedNB, open_table
from tamiz.table.arff import split_values

DATA = Path(__file__).parents[3] / "shared" / "data"
WEATHER = "@relation weather\n@attribute outlook {sunny, rainy}\n@attribute degrees numeric\n@data\n"


@pytest.fixture
def write(tmp_path):
    def write_file(content):
        path = tmp_path / "table.arff"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write_file


def table_of(table):
    return table.frame().to_pydict()


def test_nominal_and_numeric_attributes_are_read(write):
    table = open_table(write(WEATHER + "sunny,1.5\n?,2\nrainy,?\n"))
    outlook, degrees = table.schema.columns
    assert (outlook.kind, outlook.levels, outlook.n_missing) == ("categorical", ("sunny", "rainy"), 1)
    assert (degrees.kind, degrees.n_missing) == ("numeric", 1)
    assert table_of(table) == {
        "outlook": ["sunny", None, "rainy"],
        "degrees": [1.5, 2, None],
    }


def test_levels_keep_the_order_in_which_they_are_declared(write):
    text = (
        "@relation r\n@attribute size {low, mid, none, high}\n@attribute shade {'3', '20', '100'}\n@attribute x numeric\n@data\n"
        "high,100,1\nlow,20,2\nmid,3,4\nlow,?,3\nmid,20,5\nhigh,20,6\n"
    )
    path = write(text)
    size, shade, _ = open_table(path).schema.columns
    assert (size.levels, shade.levels) == (("low", "mid", "high"), ("3", "20", "100"))
    table = open_table(path, "size")
    assert table.schema.target.levels == ("low", "mid", "high")
    (block,) = table.blocks([])
    assert np.asarray(table.schema.target.levels)[block.y].tolist() == ["high", "low", "mid", "low", "mid", "high"]
    assert MixedNB().fit(table).classes_.tolist() == ["high", "low", "mid"]


def test_the_first_level_of_a_nominal_attribute_declared_boolean_is_false(write):
    text = "@relation r\n@attribute flag {True, False}\n@attribute x numeric\n@data\nTrue,1\nFalse,2\nTrue,3\n"
    table = open_table(write(text), kinds={"flag": "boolean"})
    assert table.schema.columns[0].levels == ("False", "True")


def test_a_file_has_no_target_of_its_own(write):
    assert open_table(write(WEATHER + "sunny,1\nrainy,2\n")).schema.target is None


def test_keywords_and_types_of_any_case_are_read(write):
    text = "@RELATION r\n@Attribute a REAL\n@ATTRIBUTE b Integer\n@aTTribute c\tNuMeRiC\n@DATA\n1,2,3\n4,5,6\n"
    assert table_of(open_table(write(text))) == {"a": [1, 4], "b": [2, 5], "c": [3, 6]}


def test_quoted_names_and_values_are_read(write):
    text = (
        "@relation 'a b'\n@attribute 'the \\'first\\'' {'x, y', \"it's\", 'p\\\\q', '?'}\n"
        '@attribute "second {one}" string\n@data\n'
        "'x, y', 'tab\\there'\n\"it's\",\"say \\\"hi\\\"\"\n 'p\\\\q' , plain \n'?',?\n"
    )
    assert table_of(open_table(write(text))) == {
        "the 'first'": ["x, y", "it's", "p\\q", "?"],
        "second {one}": ["tab\there", 'say "hi"', "plain", None],
    }


def test_comments_blank_lines_and_line_ends_are_read(write):
    text = "% one\r\n@relation r % two\r\n\r\n@attribute a numeric % three\r\n@attribute b {50%, 'x % y'}\r\n@data\r\n"
    rows = "  % four\r\n1,50% % five\r\n\r\n2,'x % y'\r\n"
    assert table_of(open_table(write(text + rows))) == {"a": [1, 2], "b": ["50%", "x % y"]}


def test_a_byte_order_mark_is_skipped(write):
    assert open_table(write(("\ufeff" + WEATHER + "sunny,1\nrainy,2\n").encode())).schema.n_rows == 2


def test_a_file_in_latin_1_is_read(write):
    text = "@relation r\n@attribute größe numeric\n@attribute b {ä,ö}\n@data\n1,ä\n2,ö\n"
    assert table_of(open_table(write(text.encode("latin-1")))) == {"größe": [1, 2], "b": ["ä", "ö"]}


@pytest.mark.parametrize("row", ["sunny\t1.5", "sunny 1.5", "sunny , 1.5", "'sunny'\t1.5"])
def test_blanks_and_tabs_part_values(write, row):
    assert table_of(open_table(write(WEATHER + f"{row}\nrainy,2\n"))) == {
        "outlook": ["sunny", "rainy"],
        "degrees": [1.5, 2],
    }


def test_a_sparse_row_leaves_zeros_and_first_levels_out(write):
    text = "@relation r\n@attribute a numeric\n@attribute b {p,q}\n@attribute c {x,y}\n@attribute d string\n@data\n"
    table = open_table(write(text + "{0 2.5, 2 y}\n{}\n{1 q,2 ?, 3 'w, z'}\n7,q,x,v\n"))
    assert table_of(table) == {
        "a": [2.5, 0, 0, 7],
        "b": ["p", "p", "q", "q"],
        "c": ["y", "x", None, "x"],
        "d": [None, None, "w, z", "v"],
    }


def test_weights_of_rows_are_used_and_reported(write):
    table = open_table(write(WEATHER + "sunny,1,{0.5}\nrainy,2\n{0 rainy, 1 3}, {4}\n'sunny',5, { 2 }\n"))
    (block,) = table.blocks()
    np.testing.assert_allclose(block.weight / block.weight[1], [0.5, 1, 4, 2])
    assert table.schema.weight == "weight"
    assert table.schema.notes == (
        "The weights are sampling weights: 4 rows have an effective sample size of 2.6.",
        "The file contains a weight for 3 of 4 rows; the others have weight 1.",
    )


def test_other_weights_take_the_place_of_the_files(write):
    table = open_table(write(WEATHER + "sunny,1,{0.5}\nrainy,2\n"), weight=[3.0, 4.0])
    (block,) = table.blocks()
    assert block.weight.tolist() == [3, 4]


def test_weights_go_with_rows_without_a_target(write):
    table = open_table(write(WEATHER + "sunny,1,{5}\n?,2,{6}\nrainy,3,{7}\n"), target="outlook")
    (block,) = table.blocks()
    assert block.weight.tolist() == [5, 7]


@pytest.mark.parametrize(
    ("pattern", "text", "expected"),
    [
        ("", "2020-02-03T04:05:06", dt.datetime(2020, 2, 3, 4, 5, 6)),
        ("yyyy-MM-dd", "2020-02-03", dt.datetime(2020, 2, 3)),
        ("'dd.MM.yy HH:mm'", "03.02.20 04:05", dt.datetime(2020, 2, 3, 4, 5)),
        ('"d MMM yyyy, h:mm a"', "3 Feb 2020, 4:05 PM", dt.datetime(2020, 2, 3, 16, 5)),
        ("\"yyyy-MM-dd'T'HH:mm:ss.SSSZ\"", "2020-02-03T04:05:06.070+0100", dt.datetime(2020, 2, 3, 3, 5, 6, 70000)),
    ],
)
def test_dates_are_read_by_their_pattern(write, pattern, text, expected):
    table = open_table(
        write(f"@relation r\n@attribute t date {pattern}\n@attribute n numeric\n@data\n'{text}',1\n?,2\n")
    )
    assert table.schema.columns[0].kind == "date"
    assert table_of(table)["t"] == [expected, None]


def test_the_kind_of_text_attributes_depends_on_their_values(write):
    header = "@relation r\n@attribute name string\n@attribute colour string\n@attribute n numeric\n@data\n"
    table = open_table(write(header + "".join(f"n{i},{'red' if i % 2 else 'blue'},{i}.5\n" for i in range(12))))
    name, colour, _ = table.schema.columns
    assert (name.kind, name.exclusion_reason) == ("id", "all values are distinct")
    assert (colour.kind, colour.levels) == ("categorical", ("blue", "red"))


def escape(text):
    table = {"\\": "\\\\", "'": "\\'", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}
    return "'" + "".join(table.get(sign, sign) for sign in text) + "'"


TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n\r"), max_size=8) | st.sampled_from(
    ["'", '"', "\\", "%", "{", "}", "?", ",", "a\nb", "\\'", "{0 1}", "\\u0041"]
)


@settings(max_examples=200, deadline=None)
@given(st.lists(TEXTS, min_size=1, max_size=6))
def test_quoted_values_are_read_back(texts):
    assert split_values(" , ".join(map(escape, texts)), 1) == texts


# What cannot be read


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("sunny,1\nsunny\n", r"^line 6 has 1 value, but the header declares 2 attributes\.$"),
        ("sunny,1\n'sunny',1,2\n", r"^line 6 has 3 values, but the header declares 2 attributes\.$"),
        (
            "% note\n\nsuny,1\n",
            r"^line 7, column outlook: 'suny' is not among the 2 levels declared in line 2 \(did you mean 'sunny'\?\)\.$",
        ),
        ("sunny,1\nrainy,x1\n", r"^line 6, column degrees: 'x1' is not a number\.$"),
        ("'sunny,1\n", r"^line 5: a quote is not closed"),
        ("'sunny' x,1\n", r"^line 5: text before or after a quoted value"),
        ("{0 sunny\n", r"^line 5: the sparse row has no closing brace\.$"),
        ("{2 5}\n", r"^line 5: attribute 2 in a sparse row does not exist; attributes are numbered 0 to 1\.$"),
        ("{1 5, 1 6}\n", r"^line 5: attribute 1 occurs twice in a sparse row\.$"),
        ("{1}\n", r"^line 5: '1' in a sparse row is not of the form 'number value'"),
        ("{0 'sunny}\n", r"^line 5: a quote is not closed"),
        ("sunny,1,{w}\n", r"^line 5: the weight 'w' is not a number\.$"),
        ("sunny,1,{-1}\nrainy,2\n", r"^line 5: the weight -1\.0 is not a number of at least 0\.$"),
        ("sunny,1\nrainy,Infinity\n", r"^line 6, column degrees: inf is infinite"),
        ("", r"table\.arff has no rows after its @data line \(line 4\)\.$"),
    ],
)
def test_bad_rows_are_named_with_their_line(write, rows, message):
    with pytest.raises(ValueError, match=message):
        open_table(write(WEATHER + rows))


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("@attribute a {x,y\n", r"^line 2: the levels of attribute 'a' have no closing brace\.$"),
        ("@attribute a {}\n", r"^line 2: attribute 'a' declares no levels\.$"),
        ("@attribute a {x,y,x}\n", r"^line 2: attribute 'a' declares the level 'x' twice\.$"),
        (
            "@attribute a numerc\n",
            r"^line 2: attribute 'a' has the unknown type 'numerc' \(did you mean 'numeric'\?\)\.$",
        ),
        ("@attribute a\n", r"^line 2: attribute 'a' has no type\.$"),
        ("@attribute\n", r"^line 2: the attribute has no name\.$"),
        ("@attribute 'a numeric\n", r"^line 2: a quote is not closed\.$"),
        (
            "@attribute a relational\n",
            r"^line 2: attribute 'a' is relational \(a table within a cell\), which is not supported",
        ),
        ("@attribute a numeric\n@attribute a real\n", r"^line 3: attribute 'a' is already declared in line 2"),
        ("@attribute a date 'yyyy-ww'\n", r"^line 2: 'ww' in the date format 'yyyy-ww' is not supported"),
        ('@attribute a date "yyyy\'T"\n', r"^line 2: the date format \"yyyy'T\" has a quote that is not closed\.$"),
        ("1,2,3\n", r"^line 2: '1,2,3' precedes @data"),
        ("", r"table\.arff, line 2: no attributes are declared before @data\.$"),
    ],
)
def test_bad_declarations_are_named_with_their_line(write, header, message):
    with pytest.raises(ValueError, match=message):
        open_table(write(f"@relation r\n{header}@data\n1\n"))


def test_a_bad_date_is_named_with_its_line(write):
    with pytest.raises(
        ValueError, match=r"^line 5, column t: '2020-13-01' is not a date of the format declared in line 1\.$"
    ):
        open_table(write("@attribute t date yyyy-MM-dd\n@attribute n numeric\n@data\n2020-12-01,1\n2020-13-01,2\n"))


def test_a_file_without_a_data_line_is_refused(write):
    with pytest.raises(ValueError, match=r"table\.arff has no @data line after its 1 attributes\.$"):
        open_table(write("@relation r\n@attribute a numeric\n"))


def test_a_file_without_declarations_is_refused(write):
    with pytest.raises(ValueError, match=r"table\.arff is not an ARFF file: it declares no attributes"):
        open_table(write("% nothing\n"))


def test_an_empty_file_is_refused(write):
    with pytest.raises(ValueError, match=r"table\.arff is empty\.$"):
        open_table(write(""))


# Weka's own files


@pytest.mark.skipif(not DATA.exists(), reason=f"the collection of tables is not at {DATA.parent.name}/{DATA.name}")
@pytest.mark.parametrize(
    ("name", "n_rows", "n_columns", "n_missing"),
    [("supermarket", 4627, 217, 913670), ("credit-g", 1000, 21, 0), ("contact-lenses", 24, 5, 0), ("cpu", 209, 7, 0)],
)
def test_the_files_that_come_with_weka_are_read(name, n_rows, n_columns, n_missing):
    schema = open_table(DATA / f"{name}.arff").schema
    assert (schema.n_rows, schema.n_columns) == (n_rows, n_columns)
    assert sum(column.n_missing for column in schema.columns) == n_missing
