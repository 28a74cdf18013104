"""A study contains the results of its parts, and nothing that was not requested."""

import base64
import json
import re
import warnings
from dataclasses import replace
from importlib.resources import files

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris, make_blobs
from tests.sentences import sentences

import tamiz
from tamiz import RankSelector, SubsetSelector, open_table, selection_report
from tamiz._study import models
from tamiz.criteria import (
    CFS,
    MDL,
    CrossValidated,
    Entropy,
    EqualFrequency,
    InformationGain,
    LaplacianScore,
    Variance,
    fisher_score,
    registry,
)  # fmt: skip
from tamiz.exceptions import DataError, TamizWarning
from tamiz.graphs import Binary, ConnectedRadius, Graph, HeatKernel, KNearest, Radius, SameClass
from tamiz.reduction import PCA, UMAP, LaplacianEigenmaps, axis_correlations, cluster_rules
from tamiz.reduction.base import ImageSet
from tamiz.reduction.named_maps import find_map_method
from tamiz.report import Result
from tamiz.report.columns import ranking_notes
from tamiz.search import BestFirst, Evaluations, Forward, RandomSubsets
from tamiz.statistics.cuts import CutPoints

PENGUINS = files("tamiz.datasets") / "penguins.csv"

USUAL = KNearest(15, weight=Binary(), metric="seuclidean")

pytestmark = [
    pytest.mark.usefixtures("few_models"),
    pytest.mark.filterwarnings("ignore::tamiz.exceptions.TamizWarning"),
]


def study(*data, assess=False, map_columns="all", **more):
    """A study that searches once, with maps of all columns; what repeats the search a hundred times has tests of its own."""
    return tamiz.study(*data, assess=assess, map_columns=map_columns, **more)


@pytest.fixture(scope="module")
def penguins():
    return pd.read_csv(str(PENGUINS))


@pytest.fixture(scope="module")
def table():
    return open_table(str(PENGUINS), "species")


@pytest.fixture(scope="module")
def result(few_models):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", TamizWarning)
        return study(str(PENGUINS), "species", selector=SubsetSelector(CFS()), assess=None, n_jobs=2)


@pytest.fixture(scope="module")
def found(result):
    return result.to_dict()


def test_a_study_is_read_as_it_was_written(result, tmp_path):
    again = Result.from_json(result.to_json(tmp_path / "a.json"))
    assert again.record == result.record
    assert again.page() == result.page()


def test_the_table_is_described_as_pandas_counts_it(found, penguins):
    table = found["table"]
    assert (table["n_rows"], table["n_rows_used"]) == penguins.shape[:1] * 2
    assert (table["target"], table["target_summary"]) == ("species", None)
    counts = penguins["species"].value_counts()
    assert {c["name"]: c["weight"] for c in table["classes"]} == counts.to_dict()
    assert [column["name"] for column in table["columns"]] == list(penguins.columns.drop("species"))
    for column in table["columns"]:
        values = penguins[column["name"]]
        assert column["n_missing"] == values.isna().sum()
        if column["kind"] == "numeric":
            summary = [column["numbers"][name] for name in ("mean", "sd", "min", "max")]
            np.testing.assert_allclose(summary, [values.mean(), values.std(), values.min(), values.max()], rtol=1e-12)
        else:
            assert column["levels"] == sorted(values.dropna().unique())


def test_the_ranking_is_that_of_the_selectors(found, table):
    ranking = found["ranking"]
    assert [criterion["id"] for criterion in ranking["criteria"]] == [
        e.name for e in registry.of_kind("relevance") if e.load().used_by_default
    ]
    for criterion in ranking["criteria"]:
        relevance = registry[criterion["id"]].load()()
        if criterion["id"] == "laplacian_score":
            relevance.set_params(graph=USUAL)
        expected = RankSelector(relevance).fit(table).scores_
        assert ranking["scores"][criterion["id"]] == expected.tolist()
    assert ranking["columns"] == table.schema.names


def test_the_cuts_are_those_of_mdl(found, table):
    (points,) = table.reduce(CutPoints(table.schema.numeric, MDL(), 3))
    expected = {table.schema.names[j]: edges.tolist() for j, edges in points.edges.items()}
    assert found["ranking"]["cut_points"] == expected
    assert any(expected.values())


def test_the_subset_is_that_of_the_selector(found, table):
    selector = SubsetSelector(CFS(), BestFirst()).fit(table)
    subset = found["subset"]
    assert subset["columns"] == selector.get_feature_names_out().tolist()
    assert subset["value"] == selector.merit_
    assert subset["n_evaluations"] == selector.n_evaluations_
    assert subset["stopped"] == selector.archive_.stop_reason
    assert subset["course"][-1]["columns"] == subset["columns"]
    assert subset["points"]["merits"] == selector.archive_.merits.tolist()
    assert subset["points"]["sizes"] == selector.archive_.sizes.tolist()
    assert (subset["n_recorded"], subset["bound"]) == (subset["n_evaluations"], None)
    assert (subset["merit"]["id"], subset["search"]["id"]) == ("cfs", "best_first")


def test_the_best_set_of_every_size_is_on_the_frontier_with_its_columns(found, table):
    archive = SubsetSelector(CFS(), BestFirst()).fit(table).archive_
    names = np.array(table.schema.names)
    frontier = found["subset"]["frontier"]
    assert [best["size"] for best in frontier] == sorted(set(archive.sizes.tolist()))
    for best in frontier:
        number = int(np.argmax(np.where(archive.sizes == best["size"], archive.merits, -np.inf)))
        assert (best["merit"], best["columns"]) == (archive.merits[number], names[archive.mask(number)].tolist())
    assert {"size": 4, "merit": found["subset"]["value"], "columns": found["subset"]["columns"]} in frontier


def test_of_many_sets_the_best_and_the_worst_of_every_size_are_drawn_and_others_evenly(monkeypatch):
    monkeypatch.setattr("tamiz.selection.subset_report._MAX_DRAWN", 60)
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 3, size=(60, 12)), rng.integers(0, 2, size=60)
    search = RandomSubsets(500)
    archive = SubsetSelector(CFS(), search, random_state=0).fit(X, y).archive_
    subset = study(X, y, relevances=[], maps=[], selector=SubsetSelector(search=search)).to_dict()["subset"]
    drawn = subset["points"]
    assert len(drawn["sizes"]) <= 60 < subset["n_recorded"] == len(archive) == 500
    for size in set(archive.sizes.tolist()):
        merits = archive.merits[archive.sizes == size]
        kept = [m for s, m in zip(drawn["sizes"], drawn["merits"], strict=True) if s == size]
        assert (max(kept), min(kept)) == (merits.max(), merits.min())
    assert set(zip(drawn["sizes"], drawn["merits"], strict=True)) <= set(
        zip(archive.sizes, archive.merits, strict=True)
    )


