"""Model files with inconsistent values: `tamiz apply` ends with an error of one sentence that names the file."""

import json
import subprocess
import sys

import numpy as np
import pytest

from tamiz import load, save
from tamiz.exceptions import DataError
from tamiz.neighbors.points import EuclideanPoints
from tamiz.reduction.classical_scaling import GowerExtension, SquaredDistances
from tamiz.storage import records
from tamiz.storage.invariants import collect_invariants
from tamiz.table.schema import Column, Schema

from . import fuzz
from .files import parts_of


def assert_every_change_ends_well(folder, seed, n_changes, *names):
    """Run the changes in another process, because a kernel may crash it."""
    command = [sys.executable, fuzz.__file__, str(folder), str(seed), str(n_changes), *names]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    now = folder / "now"
    assert ended.returncode == 0, f"{now.read_text() if now.exists() else ''}: {ended.stderr[-2000:]}"
    assert ended.stdout == ""


@pytest.mark.slow
def test_a_changed_model_is_applied_or_refused_in_one_sentence(tmp_path):
    names = ["select", "pca", "classical-gower", "landmark-cosine", "eigenmaps-tree", "eigenmaps-gower"]
    assert_every_change_ends_well(tmp_path, 0, 8, *names)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(1, 5))
def test_any_changed_model_is_applied_or_refused_in_one_sentence(seed, tmp_path):
    assert_every_change_ends_well(tmp_path, seed, 200)


def arrays_of(tree, found):
    """The class and the field of every array of a document."""
    if isinstance(tree, dict) and "record" in tree:
        for name, field in tree["record"]["fields"].items():
            if isinstance(field, dict) and field.keys() & {"array", "csr"}:
                found.add((tree["record"]["class"], name))
    for part in tree.values() if isinstance(tree, dict) else tree if isinstance(tree, list) else ():
        arrays_of(part, found)
    return found


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize(
    "name", ["select", "pca", "landmark", "mds-ordinal", "autoencoder", "eigenmaps-tree", "isomap", "isomap-parts"]
)
def test_every_array_of_a_model_has_an_invariant(name, tmp_path):
    mixed = fuzz.make_table()
    path = save(fuzz.make_models()[name](mixed, mixed.select(["size", "age"])), tmp_path / name)
    fields = arrays_of(json.loads(parts_of(path)["tamiz.json"]), set())
    assert fields
    for cls, field in fields:
        assert field in {path.partition(".")[0] for path in collect_invariants(records._import_class(cls))}, (
            cls,
            field,
        )


SQUARES = SquaredDistances(1.0, 0.0)
COLUMN = Column("a", "numeric")
DIRECTIONS = np.zeros((2, 5))


@pytest.mark.parametrize(
    ("part", "sentence"),
    [
        (
            EuclideanPoints(np.array([[1.0, np.nan]])),
            "in its EuclideanPoints, values contains nan, which is out of range",
        ),
        (
            GowerExtension(SQUARES, DIRECTIONS, np.zeros(3)),
            "in its GowerExtension, offsets has 3 entries where directions has 2",
        ),
        (
            GowerExtension(SQUARES, np.zeros(2), np.zeros(2)),
            "in its GowerExtension, directions has 1 dimensions, not 2",
        ),
        (
            GowerExtension(SQUARES, DIRECTIONS.astype("f4"), np.zeros(2)),
            "in its GowerExtension, directions is of float32, not of float64",
        ),
        (
            GowerExtension(SQUARES, np.zeros((5, 2)).T, np.zeros(2)),
            "in its GowerExtension, directions is not in C order",
        ),
        (
            GowerExtension(SquaredDistances(np.inf, 0.0), DIRECTIONS, np.zeros(2)),
            "in its SquaredDistances, quadratic is inf, which is out of range",
        ),
        (
            GowerExtension(None, DIRECTIONS, np.zeros(2)),
            "in its GowerExtension, squared_distances is a NoneType, not a SquaredDistances",
        ),
        (Column("a", "number"), "in its Column, kind is 'number', none of 'numeric'"),
        (Schema((COLUMN, COLUMN), 3), "in its Schema, columns has a name twice"),
    ],
    ids=range(9),
)
def test_the_part_that_breaks_an_invariant_is_named(part, sentence, tmp_path):
    path = save(part, tmp_path / "part.tamiz")
    with pytest.raises(DataError, match=rf"part\.tamiz is damaged: {sentence}") as caught:
        load(path)
    assert "\n" not in str(caught.value)
