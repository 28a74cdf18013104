"""Sentences of one study that contradict each other.

`python -m tests.contradictions FOLDER [TABLE ...]` studies the public tables in the folder of `benchmarks/recommended_columns.py`.
"""

import re
import sys
import warnings
from pathlib import Path

from tamiz import open_table, study
from tamiz.report import registry
from tamiz.selection.equivalent_columns import equivalent_columns
from tamiz.table.views import select_columns


def contradictions(record, table):
    """Return what the sections of a study state against each other, in words.

    Parameters
    ----------
    record : StudyRecord
    table : Table
        The table.
    """
    found = []
    sections = {entry.name: entry.load()(record) for entry in registry.of_kind("section")}
    sections["ranking"] = (sections.pop("columns") or {}).get("ranking")
    # The section of the maps has sentences for each map.
    leads = {
        name: " ".join(
            text for one in (shown, *shown.get("maps", ())) for text in one.values() if isinstance(text, str)
        )
        for name, shown in sections.items()
        if shown is not None
    }
    aside = set() if record.leakage_exclusion is None else set(record.leakage_exclusion.columns)
    used = {column.name for column in record.table.columns if not column.exclusion}
    recommendation = record.recommendation
    kept = set() if recommendation is None else set(recommendation.columns)
    if aside & used or kept - used:
        found.append(f"columns that are not used are used: {aside & used or kept - used}")
    if record.ranking is not None:
        scored = {
            name
            for scores in record.ranking.scores.values()
            for name, one in zip(record.ranking.columns, scores, strict=True)
            if one is not None
        }
        if scored - used:
            found.append(f"excluded columns have scores: {scored - used}")
        at_chance = {one.name for one in record.ranking.at_chance}
        alone = {
            name for one in record.warnings if one.code == "TZ102" and len(one.columns) == 1 for name in one.columns
        }
        if at_chance & (set(record.table.leaking) | alone):
            found.append(
                f"a column predicts the target and is at chance: {at_chance & (set(record.table.leaking) | alone)}"
            )
    if recommendation is not None:
        found += _of_recommendation(record, leads, table, kept)
    codes = {one.code for one in record.warnings}
    # An excluded id that follows the order of the rows is listed only.
    leaks = [leak for leak in record.table.leakage if (used | aside).issuperset(leak.names)]
    if ("TZ101" in codes) != bool(leaks):
        found.append("a leak is warned of and not listed, or listed and not warned of")
    grouped = record.fold_design is not None and record.fold_design.kind == "groups"
    if grouped and recommendation is not None and "group" not in recommendation.folds_description:
        found.append(f"folds by {record.fold_design.name} are described as {recommendation.folds_description}")
    texts = [*map(str, record.warnings), *leads.values()]
    found += [f"no number: {text}" for text in texts if re.search(r"\bnan\b|\binf\b|None\b", text)]
    return found


def _of_recommendation(record, leads, table, kept):
    recommendation = record.recommendation
    found = []
    withheld = bool(recommendation.chance)
    if withheld != ("TZ302" in {one.code for one in record.warnings}) and not recommendation.requested:
        found.append("the recommendation is withheld without a warning of chance, or warned of and not withheld")
    if withheld and "predict better" in leads.get("assessment", ""):
        found.append("no columns are recommended, and the selected columns predict better than none")
    if (
        not withheld
        and recommendation.score.interval[0] > 0.55
        and "no gain over the baseline" in leads.get("assessment", "")
    ):
        found.append("columns are recommended that do not predict")
    decided = {one.name for one in record.decisions if one.kept}
    if record.decisions and not withheld and decided != kept:
        found.append(f"kept by the table of reasons and not recommended, or the reverse: {decided ^ kept}")
    equivalent = {one.name for one in record.decisions if one.kept and one.same_as in kept}
    if equivalent and recommendation.recommended != "all_columns":
        found.append(f"equivalent columns are recommended together: {equivalent}")
    positions = [
        j
        for j, name in enumerate(table.schema.names)
        if name in kept and table.schema.columns[j].exclusion_reason is None
    ]
    if len(positions) > 1 and recommendation.recommended != "all_columns":
        pairs = equivalent_columns(select_columns(table, positions))
        if pairs:
            found.append(f"equivalent columns are recommended together: {[table.schema.names[j] for j in pairs]}")
    rows = {recommendation.n_samples}
    rows |= {one.n_samples for one in (record.assessment, record.noise_experiment) if one is not None}
    if len(rows) > 1:
        found.append(f"sections score models on different rows: {rows}")
    if not withheld and not recommendation.requested:
        change = recommendation.score_change(recommendation.recommended, *recommendation.deciding)
        half = (change.interval[1] - change.interval[0]) / 2
        if change.mean + half < -recommendation.margin:
            found.append(
                f"the recommended columns lose {-change.mean:.3f} for certain, above the margin {recommendation.margin:.3f}"
            )
        losing = change.interval[1] < 0 and -change.mean > recommendation.margin
        if losing and "TZ303" not in {one.code for one in record.warnings}:
            found.append("a loss is not warned of")
    return found


def public_names():
    """Return the names of the public tables of `benchmarks/public_tables.py`."""
    return list(_public_tables().TABLES)


def read_public(name, folder):
    """Return a public table and its target."""
    public = _public_tables()
    return public.read_table(name, folder / "tables"), public.TABLES[name].target


def _public_tables():
    sys.path.append(str(Path(__file__).parents[1] / "benchmarks"))
    import public_tables

    return public_tables


def main():
    warnings.simplefilter("ignore")
    for name in sys.argv[2:] or public_names():
        table, target = read_public(name, Path(sys.argv[1]))
        found = contradictions(study(table, target, maps=["pca"]).record, open_table(table, target))
        sys.stdout.write(" | ".join([name, str(len(found)), *found]) + "\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main()