def test_of_very_many_sizes_some_are_on_the_frontier_and_the_chosen_one_is_among_them(monkeypatch):
    monkeypatch.setattr("tamiz.selection.subset_report._MAX_SIZES", 3)
    rng = np.random.default_rng(0)
    X = rng.integers(0, 3, size=(60, 12))
    subset = study(
        X, X[:, 3] > 0, relevances=[], maps=[], selector=SubsetSelector(search=Forward(), n_features=5)
    ).to_dict()["subset"]
    assert [best["size"] for best in subset["frontier"]] == [0, 2, 5]
    assert subset["frontier"][-1]["columns"] == subset["columns"]


def test_the_score_of_the_subset_is_assessed_as_selection_report_does(found, table):
    selector = SubsetSelector(CFS(), BestFirst(), random_state=0)
    # 344 rows: folds as for more than 200.
    report = selection_report(selector, table, n_splits=5, n_permutations=99)
    assert found["assessment"] == report.to_dict()


def test_the_selector_is_copied_and_its_parts_may_be_names(table):
    quick = {"relevances": [], "maps": [], "assess": False}
    asked = SubsetSelector("cfs", "random_subsets:30", random_state=3)
    found = study(table, selector=asked, **quick).to_dict()["subset"]
    assert not hasattr(asked, "support_")
    assert found["columns"] == asked.fit(table).get_feature_names_out().tolist()
    assert found["merit"]["id"] == "cfs"
    assert found["search"]["id"] == "random_subsets"


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"merit": CFS()}, r"study\(\) has no parameter 'merit': .*selector=SubsetSelector\(merit=\.\.\.\)"),
        ({"kind": "id"}, r"study\(\) has no parameter 'kind'\."),
        ({"selector": CFS()}, r"selector must be a SubsetSelector, got CFS\(\)\."),
        ({"selector": SubsetSelector("nonsense")}, "nonsense"),
    ],
)
def test_parameters_that_a_study_does_not_have_are_named(table, keywords, message):
    with pytest.raises((TypeError, ValueError), match=message):
        study(table, **keywords)


@pytest.mark.slow
def test_an_assessment_that_takes_long_is_left_out_and_reported_unless_it_is_asked_for(monkeypatch, table):
    usual = {"relevances": [], "maps": [], "selector": SubsetSelector(CFS())}
    monkeypatch.setattr(models, "MAX_SEARCH_SECONDS", 0.0)
    monkeypatch.setattr("tamiz.selection.permutation_null._DEFAULT_PERMUTATIONS", 3)
    result = study(table, assess=None, **usual).to_dict()
    assert result["assessment"] is None
    (told,) = [w for w in sentences(result) if w.startswith("The reliability of the selection is left out: 6 ")]
    assert told.endswith(" s take more than 0 s. Ask for it with assess=True (--assess).")
    assert result["recommendation"] is None
    assert any(w.startswith("The comparison of selections is left out: 6 searches of ") for w in sentences(result))
    asked = study(table, assess=True, **usual).to_dict()
    assert len(asked["assessment"]["null"]["null_values"]) == 3
    assert not any("searched for again" in w for w in sentences(asked))


def test_an_assessment_that_cannot_be_made_is_reported_and_one_that_was_asked_for_is_an_error():
    X = pd.DataFrame({"a": [0, 1] * 10, "b": [0, 0, 1, 1] * 5})
    y, groups = ["u", "v"] * 10, ["one"] * 20
    result = study(X, y, groups=groups, relevances=[], maps=[], assess=None).to_dict()
    assert result["subset"]["columns"] == ["a"]
    assert result["assessment"] is None
    (told,) = [w for w in sentences(result) if w.startswith("The comparison of selections is left out: ")]
    with pytest.raises(DataError, match=re.escape(told.partition(": ")[2])):
        study(X, y, groups=groups, relevances=[], maps=[], assess=True)
    with pytest.raises(DataError, match=r"^assess=True .* the table has no target"):
        study(X, assess=True)


@pytest.mark.slow
def test_dates_take_part_by_their_parts_and_the_script_repeats_it():
    rng = np.random.default_rng(0)
    when = pd.Timestamp("2023-01-05") + pd.to_timedelta(np.sort(rng.integers(0, 24 * 700, 200)), unit="h")
    frame = pd.DataFrame({"when": pd.Series(when), "noise": rng.normal(size=200)})
    frame["busy"] = frame["when"].dt.hour.between(7, 16)
    for data, more in ((frame, {"target": "busy"}), (open_table(frame, "busy"), {})):
        result = study(data, maps=["pca"], keep_leaks=True, **more).to_dict()
        assert result["subset"]["columns"] == ["when (hour)"]
        assert set(result["ranking"]["cut_points"]) == {
            "noise",
            "when (year)",
            "when (month)",
            "when (weekday)",
            "when (hour)",
        }
        assert any("sorted by 'when'" in sentence for sentence in sentences(result))
        columns = {column["name"]: column for column in result["table"]["columns"]}
        assert "are used instead" in columns["when"]["exclusion"]
        assert columns["when (weekday)"]["kind_suggestion"] is None
        assert "table = split_dates(" in result["reproduction"]["python"]
        assert "make_pipeline" not in result["reproduction"]["python"]


def test_groups_and_times_are_reported_and_are_no_columns():
    X = pd.DataFrame({"a": [0, 1] * 10, "who": list("uvwx") * 5, "when": range(20)})
    table = study(X, ["u", "v"] * 10, groups="who", time="when", relevances=[], maps=[]).to_dict()["table"]
    assert (table["group_column"], table["time_column"]) == ("who", "when")
    assert [column["name"] for column in table["columns"]] == ["a"]


def test_a_group_counts_as_one_row_where_the_target_is_constant_per_group_and_the_report_states_it():
    rng = np.random.default_rng(0)
    who = np.arange(40).repeat(15)
    ill = (rng.permutation(40) % 2)[who]
    X = pd.DataFrame(rng.normal(size=(40, 6))[who] + 0.01 * rng.normal(size=(600, 6)), columns=list("abcdef"))
    more = {"relevances": [InformationGain()], "maps": []}
    by_rows, by_groups = (study(X, ill, **more, **roles).to_dict() for roles in ({}, {"groups": who}))
    assert all(by_rows["ranking"]["cut_points"][name] for name in "abcdef")
    assert by_groups["ranking"]["cut_points"] == {name: [] for name in "abcdef"}
    assert by_groups["subset"]["columns"] == []
    (told,) = [sentence for sentence in sentences(by_groups) if "each group counts once" in sentence]
    assert "40 groups" in told
    selected = RankSelector(InformationGain()).fit(open_table(X, ill, groups=who))
    assert by_groups["ranking"]["scores"]["information_gain"] == selected.scores_.tolist()


