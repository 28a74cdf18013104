"""A study holds what its parts find, and nothing it was not asked for."""

import json
from importlib.resources import files

import numpy as np
import pandas as pd
import pytest

from tamiz import RankSelector, SubsetSelector, open_source, study
from tamiz.criteria import CFS, MDL, Entropy, EqualFrequency, InformationGain, Variance, registry
from tamiz.exceptions import TamizWarning
from tamiz.reduction import PCA
from tamiz.search import BestFirst, Evaluations, Forward
from tamiz.statistics.cuts import CutPoints

PENGUINS = files("tamiz.datasets") / "penguins.csv"

pytestmark = pytest.mark.filterwarnings("ignore::tamiz.exceptions.TamizWarning")


@pytest.fixture(scope="module")
def penguins():
    return pd.read_csv(str(PENGUINS))


@pytest.fixture(scope="module")
def source():
    return open_source(str(PENGUINS), "species")


@pytest.fixture(scope="module")
def found():
    with pytest.warns(TamizWarning):
        return study(str(PENGUINS), "species").to_dict()


def without_times(result):
    return {key: value for key, value in result.items() if key != "timings"}


def test_the_table_is_described_as_pandas_counts_it(found, penguins):
    table = found["table"]
    assert (table["n_rows"], table["n_rows_used"]) == penguins.shape[:1] * 2
    assert (table["target"], table["target_kind"]) == ("species", "classes")
    counts = penguins["species"].value_counts()
    assert {c["name"]: c["weight"] for c in table["classes"]} == counts.to_dict()
    assert [column["name"] for column in table["columns"]] == list(penguins.columns.drop("species"))
    for column in table["columns"]:
        values = penguins[column["name"]]
        assert column["n_missing"] == values.isna().sum()
        if column["kind"] == "numeric":
            summary = [column["mean"], column["sd"], column["min"], column["max"]]
            np.testing.assert_allclose(summary, [values.mean(), values.std(), values.min(), values.max()], rtol=1e-12)
        else:
            assert column["levels"] == sorted(values.dropna().unique())


def test_the_ranking_is_that_of_the_selectors(found, source):
    ranking = found["ranking"]
    assert [criterion["id"] for criterion in ranking["criteria"]] == [e.name for e in registry.of_kind("relevance")]
    for criterion in ranking["criteria"]:
        expected = RankSelector(registry[criterion["id"]].load()()).fit(source).scores_
        assert ranking["scores"][criterion["id"]] == expected.tolist()
    assert ranking["columns"] == source.schema.names


def test_the_cuts_are_those_of_mdl(found, source):
    (points,) = source.reduce(CutPoints(source.schema.numeric, MDL(), 3))
    expected = {source.schema.names[j]: edges.tolist() for j, edges in points.edges.items()}
    assert found["ranking"]["cuts"] == expected
    assert any(expected.values())


def test_the_subset_is_that_of_the_selector(found, source):
    selector = SubsetSelector(CFS(), BestFirst()).fit(source)
    subset = found["subset"]
    assert subset["columns"] == selector.get_feature_names_out().tolist()
    assert subset["value"] == selector.merit_
    assert subset["n_evaluations"] == selector.n_evaluations_
    assert subset["stopped"] == selector.archive_.stopped
    assert subset["course"][-1]["columns"] == subset["columns"]
    assert subset["trace"]["merit"] == selector.archive_.merits.tolist()
    assert subset["trace"]["size"] == selector.archive_.sizes.tolist()
    assert (subset["merit"]["id"], subset["search"]["id"]) == ("cfs", "best_first")


def test_the_map_is_that_of_the_reducer(found, source):
    pca = PCA.for_study(source.schema).fit(source)
    (drawn,) = found["maps"]
    assert drawn["points"] == pca.embedding_[:, :2].tolist()
    assert drawn["rows"] == list(range(344))
    assert drawn["spectrum"]["values"] == pca.explained_variance_ratio_.tolist()
    assert drawn["loadings"]["values"] == pca.loadings_.tolist()


