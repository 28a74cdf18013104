"""Type I error, false discovery rate and power of conditional importance, beside hidimstat on the same draws.

    python -m benchmarks.conditional_importance_rates run records.jsonl [--draws 40] [--designs WORD ...] [--procedures WORD ...]
    python -m benchmarks.conditional_importance_rates docs records.jsonl

`run` appends a line for each draw and procedure; those that the file has are not repeated. Without hidimstat its procedures are
left out. `docs` writes the table of `measured.md`. A column is false if the target is independent of it given all others.
"""

import argparse
import json
import math
import time
import warnings
from collections import defaultdict
from importlib.util import find_spec
from pathlib import Path

import numpy as np
from benchmarks.conditional_importance_designs import DESIGNS
from sklearn.base import is_classifier
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import log_loss, mean_squared_error
from sklearn.model_selection import KFold

from tamiz.assessment import conditional_importance
from tamiz.criteria import adjust_p_values

PAGE = Path(__file__).parent / "measured.md"
START = "<!-- conditional importance: written by benchmarks/conditional_importance_rates.py -->"
END = "<!-- end of conditional importance -->"
ALPHA, FDR = 0.05, 0.1
BOOSTING = {"max_iter": 60, "max_leaf_nodes": 15, "learning_rate": 0.15, "early_stopping": False, "random_state": 0}


def by_tamiz(model, method):
    def p_values(X, y, metadata, seed):
        name = ("logistic" if set(np.unique(y)) == {0, 1} else "ridge") if model == "linear" else model
        options = {"model": name, "method": method, "random_state": seed, "n_jobs": 1}
        return conditional_importance(X, y, **options, **metadata).p_value

    return p_values


def by_hidimstat(model, method):
    def p_values(X, y, metadata, seed):
        from hidimstat import CFICV, LOCOCV

        if not isinstance(X, np.ndarray) or metadata:
            return None
        classes = set(np.unique(y)) == {0, 1}
        if model == "linear":
            estimator = LogisticRegression(max_iter=1000) if classes else Ridge()
        else:
            estimator = (HistGradientBoostingClassifier if classes else HistGradientBoostingRegressor)(**BOOSTING)
        options = {"estimators": estimator, "cv": KFold(5, shuffle=True, random_state=seed)}
        if is_classifier(estimator):
            options |= {"method": "predict_proba", "loss": log_loss}
        else:
            options |= {"loss": mean_squared_error}
        found = LOCOCV(**options) if method == "loco" else CFICV(**options, n_permutations=20, random_state=seed)
        found.fit_importance(X, y)
        return found.pvalues_

    return p_values


PROCEDURES = {
    "CFI, linear": by_tamiz("linear", "cfi"),
    "CFI, boosting": by_tamiz("gradient_boosting", "cfi"),
    "LOCO, linear": by_tamiz("linear", "loco"),
    "hidimstat CFICV, linear": by_hidimstat("linear", "cfi"),
    "hidimstat CFICV, boosting": by_hidimstat("gradient_boosting", "cfi"),
    "hidimstat LOCOCV, linear": by_hidimstat("linear", "loco"),
}


def measure(p_values, relevant):
    """Return the shares of false columns with a small p-value, of false among selected columns, and of relevant columns found."""
    null = np.ones(len(p_values), dtype=bool)
    null[relevant] = False
    p_values = np.nan_to_num(p_values, nan=1.0)
    selected = adjust_p_values(p_values) <= FDR
    return {
        "type_1": float((p_values[null] <= ALPHA).mean()),
        "fdp": float((selected & null).sum() / max(1, selected.sum())),
        "power": float(selected[~null].mean()),
    }


def run(path, n_draws, designs, procedures):
    done = {(one["design"], one["procedure"], one["draw"]) for one in read(path)} if path.exists() else set()
    with path.open("a") as file:
        for draw in range(n_draws):
            for design, make in DESIGNS.items():
                if designs and not any(word in design for word in designs):
                    continue
                X, y, relevant, metadata = make(np.random.default_rng([draw, 11]))
                for name, p_values in PROCEDURES.items():
                    if (design, name, draw) in done or (procedures and not any(word in name for word in procedures)):
                        continue
                    if name.startswith("hidimstat") and find_spec("hidimstat") is None:
                        continue
                    begun = time.process_time()
                    with warnings.catch_warnings():
                        warnings.simplefilter("ignore")
                        found = p_values(X, y, metadata, draw)
                    if found is None:
                        continue
                    record = {"design": design, "procedure": name, "draw": draw, **measure(found, relevant)}
                    record["seconds"] = time.process_time() - begun
                    file.write(json.dumps(record) + "\n")
                    file.flush()


def read(path):
    return [json.loads(line) for line in path.read_text().splitlines()]


def table(records):
    """Return a table in Markdown: type I error, false discovery rate and power, with standard errors of the first two."""
    cells = defaultdict(list)
    for one in records:
        cells[one["design"], one["procedure"]].append(one)
    names = [name for name in PROCEDURES if any(name == procedure for _, procedure in cells)]
    lines = [f"| table | {' | '.join(names)} |", f"|---|{'---:|' * len(names)}"]
    counts = [[len(cells[design, name]) for design in DESIGNS if cells[design, name]] for name in names]
    draws = [f"{min(one)}" if min(one) == max(one) else f"{min(one)} to {max(one)}" for one in counts]
    lines.append(f"| draws | {' | '.join(draws)} |")
    for design in DESIGNS:
        texts = []
        for name in names:
            found = cells[design, name]
            if not found:
                texts.append("")
                continue
            rates = []
            for what, bound in (("type_1", ALPHA), ("fdp", FDR)):
                values = np.array([one[what] for one in found])
                mean, error = values.mean(), values.std(ddof=1) / math.sqrt(len(values))
                text = f"{mean:.3f} ± {error:.3f}"
                rates.append(f"**{text}**" if mean > bound + max(0.02, 2 * error) else text)
            texts.append(f"{rates[0]}; {rates[1]} ({np.mean([one['power'] for one in found]):.2f})")
        lines.append(f"| {design} | {' | '.join(texts)} |")
    seconds = [np.mean([one["seconds"] for one in records if one["procedure"] == name]) for name in names]
    lines.append(f"| CPU seconds per table | {' | '.join(f'{one:.2f}' for one in seconds)} |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("action", choices=["run", "docs"])
    parser.add_argument("path", type=Path)
    parser.add_argument("--draws", type=int, default=40)
    parser.add_argument("--designs", nargs="*", default=())
    parser.add_argument("--procedures", nargs="*", default=())
    options = parser.parse_args()
    if options.action == "run":
        run(options.path, options.draws, options.designs, options.procedures)
        return
    text = PAGE.read_text()
    before, rest = text.split(START)
    PAGE.write_text(f"{before}{START}\n\n{table(read(options.path))}\n\n{END}{rest.split(END)[1]}")


if __name__ == "__main__":
    main()
