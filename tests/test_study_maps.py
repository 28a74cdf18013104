"""The maps of a study: methods, rows, and quality compared."""

from importlib.resources import files
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import spatial
from sklearn.datasets import make_swiss_roll
from tests.sentences import sentences

import tamiz
from tamiz import open_table
from tamiz._study.maps import chance_trustworthiness, resolve_maps
from tamiz.cli.study import study as study_command
from tamiz.exceptions import DataError
from tamiz.graphs import Binary, KNearest
from tamiz.metrics import quality, rank_agreement, shepard
from tamiz.neighbors.metrics import METRICS
from tamiz.reduction import (
    ICA,
    MDS,
    PCA,
    ClassicalMDS,
    LandmarkMDS,
    LaplacianEigenmaps,
    LocallyLinearEmbedding,
)
from tamiz.reduction.named_maps import list_map_methods
from tamiz.table.views import select_rows

PENGUINS = files("tamiz.datasets") / "penguins.csv"
README = Path(__file__).parent.parent / "README.md"

pytestmark = pytest.mark.filterwarnings("ignore::tamiz.exceptions.TamizWarning")


def study(*data, map_columns="all", **more):
    """A study that searches once, with maps of all columns."""
    return tamiz.study(*data, assess=False, map_columns=map_columns, **more)


def test_the_default_maps_are_those_that_the_documentation_names(table):
    named = "PCA, metric and ordinal MDS, Laplacian eigenmaps and UMAP"
    usual = [one.label for one in resolve_maps(None, table.schema, "seuclidean")]
    assert usual == ["PCA", "Metric MDS", "Ordinal MDS", "Laplacian eigenmaps", "UMAP"]
    reduce_help = next(option.help for option in study_command.params if "--reduce" in option.opts)
    for text in (tamiz.study.__doc__, reduce_help, README.read_text(encoding="utf-8")):
        assert named in " ".join(text.split())


@pytest.fixture(scope="module")
def table():
    return open_table(str(PENGUINS), "species")


@pytest.fixture(scope="module")
def found(table):
    return study(table).to_dict()


@pytest.fixture
def long_table(monkeypatch):
    """600 rows where 100 are drawn, with gaps and categories."""
    monkeypatch.setattr("tamiz._study.run.MAX_SHOWN_ROWS", 100)
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(600, 3)), columns=["a", "b", "c"])
    X["b"] += 3 * X["a"]
    X.loc[::50, "c"] = np.nan
    X["kind"] = np.where(X["a"] > 0, "up", "down")
    return X


@pytest.fixture
def sampled(monkeypatch):
    """The rows that maps are fitted on, in the order in which they are shown."""
    from tamiz.reduction import table_embedding

    draw, drawn = table_embedding.sample_including, []
    monkeypatch.setattr(table_embedding, "sample_including", lambda *a: drawn.append(draw(*a)) or drawn[-1])
    return drawn


def by_id(result):
    return {drawn["id"]: drawn for drawn in result["maps"]}


def test_metric_and_ordinal_maps_of_standardised_columns_are_drawn_beside_the_others(found, table):
    assert [(drawn["id"], drawn["label"]) for drawn in found["maps"]] == [
        ("pca", "PCA"),
        ("mds:metric", "Metric MDS"),
        ("mds:ordinal", "Ordinal MDS"),
        ("laplacian_eigenmaps", "Laplacian eigenmaps"),
        ("umap", "UMAP"),
    ]
    for kind in ("metric", "ordinal"):
        drawn = by_id(found)[f"mds:{kind}"]
        expected = MDS(kind=kind, dissimilarity="seuclidean").fit(table)
        assert drawn["points"] == expected.embedding_.tolist()
        assert f"Kruskal's stress-1 is {expected.stress_:.3g}" in drawn["notes"][0]
        assert drawn["notes"][1:] == [f"SMACOF converged in {expected.n_iter_} iterations."]


def test_a_search_that_was_cut_off_is_reported_at_the_map(table):
    (drawn,) = study(table, relevances=[], maps=[MDS(max_iter=1)]).to_dict()["maps"]
    assert drawn["notes"][1] == "SMACOF did not converge within 1 iteration; the stress was still decreasing."


