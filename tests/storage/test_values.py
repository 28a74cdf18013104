"""Values are the same after saving and loading: types, bits, and shared references."""

import json
import tracemalloc
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB

from tamiz import RankSelector, SubsetSelector, load, save
from tamiz.criteria import CFS, CrossValidated, InformationGain
from tamiz.graphs import KNearest
from tamiz.search import Forward

from .files import again, alike, document_of, parts_of

VALUES = [
    None,
    True,
    -(10**40),
    0.1,
    -0.0,
    5e-324,
    float("nan"),
    float("inf"),
    -float("inf"),
    "ñandú\n\ud800 </script>",
    [],
    [1, [2.5, None], (3, (4,))],
    (),
    {},
    {"ä": 1, 2: "b", (1, None): [2.0], 0.5: True},
    Path("folder/näme"),
    np.float64(0.1),
    np.float32("nan"),
    np.int8(-3),
    np.bool_(True),
    np.complex64(1 - 2j),
    np.datetime64("2024-05-06T07:08", "m"),
    np.timedelta64(3, "D"),
    np.str_("é"),
    np.str_(""),
    np.bytes_(b"a\xff"),
]
ARRAYS = [
    np.arange(6.0).reshape(2, 3),
    np.asfortranarray(np.arange(6.0).reshape(2, 3)),
    np.arange(24).reshape(4, 6)[::2, 1::2],
    np.arange(3, dtype=">f4"),
    np.array([np.nan, -np.inf, -0.0], dtype=np.float16),
    np.array([True, False]),
    np.array([1 + 2j]),
    np.array(["a", "ünï"]),
    np.array([b"a"]),
    np.array(["2024-01-01", "NaT"], dtype="M8[D]"),
    np.array(3.5),
    np.empty((0, 4), dtype=np.int32),
    np.array(["a", None, 1.5, ["x"]], dtype=object).reshape(2, 2),
    np.zeros(100_000, dtype=np.uint8),
]


@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_a_value_comes_back_with_its_type_and_its_bits(value, tmp_path):
    assert alike(again(value, tmp_path), value)
    assert alike(again([value, (value, {"a": value})], tmp_path), [value, (value, {"a": value})])


@pytest.mark.parametrize("array", ARRAYS, ids=lambda a: f"{a.dtype}{a.shape}")
def test_an_array_comes_back_with_its_type_its_order_and_its_bits(array, tmp_path):
    loaded = again(array, tmp_path)
    assert alike(loaded, array)
    assert loaded.flags.writeable
    if array.flags.f_contiguous and not array.flags.c_contiguous:
        assert loaded.flags.f_contiguous


def test_the_bits_of_a_nan_come_back(tmp_path):
    odd = np.array([0x7FF8000000000ABC], dtype=np.uint64).view(np.float64)
    assert again([odd, odd[0]], tmp_path)[1].tobytes() == odd.tobytes()


@pytest.mark.parametrize("index", [np.int32, np.int64])
def test_a_sparse_matrix_keeps_the_width_of_its_indices_and_the_order_of_its_entries(index, tmp_path):
    matrix = sparse.csr_array((2, 5))
    matrix.data, matrix.indices = np.array([1.0, 0.0, 3.0]), np.array([4, 0, 0], dtype=index)
    matrix.indptr = np.array([0, 2, 3], dtype=index)
    assert alike(again(matrix, tmp_path), matrix)


def test_an_object_with_two_references_is_stored_once_and_loaded_as_one(tmp_path):
    array, matrix, part = np.arange(5.0), sparse.csr_array(np.eye(3)), KNearest(3)
    loaded = again({"a": [array, matrix, part], "b": (array[:], matrix, part)}, tmp_path)
    assert [a is b for a, b in zip(loaded["a"], loaded["b"], strict=True)] == [True, True, True]
    assert len(parts_of(tmp_path / "first")) == 1 + 4


def test_the_document_is_plain_json_that_names_the_format(tmp_path):
    path = save({"a": float("nan"), "b": np.arange(3)}, tmp_path / "x")
    document = document_of(path)
    assert document["format"] == "tamiz file 1"
    assert document["content"] == {"dict": [["a", {"float": "nan"}], ["b", {"array": 0}]]}
    json.loads(parts_of(path)["tamiz.json"], parse_constant=pytest.fail)
    np.testing.assert_array_equal(np.load(path)["arrays/0"], np.arange(3))


def test_equal_things_make_equal_files(tmp_path):
    first, second = (save(RankSelector(InformationGain(), n_features=3), tmp_path / name) for name in "ab")
    assert first.read_bytes() == second.read_bytes()


