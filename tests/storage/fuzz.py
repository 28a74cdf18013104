"""`tamiz apply` on changed model files, run as a program: a crash ends this process and not that of the tests.

    python fuzz.py FOLDER SEED N_CHANGES [NAME ...]

Each model is changed N_CHANGES times. Each change is written to FOLDER/now before it is tested; a failure is a line on standard
output.
"""

import io
import json
import random
import sys
import warnings
from pathlib import Path
from zipfile import ZipFile

import numpy as np
import pyarrow as pa
from click.testing import CliRunner
from pyarrow import csv

from tamiz import RankSelector, SubsetSelector, save
from tamiz.cli import main
from tamiz.criteria import CFS, InformationGain
from tamiz.graphs import ConnectedRadius, KNearest
from tamiz.neighbors import BruteForce, KDTree, NNDescent
from tamiz.reduction import MDS, PCA, Autoencoder, ClassicalMDS, Isomap, LandmarkMDS, LaplacianEigenmaps, StochasticMDS
from tamiz.search import BranchAndBound, Genetic

OTHERS = [None, True, -1, 0, 3, 2**70, 1.5, "x", [], {}, [[0]], {"array": 0}, {"array": 1}, {"same": 0}, {"same": 3}]
OTHERS += [{"tuple": []}, {"float": "nan"}, {"float": "inf"}, {"dict": []}]
NUMBERS = [-1, 0, 1, 10**6, 2**31 - 1, -(2**31), 2**62]


def make_table(n=45):
    """A table of numbers, categories and missing values in three groups, with duplicate rows and the classes."""
    rng = np.random.default_rng(0)
    group = rng.integers(0, 3, n)
    table = {
        "size": (rng.normal(size=n) + group).round(2),
        "mass": np.where(np.arange(n) % 9, rng.normal(size=n).round(2), np.nan),
        "color": rng.choice(["red", "green", "blue"], n),
        "age": rng.normal(size=n).round(2) * 2,
    }
    table = {name: np.concatenate([values, values[:4]]) for name, values in table.items()}
    return pa.table({**table, "class": np.concatenate([group, group[:4]]).astype(str)})


def make_models():
    """A function for each type of model of `tamiz apply`: it fits the model to the table, or to complete numeric columns of it."""
    arguments = {"n_components": 2, "random_state": 0}
    return {
        "rank": lambda mixed, _: RankSelector(InformationGain(), n_features=2).fit(*parted(mixed)),
        "select": lambda mixed, _: SubsetSelector(CFS(), BranchAndBound()).fit(*parted(mixed)),
        "genetic": lambda mixed, _: SubsetSelector(CFS(), Genetic(6, generations=3), random_state=0).fit(
            *parted(mixed)
        ),
        "pca": lambda mixed, _: PCA(2, standardize=True).fit(mixed),
        "pca-iterative": lambda mixed, _: PCA(2, missing="iterative").fit(mixed),
        "classical": lambda _, plain: ClassicalMDS(2).fit(plain),
        "classical-gower": lambda mixed, _: ClassicalMDS(2, dissimilarity="gower", correction="lingoes").fit(mixed),
        "landmark": lambda mixed, _: LandmarkMDS(dissimilarity="gower", n_landmarks=9, **arguments).fit(mixed),
        "landmark-cosine": lambda _, plain: LandmarkMDS(dissimilarity="cosine", n_landmarks=9, **arguments).fit(plain),
        "mds": lambda mixed, _: MDS(dissimilarity="seuclidean", **arguments).fit(mixed),
        "mds-ordinal": lambda mixed, _: MDS(dissimilarity="gower", kind="ordinal", **arguments).fit(mixed),
        "stochastic": lambda _, plain: StochasticMDS(n_rounds=20, tol=1e9, **arguments).fit(plain),
        "autoencoder": lambda mixed, _: Autoencoder(hidden_sizes=(8,), max_epochs=3, random_state=0).fit(mixed),
        "eigenmaps-gower": lambda mixed, _: LaplacianEigenmaps(graph=KNearest(20, metric="gower")).fit(mixed),
        "eigenmaps-exact": lambda _, plain: LaplacianEigenmaps(graph=KNearest(9, search=BruteForce())).fit(plain),
        "eigenmaps-tree": lambda _, plain: LaplacianEigenmaps(graph=KNearest(9, search=KDTree())).fit(plain),
        "eigenmaps-cosine": lambda _, plain: LaplacianEigenmaps(graph=KNearest(9, metric="cosine")).fit(plain),
        "eigenmaps-radius": lambda _, plain: LaplacianEigenmaps(graph=ConnectedRadius()).fit(plain),
        "eigenmaps-descent": lambda _, plain: LaplacianEigenmaps(graph=KNearest(5, search=NNDescent())).fit(
            repeat(plain)
        ),
        "isomap": lambda _, plain: Isomap(graph=KNearest(9), n_landmarks=12, **arguments).fit(plain),
        "isomap-parts": lambda mixed, _: Isomap(graph=KNearest(2), disconnected="per_component").fit(mixed),
    }


def parted(mixed):
    """The columns and the classes."""
    return mixed.drop_columns("class"), mixed["class"].to_numpy()


def repeat(plain):
    """As many rows as nearest-neighbour descent needs."""
    rng = np.random.default_rng(1)
    return pa.table({name: rng.normal(size=2050) for name in plain.column_names})


