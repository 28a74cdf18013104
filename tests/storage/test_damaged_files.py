"""Damaged and foreign files: each raises an error of one sentence, and no code in them is run."""

import errno
import io
import json
import random
import sys
import zipfile

import numpy as np
import pytest
from scipy import sparse

from tamiz import __version__, load, save
from tamiz.graphs import Binary, KNearest
from tamiz.graphs.graph import ClassGraph, EdgeGraph
from tamiz.neighbors import BruteForce
from tamiz.runtime import validation

from .files import alike, document_of, parts_of, put_together, with_content


@pytest.fixture
def path(tmp_path):
    """The file of a list of an array."""
    return save([np.arange(5.0)], tmp_path / "x.tamiz")


def refused(path, sentence, kind=ValueError):
    with pytest.raises(kind, match=sentence) as caught:
        load(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def npy(array, **options):
    file = io.BytesIO()
    np.lib.format.write_array(file, array, **options)
    return file.getvalue()


def head(shape):
    file = io.BytesIO()
    np.lib.format.write_array_header_1_0(file, {"descr": "<f8", "fortran_order": False, "shape": shape})
    return file.getvalue()


def record(name, /, **fields):
    return {"record": {"class": name, "fields": fields}}


@pytest.mark.parametrize("content", [b"", b"a,b\n1,2\n", b"PK"], ids=["empty", "text", "short"])
def test_a_file_that_is_no_zip_archive_is_refused(path, content):
    path.write_bytes(content)
    refused(path, r"x\.tamiz is not a tamiz file: it is not a zip archive\.$")


def test_a_file_that_is_cut_off_is_refused(path):
    whole = path.read_bytes()
    for n in (10, len(whole) // 2, len(whole) - 1):
        path.write_bytes(whole[:n])
        refused(path, r"x\.tamiz is damaged or cut off: .+\.$")


def test_another_zip_archive_is_refused(path):
    refused(
        put_together(path, {"word/document.xml": ""}),
        r"is not a tamiz file: it is a zip archive without tamiz\.json\.$",
    )


@pytest.mark.parametrize("text", ["", "{", "\xff\xfe", "nan,", '{"format": 1' + "0" * 5000 + "}"], ids=range(5))
def test_a_document_that_is_no_json_is_refused(path, text):
    refused(
        put_together(path, {"tamiz.json": text.encode("latin1")}),
        r"is damaged: its tamiz\.json is not valid JSON \(.+\)\.$",
    )


@pytest.mark.parametrize(
    "document", [[], 3, {}, {"format": 1}, {"format": "tamiz journal 1"}, {"format": "tamiz file 0"}]
)
def test_a_document_of_another_format_is_refused(path, document):
    put_together(path, {"tamiz.json": json.dumps(document)})
    refused(path, r"is not a tamiz file: its tamiz\.json does not name the format\.$")


def test_a_file_of_a_later_version_states_what_to_do(path):
    put_together(path, {"tamiz.json": '{"format": "tamiz file 2", "tamiz": "3.1", "content": null}'})
    version = __version__.replace(".", r"\.")
    sentence = rf"was written by tamiz 3\.1, format 2; this is tamiz {version}, which reads format 1\. Update tamiz\.$"
    refused(path, sentence)


def test_a_document_without_content_is_refused(path):
    refused(
        put_together(path, {"tamiz.json": '{"format": "tamiz file 1"}'}),
        r"is damaged: its tamiz\.json has no content\.$",
    )


def test_a_missing_array_is_refused(path):
    parts = parts_of(path)
    del parts["arrays/0.npy"]
    refused(put_together(path, parts), r"is damaged: its array 0 is missing\.$")


@pytest.mark.parametrize("number", [-1, 1, 0.0, True, "0", None, "../0"], ids=repr)
def test_an_invalid_array_number_is_refused(path, number):
    refused(with_content(path, {"array": number}), r"is damaged: its array .+ is missing\.$")


@pytest.mark.parametrize(
    "name", ["../evil", "/etc/passwd", "arrays/../0.npy", "arrays/00.npy", "arrays/", "C:\\x", "läuft"]
)
def test_names_that_have_no_place_in_a_file_are_refused(path, name):
    refused(put_together(path, {**parts_of(path), name: b""}), r"is damaged: it contains an unexpected member '.+'\.$")


def test_a_name_that_is_there_twice_is_refused(path):
    parts = parts_of(path)
    with zipfile.ZipFile(path, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr("arrays/0.npy", parts["arrays/0.npy"])
    refused(path, r"is damaged: it contains an unexpected member 'arrays/0\.npy'\.$")


@pytest.mark.parametrize("compression", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_other_compression_methods_are_refused(path, compression):
    put_together(path, parts_of(path), compression)
    refused(path, r"is encrypted, or compressed by a method that tamiz does not use\.$")


def test_a_member_whose_bytes_changed_is_refused(path):
    array = np.random.default_rng(0).random(5)
    content = save(array, path).read_bytes()
    at = content.index(array[3].tobytes())
    path.write_bytes(content[:at] + b"\x01" + content[at + 1 :])
    refused(path, r"is damaged or cut off: Bad CRC-32 for file 'arrays/0\.npy'\.$")


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"", r"arrays/0\.npy is no array of NumPy's format\."),
        (b"\x93NUMPY\x01\x00\x04\x00((((", r"arrays/0\.npy is no array of NumPy's format\."),
        (npy(np.arange(5.0))[:-3], r"arrays/0\.npy should have 40 bytes and has 37\."),
        (npy(np.arange(5.0)) + b"x", r"arrays/0\.npy should have 40 bytes and has 41\."),
        (head((10**6, 10**9)) + bytes(40), r"arrays/0\.npy should have 8,000,000,000,000,000 bytes and has 40\."),
        (head((-5, -1)) + bytes(40), r"arrays/0\.npy should have 40 bytes and has 40\."),
        (
            npy(np.array([print], dtype=object), allow_pickle=True),
            r"contains arrays/0\.npy of dtype object, and only numbers, dates",
        ),
        (
            npy(np.zeros(2, dtype="i4,f8")),
            r"contains arrays/0\.npy of dtype \[.+\], and only numbers, dates and text are read\.",
        ),
    ],
    ids=range(8),
)
def test_an_array_that_does_not_match_its_header_is_refused(path, content, sentence):
    refused(put_together(path, {**parts_of(path), "arrays/0.npy": content}), sentence)


def test_more_than_the_memory_there_is_is_refused_before_it_is_read(path, monkeypatch):
    zeros = put_together(path, {**parts_of(path), "arrays/0.npy": npy(np.zeros(10**6))}, zipfile.ZIP_DEFLATED)
    assert zeros.stat().st_size < 20_000
    monkeypatch.setattr(validation, "free_memory", lambda: 1e6)
    refused(zeros, r"^Loading .*x\.tamiz needs 8 MB of memory and 1 MB are free\.", MemoryError)


@pytest.mark.parametrize(
    "name",
    [
        "os:system",
        "builtins:eval",
        "subprocess:Popen",
        "sklearn.svm:SVC",
        "tamiz.graphs.graph:os",
        "tamizx.y:Z",
        "tamiz:registry",
        "tamiz.__main__:main",
        "tamiz.kernels.__main__:main",
        "tamiz.graphs.builders:KNearest.fit",
        "tamiz.graphs.builders:__builtins__",
        "tamiz.graphs.builders:np",
        "tamiz.graphs.builders:default_builder",
        "tamiz.graphs.builders:BaseEstimator",
        "tamiz.graphs:KNearest",
        "tamiz.runtime.registry:Registry",
        "tamiz.search.journal:Journal",
        "tamiz.storage.file:ZipFile",
        "tamiz.graphs.graph:Graph",
        "tamiz.later:Model",
        "tamiz.graphs.later:Model",
        "tamiz.graphs.builders:Later",
        "",
        None,
        ["tamiz.graphs.builders:KNearest"],
    ],
)
def test_no_object_of_another_class_is_made(path, name):
    refused(with_content(path, record(name)), r"x\.tamiz contains an? .+\.$")
    assert "tamiz.kernels.__main__" not in sys.modules


def test_a_class_of_a_later_version_is_named(path):
    with_content(path, record("tamiz.reduction.later:Map"))
    version = __version__.replace(".", r"\.")
    refused(
        path,
        rf"contains a tamiz\.reduction\.later:Map, which this tamiz {version} does not have \(No module named .+\)\.$",
    )


@pytest.mark.parametrize(
    "name", ["fit", "transform", "get_params", "__class__", "__dict__", "x y", "_get_support_mask", "note"]
)
def test_attributes_that_fit_does_not_set_are_refused(path, name):
    with_content(path, record("tamiz.selection.rank_selector:RankSelector", relevance=None, **{name: 1}))
    refused(
        path,
        r"contains a tamiz\.selection\.rank_selector:RankSelector that cannot be restored: it has no attribute '.+'\.$",
    )


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (
            record("tamiz.criteria.cross_validated:CrossValidated", cv=3),
            r"missing 1 required positional argument: 'estimator'",
        ),
        (record("tamiz.table.schema:Column", name="a", kind="id", color=1), r"unexpected keyword argument 'color'"),
        (record("tamiz.table.schema:Column", name="a"), r"missing 1 required positional argument: 'kind'"),
        (
            record("tamiz.statistics.cross_products:LevelIndicators", column=1),
            r"missing 1 required positional argument",
        ),
        (record("tamiz.graphs.graph:ClassGraph", n_classes=1), r"missing 2 required positional arguments"),
        (record("tamiz.neighbors.points:CosinePoints"), r"KeyError\('values'\)"),
    ],
    ids=range(6),
)
def test_objects_without_their_attributes_are_refused(path, content, reason):
    refused(
        with_content(path, content), rf"x\.tamiz contains a tamiz\.[\w.:]+ that cannot be restored: .*{reason}.*\.$"
    )


