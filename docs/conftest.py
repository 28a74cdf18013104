"""Pages are doctested; what builds them, and the examples that they run, is not collected. Long pages run among the slow tests."""

from pathlib import Path

import pytest

collect_ignore_glob = ["*.py", "_build", "examples", "methods"]

LONG_PAGES = (
    *("autoencoder.md", "effect-on-models.md", "honest-numbers.md", "judging-maps.md", "laplacian-eigenmaps.md"),
    *("large-tables.md", "locally-linear-embedding.md", "rankings.md", "redundancy.md"),
    *("searches.md", "t-sne.md", "umap.md", "wrappers.md"),
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the long pages as slow."""
    for item in items:
        if item.path.parent == Path(__file__).parent and item.path.name in LONG_PAGES:
            item.add_marker(pytest.mark.slow)
