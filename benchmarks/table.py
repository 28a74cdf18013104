"""One markdown table of a pytest-benchmark run: ``python benchmarks/table.py RESULTS.json``, to stdout."""

import json
import sys
from itertools import groupby
from pathlib import Path
from typing import Any


def main(path: str) -> None:
    results = json.loads(Path(path).read_text())
    print(machine(results["machine_info"]))
    print()
    print("| work | tamiz | peer | ratio |")
    print("|---|---:|---:|---:|")
    by_group = sorted(results["benchmarks"], key=lambda b: b["group"])
    for group, members in groupby(by_group, key=lambda b: b["group"]):
        runs = list(members)
        ours = [run for run in runs if run["extra_info"]["system"] == "tamiz"]
        peers = [run for run in runs if run["extra_info"]["system"] != "tamiz"]
        for row in rows(group, ours, peers):
            print("| " + " | ".join(row) + " |")


def machine(info: dict[str, Any]) -> str:
    cpu = info["cpu"]
    return (
        f"{cpu['count']} x {cpu.get('brand_raw', info['machine'])}, Python {info['python_version']}, "
        f"numpy {info['numpy']}, numba {info['numba']}, scikit-learn {info['scikit-learn']}; "
        "medians after a warm-up, Weka's inside one warm JVM"
    )


def rows(group: str, ours: list[dict[str, Any]], peers: list[dict[str, Any]]) -> list[list[str]]:
    if not ours:
        return [[group, "", label(peer), ""] for peer in peers]
    if not peers:
        return [[group, label(run), target(run), ""] for run in ours]
    return [[group, label(run), label(peer), f"{seconds(peer) / seconds(run):.1f}"] for run in ours for peer in peers]


def label(run: dict[str, Any]) -> str:
    info = run["extra_info"]
    name = "" if info["system"] == "tamiz" else f"{info['system']}, "
    notes = [info["form"]] if "form" in info else []
    if not info.get("ended", True):
        notes.append("not ended")
    if "cold_seconds" in info:
        notes.append(f"cold {duration(info['cold_seconds'])}")
    if "recall" in info:
        notes.append(f"recall {info['recall']:.4f}")
    if "residual" in info:
        notes.append(f"residual {info['residual']:.0e}")
    if "eigenvalue_error" in info:
        notes.append(f"eigenvalues off by {info['eigenvalue_error']:.0e}")
    if "beside_bytes" in info:
        notes.append(f"{info['beside_bytes'] / 1e6:.0f} MB beside the rows")
    if "beside_matrix" in info:
        notes.append(f"memory {info['beside_matrix']:.2f} of the matrix beside it")
    if "n_selected" in info:
        notes.append(f"{info['n_selected']} columns kept")
    return f"{name}{duration(seconds(run))}" + (f" ({'; '.join(notes)})" if notes else "")


def target(run: dict[str, Any]) -> str:
    goal = run["extra_info"].get("target_seconds")
    return "" if goal is None else f"to stay under {duration(goal)}"


def seconds(run: dict[str, Any]) -> float:
    """A peer in another process brings its own seconds; pytest-benchmark then timed the start of the process too."""
    return run["extra_info"].get("seconds", run["stats"]["median"])


def duration(value: float) -> str:
    return f"{value:.3g} s" if value >= 0.9995 else f"{value * 1000:.3g} ms"


if __name__ == "__main__":
    main(*sys.argv[1:])
