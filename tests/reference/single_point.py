"""A new point against fixed ones: the definition of its stress and majorisation, step by step."""

import numpy as np


def raw_stress(points, delta, y):
    """The sum of (delta - d)^2 over what is present."""
    return float(np.nansum((delta - np.linalg.norm(y - points, axis=1)) ** 2))


def step(points, delta, y):
    """The mean of the places at which each point wants y, on the ray from the point to y; a point at y keeps it there."""
    present = ~np.isnan(delta)
    x, wanted = points[present], delta[present]
    gaps = y - x
    d = np.linalg.norm(gaps, axis=1)
    ratio = np.divide(wanted, d, out=np.zeros(len(d)), where=d > 0)
    return (x + ratio[:, None] * gaps).mean(axis=0)


def descend(points, delta, y, n_steps=1000):
    """Steps of majorisation until they are rounding."""
    for _ in range(n_steps):
        y = step(points, delta, y)
    return y


def lowest(points, delta, n=250, margin=1.0):
    """The least raw stress on a grid in the plane, and its place."""
    reach = np.nanmax(delta) * margin
    sides = [np.linspace(points[:, k].min() - reach, points[:, k].max() + reach, n) for k in range(2)]
    grid = np.stack(np.meshgrid(*sides, indexing="ij"), axis=-1).reshape(-1, 1, 2)
    values = np.nansum((delta - np.linalg.norm(grid - points, axis=2)) ** 2, axis=1)
    return float(values.min()), grid[np.argmin(values), 0]
