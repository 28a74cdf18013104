"""Bootstrap samples and half-samples: of rows, of whole groups, and of blocks in time."""

import numpy as np
from sklearn.datasets import load_iris

from tamiz import open_table
from tamiz.assessment.resampling import make_bootstrap, make_half_sampling

IRIS = load_iris(as_frame=True)


def test_a_sample_has_as_many_rows_as_the_table():
    drawn = make_bootstrap(open_table(IRIS.data, IRIS.target))
    counts = drawn.draw_counts(np.random.default_rng(0))
    assert (len(counts), counts.sum()) == (150, 150)
    assert counts.max() > 1
    assert drawn.description == "bootstrap: 150 rows drawn with replacement"


def test_groups_are_drawn_whole():
    frame = IRIS.data.assign(g=np.repeat(np.arange(30), 5), y=IRIS.target)
    drawn = make_bootstrap(open_table(frame, "y", groups="g"))
    counts = drawn.draw_counts(np.random.default_rng(0)).reshape(30, 5)
    assert counts.sum() == 150
    assert (counts == counts[:, :1]).all()
    assert drawn.description == "cluster bootstrap: 30 whole groups drawn with replacement, about 150 rows in all"


def test_rows_in_time_are_drawn_in_blocks_of_consecutive_ones():
    when = np.random.default_rng(0).permutation(150)
    drawn = make_bootstrap(open_table(IRIS.data.assign(t=when, y=IRIS.target), "y", time="t"))
    assert drawn.description == "block bootstrap: blocks of 5 consecutive rows in time, 150 rows in all"
    counts = drawn.draw_counts(np.random.default_rng(0))
    assert counts.sum() == 150
    times = when[counts > 0]
    assert np.mean(np.isin(times + 1, times)) > 0.8


def test_few_rows_or_groups_give_the_reason_instead():
    assert (
        make_bootstrap(open_table(IRIS.data[46:55], IRIS.target[46:55])) == "9 rows are too few for bootstrap samples"
    )
    few = open_table(IRIS.data.assign(g=np.arange(150) % 4, y=IRIS.target), "y", groups="g")
    assert make_bootstrap(few) == "4 groups are too few for bootstrap samples"


def test_a_half_sample_has_half_of_the_rows_once():
    drawn = make_half_sampling(open_table(IRIS.data[:149], IRIS.target[:149]))
    counts = drawn.draw_counts(np.random.default_rng(0))
    assert (counts.sum(), counts.max()) == (74, 1)
    assert drawn.description == "half-samples: 74 of 149 rows drawn without replacement"
    assert drawn.error_factor == (74 / 75) ** 0.5


def test_half_samples_of_groups_and_of_rows_in_time_are_whole_groups_and_blocks():
    frame = IRIS.data.assign(g=np.repeat(np.arange(30), 5), y=IRIS.target)
    drawn = make_half_sampling(open_table(frame, "y", groups="g"))
    counts = drawn.draw_counts(np.random.default_rng(0)).reshape(30, 5)
    assert (counts == counts[:, :1]).all()
    assert counts.sum() == 75
    assert drawn.description == "half-samples: 15 of 30 groups drawn without replacement"
    when = np.random.default_rng(0).permutation(150)
    drawn = make_half_sampling(open_table(IRIS.data.assign(t=when, y=IRIS.target), "y", time="t"))
    assert drawn.description == "half-samples: 15 of 30 blocks of 5 consecutive rows in time drawn without replacement"
    counts = drawn.draw_counts(np.random.default_rng(0))[np.argsort(when)].reshape(30, 5)
    assert (counts == counts[:, :1]).all()
    assert counts.sum() == 75


def test_half_samples_halve_every_class_where_one_is_rare():
    y = np.repeat([0, 1], [60, 8])
    drawn = make_half_sampling(open_table(np.random.default_rng(0).normal(size=(68, 2)), y))
    rng = np.random.default_rng(0)
    assert {int(drawn.draw_counts(rng)[y == 1].sum()) for _ in range(20)} == {4}


def test_few_rows_or_groups_have_no_half_samples():
    few = open_table(IRIS.data[46:55], IRIS.target[46:55])
    assert make_half_sampling(few) == "9 rows are too few for half-samples"
    one = open_table(IRIS.data.assign(g=0, y=IRIS.target), "y", groups="g")
    assert make_half_sampling(one) == "1 group is too few for half-samples"


def test_a_row_that_represents_several_is_drawn_as_these_rows_are():
    X, y = IRIS.data[::5], IRIS.target[::5]
    when, copies = np.random.default_rng(1).permutation(30), np.arange(30) % 3 + 1
    rows = np.repeat(np.arange(30), copies)
    for make in (make_bootstrap, make_half_sampling):
        for roles in ({}, {"time": when}):
            frame = X.assign(y=y, **roles)
            by = {name: name for name in roles}
            short = make(open_table(frame, "y", **by), copies)
            long = make(open_table(frame.iloc[rows], "y", **by))
            assert short.description == long.description
            counts = long.draw_counts(np.random.default_rng(2))
            expected = np.bincount(rows, counts)
            assert short.draw_counts(np.random.default_rng(2)).tolist() == expected.tolist()
