"""Mergeable sufficient statistics of a table, computed block by block, from which criteria and maps are derived."""
