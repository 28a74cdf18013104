"""A graph of many rows of many columns, and the Laplacian score on it, in little more memory than the rows."""

import json
import subprocess
import sys

import pytest

# The rows lie near a space of few dimensions, as rows of many columns do. The column that is checked is scored edge by edge.
SCRIPT = """
import json, resource
import numpy as np
from tamiz.criteria import laplacian_score
from tamiz.graphs import KNearest

def peak():
    return 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

rng = np.random.default_rng(0)
X = rng.normal(size=(70_000, 12)) @ rng.normal(size=(12, 784))
X[:, 3] = rng.normal(size=70_000)
before = peak()
graph = KNearest(5).build(X)
scores = laplacian_score(X, graph)
beyond = peak() - before
S = graph.adjacency.tocoo()
degrees = np.bincount(S.row, S.data, 70_000)
plain = []
for f in X[:, :4].T:
    along = (S.data * (f[S.row] - f[S.col]) ** 2).sum() / 2
    plain.append(along / (degrees * (f - np.average(f, weights=degrees)) ** 2).sum())
print(json.dumps({"beyond": beyond, "scores": scores[:4].tolist(), "plain": plain}))
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="peak memory is told in other units elsewhere")
def test_the_laplacian_score_takes_less_than_a_gigabyte_beyond_the_rows():
    run = subprocess.run([sys.executable, "-c", SCRIPT], check=True, capture_output=True, text=True)
    found = json.loads(run.stdout)
    assert found["beyond"] < 2**30
    assert found["scores"] == pytest.approx(found["plain"], rel=1e-9)
    assert found["scores"][3] > 5 * max(found["scores"][:3])
