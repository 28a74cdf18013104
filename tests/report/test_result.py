from __future__ import annotations

import copy
import functools
import itertools
import json
import operator
import random
import re
import subprocess
import sys
from dataclasses import replace
from html import unescape
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from tamiz.exceptions import DataError
from tamiz.report import Result

from . import sample
from .reading import record_of, render, result_of, summary

if TYPE_CHECKING:
    from pathlib import Path


def test_a_result_comes_back_from_json_as_it_went(wine: dict[str, Any], tmp_path: Path) -> None:
    path = result_of(wine).to_json(tmp_path / "wine.json")
    assert Result.from_json(path).to_dict() == result_of(wine).to_dict()
    assert Result.from_json(path).to_json(tmp_path / "again.json").read_bytes() == path.read_bytes()


@pytest.mark.parametrize("made", [sample.hostile, sample.bare, sample.cancer, sample.digits])
def test_every_sample_is_a_whole_result(made: Any, tmp_path: Path) -> None:
    data = made()
    result = result_of(data)
    assert Result.from_json(result.to_json(tmp_path / "a.json")).to_dict() == result.to_dict()


def test_the_dictionary_is_a_copy(wine: dict[str, Any]) -> None:
    result = result_of(wine)
    result.to_dict()["table"]["columns"].clear()
    assert len(result.to_dict()["table"]["columns"]) == 16


def test_nan_is_refused_and_no_file_is_left(wine: dict[str, Any], tmp_path: Path) -> None:
    record = record_of(wine)
    assert record.subset is not None
    result = Result(replace(record, subset=replace(record.subset, value=float("nan"))))
    with pytest.raises(ValueError, match="not JSON compliant"):
        result.to_json(tmp_path / "a.json")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (
            "a,b\n1,2\n",
            r"a.json is not a tamiz result: it is not JSON in UTF-8 \(Expecting value: line 1 column 1 \(char 0\)\)\.$",
        ),
        ('{"format": NaN}', r"is a nan; this version reads 'tamiz result 6', so run"),
        ("[1, 2]", r"a.json is not a tamiz result; `tamiz study --json` writes one\.$"),
        ('{"a": 1}', r"a.json is not a tamiz result; `tamiz study --json` writes one\.$"),
        ('{"format": "tamiz result 9"}', r"is a 'tamiz result 9'; this version reads 'tamiz result 6', so run"),
        (
            '{"format": "tamiz result 6"}',
            r"a.json is not a whole tamiz result: tamiz is missing; run the study again\.$",
        ),
    ],
)
def test_another_file_is_refused_in_one_sentence(text: str, sentence: str, tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=sentence):
        Result.from_json(path)


def test_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ValueError, match="it is not JSON in UTF-8"):
        Result.from_json(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"absent.json cannot be read: No such file or directory\.$"):
        Result.from_json(tmp_path / "absent.json")


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (lambda d: d.pop("table"), "table is missing"),
        (lambda d: d["graph"].pop("recall"), "graph.recall is missing"),
        # What a version that explained no axis wrote.
        (lambda d: d["maps"][0].pop("explanation"), r"maps\[0\].explanation is missing"),
        (lambda d: d["maps"][0]["spectrum"].pop("values"), r"maps\[0\].spectrum.values is missing"),
        (lambda d: d["quality"].pop("sizes"), "quality.sizes is missing"),
        (
            lambda d: d["quality"]["maps"][0]["measures"][2].update(value="all"),
            r"quality.maps\[0\].measures\[2\].value is not a number",
        ),
        (lambda d: d["graph"].update(recall="all"), "graph.recall is not a number"),
        (lambda d: d["versions"].update({"a\nb": None}), r"versions.'a\\nb' is not text"),
        (lambda d: d["table"]["columns"][2].pop("kind"), r"table.columns\[2\].kind is missing"),
        (lambda d: d["table"].update(n_rows="many"), "table.n_rows is not a whole number"),
        (lambda d: d["table"].update(n_rows=2.5), "table.n_rows is not a whole number"),
        (lambda d: d["subset"].update(min_gain="none"), "subset.min_gain is not a number"),
        (lambda d: d["subset"]["course"].append(3), r"subset.course\[\d+\] is not a set of names and values"),
        (lambda d: d["ranking"].update(columns="all"), "ranking.columns is not a list"),
        (lambda d: d["subset"].update(value=float("nan")), "subset.value is nan, and every number is finite"),
        (lambda d: d["table"].update(n_rows=10**400), "table.n_rows is too large a number, and every number is finite"),
        (
            lambda d: d["ranking"]["scores"]["fisher_score"].append("x"),
            r"ranking.scores.fisher_score\[\d+\] is not a number",
        ),
        (
            lambda d: d["assessment"]["nested"].update(values=[1.0, "x"]),
            r"assessment.nested.values\[1\] is not a number",
        ),
        (lambda d: d["maps"][0]["points"][0].append(None), r"maps\[0\].points\[0\]\[2\] is not a number"),
    ],
)
def test_missing_or_mistyped_values_are_named(spoil: Any, sentence: str, wine: dict[str, Any], tmp_path: Path) -> None:
    spoil(wine)
    path = tmp_path / "a.json"
    path.write_text(json.dumps(wine))
    with pytest.raises(ValueError, match=f"is not a whole tamiz result: {sentence}; run the study again"):
        Result.from_json(path)


