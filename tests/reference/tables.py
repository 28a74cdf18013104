"""A plain reader of dense ARFF tables, with the values that other systems gave for them."""

import json
import re
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from .mdl import mdl_cuts

HERE = Path(__file__).parent
SHARED = HERE.parents[1].parent / "shared"
ATTRIBUTE = re.compile(r"@attribute\s+('[^']*'|\S+)\s+(.*)", re.IGNORECASE)


class Table(NamedTuple):
    names: list[str]
    columns: list[np.ndarray]  # floats with NaN, or codes with -1
    nominal: list[bool]
    weight: np.ndarray

    def codes(self):
        """Every column but the last as codes, numeric ones by their MDL cuts, and the target's codes."""
        y = self.columns[-1]
        return [
            column if nominal else cut(column, mdl_cuts(column, y, self.weight))
            for column, nominal in zip(self.columns[:-1], self.nominal[:-1], strict=True)
        ], y


def cut(values, cuts):
    return np.where(np.isnan(values), -1, np.searchsorted(cuts, values, side="left"))


def read_arff(path):
    attributes, rows, weight = [], [], []
    for line in map(str.strip, path.read_text().splitlines()):
        match = ATTRIBUTE.match(line)
        if match:
            nominal = match[2].startswith("{")
            levels = [unquote(v) for v in match[2].strip("{} ").split(",")] if nominal else None
            attributes.append((unquote(match[1]), levels))
        elif line and line[0] not in "%@":
            cells = [unquote(cell) for cell in line.split(",")]
            weight.append(float(cells.pop().strip("{}")) if cells[-1].startswith("{") else 1.0)
            rows.append(cells)
    columns = []
    for j, (_, levels) in enumerate(attributes):
        cells = [row[j] for row in rows]
        if levels is None:
            columns.append(np.array([np.nan if c == "?" else float(c) for c in cells]))
        else:
            columns.append(np.array([-1 if c == "?" else levels.index(c) for c in cells]))
    names = [name for name, _ in attributes]
    return Table(names, columns, [levels is not None for _, levels in attributes], np.array(weight))


def unquote(text):
    return text.strip().strip("'\"")


def shared(name):
    """A file of ../shared, or a skip where this checkout stands alone."""
    path = SHARED / name
    if not path.exists():
        pytest.skip(f"{path.relative_to(SHARED.parent)} is not beside the repository")
    return path


def weka_case(name):
    """A table and what Weka says about it; what is not embedded here comes from ../shared."""
    embedded = HERE / f"{name}.arff"
    extra = json.loads((HERE / "weka_extra.json").read_text())["datasets"]
    table = read_arff(embedded if embedded.exists() else shared(f"data/{name}.arff"))
    if name in extra:
        return table, extra[name]
    return table, json.loads(shared("reference/weka.json").read_text())["datasets"][name]
