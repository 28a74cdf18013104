"""The order of distances: rounded to 27 significant bits, so that rounding errors decide nothing."""

import numpy as np


def tie_keys(distances):
    """Distances rounded to 27 significant bits."""
    mantissa, exponent = np.frexp(distances)
    return np.ldexp(np.floor(np.ldexp(mantissa, 27) + 0.5), exponent - 27)
