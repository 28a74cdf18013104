"""What a study finds in tables of known truth: the share of planted tables in which it is found, and that with a false alarm.

Run it from the root: `python -m benchmarks.planted_rates --tables 200 --first-seed 1000 [--kind WORD]`. The detecting functions are
called one by one, without a study. An alarm is false if it names anything that is not planted: leaks of other columns, ids and
texts that are honest columns, redundant and equivalent columns, sums of columns, groups of rows, columns by which the rows are
sorted, and folds by groups or time. `--what redundancy` only judges redundant and equivalent columns and sums, `--what chance` only
chance. `--write FILE` writes the rates of each code into its section of `src/tamiz/verdicts.md`. Chance is judged on tables of
noise, and on tables with a column of which the classes differ by one standard deviation.
"""

import argparse
import re
import time
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
from tests.planted_tables import KINDS, planted_table

from tamiz import SubsetSelector, open_table
from tamiz._study.ranking import find_redundancy
from tamiz._study.table import choose_fold_design
from tamiz.assessment import find_linear_dependences
from tamiz.selection.equivalent_columns import equivalent_columns
from tamiz.table.date_parts import split_dates
from tamiz.table.row_groups import find_repeated_id, monotone_columns

REDUNDANCY = ("copies", "equivalent", "sums")
CODES = {
    "TZ101": ("leaks",),
    "TZ201": ("groups",),
    "TZ202": ("folds",),
    "TZ203": ("ids",),
    "TZ204": ("sorted",),
    "TZ301": REDUNDANCY,
    "TZ302": ("chance",),
}
# Tables of noise have these numbers of rows and columns.
_NOISE_SIZES = ((60, 6), (100, 10), (200, 40), (400, 100))


def findings(X, y, only_redundancy):
    """Return the sets of names that are found, by what is found."""
    table = open_table(X, y)
    names = table.schema.names
    redundancy = find_redundancy(table, None, "distribute")
    found = {
        "copies": [] if redundancy is None else [set(group.columns) for group in redundancy.groups],
        "equivalent": [{names[j], names[kept]} for j, kept in equivalent_columns(table).items()],
        "sums": [{one.column, *one.others} for one in find_linear_dependences(table)],
    }
    if only_redundancy:
        return found
    repeated = find_repeated_id(table)
    table = split_dates(table)
    design = choose_fold_design(table, random_folds=False)
    return found | {
        "leaks": [set(leak.names) for leak in design.leaks],
        "ids": [{column.name} for column in table.schema.columns if column.kind in ("id", "text")],
        "groups": [] if repeated is None else [{repeated.name}],
        "sorted": [{one.name} for one in monotone_columns(table)],
        "folds": [] if design.comparison is None else [{design.comparison.name}],
    }


def compare(table, *, only_redundancy=False):
    """Return what is planted, what of it is missed, and what is found and not planted; each as pairs of what and which."""
    found = findings(table.X, table.y, only_redundancy)
    planted = {
        "leaks": table.leaks,
        "ids": [{name} for name in table.ids],
        "copies": table.copies,
        "equivalent": table.copies,
        "sums": table.sums,
        "groups": [{table.groups}] if table.groups else [],
        "sorted": [{table.sorted_by}] if table.sorted_by else [],
        "folds": [{table.dependent}] if table.dependent else [],
    }
    missed = [
        (what, truth)
        for what, truths in planted.items()
        if what in found
        for truth in truths
        if not any(_hits(what, one, truth) for one in found[what])
    ]
    false = []
    for what, ones in found.items():
        for one in ones:
            if any(_hits(what, one, truth) for truth in planted[what]):
                continue
            # Parts of a sum or of a leak may be redundant, and shares add up to 100 %.
            if what in ("copies", "sums") and any(one <= truth for truth in [*table.leaks, *table.sums]):
                continue
            # Ids may be ascending, and the numbers of groups need not be features.
            if (what in ("sorted", "groups") and one <= table.ids) or (what == "ids" and one == {table.groups}):
                continue
            false.append((what, tuple(sorted(one))))
    return [(what, truth) for what, truths in planted.items() if what in found for truth in truths], missed, false