def test_maps_of_pairs_are_fitted_on_a_sample_and_the_others_on_all_rows():
    pairs = [MDS(), MDS(kind="interval"), MDS(kind="ordinal"), ClassicalMDS(dissimilarity="gower")]
    assert [reducer.max_study_rows for reducer in pairs] == [2000, 2000, 1000, 2000]
    rows = [PCA(), ClassicalMDS(), LandmarkMDS(dissimilarity="gower"), LaplacianEigenmaps()]
    assert [reducer.max_study_rows for reducer in rows] == [None] * 4


def test_rows_that_are_drawn_and_not_in_the_sample_are_placed_by_their_distances(long_table, sampled):
    maps = [MDS(dissimilarity="seuclidean"), MDS(dissimilarity="gower"), PCA()]
    first, second, pca = study(long_table, maps=maps, map_rows=60).to_dict()["maps"]
    shown = np.array(pca["rows"])
    assert (len(sampled), len(shown), first["rows"], second["rows"]) == (2, 100, pca["rows"], pca["rows"])
    assert np.isin(sampled[0], shown).all()
    np.testing.assert_array_equal(*sampled)
    fitted = long_table.iloc[sampled[0]].reset_index(drop=True)
    for drawn, reducer in zip((first, second), maps, strict=False):
        reducer.fit(fitted)
        np.testing.assert_allclose(drawn["points"], reducer.transform(long_table.iloc[shown]), atol=1e-9)
        assert drawn["notes"][-1] == (
            "Fitted on 60 of the 600 rows, drawn at random; the other 40 rows that are shown were mapped by the out-of-sample "
            "extension."
        )
        explained = drawn["explanation"]
        assert (explained["n_rows"], explained["n_mapped"]) == (100, 600)


def test_a_sample_of_more_rows_than_are_drawn_contains_all_of_these(long_table, sampled):
    (drawn,) = study(long_table, maps=["mds"], map_rows=250).to_dict()["maps"]
    assert drawn["notes"][-1] == "Fitted on 250 of the 600 rows, drawn at random."
    (rows,) = sampled
    expected = MDS(dissimilarity="seuclidean").fit(long_table.iloc[rows].reset_index(drop=True))
    assert np.isin(drawn["rows"], rows).all()
    shown = np.searchsorted(rows, drawn["rows"])
    np.testing.assert_allclose(drawn["points"], expected.embedding_[shown], atol=1e-9)
    assert (drawn["explanation"]["n_rows"], drawn["explanation"]["n_mapped"]) == (250, 600)


def test_a_map_that_is_fitted_on_a_sample_has_the_graph_of_the_sample(long_table, sampled):
    table = long_table[["a", "b"]]
    (drawn,) = study(table, relevances=[], maps=["locally-linear-embedding:ltsa"], map_rows=250).to_dict()["maps"]
    (rows,) = sampled
    graph = KNearest(15, weight=Binary(), metric="seuclidean")
    fitted = LocallyLinearEmbedding(method="ltsa", graph=graph).fit(table.iloc[rows].reset_index(drop=True))
    shown = np.searchsorted(rows, drawn["rows"])
    np.testing.assert_allclose(drawn["points"], fitted.embedding_[shown], atol=1e-9)
    assert drawn["notes"][-1] == "Fitted on 250 of the 600 rows, drawn at random."


def test_a_table_of_no_more_rows_is_mapped_whole(long_table, sampled):
    (drawn,) = study(long_table, maps=["mds"], map_rows=600).to_dict()["maps"]
    assert (sampled, len(drawn["points"]), drawn["explanation"]["n_rows"]) == ([], 100, 600)
    assert not any("drawn at random" in note for note in drawn["notes"])


def test_map_rows_below_two_are_refused(table):
    with pytest.raises(ValueError, match="map_rows must be at least 2, got 1"):
        study(table, map_rows=1)


@pytest.mark.slow
def test_one_thread_and_two_draw_the_same_maps_of_a_sample_that_is_kept_or_read_again(long_table, monkeypatch):
    kept = study(long_table, "kind", map_rows=60, n_jobs=1).to_dict()
    assert kept["quality"]["n_rows"] == 100
    monkeypatch.setattr("tamiz.table.views._MAX_MEMORY_BYTES", 0)
    assert study(long_table, "kind", map_rows=60, n_jobs=2).to_dict() == kept


