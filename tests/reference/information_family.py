"""The family of Brown et al. (2012) from its definitions: greedy algorithms as published, and merits of sets; codes, -1 missing."""

import numpy as np

from .entropy_measures import contingency_table, entropy, expected_information_gain, information_gain

# Weights of redundancy and of conditional redundancy for a number of columns that are already selected.
WEIGHTS = {
    "MIM": lambda n: (0.0, 0.0),
    "MIFS": lambda n: (1.0, 0.0),
    "MRMR": lambda n: (1.0 / n, 0.0),
    "JMI": lambda n: (1.0 / n, 1.0 / n),
    "CIFE": lambda n: (1.0, 1.0),
}


class Information:
    """c[j] = I(j; Y), r[i, j] = I(i; j), q[i, j] = I(i; j | Y) and h[i, j] = H(i, j, Y), in bits.

    With `correct` the expectation under independence is subtracted from c, r and q; within each class for q. `sampled` are sampling
    weights.
    """

    def __init__(self, columns, y, weight=None, missing="distribute", correct=False, sampled=False):
        p, weight = len(columns), np.ones(len(y)) if weight is None else weight
        squares = weight**2 if sampled else weight

        def tables(a, b, rows):
            return [contingency_table(a[rows], b[rows], one[rows], missing) for one in (weight, squares)]

        def class_tables(i, j):
            for value in np.unique(y):
                rows = y == value
                yield weight[rows].sum() / weight.sum(), tables(columns[i], columns[j], rows)

        def information(table, squared):
            return information_gain(table) - (expected_information_gain(table, squared) if correct else 0.0)

        # A class without a row that has both values contributes nothing.
        def mean_over_classes(measure, i, j):
            return sum(share * measure(*both) for share, both in class_tables(i, j) if both[0].sum() > 0)

        h_y, everywhere = entropy(np.bincount(y, weight)), slice(None)
        self.c = np.array([information(*tables(x, y, everywhere)) for x in columns])
        self.r, self.q, self.h = np.zeros((3, p, p))
        for i in range(p):
            for j in range(p):
                if i != j:
                    self.r[i, j] = information(*tables(columns[i], columns[j], everywhere))
                    self.q[i, j] = mean_over_classes(information, i, j)
                    self.h[i, j] = h_y + mean_over_classes(lambda table, _: entropy(table), i, j)

    def gain(self, name, selected, j, beta=1.0, floor=0.001):
        """What the greedy algorithm maximises over the columns j that are not selected yet."""
        c, r, q, h = self.c, self.r, self.q, self.h
        if not selected:
            return c[j]
        if name == "CMIM":
            return min(c[j] - r[s, j] + q[s, j] for s in selected)
        if name == "ICAP":
            return c[j] - sum(max(0.0, r[s, j] - q[s, j]) for s in selected)
        if name == "DISR":
            return sum((c[s] + c[j] - r[s, j] + q[s, j]) / h[s, j] for s in selected)
        if name == "quotient":
            return c[j] / np.mean([max(r[s, j], floor) for s in selected])
        of_redundancy, of_conditional = WEIGHTS[name](len(selected))
        return c[j] - sum(beta * of_redundancy * r[s, j] - of_conditional * q[s, j] for s in selected)

    def select(self, name, k, **settings):
        """The first k columns of the greedy algorithm, in order, and their gains."""
        return greedy(range(len(self.c)), k, lambda selected, j: self.gain(name, selected, j, **settings))

    def merit(self, name, subset, beta=1.0):
        """The merit of a set: of pair sums, or of the gains in the greedy order of the set."""
        if not subset:
            return 0.0
        if name in ("CMIM", "quotient"):
            return sum(greedy(subset, len(subset), lambda selected, j: self.gain(name, selected, j))[1])
        pairs = [(i, j) for i in subset for j in subset if i < j]
        n = max(len(subset) - 1, 1)
        if name == "DISR" and pairs:
            return sum((self.c[i] + self.c[j] - self.r[i, j] + self.q[i, j]) / self.h[i, j] for i, j in pairs) / n
        term = {
            "MIM": lambda i, j: 0.0,
            "MIFS": lambda i, j: beta * self.r[i, j],
            "CIFE": lambda i, j: self.r[i, j] - self.q[i, j],
            "ICAP": lambda i, j: max(0.0, self.r[i, j] - self.q[i, j]),
            "MRMR": lambda i, j: self.r[i, j] / n,
            "JMI": lambda i, j: (self.r[i, j] - self.q[i, j]) / n,
            "DISR": lambda i, j: 0.0,
        }[name]
        return self.c[list(subset)].sum() - sum(term(i, j) for i, j in pairs)


def greedy(columns, k, gain):
    """Add the column of the largest gain k times, the first of equals."""
    selected, gains = [], []
    for _ in range(k):
        rest = [j for j in columns if j not in selected]
        found = [gain(selected, j) for j in rest]
        selected.append(rest[int(np.argmax(found))])
        gains.append(max(found))
    return selected, gains