@pytest.mark.slow
def test_an_interrupted_assessment_leaves_the_rest_of_the_study(monkeypatch, table, found):
    def interrupt(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("tamiz.assessment.nested_cv.selection_report", interrupt)
    result = study(table, selector=SubsetSelector(CFS()), assess=True).to_dict()
    assert result["interruption"] == "Interrupted in the step 'assessment'; what was found until then is shown."
    assert result["assessment"] is None
    assert all(result[part] == found[part] for part in ("subset", "maps", "quality", "ranking"))


def test_a_random_search_finds_what_the_selector_finds_with_the_same_seed(table):
    search = RandomSubsets(20)
    result = study(table, relevances=[], maps=[], selector=SubsetSelector(search=search), random_state=5).to_dict()
    selector = SubsetSelector(CFS(), search, random_state=5).fit(table)
    assert result["subset"]["points"]["merits"] == selector.archive_.merits.tolist()


def test_the_maps_are_those_of_the_reducers(found, table):
    pca = find_map_method("pca").make_reducer(table.schema, "seuclidean").fit(table)
    drawn, *_, on_graph, embedded = found["maps"]
    eigenmap = LaplacianEigenmaps(10, graph=USUAL, disconnected="connect").fit(table)
    assert (on_graph["id"], on_graph["label"]) == ("laplacian_eigenmaps", "Laplacian eigenmaps")
    assert on_graph["points"] == eigenmap.embedding_[:, :2].tolist()
    assert on_graph["spectrum"]["values"] == eigenmap.eigenvalues_.tolist()
    assert on_graph["spectrum"]["residuals"] == eigenmap.residuals_.tolist()
    assert on_graph["spectrum"]["cumulative"] == []
    assert not on_graph["comparable_axes"]
    umap = UMAP(graph=USUAL.build(table, fill_missing=True).connect_components(), random_state=0).fit(table)
    assert (embedded["id"], embedded["points"]) == ("umap", umap.embedding_.tolist())
    assert drawn["points"] == pca.embedding_[:, :2].tolist()
    assert drawn["rows"] == list(range(344))
    assert drawn["spectrum"]["values"] == pca.explained_variance_ratio_.tolist()
    assert drawn["loadings"]["values"] == pca.loadings_[:, :4].tolist()


def test_every_map_is_explained_by_the_rank_correlations_of_the_columns_with_its_first_axes(found, table):
    pca = find_map_method("pca").make_reducer(table.schema, "seuclidean").fit(table)
    explained = found["maps"][0]["explanation"]
    expected = axis_correlations(table, pca.embedding_[:, :4])
    assert explained["columns"] == expected.columns
    assert (explained["kinds"], explained["values"]) == (expected.kinds, expected.values.tolist())
    assert explained["chance"] == expected.chance_level.tolist()
    assert (explained["n_rows"], explained["n_mapped"]) == (344, 344)
    assert found["maps"][1]["explanation"]["columns"] == expected.columns


def test_every_map_has_the_rules_of_its_visible_clusters(found, table):
    pca = find_map_method("pca").make_reducer(table.schema, "seuclidean").fit(table)
    clusters = found["maps"][0]["clusters"]
    seed = int(np.random.default_rng(found["seed"]).integers(2**63))
    expected = cluster_rules(table, pca.embedding_[:, :2], random_state=seed)
    assert [[one["text"] for one in rule["conditions"]] for rule in clusters["rules"]] == [
        [one.text for one in rule.conditions] for rule in expected.rules
    ]
    shares = [(rule["n_rows"], rule["precision"], rule["coverage"]) for rule in clusters["rules"]]
    assert shares == [(rule.n_rows, rule.precision, rule.coverage) for rule in expected.rules]
    assert (clusters["n_rows"], clusters["n_outside"]) == (344, int((expected.numbers == 0).sum()))
    assert clusters["rules"][0]["center"] == np.median(pca.embedding_[expected.numbers == 1, :2], axis=0).tolist()


@pytest.mark.slow
def test_many_rows_are_compared_by_a_sample_that_the_seed_decides(monkeypatch):
    monkeypatch.setattr("tamiz._study.maps._MAX_CORRELATED_ROWS", 100)
    X = np.random.default_rng(0).normal(size=(400, 3))
    first, again, other = (study(X, maps=[PCA()], random_state=seed).to_dict()["maps"][0] for seed in (1, 1, 2))
    explained = first["explanation"]
    assert (explained["n_rows"], explained["n_mapped"]) == (100, 400)
    assert explained == again["explanation"] != other["explanation"]
    whole = axis_correlations(X, PCA().fit(X).embedding_).values
    np.testing.assert_allclose(explained["values"], whole, atol=0.25)


def test_an_axis_that_is_made_of_rounding_has_no_order_to_explain():
    x = np.random.default_rng(0).normal(size=(50, 1))
    (drawn,) = study(x * [1.0, 3.0], maps=[PCA()]).to_dict()["maps"]
    values = np.array(drawn["explanation"]["values"])
    np.testing.assert_array_equal(np.abs(values), [[1, 0], [1, 0]])


class Pictured(PCA):
    """PCA with some images, and with a null model."""

    images = ()

    def image_sets(self):
        return self.images

    def describe(self):
        described = super().describe()
        by_chance = {"reference": (0.2, 0.1), "chance_title": "One lies above", "chance_note": "By chance."}
        return replace(described, spectrum=replace(described.spectrum, **by_chance))


def pixels(image):
    return list(base64.b64decode(image["pixels"]))


def test_images_are_kept_in_steps_of_grey_and_those_of_rows_only_with_the_points(table, monkeypatch):
    galleries = [
        ImageSet("Components", (2, 3), ["first"], [[-2.0, -1, 0, 1, 2, 4]], signed=True, note="How."),
        ImageSet("The mean", (2, 3), ["mean"], [[0.0, 1, 2, 3, 4, 5]]),
        ImageSet("Rows", (2, 3), ["row 1"], [[7.0] * 6], shows_rows=True),
    ]
    monkeypatch.setattr(Pictured, "images", galleries)
    (drawn,) = study(table, relevances=[], maps=[Pictured()]).to_dict()["maps"]
    components, mean, rows = drawn["galleries"]
    (image,) = components["images"]
    assert (image["name"], image["height"], image["width"]) == ("first", 2, 3)
    assert (image["low"], image["high"], pixels(image)) == (-4.0, 4.0, [64, 96, 128, 159, 191, 255])
    assert pixels(mean["images"][0]) == [0, 51, 102, 153, 204, 255]
    # An image of one value is grey.
    assert pixels(rows["images"][0]) == [128] * 6
    assert (components["title"], components["note"]) == ("Components", "How.")
    spectrum = drawn["spectrum"]
    assert (spectrum["reference"], spectrum["chance_title"]) == ([0.2, 0.1], "One lies above")
    assert spectrum["chance_note"] == "By chance."
    (bare,) = study(table, relevances=[], maps=[Pictured()], points=False).to_dict()["maps"]
    assert bare["galleries"] == [components, mean]


def test_large_and_many_images_are_kept_as_far_as_they_are_seen(table, monkeypatch):
    monkeypatch.setattr("tamiz._study.maps._MAX_PIXELS", 2)
    monkeypatch.setattr("tamiz._study.maps._MAX_IMAGES", 1)
    large = [ImageSet("Large", (2, 3), ["a", "b"], [[1.0, 3, 10, 5, 7, 20], [0.0] * 6])]
    monkeypatch.setattr(Pictured, "images", large)
    (drawn,) = study(table, relevances=[], maps=[Pictured()]).to_dict()["maps"]
    (gallery,) = drawn["galleries"]
    assert (gallery["n_images"], len(gallery["images"])) == (2, 1)
    (image,) = gallery["images"]
    # The mean of four pixels, and of the two that are left at the edge.
    assert (image["height"], image["width"], image["low"], image["high"]) == (1, 2, 4.0, 15.0)


def test_the_map_is_coloured_by_the_target_and_the_columns(found, penguins):
    by_name = {color["name"]: color for color in found["colors"]}
    assert next(iter(by_name)) == "species"
    species = by_name["species"]
    assert [species["levels"][code] for code in species["values"]] == penguins["species"].tolist()
    assert by_name["bill_length_mm"]["values"] == penguins["bill_length_mm"].replace({np.nan: None}).tolist()


def test_the_result_is_plain_json(found):
    assert json.loads(json.dumps(found, allow_nan=False)) == found


@pytest.mark.slow
def test_the_same_seed_and_one_thread_or_two_give_the_same_result_but_for_the_times(found):
    again = study(str(PENGUINS), "species", selector=SubsetSelector(CFS()), assess=None, n_jobs=1)
    assert again.to_dict() == found
    assert [step.step for step in again.timings] == [
        "read",
        "table",
        "graph",
        "ranking",
        "mean rank",
        "associations",
        "redundancy",
        "distributions",
        "subset",
        "reasons",
        "maps",
        "quality",
        "recommendation",
        "assessment",
        "noise_experiment",
        "clusters",
    ]


def test_a_frame_and_a_table_give_the_numbers_of_the_file_and_the_graph_is_built_once(
    found, penguins, table, monkeypatch
):
    build, built = KNearest._build, []
    monkeypatch.setattr(KNearest, "_build", lambda self, *a, **k: built.append(self) or build(self, *a, **k))
    parts = ("table", "graph", "ranking", "subset", "maps", "quality", "colors")
    for data in ((penguins, "species"), (table,)):
        built.clear()
        other = study(*data).to_dict()
        assert {part: other[part] for part in parts} == {part: found[part] for part in parts}
        assert [repr(builder) for builder in built] == ["KNearest(metric='seuclidean', weight=Binary())"]


def test_warnings_are_in_the_result_once(found):
    assert len(set(sentences(found))) == len(sentences(found))
    assert sum("missing values" in sentence for sentence in sentences(found)) == 1


def test_rows_without_a_target_are_reported(penguins):
    frame = penguins.assign(species=penguins["species"].where(np.arange(344) % 50 > 0))
    result = study(frame, "species", maps=["pca"]).to_dict()
    assert (result["table"]["n_rows"], result["table"]["n_rows_used"]) == (344, 337)
    assert any("7 rows without a target were left out" in sentence for sentence in sentences(result))
    assert result["maps"][0]["rows"] == [k for k in range(344) if k % 50 > 0]


def test_without_a_target_columns_are_ranked_by_entropy_and_no_subset_is_selected(penguins):
    result = study(penguins).to_dict()
    assert result["table"]["target"] is None
    assert [criterion["id"] for criterion in result["ranking"]["criteria"]] == [
        "laplacian_score",
        "entropy",
        "variance",
    ]
    assert (
        result["ranking"]["scores"]["laplacian_score"]
        == RankSelector(LaplacianScore(graph=USUAL)).fit(penguins).scores_.tolist()
    )
    assert result["ranking"]["scores"]["entropy"] == RankSelector(Entropy()).fit(penguins).scores_.tolist()
    assert result["subset"] is None
    assert result["ranking"]["cut_points"] == {}
    assert [drawn["id"] for drawn in result["maps"]] == [
        "pca",
        "mds:metric",
        "mds:ordinal",
        "laplacian_eigenmaps",
        "umap",
    ]
    # There are no classes that neighbours could tell.
    assert "label_accuracy" not in [measure["name"] for measure in result["quality"]["maps"][0]["measures"]]


def test_a_numeric_target_is_cut_into_ten_intervals(penguins):
    frame = penguins.dropna(subset=["body_mass_g"]).reset_index(drop=True)
    result = study(frame, "body_mass_g", maps=[]).to_dict()
    assert result["table"]["classes"] == []
    assert result["table"]["target_summary"]["mean"] == pytest.approx(frame["body_mass_g"].mean(), rel=1e-12)
    assert "fisher_score" not in result["ranking"]["scores"]
    selector = RankSelector(InformationGain(discretization=EqualFrequency(10)))
    expected = selector.fit(open_table(frame, "body_mass_g")).scores_
    assert result["ranking"]["scores"]["information_gain"] == expected.tolist()
    by_cfs = study(frame, "body_mass_g", selector=SubsetSelector(CFS()), relevances=[], maps=[]).to_dict()["subset"]
    subset = SubsetSelector(CFS(), BestFirst()).fit(open_table(frame, "body_mass_g"))
    assert by_cfs["columns"] == subset.get_feature_names_out().tolist()


def test_a_numeric_target_has_its_subset_by_ridge_regression_and_a_forward_search(penguins):
    frame = penguins.dropna(subset=["body_mass_g"]).reset_index(drop=True)
    chosen = study(frame, "body_mass_g", relevances=[], maps=[]).to_dict()["subset"]
    selector = SubsetSelector(CrossValidated("ridge"), Forward(), random_state=0)
    selector.fit(open_table(frame, "body_mass_g"))
    assert chosen["columns"] == selector.get_feature_names_out().tolist()
    assert chosen["value"] == selector.merit_
    assert chosen["search"]["label"] == "Forward selection"


def test_without_points_no_row_of_the_table_is_in_the_result(penguins):
    secret = penguins[::3].assign(bill_length_mm=penguins["bill_length_mm"] + 0.0123456)
    result = study(secret, "species", points=False).to_dict()
    assert [drawn["points"] for drawn in result["maps"]] == [None] * 5
    assert [drawn["rows"] for drawn in result["maps"]] == [[]] * 5
    evaluated = result["quality"]["maps"]
    assert (result["colors"], result["quality"]["pairs"]) == ([], [])
    assert all(one["pairs"] == one["stress"] == one["trust"] == [] for one in evaluated)
    with_points = study(secret, "species").to_dict()["quality"]["maps"]
    assert [one["measures"] for one in evaluated] == [one["measures"] for one in with_points]
    text = json.dumps(result)
    extremes = {secret["bill_length_mm"].min(), secret["bill_length_mm"].max()}
    inner = [value for value in secret["bill_length_mm"].dropna().unique() if value not in extremes]
    # Cut points lie between values; no value of a row stands there but the extremes.
    assert not any(repr(value) in text for value in inner)


@pytest.mark.slow
def test_a_large_table_is_drawn_by_a_sample_that_the_seed_decides():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(5000, 3)), rng.integers(0, 2, 5000)
    first, again, other = (study(X, y, maps=[PCA()], random_state=seed).to_dict() for seed in (1, 1, 2))
    rows = first["maps"][0]["rows"]
    assert len(rows) == len(first["maps"][0]["points"]) == len(first["colors"][0]["values"]) == 2000
    assert rows == sorted(set(rows))
    assert rows == again["maps"][0]["rows"]
    assert rows != other["maps"][0]["rows"]
    color = next(color for color in first["colors"] if color["name"] == "x1")
    assert color["values"] == X[rows, 1].tolist()


