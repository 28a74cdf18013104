"""`tamiz compare`: the measures of single maps, samples, files, pictures, and refusals."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import Result
from tests.sentences import sentences

from tamiz.metrics import quality
from tamiz.reduction import PCA, ClassicalMDS


def shown(done: Result) -> pd.DataFrame:
    assert done.exit_code == 0, done.stderr
    lines = [line.split("\t") for line in done.stdout.splitlines()]
    return pd.DataFrame(lines[1:], columns=lines[0]).set_index("measure").astype(float)


def test_the_measures_are_those_of_the_maps_alone(tamiz: Callable[..., Result], iris: Path) -> None:
    done = tamiz("compare", iris, "--target", "species", "--reduce", "pca", "--reduce", "classical-mds")
    table = pd.read_csv(iris)
    X, labels = table.drop(columns="species"), table["species"]
    found = shown(done)
    assert list(found.columns) == ["PCA", "Classical MDS"]
    for label, reducer in {
        "PCA": PCA(2, standardize=True),
        "Classical MDS": ClassicalMDS(2, dissimilarity="seuclidean"),
    }.items():
        expected = quality(X, reducer.fit(X).embedding_, metric="seuclidean", labels=labels)
        for measure in expected.measures:
            assert found.loc[measure.name, label] == pytest.approx(measure.value, abs=1e-9)
    assert (found.loc[["seconds", "megabytes"]] > 0).all(axis=None)
    assert "The most similar shapes are those of" in done.stderr


def test_all_maps_have_the_same_sampled_rows(tamiz: Callable[..., Result], write: Callable[..., Path]) -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(120, 3)), columns=["a", "b", "c"])
    done = tamiz(
        "compare", write(table.to_csv(index=False)), "--reduce", "pca", "--reduce", "mds", "--map-rows", 50, "--json"
    )
    found = json.loads(done.stdout)
    assert [one["label"] for one in found["maps"]] == ["PCA", "Metric MDS"]
    assert [one["n_samples"] for one in found["maps"]] == [50, 50]
    assert "50 of the 120 rows are mapped and compared, drawn at random." in sentences(found)
    assert np.shape(found["procrustes_distances"]) == (2, 2)


def test_the_measures_and_the_picture_are_written_to_files(
    tamiz: Callable[..., Result], iris: Path, tmp_path: Path
) -> None:
    measures, picture = tmp_path / "measures.csv", tmp_path / "maps.svg"
    done = tamiz(
        "compare",
        iris,
        "-t",
        "species",
        "--reduce",
        "pca",
        "--reduce",
        "laplacian-eigenmaps",
        "-o",
        measures,
        "--plot",
        picture,
    )
    assert done.exit_code == 0, done.stderr
    assert not done.stdout
    assert pd.read_csv(measures).columns.tolist() == ["measure", "PCA", "Laplacian eigenmaps"]
    assert picture.read_text().startswith("<?xml")
    assert sorted(path.name for path in tmp_path.iterdir() if path != iris) == ["maps.svg", "measures.csv"]


def test_a_target_of_numbers_adds_no_accuracy(tamiz: Callable[..., Result], write: Callable[..., Path]) -> None:
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.normal(size=(60, 3)), columns=["a", "b", "y"])
    found = shown(tamiz("compare", write(table.to_csv(index=False)), "-t", "y", "--reduce", "pca"))
    assert "label_accuracy" not in found.index


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (["--reduce", "pcb"], "pcb"),
        (["--reduce", "pca", "--reduce", "pca"], "--reduce: pca is listed twice."),
        (["--plot", "maps.doc"], "maps.doc: the extension of a picture must be one of png, svg, pdf."),
        (["--plot", "-"], "--plot needs the name of a file."),
        (["--output", "x.jpg"], "x.jpg: the extension of a table must be one of"),
        (["--graph", "same-class"], "connects rows of one class: name its column with --target."),
        (["--reduce", "classical-mds", "--dissimilarity", "gowe"], "gowe"),
    ],
)
def test_a_wrong_command_line_is_refused(
    tamiz: Callable[..., Result], iris: Path, options: list[str], sentence: str
) -> None:
    done = tamiz("compare", iris, *options)
    assert done.exit_code == 2
    assert sentence in done.stderr


def test_tsne_of_a_small_sample_has_as_many_neighbours_as_there_are(tamiz: Callable[..., Result], iris: Path) -> None:
    command = ["--reduce", "tsne", "--map-rows", 40]
    assert list(shown(tamiz("compare", iris, "-t", "species", "--reduce", "pca", *command)).columns) == ["PCA", "t-SNE"]
    done = tamiz("reduce", iris, "-t", "species", "--method", "tsne", "--map-rows", 40)
    assert done.exit_code == 0, done.stderr
    assert len(done.stdout.splitlines()) == 151


def test_a_sample_is_noted_before_the_maps_are_fitted(
    tamiz: Callable[..., Result], iris: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("tamiz.comparison.maps.compare_maps", interrupted)
    done = tamiz("compare", iris, "--map-rows", 100)
    assert "note TZ502: 100 of the 150 rows are mapped and compared, drawn at random." in done.stderr
