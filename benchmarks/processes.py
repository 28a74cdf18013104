"""One piece of work of one system, timed in processes of its own."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

# What a system is imported as, by the first word of its name.
MODULES = {
    "faiss": "faiss",
    "pynndescent": "pynndescent",
    "hnswlib": "hnswlib",
    "openTSNE": "openTSNE",
    "umap-learn": "umap",
    "scikit-bio": "skbio",
    "scikit-feature": "skfeature",
    "ITMO_FS": "ITMO_FS",
    "scikit-learn": "sklearn",
    "mlxtend": "mlxtend",
    "sklearn-genetic-opt": "sklearn_genetic",
    "tamiz": "tamiz",
    "Lanczos": "scipy",
    "shift-invert": "scipy",
    "picard": "picard",
    "fast-select": "fast_select",
}
# Seconds that one process may take.
PATIENCE = 300


def timed(
    benchmark: Any,
    tmp_path: Path,
    work: str,
    system: str,
    *,
    processes: int = 1,
    repeats: int = 1,
    patience: float = PATIENCE,
    **given: Any,
) -> dict[str, Any] | None:
    """Run a system's work so many times in so many processes and return what it found, None when it did not end in time.

    The median of the seconds counts, that of the first times is told beside it, and so is what the process tells of itself.
    """
    module = MODULES[system.partition(" ")[0]]
    if importlib.util.find_spec(module) is None:
        pytest.skip(f"{module} is not installed; pip install '.[bench]' brings it")
    table, out = tmp_path / "given.npz", tmp_path / "found.npz"
    np.savez(table, repeats=repeats, **given)
    command = [sys.executable, str(Path(__file__).with_name(work)), system, str(table), str(out)]
    told: list[dict[str, Any]] = []

    def run() -> None:
        try:
            found = subprocess.run(command, check=True, capture_output=True, text=True, timeout=patience)
        except subprocess.TimeoutExpired:
            benchmark.extra_info["ended"] = False
            told.append({"seconds": [patience]})
        else:
            told.append(json.loads(found.stdout.splitlines()[-1]))

    benchmark.pedantic(run, rounds=processes)
    seconds = [one.pop("seconds") for one in told]
    benchmark.extra_info.update(told[-1])
    benchmark.extra_info["seconds"] = float(np.median([s for each in seconds for s in each[1:] or each]))
    benchmark.extra_info.update({"system": system} if module != "tamiz" else {"system": "tamiz", "form": system})
    if not out.exists():
        return None
    if repeats > 1:
        benchmark.extra_info["cold_seconds"] = float(np.median([each[0] for each in seconds]))
    return dict(np.load(out))