def test_parts_that_are_given_take_the_place_of_the_usual_ones(table):
    result = study(
        table,
        relevances=[Variance()],
        selector=SubsetSelector(CFS(convention="weka"), search=Forward(), n_features=2),
        maps=[],
        points=True,
    ).to_dict()
    assert list(result["ranking"]["scores"]) == ["variance"]
    assert len(result["subset"]["columns"]) == 2
    assert result["subset"]["search"]["label"] == "Forward selection"
    assert result["maps"] == []
    assert result["colors"] == []


def test_a_search_of_a_study_stops_and_writes_its_journal(table, tmp_path):
    journal = tmp_path / "journal"
    result = study(table, maps=[], selector=SubsetSelector(stop=Evaluations(9), journal=journal)).to_dict()
    assert result["subset"]["n_evaluations"] == 9
    assert result["subset"]["stopped"] == "9 evaluations made"
    assert journal.exists()


@pytest.mark.parametrize(
    ("where", "held", "sentence"),
    [
        ("tamiz._study.study.build_row_graph", [], "Interrupted in the step 'graph'"),
        ("tamiz._study.run.rank_columns", [], "Interrupted in the step 'ranking'"),
        ("tamiz.search.runner.run_search", ["ranking"], "Interrupted in the step 'subset, after 0 evaluations'"),
        ("tamiz._study.run.record_map", ["ranking", "subset"], "Interrupted in the step 'maps'"),
    ],
)
def test_control_c_keeps_the_finished_steps_with_a_note(table, monkeypatch, where, held, sentence):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(where, interrupted)
    result = study(table).to_dict()
    assert result["interruption"].startswith(sentence)
    assert [part for part in ("ranking", "subset") if result[part] is not None] == held
    assert result["maps"] == []