@pytest.mark.parametrize(
    "content",
    [
        {},
        {"a": 1},
        {"tuple": [], "list": []},
        {"tuple": 3},
        {"dict": [[1]]},
        {"dict": [[[1], 2]]},
        {"float": "1"},
        {"float": []},
        {"path": 3},
        {"scalar": ["<f8", "00"]},
        {"scalar": ["<f8", "xy"]},
        {"scalar": ["O", "0000000000000000"]},
        {"scalar": ["i4,i4", "0000000000000000"]},
        {"scalar": 1},
        {"objects": {"shape": [3], "items": [1]}},
        {"objects": {"items": []}},
        {"same": 0},
        {"same": -1},
        {"same": None},
        {"record": 1},
        {"record": {"class": "tamiz.graphs.edges:Binary"}},
        {"record": {"class": "tamiz.graphs.edges:Binary", "fields": []}},
        {"csr": {"shape": [2, 2]}},
    ],
    ids=str,
)
def test_trees_that_mean_nothing_are_refused(path, content):
    refused(with_content(path, [content]), r"x\.tamiz is damaged: .+\.$")


@pytest.mark.parametrize(
    ("shape", "indices", "indptr"),
    [
        ([2, 3], [0, 3], [0, 1, 2]),
        ([2, 3], [0, -1], [0, 1, 2]),
        ([2, 3], [0, 1], [0, 3, 2]),
        ([2, 3], [0, 1], [0, 1, 9]),
        ([2, 3], [0, 1], [0, 2]),
        ([2], [0, 1], [0, 1, 2]),
        ([10**15, 3], [0, 1], [0, 1, 2]),
        ([2, 3], [0.0, 1.0], [0, 1, 2]),
    ],
    ids=range(8),
)
def test_a_sparse_matrix_that_points_outside_itself_is_refused(tmp_path, shape, indices, indptr):
    path = save([np.ones(2), np.array(indices), np.array(indptr)], tmp_path / "x.tamiz")
    parts = dict(zip(("data", "indices", "indptr"), document_of(path)["content"], strict=True))
    refused(with_content(path, {"csr": {"shape": shape, **parts}}), r"x\.tamiz is damaged: .+\.$")