def test_integers_in_floats_are_packed_and_odd_ones_are_not(tmp_path):
    rng = np.random.default_rng(0)
    whole, odd = rng.integers(0, 5, 100_000).astype(float), rng.random(100_000)
    assert save(whole, tmp_path / "whole").stat().st_size < 0.2 * whole.nbytes
    assert odd.nbytes < save(odd, tmp_path / "odd").stat().st_size < odd.nbytes + 2000


def test_a_large_array_is_written_and_read_in_pieces(tmp_path):
    array = np.random.default_rng(0).random(6_000_000)
    tracemalloc.start()
    try:
        path = save(array, tmp_path / "x")
        assert tracemalloc.get_traced_memory()[1] < 0.5 * array.nbytes
        tracemalloc.reset_peak()
        loaded = load(path)
        assert tracemalloc.get_traced_memory()[1] < 1.2 * array.nbytes
    finally:
        tracemalloc.stop()
    assert alike(loaded, array)


@pytest.mark.parametrize(
    ("thing", "sentence"),
    [
        (
            len,
            r"^builtin_function_or_method is of the type builtin_function_or_method, which cannot be stored; numbers, ",
        ),
        ({"a": [1, (2, {3})]}, r"^dict\['a'\]\[1\]\[1\] is of the type set, which cannot be stored;"),
        ({b"k": 1}, r"^a key of dict is of the type bytes, which"),
        (LogisticRegression(), r"is of the type sklearn\.linear_model\._logistic\.LogisticRegression, which"),
        (KNearest(weight=LogisticRegression()), r"^KNearest\.weight is of the type sklearn"),
        (np.ma.masked_array([1.0], [True]), r"^MaskedArray is of the type numpy\.ma\.MaskedArray of float64, which"),
        (
            np.zeros(2, dtype="i4,f8"),
            r"^ndarray is of the type numpy\.ndarray of \[\('f0', '<i4'\), \('f1', '<f8'\)\], which",
        ),
        (np.array([{1}], dtype=object), r"^ndarray\[0\] is of the type set, which"),
        (sparse.csc_array(np.eye(2)), r"is of the type scipy\.sparse\._csc\.csc_array, which"),
        (1j, r"^complex is of the type complex, which"),
    ],
    ids=lambda _: "",
)
def test_an_object_that_cannot_be_stored_is_named_with_its_location(thing, sentence, tmp_path):
    with pytest.raises(TypeError, match=sentence):
        save(thing, tmp_path / "x")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("state", [np.random.default_rng(0), np.random.RandomState(0)], ids=["new", "old"])
def test_a_random_generator_is_refused_with_a_way_out(state, tmp_path):
    sentence = (
        rf"^SubsetSelector\.random_state is a {type(state).__name__}, whose state is not stored; "
        r"use a whole number as the seed\.$"
    )
    with pytest.raises(TypeError, match=sentence):
        save(SubsetSelector(CFS(), Forward(), random_state=state), tmp_path / "x")
    assert load(save(SubsetSelector(CFS(), Forward(), random_state=7), tmp_path / "x")).random_state == 7


def test_a_class_outside_the_package_is_not_stored_for_its_base_class(tmp_path):
    class Own(KNearest):
        pass

    with pytest.raises(TypeError, match=r"^Own is of the type .*Own, which cannot be stored"):
        save(Own(), tmp_path / "x")


def test_foreign_attributes_of_an_estimator_are_refused(tmp_path):
    selector = RankSelector(InformationGain())
    selector.note = "mine"
    with pytest.raises(
        TypeError, match=r"^RankSelector\.note is neither a parameter nor a fitted attribute, and cannot"
    ):
        save(selector, tmp_path / "x")


def test_a_list_that_contains_itself_is_refused(tmp_path):
    endless = []
    endless.append(endless)
    with pytest.raises(
        TypeError, match=r"^The list contains itself, or lists nested too deeply, and cannot be stored\.$"
    ):
        save(endless, tmp_path / "x")


def test_an_estimator_of_another_package_is_refused_with_what_can_store_it(tmp_path):
    X, y = np.arange(20.0).reshape(10, 2), [*"ab"] * 5
    selector = SubsetSelector(CrossValidated(GaussianNB(), cv=2), n_features=1).fit(X, y)
    sentence = (
        r"^SubsetSelector\.merit\.estimator is of the type sklearn\.naive_bayes\.GaussianNB, .* skops\.io\.dump\(model"
    )
    with pytest.raises(TypeError, match=sentence):
        save(selector, tmp_path / "selector.tamiz")
    assert not list(tmp_path.iterdir())
