"""CFS by best-first search with Weka's conventions: the time, and the same subset as Weka."""

from functools import cache

import numpy as np
import pytest

from tamiz import SubsetSelector, open_table
from tamiz.criteria import CFS
from tamiz.search import BestFirst

from .data import categorical
from .peers import needs_weka, record_weka, weka

# So many informative columns that Weka needs about 1.7 s and 44 s on the first two tables.
TABLES = {
    "20,000 x 300": lambda: categorical(20_000, 300, n_informative=20),
    "2,000 x 2,000": lambda: categorical(2_000, 2_000, n_informative=145),
    "100,000 x 500 of 5 values": lambda: categorical(100_000, 500, n_informative=40, n_values=5),
}
WEKA_REPEATS = {"20,000 x 300": 5, "2,000 x 2,000": 2}


def sizes(names):
    return pytest.mark.parametrize(
        "name",
        [
            pytest.param(name, marks=pytest.mark.benchmark(group=f"CFS best-first, categorical {name}"), id=slug(name))
            for name in names
        ],
    )


def slug(name):
    return name.replace(",", "").replace(" ", "_")


@cache
def codes(name):
    return TABLES[name]()


@cache
def weka_subset(name):
    return weka("cfs", *codes(name).weka_table(), repeats=WEKA_REPEATS[name])


def timed_fit(benchmark, rounds, *data):
    benchmark.extra_info["system"] = "tamiz"
    selector = SubsetSelector(CFS(convention="weka"), BestFirst())
    fitted = benchmark.pedantic(selector.fit, args=data, rounds=rounds, warmup_rounds=1)
    benchmark.extra_info["n_selected"] = int(fitted.support_.sum())
    return fitted


@sizes(TABLES)
def test_tamiz_from_a_data_frame(benchmark, name):
    benchmark.extra_info["form"] = "data frame"
    if name not in WEKA_REPEATS:
        benchmark.extra_info["target_seconds"] = 20
    timed_fit(benchmark, 3, *codes(name).frame())


@needs_weka
@sizes(WEKA_REPEATS)
def test_weka(benchmark, name):
    result = benchmark.pedantic(weka_subset, args=(name,), rounds=1)
    record_weka(benchmark, result)
    benchmark.extra_info["n_selected"] = len(result["subset"])


@needs_weka
@sizes(WEKA_REPEATS)
def test_tamiz_from_an_open_table_chooses_the_subset_of_weka(benchmark, name):
    benchmark.extra_info["form"] = "open table"
    fitted = timed_fit(benchmark, 3, open_table(*codes(name).frame()))
    assert np.flatnonzero(fitted.support_).tolist() == weka_subset(name)["subset"]
    assert fitted.merit_ == pytest.approx(weka_subset(name)["merit"], abs=1e-5)