def chance_alarms(n, n_columns, seed):
    """Return whether a selection from noise is empty or warns that it may be chance, and whether one with a real column warns."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n)
    noise = rng.normal(size=(n, n_columns))
    signal = noise.copy()
    signal[:, 0] += y
    warned = []
    for X in (noise, signal):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            selected = SubsetSelector().fit(X, y).support_.any()
        codes = {getattr(one.message.args[0], "code", None) for one in caught}
        warned.append("TZ302" in codes or (X is noise and not selected))
    return warned


def _hits(what, one, truth):
    """Whether a finding is what is planted; of columns that add up to 100 % one is superfluous."""
    return one == truth or (what == "leaks" and one < truth and len(one) >= 4)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--tables", type=int, default=20)
    parser.add_argument("--first-seed", type=int, default=0)
    parser.add_argument("--kind", default="")
    parser.add_argument("--show", action="store_true", help="name the seeds that failed")
    parser.add_argument("--what", choices=("all", "redundancy", "chance"), default="all")
    parser.add_argument("--write", type=Path, help="the file with a section for each code")
    options = parser.parse_args()
    rows, n_planted, n_missed, n_alarmed, n_tables = [], Counter(), Counter(), Counter(), 0
    for kind in () if options.what == "chance" else KINDS:
        if options.kind not in kind:
            continue
        n_found, n_false, seconds, alarms = 0, 0, 0.0, Counter()
        for seed in range(options.first_seed, options.first_seed + options.tables):
            table = planted_table(kind, seed)
            begun = time.process_time()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                planted, missed, false = compare(table, only_redundancy=options.what == "redundancy")
            seconds += time.process_time() - begun
            n_found += not missed
            n_false += bool(false)
            alarms.update({what for what, _ in false})
            n_tables += 1
            for code, parts in CODES.items():
                n_planted[code] += sum(what in parts for what, _ in planted)
                n_missed[code] += sum(what in parts for what, _ in missed)
                n_alarmed[code] += any(what in parts for what, _ in false)
            if options.show and (missed or false):
                print(f"{kind} {seed}: missed {missed}, false {false}")
        share = 100 / options.tables
        rows.append({
            "kind": kind,
            "found %": "" if kind.startswith("honest") else f"{n_found * share:.1f}",
            "false alarms %": f"{n_false * share:.1f}",
            "of": ", ".join(f"{what} {count * share:.1f}" for what, count in alarms.items()),
            "ms": f"{1000 * seconds / options.tables:.0f}",
        })  # fmt: skip
        print(*rows[-1].values(), sep=" | ", flush=True)
    if options.write is None:
        return
    text = options.write.read_text(encoding="utf-8")
    for code in ("TZ302",) if options.what == "chance" else CODES:
        tables = n_tables
        if code == "TZ302":
            seeds = range(options.first_seed, options.first_seed + options.tables)
            of_noise, of_signal = zip(
                *(chance_alarms(*size, seed) for size in _NOISE_SIZES for seed in seeds), strict=True
            )
            n_planted[code], n_missed[code] = len(of_noise), len(of_noise) - sum(of_noise)
            n_alarmed[code], tables = sum(of_signal), len(of_signal)
        found = 100 * (1 - n_missed[code] / n_planted[code])
        line = (
            f"**Measured.** Found: {found:.1f} % of {n_planted[code]:,}. False alarm in {100 * n_alarmed[code] / tables:.1f} % of "
            f"{tables:,} tables."
        )
        start = text.index(f"## {code} ")
        text = text[:start] + re.sub(r"\*\*Measured\.\*\* .*", line, text[start:], count=1)
    options.write.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
