"""The correlation ratio by its definition, for a few hundred rows."""

import numpy as np


def correlation_ratio(codes, values):
    """The root of the share of the squares between the levels; codes below 0 are missing."""
    present = codes >= 0
    codes, values = codes[present], values[present]
    total = ((values - values.mean()) ** 2).sum()
    groups = [values[codes == code] for code in np.unique(codes)]
    between = sum(len(group) * (group.mean() - values.mean()) ** 2 for group in groups)
    return np.sqrt(between / total) if total > 0 else 0.0
