"""Studies of tables with many rows, columns or levels end and use little memory."""

import json
import subprocess
import sys

import pytest

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(sys.platform != "linux", reason="peak memory is told in other units elsewhere"),
]

MADE = """
import sys
import numpy as np
import pandas as pd

rng = np.random.default_rng(0)

def long():
    n = 300_000
    hidden = rng.normal(size=n)
    table = pd.DataFrame(rng.normal(size=(n, 11)), columns=[f"x{j}" for j in range(11)])
    table["x0"] += hidden
    table["tail"] = np.array([f"N{k}" for k in range(4000)])[rng.zipf(1.3, n) % 4000]
    table["place"] = np.array([f"P{k}" for k in range(100)])[rng.integers(0, 100, n)]
    table["when"] = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 6e7, n), unit="s")
    table["count"] = rng.poisson(3, n)
    table.loc[rng.random(n) < 0.1, ["x4", "place"]] = None
    return table.assign(y=np.where(hidden + rng.normal(size=n) > 1, "yes", "no"))

def wide():
    return pd.DataFrame(rng.normal(size=(10, 100_000)).round(4)).add_prefix("g").assign(y=list("ab") * 5)

table = {"long": long, "wide": wide}[sys.argv[1]]()
table.to_csv("table.csv", index=False)
"""
STUDIED = """
import json, resource, warnings
from tamiz import study

warnings.simplefilter("ignore")
result = study("table.csv", "y")
page = result.to_html("report.html")
told = result.to_dict()
print(json.dumps({
    "peak": 1024 * resource.getrusage(resource.RUSAGE_SELF).ru_maxrss,
    "first": told["ranking"]["columns"][min(range(len(told["ranking"]["columns"])),
        key=lambda j: told["ranking"]["mean_rank"]["ranks"][j] or 1e9)],
    "maps": [one["id"] for one in told["maps"]],
    "graph": told["graph"]["n_rows"],
    "page": page.stat().st_size,
    "unlisted_note": "The first 5,000 of 100,000 columns are listed" in page.read_text(encoding="utf-8"),
    "warnings": [one["sentence"] for one in told["warnings"]],
}))
"""


def run(script, folder, *arguments):
    done = subprocess.run(
        [sys.executable, "-c", script, *arguments], check=True, capture_output=True, text=True, cwd=folder
    )
    return done.stdout


@pytest.mark.parametrize("shape", ["long", "wide"])
def test_a_study_takes_less_than_2_5_gb_and_states_what_it_draws(tmp_path, shape):
    run(MADE, tmp_path, shape)
    found = json.loads(run(STUDIED, tmp_path))
    assert found["peak"] < 2.5e9
    assert found["page"] < 5e7
    assert len(found["maps"]) == 5
    if shape == "wide":
        assert found["graph"] == 10
        assert found["unlisted_note"]
    else:
        assert found["first"] == "x0"
        assert 2000 <= found["graph"] <= 100_000
        assert any(f"The graph joins {found['graph']:,} of the 300,000 rows" in told for told in found["warnings"])