def test_control_c_in_a_search_keeps_the_best_set_found(table, monkeypatch):
    from tamiz.criteria import cfs

    evaluate, calls = cfs._CFSEvaluator.evaluate, []

    def interrupted(self, candidates):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return evaluate(self, candidates)

    monkeypatch.setattr(cfs._CFSEvaluator, "evaluate", interrupted)
    result = study(table).to_dict()
    n = result["subset"]["n_evaluations"]
    assert n == 1 + len(table.schema.used)
    assert (
        result["interruption"]
        == f"Interrupted in the step 'subset, after {n} evaluations'; what was found until then is shown."
    )
    assert len(result["subset"]["columns"]) == 1


def test_an_uninterrupted_study_has_no_note_on_interruption(found):
    assert found["interruption"] is None


def test_a_constant_target_is_refused(penguins):
    with pytest.raises(ValueError, match="Target 'one' is constant"):
        study(penguins.assign(one="same"), "one")


def test_a_constant_numeric_target_is_refused_with_its_value():
    with pytest.raises(DataError, match=r"is constant: 1\.5 in all 4 rows\. Choose a target with at least 2 values"):
        study(np.arange(8.0).reshape(4, 2), np.full(4, 1.5))


def test_a_table_with_another_target_is_refused():
    table = open_table(np.eye(4), [0, 1, 0, 1])
    with pytest.raises(TypeError, match="A Table has its own target, kinds, weights, groups"):
        study(table, "x0")


def test_two_criteria_of_one_class_are_both_in_the_result():
    X, y = np.tile(np.eye(4), (3, 1)), [0, 1, 0, 1] * 3
    result = study(X, y, relevances=[InformationGain(), InformationGain(missing="category")], maps=[]).to_dict()
    assert [c["id"] for c in result["ranking"]["criteria"]] == ["information_gain_1", "information_gain_2"]
    assert set(result["ranking"]["scores"]) == {"information_gain_1", "information_gain_2"}


def scored(result):
    return result.to_dict()["ranking"]["scores"]["laplacian_score"]


