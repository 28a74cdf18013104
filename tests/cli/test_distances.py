"""A table that is a matrix of distances, through the command line."""

import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import Result

from tamiz import open_table, study
from tamiz.reduction.named_maps import find_map_method

from .test_reduce import shown

DISTANCES = np.array([[0.0, 3, 4, 9], [3, 0, 5, 8], [4, 5, 0, 7], [9, 8, 7, 0]])
CITIES = ["Ulm", "Bonn", "Jena", "Kiel"]


@pytest.mark.parametrize("method", ["mds", "mds:ordinal", "classical-mds", "landmark-mds"])
@pytest.mark.parametrize("named", [False, True])
def test_a_matrix_of_distances_is_mapped_as_in_python(
    tamiz: Callable[..., Result], write: Callable[..., Path], method: str, named: bool
) -> None:
    path = write(pd.DataFrame(DISTANCES, CITIES, CITIES).to_csv(index=named, index_label="city"))
    done = tamiz("reduce", path, "--method", method, "--dissimilarity", "precomputed", "--seed", 3)
    found = shown(done)
    reducer = find_map_method(method).make_reducer(open_table(DISTANCES).schema, "precomputed")
    if "random_state" in reducer.get_params(deep=False):
        reducer.set_params(random_state=3)
    expected = reducer.fit(DISTANCES).embedding_
    np.testing.assert_array_equal(found.iloc[:, -2:].astype(float).to_numpy(), expected)
    assert list(found.columns[:-2]) == ["city"] * named
    assert not named or found["city"].tolist() == CITIES
    assert "features" not in done.stderr


def test_a_long_matrix_of_distances_is_fitted_on_a_sample(
    tamiz: Callable[..., Result], write: Callable[..., Path]
) -> None:
    X = np.random.default_rng(0).normal(size=(30, 2))
    D = np.sqrt(((X[:, None] - X) ** 2).sum(-1))
    path = write(pd.DataFrame(D).assign(key=range(30)).to_csv(index=False))
    command = ["reduce", path, "--method", "classical-mds", "--dissimilarity", "precomputed", "--keep", "key"]
    done = tamiz(*command, "--map-rows", 20)
    assert "Fitted on 20 of the 30 rows" in done.stderr
    found = shown(done).astype(float).to_numpy()
    np.testing.assert_array_equal(found[:, 0], np.arange(30))
    between = np.sqrt(((found[:, None, 1:] - found[:, 1:]) ** 2).sum(-1))
    np.testing.assert_allclose(between, D, atol=1e-8)


@pytest.mark.parametrize(
    ("row", "column", "value", "told"),
    [
        (0, 2, -1.0, r"row 1 \(Ulm\), column Jena is -1; a distance is at least 0"),
        (1, 1, 2.0, r"row 2 \(Bonn\), column Bonn is 2; a row is at distance 0 from itself"),
        (0, 3, 8.0, r"row 1 \(Ulm\), column Kiel is 8 and row 4 \(Kiel\), column Ulm is 9"),
        (2, 1, "far", r"row 3 of the matrix, column Bonn: 'far' is not a number"),
    ],
)
def test_a_cell_that_is_no_distance_is_named(
    tamiz: Callable[..., Result], write: Callable[..., Path], row: int, column: int, value: object, told: str
) -> None:
    frame = pd.DataFrame(DISTANCES, CITIES, CITIES).astype(object)
    frame.iloc[row, column] = value
    for named in (False, True):
        path = write(frame.to_csv(index=named, index_label="city"))
        done = tamiz("reduce", path, "--method", "mds", "--dissimilarity", "precomputed")
        assert done.exit_code == 1
        (line,) = done.stderr.splitlines()
        assert re.search(told, line)


