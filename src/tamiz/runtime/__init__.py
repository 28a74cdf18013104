"""Utilities for all packages: validation, warnings, random draws, threads, worker processes, memory, progress and registries."""