def test_the_plain_text_states_the_answer_in_a_few_lines(wine: dict[str, Any]) -> None:
    lines = ["", *summary(result_of(wine)).splitlines()]
    assert lines[1] == "  Table: 180 rows, 16 columns, target class (3 classes); used are 178 rows and 14 columns."
    assert lines[2] == "  Information gain: flavanoids 0.8718, proline 0.7812, color_intensity 0.6694"
    assert lines[5].startswith("  Subset: alcohol, flavanoids, color_intensity, hue, od280")
    assert lines[5].endswith("(CFS 0.6998 by Forward selection, 71 evaluations)")
    assert lines[6].startswith("  Recommended: Keep 6 of 13 columns: alcohol, flavanoids, color_intensity, hue, od280")
    assert lines[7].startswith("  Effect on models: Weighted AUC of each model on the recommended columns, ")
    assert "nearest neighbours 0.910, −0.020 (−0.050 to +0.010)" in lines[7]
    assert lines[8].startswith("  Reliability: The selected columns predict better than none: ")
    assert "AUC 0.940 (95% " in lines[8]
    assert lines[9].startswith(
        "  Error rates: On 20 semi-synthetic targets of 178 rows, the search finds 50% ± 0% of the true "
    )
    assert lines[10] == "  Graph: 1,802 edges join 178 rows, in one component"
    assert lines[11] == "  Maps: PCA and Laplacian eigenmaps"


def test_the_plain_form_of_a_bare_result_has_no_empty_lines(bare: dict[str, Any]) -> None:
    assert summary(result_of(bare)).splitlines() == [
        "  Table: 178 rows, 16 columns, no target; used are 178 rows and 14 columns.",
        "  Variance: proline 99,167, magnesium 204, alcalinity_of_ash 11.15",
        "  Maps: PCA",
    ]


def test_the_text_form_is_the_verdict_in_at_most_18_lines(wine: dict[str, Any], bare: dict[str, Any]) -> None:
    lines = repr(result_of(wine)).splitlines()
    assert len(lines) <= 18
    assert lines[0] == "wine.csv   180 rows, 178 used, 16 columns, 0.6% missing -> class (Barbera 27%)"
    assert (
        lines[2]
        == "  Keep 6 of 13 columns: alcohol, flavanoids, color_intensity, hue, od280/od315_of_diluted_wines and proline"
    )
    assert lines[3].endswith("without columns 0.500")
    ranked = result_of(wine).ranking["column"].tolist()[:7]
    for line, name in zip(lines[-7:], ranked, strict=True):
        # A long name is shortened in the middle.
        assert line.split()[0].split("…")[0] == name[: len(line.split()[0].split("…")[0])]
        assert ("  keep  " in line) == (name in result_of(wine).recommended)
    # A better mean rank has a longer bar.
    bars = [line.count("█") for line in lines[-7:]]
    assert bars == sorted(bars, reverse=True)
    assert "Keep" not in repr(result_of(bare))


def test_warnings_are_named_by_their_codes_and_notes_are_not(wine: dict[str, Any]) -> None:
    found = result_of(wine)
    shown = [line for line in repr(found).splitlines() if line.startswith("  ! ")]
    codes = {one.code for one in found.warnings if one.severity != "note"}
    assert len(shown) == min(len(codes), 4)
    assert all(line.endswith(tuple(f"({code})" for code in codes)) for line in shown)


def test_parts_of_the_result_are_lists_and_frames(wine: dict[str, Any]) -> None:
    found = result_of(wine)
    assert found.recommended == wine["recommendation"]["candidates"]["cfs"]["columns"]
    assert {*found.dropped, *found.recommended} == {column["name"] for column in wine["table"]["columns"]}
    assert all(found.dropped.values())
    ranking = found.ranking
    ranks = wine["ranking"]["mean_rank"]["ranks"]
    assert ranking["mean_rank"].dropna().is_monotonic_increasing
    assert dict(zip(wine["ranking"]["columns"], ranks, strict=True))[ranking["column"][0]] == ranking["mean_rank"][0]
    first, second = wine["maps"][:2]
    assert list(found.maps) == [first["id"], second["id"]]
    frame = found.maps[first["id"]]
    assert frame.columns.tolist() == ["row", *first["axes"][:2]]
    np.testing.assert_array_equal(frame.iloc[:, 1:], first["points"])
    assert found.score is not None
    assert found.score.values.tolist() == wine["recommendation"]["score"]["values"]
    assert found.leaks == []


def test_a_result_of_few_parts_has_none_of_the_others(bare: dict[str, Any]) -> None:
    found = result_of(bare)
    assert (found.recommended, found.maps, found.score, found.leaks) == ([], {}, None, [])
    assert {*found.dropped.values()} >= {"not selected"}


