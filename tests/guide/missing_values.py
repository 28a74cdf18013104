"""The section on missing values: the columns that have any, with the most first."""

from typing import Any

from tamiz.report.records import StudyRecord
from tamiz.report.text import count_with_noun, format_percent


def collect_missing_values(record: StudyRecord) -> dict[str, Any] | None:
    """Return the columns with missing values; None without any."""
    table = record.table
    columns = sorted((one for one in table.columns if one.n_missing), key=lambda one: -one.n_missing)
    if not columns:
        return None
    return {
        "folded": True,
        "lead": f"{count_with_noun(len(columns), 'column')} of {len(table.columns):,} with missing values.",
        "rows": [(one.name, one.n_missing, format_percent(one.n_missing / table.n_rows_used)) for one in columns],
    }
