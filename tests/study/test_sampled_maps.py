"""Warnings of maps that are fitted on a sample."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from tamiz import open_table, study
from tamiz._study.maps import resolve_maps
from tamiz.criteria import Variance
from tamiz.exceptions import DataError
from tamiz.reduction import MDS, PCA, table_embedding
from tamiz.reduction.table_embedding import fit_map
from tamiz.runtime.user_warnings import capture_warnings


def test_excluded_columns_of_a_table_are_not_reported_again_for_its_sample():
    values = np.random.default_rng(0).normal(size=(60, 2))
    table = pd.DataFrame(values, columns=["a", "b"]).assign(row=np.arange(1, 61))
    opened = open_table(table)
    assert opened.schema.excluded_column_notes
    with capture_warnings() as told:
        mapped = fit_map(MDS(), opened, np.arange(10), 30, 0)
    assert mapped.n_fitted == 30
    assert not [sentence for sentence in told if "no part" in sentence]


def test_of_a_map_of_very_many_rows_a_sample_is_embedded_at_the_same_places(monkeypatch):
    table = open_table(np.random.default_rng(0).normal(size=(500, 4)))
    whole = fit_map(PCA(2), table, np.arange(0, 500, 10), None, 0)
    monkeypatch.setattr(table_embedding, "_MAX_EMBEDDED_VALUES", 400)
    part = fit_map(PCA(2), table, np.arange(0, 500, 10), None, 0)
    assert (len(part.embedding), part.n_fitted, part.sampling_notes()) == (200, 500, [])
    shown = np.arange(0, 500, 10)
    np.testing.assert_array_equal(part.embedding_of(shown), whole.embedding_of(shown))


@pytest.mark.parametrize("n_rows", [5, 60, 91])
def test_tsne_on_a_sample_has_as_many_neighbours_as_the_sample_allows(n_rows):
    table = np.random.default_rng(0).normal(size=(120, 3))
    (request,) = resolve_maps(["tsne"], open_table(table).schema, "seuclidean", n_rows)
    mapped = fit_map(request.reducer, open_table(table), np.arange(10), n_rows, 0)
    # 3 neighbours for each unit of the perplexity, which is at least 1 and here at most 30.
    assert mapped.n_fitted == n_rows
    assert mapped.reducer.perplexity_ == pytest.approx(min(30, (n_rows - 1) / 3))


def test_a_small_sample_limits_only_maps_that_are_fitted_on_samples():
    schema = open_table(np.random.default_rng(0).normal(size=(120, 8))).schema
    pca, mds, tsne = (
        one.reducer for one in resolve_maps(["pca", "classical_mds", "tsne"], schema, "seuclidean", max_rows=2)
    )
    assert pca.n_components == 8
    assert mds.n_components == 1
    assert tsne.graph.n_neighbors == 1
    (of_all_rows,) = resolve_maps(["tsne"], schema, "seuclidean")
    assert of_all_rows.reducer.graph.n_neighbors == 90


def test_a_study_with_tsne_of_few_rows_shows_the_map():
    table = pd.DataFrame(np.random.default_rng(0).normal(size=(120, 3)), columns=["a", "b", "c"])
    result = study(table, maps=["tsne"], map_rows=60, assess=False, relevances=[Variance()])
    (drawn,) = result.record.maps
    assert any(note.startswith("Fitted on 60 of the 120 rows") for note in drawn.notes)


@pytest.mark.parametrize("method", ["standard", "modified", "ltsa"])
def test_a_graph_on_a_sample_has_as_many_neighbours_as_the_sample_allows(method):
    table = pd.DataFrame(np.random.default_rng(0).normal(size=(120, 3)), columns=["a", "b", "c"])
    asked = {"maps": [f"locally-linear-embedding:{method}"], "map_rows": 10, "relevances": [Variance()]}
    result = study(table, assess=False, **asked)
    told = "On a sample of 10 rows: the graph has 9 neighbours of a row instead of 15"
    assert any(told in one for one in result.record.warnings)
    (drawn,) = result.record.maps
    assert any(note.startswith("Fitted on 10 of the 120 rows") for note in drawn.notes)


@pytest.mark.parametrize(("name", "n_rows"), [("mds:ordinal", 2), ("locally-linear-embedding:hessian", 4)])
def test_an_error_on_a_sample_names_the_parameter_of_its_size(name, n_rows):
    table = pd.DataFrame(np.random.default_rng(0).normal(size=(120, 3)), columns=["a", "b", "c"])
    with (
        capture_warnings(),
        pytest.raises(DataError, match=f"On a sample of {n_rows} rows, which .* --map-rows sets: "),
    ):
        study(table, maps=[name], map_rows=n_rows, assess=False, relevances=[Variance()])