@pytest.mark.slow
def test_the_sample_does_not_depend_on_whether_points_are_kept(long_table):
    settings = {"relevances": [], "map_rows": 60}
    with_points, without = (study(long_table, points=points, **settings).to_dict() for points in (True, False))
    measures = [[one["measures"] for one in result["quality"]["maps"]] for result in (without, with_points)]
    assert measures[0] == measures[1]
    assert [m["explanation"] for m in without["maps"]] == [m["explanation"] for m in with_points["maps"]]


def test_a_table_on_disk_is_read_once_for_a_sample(table, monkeypatch):
    sample, read = select_rows(table, np.arange(0, 344, 2)), []
    monkeypatch.setattr(type(table), "blocks", lambda *_: read.append(1) or iter(()))
    (block,) = sample.blocks([2, 4])
    assert (read, list(block.values), len(block.values[2])) == ([], [2, 4], 172)
    assert sample.schema.columns[2].n_missing == np.isnan(block.values[2]).sum()


@pytest.mark.parametrize(
    ("name", "id_", "label"),
    [
        ("mds", "mds:metric", "Metric MDS"),
        ("mds:ordinal", "mds:ordinal", "Ordinal MDS"),
        ("mds:interval", "mds:interval", "Interval MDS"),
        ("classical-mds", "classical_mds", "Classical MDS"),
        ("Landmark_MDS", "landmark_mds", "Landmark MDS"),
        ("laplacian-eigenmaps", "laplacian_eigenmaps", "Laplacian eigenmaps"),
        ("isomap", "isomap", "Isomap"),
        ("locally-linear-embedding", "locally_linear_embedding:standard", "Locally linear embedding"),
        ("locally-linear-embedding:ltsa", "locally_linear_embedding:ltsa", "Local tangent space alignment"),
    ],
)
def test_a_map_is_asked_for_by_its_name(table, name, id_, label):
    (drawn,) = study(table, relevances=[], maps=[name]).to_dict()["maps"]
    assert (drawn["id"], drawn["label"], len(drawn["points"])) == (id_, label, 344)


def test_locally_linear_embedding_is_described_by_its_method_and_its_components():
    X, _ = make_swiss_roll(300, random_state=0)
    two = pd.DataFrame(np.concatenate([X[:200], X + 500]), columns=list("abc"))
    (drawn,) = study(two, relevances=[], maps=["locally-linear-embedding:ltsa"]).to_dict()["maps"]
    assert "nearly linear functions" in drawn["notes"][0]
    assert "2 components" in drawn["notes"][1]
    assert "of the largest, of 300 rows" in drawn["notes"][1]
    assert len(drawn["spectrum"]["values"]) == 2
    assert drawn["spectrum"]["label"] == "Eigenvalue"
    for method, note in {"standard": "the weights that", "modified": "several sets", "hessian": "curvature"}.items():
        own = LocallyLinearEmbedding(method=method)
        (drawn,) = study(two.iloc[200:], relevances=[], maps=[own]).to_dict()["maps"]
        assert note in drawn["notes"][0]


def test_every_method_of_the_registry_draws_its_maps(table):
    for method in list_map_methods():
        assert isinstance(method.make_reducer(table.schema, "seuclidean"), method.entry.load())


@pytest.mark.parametrize(
    ("name", "sentence"),
    [
        (
            "mds:ordnal",
            r"'mds:ordnal' is no map \(did you mean 'mds:ordinal'\?\); there are: pca, classical-mds, mds:metric, ",
        ),
        ("pca:metric", "'pca:metric' is no map"),
        ("phate", "'phate' is no map; there are: pca"),
    ],
)
def test_a_map_that_is_not_there_is_reported_before_the_table_is_read(name, sentence):
    with pytest.raises(ValueError, match=sentence):
        study("absent.csv", maps=[name])


def test_objects_that_are_no_map_are_refused(table):
    with pytest.raises(TypeError, match=r"^maps must contain names .* got 5\."):
        study(table, maps=[5])


