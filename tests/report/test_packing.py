"""Lists of a value for every row as bytes, read back here by another reader than that of the page."""

from __future__ import annotations

import base64
import gzip
import json
import re
from typing import Any

import numpy as np
import pytest

from tamiz.report.html import pack_rows
from tamiz.report.records import MAX_EXACT_ROWS

from . import sample
from .reading import render

N = MAX_EXACT_ROWS + 500


def large(**more: Any) -> dict[str, Any]:
    """Return a result of many rows: two maps, and columns of levels, of few and of very many numbers, and of dates."""
    result, rng = sample.wine() | more, np.random.default_rng(0)
    for reduced in result["maps"]:
        reduced |= {
            "points": rng.normal(size=(N, 2)).round(5).tolist(),
            "rows": sorted(rng.permutation(3 * N)[:N].tolist()),
        }
    levels, missing = rng.integers(0, 300, N).tolist(), rng.random(N) < 0.1
    numbers = [None if gap else float(f"{value:.6g}") for value, gap in zip(rng.normal(size=N), missing, strict=True)]
    result["colors"] = [
        sample.color("class", levels, [str(k) for k in range(300)]) | {"role": "target"},
        sample.color("few", [None if gap else 0.1 * k for k, gap in zip(levels, missing, strict=True)], []),
        sample.color("many", numbers, []),
        sample.color("day", rng.integers(0, 2**31, N).astype(float).tolist(), []) | {"kind": "date"},
    ]
    result["quality"] = None
    result["table"]["n_rows_used"] = 3 * N
    return result


def unpacked(one: dict[str, Any], content: bytes) -> np.ndarray[Any, Any]:
    kind = np.dtype(f"<{one['packed']}" if one["packed"] != "u1" else "u1")
    block = np.frombuffer(content[one["at"] : one["at"] + one["n"] * kind.itemsize], np.uint8)
    return np.ascontiguousarray(block.reshape(kind.itemsize, -1).T).view(kind)[:, 0]


def values(one: dict[str, Any], content: bytes) -> list[Any]:
    found = unpacked(one, content).tolist()
    if "table" in one:
        return [*map([*one["table"], None].__getitem__, found)]
    return [None if np.isnan(value) else float(f"{value:.6g}") if one["packed"] == "f4" else value for value in found]


def places(one: dict[str, Any], content: bytes) -> np.ndarray[Any, Any]:
    axes = [
        unpacked(axis, content) * axis["width"] / 65535 + axis["low"] if "low" in axis else unpacked(axis, content)
        for axis in one["points"]["packed"]
    ]
    return np.column_stack(axes)


@pytest.mark.parametrize("most_values", [65535, 300])
def test_values_are_restored_as_they_were_and_places_to_a_step_of_the_axis(
    monkeypatch: pytest.MonkeyPatch, most_values: int
) -> None:
    monkeypatch.setattr("tamiz.report.html._STEPS", most_values)
    given, data = large(), large()
    content = pack_rows(data)
    for before, after in zip(given["colors"], data["colors"], strict=True):
        assert values(after["values"], content) == before["values"]
    kinds = [one["values"]["packed"] for one in data["colors"]]
    assert kinds == (["u2", "u2", "u2", "u2"] if most_values == 65535 else ["u2", "u2", "f4", "f8"])
    if most_values < 65535:
        return
    for before, after in zip(given["maps"], data["maps"], strict=True):
        points = np.array(before["points"])
        assert np.abs(places(after, content) - points).max(axis=0) == pytest.approx(
            np.ptp(points, axis=0) / 65535 / 2, rel=0.05
        )
        assert np.cumsum(values(after["rows"], content)).tolist() == before["rows"]


def test_a_row_far_from_the_others_does_not_coarsen_them() -> None:
    given, data = large(), large()
    for one in (given, data):
        one["maps"][0]["points"][3][0] = 1e5
    content = pack_rows(data)
    points = np.array(given["maps"][0]["points"])
    assert np.abs(places(data["maps"][0], content)[:, 0] / points[:, 0] - 1).max() < 1e-6


def test_few_rows_stay_text_and_many_are_in_the_page_once() -> None:
    few = sample.wine()
    assert pack_rows(few) == b""
    assert few == sample.wine()
    page = render(large())
    found = {
        name: gzip.decompress(base64.b64decode(text))
        for name, text in re.findall(r'<script type="text/plain" id="(numbers|packed)">([^<]*)</script>', page)
    }
    data = json.loads(found["numbers"])
    assert values(data["colors"][2]["values"], found["packed"]) == large()["colors"][2]["values"]
    # No list of the rows is left in the text.
    assert max(len(one) for one in re.findall(rb"\[[^\[\]{}]*\]", found["numbers"]) if b"table" not in one) < 40_000
    assert 'id="packed"' not in render(sample.wine())


def test_the_trust_and_the_stress_of_every_row_are_restored() -> None:
    rng = np.random.default_rng(1)
    trust = [None if k % 5 == 0 else float(value) for k, value in enumerate(rng.random(N))]
    data = large()
    data["quality"] = {"maps": [{"trust": trust, "stress": trust[::-1]}, None]}
    content = pack_rows(data)
    one, other = data["quality"]["maps"]
    assert other is None
    assert values(one["trust"], content) == trust
    assert values(one["stress"], content) == trust[::-1]
