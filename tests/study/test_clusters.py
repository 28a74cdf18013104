from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.cluster import KMeans
from sklearn.datasets import load_iris, make_blobs
from sklearn.metrics import adjusted_rand_score, silhouette_score
from sklearn.preprocessing import StandardScaler

from tamiz import open_table, study
from tamiz._study import maps
from tamiz._study.maps import color_clusters
from tamiz.runtime.codec import to_json


def found(table, rows=None, seed=0, **roles):
    opened = open_table(table, **roles)
    clusters = color_clusters(opened, np.arange(opened.schema.n_rows) if rows is None else rows, seed)
    return clusters and to_json(clusters)


def frame(x):
    return pd.DataFrame(x, columns=[f"x{j}" for j in range(x.shape[1])])


def test_blobs_are_found_numbered_by_size_and_reported_with_their_silhouette():
    x, own = make_blobs([60, 90, 30, 45], centers=[[0, 0], [9, 0], [0, 9], [9, 9]], random_state=3)
    told = found(frame(x))
    assert adjusted_rand_score(own, told["values"]) == 1.0
    assert np.bincount(told["values"]).tolist() == [90, 60, 45, 30]
    assert told["levels"] == ["cluster 1", "cluster 2", "cluster 3", "cluster 4"]
    points = StandardScaler().fit_transform(x)
    assert told["silhouette"] == pytest.approx(silhouette_score(points, own), rel=1e-6)


def test_clusters_are_those_of_scikit_learn_on_standardised_columns():
    x = load_iris().data
    told = found(frame(x))
    points = StandardScaler().fit_transform(x)
    fitted = {k: KMeans(k, n_init=10, random_state=1).fit(points).labels_ for k in range(2, 9)}
    best = max(fitted.values(), key=lambda labels: silhouette_score(points, labels))
    assert adjusted_rand_score(best, told["values"]) == 1.0


def test_the_target_has_no_part_in_them():
    x, _ = make_blobs(80, centers=[[0, 0], [9, 9]], random_state=0)
    table = frame(x)
    target = np.arange(80) % 2
    assert found(table.assign(y=target), target="y")["values"] == found(table)["values"]


def test_rows_beyond_the_sample_belong_to_the_nearest_cluster(monkeypatch):
    monkeypatch.setattr(maps, "_MAX_ROWS", 60)
    x, own = make_blobs(600, centers=[[0, 0], [20, 0], [0, 20]], random_state=5)
    assert adjusted_rand_score(own, found(frame(x))["values"]) == 1.0


def test_only_the_rows_drawn_have_one():
    x, own = make_blobs(100, centers=[[0, 0], [20, 20]], random_state=5)
    rows = np.arange(0, 100, 7)
    assert adjusted_rand_score(own[rows], found(frame(x), rows)["values"]) == 1.0


def test_a_row_of_weight_two_counts_as_two_rows():
    # Without its weight the lone row is no cluster of its own.
    x, _ = make_blobs(60, centers=[[0, 0], [6, 6]], random_state=2)
    weighted = found(frame(x).assign(w=[3] * 20 + [1] * 40), weight="w")
    repeated = found(frame(np.concatenate([x, x[:20], x[:20]])))
    assert adjusted_rand_score(weighted["values"], repeated["values"][:60]) == 1.0


@pytest.mark.parametrize("values", [[1.0, 1.0, 1.0, 2.0, 2.0], [1.0, 2.0]])
def test_two_different_rows_are_no_clusters(values):
    assert found(pd.DataFrame({"x": values, "y": values})) is None


def test_categories_and_missing_values_take_part():
    rng = np.random.default_rng(0)
    side = np.repeat(["left", "right"], 40)
    table = pd.DataFrame({"side": side, "x": np.where(side == "left", 0, 9) + rng.normal(size=80)})
    table.loc[3, "x"] = np.nan
    assert adjusted_rand_score(side, found(table)["values"]) == 1.0


def test_a_study_colours_by_the_target_the_twelve_best_columns_and_the_clusters():
    rng = np.random.default_rng(1)
    y = np.repeat([0, 1], 60)
    table = frame(rng.normal(size=(120, 20)) + y[:, None] * np.linspace(0, 2, 20)).assign(y=np.where(y, "b", "a"))
    colors = study(table, "y", maps=["pca"], assess=False).to_dict()["colors"]
    assert [color["role"] for color in colors] == ["target", *["column"] * 12, "cluster"]
    assert {color["name"] for color in colors[1:4]} <= {"x19", "x18", "x17", "x16", "x15"}
    assert colors[1]["values"] == pytest.approx(table[colors[1]["name"]].tolist(), rel=1e-5)


@pytest.mark.slow
def test_as_many_rows_are_drawn_as_requested_and_at_most_2000_have_a_silhouette():
    rng = np.random.default_rng(1)
    table = frame(rng.normal(size=(2500, 3)))
    result = study(table, maps=["pca"], points=2300).to_dict()
    (pca,) = result["maps"]
    assert (len(pca["points"]), result["quality"]["n_rows"]) == (2300, 2000)
    stress = result["quality"]["maps"][0]["stress"]
    assert (len(stress), sum(value is not None for value in stress)) == (2300, 2000)
    points = np.array(pca["points"])
    assert len(np.unique(points, axis=0)) == 2300
    with pytest.raises(ValueError, match="points must be at least 2, got 0"):
        study(table, points=0)


@pytest.mark.slow
def test_points_are_exact_and_very_many_in_steps_finer_than_a_screen():
    from tamiz.reduction import PCA

    for n in (2000, 2100):
        table = frame(np.random.default_rng(1).normal(size=(n, 3)))
        result = study(table, maps=["pca"], points=3000).to_dict()
        points, first = np.array(result["maps"][0]["points"]), np.array(result["colors"][0]["values"])
        exact = PCA(2, standardize=True).fit_transform(table)
        span = np.ptp(exact, axis=0).max()
        assert np.abs(points - exact).max() <= (1e-12 if n == 2000 else span / 2**17)
        assert (len(repr(float(points[0, 0]))) > 12) == (n == 2000)
        assert np.array_equal(first, table[result["colors"][0]["name"]]) == (n == 2000)


def test_of_many_rows_fewer_columns_colour_the_maps(monkeypatch):
    table = open_table(np.random.default_rng(0).normal(size=(50, 15)))
    for values, n_colors in ((400_000, 12), (300, 6), (50, 4)):
        monkeypatch.setattr(maps, "_MAX_COLOR_VALUES", values)
        found = maps.collect_colors(table, np.arange(50), None)
        assert [one.name for one in found] == table.schema.names[:n_colors]
