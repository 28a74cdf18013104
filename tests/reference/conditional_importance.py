"""Conditional feature importance of numeric columns without missing values, one row at a time; and its one-sided test."""

import numpy as np
from scipy import stats
from sklearn.base import clone

PENALTIES = (1e-3, 1e-2, 1e-1)
MIN_TIE_SHARE = 0.01


def ridge(Z, t, penalty):
    """Return a prediction function and the trace of the hat matrix."""
    mean, middle = Z.mean(axis=0), t.mean()
    centred = Z - mean
    gram = centred.T @ centred + penalty * len(Z) * np.eye(Z.shape[1])
    slopes = np.linalg.solve(gram, centred.T @ (t - middle))
    return lambda rows: middle + (rows - mean) @ slopes, np.trace(centred @ np.linalg.solve(gram, centred.T))


def held_out_predictions(Z, j, folds):
    """Return the predictions of a standardised column by the others, and the mean trace, with the best penalty."""
    others = np.delete(Z, j, axis=1)
    best = None
    for penalty in PENALTIES:
        predicted, traces = np.empty(len(Z)), []
        for train, test in folds:
            predict, trace = ridge(others[train], Z[train, j], penalty)
            predicted[test] = predict(others[test])
            traces.append(trace)
        error = ((Z[:, j] - predicted) ** 2).sum()
        if best is None or error < best[0]:
            best = error, predicted, np.mean(traces)
    return best[1], best[2]


def draws(X, Z, j, folds, number, n_repeats, seed):
    """Return the drawn values of a column in the test rows of a fold, of shape (n_repeats, n_test), and the mean trace."""
    train, test = folds[number]
    predicted, trace = held_out_predictions(Z, j, folds)
    donors = np.concatenate([rows for other, (_, rows) in enumerate(folds) if other != number])
    donors = np.sort(donors)
    ordered = donors[np.argsort(predicted[donors], kind="stable")]
    k = min(len(donors), max(5, round(np.sqrt(len(donors)))))
    chosen = np.random.default_rng([seed, number, j]).integers(k, size=n_repeats * len(test)).reshape(n_repeats, -1)
    found = np.empty((n_repeats, len(test)))
    for r in range(n_repeats):
        for i, row in enumerate(test):
            below = sum(predicted[d] < predicted[row] for d in donors)
            start = min(max(below - k // 2, 0), len(donors) - k)
            donor = ordered[start + chosen[r, i]]
            value = X[donor, j]
            if (X[train, j] == value).sum() <= max(1, MIN_TIE_SHARE * len(train)):
                value = value + (predicted[row] - predicted[donor]) * X[:, j].std()
            near = np.sort(X[train, j])
            found[r, i] = near[np.argmin(np.abs(near - value))]
    return found, trace


def conditional_importance(X, y, model, folds, n_repeats, seed):
    """Return importance, standard error and p-value of every column, for squared error."""
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    rows = []
    for j in range(X.shape[1]):
        differences = np.empty(len(X))
        for number, (train, test) in enumerate(folds):
            fitted = clone(model).fit(X[train], y[train])
            drawn, trace = draws(X, Z, j, folds, number, n_repeats, seed)
            for i, row in enumerate(test):
                own = (y[row] - fitted.predict(X[[row]])[0]) ** 2
                losses = []
                for value in drawn[:, i]:
                    changed = X[[row]].copy()
                    changed[0, j] = value
                    losses.append((y[row] - fitted.predict(changed)[0]) ** 2)
                differences[row] = np.mean(losses) - own
        n, mean = len(X), differences.mean()
        squares = (differences - mean) ** 2
        error = np.sqrt(squares.sum() / (n - 1 - trace) / n)
        freedom = squares.sum() ** 2 / (squares**2).sum() - 1
        rows.append((mean, error, stats.t.sf(mean / error, freedom)))
    return np.array(rows).T