def test_the_map_is_coloured_by_the_target_and_the_columns(found, penguins):
    by_name = {color["name"]: color for color in found["colors"]}
    assert next(iter(by_name)) == "species"
    species = by_name["species"]
    assert [species["levels"][code] for code in species["values"]] == penguins["species"].tolist()
    assert by_name["bill_length_mm"]["values"] == penguins["bill_length_mm"].replace({np.nan: None}).tolist()


def test_the_result_is_plain_json(found):
    assert json.loads(json.dumps(found, allow_nan=False)) == found


def test_the_same_seed_gives_the_same_result_but_for_the_times(found):
    again = study(str(PENGUINS), "species").to_dict()
    assert without_times(again) == without_times(found)
    assert [step["step"] for step in again["timings"]] == ["read", "table", "ranking", "subset", "maps"]


def test_one_thread_and_two_give_the_same_result():
    one, two = (study(str(PENGUINS), "species", n_jobs=n).to_dict() for n in (1, 2))
    assert without_times(one) == without_times(two)


def test_a_frame_and_a_source_give_the_numbers_of_the_file(found, penguins, source):
    parts = ("table", "ranking", "subset", "maps", "colors")
    for other in (study(penguins, "species"), study(source)):
        assert {part: other.to_dict()[part] for part in parts} == {part: found[part] for part in parts}


def test_warnings_are_in_the_result_once(found):
    assert len(set(found["warnings"])) == len(found["warnings"])
    assert any("missing values were given the mean of the column" in sentence for sentence in found["warnings"])
    assert any("species" in sentence and "3 classes" in sentence for sentence in found["warnings"])


def test_rows_without_a_target_are_told(penguins):
    frame = penguins.assign(species=penguins["species"].where(np.arange(344) % 50 > 0))
    result = study(frame, "species").to_dict()
    assert (result["table"]["n_rows"], result["table"]["n_rows_used"]) == (344, 337)
    assert any("7 rows without a target left out" in sentence for sentence in result["warnings"])
    assert result["maps"][0]["rows"] == [k for k in range(344) if k % 50 > 0]


def test_without_a_target_columns_are_ranked_by_what_they_hold_and_no_subset_is_chosen(penguins):
    result = study(penguins).to_dict()
    assert result["table"]["target"] is None
    assert [criterion["id"] for criterion in result["ranking"]["criteria"]] == ["entropy", "variance"]
    assert result["ranking"]["scores"]["entropy"] == RankSelector(Entropy()).fit(penguins).scores_.tolist()
    assert result["subset"] is None
    assert result["ranking"]["cuts"] == {}
    assert len(result["maps"]) == 1


def test_a_numeric_target_is_cut_into_ten_intervals(penguins):
    frame = penguins.dropna(subset=["body_mass_g"]).reset_index(drop=True)
    result = study(frame, "body_mass_g").to_dict()
    assert result["table"]["target_kind"] == "numeric"
    assert result["table"]["target_summary"]["mean"] == pytest.approx(frame["body_mass_g"].mean(), rel=1e-12)
    assert "fisher_score" not in result["ranking"]["scores"]
    selector = RankSelector(InformationGain(discretization=EqualFrequency(10)))
    expected = selector.fit(open_source(frame, "body_mass_g")).scores_
    assert result["ranking"]["scores"]["information_gain"] == expected.tolist()
    subset = SubsetSelector(CFS(), BestFirst()).fit(open_source(frame, "body_mass_g"))
    assert result["subset"]["columns"] == subset.get_feature_names_out().tolist()


def test_without_points_no_row_of_the_table_is_in_the_result(penguins):
    secret = penguins.assign(bill_length_mm=penguins["bill_length_mm"] + 0.0123456)
    result = study(secret, "species", points=False).to_dict()
    assert result["maps"][0]["points"] is None
    assert result["maps"][0]["rows"] == []
    assert result["colors"] == []
    text = json.dumps(result)
    extremes = {secret["bill_length_mm"].min(), secret["bill_length_mm"].max()}
    inner = [value for value in secret["bill_length_mm"].dropna().unique() if value not in extremes]
    # Cut points lie between values; no value of a row stands there but the extremes.
    assert not any(repr(value) in text for value in inner)


