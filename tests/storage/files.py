"""Helpers for tests of storage: reading and writing parts of files, and comparing objects to the bit."""

import json
import zipfile
from dataclasses import fields, is_dataclass

import numpy as np
from scipy import sparse

from tamiz import load, save


def parts_of(path):
    """The members of a file by name."""
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def put_together(path, parts, compression=zipfile.ZIP_STORED):
    """Write a zip archive of members with valid checksums."""
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    return path


def document_of(path):
    """The JSON of a file."""
    return json.loads(parts_of(path)["tamiz.json"])


def with_content(path, content):
    """The file with other content in its JSON."""
    parts = parts_of(path)
    document = {**json.loads(parts["tamiz.json"]), "content": content}
    return put_together(path, {**parts, "tamiz.json": json.dumps(document)})


def again(thing, folder):
    """Save and load an object, and check that the loaded object is saved to an equal file."""
    first = save(thing, folder / "first")
    loaded = load(first)
    assert save(loaded, folder / "second").read_bytes() == first.read_bytes()
    return loaded


def alike(a, b):
    """Whether two values are of one type and equal to the bit."""
    if type(a) is not type(b):
        return False
    if isinstance(a, np.ndarray) and a.dtype != object:
        return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()
    if isinstance(a, np.ndarray):
        return a.shape == b.shape and alike(a.ravel().tolist(), b.ravel().tolist())
    if isinstance(a, np.generic):
        return a.dtype == b.dtype and a.tobytes() == b.tobytes()
    if isinstance(a, float):
        return np.float64(a).tobytes() == np.float64(b).tobytes()
    if isinstance(a, sparse.csr_array):
        return a.shape == b.shape and all(alike(getattr(a, n), getattr(b, n)) for n in ("data", "indices", "indptr"))
    if isinstance(a, dict):
        return alike(list(a), list(b)) and all(alike(a[key], b[key]) for key in a)
    if isinstance(a, list | tuple):
        return len(a) == len(b) and all(map(alike, a, b))
    if is_dataclass(a):
        return all(alike(getattr(a, field.name), getattr(b, field.name)) for field in fields(a))
    if hasattr(a, "__dict__"):
        return alike(vars(a), vars(b))
    return a == b
