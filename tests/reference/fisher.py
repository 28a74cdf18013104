"""Fisher's score of one column: the spread between the classes over the spread within them."""

import numpy as np


def fisher_score(values, classes):
    """F = sum_c n_c (mu_c - mu)^2 / sum_c n_c var_c, with population variances."""
    between = within = 0.0
    for c in np.unique(classes):
        members = values[classes == c]
        between += len(members) * (members.mean() - values.mean()) ** 2
        within += len(members) * np.mean((members - members.mean()) ** 2)
    return between / within