def test_a_large_table_is_drawn_by_a_sample_that_the_seed_decides():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(5000, 3)), rng.integers(0, 2, 5000)
    first, again, other = (study(X, y, random_state=seed).to_dict() for seed in (1, 1, 2))
    rows = first["maps"][0]["rows"]
    assert len(rows) == len(first["maps"][0]["points"]) == len(first["colors"][0]["values"]) == 2000
    assert rows == sorted(set(rows))
    assert rows == again["maps"][0]["rows"]
    assert rows != other["maps"][0]["rows"]
    color = next(color for color in first["colors"] if color["name"] == "x1")
    assert color["values"] == X[rows, 1].tolist()


def test_parts_that_are_given_take_the_place_of_the_usual_ones(source):
    result = study(
        source,
        relevances=[Variance()],
        merit=CFS(convention="weka"),
        search=Forward(),
        maps=[],
        n_features=2,
        points=True,
    ).to_dict()
    assert list(result["ranking"]["scores"]) == ["variance"]
    assert len(result["subset"]["columns"]) == 2
    assert result["subset"]["search"]["label"] == "Forward selection"
    assert result["maps"] == []
    assert result["colors"] == []


def test_a_search_of_a_study_stops_and_writes_its_journal(source, tmp_path):
    journal = tmp_path / "journal"
    result = study(source, stop=Evaluations(9), journal=journal).to_dict()
    assert result["subset"]["n_evaluations"] == 9
    assert result["subset"]["stopped"] == "9 evaluations made"
    assert journal.exists()


@pytest.mark.parametrize(
    ("where", "held", "sentence"),
    [
        ("tamiz._study.describe_ranking", [], "Interrupted in the step 'ranking'"),
        ("tamiz.selection.run", ["ranking"], "Interrupted in the step 'subset, after 0 evaluations'"),
        ("tamiz._study.describe_map", ["ranking", "subset"], "Interrupted in the step 'maps'"),
    ],
)
def test_control_c_keeps_the_steps_that_were_done_and_says_so(source, monkeypatch, where, held, sentence):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(where, interrupted)
    result = study(source).to_dict()
    assert result["interrupted"].startswith(sentence)
    assert [part for part in ("ranking", "subset") if result[part] is not None] == held
    assert result["maps"] == []


def test_control_c_in_a_search_keeps_the_best_set_found(source, monkeypatch):
    from tamiz.criteria import cfs

    evaluate, calls = cfs._CFSEvaluator.evaluate, []

    def interrupted(self, candidates):
        calls.append(1)
        if len(calls) == 3:
            raise KeyboardInterrupt
        return evaluate(self, candidates)

    monkeypatch.setattr(cfs._CFSEvaluator, "evaluate", interrupted)
    result = study(source).to_dict()
    n = result["subset"]["n_evaluations"]
    assert n == 1 + len(source.schema.used)
    assert (
        result["interrupted"]
        == f"Interrupted in the step 'subset, after {n} evaluations'; what was found until then is shown."
    )
    assert len(result["subset"]["columns"]) == 1


def test_an_uninterrupted_study_says_nothing_of_it(found):
    assert found["interrupted"] is None


def test_a_constant_target_is_refused(penguins):
    with pytest.raises(ValueError, match="Target 'one' is constant"):
        study(penguins.assign(one="same"), "one")


def test_a_source_with_another_target_is_refused():
    source = open_source(np.eye(4), [0, 1, 0, 1])
    with pytest.raises(TypeError, match="A source has its own target, kinds and weights"):
        study(source, "x0")


def test_two_criteria_of_one_class_both_stand_in_the_result():
    X, y = np.tile(np.eye(4), (3, 1)), [0, 1, 0, 1] * 3
    result = study(X, y, relevances=[InformationGain(), InformationGain(missing="category")]).to_dict()
    assert [c["id"] for c in result["ranking"]["criteria"]] == ["information_gain_1", "information_gain_2"]
    assert set(result["ranking"]["scores"]) == {"information_gain_1", "information_gain_2"}
