"""Multidimensional scaling by pairs that are drawn, one idea a file."""
