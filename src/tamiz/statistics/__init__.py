"""Mergeable sufficient statistics: what a criterion or a map needs to know of the rows, counted block by block."""
