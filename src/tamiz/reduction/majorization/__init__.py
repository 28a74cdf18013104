"""Multidimensional scaling by majorisation (SMACOF), one idea a file."""