def test_a_matrix_of_distances_is_square_and_its_labels_are_the_names_of_its_columns(
    tamiz: Callable[..., Result], write: Callable[..., Path]
) -> None:
    command = ["reduce", "data.csv", "--method", "mds", "--dissimilarity", "precomputed"]
    write(pd.DataFrame(DISTANCES[:3]).to_csv(index=False, header=list("abcd")))
    done = tamiz(*command)
    assert "column 'a' does not contain the names of the rows of a distance matrix: row 1 is '0'" in done.stderr
    write(pd.DataFrame(DISTANCES, CITIES[::-1], CITIES).to_csv(index_label="city"))
    done = tamiz(*command)
    assert "column 'city' does not contain the names of the rows" in done.stderr
    assert "row 1 is 'Kiel', and column 1 is 'Ulm'" in done.stderr
    write(pd.DataFrame(DISTANCES[:, :2], columns=["a", "b"]).to_csv(index=False))
    done = tamiz(*command)
    assert (done.exit_code, done.stdout) == (1, "")
    assert "the table has 4 rows and 2 columns" in done.stderr


def test_methods_that_accept_no_distances_refuse_them_as_a_wrong_command_line(
    tamiz: Callable[..., Result], iris: Path
) -> None:
    done = tamiz("reduce", iris, "--dissimilarity", "precomputed")
    assert done.exit_code == 2
    assert "PCA does not accept a matrix of distances; use --method mds" in done.stderr
    done = tamiz("reduce", iris, "--method", "mds", "--dissimilarity", "precomputed", "--weight", "sepal_width")
    assert done.exit_code == 2


@pytest.mark.parametrize("command", ["reduce", "rank", "select", "study"])
def test_a_table_that_looks_like_distances_is_hinted_at_once(
    tamiz: Callable[..., Result], write: Callable[..., Path], command: str
) -> None:
    X = np.random.default_rng(0).normal(size=(12, 2))
    D = np.sqrt(((X[:, None] - X) ** 2).sum(-1)).round(3)
    names = list("abcdefghijkl")
    more = {"select": ["-t", "y", "--kinds", "y=categorical"], "study": ["--reduce", "pca"]}.get(command, [])
    table = pd.DataFrame(D, names, names).assign(**({"y": list("pq" * 6)} if command == "select" else {}))
    done = tamiz(command, write(table.to_csv(index_label="city")), *more)
    assert done.exit_code == 0, done.stderr
    assert done.stderr.count("--dissimilarity precomputed") == 1
    table.iloc[0, 1] += 0.1
    done = tamiz(command, write(table.to_csv(index_label="city")), *more)
    assert "--dissimilarity precomputed" not in done.stderr


@pytest.mark.parametrize(
    ("command", "told"),
    [
        (
            ["reduce", "--method", "stochastic-mds", "--dissimilarity", "precomputed"],
            "does not accept a matrix of distances; use",
        ),
        (
            ["reduce", "--method", "stochastic-mds", "--dissimilarity", "gower"],
            "cityblock, cosine, not gower: choose",
        ),
        (
            ["study", "--reduce", "stochastic-mds", "--dissimilarity", "gower"],
            "cityblock, cosine, not gower: choose",
        ),
        (["study", "--dry-run", "--reduce", "stochastic-mds", "--dissimilarity", "gower"], "not gower: choose"),
    ],
)
def test_distances_that_a_map_is_not_made_of_are_refused_before_the_table_is_read(
    tamiz: Callable[..., Result], write: Callable[..., Path], command: list[str], told: str
) -> None:
    unreadable = write("a,b\n1,2\n1,2,3\n")
    done = tamiz(*command, unreadable)
    assert (done.exit_code, done.stdout) == (2, "")
    assert told in done.stderr
    assert "line 3" not in done.stderr


def test_a_study_refuses_such_distances_before_it_looks_for_the_table() -> None:
    with pytest.raises(ValueError, match=r"Stochastic MDS supports the dissimilarities euclidean, .*, not gower"):
        study("nowhere.csv", maps=["pca", "stochastic_mds"], dissimilarity="gower")
