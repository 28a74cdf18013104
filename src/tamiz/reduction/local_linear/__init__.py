"""Locally linear embedding: neighbourhoods, reconstruction weights, and the matrices that align local coordinates."""
