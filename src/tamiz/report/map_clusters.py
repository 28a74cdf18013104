"""What the clusters of a map have in common: a rule for each visible cluster."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tamiz.report.text import count_with_noun, format_count, format_percent, shorten

if TYPE_CHECKING:
    from collections.abc import Collection

    from tamiz.reduction.description import ClusterRule, RuleCondition
    from tamiz.report.records.maps import MapClustersRecord, MapRecord

_CLUSTERS_SHOWN = 12
_CONDITION_WIDTH = 80

# Beside the map are the rules of clusters with at least this share of the rows, of which they cover at least this.
_MIN_SHARE, _MIN_COVERAGE = 0.05, 0.8


def collect_clusters(
    clusters: MapClustersRecord | None, columns: Collection[str] | None = None
) -> dict[str, Any] | None:
    """Return a line for each cluster of a map, and notes on the rows and columns that were used.

    Parameters
    ----------
    clusters : MapClustersRecord or None
    columns : list of str or None, default=None
        The columns of the map; None is all.

    Returns
    -------
    dict or None
        The variables of the template; None for a table without columns.
    """
    if clusters is None:
        return None
    rules, n, of = clusters.rules, clusters.n_rows, clusters.n_mapped
    shown = rules[:_CLUSTERS_SHOWN]
    notes = [
        f"The other {count_with_noun(len(rules) - len(shown), 'cluster')} are smaller."
        if len(rules) > len(shown)
        else "",
        f"{count_with_noun(clusters.n_outside, 'row')} {'belongs' if clusters.n_outside == 1 else 'belong'} to no cluster."
        if rules and clusters.n_outside
        else "",
        f"Computed on {format_count(n)} of the {format_count(of)} rows, drawn at random." if n < of else "",
        f"Of {format_count(clusters.n_columns)} columns, the {clusters.n_considered} with the largest correlations with an axis "
        "were considered."
        if rules and clusters.n_considered < clusters.n_columns
        else "",
        "Rows with imputed values may be alike only because these are equal; Gower's dissimilarity (--dissimilarity gower) "
        "compares two rows in the columns in which both have a value."
        if any(_imputed(condition, columns) for one in shown for condition in one.conditions)
        else "",
    ]
    return {
        "rules": [
            {
                "name": f"Cluster {k}",
                "is_clear": one.n_rows >= _MIN_SHARE * n and (one.coverage or 0.0) >= _MIN_COVERAGE,
                **_describe_rule(one, columns),
            }
            for k, one in enumerate(shown, start=1)
        ],
        "note": " ".join(filter(None, notes)),
    }


def cluster_centers(fitted_map: MapRecord) -> list[tuple[float, ...]]:
    """Return the centres of the clusters that are listed; none on a map of one axis."""
    if fitted_map.clusters is None or len(fitted_map.axes) < 2:
        return []
    return [one.center for one in fitted_map.clusters.rules[:_CLUSTERS_SHOWN]]


def _imputed(condition: RuleCondition, columns: Collection[str] | None) -> bool:
    """Whether rows fulfil a condition because their value is missing, and the map used an imputed one."""
    return condition.kind == "missing" and (columns is None or condition.column in columns)


def _describe_rule(rule: ClusterRule, columns: Collection[str] | None) -> dict[str, Any]:
    size = count_with_noun(rule.n_rows, "row")
    if rule.precision is None or rule.coverage is None:
        return {"size": size, "conditions": [], "shares": "", "measured": ""}
    of_cluster, of_rule = format_percent(rule.coverage), format_percent(rule.precision)
    return {
        "size": size,
        "conditions": [
            f"{shorten(one.text, _CONDITION_WIDTH)}{' (imputed)' if _imputed(one, columns) else ''}"
            for one in rule.conditions
        ],
        "shares": f"Covers {of_cluster} of the cluster; {of_rule} of the rows with these values are in it.",
        "measured": f"Measured on {count_with_noun(rule.n_test, 'row')} of the cluster and "
        f"{count_with_noun(rule.n_fulfilling, 'row')} with these values",
    }
