"""The steps of NN-descent against plain loops over sets."""

import numpy as np

from tamiz.kernels.nn_descent import (
    GROUP_SIZE,
    best_first_search,
    build_links,
    expand_neighbor_lists,
    find_leaves,
    gather_candidates,
    grow_tree,
    join_groups,
    join_leaves,
)

LEAF = 16


def rows_of(n, n_columns=5, seed=0):
    return np.random.default_rng(seed).normal(size=(n, n_columns)).astype(np.float32)


def tree(rows, offset):
    n_leaves = -(-(len(rows) + offset) // LEAF)
    order = np.arange(len(rows), dtype=np.int32)
    directions, thresholds = np.zeros((n_leaves, rows.shape[1]), np.float32), np.zeros(n_leaves, np.float32)
    grow_tree(rows, np.random.default_rng(1).random((n_leaves, 6)), LEAF, offset, order, directions, thresholds)
    return order, directions, thresholds


def test_every_row_comes_to_the_leaf_that_it_lies_in():
    for n, offset in [(16, 0), (17, 0), (200, 0), (201, 5), (999, 15), (1000, 8)]:
        rows = rows_of(n)
        order, directions, thresholds = tree(rows, offset)
        assert sorted(order) == list(range(n))
        leaves = np.empty(n, dtype=np.int32)
        find_leaves(rows, directions, thresholds, leaves)
        assert (leaves[order] == (np.arange(n) + offset) // LEAF).all()


def test_rows_that_are_all_equal_fill_leaves_alike():
    order, _, thresholds = tree(np.ones((100, 3), np.float32), 0)
    assert sorted(order) == list(range(100))
    assert not thresholds.any()


def squares(rows):
    apart = ((rows[:, None].astype(float) - rows[None]) ** 2).sum(axis=2)
    np.fill_diagonal(apart, np.inf)
    return apart


def empty(n, size):
    return np.full((n, size), np.inf, np.float32), np.full((n, size), -1, np.int32)


def test_the_rows_of_a_leaf_get_the_nearest_of_it():
    rows = rows_of(150)
    order = np.random.default_rng(2).permutation(150).astype(np.int32)
    distances, entries = empty(150, 6)
    join_leaves(rows, order, 20, 0, 192, distances, entries)
    apart = squares(rows)
    for start, stop in [(0, 44), (44, 108), (108, 150)]:
        leaf = order[start:stop]
        for row in leaf:
            expected = leaf[np.argsort(apart[row, leaf])[:6]]
            assert (entries[row] == 2 * expected + 1).all()
            np.testing.assert_allclose(distances[row], apart[row, expected], rtol=1e-4)


def test_a_leaf_in_two_far_places_is_compared_in_each():
    rows = rows_of(60, 3)
    rows[::2] += 1e5
    lists, order = empty(60, 4), np.arange(60, dtype=np.int32)
    join_leaves(rows, order, 0, 0, 64, *lists)
    # No distance is known yet, but rounding must not make rows of the other cluster look near.
    assert ((lists[1] >> 1) % 2 == np.arange(60)[:, None] % 2).all()
    for _ in range(3):
        join_leaves(rows, order, 0, 0, 64, *lists)
    assert (np.sort(lists[1] >> 1) == np.sort(np.argsort(squares(rows), axis=1)[:, :4])).all()


def test_links_are_bidirectional_and_mark_new_ones():
    rng = np.random.default_rng(0)
    others = np.array([rng.choice(np.delete(np.arange(40), row), 5, replace=False) for row in range(40)])
    entries = (2 * others + rng.integers(0, 2, others.shape)).astype(np.int32)
    entries[7, 3:] = -1
    links, filled = np.empty((40, 12), np.int32), np.empty(40, np.int32)
    for start, stop in [(0, 25), (25, 40)]:
        build_links(entries, 4, start, stop, links, filled)
    for v in range(40):
        own = [entry for entry in entries[v, :4] if entry >= 0]
        known = {entry >> 1 for entry in own}
        back = [
            2 * u + (entry & 1) for u in range(40) for entry in entries[u, :4] if entry >> 1 == v and u not in known
        ]
        assert links[v, : filled[v]].tolist() == (own + back)[:12]


def test_a_group_reaches_what_two_links_lead_to_unless_both_are_old():
    rng = np.random.default_rng(3)
    n = 3 * GROUP_SIZE
    links = (2 * rng.integers(0, n, (n, 4)) + (rng.random((n, 4)) < 0.3)).astype(np.int32)
    filled = rng.integers(2, 5, n).astype(np.int32)
    mark, near, found = np.zeros(n, np.uint8), np.empty(4 * GROUP_SIZE + 1, np.int32), np.empty(n + 1, np.int32)
    followed = {u: links[u, : filled[u]] for u in range(n)}
    for start in range(0, n, GROUP_SIZE):
        n_found = gather_candidates(links, filled, start, start + GROUP_SIZE, mark, near, found)
        group = range(start, start + GROUP_SIZE)
        old = {entry >> 1 for u in group for entry in followed[u] if entry & 1 == 0}
        first = {entry >> 1 for u in group for entry in followed[u]}
        expected = first - old
        for u in first:
            expected |= {entry >> 1 for entry in followed[u] if u not in old or entry & 1}
        assert sorted(found[:n_found]) == sorted(expected)
        assert not mark.any()


def test_a_pass_compares_with_neighbours_of_neighbours():
    rows = rows_of(200)
    apart = squares(rows)
    order = np.argsort(rows[:, 0])
    rows, apart = rows[order], apart[np.ix_(order, order)]
    distances, entries = empty(200, 5)
    for start in (0, 32):
        join_leaves(rows, np.roll(np.arange(200), start).astype(np.int32), 0, 0, 256, distances, entries)
    links, filled = np.empty((200, 10), np.int32), np.empty(200, np.int32)
    build_links(entries, 5, 0, 200, links, filled)
    before = entries >> 1
    n_pairs = sum(join_groups(rows, links, filled, *span, distances, entries) for span in [(0, 128), (128, 200)])
    assert 0 < n_pairs <= 200 * 200
    nearest = np.argsort(apart, axis=1)[:, :5]
    for row in range(200):
        reached = {row}
        for _ in range(2):
            reached |= {entry >> 1 for u in reached for entry in links[u, : filled[u]]}
        here = set((entries[row] >> 1).tolist())
        assert (set(nearest[row].tolist()) & (reached | set(before[row].tolist()))) <= here
        assert (np.diff(distances[row]) >= 0).all()


def test_a_search_follows_links_to_the_nearest():
    # A chain: from the first leaf of the search, the nearest row is reached by links only.
    n = 300
    rows = np.arange(n, dtype=np.float32)[:, None]
    links = np.stack([np.maximum(np.arange(n) - 1, 0), np.minimum(np.arange(n) + 1, n - 1)], axis=1)
    links = (2 * links).astype(np.int32)
    out = np.empty((2, 4), np.int32)
    orders = np.arange(n, dtype=np.int32)[None]
    queries, starts = np.array([[250.2], [-3.0]], np.float32), np.array([[0], [256]], np.int32)
    best_first_search(rows, links, np.full(n, 2, np.int32), queries, starts, orders, out)
    assert out.tolist() == [[250, 251, 249, 252], [0, 1, 2, 3]]


def test_candidates_are_arranged_by_distance_then_by_row():
    members, starts = np.array([0, 4, 1, 2, 5, 6, 3], np.int32), np.array([0, 2, 3, 6, 7])
    candidates = np.array([[2, -1, 0, 2, 3, 1], [3, -1, -1, -1, -1, -1]], np.int32)
    lengths = np.array([[1.0, 0.0, 1.0, 1.0, 0.5, 2.0], [0.25, 0, 0, 0, 0, 0]])
    dist, rows = np.empty((2, 4)), np.empty((2, 4), np.int32)
    expand_neighbor_lists(candidates, lengths, members, starts, dist, rows)
    assert rows.tolist() == [[3, 0, 2, 4], [3, -1, -1, -1]]
    assert dist.tolist() == [[0.5, 1, 1, 1], [0.25, np.inf, np.inf, np.inf]]
