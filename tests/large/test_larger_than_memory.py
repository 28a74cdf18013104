"""A file whose columns do not fit in the memory that is left for them."""

import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pytest

N_ROWS, N_COLUMNS = 1_200_000, 60
TABLE_BYTES = 8 * N_ROWS * N_COLUMNS

# No memory is given to the columns: all are mapped from disk.
SCRIPT = """
import sys
import numpy as np
from tamiz import open_source
from tamiz.reduction import PCA
from tamiz.sources import room

room.MEMORY_SHARE = 0.0
pca = PCA(3).fit(open_source(sys.argv[1], "y"))
np.save(sys.argv[2], pca.explained_variance_)
"""


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the system does not tell a process's own memory")
def test_pca_of_a_file_holds_a_fraction_of_its_table_in_memory(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N_ROWS, 3)) @ rng.normal(size=(3, N_COLUMNS)) + rng.normal(size=(N_ROWS, N_COLUMNS))
    columns = {f"c{j}": X[:, j] for j in range(N_COLUMNS)} | {"y": np.where(X[:, 0] > 0, "yes", "no")}
    pyarrow.csv.write_csv(pa.table(columns), tmp_path / "large.csv")
    expected = np.sort(np.linalg.eigvalsh(np.cov(X, rowvar=False)))[::-1][:3]
    del X, columns
    command = [sys.executable, "-c", SCRIPT, str(tmp_path / "large.csv"), str(tmp_path / "variance.npy")]
    with subprocess.Popen(command) as process:
        peak = 0
        while process.poll() is None:
            peak = max(peak, _anonymous_bytes(process.pid))
            time.sleep(0.02)
    assert process.returncode == 0
    assert np.allclose(np.load(tmp_path / "variance.npy"), expected, rtol=1e-9)
    assert peak < 0.8 * TABLE_BYTES


def _anonymous_bytes(pid: int) -> int:
    """Memory of the process's own; pages of mapped files can be dropped at any time and do not count."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith("RssAnon")), 0)
