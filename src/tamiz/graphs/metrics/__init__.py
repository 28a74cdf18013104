"""Rows under metrics other than the Euclidean one, one file a metric."""