def test_two_maps_of_one_method_are_distinguished(table):
    maps = study(table, relevances=[], maps=[MDS(), MDS(kind="ordinal"), "mds"], map_rows=60).to_dict()["maps"]
    assert [drawn["id"] for drawn in maps] == ["mds_1", "mds_2", "mds:metric"]
    assert [drawn["label"] for drawn in maps] == ["MDS()", "MDS(kind='ordinal')", "Metric MDS"]


def test_every_number_of_every_map_is_that_of_its_card(found, table):
    labels = np.concatenate([block.y for block in table.blocks([])])
    judged = found["quality"]
    assert judged["metric"] == {"id": "seuclidean", "label": METRICS["seuclidean"]}
    assert (judged["n_rows"], judged["n_neighbors"]) == (344, 15)
    for k, drawn in enumerate(found["maps"]):
        card = quality(table, np.array(drawn["points"]), metric="seuclidean", labels=labels)
        one = judged["maps"][k]
        assert [measure["name"] for measure in one["measures"]] == [measure.name for measure in card.measures]
        for measure in one["measures"]:
            # In the matrix of distances, those that differ by rounding only are ties.
            assert measure["value"] == pytest.approx(card[measure["name"]].value, rel=1e-8)
            assert measure["larger_is_better"] == card[measure["name"]].larger_is_better
        np.testing.assert_allclose(one["stress"], card.points.stress, rtol=1e-9)
        np.testing.assert_allclose(one["trust"], card.points.trustworthiness, rtol=1e-9)
        assert one["n_chance_rows"] == (card.points.trustworthiness <= judged["chance_trust"]).sum()
        curve = rank_agreement(table, np.array(drawn["points"]), metric="seuclidean")
        np.testing.assert_allclose(one["r_nx"], curve.r_nx[np.array(judged["sizes"]) - 1], rtol=1e-9)
    assert 15 in judged["sizes"]
    drawn = [np.array(one["points"]) for one in found["maps"]]
    expected = [
        [0.0 if i == j else spatial.procrustes(a, b)[2] for j, b in enumerate(drawn)] for i, a in enumerate(drawn)
    ]
    np.testing.assert_allclose(judged["shape_distances"], expected, atol=1e-12)


