"""Weka in a JVM of its own: the seconds are taken inside it, its start and the reading of the table are not counted."""

import json
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

HARNESS = Path(__file__).parent / "weka" / "WekaPeer.java"
DEBIAN_JAR = Path("/usr/share/java/weka.jar")


def why_no_weka() -> str | None:
    if shutil.which("java") is None:
        return "Java is not installed"
    if not weka_jar().exists():
        return f"no Weka at {weka_jar()}; set WEKA_JAR or install Debian's package weka"
    return None


def weka_jar() -> Path:
    return Path(os.environ.get("WEKA_JAR", DEBIAN_JAR))


needs_weka = pytest.mark.skipif(why_no_weka() is not None, reason=str(why_no_weka()))


def weka(what: str, table: np.ndarray, n_values: list[int], *, repeats: int, heap: str = "3g") -> dict[str, Any]:
    """Time ``infogain``, ``relief`` or ``cfs``; the table's last column is the target, ``n_values`` is 0 for a numeric one."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.f64"
        table.astype(">f8").tofile(path)
        levels = ",".join(map(str, n_values))
        command = ["java", f"-Xmx{heap}", "-cp", str(weka_jar()), str(HARNESS)]
        run = subprocess.run(
            [*command, "time", what, str(path), str(len(table)), levels, str(repeats)],
            check=True,
            capture_output=True,
            text=True,
        )
    return json.loads(run.stdout)


def record_weka(benchmark: Any, result: dict[str, Any]) -> None:
    """Hand over the JVM's own seconds: the median of the later repeats, and the first, cold one apart."""
    cold, *warm = result["seconds"]
    benchmark.extra_info.update(
        system=f"Weka {result['weka_version']}",
        seconds=float(np.median(warm or [cold])),
        cold_seconds=cold,
    )
