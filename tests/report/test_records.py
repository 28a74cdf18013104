"""Reading and writing records: a round trip is exact, and errors name the position of what does not match."""

from __future__ import annotations

import json
from dataclasses import FrozenInstanceError, dataclass, fields, is_dataclass
from typing import TYPE_CHECKING, Any, Literal

import pytest

from tamiz.report.records import columns, maps, models, study
from tamiz.report.records.codec import FormatError, Interval, Named, from_json, to_json
from tamiz.report.records.study import StudyRecord

from . import sample
from .reading import record_of

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True, kw_only=True)
class Part:
    name: str
    values: tuple[float | None, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Whole(Named):
    n: int
    is_known: bool
    kind: Literal["one", "other"]
    interval: Interval
    grey: bytes
    parts: tuple[Part, ...]
    by_name: dict[str, tuple[Part, ...]]
    last: Part | None

    def __post_init__(self) -> None:
        if self.n < 0:
            raise ValueError(f"{self.n} is below 0")


def whole() -> dict[str, Any]:
    return {
        "id": "w", "label": "W", "n": 3, "is_known": True, "kind": "one", "interval": [0, 1.5], "grey": "AAH/",
        "parts": [{"name": "a", "values": [1, None, 2.5]}, {"name": "b", "values": []}],
        "by_name": {"x": [{"name": "c", "values": []}]}, "last": None,
    }  # fmt: skip


def test_json_types_are_read_as_tuples_bytes_and_records_and_written_as_they_were() -> None:
    read = from_json(Whole, whole())
    assert read.interval == (0, 1.5)
    assert read.grey == bytes([0, 1, 255])
    assert read.parts == (Part(name="a", values=(1, None, 2.5)), Part(name="b"))
    assert read.by_name["x"][0].name == "c"
    assert json.dumps(to_json(read)) == json.dumps(whole())


@pytest.mark.parametrize(
    ("changed", "sentence"),
    [
        ({"n": 2.0}, "n is not a whole number"),
        ({"n": True}, "n is not a whole number"),
        ({"n": -1}, "it is inconsistent: -1 is below 0"),
        ({"n": 10**400}, "n is too large a number, and every number is finite"),
        ({"is_known": 1}, "is_known is not true or false"),
        ({"label": None}, "label is not text"),
        ({"kind": "third"}, "kind is none of 'one', 'other'"),
        ({"interval": [1.0]}, "interval has 1 members, not 2"),
        ({"interval": [1.0, float("inf")]}, "interval[1] is inf, and every number is finite"),
        ({"interval": [1.0, False]}, "interval[1] is not a number"),
        ({"grey": "A"}, "grey is not base64 text"),
        ({"grey": [1]}, "grey is not text"),
        ({"parts": {"name": "a"}}, "parts is not a list"),
        ({"parts": [{"name": "a"}, []]}, "parts[1] is not a set of names and values"),
        ({"parts": [{"values": []}]}, "parts[0].name is missing"),
        ({"parts": [{"name": "a", "values": [0.5, "x"]}]}, "parts[0].values[1] is not a number"),
        ({"by_name": {"a.b": [{"name": 1}]}}, "by_name.a.b[0].name is not text"),
        ({"by_name": {"a\nb": 1}}, "by_name.'a\\nb' is not a list"),
        ({"last": {}}, "last.name is missing"),
    ],
)
def test_a_value_that_does_not_match_is_named_by_its_path(changed: dict[str, Any], sentence: str) -> None:
    with pytest.raises(FormatError) as caught:
        from_json(Whole, whole() | changed)
    assert str(caught.value) == sentence


def test_other_names_are_ignored_and_a_name_with_a_default_may_be_missing() -> None:
    assert from_json(Part, {"name": "a", "more": 1}) == Part(name="a", values=())
    with pytest.raises(FormatError, match=r"^it is not a set of names and values$"):
        from_json(Part, [])


@pytest.mark.parametrize("made", [sample.wine, sample.hostile, sample.bare, sample.cancer, sample.digits])
def test_every_sample_is_read_as_it_was_written(made: Callable[[], dict[str, Any]]) -> None:
    record = record_of(made())
    assert to_json(record) == made()
    assert from_json(StudyRecord, json.loads(json.dumps(to_json(record)))) == record


def test_a_record_cannot_be_changed() -> None:
    record = record_of(sample.wine())
    with pytest.raises(FrozenInstanceError):
        record.table.target = "another"  # type: ignore[misc]


def test_every_record_is_documented_and_has_no_other_attributes() -> None:
    found = [one for module in (columns, maps, models, study) for one in vars(module).values() if is_dataclass(one)]
    assert len(found) > 50
    for one in found:
        assert one.__doc__
        assert not one.__doc__.startswith(f"{one.__name__}(")
        assert "__dict__" not in dir(one), one
        assert fields(one)


@pytest.mark.parametrize(
    ("spoil", "sentence"),
    [
        (lambda d: d["ranking"]["columns"].pop(), "ranking is inconsistent: 15 columns, 16 scores"),
        (lambda d: d["ranking"]["scores"].pop("fisher_score"), "ranking is inconsistent: the criterion 'fisher_score' is unknown"),
        (lambda d: d["ranking"]["mean_rank"]["ranks"].pop(), "ranking is inconsistent: 16 columns, 15 ranks, 16 intervals"),
        (lambda d: d["redundancy"]["columns"].pop(), "redundancy is inconsistent: 66 pairs, 78 values, 78 measures"),
        (lambda d: d["redundancy"]["groups"][0].update(keep="x"),
         "redundancy.groups[0] is inconsistent: the column to keep 'x' is unknown"),
        (lambda d: d["subset"]["points"]["sizes"].pop(), "subset.points is inconsistent: 70 sizes, 71 merits"),
        (lambda d: d["subset"].update(lattice={"columns": ["a"], "merits": [0.0], "best": 0}),
         "subset.lattice is inconsistent: 2 subsets, 1 merits"),
        (lambda d: d["subset"].update(lattice={"columns": ["a"], "merits": [0.0, 1.0], "best": 2}),
         "subset.lattice is inconsistent: the best of 2 subsets is number 2"),
        (lambda d: d["recommendation"].update(recommended="x"), "recommendation is inconsistent: the candidate 'x' is unknown"),
        (lambda d: d["recommendation"]["candidates"][0]["changes"][1].pop(), "recommendation is inconsistent: 3 models, 2 cells"),
        (lambda d: d["model_effect"].update(n_chosen=[]), "model_effect is inconsistent: no folds"),
        (lambda d: d["model_effect"]["scores"][0]["models"].pop(), "model_effect is inconsistent: 3 models, 2 cells"),
        (lambda d: d["noise_experiment"]["panels"][1]["kept"].pop(), "noise_experiment is inconsistent: 2 selections, 1 kept"),
        (lambda d: d["noise_experiment"]["panels"][0]["lines"][0]["means"].pop(),
         "noise_experiment.panels[0].lines[0] is inconsistent: 6 means, 7 changes, 7 intervals"),
        (lambda d: d["assessment"].update(deciding_score="x"), "assessment is inconsistent: the score 'x' is unknown"),
        (lambda d: d["assessment"]["error_rates"].update(n_true=0),
         "assessment.error_rates is inconsistent: 0 true columns of 13"),
        (lambda d: d["graph"]["components"].update(sizes=[]), "graph.components is inconsistent: no components"),
        (lambda d: d["maps"][0]["points"].pop(), "maps[0] is inconsistent: 178 rows, 177 points"),
        (lambda d: d["maps"][1]["points"][5].pop(), "maps[1] is inconsistent: 2 axes, 1 coordinates"),
        (lambda d: d["maps"][0]["loadings"]["columns"].pop(), "maps[0].loadings is inconsistent: 15 columns, 16 values"),
        (lambda d: d["maps"][0]["explanation"]["chance"].pop(),
         "maps[0].explanation is inconsistent: 14 columns, 14 kinds, 14 values, 13 chance"),
        (lambda d: d["maps"][0]["spectrum"]["cumulative"].pop(), "maps[0].spectrum is inconsistent: 13 values, 12 cumulative"),
        (lambda d: d["quality"]["pairs"]["in_table"].pop(), "quality.pairs is inconsistent: 299 pairs, 300 distances"),
        (lambda d: d["maps"].pop(), "it is inconsistent: 1 maps, 2 values"),
        (lambda d: d["colors"][0]["values"].pop(), "it is inconsistent: 178 rows, 177 values"),
        (lambda d: d["colors"][0]["levels"].pop(), "colors[0] is inconsistent: there is no level 2"),
    ],
)  # fmt: skip
def test_parts_that_do_not_fit_each_other_are_refused(spoil: Any, sentence: str) -> None:
    data = sample.wine()
    spoil(data)
    with pytest.raises(FormatError) as caught:
        record_of(data)
    assert str(caught.value) == sentence
