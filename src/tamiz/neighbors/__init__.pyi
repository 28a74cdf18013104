from tamiz.runtime.registry import Registry
from tamiz.neighbors.exact_search import BruteForce as BruteForce
from tamiz.neighbors.exact_search import KDTree as KDTree
from tamiz.neighbors.nn_descent import NNDescent as NNDescent

registry: Registry
