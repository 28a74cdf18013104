from tamiz.runtime.registry import Registry
from tamiz.neighbors.brute_force import BruteForce as BruteForce
from tamiz.neighbors.kd_tree import KDTree as KDTree
from tamiz.neighbors.nn_descent import NNDescent as NNDescent

registry: Registry