def test_a_graph_that_points_outside_itself_is_refused(path):
    matrix = sparse.csr_array(np.ones((2, 2)))
    refused(save(EdgeGraph(matrix, np.ones(3)), path), r"damaged: in its EdgeGraph, edge_lengths ")
    refused(save(EdgeGraph(matrix, -np.ones(4)), path), r"damaged: in its EdgeGraph, edge_lengths ")
    inside, outside = sparse.csr_array(np.eye(2)), sparse.csr_array(np.eye(2))
    outside.indices[1] = 7
    refused(save(EdgeGraph(outside), path), r"is damaged: ")
    assert load(save(EdgeGraph(inside, np.ones(2)), path)).edges.lengths.tolist() == [1.0, 1.0]
    labels = np.array([0, 7], dtype=np.int32)
    refused(
        save(ClassGraph(labels, 2, Binary()), path),
        r"damaged: in its ClassGraph, labels names a class beyond n_classes\.$",
    )


@pytest.mark.parametrize("depth", [500, 5000, 10**5])
def test_lists_too_deep_in_lists_are_refused(path, depth):
    text = '{"format": "tamiz file 1", "content": ' + "[" * depth + "]" * depth + "}"
    refused(put_together(path, {"tamiz.json": text}), r"is damaged: it contains lists nested too deeply\.$")


