"""Comparison of two tables: what has changed between them, and whether what was chosen on the first is valid on the second."""
