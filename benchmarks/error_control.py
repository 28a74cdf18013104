"""How well selections with error control keep their stated rates, by simulation.

    python benchmarks/error_control.py run records.jsonl [--draws SHARE] [--designs NAME ...] [--procedures NAME ...]
    python benchmarks/error_control.py table records.jsonl
    python benchmarks/error_control.py docs records.jsonl

`run` applies every procedure to the draws of every design (`error_control_designs.py`), and appends the counts of each draw to a
file of JSON lines; draws that the file has already are not repeated, and a run can be interrupted at any time. Peers that are not
installed are left out. `--draws 0.1` runs a tenth of the draws. `table` prints all rates with their Monte Carlo standard errors;
`docs` writes their summary to `error_control.json` and the tables of `measured.md` from it.

A procedure is measured against its own statement: tests of single columns against the marginal truth, knockoffs against
the conditional one. The other rate is recorded, too. A rate is the mean over draws of V / max(1, R), with V false ones of R
selected columns; in the design without relevant columns it is the share of draws with any selection. Power is the share of
the columns in the formula of the target that are selected. The criterion: the rate is at most the stated one plus 0.02. A rate is
marked where it is above that, and above the stated one by two standard errors. Less than 10 draws are not shown.
"""

import argparse
import json
import math
import time
import warnings
from collections import defaultdict
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from error_control_designs import DESIGNS, Design, Sample, available

from tamiz import RankSelector
from tamiz.criteria import IndependenceTest
from tamiz.error_control import BorutaSelector, KnockoffSelector, StabilitySelector

HERE = Path(__file__).parent
SUMMARY = HERE / "error_control.json"
PAGE = HERE / "measured.md"
START, END = "<!-- measured rates: written by benchmarks/error_control.py -->", "<!-- end of measured rates -->"
TOLERANCE = 0.02
# Fewer draws are no estimate of a rate.
MIN_DRAWS = 10


class Procedure(NamedTuple):
    """A way to select columns, with what it states.

    Attributes
    ----------
    name, text : str
    select : function of a sample and a seed
        Returns the support.
    truth : {"marginal", "conditional"}
        Which columns are false in its statement.
    states : {"fdr", "fwer", "count", ""}
        What is at most `bound`: E(V / R), P(V > 0), E(V), or nothing.
    bound : float
    n_draws : int
    needs : str
        The package of a peer.
    designs : tuple of str
        The designs that it runs on; all if empty.
    """

    name: str
    text: str
    select: Callable[[Sample, int], np.ndarray]
    truth: str
    states: str
    bound: float
    n_draws: int
    needs: str = "tamiz"
    designs: tuple[str, ...] = ()


def by_tests(
    fdr: float, correction: str = "benjamini_hochberg", test: str = "parametric"
) -> Callable[[Sample, int], np.ndarray]:
    """Return the selection by tests of single columns."""

    def select(sample: Sample, _: int) -> np.ndarray:
        selector = RankSelector(IndependenceTest(test=test), fdr=fdr, correction=correction)
        return selector.fit(sample.X, targets(sample)).get_support()

    return select


def by_knockoffs(**options: Any) -> Callable[[Sample, int], np.ndarray]:
    def select(sample: Sample, seed: int) -> np.ndarray:
        return KnockoffSelector(random_state=seed, **options).fit(sample.X, targets(sample)).support_

    return select


def by_boruta(sample: Sample, seed: int) -> np.ndarray:
    return BorutaSelector(random_state=seed).fit(sample.X, targets(sample)).support_


def by_stability(sample: Sample, seed: int) -> np.ndarray:
    selector = StabilitySelector(IndependenceTest(), max_false=1, random_state=seed)
    return selector.fit(sample.X, targets(sample)).support_


def by_select_fdr(sample: Sample, _: int) -> np.ndarray:
    from sklearn.feature_selection import SelectFdr, f_classif, f_regression

    score = f_classif if has_classes(sample) else f_regression
    return SelectFdr(score, alpha=0.1).fit(numbers(sample), sample.y).get_support()


