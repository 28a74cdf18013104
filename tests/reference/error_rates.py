"""Error rates of selections, column by column."""


def error_rates(names, true, selected, associations, threshold=0.9):
    """Return the rates of one draw for sets of names; `associations[a, b]` is that of two columns."""
    proxies = {a for a in selected if a not in true and any(associations[a, b] >= threshold for b in true)}
    found = [a for a in true if a in selected]
    covered = [b for b in true if b in selected or any(associations[a, b] >= threshold for a in proxies)]
    false = [a for a in selected if a not in true]
    strict = [a for a in false if a not in proxies]
    n_other = len(names) - len(true)
    return {
        "true_positive_rate": len(found) / len(true),
        "proxy_true_positive_rate": len(covered) / len(true),
        "chance_true_positive_rate": len(selected) / len(names),
        "false_positive_rate": len(false) / n_other if n_other else 0.0,
        "false_discovery_proportion": len(false) / len(selected) if selected else 0.0,
        "strict_false_discovery_proportion": len(strict) / len(selected) if selected else 0.0,
    }