@pytest.fixture(scope="module")
def graph(tmp_path_factory):
    """The file of a small graph, its bytes and its content."""
    X = np.random.default_rng(0).normal(size=(40, 3)).round(1)
    path = save(KNearest(3, search=BruteForce()).build(X), tmp_path_factory.mktemp("graph") / "graph")
    return path, path.read_bytes(), load(path)


def loads_or_is_refused(path, expected=None):
    """Whether a file loads; any error but those of a bad file fails the test."""
    try:
        loaded = load(path)
    except (ValueError, OSError, MemoryError):
        return False
    assert expected is None or alike(loaded.adjacency, expected.adjacency)
    return True


def test_a_file_with_a_byte_changed_is_equal_or_refused(graph, tmp_path):
    _, whole, expected = graph
    rng = random.Random(0)
    # As many changes in the tables of the archive as in the rest, which sums of bytes watch over.
    tables = whole.index(b"PK\x01\x02")
    places = [rng.randrange(len(whole)) for _ in range(100)] + [rng.randrange(tables, len(whole)) for _ in range(100)]
    loaded = 0
    for place in places:
        changed = bytearray(whole)
        changed[place] ^= rng.randrange(1, 256)
        (tmp_path / "x").write_bytes(changed)
        loaded += loads_or_is_refused(tmp_path / "x", expected)
    assert 0 < loaded < len(places)


def test_a_file_cut_off_anywhere_is_refused(graph, tmp_path):
    _, whole, _ = graph
    rng = random.Random(1)
    for _ in range(40):
        (tmp_path / "x").write_bytes(whole[: rng.randrange(len(whole))])
        assert not loads_or_is_refused(tmp_path / "x")


def test_a_file_with_bytes_cut_out_anywhere_is_refused(graph, path, tmp_path):
    for whole in (graph[1], path.read_bytes()):
        for seed in range(200):
            rng = random.Random(seed)
            n_cut = rng.randint(1, 19)
            at = rng.randrange(len(whole) - n_cut)
            (tmp_path / "x").write_bytes(whole[:at] + whole[at + n_cut :])
            refused(tmp_path / "x", r"x is (damaged or cut off: .+|not a tamiz file: it is not a zip archive)\.$")


def test_an_unreadable_path_is_not_reported_as_damage(path, monkeypatch):
    def fails(*_):
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr("tamiz.storage.file._check_members", fails)
    refused(path, r"x\.tamiz cannot be read: Input/output error\.$", OSError)


def nodes(tree, found):
    """Every list and object of a tree."""
    if isinstance(tree, dict | list):
        found.append(tree)
        for item in tree.values() if isinstance(tree, dict) else tree:
            nodes(item, found)
    return found


def test_a_document_changed_anywhere_loads_or_is_refused(graph, tmp_path):
    path, _, _ = graph
    parts, rng = parts_of(path), random.Random(2)
    others = [
        None,
        True,
        -1,
        0,
        2**70,
        1.5,
        "x",
        [],
        {},
        [[0]],
        {"array": 0},
        {"same": 0},
        {"tuple": []},
        {"float": "nan"},
    ]
    n_refused = 0
    for _ in range(200):
        document = json.loads(parts["tamiz.json"])
        node = rng.choice([node for node in nodes(document["content"], []) if node])
        key = rng.choice(list(node)) if isinstance(node, dict) else rng.randrange(len(node))
        if rng.random() < 0.25:
            del node[key]
        else:
            node[key] = rng.choice([*others, rng.choice(nodes(document["content"], []))])
        try:
            text = json.dumps(document)
        except ValueError:
            continue
        n_refused += not loads_or_is_refused(put_together(tmp_path / "x", {**parts, "tamiz.json": text}))
    assert n_refused > 50
