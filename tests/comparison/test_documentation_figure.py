"""The figure on the documentation page of Laplacian eigenmaps equals the one that the code of the page plots."""

import doctest
from pathlib import Path

import pytest
from matplotlib import image

DOCS = Path(__file__).parents[2] / "docs"


@pytest.mark.slow
def test_the_picture_of_the_page_is_the_one_that_its_code_draws(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    text = (DOCS / "laplacian-eigenmaps.md").read_text(encoding="utf-8")
    names = {}
    for example in doctest.DocTestParser().get_examples(text):
        exec(example.source, names)
        if "savefig" in example.source:
            break
    drawn, shown = image.imread("eigenmap-grid.png"), image.imread(DOCS / "eigenmap-grid.png")
    assert "](eigenmap-grid.png)" in text
    assert drawn.shape == shown.shape
    # Releases of matplotlib round and set letters in their own ways (3.8 differs by .008), the other roll by .026.
    assert abs(drawn - shown).mean() < 0.01