def test_the_facts_of_the_graph_are_those_of_the_graph(found, table):
    graph = USUAL.build(table, fill_missing=True)
    facts = found["graph"]
    counts = np.diff(graph.adjacency.indptr)
    assert (facts["id"], facts["label"]) == ("knn", "Nearest neighbours")
    assert facts["parameters"] == "n_neighbors=15, weight=Binary(), metric='seuclidean'"
    either = "a row is joined also to the rows that have it among their nearest"
    words = f"15 nearest neighbours ({either}), Euclidean distance of standardised columns, unweighted edges"
    assert facts["description"] == words
    assert (facts["n_rows"], facts["n_edges"]) == (344, graph.adjacency.nnz // 2)
    assert facts["components"] == {"n": 2, "sizes": sorted(graph.components.sizes.tolist(), reverse=True)}
    assert facts["n_joining_edges"] == 1
    bins = facts["neighbors"].pop("histogram")
    assert facts["neighbors"] == {"min": counts.min(), "median": np.median(counts), "max": counts.max()}
    assert (bins["start"], bins["width"]) == (counts.min(), 1)
    assert bins["rows"] == np.bincount(counts)[counts.min() :].tolist()
    degrees = np.asarray(graph.adjacency.sum(axis=1)).ravel()
    assert facts["degrees"] == {"min": degrees.min(), "median": np.median(degrees), "max": degrees.max()}
    assert (facts["t"], facts["radius"], facts["search"]) == (graph.t, None, graph.search_description)
    assert facts["recall"] == graph.recall == 1.0
    assert (facts["unweighted"], facts["by_class"]) == (True, False)


def test_no_graph_is_built_that_no_method_uses(table, monkeypatch):
    monkeypatch.setattr(KNearest, "_build", lambda *_, **__: pytest.fail("built"))
    result = study(table, relevances=[Variance()], maps=[PCA()])
    assert result.to_dict()["graph"] is None
    assert "graph" not in [step.step for step in result.timings]


def test_columns_ranked_without_the_target_are_not_described_as_informative_about_it(table):
    result = study(table, relevances=[Variance()], maps=[], selector=SubsetSelector(search=Forward()), assess=False)
    expected = "body_mass_g ranks first: variance 643,131 unit², which does not use species."
    assert ranking_notes(result.record)["lead"] == expected


def test_a_requested_graph_is_built_though_no_method_uses_it(table):
    result = study(table, relevances=[Variance()], maps=[], graph=KNearest(3, metric="seuclidean")).to_dict()
    assert result["graph"]["neighbors"]["min"] == 3


def test_iris_is_ranked_as_in_the_paper_on_the_graph_that_is_given():
    iris = load_iris(as_frame=True)
    for graph in (KNearest(5), KNearest(5).build(iris.data)):
        values = dict(zip(iris.data.columns, scored(study(iris.data, iris.target, graph=graph, maps=[])), strict=True))
        assert [name.removesuffix(" (cm)") for name in sorted(values, key=values.get, reverse=True)] == [
            "petal length", "petal width", "sepal length", "sepal width",
        ]  # fmt: skip


def test_a_part_without_a_graph_uses_that_of_the_study_and_one_with_a_graph_keeps_its_own(table):
    score, own, eigenmap = LaplacianScore(), LaplacianScore(graph=KNearest(5)), LaplacianEigenmaps(3)
    result = study(
        table, relevances=[score, own], maps=[eigenmap], graph=ConnectedRadius(metric="seuclidean")
    ).to_dict()
    lent = ConnectedRadius(metric="seuclidean").build(table, fill_missing=True)
    scores = result["ranking"]["scores"]
    assert scores["laplacian_score_1"] == RankSelector(LaplacianScore(graph=lent)).fit(table).scores_.tolist()
    assert scores["laplacian_score_2"] == RankSelector(own).fit(table).scores_.tolist()
    assert scores["laplacian_score_1"] != scores["laplacian_score_2"]
    assert result["maps"][0]["points"] == LaplacianEigenmaps(3, graph=lent).fit(table).embedding_[:, :2].tolist()
    assert result["graph"]["radius"] == lent.radius
    assert (score.graph, eigenmap.graph) == (None, None)


def test_a_part_that_is_given_draws_the_graph_as_it_is():
    X, _ = make_blobs([40, 40], centers=[[0, 0], [90, 90]], random_state=0)
    with pytest.raises(ValueError, match="The graph falls into 2 components of 40 and 40 rows"):
        study(X, maps=[LaplacianEigenmaps()])
    (drawn,) = study(X, maps=[LaplacianEigenmaps(disconnected="per_component")]).to_dict()["maps"]
    expected = LaplacianEigenmaps(graph=USUAL, disconnected="per_component").fit(X)
    assert drawn["points"] == expected.embedding_.tolist()
    assert drawn["spectrum"]["values"] == expected.eigenvalues_[0].tolist()


def test_the_same_class_graph_ranks_as_fishers_score_and_has_no_map():
    iris = load_iris(as_frame=True)
    result = study(iris.data, iris.target, graph=SameClass()).to_dict()
    F = fisher_score(iris.data, iris.target)
    np.testing.assert_allclose(result["ranking"]["scores"]["laplacian_score"], F / (1 + F), rtol=1e-12)
    assert [drawn["id"] for drawn in result["maps"]] == ["pca", "mds:metric", "mds:ordinal"]
    assert any(told.startswith("No map is drawn on the graph: ") for told in sentences(result))
    facts = result["graph"]
    assert (facts["n_edges"], facts["components"]) == (3 * 50 * 49 / 2, {"n": 3, "sizes": [50, 50, 50]})
    assert (facts["by_class"], facts["n_joining_edges"], facts["parameters"]) == (True, None, "")
    assert (facts["neighbors"]["min"], facts["neighbors"]["max"]) == (49, 49)


def test_the_pairs_of_a_large_class_are_counted_and_not_written_out(monkeypatch):
    rng = np.random.default_rng(0)
    from tamiz.graphs.graph import ClassGraph

    monkeypatch.setattr(ClassGraph, "adjacency", property(lambda _: pytest.fail("written out")))
    X, y = rng.normal(size=(5000, 3)), rng.integers(0, 2, 5000)
    result = study(X, y, graph=SameClass(), maps=[]).to_dict()
    n = sorted(c["weight"] for c in result["table"]["classes"])
    assert (result["graph"]["neighbors"]["min"], result["graph"]["neighbors"]["max"]) == (n[0] - 1, n[1] - 1)


def test_classes_that_are_not_there_are_asked_for():
    iris = load_iris(as_frame=True)
    for target in (None, iris.data["petal length (cm)"]):
        with pytest.raises(
            ValueError, match="SameClass joins rows of one class; open the table with a target of classes"
        ):
            study(iris.data, target, graph=SameClass())


@pytest.mark.parametrize("weight", [Binary(), HeatKernel(np.inf)])
def test_weights_of_one_are_reported_as_such(table, weight):
    facts = study(table, graph=KNearest(7, weight=weight, metric="seuclidean"), maps=[]).to_dict()["graph"]
    assert (facts["unweighted"], facts["t"]) == (True, None)
    assert f"weight={weight!r}" in facts["parameters"]
    assert facts["degrees"]["max"] == facts["neighbors"]["max"]


def test_a_graph_in_pieces_is_reported_and_joined_for_its_map():
    X, _ = make_blobs([60, 40, 30], n_features=3, centers=50 * np.eye(3), random_state=1)
    result = study(X, maps=["laplacian-eigenmaps", "umap"]).to_dict()
    assert result["graph"]["components"] == {"n": 3, "sizes": [60, 40, 30]}
    assert result["graph"]["n_joining_edges"] == 2
    assert sentences(result, "TZ401") == []
    assert len(result["maps"][-1]["points"]) == 130


def test_edges_of_hardly_any_weight_are_reported_at_the_map():
    # Each of the nine rows is joined to rows of the sixty, far away: in one piece, but by threads.
    X, _ = make_blobs([60, 9], centers=[[0, 0], [50, 50]], random_state=1)
    notes = [
        study(X, graph=KNearest(15, weight=weight, metric="seuclidean"), maps=["laplacian-eigenmaps"]).to_dict()[
            "maps"
        ][0]["notes"]
        for weight in (HeatKernel(0.4), Binary())
    ]
    assert notes[0][0].startswith("1 of the eigenvalues is 0 up to rounding: edges of negligible weight")
    assert notes[1] == []


EQUAL = pd.DataFrame({"a": [1.0] * 20, "b": [2.0] * 20, "c": [3.0] * 20})


def test_a_study_of_equal_rows_goes_on_without_a_graph_and_states_the_reason():
    result = study(EQUAL).to_dict()
    assert result["graph"] is None
    assert any(
        told.startswith("The graph of the rows is left out: All 20 rows are equal") for told in sentences(result)
    )
    assert list(result["ranking"]["scores"]) == ["entropy", "variance"]
    assert [drawn["id"] for drawn in result["maps"]] == ["pca"]


@pytest.mark.parametrize(
    "asked", [{"graph": KNearest(3)}, {"relevances": [LaplacianScore()]}, {"maps": [LaplacianEigenmaps()]}]
)
def test_requested_steps_are_never_skipped(asked):
    with pytest.raises(ValueError, match="All 20 rows are equal"):
        study(EQUAL, **asked)


def test_a_study_without_a_usable_column_states_what_was_left_out():
    frame = pd.DataFrame({"id": [f"r{i}" for i in range(30)], "empty": [None] * 30})
    result = study(frame).to_dict()
    assert (result["graph"], result["maps"]) == (None, [])
    assert any(told.startswith("PCA is left out: No column can be used") for told in sentences(result))


@pytest.mark.parametrize("n", [2, 3, 5])
def test_a_study_of_very_few_rows_uses_as_many_neighbours_as_there_are(n):
    X = np.array([[0.0, 1.0], [1.0, 3.0], [2.5, 2.0], [4.0, 4.5], [7.0, 5.0]])[:n]
    result = study(X).to_dict()
    assert result["graph"]["n_edges"] == n * (n - 1) / 2
    assert len(result["maps"][-2]["spectrum"]["values"]) == n - 1
    # Two rows are in any order; ranks need three to differ.
    assert [drawn["id"] for drawn in result["maps"][:-2]] == ["pca", "mds:metric", "mds:ordinal"][: 2 if n == 2 else 3]
    assert (result["quality"] is None) == (n == 2)


@pytest.mark.parametrize("n", [2, 3])
def test_a_numeric_target_with_too_few_rows_for_the_default_search_is_studied_without_a_subset(n):
    X = pd.DataFrame({"a": [1.0, 3.0, 2.0, 5.0], "b": ["u", "v", "v", "u"], "y": [0.5, 1.5, np.nan, 4.5]})
    table = X[:2] if n == 2 else X
    result = tamiz.study(table, "y", maps=["pca"])
    found = result.to_dict()
    assert found["ranking"] is not None
    assert (found["subset"], found["recommendation"], found["assessment"]) == (None, None, None)
    assert (
        f"The subset of columns is left out: The table has {n} rows; cross-validation needs at least 4."
        in sentences(found)
    )
    # A requested search, or its evaluation, is an error.
    with pytest.raises(DataError, match=f"^The table has {n} rows; cross-validation needs at least 4"):
        study(table, "y", selector=SubsetSelector(search=Forward()), maps=["pca"])
    with pytest.raises(DataError, match=f"needs at least 6 rows; the table has {n} with a target"):
        study(table, "y", assess=True, maps=["pca"])


def test_six_rows_are_the_fewest_whose_selection_by_cross_validation_can_be_assessed():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(6, 2)), rng.normal(size=6)
    assert study(X, y, assess=True, maps=["pca"]).record.reliability is not None
    with pytest.raises(DataError, match="needs at least 6 rows; the table has 5 with a target"):
        study(X[:5], y[:5], assess=True, maps=["pca"])


