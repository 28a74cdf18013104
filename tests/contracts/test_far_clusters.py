"""Two far clusters: no map shows one of them as a point without a warning or an error."""

import numpy as np
import pytest
from sklearn.base import clone

from tamiz.exceptions import DataError
from tamiz.reduction import Autoencoder, registry
from tamiz.runtime.user_warnings import capture_warnings

# A short training.
SHORT = {"autoencoder": Autoencoder(hidden_sizes=(8,), max_epochs=30)}


@pytest.mark.parametrize("sizes", [(60, 60), (110, 10)])
@pytest.mark.parametrize("disconnected", [None, "connect", "per_component"])
@pytest.mark.parametrize("entry", registry.of_kind("map"), ids=lambda entry: entry.name)
def test_no_map_collapses_a_cluster_without_a_warning(entry, disconnected, sizes):
    reducer = clone(SHORT.get(entry.name) or entry.load()())
    parameters = reducer.get_params(deep=False)
    if disconnected is not None:
        if "disconnected" not in parameters:
            pytest.skip("the map has one way to handle components")
        reducer.set_params(disconnected=disconnected)
    if "random_state" in parameters:
        reducer.set_params(random_state=0)
    if parameters.get("n_components", 2) is None:
        reducer.set_params(n_components=2)
    rng = np.random.default_rng(0)
    clusters = np.repeat([0, 1], sizes)
    X = rng.normal(size=(sum(sizes), 4)) + 1e4 * clusters[:, None]
    refusal = None
    try:
        with capture_warnings() as warned:
            embedding = reducer.fit(X).embedding_
    except (DataError, ValueError) as error:
        refusal = str(error)
    if refusal is not None:
        # Errors name the components, or the choices of the parameter.
        assert "components of" in refusal or "disconnected must be" in refusal
        return
    extent = np.ptp(embedding, axis=0).max()
    spread = [np.ptp(embedding[clusters == cluster], axis=0).max() / extent for cluster in (0, 1)]
    assert min(spread) > 1e-6 or warned
