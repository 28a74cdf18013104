"""Exact search: enumeration and branch and bound in compiled kernels, for merits of the form c'x / sqrt(x'Ax)."""
