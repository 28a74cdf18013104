"""Multidimensional scaling by stochastic gradient descent on random pairs."""
