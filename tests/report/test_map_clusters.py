"""The rules of clusters in the section of the maps: what each line states, and what is stated of the rows and columns."""

from __future__ import annotations

from typing import Any

import pytest

from tamiz.report.maps import cluster_centers, collect_clusters
from tamiz.report.records import MapClustersRecord, MapRecord
from tamiz.runtime.codec import from_json

from . import sample


@pytest.fixture
def clusters() -> dict[str, Any]:
    found: dict[str, Any] = sample.wine()["maps"][0]["clusters"]
    return found


def collected(clusters: dict[str, Any]) -> dict[str, Any]:
    found = collect_clusters(from_json(MapClustersRecord, clusters))
    assert found is not None
    return found


def test_a_line_states_the_rule_its_coverage_and_its_precision(clusters: dict[str, Any]) -> None:
    first, second = collected(clusters)["rules"]
    assert (first["name"], first["size"]) == ("Cluster 1", "89 rows")
    assert first["conditions"] == ["alcohol > 12.5", "cellar = a or b"]
    assert first["shares"] == "Covers 96% of the cluster; 98% of the rows with these values are in it."
    assert first["measured"] == "Measured on 47 rows of the cluster and 50 rows with these values"
    assert (second["size"], second["conditions"]) == ("12 rows", [])


def test_the_note_states_rows_without_a_cluster_samples_and_columns_left_out(clusters: dict[str, Any]) -> None:
    assert collected(clusters)["note"] == "77 rows belong to no cluster."
    clusters |= {"n_outside": 1, "n_mapped": 53_940, "n_columns": 10_000, "n_considered": 30}
    assert collected(clusters)["note"] == (
        "1 row belongs to no cluster. Computed on 178 of the 53,940 rows, drawn at random. Of 10,000 columns, the 30 with the "
        "largest correlations with an axis were considered."
    )
    assert collected(clusters | {"rules": []})["note"] == "Computed on 178 of the 53,940 rows, drawn at random."
    assert collected(clusters | {"rules": [], "n_mapped": 178})["note"] == ""


def test_of_many_clusters_the_largest_are_listed_and_numbered_on_the_map(clusters: dict[str, Any]) -> None:
    clusters["rules"] *= 8
    found = collected(clusters)
    assert (len(found["rules"]), found["note"]) == (
        12,
        "The other 4 clusters are smaller. 77 rows belong to no cluster.",
    )
    reduced = sample.wine()["maps"][0] | {"clusters": clusters}
    assert len(cluster_centers(from_json(MapRecord, reduced))) == 12
    line = reduced | {"axes": ["PC 1"], "points": None, "rows": []}
    assert cluster_centers(from_json(MapRecord, line)) == []


def test_a_table_without_columns_has_no_lines() -> None:
    assert collect_clusters(None) is None
    assert cluster_centers(from_json(MapRecord, sample.wine()["maps"][0] | {"clusters": None})) == []


@pytest.mark.parametrize(
    ("kind", "columns", "imputed"),
    [("missing", None, True), ("missing", ["ash"], True), ("missing", ["alcohol"], False), ("above", None, False)],
)
def test_a_cluster_of_missing_values_that_the_map_imputed_is_named_as_such(
    kind: str, columns: list[str] | None, imputed: bool, clusters: dict[str, Any]
) -> None:
    rule = clusters["rules"][0]
    rule["conditions"] = [{**rule["conditions"][0], "column": "ash", "kind": kind, "text": "ash is missing"}]
    shown = collect_clusters(from_json(MapClustersRecord, clusters), columns)
    assert shown is not None
    assert shown["rules"][0]["conditions"] == ["ash is missing (imputed)" if imputed else "ash is missing"]
    assert ("--dissimilarity gower" in shown["note"]) == imputed
