"""Multidimensional scaling by majorisation (SMACOF)."""
