"""Reading and writing records: a round trip is exact, and errors name the position of what does not match."""

from __future__ import annotations

import json
from dataclasses import FrozenInstanceError, dataclass, fields, is_dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.reference.records import shared

from tamiz.assessment import findings
from tamiz.report import records
from tamiz.report.records import StudyRecord
from tamiz.runtime.codec import FormatError, Interval, JsonResult, Named, from_json, to_json
from tamiz.selection import subset_record

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
    by_pair: dict[tuple[str, str], Part]
    numbers: NDArray[np.float64]
    counts: NDArray[np.intp]
    masks: NDArray[np.bool_]
    last: Part | None

    json_properties: ClassVar[tuple[str, ...]] = ("total",)

    @property
    def total(self) -> float:
        return float(self.numbers.sum())

    def __post_init__(self) -> None:
        if self.n < 0:
            raise ValueError(f"{self.n} is below 0")


def whole() -> dict[str, Any]:
    return {
        "id": "w", "label": "W", "n": 3, "is_known": True, "kind": "one", "interval": [0, 1.5], "grey": "AAH/",
        "parts": [{"name": "a", "values": [1, None, 2.5]}, {"name": "b", "values": []}],
        "by_name": {"x": [{"name": "c", "values": []}]}, "by_pair": {"p": {"q": {"name": "d", "values": []}}},
        "numbers": [[1.5, 2.0], [0.0, 1.0]], "counts": [3, 4], "masks": ["010", "110"], "last": None, "total": 4.5,
    }  # fmt: skip


def test_json_types_are_read_as_tuples_bytes_and_records_and_written_as_they_were() -> None:
    read = from_json(Whole, whole())
    assert read.interval == (0, 1.5)
    assert read.grey == bytes([0, 1, 255])
    assert read.parts == (Part(name="a", values=(1, None, 2.5)), Part(name="b"))
    assert read.by_name["x"][0].name == "c"
    assert read.by_pair["p", "q"].name == "d"
    assert read.masks.tolist() == [[False, True, False], [True, True, False]]
    assert (read.numbers.dtype, read.counts.dtype, read.numbers.shape) == (np.float64, np.intp, (2, 2))
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
        ({"by_pair": {"p": {"name": "d"}}}, "by_pair.p.name is not a set of names and values"),
        ({"numbers": [[1.5, "2"]]}, "numbers[0][1] is not a number"),
        ({"numbers": [1.5, float("nan")]}, "numbers[1] is nan, and every number is finite"),
        (
            {"numbers": [[1.5], [2.0, 3.0]]},
            "numbers is not an array: its rows differ in length, or a number is too large",
        ),
        ({"counts": [1.5]}, "counts[0] is not a whole number"),
        ({"counts": [10**30]}, "counts is not an array: its rows differ in length, or a number is too large"),
        ({"counts": [[[[1]]]]}, "counts[0][0][0] is not a whole number"),
        ({"counts": 1}, "counts is not a list"),
        ({"masks": ["01", "2"]}, "masks[1] is not text of 0 and 1"),
        ({"masks": [[True]]}, "masks[0][0] is not text"),
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
    written = to_json(record_of(made()))
    # Beside its own numbers, those that are computed from them.
    assert shared(written, made()) == made()
    assert to_json(from_json(StudyRecord, json.loads(json.dumps(written)))) == written


def test_a_record_cannot_be_changed() -> None:
    record = record_of(sample.wine())
    with pytest.raises(FrozenInstanceError):
        record.table.target = "another"  # type: ignore[misc]