def by_knockpy(sample: Sample, seed: int) -> np.ndarray:
    from knockpy.knockoff_filter import KnockoffFilter

    np.random.seed(seed)  # noqa: NPY002, knockpy draws from the global generator.
    X = numbers(sample)
    y = sample.y if has_classes(sample) else sample.y - sample.y.mean()
    model = KnockoffFilter(ksampler="gaussian", fstat="lasso", knockoff_kwargs={"method": "mvr"})
    return np.asarray(model.forward(X=(X - X.mean(axis=0)) / X.std(axis=0), y=y, fdr=0.1), dtype=bool)


def by_borutapy(sample: Sample, seed: int) -> np.ndarray:
    from boruta import BorutaPy
    from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

    forest = (RandomForestClassifier if has_classes(sample) else RandomForestRegressor)(max_depth=5, n_jobs=1)
    selector = BorutaPy(forest, n_estimators=50, max_iter=50, two_step=False, random_state=seed)
    return selector.fit(numbers(sample), sample.y).support_


# Designs with 10 relevant columns or little power, where a selection at 0.1, of 10 columns at least, is usually empty.
FEW_RELEVANT = ("few-rows", "breast-cancer", "digits", "credit-g")
PROCEDURES = [
    Procedure("BH 0.05", "`IndependenceTest`, `fdr=0.05`", by_tests(0.05), "marginal", "fdr", 0.05, 500),
    Procedure("BH 0.1", "`IndependenceTest`, `fdr=0.1`", by_tests(0.1), "marginal", "fdr", 0.1, 500),
    Procedure("rank BH 0.1", "rank tests, `fdr=0.1`", by_tests(0.1, test="rank"), "marginal", "fdr", 0.1, 500),
    Procedure(
        "BY 0.1",
        "Benjamini-Yekutieli, 0.1",
        by_tests(0.1, correction="benjamini_yekutieli"),
        "marginal",
        "fdr",
        0.1,
        500,
    ),
    Procedure(
        "Bonferroni 0.1", "Bonferroni, 0.1", by_tests(0.1, correction="bonferroni"), "marginal", "fwer", 0.1, 500
    ),
    Procedure(
        "SelectFdr 0.1", "scikit-learn's `SelectFdr`, 0.1", by_select_fdr, "marginal", "fdr", 0.1, 500, "sklearn"
    ),
    Procedure("mvr 0.1", "`KnockoffSelector`, 0.1", by_knockoffs(fdr=0.1), "conditional", "fdr", 0.1, 200),
    Procedure(
        "equicorrelated 0.1",
        "`KnockoffSelector`, equicorrelated, 0.1",
        by_knockoffs(fdr=0.1, method="equicorrelated"),
        "conditional",
        "fdr",
        0.1,
        100,
    ),
    Procedure(
        "mvr 0.2",
        "`KnockoffSelector`, 0.2",
        by_knockoffs(fdr=0.2),
        "conditional",
        "fdr",
        0.2,
        100,
        "tamiz",
        FEW_RELEVANT,
    ),
    Procedure("knockpy 0.1", "knockpy, mvr, 0.1", by_knockpy, "conditional", "fdr", 0.1, 50, "knockpy"),
    Procedure("stability 1", "`StabilitySelector(max_false=1)`", by_stability, "marginal", "count", 1.0, 100),
    Procedure("Boruta", "`BorutaSelector`", by_boruta, "marginal", "", math.nan, 50),
    Procedure(
        "BorutaPy",
        "BorutaPy",
        by_borutapy,
        "marginal",
        "",
        math.nan,
        20,
        "boruta",
        ("independent", "imbalanced", "null"),
    ),
]


def has_classes(sample: Sample) -> bool:
    return sample.y.dtype.kind == "i"


def targets(sample: Sample) -> np.ndarray:
    return np.array(["no", "yes"])[sample.y] if has_classes(sample) else sample.y


def numbers(sample: Sample) -> np.ndarray:
    """Return the table as numbers, with categories as codes in the order of their levels, for peers."""
    if not isinstance(sample.X, pd.DataFrame):
        return sample.X
    columns = [x if x.dtype.kind in "fiu" else pd.Categorical(x).codes for _, x in sample.X.items()]
    return np.column_stack([np.asarray(column, dtype=float) for column in columns])


