"""Files larger than the memory limit: the peak memory of the whole process, mapped pages included."""

import json
import subprocess
import sys

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest

N_ROWS, N_NUMBERS = 1_500_000, 24
LIMIT = 600_000_000

# A process is told the peak of the one that it was split from as its own: this one is small.
OUTSIDE = """
import json, resource, subprocess, sys
run = subprocess.run(sys.argv[1:], capture_output=True, text=True)
peak = 1024 * resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
print(json.dumps({"status": run.returncode, "peak": peak, "out": run.stdout, "err": run.stderr}))
"""

PCA_OF = """
import sys, warnings
import numpy as np
from tamiz import open_table
from tamiz.reduction import PCA

warnings.simplefilter("ignore")
pca = PCA(2).fit(open_table(sys.argv[1], "y", memory=int(sys.argv[2])))
print(np.array2string(pca.explained_variance_, floatmode="unique"))
"""

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="peak memory is told in other units elsewhere"),
]


@pytest.fixture(scope="module", params=["csv", "parquet"])
def table(request, tmp_path_factory):
    """A file of numbers with gaps, and the numbers."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, N_ROWS)
    X = rng.normal(size=(N_ROWS, 3)) @ rng.normal(size=(3, N_NUMBERS)) + rng.normal(size=(N_ROWS, N_NUMBERS))
    X[:, :4] += y[:, None] * [2.0, 1.0, 0.5, 0.25]
    X = X.round(5)
    columns = {f"c{j}": X[:, j] for j in range(N_NUMBERS)}
    columns |= {
        "colour": np.array(["red", "green", "blue"])[rng.integers(0, 3, N_ROWS)],
        "y": np.array(["no", "yes"])[y],
    }
    folder = tmp_path_factory.mktemp("large")
    if request.param == "csv":
        pyarrow.csv.write_csv(pa.table(columns), folder / "large.csv")
        return folder / "large.csv", X
    for k, rows in enumerate(np.array_split(np.arange(N_ROWS), 7)):
        pyarrow.parquet.write_table(
            pa.table({name: values[rows] for name, values in columns.items()}), folder / f"part-{k}.parquet"
        )
    return folder, X


def run_outside(*command):
    ran = subprocess.run(
        [sys.executable, "-c", OUTSIDE, *map(str, command)], check=True, capture_output=True, text=True
    )
    found = json.loads(ran.stdout)
    assert found["status"] == 0, found["err"]
    return found


def test_a_ranking_stays_within_the_memory_that_was_stated(table):
    path, _ = table
    for relevance in ("information-gain", "fisher-score"):
        ranked = ["rank", path, "--target", "y", "-r", relevance, "--memory", "600MB"]
        found = run_outside(sys.executable, "-m", "tamiz", *ranked)
        assert found["out"].splitlines()[1].startswith("c0\t")
        passes = 2 if relevance == "information-gain" else 1
        assert f"{passes} pass" in found["err"]
        assert "at most 600 MB of memory." in found["err"]
        assert found["peak"] < LIMIT


def test_pca_stays_within_the_memory_that_was_stated(table):
    path, X = table
    found = run_outside(sys.executable, "-c", PCA_OF, path, LIMIT)
    variance = np.array(found["out"].strip("[]\n").split(), dtype=float)
    expected = np.sort(np.linalg.eigvalsh(np.cov(X, rowvar=False)))[::-1]
    # The colours, at the side of 24 columns of numbers, move the leading directions by less than this.
    np.testing.assert_allclose(variance, expected[:2], rtol=1e-4)
    assert found["peak"] < LIMIT
