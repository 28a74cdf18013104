"""Exact linear relations: the null space of the columns, and the relations that RedundancyFilter finds."""

import numpy as np

from tamiz import RedundancyFilter
from tamiz.error_control.gaussian_knockoffs import find_collinear, select_basis


def null_space_columns(Z):
    """The columns that have a nonzero coefficient in a linear relation of all."""
    _, values, vectors = np.linalg.svd(Z, full_matrices=False)
    null_space = vectors[values < 1e-9 * values[0]]
    return (np.abs(null_space) > 1e-6).any(axis=0)


def related_table(seed):
    """Columns in random order and of different units, of which some are sums of up to three others, or constant times them."""
    rng = np.random.default_rng(seed)
    p = int(rng.integers(3, 10))
    X = rng.normal(size=(60, p)) @ (np.eye(p) if seed % 2 else rng.normal(size=(p, p)))
    sums = []
    for _ in range(int(rng.integers(0, 4))):
        parts = rng.choice(p, int(rng.integers(1, 4)), replace=False)
        sums.append(X[:, parts] @ rng.choice([-2.0, -1.0, 1.0, 3.0], len(parts)))
    whole = rng.permutation(np.column_stack([X, *sums]), axis=1)
    return whole * 10.0 ** rng.integers(-3, 4, whole.shape[1])


def test_columns_of_exact_relations_are_those_of_the_null_space_and_of_the_filter():
    n_related = 0
    for seed in range(30):
        X = related_table(seed)
        Z = (X - X.mean(axis=0)) / X.std(axis=0)
        found = find_collinear(list(X.T), Z)
        assert found.tolist() == null_space_columns(Z).tolist()
        n_related += found.any()
        by_filter = RedundancyFilter("linear", threshold=1.0).fit(X).determined_by_
        related = {name for dropped, by in by_filter.items() for name in (dropped, *by)}
        assert related == {f"x{j}" for j in np.flatnonzero(found)}
        # As many columns as the filter keeps are a basis of the columns of relations.
        basis = select_basis(Z[:, found])
        assert len(basis) == found.sum() - len(by_filter)
        assert np.linalg.matrix_rank(Z[:, found][:, basis], tol=1e-6) == len(basis)
    assert n_related > 10


def test_a_relation_of_scores_is_found_beside_one_of_numbers():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(50, 4))
    scores -= scores.mean(axis=0)
    scores[:, 3] = scores[:, 0]
    columns = [*rng.normal(size=(3, 50)), rng.normal(size=50)]
    columns[2] = columns[1] - 5
    assert find_collinear(columns, scores).tolist() == [True, True, True, True]
    assert find_collinear(columns, rng.normal(size=(50, 4))).tolist() == [False, True, True, False]