def test_a_graph_for_other_rows_is_refused(table):
    with pytest.raises(ValueError, match="The graph has 3 rows and X has 344; build a graph of X"):
        study(table, graph=Graph.from_edges([0, 1], [1, 2]))


def test_a_graph_that_is_given_by_its_edges_is_reported_as_such():
    X = np.random.default_rng(0).normal(size=(4, 2))
    result = study(X, graph=Graph.from_edges([0, 1], [1, 2], n_samples=4)).to_dict()
    facts = result["graph"]
    assert (facts["id"], facts["label"], facts["parameters"]) == ("given", "A prebuilt graph", "")
    assert (facts["search"], facts["recall"], facts["n_joining_edges"]) == (None, None, None)
    assert facts["neighbors"]["histogram"] == {"start": 0, "width": 1, "rows": [1, 2, 1]}
    assert [drawn["id"] for drawn in result["maps"]] == ["pca", "mds:metric", "mds:ordinal"]


def test_many_numbers_of_neighbours_are_counted_in_wider_bins():
    x = np.linspace(0, 1, 400)[:, None] ** 2
    facts = study(np.hstack([x, x]), graph=Radius(0.1), maps=[]).to_dict()["graph"]
    adjacency = Radius(0.1).build(np.hstack([x, x])).adjacency
    counts = np.diff(adjacency.indptr)
    bins = facts["neighbors"]["histogram"]
    assert len(bins["rows"]) <= 40
    edges = bins["start"] + bins["width"] * np.arange(len(bins["rows"]) + 1)
    assert bins["rows"] == np.histogram(counts, edges)[0].tolist()
    assert sum(bins["rows"]) == 400