def test_the_html_form_is_the_first_screen_and_escapes_names(wine: dict[str, Any], hostile: dict[str, Any]) -> None:
    page = result_of(hostile)._repr_html_()
    assert "<script" not in page
    assert "<img" not in page
    assert "&amp;lt;/script&amp;gt;" in page
    page = unescape(result_of(wine)._repr_html_())
    assert len(page) < 150_000
    assert "Keep 6 of 13 columns" in page
    assert page.count('<svg class="points"') == 1


def test_a_result_is_read_and_summarized_without_matplotlib_jinja_and_scikit_learn(
    wine: dict[str, Any], tmp_path: Path
) -> None:
    path = result_of(wine).to_json(tmp_path / "wine.json")
    code = (
        "import sys; from tamiz.report import Result; repr(Result.from_json(sys.argv[1]));"
        "print([m for m in ('matplotlib', 'jinja2', 'sklearn', 'numba', 'scipy.stats') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


OTHERS = [None, True, -1, 2**70, 1.5, "x", [], {}, [[0]], "", float("nan")]
TAKEN_OUT = object()


def places(data: Any, at: tuple[Any, ...] = (), found: dict[Any, Any] | None = None) -> dict[Any, Any]:
    """One place in a result of every shape of place: of a list the first member."""
    found = {} if found is None else found
    inside = data.items() if isinstance(data, dict) else enumerate(data[:1]) if isinstance(data, list) else ()
    for key, value in inside:
        found[(*at, key)] = value
        places(value, (*at, key), found)
    return found


def assert_drawn_or_refused(data: Any, place: tuple[Any, ...], other: Any, path: Path) -> None:
    """Change one place of a result; the report is drawn, or refused in a sentence that names the file."""
    changed = copy.deepcopy(data)
    *outer, last = place
    held = functools.reduce(operator.getitem, outer, changed)
    if other is TAKEN_OUT:
        del held[last]
    else:
        held[last] = other
    path.write_text(json.dumps(changed))
    try:
        Result.from_json(path).page()
    except DataError as error:
        told = str(error)
    else:
        return
    assert str(path) in told, (place, other)
    assert "\n" not in told, (place, other)


@pytest.mark.slow
def test_a_result_with_any_one_value_changed_is_drawn_or_refused(tmp_path: Path) -> None:
    rng = random.Random(0)
    for data in (sample.wine(), sample.hostile()):
        for place in rng.sample(sorted(places(data), key=str), 12):
            assert_drawn_or_refused(data, place, rng.choice([*OTHERS, TAKEN_OUT]), tmp_path / "a.json")


@pytest.mark.slow
@pytest.mark.parametrize("made", [sample.wine, sample.hostile, sample.bare])
def test_a_result_with_some_hundred_values_changed_is_drawn_or_refused(made: Any, tmp_path: Path) -> None:
    data = made()
    changes = list(itertools.product(sorted(places(data), key=str), [*OTHERS, TAKEN_OUT]))
    for place, other in random.Random(0).sample(changes, 300):
        assert_drawn_or_refused(data, place, other, tmp_path / "a.json")


def test_parts_that_do_not_fit_each_other_are_refused(wine: dict[str, Any], tmp_path: Path) -> None:
    wine["recommendation"]["recommended"] = "nobody"
    path = tmp_path / "a.json"
    path.write_text(json.dumps(wine))
    with pytest.raises(
        DataError, match=r"a\.json is not a whole .*: recommendation is inconsistent: the candidate 'nobody' is"
    ):
        Result.from_json(path)


def test_a_section_that_cannot_be_rendered_is_an_error_that_names_it(wine: dict[str, Any], tmp_path: Path) -> None:
    wine["maps"][0]["explanation"]["values"] = [[] for _ in wine["maps"][0]["explanation"]["values"]]
    result = Result.from_json(result_of(wine).to_json(tmp_path / "a.json"))
    with pytest.raises(
        DataError,
        match=r"a\.json is not a whole tamiz result: its parts do not fit each other in the section 'Maps'",
    ):
        result.to_html(tmp_path / "a.html")
    assert not (tmp_path / "a.html").exists()


def test_a_figure_of_the_report_is_drawn_by_its_name_and_others_are_refused(wine: dict[str, Any]) -> None:
    result, page = result_of(wine), render(wine)
    names = set(re.findall(r'class="drawing" id="([\w-]+)"', page)) | set(
        re.findall(r'class="plot" id="([\w-]+)"', page)
    )
    assert len(names) > 8
    for name in names:
        assert result.figure(name).axes
    points, labels = wine["maps"][0]["points"], [one["name"] for one in wine["table"]["classes"]]
    figure = result.figure("map-1-points")
    drawn = np.concatenate([marks.get_offsets() for marks in figure.axes[0].collections])
    assert sorted(drawn.tolist()) == sorted(points)
    assert [text.get_text() for text in figure.legends[0].get_texts()] == sorted(labels)
    with pytest.raises(DataError, match=r"no figure 'none'; it has .*map-1-points"):
        result.figure("none")
