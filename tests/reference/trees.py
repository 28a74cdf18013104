"""Tree importance: every row walked down a tree of scikit-learn, question after question."""

import numpy as np


def walk_importance(tree, X, Y, weight=None):
    """The share of the variance of Y between the leaves, shared out to columns by their use.

    A row's first question counts 1, and every further one half of the one before.
    """
    weight = np.ones(len(X)) if weight is None else weight
    use, leaves = np.zeros(X.shape[1]), []
    for row, own in zip(X.astype(np.float32), weight, strict=True):
        node, worth = 0, 1.0
        while tree.children_left[node] != tree.children_right[node]:
            column = tree.feature[node]
            use[column] += own * worth
            node = (tree.children_left if row[column] <= tree.threshold[node] else tree.children_right)[node]
            worth /= 2
        leaves.append(node)
    groups = [np.equal(leaves, leaf) for leaf in set(leaves)]
    left = sum(_squares(Y[group], weight[group]) for group in groups)
    return (1 - left / _squares(Y, weight)) * use / use.sum() if use.any() else use


def _squares(Y, weight):
    return (weight[:, None] * (Y - np.average(Y, axis=0, weights=weight)) ** 2).sum()