def test_every_record_is_documented_and_has_no_other_attributes() -> None:
    found = [
        one
        for module in (findings, records, subset_record)
        for one in vars(module).values()
        if is_dataclass(one) and one.__module__ == module.__name__
    ]
    assert len(found) > 30
    for one in found:
        assert one.__doc__
        assert not one.__doc__.startswith(f"{one.__name__}(")
        # Results of public functions are records that print, in classes of other shape.
        assert "__dict__" not in dir(one) or issubclass(one, JsonResult), one
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
        (lambda d: d["recommendation"].update(deciding_model="x"), "recommendation is inconsistent: the model 'x' is unknown"),
        (lambda d: d["recommendation"]["candidates"].pop("all_columns"),
         "recommendation is inconsistent: the candidate 'all_columns' is unknown"),
        (lambda d: d["recommendation"]["candidates"]["cfs"]["scores"].pop("knn"),
         "recommendation is inconsistent: the candidate 'cfs' is not scored by every model and scorer"),
        (lambda d: d["recommendation"]["candidates"]["knn"]["scores"]["tree"]["balanced_accuracy"]["values"].pop(),
         "recommendation is inconsistent: 10 folds, 9 scores"),
        (lambda d: d["recommendation"]["baseline"].popitem(),
         "recommendation is inconsistent: no scores, or baseline scores by other scorers"),
        (lambda d: d["recommendation"]["names"].append("x"), "recommendation is inconsistent: 14 names, 13 columns"),
        (lambda d: d["recommendation"]["paths"]["cfs"]["changes"].pop(),
         "recommendation.paths.cfs is inconsistent: 6 sets, 6 scores, 5 changes"),
        (lambda d: d["recommendation"]["score"]["values"].__delitem__(slice(1, None)),
         "recommendation.score is inconsistent: 1 folds, and at least 2 are needed"),
        (lambda d: d["recommendation"]["score"].update(variance_factor=-1),
         "recommendation.score is inconsistent: a variance factor of -1"),
        (lambda d: d["noise_experiment"]["n_added_selected"].pop("copies"),
         "noise_experiment is inconsistent: random were added, not random, copies"),
        (lambda d: d["noise_experiment"]["copies_scores"].pop("knn"),
         "noise_experiment is inconsistent: scores of naive_bayes, tree for the models naive_bayes, knn, tree"),
        (lambda d: d["noise_experiment"]["random_selected_scores"]["tree"][0].pop(),
         "noise_experiment is inconsistent: scores of shape (1, 1, 10) for 2 numbers of added columns"),
        (lambda d: d["assessment"]["fold_sets"].pop(), "assessment is inconsistent: 10 folds, 9 sets"),
        (lambda d: d["assessment"].update(support="0"),
         "assessment is inconsistent: 13 names, 1 support, 13 candidates, 13 columns"),
        (lambda d: d["error_rates"]["proxy_sets"].pop(), "error_rates is inconsistent: sets of shapes (20, 13) and (19, 13)"),
        (lambda d: [sets.__delitem__(slice(1, None)) for name, sets in d["error_rates"].items() if name.endswith("_sets")],
         "error_rates is inconsistent: 1 targets, and at least 2 are needed"),
        (lambda d: d["graph"]["components"].update(sizes=[]), "graph.components is inconsistent: no components"),
        (lambda d: d["maps"][0]["points"].pop(), "maps[0] is inconsistent: 178 rows, 177 points"),
        (lambda d: d["maps"][1]["points"][5].pop(), "maps[1] is inconsistent: 2 axes, 1 coordinates"),
        (lambda d: d["maps"][0]["loadings"]["columns"].pop(), "maps[0].loadings is inconsistent: 15 columns, 16 values"),
        (lambda d: d["maps"][0]["explanation"]["chance"].pop(),
         "maps[0].explanation is inconsistent: 14 columns, 14 kinds, 14 values, 13 chance"),
        (lambda d: d["maps"][0]["spectrum"]["cumulative"].pop(), "maps[0].spectrum is inconsistent: 13 values, 12 cumulative"),
        (lambda d: d["quality"]["pairs"].pop(), "quality is inconsistent: 299 pairs, 300 distances"),
        (lambda d: d["maps"].pop(), "it is inconsistent: 1 maps, 2 evaluated"),
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
