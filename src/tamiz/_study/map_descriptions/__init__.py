"""Descriptions of fitted maps for readers: what their axes, distances, spectra and images mean, in sentences."""