class Model:
    """The parts of a file, to be changed one at a time."""

    def __init__(self, path):
        with ZipFile(path) as archive:
            parts = {name: archive.read(name) for name in archive.namelist()}
        self.document = parts.pop("tamiz.json")
        self.arrays = {name: np.load(io.BytesIO(content)) for name, content in parts.items()}

    def write(self, path, document, arrays):
        with ZipFile(path, "w") as archive:
            for name, array in arrays.items():
                file = io.BytesIO()
                np.lib.format.write_array(file, array)
                archive.writestr(name, file.getvalue())
            archive.writestr("tamiz.json", document)

    def change(self, path, rng):
        """Write the file with one change, and return its description."""
        change = rng.choice(
            [self._bytes, self._value, self._value, self._value, self._leaf, self._leaf, self._key, self._swap]
        )
        change = change if self.arrays else self._leaf
        return change(path, rng)

    def _bytes(self, path, rng):
        self.write(path, self.document, self.arrays)
        content = bytearray(path.read_bytes())
        at = rng.randrange(len(content))
        content[at] ^= rng.randrange(1, 256)
        path.write_bytes(content[: rng.choice([len(content), len(content), at])])
        return f"byte {at}"

    def _value(self, path, rng):
        name = rng.choice(sorted(self.arrays))
        how = rng.choice(sorted(CHANGES))
        with np.errstate(invalid="ignore"):
            changed = CHANGES[how](self.arrays[name].copy(), rng)
        self.write(path, self.document, {**self.arrays, name: changed})
        return f"{name} {how}"

    def _swap(self, path, rng):
        one, other = rng.choice(sorted(self.arrays)), rng.choice(sorted(self.arrays))
        self.write(path, self.document, {**self.arrays, one: self.arrays[other], other: self.arrays[one]})
        return f"{one} swapped with {other}"

    def _leaf(self, path, rng):
        document = json.loads(self.document)
        node = rng.choice([node for node in nodes(document["content"], []) if node])
        key = rng.choice(list(node)) if isinstance(node, dict) else rng.randrange(len(node))
        was, node[key] = node[key], rng.choice(OTHERS)
        self.write(path, json.dumps(document), self.arrays)
        return f"{key} {str(was)[:60]} made {node[key]}"

    def _key(self, path, rng):
        document = json.loads(self.document)
        node = rng.choice([node for node in nodes(document["content"], []) if node])
        key = rng.choice(list(node)) if isinstance(node, dict) else rng.randrange(len(node))
        was = str(node[key])[:60]
        del node[key]
        self.write(path, json.dumps(document), self.arrays)
        return f"{key} {was} taken out"


def nodes(tree, found):
    """Every list and object of a tree."""
    if isinstance(tree, dict | list):
        found.append(tree)
        for item in tree.values() if isinstance(tree, dict) else tree:
            nodes(item, found)
    return found


def out_of_range(array, rng):
    flat = array.reshape(-1)
    if array.size:
        number = rng.choice(NUMBERS)
        flat[rng.randrange(array.size)] = number if array.dtype.kind == "f" else np.array(number).astype(array.dtype)
    return array


def not_finite(array, rng):
    if array.dtype.kind != "f" or not array.size:
        return out_of_range(array, rng)
    array.reshape(-1)[rng.randrange(array.size)] = rng.choice([np.nan, np.inf, -np.inf, 1e300, -1e300])
    return array


CHANGES = {
    "out of range": out_of_range,
    "not finite": not_finite,
    "cut": lambda array, rng: array[: rng.randrange(len(array) + 1)],
    "narrowed": lambda array, rng: array[..., :-1] if array.shape[-1:] else array,
    "lengthened": lambda array, rng: np.concatenate([array, array]),
    "flat": lambda array, rng: array.ravel(),
    "deeper": lambda array, rng: array[None],
    "turned": lambda array, rng: np.ascontiguousarray(array.T),
    "in columns": lambda array, rng: np.asfortranarray(array),
    "of another type": lambda array, rng: array.astype(
        rng.choice(["f4", "f8", ">f8", "i4", "i8", "u1", "U3", "c16", "?"])
    ),
    "backwards": lambda array, rng: np.ascontiguousarray(array[::-1]),
    "empty": lambda array, rng: array[:0],
    "zeros": lambda array, rng: np.zeros_like(array),
}


def fault_of(result, path):
    """Return what is wrong with the end of a command, or None."""
    if result.exit_code == 0:
        return None
    if not isinstance(result.exception, SystemExit):
        return f"a traceback: {result.exception!r}"
    last = result.stderr.strip().splitlines()[-1:]
    # In a valid file a column may have another name; the error then names the column.
    named = last and (path.name in last[0] or "fit" in last[0])
    if result.exit_code != 1 or not named or not last[0].startswith("tamiz: "):
        return f"exit {result.exit_code} with {last}"
    return None


def run(folder, seed, n_changes, names):
    mixed = make_table()
    plain = mixed.drop_columns(["color", "mass", "class"])
    plain = plain.append_column("length", pa.array(np.random.default_rng(2).normal(size=len(plain)) + 9))
    for name, make in make_models().items():
        if names and name not in names:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            path = save(make(mixed, plain), folder / f"{name}.tamiz")
        table = folder / f"{name}.csv"
        csv.write_csv((plain if "mixed" not in make.__code__.co_varnames[:1] else mixed).slice(0, 12), table)
        model, rng = Model(path), random.Random(f"{name} {seed}")
        for number in range(-1, n_changes):
            what = "unchanged" if number < 0 else model.change(path, rng)
            (folder / "now").write_text(f"{name}: {what}")
            result = CliRunner().invoke(main, ["apply", str(path), str(table)])
            fault = fault_of(result, path) if number >= 0 else (result.exit_code and result.stderr) or None
            if fault:
                print(f"{name}: {what}: {fault}", flush=True)  # noqa: T201


if __name__ == "__main__":
    run(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), sys.argv[4:])
