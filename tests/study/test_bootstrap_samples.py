"""Bootstrap samples: of rows, of whole groups, and of blocks in time."""

import numpy as np
from sklearn.datasets import load_iris

from tamiz import open_source
from tamiz._study.mean_rank import make_bootstrap

IRIS = load_iris(as_frame=True)


def test_a_sample_has_as_many_rows_as_the_table():
    drawn = make_bootstrap(open_source(IRIS.data, IRIS.target))
    counts = drawn.draw_counts(np.random.default_rng(0))
    assert (len(counts), counts.sum()) == (150, 150)
    assert counts.max() > 1
    assert drawn.description == "bootstrap: 150 rows drawn with replacement"


def test_groups_are_drawn_whole():
    frame = IRIS.data.assign(g=np.repeat(np.arange(30), 5), y=IRIS.target)
    drawn = make_bootstrap(open_source(frame, "y", groups="g"))
    counts = drawn.draw_counts(np.random.default_rng(0)).reshape(30, 5)
    assert counts.sum() == 150
    assert (counts == counts[:, :1]).all()
    assert drawn.description == "cluster bootstrap: 30 whole groups drawn with replacement, about 150 rows in all"


def test_rows_in_time_are_drawn_in_blocks_of_consecutive_ones():
    when = np.random.default_rng(0).permutation(150)
    drawn = make_bootstrap(open_source(IRIS.data.assign(t=when, y=IRIS.target), "y", time="t"))
    assert drawn.description == "block bootstrap: blocks of 5 consecutive rows in time, 150 rows in all"
    counts = drawn.draw_counts(np.random.default_rng(0))
    assert counts.sum() == 150
    times = when[counts > 0]
    assert np.mean(np.isin(times + 1, times)) > 0.8


def test_few_rows_or_groups_give_the_reason_instead():
    assert (
        make_bootstrap(open_source(IRIS.data[46:55], IRIS.target[46:55])) == "9 rows are too few for bootstrap samples"
    )
    few = open_source(IRIS.data.assign(g=np.arange(150) % 4, y=IRIS.target), "y", groups="g")
    assert make_bootstrap(few) == "4 groups are too few for bootstrap samples"
