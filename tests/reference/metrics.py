"""Distances from their definitions, pair by pair, sums without rounding."""

import math

import numpy as np


def table(distance, queries, points):
    """The distance of every query to every point."""
    return np.array([[distance(x, y) for y in points] for x in queries])


def euclidean(x, y):
    return math.sqrt(math.fsum((a - b) ** 2 for a, b in zip(x, y, strict=True)))


def unit(x):
    largest = max(abs(a) for a in x)
    scaled = [a / largest for a in x]
    length = math.sqrt(math.fsum(a * a for a in scaled))
    return [a / length for a in scaled]


def cosine(x, y):
    """|u - v|^2 / 2 of the unit rows, which is 1 - u.v without its cancellation."""
    return math.fsum((a - b) ** 2 for a, b in zip(unit(x), unit(y), strict=True)) / 2


def gower(x, y, ranges):
    """The mean over columns present in both; a range of None is a category's, a range of 0 counts nowhere."""
    parts = []
    for a, b, span in zip(x, y, ranges, strict=True):
        if a is None or b is None or span == 0:
            continue
        parts.append(float(a != b) if span is None else min(abs(a - b) / span, 1.0))
    return math.fsum(parts) / len(parts) if parts else 1.0