@pytest.mark.slow
def test_the_chance_level_of_a_row_is_that_of_maps_with_shuffled_rows():
    rng = np.random.default_rng(1)
    for n, k in ((300, 15), (40, 7)):
        X = rng.normal(size=(n, 4))
        values = [
            quality(X, rng.permutation(X[:, :2]), n_neighbors=k).points.trustworthiness for _ in range(4000 // n + 2)
        ]
        assert chance_trustworthiness(n, k) == pytest.approx(np.quantile(np.concatenate(values), 0.95), abs=0.012)


def test_every_row_has_the_rows_that_are_nearest_to_it_in_the_table():
    X = np.random.default_rng(0).normal(size=(40, 3))
    result = study(X, maps=["pca"], dissimilarity="euclidean").to_dict()
    away = spatial.distance.cdist(X, X)
    assert result["quality"]["nearest"] == np.argsort(away, axis=1)[:, 1:11].tolist()


def test_pairs_of_rows_are_described_by_their_distances_at_the_best_scale_of_each_map(found):
    X = np.random.default_rng(0).normal(size=(20, 3))
    result = study(X, maps=["pca", "mds"], dissimilarity="euclidean").to_dict()
    judged = result["quality"]
    assert (judged["all_pairs"], len(judged["pairs"])) == (True, 190)
    for drawn, one in zip(result["maps"], judged["maps"], strict=True):
        expected = shepard(X, np.array(drawn["points"]))
        np.testing.assert_allclose(judged["pairs"], expected.dissimilarities, rtol=1e-12)
        np.testing.assert_allclose(one["pairs"], expected.scale * expected.distances, rtol=1e-9)
    assert (found["quality"]["all_pairs"], len(found["quality"]["pairs"])) == (False, 600)


def test_the_quality_of_maps_is_computed_from_the_rows_that_are_drawn(long_table):
    result = study(long_table, maps=["pca", "mds"], map_rows=60).to_dict()
    assert result["quality"]["n_rows"] == 100
    part = long_table.iloc[result["maps"][0]["rows"]].reset_index(drop=True)
    for k, drawn in enumerate(result["maps"]):
        card = quality(part, np.array(drawn["points"]), metric="seuclidean")
        values = {measure["name"]: measure["value"] for measure in result["quality"]["maps"][k]["measures"]}
        assert values == pytest.approx({measure.name: measure.value for measure in card.measures}, rel=1e-9)


@pytest.mark.parametrize("name", ["gower", "cityblock", "cosine", "euclidean"])
def test_another_dissimilarity_is_that_of_the_maps_and_of_their_quality(table, name):
    table = select_rows(table, np.arange(0, 344, 3))
    result = study(table, relevances=[], maps=["mds", "pca"], dissimilarity=name).to_dict()
    expected = MDS(dissimilarity=name, random_state=0).fit(table)
    assert result["maps"][0]["points"] == expected.embedding_.tolist()
    assert result["quality"]["metric"]["id"] == name
    measures = [measure for one in result["quality"]["maps"] for measure in one["measures"]]
    stress = [measure["value"] for measure in measures if measure["name"] == "kruskal_stress"]
    assert stress[0] == pytest.approx(expected.stress_, rel=1e-5)
    assert stress[0] < stress[1]


def test_distances_that_are_given_are_no_table(table):
    with pytest.raises(ValueError, match=r"dissimilarity must be one of 'seuclidean', .*, got 'precomputed'"):
        study(table, dissimilarity="precomputed")


@pytest.fixture(scope="module")
def by_numbers():
    """A study of the penguins with its default maps, and their columns of more than twelve numbers."""
    frame = pd.read_csv(str(PENGUINS))
    numeric = ["bill_length_mm", "bill_depth_mm", "flipper_length_mm", "body_mass_g"]
    return frame, numeric, tamiz.study(frame, "species", assess=False).to_dict()


def test_default_maps_their_graph_and_their_quality_use_the_numeric_columns(by_numbers):
    frame, numeric, found = by_numbers
    # The year has three values: as a number it makes three stripes.
    assert found["map_columns"] == numeric
    alone = tamiz.study(frame[[*numeric, "species"]], "species", assess=False).to_dict()
    assert alone["map_columns"] is None
    for with_others, without in zip(found["maps"], alone["maps"], strict=True):
        for part in ("points", "spectrum", "loadings"):
            assert with_others[part] == without[part]
    for part in ("graph", "quality"):
        assert found[part] == alone[part]
    clusters = [[one for one in result["colors"] if one["role"] == "cluster"] for result in (found, alone)]
    assert clusters[0] == clusters[1]


def test_columns_that_the_maps_do_not_use_explain_them_and_colour_them(by_numbers):
    _, numeric, found = by_numbers
    for drawn in found["maps"]:
        assert set(drawn["explanation"]["columns"]) == {*numeric, "island", "sex", "year"}
        assert drawn["clusters"]["n_columns"] == 7
    assert {"island", "sex", "year"} < {color["name"] for color in found["colors"]}
    # All columns are ranked, on the graph of the numeric ones too.
    assert found["ranking"]["columns"] == [*numeric[:0], "island", *numeric, "sex", "year"]
    assert None not in found["ranking"]["scores"]["laplacian_score"]


@pytest.mark.parametrize(
    ("columns", "kept", "used"),
    [
        # Two numbers are too few.
        (["island", "bill_length_mm", "bill_depth_mm"], {}, None),
        (["island", "bill_length_mm", "bill_depth_mm", "body_mass_g"], {"map_columns": "all"}, None),
        (["island", "bill_length_mm", "bill_depth_mm", "body_mass_g"], {"dissimilarity": "gower"}, None),
        (["bill_length_mm", "bill_depth_mm", "body_mass_g"], {}, None),
        (["island", "sex", "body_mass_g"], {"map_columns": ["sex", "island"]}, ["island", "sex"]),
        (["island", "sex"], {"map_columns": ["sex", "island"]}, None),
    ],
)
def test_all_columns_are_used_where_numbers_are_few_and_others_where_they_are_named(columns, kept, used):
    frame = pd.read_csv(str(PENGUINS))[columns]
    found = tamiz.study(frame, assess=False, relevances=[], maps=["mds"], **kept).to_dict()
    assert found["map_columns"] == used
    expected = MDS(dissimilarity=kept.get("dissimilarity", "seuclidean")).fit(frame if used is None else frame[used])
    assert found["maps"][0]["points"] == expected.embedding_.tolist()


@pytest.mark.parametrize(
    ("map_columns", "error", "sentence"),
    [
        (
            ["bill_lenght_mm"],
            DataError,
            r"names bill_lenght_mm, which is no column of the table \(did you mean 'bill_length_mm'\?\)",
        ),
        (["island", "id"], DataError, "names id, which is excluded: "),
        ([], ValueError, "must name at least one column"),
        ("numbers", ValueError, "map_columns must be one of 'numeric', 'all', got 'numbers'"),
    ],
)
def test_columns_that_a_map_cannot_use_are_reported(map_columns, error, sentence):
    frame = pd.read_csv(str(PENGUINS)).drop(columns="species")
    frame["id"] = [f"p{k}" for k in range(len(frame))]
    with pytest.raises(error, match=sentence):
        tamiz.study(frame, map_columns=map_columns)


class Flat(PCA):
    """A map of one place."""

    def fit(self, X, y=None):
        super().fit(X, y)
        self.embedding_ = np.zeros_like(self.embedding_)
        return self


def test_independent_components_are_described(table):
    (drawn,) = study(table, relevances=[], maps=["ica"]).to_dict()["maps"]
    ica = ICA(standardize=True, random_state=0).fit(table)
    assert (drawn["id"], drawn["label"], drawn["points"]) == ("ica", "ICA", ica.embedding_.tolist())
    assert drawn["axes"] == ica.axis_names_
    assert (drawn["spectrum"]["label"], drawn["spectrum"]["values"]) == (
        "Negentropy value",
        ica.negentropy_.tolist(),
    )
    assert "rotated to be as independent as possible" in drawn["notes"][0]


def test_a_map_without_quality_is_reported_and_the_others_have_theirs(table):
    result = study(table, relevances=[], maps=[Flat(), PCA()]).to_dict()
    assert any(
        told.startswith("The quality of Flat is left out: All rows of the embedding have the same coordinates")
        for told in sentences(result)
    )
    judged = result["quality"]
    assert judged["maps"][0] is None
    assert judged["maps"][1]["measures"]


def test_without_any_quality_there_is_no_card():
    result = study(pd.DataFrame({"a": [1.0] * 20, "b": [2.0] * 20})).to_dict()
    assert result["quality"] is None
    left_out = [told.partition(":")[0] for told in sentences(result) if "left out" in told]
    assert left_out == [
        "The graph of the rows is left out",
        "Metric MDS is left out",
        "Ordinal MDS is left out",
        "The quality of PCA is left out",
    ]


def test_a_weighted_table_has_no_maps_of_pairs_and_states_the_reason(table):
    weighted = open_table(pd.read_csv(str(PENGUINS)), "species", weight=np.arange(344) % 3 + 1.0)
    result = study(weighted, relevances=[]).to_dict()
    assert list(by_id(result)) == ["pca", "laplacian_eigenmaps", "umap"]
    assert any(
        told.startswith("Metric MDS is left out: MDS does not support sample weights") for told in sentences(result)
    )


def test_control_c_in_a_map_keeps_those_that_were_drawn(table, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(MDS, "fit", interrupted)
    result = study(table).to_dict()
    assert list(by_id(result)) == ["pca"]
    assert result["interruption"].startswith("Interrupted in the step 'maps'")
    assert (result["quality"], result["colors"][0]["name"]) == (None, "species")


def test_control_c_in_the_quality_keeps_the_maps(table, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("tamiz._study.maps.quality", interrupted)
    result = study(table, relevances=[]).to_dict()
    assert (len(result["maps"]), result["quality"]) == (5, None)
    assert result["interruption"].startswith("Interrupted in the step 'quality'")