def due_procedures(procedures: list[Procedure], design: Design, share: float, number: int) -> Iterator[Procedure]:
    """Yield the procedures that are installed and apply to a draw of a design; all of them see the same table."""
    for procedure in procedures:
        is_due = number < math.ceil(share * procedure.n_draws)
        if is_due and find_spec(procedure.needs) and design.name in (procedure.designs or [design.name]):
            yield procedure


def counts(sample: Sample, support: np.ndarray) -> dict[str, int]:
    relevant, marginally_false = sample.truth
    return {
        "selected": int(support.sum()),
        "marginal": int((support & marginally_false).sum()),
        "conditional": int((support & ~relevant).sum()),
        "found": int((support & relevant).sum()),
        "relevant": int(relevant.sum()),
    }


def run(path: Path, designs: list[Design], procedures: list[Procedure], share: float) -> None:
    """Append the counts of the draws that the file does not have."""
    done = {(r["design"], r["procedure"], r["draw"]) for r in read(path)} if path.exists() else set()
    with path.open("a") as file, warnings.catch_warnings():
        # Peers and doubtful assumptions warn in every draw; the measured rates show what follows.
        warnings.simplefilter("ignore")
        # The draws of all designs advance together, so that an interrupted run has equally many of each.
        for number in range(max(procedure.n_draws for procedure in procedures)):
            for design in designs:
                due = [
                    p
                    for p in due_procedures(procedures, design, share, number)
                    if (design.name, p.name, number) not in done
                ]
                sample = design.sample(number) if due else None
                for procedure in due:
                    begun = time.perf_counter()
                    support = procedure.select(sample, number)
                    record = {"design": design.name, "procedure": procedure.name, "draw": number}
                    record |= {**counts(sample, support), "seconds": round(time.perf_counter() - begun, 4)}
                    file.write(json.dumps(record) + "\n")
                    file.flush()


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def rate(record: dict[str, Any], truth: str, states: str) -> float:
    """Return V, V > 0, or V / max(1, R) of one draw."""
    false = record[truth]
    return float(false if states == "count" else false > 0 if states == "fwer" else false / max(record["selected"], 1))


def mean_and_error(values: list[float]) -> list[float]:
    """Return the mean and its Monte Carlo standard error, both rounded to 4 places."""
    return [round(float(np.mean(values)), 4), round(float(np.std(values, ddof=1)) / math.sqrt(len(values)), 4)]