def test_an_object_that_is_no_graph_is_refused(table):
    with pytest.raises(TypeError, match=r"^graph must be a builder such as KNearest\(15\) or a Graph, got 5"):
        study(table, graph=5)


@pytest.fixture
def long_table(monkeypatch):
    """600 rows where more than 250 are a long table, with gaps, classes and weights."""
    monkeypatch.setattr("tamiz.graphs.row_graph._MAX_GRAPH_ROWS", 250)
    monkeypatch.setattr("tamiz._study.run.MAX_SHOWN_ROWS", 100)
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.normal(size=(600, 3)), columns=["a", "b", "c"])
    X["b"] += 3 * X["a"]
    X.loc[::50, "c"] = np.nan
    X["kind"] = np.where(X["a"] > 0, "up", "down")
    return X


@pytest.mark.slow
def test_a_long_table_is_joined_by_a_sample_that_the_seed_decides(long_table):
    maps = ["pca", "laplacian-eigenmaps", "umap"]
    first, again = (study(long_table, maps=maps, random_state=1).to_dict() for _ in range(2))
    other = study(long_table, maps=[], random_state=2).to_dict()
    assert first == again
    assert first["ranking"]["scores"] != other["ranking"]["scores"]
    assert first["graph"]["n_rows"] == 250
    told = "The graph joins 250 of the 600 rows, drawn at random. A graph that is requested (graph=, --graph) joins all rows."
    assert told in sentences(first)
    pca, *on_graph = first["maps"]
    for drawn in on_graph:
        assert pca["rows"] == drawn["rows"] == sorted(set(pca["rows"]))
        assert len(drawn["points"]) == len(pca["points"]) == 100
    # The variances are those of the whole table all the same.
    assert first["ranking"]["scores"]["variance"] == RankSelector(Variance()).fit(long_table).scores_.tolist()


def test_of_rows_of_many_levels_fewer_are_joined(long_table, monkeypatch):
    # A row has three numbers, and indicators of 2 and of 40 levels.
    long_table["place"] = np.random.default_rng(1).choice([f"p{k}" for k in range(40)], 600)
    monkeypatch.setattr("tamiz.graphs.row_graph._MAX_GRAPH_VALUES", 45 * 200)
    result = study(long_table, kinds={"place": "categorical"}, maps=["pca", "laplacian-eigenmaps"]).to_dict()
    assert result["graph"]["n_rows"] == 200
    assert any(
        "The graph joins 200 of the 600 rows, drawn at random: a row has 45 numbers, an indicator for every level"
        in told
        for told in sentences(result)
    )
    # Never fewer than the maps draw.
    monkeypatch.setattr("tamiz.graphs.row_graph._MAX_GRAPH_VALUES", 45)
    assert study(long_table, kinds={"place": "categorical"}, maps=["pca"]).to_dict()["graph"]["n_rows"] == 100


def test_scores_and_places_on_a_sample_are_those_of_a_table_of_its_rows(long_table, monkeypatch):
    drawn = []
    from tamiz.graphs import row_graph as graph

    sample = graph.sample_including
    monkeypatch.setattr(graph, "sample_including", lambda *a: drawn.append(sample(*a)) or drawn[-1])
    result = study(long_table, maps=["pca", "laplacian-eigenmaps"]).to_dict()
    (rows,) = drawn
    part = long_table.iloc[rows].reset_index(drop=True)
    assert len(rows) == 250
    np.testing.assert_allclose(
        scored(study(long_table, maps=[])), RankSelector(LaplacianScore(graph=USUAL)).fit(part).scores_
    )
    eigenmap = LaplacianEigenmaps(10, graph=USUAL, disconnected="connect").fit(part)
    shown = np.searchsorted(rows, result["maps"][1]["rows"])
    assert np.array_equal(rows[shown], result["maps"][1]["rows"])
    np.testing.assert_allclose(result["maps"][1]["points"], eigenmap.embedding_[shown, :2], atol=1e-9)


def test_a_long_table_without_points_and_with_rows_dropped_is_sampled_too(long_table):
    target = long_table["kind"].where(np.arange(600) % 20 > 0)
    maps = ["pca", "laplacian-eigenmaps"]
    result = study(long_table[["a", "b", "c"]], target, maps=maps, points=False).to_dict()
    assert (result["table"]["n_rows_used"], result["graph"]["n_rows"]) == (570, 250)
    assert result["maps"][1]["points"] is None
    seen = study(long_table[["a", "b", "c"]], target, maps=maps).to_dict()["maps"][1]["rows"]
    assert all(row % 20 for row in seen)


def test_a_graph_that_is_asked_for_joins_every_row_of_a_long_table(long_table):
    assert study(long_table, graph=USUAL, maps=[]).to_dict()["graph"]["n_rows"] == 600


@pytest.mark.slow
def test_a_weighted_table_is_scored_by_its_weights(found, penguins):
    weights = np.arange(344) % 3 + 1.0
    table = open_table(penguins, "species", weight=weights)
    expected = RankSelector(LaplacianScore(graph=USUAL)).fit(table).scores_
    scores = scored(study(table, maps=[]))
    assert scores == expected.tolist()
    assert scores != found["ranking"]["scores"]["laplacian_score"]


def test_a_directed_graph_is_refused_with_the_way_out(table):
    with pytest.raises(ValueError, match="build it with symmetry='or' or 'mutual'"):
        study(table, graph=KNearest(5, symmetry="directed", metric="seuclidean"))


@pytest.mark.slow
def test_a_table_without_any_value_is_studied_all_the_same():
    table = pd.DataFrame({"a": [np.nan] * 30, "b": [np.nan] * 30, "t": list("ab") * 15})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = study(table, "t", assess=True).to_dict()
    assert result["recommendation"]["columns"] == []
    assert result["recommendation"]["stability"]["estimate"] == 1.0


def test_a_category_of_equal_shares_has_a_map():
    table = pd.DataFrame({"zip": np.arange(60) % 7, "x": np.random.default_rng(0).normal(size=60)})
    (pca,) = study(table, kinds={"zip": "categorical"}, maps=["pca"]).to_dict()["maps"]
    assert len(pca["spectrum"]["reference"]) == len(pca["spectrum"]["values"])
