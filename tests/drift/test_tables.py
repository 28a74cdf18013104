"""Two tables: what has changed is found, what has not is not, and bad tables are named."""

import json
import re
from html import unescape

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_wine

import tamiz
from tamiz import compare_tables
from tamiz.drift.columns import SharedColumn, compare_columns
from tamiz.exceptions import DataError, TamizWarning


def draw(n, seed, slope=1.0):
    """A table of a target, numbers, a category and a date; all rows of one distribution."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 4))
    city = rng.choice(["Rome", "Oslo", "Lima"], n)
    return pd.DataFrame({
        "a": 50 + 10 * x[:, 0], "b": x[:, 1], "c": np.where(rng.random(n) < 0.1, np.nan, x[:, 2]), "d": np.exp(x[:, 3]),
        "city": city, "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 90, n), "D"),
        "y": np.where(slope * x[:, 0] + 0.5 * (city == "Oslo") + rng.normal(size=n) > 0, "yes", "no"),
    })  # fmt: skip


def by_name(found):
    return {one.name: one for one in found.columns}


def codes(found):
    return {one.code: one for one in found.warnings}


@pytest.fixture(scope="module")
def changed():
    new = draw(400, 1)
    rng = np.random.default_rng(2)
    new["a"] *= 1000
    new["b"] = new["b"] * 3
    new.loc[rng.random(400) < 0.4, "c"] = np.nan
    new.loc[:59, "city"] = "Paris"
    new["extra"] = 1.5
    return compare_tables(draw(500, 0).drop(columns="d").assign(old=1.5), new, "y")


def test_a_unit_a_scale_missing_values_and_a_new_level_are_found(changed):
    found, stated = by_name(changed), codes(changed)
    assert set(changed.changed) == {"a", "b", "c", "city"}
    assert found["a"].power == 3
    assert stated["TZ211"].columns == ("a",)
    assert found["b"].deviation[1] == pytest.approx(3, rel=0.1)
    assert found["c"].missing == pytest.approx((0.1, 0.46), abs=0.05)
    assert (found["city"].new_levels, found["city"].n_new_levels, found["city"].new_share) == (("Paris",), 1, 0.15)
    assert stated["TZ214"].columns == ("city",)
    assert {name for one in changed.warnings if one.code == "TZ213" for name in one.columns} == {"old", "extra", "d"}
    assert (changed.only_first, changed.only_second) == (("old",), ("d", "extra"))


def test_what_separates_the_tables_alone_is_set_aside_and_the_others_are_named(changed):
    assert set(changed.set_aside) == {"a", "day"}
    assert changed.membership.auc > 0.8
    assert {"b", "city", "c"} <= set(changed.membership.columns)


def test_a_model_of_another_unit_has_a_lower_score_on_the_new_rows(changed):
    one = changed.target
    assert one.scores[0] > 0.7
    assert one.scores[1] < 0.65
    assert one.difference_interval[1] < 0
    assert codes(changed)["TZ308"].severity == "problem"


def test_rows_that_are_farther_than_those_of_the_first_table_are_outside(changed):
    new = changed.new_rows
    assert set(new.columns) == {"b", "c"} or "b" in new.columns
    assert new.share > 0.05
    assert codes(changed)["TZ215"]
    assert new.rows[0].column == "b"
    assert new.rows[0].distance >= new.rows[-1].distance > 1
    assert new.groups.count(0) == 500


@pytest.mark.slow
def test_rows_of_one_distribution_are_inside_whatever_the_number_of_columns():
    rng = np.random.default_rng(31)
    first, second = (pd.DataFrame(rng.normal(size=(60, 300))) for _ in range(2))
    found = compare_tables(first.add_prefix("x"), second.add_prefix("x"))
    assert found.new_rows.share <= 0.05
    assert found.changed == []


def test_an_association_that_is_reversed_is_named():
    found = compare_tables(draw(400, 33), draw(400, 34, slope=-1.0), "y", columns=["a", "city"])
    assert codes(found)["TZ104"].columns == ("a",)
    (one,) = (one for one in found.target.associations if one.column == "a")
    assert one.values[0] > 0.5
    assert one.values[1] < -0.5
    assert one.ranks == (1, 1)
    assert codes(found)["TZ308"].columns == ("a", "city")
    assert found.target.columns == ("a", "city")
    assert found.changed == []


def test_tables_of_one_distribution_have_no_verdict():
    found = compare_tables(draw(300, 35), draw(200, 36), "y")
    assert found.changed == []
    assert codes(found) == {}
    assert found.membership.interval[0] < 0.5 < found.membership.interval[1]
    low, high = found.target.difference_interval
    assert low < 0 < high


@pytest.mark.parametrize(("n", "n_tables"), [(50, 200), (500, 100), (50_000, 3)])
def test_a_column_is_falsely_reported_in_at_most_one_of_twenty_pairs_of_tables(n, n_tables):
    rng = np.random.default_rng(n)
    shares = 1 / np.arange(1, 41)

    def falsely():
        numbers = [rng.normal(size=(2, n)), np.exp(rng.normal(size=(2, n))), rng.poisson(1, (2, n)).astype(float)]
        numbers[0][rng.random((2, n)) < 0.1] = np.nan
        levels = [
            rng.integers(0, 4, (2, n)),
            rng.choice(40, (2, n), p=shares / shares.sum()),
            rng.integers(0, 200, (2, n)),
        ]
        shared = [SharedColumn(str(k), "numeric", False, (), tuple(one)) for k, one in enumerate(numbers)]
        shared += [
            SharedColumn(f"l{k}", "categorical", False, tuple(map(str, range(200))), tuple(one))
            for k, one in enumerate(levels)
        ]
        return any(one.change != "none" for one in compare_columns(shared, (np.ones(n), np.ones(n))))

    rate = np.mean([falsely() for _ in range(n_tables)])
    assert rate <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / n_tables)


def test_weights_are_repeated_rows():
    first, second = draw(120, 7).drop(columns="y"), draw(100, 8).drop(columns="y")
    times = np.random.default_rng(9).integers(1, 4, 100)
    weighted = compare_tables(first.assign(w=1), second.assign(w=times), weight="w")
    repeated = compare_tables(first, second.loc[np.repeat(np.arange(100), times)])
    for name, one in by_name(weighted).items():
        other = by_name(repeated)[name]
        assert (one.psi, one.distance, one.p_value) == pytest.approx((other.psi, other.distance, other.p_value))
        assert one.mean is None or one.mean == pytest.approx(other.mean)


def test_the_order_of_rows_and_columns_changes_no_number_of_a_column():
    first, second = draw(200, 10), draw(150, 11)
    found = compare_tables(first, second)
    other = compare_tables(first.sort_values("a"), second[second.columns[::-1]].sort_values("b"))
    assert {name: (one.psi, one.p_value) for name, one in by_name(found).items()} == {
        name: (one.psi, one.p_value) for name, one in by_name(other).items()
    }


def test_other_shares_of_the_classes_are_a_change_of_the_target():
    first, second = draw(400, 12), draw(900, 13)
    second = pd.concat([second[second["y"] == "yes"], second[second["y"] == "no"][:60]])
    found = compare_tables(first, second, "y")
    assert "y" in found.changed
    assert by_name(found)["y"].is_target


def test_rows_of_the_first_table_in_the_second_are_reported():
    first = draw(200, 14)
    found = compare_tables(first, pd.concat([first[:40], draw(60, 15)]), "y")
    assert found.repeated == (40, 0.0)
    assert "40 rows" in codes(found)["TZ216"]


def test_kinds_are_those_of_the_first_table():
    first = draw(60, 16)[["a", "city"]].assign(
        code=np.random.default_rng(0).choice(["1", "2", "x"], 60), n=np.arange(60) % 7
    )
    second = draw(30, 17)[["a", "city"]].assign(code="1", n=np.arange(30) * 7919)
    found = compare_tables(first, second)
    assert {name: one.kind for name, one in by_name(found).items()} == {
        "a": "numeric", "city": "categorical", "code": "categorical", "n": "numeric"
    }  # fmt: skip
    assert by_name(found)["code"].n_new_levels == 0


def test_text_among_numbers_is_named_with_its_row():
    second = draw(50, 18)
    second["a"] = second["a"].astype(object)
    second.loc[7, "a"] = "n/a"
    found = compare_tables(draw(50, 19), second.astype({"a": str}))
    sentence = codes(found)["TZ213"]
    assert sentence.columns == ("a",)
    assert "row 7" in sentence
    assert "'n/a'" in sentence


@pytest.mark.parametrize("recode", [{"yes": 1, "no": 0}, {"yes": "y", "no": "n"}])
def test_a_target_of_other_classes_is_named_and_nothing_is_scored(recode):
    second = draw(60, 20)
    found = compare_tables(draw(60, 21), second.assign(y=second["y"].map(recode)), "y")
    assert found.target is None
    assert codes(found)["TZ213"].columns == ("y",)
    assert "no and yes" in codes(found)["TZ213"]


@pytest.mark.parametrize("unlabelled", [lambda one: one.drop(columns="y"), lambda one: one.assign(y=None)])
def test_new_rows_without_a_target_are_compared_without_a_score(unlabelled):
    found = compare_tables(draw(60, 22), unlabelled(draw(60, 23)), "y")
    assert found.target is None
    assert found.changed == []
    assert codes(found).keys() == {"TZ503"}


def test_new_rows_of_one_class_have_no_score():
    second = draw(60, 39)
    found = compare_tables(draw(60, 40), second.assign(y="no"), "y")
    assert found.target is None
    assert "one value of the target" in codes(found)["TZ503"]
    assert found.changed == ["y"]


def test_possible_leaks_are_no_reason_for_a_score():
    first, second = draw(200, 24), draw(150, 25)
    for one in (first, second):
        one["copy"] = one["y"].map({"yes": "pass", "no": "fail"})
    found = compare_tables(first, second, "y")
    assert found.target.leaks == ("copy",)
    assert "copy" not in found.target.columns
    assert found.target.scores[0] < 0.95
    assert "copy" in compare_tables(first, second, "y", columns=["copy", "a"]).target.columns


def test_bad_tables_and_names_are_named():
    table = draw(30, 26)
    with pytest.raises(DataError, match=r"no column in common.*a, b, c.*A, B, C.*rename"):
        compare_tables(table, table.rename(columns=str.upper))
    with pytest.raises(DataError, match=r"^The second table: The table has 1 sample"):
        compare_tables(table, table[:1])
    with pytest.raises(DataError, match=r"^The second table: The table has 0 sample"):
        compare_tables(table, table[:0])
    with pytest.raises(DataError, match=r"^The first table: There is no column 'yy'.*did you mean 'y'"):
        compare_tables(table, table, "yy")
    with pytest.raises(ValueError, match=r"^columns names ct, which is not in the first table"):
        compare_tables(table, table, "y", columns=["ct"])
    with pytest.raises(ValueError, match="pass target="):
        compare_tables(table, table, columns=["a"])
    with pytest.raises(DataError, match=r"^The second table: There is no column 'w'"):
        compare_tables(table.assign(w=2), table, weight="w")
    with pytest.raises(TypeError, match="files or data frames"):
        compare_tables(tamiz.open_table(table), table)
    with pytest.raises(TypeError, match="list of names"):
        compare_tables(table, table, "y", columns="a")


def test_a_file_is_named_in_an_error(tmp_path):
    draw(30, 27).to_csv(tmp_path / "old.csv", index=False)
    (tmp_path / "new.csv").write_text("a,b\n1,2\n")
    with pytest.raises(DataError, match=r"^new\.csv: "):
        compare_tables(tmp_path / "old.csv", tmp_path / "new.csv")


def test_a_sample_is_announced(monkeypatch):
    monkeypatch.setattr("tamiz.drift.tables.MAX_ROWS", 100)
    with pytest.warns(TamizWarning, match="TZ502: .* 100 of the 150 rows of the first table"):
        found = compare_tables(draw(150, 28), draw(90, 29), random_state=3)
    assert found.sample == (100, 90)
    assert found.seed == 3
    assert found.first.n_rows == 150


def test_the_result_is_plain_and_the_same_for_the_same_seed(changed, tmp_path):
    plain = json.loads(changed.to_json(tmp_path / "found.json").read_text(encoding="utf-8"))
    assert plain == json.loads(json.dumps(changed.to_dict()))
    frame = changed.to_frame()
    assert list(frame["column"]) == [one.name for one in changed.columns]
    assert frame["missing_second"][list(frame["column"]).index("c")] == by_name(changed)["c"].missing[1]
    wine = load_wine(as_frame=True).frame
    one, other = (compare_tables(wine[::2], wine[1::2], "target", n_jobs=jobs) for jobs in (1, 2))
    assert one.to_dict() == other.to_dict()
    assert one.tamiz == tamiz.__version__


HOSTILE = "<script>alert(1)</script>\x1b[31m"


@pytest.fixture(scope="module")
def found():
    rng = np.random.default_rng(0)
    first = pd.DataFrame(rng.normal(size=(150, 4)), columns=["a", "b", HOSTILE, "year"])
    first["year"] = rng.integers(2007, 2010, 150)
    first["city"] = rng.choice(["Rome", "Oslo"], 150)
    first["y"] = np.where(first["a"] + rng.normal(size=150) > 0, "yes", "no")
    second = first.sample(100, random_state=1, replace=True).assign(b=first["b"] * 8)
    second[HOSTILE] += rng.normal(2, 1, 100)
    second.iloc[:20, second.columns.get_loc("city")] = "Paris & <b>"
    return compare_tables(first, second, "y")


@pytest.fixture(scope="module")
def page(found):
    return found.page()


def visible(page):
    body = re.sub(r"<style>.*?</style>|<svg.*?</svg>|<details.*?</details>", " ", page, flags=re.DOTALL)
    return unescape(re.sub(r"<[^>]+>", " ", body))


def test_the_page_has_no_script_and_requests_nothing(page):
    assert "<script" not in page
    assert "default-src 'none'" in page
    assert not re.search(r'(?:src|href)="(?!#|data:)', page)
    assert "http" not in re.sub(r"http-equiv", "", page)


def test_names_and_levels_are_text(page):
    assert "&lt;script&gt;" in page
    assert '<b>"' not in page
    assert "Paris &amp; &lt;b&gt;" in page


def test_the_first_screen_states_the_verdict_with_pictures_of_both_tables(found, page):
    text = visible(page)
    assert f"{len(found.changed)} of 6 columns have changed" in text
    assert "150 rows, 6 columns" in text
    assert page.count('class="spread"') >= 6 + 5
    assert page.count('<path class="c0"') >= 6
    assert page.count('<path class="c1"') >= 6
    points = re.search(r'<svg class="points".*?</svg>', page, re.DOTALL)[0]
    assert len(re.findall(r"M\d+ \d+h0", points)) == len(found.new_rows.points)


def test_the_numbers_of_the_page_are_those_of_the_record(found, page):
    text = " ".join(visible(page).split())
    for one in found.columns:
        assert f"{one.psi:.2f}".removeprefix("0") + " (" + f"{one.expected_psi:.2f}".removeprefix("0") in text
    assert f"{found.membership.auc:.2f}".replace("0.", ".") in text
    assert "2008." in text
    assert "2,00" not in text


def test_the_page_of_a_small_table_is_short(page):
    assert len(visible(page).split()) <= 600


def test_every_verdict_is_on_the_page_with_its_code(found, page):
    assert {one.code for one in found.warnings} >= {"TZ212", "TZ214"}
    for one in found.warnings:
        assert f"<strong>{one.code} {one.label}</strong>" in page


def test_the_page_is_the_same_for_the_same_result_and_shown_in_a_notebook(found, page, tmp_path):
    assert found.to_html(tmp_path / "page.html").read_text(encoding="utf-8") == page == found.page()
    assert found._repr_html_().startswith("<iframe srcdoc=")


def test_the_printed_verdict_is_short_and_names_what_has_changed(found):
    lines = repr(found).splitlines()
    assert len(lines) <= 18
    assert lines[2].startswith(f"  {len(found.changed)} of 6 columns have changed: ")