def summarize(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rates and the power of each design and procedure."""
    groups: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for record in records:
        groups[record["design"], record["procedure"]].append(record)
    found = []
    for design in DESIGNS:
        for procedure in PROCEDURES:
            draws = groups.get((design.name, procedure.name), [])
            if len(draws) < MIN_DRAWS:
                continue
            kind = procedure.states or "fdr"
            found.append(
                {
                    "design": design.name,
                    "procedure": procedure.name,
                    "draws": len(draws),
                    "marginal": mean_and_error([rate(r, "marginal", kind) for r in draws]),
                    "conditional": mean_and_error([rate(r, "conditional", kind) for r in draws]),
                    "selected": round(float(np.mean([r["selected"] for r in draws])), 2),
                    "power": round(float(np.mean([r["found"] / max(r["relevant"], 1) for r in draws])), 3),
                    "seconds": round(float(np.median([r["seconds"] for r in draws])), 4),
                }
            )
    return found


def exceeds(row: dict[str, Any], procedure: Procedure) -> bool:
    """Return whether the rate is above the stated one by more than the tolerance, and by more than two standard errors."""
    value, error = row[procedure.truth]
    tolerance = 0.0 if procedure.states == "count" else TOLERANCE
    return value > procedure.bound + max(tolerance, 2 * error)


def print_table(summary: list[dict[str, Any]]) -> None:
    by_name = {procedure.name: procedure for procedure in PROCEDURES}
    print(
        f"{'design':14}{'procedure':20}{'draws':>6}{'marginal':>16}{'conditional':>16}{'power':>7}{'size':>7}{'s':>8}"
    )
    for row in summary:
        rates = [f"{row[truth][0]:.3f} ± {row[truth][1]:.3f}" for truth in ("marginal", "conditional")]
        above = "  above the stated rate" if exceeds(row, by_name[row["procedure"]]) else ""
        print(
            f"{row['design']:14}{row['procedure']:20}{row['draws']:6}{rates[0]:>16}{rates[1]:>16}{row['power']:7.2f}"
            f"{row['selected']:7.1f}{row['seconds']:8.3f}{above}"
        )


# Captions of the tables of the documentation, with the truth and the statements of their procedures.
CAPTIONS = [
    ("False: independent of the target. Share of false columns among the selected ones", "marginal", ("fdr",)),
    (
        "False: independent of the target given all other columns. Share of false columns among the selected ones",
        "conditional",
        ("fdr",),
    ),
    (
        "False: independent of the target. Share of tables with a false column for Bonferroni, number of false columns for "
        "stability selection, share of false columns for Boruta",
        "marginal",
        ("fwer", "count", ""),
    ),
]


def markdown(summary: list[dict[str, Any]]) -> str:
    """Return the tables of the documentation: a row for each design, a column for each procedure, by statement."""
    cells = {(row["design"], row["procedure"]): row for row in summary}
    return "\n\n".join(markdown_table(cells, *caption) for caption in CAPTIONS)


def markdown_table(
    cells: dict[tuple[str, str], dict[str, Any]], caption: str, truth: str, statements: tuple[str, ...]
) -> str:
    shown = [
        p for p in PROCEDURES if p.truth == truth and p.states in statements and any(p.name == k[1] for k in cells)
    ]
    draws = {p.name: [row["draws"] for key, row in cells.items() if key[1] == p.name] for p in shown}
    lines = [
        f"{caption}; in brackets the share of relevant columns found.",
        "",
        "| table | " + " | ".join(p.text for p in shown) + " |",
        "|---|" + "---:|" * len(shown),
        "| draws | " + " | ".join(span(draws[p.name]) for p in shown) + " |",
    ]
    for design in DESIGNS:
        row = [cell(cells.get((design.name, p.name)), p, design) for p in shown]
        doubt = "" if design.normal or truth == "marginal" else " (not a Gaussian copula)"
        if any(row):
            lines.append(f"| {design.text}{doubt} | " + " | ".join(row) + " |")
    return "\n".join(lines)


def span(values: list[int]) -> str:
    return f"{min(values)}" if min(values) == max(values) else f"{min(values)} to {max(values)}"


def cell(row: dict[str, Any] | None, procedure: Procedure, design: Design) -> str:
    if row is None:
        return ""
    value, error = row[procedure.truth]
    text = f"{value:.3f} ± {error:.3f}"
    text = f"**{text}**" if exceeds(row, procedure) else text
    return text if design.name == "null" else f"{text} ({row['power']:.2f})"


def page_with_rates(page: str, summary: list[dict[str, Any]]) -> str:
    """Return the page with the tables between its two comments."""
    before, _, rest = page.partition(START)
    _, _, after = rest.partition(END)
    return f"{before}{START}\n\n{markdown(summary)}\n\n{END}{after}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("action", choices=["run", "table", "docs"])
    parser.add_argument("records", type=Path, help="a file of JSON lines, a line for each draw and procedure")
    parser.add_argument("--draws", type=float, default=1.0, help="share of the draws, 1 for all")
    parser.add_argument("--designs", nargs="*", choices=[d.name for d in available()], help="all by default")
    parser.add_argument("--procedures", nargs="*", choices=[p.name for p in PROCEDURES], help="all by default")
    asked = parser.parse_args()
    if asked.action == "run":
        designs = [d for d in available() if d.name in (asked.designs or [d.name])]
        procedures = [p for p in PROCEDURES if p.name in (asked.procedures or [p.name])]
        run(asked.records, designs, procedures, asked.draws)
        return
    summary = summarize(read(asked.records))
    print_table(summary)
    if asked.action == "docs":
        lines = ",\n".join(json.dumps(row) for row in summary)
        SUMMARY.write_text(f"[\n{lines}\n]\n", encoding="utf-8")
        PAGE.write_text(page_with_rates(PAGE.read_text(encoding="utf-8"), summary), encoding="utf-8")


if __name__ == "__main__":
    main()
